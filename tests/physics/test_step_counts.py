"""How many steps error control takes where hardly anything happens: a box at rest."""

from __future__ import annotations

from typing import Any

import pytest

import asperity as asp

BOX = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
  </worldbody>
</mujoco>
"""
DEPTH = 9.81 / 4e5  # four springs of 1e5 N/m

# Largest number of attempts (steps and rejections) in 2 s. Twenty steps of 0.1 s and the growth of
# the first ones are the least; SAP's near-rigid contact is another one for every step size, which
# its errors show.
ATTEMPTS = {
    "Cenic": 45,  # which sees velocities of the first millimetre per second
    "Tamsi": 30,
    "ImplicitEuler": 35,
    "Sdirk2": 35,
    "Rosenbrock2": 60,
    "Sap": 600,
}


def _at_rest(name: str, accuracy: float, **options: Any) -> asp.Simulator:
    sim = asp.Simulator(BOX, integrator=getattr(asp, name)(accuracy=accuracy, **options))
    report = sim.advance_to(2.0)
    assert report.success, report.message
    return sim


def _attempts(sim: asp.Simulator) -> int:
    return sim.stats.steps + sim.stats.rejections


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_resting_box_takes_few_steps(name: str, accuracy: float) -> None:
    sim = _at_rest(name, accuracy)
    assert 20 <= _attempts(sim) <= ATTEMPTS[name]
    if name != "Sap":  # whose contact is softer in long steps
        assert sim.data.qpos[2] == pytest.approx(0.1 - DEPTH, abs=1e-9)


def test_the_baseline_takes_no_more_than_it_needs() -> None:
    # Step doubling once hid from error control which contacts implicit Euler had seen, and every
    # one of them counted as missed.
    tamsi, euler = _at_rest("Tamsi", 1e-5), _at_rest("ImplicitEuler", 1e-5)
    assert _attempts(euler) <= 3 * _attempts(tamsi)


@pytest.mark.parametrize("name", ["RungeKutta3"])
def test_an_explicit_method_stays_where_it_is_stable(name: str) -> None:
    # Its steps are those of stiction: v_s/(μ g), some 10 µs.
    sim = asp.Simulator(
        BOX.replace('pos="0 0 0.1"', f'pos="0 0 {0.1 - DEPTH}"'),
        integrator=getattr(asp, name)(accuracy=1e-3),
        contact=asp.ContactParameters(stiction_tolerance=1e-2),
    )
    assert sim.advance_to(0.02).success
    assert sim.data.qpos[2] == pytest.approx(0.1 - DEPTH, abs=1e-5)
    assert _attempts(sim) < 2000


@pytest.mark.parametrize("scheme", ["symplectic-euler", "midpoint", "implicit-euler"])
def test_sap_under_error_control_does_not_miss_what_it_meets(scheme: str) -> None:
    ball = """<mujoco><worldbody><geom type="box" size="1 1 0.005"/>
      <body pos="0 0 0.5"><freejoint/><geom type="sphere" size="0.04" mass="0.1"/></body>
    </worldbody></mujoco>"""
    sim = asp.Simulator(ball, integrator=asp.Sap(accuracy=1e-3, theta_scheme=scheme))
    sim.data.qvel[2] = -100.0
    assert sim.advance_to(0.05).success
    assert sim.data.qpos[2] > 0.0


@pytest.mark.parametrize("speed", [5.0, 10.0, 20.0])
def test_implicit_euler_does_not_leave_a_thin_wall_on_the_other_side(speed: float) -> None:
    # Implicit equations of a fast body that touches a thin wall have a solution beyond it, too.
    ball = """<mujoco><worldbody><geom type="box" size="1 1 0.005"/>
      <body pos="0 0 0.5"><freejoint/><geom type="sphere" size="0.04" mass="0.1"/></body>
    </worldbody></mujoco>"""
    sim = asp.Simulator(ball, integrator=asp.ImplicitEuler(accuracy=1e-3))
    sim.data.qvel[2] = -speed
    assert sim.advance_to(0.02 + 0.6 / speed).success
    assert sim.data.qpos[2] > 0.0
