"""An arm of two links with actuators, by MuJoCo and by Asperity."""

from __future__ import annotations

import mujoco
from physics_models import compile_mjcf

import asperity as asp

ARM = (
    "<body pos='0 0 2'><joint name='a' type='hinge' axis='0 1 0' {a}/>"
    "<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.03' mass='1' contype='0' conaffinity='0'/>"
    "<body pos='0 0 -0.5'><joint name='b' type='hinge' axis='0 1 0' {b}/>"
    "<geom type='capsule' fromto='0 0 0 0 0 -0.4' size='0.03' mass='0.7' contype='0' "
    "conaffinity='0'/></body></body>"
)


def arm(actuators: str, *, a: str = "", b: str = "", sections: str = "") -> mujoco.MjModel:
    return compile_mjcf(
        ARM.format(a=a, b=b), sections=f"{sections}<actuator>{actuators}</actuator>"
    )


def by_mujoco(model: mujoco.MjModel, ctrl: list[float], end: float) -> mujoco.MjData:
    """Fourth-order steps of 50 µs; exact to 1e-8 even across the kinks of clamps."""
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 5e-5
    data = mujoco.MjData(model)
    data.ctrl[:] = ctrl
    for _ in range(round(end / model.opt.timestep)):
        mujoco.mj_step(model, data)
    return data


def by_asperity(
    model: mujoco.MjModel, setting: asp.Integrator, ctrl: list[float], end: float
) -> mujoco.MjData:
    sim = asp.Simulator(model, integrator=setting)
    sim.data.ctrl[:] = ctrl
    assert sim.advance_to(end).success
    return sim.data


TENDON = (
    "<tendon><fixed name='t'><joint joint='a' coef='0.7'/><joint joint='b' coef='-0.4'/>"
    "</fixed></tendon>"
)
