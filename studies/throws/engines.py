"""The thrown cube as a model that every engine reads, its parameters, and the errors of a run.

The cube is eight small balls in its corners. On a plane they touch where a cube with rounded edges
does, and every engine finds the same contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from studies.benchmarks.verification.case import Array, Contact, Record, Simulate, World
from studies.benchmarks.verification.methods import resolve
from studies.peers.limits import Deadline
from studies.throws.capture import FRAME, MASS, WIDTH, Start, Throw

__all__ = ["ENGINES", "Engine", "cube", "errors", "foretell"]

LIMIT = 20.0
"""Wall time of one throw [s]."""
UNTUNED = (1e-3, 0.797)
"""Rounding [m] and gyration before the search; the latter is that of its owners' 8.1e-4 kg m²."""


def cube(
    contact: Contact | None = None, rounding: float = UNTUNED[0], gyration: float = UNTUNED[1]
) -> World:
    """The cube above a board.

    Parameters
    ----------
    contact
        Of corners and board; friction as the cube's owners measured it if None.
    rounding
        Radius of the cube's edges [m].
    gyration
        Moment of inertia about the centre, over m (w/2)²: 2/3 for a solid cube, 10/9 for a shell.
    """
    inner = 0.5 * WIDTH - rounding
    balls = "".join(
        f"<geom size='{rounding:.9g}' mass='0' pos='{x:.9g} {y:.9g} {z:.9g}'/>"
        for x in (-inner, inner)
        for y in (-inner, inner)
        for z in (-inner, inner)
    )
    inertia = f"{gyration * MASS * (0.5 * WIDTH) ** 2:.9g} " * 3
    return World(
        "<geom type='plane' size='9 9 1'/><body pos='0 0 1'><freejoint/>"
        f"<inertial pos='0 0 0' mass='{MASS}' diaginertia='{inertia}'/>{balls}</body>",
        contact or Contact(friction=0.18),
    )


@dataclass(frozen=True)
class Engine:
    """An engine with one setting of its stepping, and the parameters of its contact.

    Attributes
    ----------
    title
        For tables.
    method
        As verification calls it.
    names, low, high
        Parameters and their ranges: friction, two of the contact's own, and those of `cube`.
    contact
        Of the first three parameters.
    """

    title: str
    method: str
    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    contact: Callable[[Sequence[float]], Contact]

    def parameters(self, share: Array) -> Array:
        """Parameters from points of the unit cube; all of them are searched by their logarithms."""
        low, high = np.log(self.low), np.log(self.high)
        return np.asarray(np.exp(low + np.clip(share, 0.0, 1.0) * (high - low)))

    def world(self, values: Sequence[float] | None = None) -> World:
        """The cube with parameters.

        Without any they are the engine's defaults, with what the cube's owners measured.
        """
        if values is None:
            return cube()
        return cube(self.contact(values), *map(float, values[3:]))

    def simulate(self) -> Simulate:
        """Something that simulates worlds with this engine.

        Raises
        ------
        ImportError
            If the engine is not installed.
        """
        # Of two careful settings of MuJoCo the second is the one for contact.
        return resolve(self.method).ways[-1](Deadline(float("inf")))


_SPRING: dict[str, Any] = {
    "names": ("friction", "stiffness [N/m]", "dissipation [s/m]", "rounding [m]", "gyration"),
    "low": (0.1, 2e3, 0.2, 3e-4, 0.5),
    "high": (0.4, 3e5, 30.0, 6e-3, 1.5),
    "contact": lambda v: Contact(friction=v[0], stiffness=v[1], dissipation=v[2]),
}
_SOLREF: dict[str, Any] = {
    "names": ("friction", "time constant [s]", "damping ratio", "rounding [m]", "gyration"),
    "low": (0.1, 1e-3, 0.1, 3e-4, 0.5),
    "high": (0.4, 0.05, 2.0, 6e-3, 1.5),
    "contact": lambda v: Contact(friction=v[0], solref=(v[1], v[2])),
}

ENGINES = {
    "cenic": Engine("Asperity `Cenic`, 1e-3", "cenic@1e-3", **_SPRING),
    "icf": Engine("Asperity `Icf`, 2 ms", "icf@2e-3", **_SPRING),
    "mujoco": Engine("MuJoCo, 2 ms, pyramidal", "mujoco", **_SOLREF),
    "mujoco-careful": Engine("MuJoCo, 0.5 ms, implicit, elliptic", "mujoco:careful", **_SOLREF),
    "motrixsim": Engine("MotrixSim, 1 ms", "motrixsim@1e-3", **_SOLREF),
    "rapier": Engine("Rapier, 1 ms", "rapier@1e-3", **_SOLREF),
    "drake-sap": Engine("Drake `sap`, 2 ms", "drake:sap@2e-3", **_SPRING),
    "drake-cenic": Engine("Drake `cenic`, 1e-3", "drake:cenic@1e-3", **_SPRING),
}
"""By the names that the command line uses."""


def foretell(simulate: Simulate, world: World, start: Start, duration: float) -> Record:
    """Simulate a throw; engines that choose their steps end one with every frame."""
    return simulate(
        world,
        duration,
        qpos=start.qpos(),
        qvel=start.qvel(),
        drive=lambda _: (),  # there are no controls, but steps end where they could change
        period=FRAME,
    )


def poses(run: Record, frames: int) -> tuple[Array, Rotation]:
    """Positions and orientations at the capture's frames."""
    time = FRAME * np.arange(frames)
    columns = np.stack([np.interp(time, run.time, run.qpos[:, k]) for k in range(7)], axis=1)
    return columns[:, :3], Rotation.from_quat(columns[:, 3:], scalar_first=True)


def errors(run: Record, throw: Throw) -> Array:
    """Mean distance of centres [widths] and mean angle [rad] over a throw's frames, shape (2,)."""
    position, rotation = poses(run, len(throw.position))
    apart = np.linalg.norm(position - throw.position, axis=1)
    turned = (Rotation.from_matrix(throw.rotation) * rotation.inv()).magnitude()
    return np.array([np.mean(apart) / WIDTH, np.mean(turned)])
