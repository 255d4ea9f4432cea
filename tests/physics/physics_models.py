"""Small models and references that the physics tests share."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

import asperity as asp

__all__ = [
    "GRAVITY",
    "Array",
    "compile_mjcf",
    "fixed",
    "free_body",
    "observed_orders",
    "on_plane",
    "spring_mass",
    "states",
]

GRAVITY = 9.81

Array = NDArray[np.float64]


def compile_mjcf(body: str, *, option: str = "", sections: str = "") -> mujoco.MjModel:
    """Compile a world."""
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option {option}/><worldbody>{body}</worldbody>{sections}</mujoco>"
    )


def on_plane(
    geom: str,
    *,
    position: str = "0 0 0",
    plane: str = "",
    option: str = "",
    euler: str = "0 0 0",
    joint: str = "<freejoint/>",
) -> mujoco.MjModel:
    """One body above the plane z = 0."""
    return compile_mjcf(
        f"<geom name='floor' type='plane' size='0 0 1' {plane}/>"
        f"<body name='body' pos='{position}' euler='{euler}'>{joint}<geom {geom}/></body>",
        option=option,
    )


def free_body(geom: str, *, gravity: str = "0 0 0", inertial: str = "") -> mujoco.MjModel:
    """One free body that touches nothing."""
    return compile_mjcf(
        f"<body name='body'><freejoint/>{inertial}<geom {geom} contype='0' conaffinity='0'/></body>",
        option=f"gravity='{gravity}'",
    )


def spring_mass(stiffness: float = 100.0, damping: float = 0.0) -> mujoco.MjModel:
    """A kilogram on a spring, without gravity."""
    return compile_mjcf(
        f"<body><joint type='slide' axis='1 0 0' stiffness='{stiffness}' damping='{damping}'/>"
        "<geom type='sphere' size='0.1' mass='1'/></body>",
        option="gravity='0 0 0'",
    )


def states(
    model: mujoco.MjModel,
    end: float,
    integrator: asp.Cenic | asp.Icf,
    *,
    qpos: ArrayLike | None = None,
    qvel: ArrayLike | None = None,
    contact: asp.ContactParameters | None = None,
    ctrl: list[float] | None = None,
) -> asp.Trajectory:
    """Every accepted step of a simulation that must succeed."""
    trajectory = asp.simulate(
        model,
        (0.0, end),
        integrator=integrator,
        qpos=qpos,
        qvel=qvel,
        contact=contact,
        ctrl=ctrl,
    )
    assert trajectory.success, trajectory.message
    assert trajectory.time[-1] == end
    return trajectory


def fixed(scheme: str, step: float) -> asp.Cenic | asp.Icf:
    """A scheme at a fixed step: error control at an accuracy that every step meets."""
    if scheme == "icf":
        return asp.Icf(time_step=step, resolve_impacts=False)
    # The tolerance of the convex solver is then 1e-8; only the first two steps are shorter.
    return asp.Cenic(accuracy=1e3, max_step=step, error_estimate=scheme, tolerance_ratio=1e-13)


def observed_orders(steps: ArrayLike, errors: ArrayLike) -> Array:
    """Slopes of log(error) over log(step) between neighbours."""
    return np.diff(np.log(np.asarray(errors))) / np.diff(np.log(np.asarray(steps)))
