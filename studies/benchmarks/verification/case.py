"""What a case of the verification page is made of: worlds, records, truths and measures.

A *world* is a model in MuJoCo's XML with contact that every engine can read. A *case* simulates one
or several worlds with whatever method it is given and returns one number, whose true value is
known. Cases know no engine.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CONVERGED",
    "FIELDS",
    "GRAVITY",
    "Array",
    "Case",
    "Contact",
    "Drive",
    "Given",
    "Measure",
    "NotApplicable",
    "Record",
    "Simulate",
    "World",
    "energies",
]

GRAVITY = 9.81

FIELDS = "+fields"
"""What names of methods have in them that simulate with pressure fields."""

CONVERGED = "converged,"
"""Where a truth comes from that only two independent methods tell, followed by their results."""

Array = NDArray[np.float64]
Drive = Callable[[float], Sequence[float] | Array]
"""Controls of the actuators at a time [s]."""


class NotApplicable(Exception):
    """A method cannot take part in a case, for the reason given."""


@dataclass(frozen=True)
class Contact:
    """Compliant contact, the same for every pair of a world.

    Attributes
    ----------
    stiffness
        Of a pair [N/m].
    dissipation
        Hunt–Crossley coefficient [s/m]; 0 is an elastic impact for every method that has one.
    friction
        Coulomb's coefficient, which geoms may override in the model.
    dynamic_friction
        That of sliding, where it differs; for engines that know two.
    stiction_tolerance
        Slip speed below which friction is regularised [m/s]; the method's own default if None. A
        converged truth belongs to one.
    solref
        MuJoCo's own parameters of contact, where its defaults could not show the effect in
        question (an elastic impact); None keeps the defaults.
    modulus
        Hydroelastic modulus [Pa] of pressure fields that carry the world's flat faces at the depth
        at which its springs do, where it begins in balance on them; None if there is none such.
    """

    stiffness: float = 1e5
    dissipation: float = 10.0
    friction: float = 0.5
    dynamic_friction: float | None = None
    stiction_tolerance: float | None = None
    solref: tuple[float, float] | None = None
    modulus: float | None = None

    def text(self) -> str:
        """Asperity's parameters, as a model carries them."""
        values = {
            "stiffness": self.stiffness,
            "dissipation": self.dissipation,
        }
        if self.stiction_tolerance is not None:
            values["stiction_tolerance"] = self.stiction_tolerance
        if self.dissipation == 0.0:
            values["relaxation_time"] = 0.0  # the same for SAP's law
        if self.dynamic_friction is not None:
            values |= {"friction": self.friction, "dynamic_friction": self.dynamic_friction}
        return " ".join(f"{name}={value:.17g}" for name, value in values.items())


@dataclass(frozen=True)
class World:
    """A model that every engine builds.

    Attributes
    ----------
    bodies
        Inside of ``<worldbody>``.
    contact
        Of all pairs.
    gravity
        [m/s²], shape (3,).
    defaults, sections
        Inside of ``<default>`` and after ``<worldbody>``.
    document
        A whole model instead, which must say what ``contact`` and ``gravity`` say.
    every_friction
        Whether the outcome is that of torsional, rolling or anisotropic friction.
    deformable
        Whether there are flexes, whose elasticity MuJoCo steps by its ``discrete`` integrator.
    """

    bodies: str
    contact: Contact = Contact()
    gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY)
    defaults: str = ""
    sections: str = ""
    document: str = ""
    every_friction: bool = False
    deformable: bool = False

    @property
    def xml(self) -> str:
        """The model as MJCF."""
        if self.document:
            return self.document
        gravity = " ".join(f"{g:.17g}" for g in self.gravity)
        integrator = ' integrator="discrete"' if self.deformable else ""
        return (
            f'<mujoco><compiler angle="radian"/><option gravity="{gravity}"{integrator}/>'
            f'<custom><text name="asperity" data="{self.contact.text()}"/></custom>'
            f'<default><geom friction="{self.contact.friction:.17g} 0 0"/>{self.defaults}</default>'
            f"<worldbody>{self.bodies}</worldbody>{self.sections}</mujoco>"
        )

    def model(self) -> mujoco.MjModel:
        """Compile it."""
        return mujoco.MjModel.from_xml_string(self.xml)


