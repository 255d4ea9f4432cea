"""Runge–Kutta 3(2): order, error control, and failures."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.errors import ArgumentError, Status

Array = np.ndarray

# A tumbling body, a ball joint with a hinge behind it, and an actuator that filters its input.
TUMBLE = """
<mujoco>
  <worldbody>
    <body pos='0 0 2'><freejoint/><geom type='box' size='.1 .2 .05' mass='1'/></body>
    <body pos='1 0 2'><joint type='ball' damping='0.1'/>
      <geom type='box' size='.1 .02 .05' pos='.2 .1 0' mass='1'/>
      <body pos='.4 0 0'><joint name='hinge' axis='0 1 0' stiffness='3' damping='.02'/>
        <geom type='capsule' fromto='0 0 0 .3 0 0' size='.02' mass='.3'/></body></body>
  </worldbody>
  <actuator>
    <general joint='hinge' dyntype='filter' dynprm='0.1' gainprm='2' biastype='none'/>
  </actuator>
</mujoco>
"""


def tumble(integrator: asp.RungeKutta3 | asp.Icf, end: float = 0.4) -> tuple[Array, asp.Simulator]:
    """Final state of the tumbling model."""
    model = mujoco.MjModel.from_xml_string(TUMBLE)
    data = mujoco.MjData(model)
    data.qvel[:] = 1, 0, 0.5, 2, 3, -1, 1, -2, 3, 1.5
    data.ctrl[:] = 0.7
    sim = asp.Simulator(model, integrator=integrator, data=data)
    report = sim.advance_to(end)
    assert report.success, report.message
    return np.concatenate([sim.data.qpos, sim.data.qvel, sim.data.act]), sim


def test_order_three() -> None:
    reference, _ = tumble(asp.RungeKutta3(time_step=1.25e-4))
    errors = [
        np.abs(tumble(asp.RungeKutta3(time_step=h))[0] - reference).max()
        for h in (1e-2, 5e-3, 2.5e-3, 1.25e-3)
    ]
    orders = np.diff(np.log(errors)) / np.log(0.5)
    assert np.all(np.diff(orders) > 0)
    assert 2.85 < orders[-1] < 3.1


def test_same_trajectory_as_icf() -> None:
    reference, _ = tumble(asp.RungeKutta3(time_step=1e-3))
    errors = [np.abs(tumble(asp.Icf(time_step=h))[0] - reference).max() for h in (1e-3, 1e-4, 1e-5)]
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 10.0, rtol=0.2)


def test_error_control() -> None:
    reference, _ = tumble(asp.RungeKutta3(time_step=2.5e-4))
    errors, steps = [], []
    for accuracy in (1e-3, 1e-5, 1e-7):
        state, sim = tumble(asp.RungeKutta3(accuracy=accuracy, error_norm="position"))
        errors.append(np.abs(state - reference).max())
        steps.append(sim.stats.steps)
        # Three evaluations an attempt, of which the first is that of the step before.
        attempts = sim.stats.steps + sim.stats.rejections
        assert sim.stats.evaluations <= 3 * attempts + 1
    # The estimate is of third order: a hundredth of the error takes 4.6 times the steps.
    ratios = np.array(steps[1:]) / steps[:-1]
    np.testing.assert_allclose(ratios, 100 ** (1 / 3), rtol=0.15)
    assert errors[0] > 20 * errors[1] > 400 * errors[2]


def test_full_state_norm_is_the_default_and_bounds_velocities() -> None:
    reference, _ = tumble(asp.RungeKutta3(time_step=2.5e-4))
    state, sim = tumble(asp.RungeKutta3(accuracy=1e-4))
    loose, other = tumble(asp.RungeKutta3(accuracy=1e-4, error_norm="position"))
    assert sim.stats.steps > other.stats.steps
    velocities = slice(sim.model.nq, sim.model.nq + sim.model.nv)
    error = np.abs(state - reference)[velocities].max()
    assert error < 0.5 * np.abs(loose - reference)[velocities].max()
    assert error < 1e-3


BALL = """
<mujoco><worldbody><geom type='plane' size='0 0 1'/>
<body pos='0 0 {height}'><freejoint/><geom type='sphere' size='.1' mass='1' friction='.5'/></body>
</worldbody></mujoco>
"""


def test_elastic_bounce_conserves_energy() -> None:
    contact = asp.ContactParameters(stiffness=1e4, dissipation=0.0)
    sim = asp.Simulator(
        BALL.format(height=0.3), integrator=asp.RungeKutta3(time_step=1e-4), contact=contact
    )
    start = sum(sim.energy())
    heights = []
    for _ in range(50):
        assert sim.advance_to(sim.time + 0.02).success
        heights.append(sim.data.qpos[2])
        assert sum(sim.energy()) == pytest.approx(start, rel=1e-5)
    assert min(heights) < 0.1 + 1e-3
    assert max(heights[25:]) > 0.28


def test_rests_at_static_penetration() -> None:
    contact = asp.ContactParameters(stiffness=1e4, dissipation=20.0)
    sim = asp.Simulator(
        BALL.format(height=0.1), integrator=asp.RungeKutta3(accuracy=1e-7), contact=contact
    )
    assert sim.advance_to(1.5).success
    assert 0.1 - sim.data.qpos[2] == pytest.approx(9.81 / 1e4, rel=1e-3)
    assert sim.contacts.normal_force.sum() == pytest.approx(9.81, rel=1e-3)


def test_unstable_step_ends_with_a_status() -> None:
    text = BALL.format(height=1.0).replace("<freejoint/>", "<joint type='slide' damping='1e4'/>")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = 1.0
    sim = asp.Simulator(model, integrator=asp.RungeKutta3(time_step=1e-2), data=data)
    report = sim.advance_to(10.0, on_failure="return")
    assert report.status == Status.NON_FINITE
    assert np.all(np.isfinite(sim.data.qpos))
    assert np.all(np.isfinite(sim.data.qvel))
    # Under error control the same model is only slow.
    data.qpos[:], data.qvel[:], data.time = 0.0, 1.0, 0.0
    sim = asp.Simulator(model, integrator=asp.RungeKutta3(accuracy=1e-8), data=data)
    assert sim.advance_to(1e-3).success
    # The rate is c/m, and gravity lets the joint creep.
    assert sim.data.qpos[0] == pytest.approx(1e-4 * (1 - np.exp(-10)) - 9.81e-7, abs=2e-7)


@pytest.mark.parametrize(
    "options",
    [
        {"time_step": 1e-3, "accuracy": 1e-3},
        {"time_step": 0.0},
        {"accuracy": float("nan")},
        {"max_step": 1e-9},
        {"error_norm": "velocity"},
        {"friction_law": "coulomb"},
        {"constraint_step": -1.0},
    ],
)
def test_refused_options(options: dict[str, float | str]) -> None:
    with pytest.raises(ArgumentError) as caught:
        asp.RungeKutta3(**options)
    assert any(name in str(caught.value) for name in options)
