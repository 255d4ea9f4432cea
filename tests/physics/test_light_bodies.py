"""Bodies of milligrams, in steps that are short for them, accelerate as their forces say.

A solve that ended at a residual of the accuracy's part of a joule, whatever the mass, did not move
them at all.
"""

from __future__ import annotations

import math

import pytest
from physics_models import compile_mjcf

import asperity as asp

GRAVITY = 9.81
TILT = 0.4
END = 0.02

SHAPES = {
    # geom, its height above the plane over its size, and acceleration down the plane
    "ball": (
        "<geom type='sphere' size='{size}' density='1000' friction='.5 0 0'/>",
        1.0,
        5.0 / 7.0 * GRAVITY * math.sin(TILT),
    ),
    "box": (
        "<geom type='box' size='{size} {size} {half}' density='1000' friction='.3 0 0'/>",
        0.5,
        GRAVITY * (math.sin(TILT) - 0.3 * math.cos(TILT)),
    ),
}


def _travelled(shape: str, size: float, integrator: asp.Integrator, call: float) -> float:
    """Distance down an inclined plane after `END`, in calls of so long [s], over its formula."""
    geom, height, acceleration = SHAPES[shape]
    model = compile_mjcf(
        "<geom type='plane' size='5 5 1' friction='.1 0 0'/>"
        f"<body pos='0 0 {height * size}'><freejoint/>"
        f"{geom.format(size=size, half=0.5 * size)}</body>",
        option=f"gravity='{GRAVITY * math.sin(TILT)} 0 {-GRAVITY * math.cos(TILT)}'",
    )
    sim = asp.Simulator(model, integrator=integrator)
    for k in range(round(END / call)):
        sim.advance_to((k + 1) * call)
    return float(sim.data.qpos[0]) / (0.5 * acceleration * END**2)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [5e-3, 1e-3, 3e-4])
@pytest.mark.parametrize("accuracy", [1e-2, 1e-3])
def test_light_bodies_move_in_short_calls(shape: str, size: float, accuracy: float) -> None:
    """Of calls that last .1 ms; a ball of a milligram stayed where it was."""
    found = _travelled(shape, size, asp.Cenic(accuracy=accuracy), 1e-4)
    assert found == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("estimate", ["step-doubling", "trapezoid"])
def test_light_bodies_move_with_every_error_estimate(estimate: str) -> None:
    setting = asp.Cenic(accuracy=1e-2, error_estimate=estimate)
    # Half steps of implicit Euler go 25 µs of the end velocity too far.
    assert _travelled("ball", 3e-4, setting, 1e-4) == pytest.approx(1.0, abs=3e-3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", [asp.Icf, asp.Sap, asp.Tamsi])
def test_light_bodies_move_in_short_fixed_steps(
    shape: str, method: type[asp.Icf] | type[asp.Sap] | type[asp.Tamsi]
) -> None:
    """At 10 µs; `Tamsi` left four fifths of the way of a box of .1 mg."""
    found = _travelled(shape, 3e-4, method(time_step=1e-5), END)
    assert found == pytest.approx(1.0, abs=2e-3)


def test_a_light_arm_follows_its_motor_within_a_microsecond() -> None:
    """An arm of a gram with a servo: its first microsecond is solved, not skipped."""
    model = compile_mjcf(
        "<body><joint name='a' axis='0 1 0'/><geom type='capsule' size='.002' contype='0' "
        "conaffinity='0' fromto='0 0 0 .02 0 0' mass='.001'/></body>",
        option="gravity='0 0 0'",
        sections="<actuator><position joint='a' kp='1e-3' kv='1e-5' ctrlrange='-2 2'/></actuator>",
    )
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-2), ctrl=[1.0])
    for k in range(100):
        sim.advance_to((k + 1) * 1e-6)
    inertia = float(sim.model.dof_M0[0])
    assert sim.data.qvel[0] == pytest.approx(1e-3 / inertia * 1e-4, rel=5e-3)