@dataclass
class Record:
    """Every accepted step of a simulation.

    Attributes
    ----------
    time
        [s], shape (n,).
    qpos, qvel
        MuJoCo's coordinates, shapes (n, nq) and (n, nv).
    attempts
        Steps and rejected steps; None for methods whose steps are fixed.
    """

    model: mujoco.MjModel
    time: Array
    qpos: Array
    qvel: Array
    attempts: int | None = None

    def at(self, times: ArrayLike, column: int, speed: bool = False) -> Array:
        """One coordinate (or speed) at some times, interpolated linearly between steps."""
        values = self.qvel if speed else self.qpos
        wanted = np.asarray(times, dtype=np.float64)
        return np.asarray(np.interp(wanted, self.time, values[:, column]))

    def first(self, happened: NDArray[np.bool_]) -> float:
        """The time of the first step at which something has happened, infinity if it has not."""
        return float(self.time[np.argmax(happened)]) if np.any(happened) else math.inf


@dataclass(frozen=True)
class Given:
    """What a simulation has besides its world, as `Simulate` takes it."""

    qpos: ArrayLike | None
    qvel: ArrayLike | None
    drive: Drive | None
    period: float
    forces: Mapping[str, Sequence[float]]
    release: float | None = None


class Simulate(ABC):
    """Simulates a world from time zero with one method."""

    def __call__(
        self,
        world: World,
        duration: float,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        drive: Drive | None = None,
        period: float = 0.02,
        forces: Mapping[str, Sequence[float]] | None = None,
        release: float | None = None,
    ) -> Record:
        """Simulate.

        Parameters
        ----------
        world, duration
            What, and for how long [s].
        qpos, qvel
            Initial state, that of the model by default.
        drive, period
            Controls, and how long each of them is held [s]: the one of the interval's beginning.
        forces
            Constant force and torque [N, Nm] at bodies' centres of mass in world axes, shape (6,)
            each.
        release
            When all equalities let go [s], a multiple of the period.

        Raises
        ------
        NotApplicable
            If the method cannot take part.
        """
        return self.run(world, duration, Given(qpos, qvel, drive, period, forces or {}, release))

    @abstractmethod
    def run(self, world: World, duration: float, given: Given) -> Record:
        """Simulate with an engine."""


Measure = Callable[[Simulate], float]


@dataclass(frozen=True)
class Case:
    """A simulation whose outcome is known.

    Attributes
    ----------
    name
        How the command line calls it.
    what
        One sentence: the scene.
    quantity
        What is measured, with its unit.
    truth
        Its true value.
    source
        Where the truth comes from.
    tolerance
        Error that counts as right, in the quantity's unit.
    measure
        Runs the simulation and measures.
    slow
        Left out of quick runs.
    form
        How a table shows the number.
    field_truth, field_source
        The true value with pressure fields, where their law has another one, and where that comes
        from.
    """

    name: str
    what: str
    quantity: str
    truth: float
    source: str
    tolerance: float
    measure: Measure
    slow: bool = False
    form: str = ".3g"
    field_truth: float | None = None
    field_source: str = ""

    def truth_for(self, method: str) -> float:
        """The true value for a method, by its name."""
        if self.field_truth is not None and FIELDS in method:
            return self.field_truth
        return self.truth


def energies(record: Record, indices: Sequence[int] | NDArray[np.integer] = (0, -1)) -> Array:
    """Kinetic energy and that of gravity and joint springs at some steps [J]."""
    data = mujoco.MjData(record.model)
    found = []
    for index in indices:
        data.qpos[:] = record.qpos[index]
        data.qvel[:] = record.qvel[index]
        mujoco.mj_forward(record.model, data)
        mujoco.mj_energyPos(record.model, data)
        mujoco.mj_energyVel(record.model, data)
        found.append(float(data.energy.sum()))
    return np.array(found)
