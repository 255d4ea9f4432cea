"""Derivatives under error control: of accepted steps, with their sizes and modes frozen."""

from __future__ import annotations

import derivative_models as models
import mujoco
import numpy as np
import pytest
from frozen_steps import decide, replay, state_of, take_over

import asperity as asp
from asperity.derivatives.step_derivative import StepDerivative
from asperity.derivatives.step_differences import StepDifferences
from asperity.derivatives.tangent import StepState
from asperity.derivatives.tangent_space import difference

_TIGHT = asp.Cenic(tolerance_ratio=1e-9, friction_tolerance=1e-10, friction_passes=300)


@pytest.mark.parametrize(
    "name",
    [
        *("ball", "capsule on a ramp", "double pendulum on the floor"),  # that has a spring
        *("four-bar linkage", "ball joint and free body", "chain of springs"),
        "opposed springs",
    ],
)
def test_extrapolated_steps_agree_with_differences(name: str) -> None:
    model = models.load(name)
    nv = model.nv
    derivative = StepDerivative(asp.Simulator(model, integrator=asp.Cenic()))
    for data, interval in zip(models.states(model, 3, seed=11), (0.05, 0.03, 0.015), strict=True):
        lin = asp.derivatives.linearize(model, data, integrator=asp.Cenic(), step=interval)
        assert lin.method == "implicit"
        assert sum(lin.steps) == pytest.approx(interval)
        start = state_of(data)
        take_over(derivative, data)
        decisions = decide(derivative, start, lin.steps)
        found = []
        for size in (1e-6, 1e-7):
            columns = []
            for index in range(2 * nv):
                ends = []
                for sign in (1.0, -1.0):
                    change = np.zeros(2 * nv)
                    change[index] = sign * size
                    qpos = start.qpos.copy()
                    mujoco.mj_integratePos(model, qpos, change[:nv].copy(), 1.0)
                    moved = StepState(0.0, qpos, start.qvel + change[nv:], start.act)
                    ends.append(replay(derivative, moved, decisions))
                position = np.zeros(nv)
                mujoco.mj_differentiatePos(model, position, 1.0, ends[1].qpos, ends[0].qpos)
                speed = ends[0].qvel - ends[1].qvel
                columns.append(np.concatenate([position, speed]) / (2.0 * size))
            found.append(models.error(lin.A, np.array(columns).T))
        assert min(found) < 1e-5


def test_a_ball_that_rolls_over_another_has_the_differences_of_its_whole_steps() -> None:
    """Gaps of the second half step are taken as given: that is of second order in the angle."""
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom size=".5"/>
      <body pos="0 0 .5999"><freejoint/><geom size=".1" mass="1"/></body></worldbody></mujoco>""")
    rolling = [0.6, 0.1, 0.0, -1.0, 6.0, 0.0]
    before = asp.simulate(model, (0.0, 0.05), integrator=asp.Cenic(accuracy=1e-6), qvel=rolling)
    start = StepState(0.0, before.qpos[-1], before.qvel[-1], np.zeros(0))
    simulator = asp.Simulator(model, integrator=_TIGHT)
    steps = StepDerivative(simulator).steps
    for step in (0.005, 0.01, 0.02):
        found = steps.at(start, step).by_state
        expected = StepDifferences(simulator).at(start, step).by_state
        angle = step * np.linalg.norm(start.qvel[:3]) / 0.5
        error = np.abs(found - expected).max() / np.abs(expected).max()
        assert error < angle**2


@pytest.mark.parametrize("name", ["capsule on a ramp", "quadruped", "ball joint and free body"])
def test_the_steps_are_the_simulator_s(name: str) -> None:
    model = models.load(name)
    for data in models.states(model, 2, seed=11):
        lin = asp.derivatives.linearize(model, data, integrator=_TIGHT, step=0.02)
        simulator = asp.Simulator(model, integrator=_TIGHT)
        for field in ("qpos", "qvel", "act", "ctrl", "time"):
            value = getattr(data, field)
            if field == "time":
                simulator.data.time = value
            else:
                getattr(simulator.data, field)[:] = value
        simulator.take_over()
        assert simulator.advance_to(simulator.time + 0.02).success
        assert len(lin.steps) == simulator.stats.steps
        np.testing.assert_allclose(lin.qpos, simulator.data.qpos, atol=1e-9)
        np.testing.assert_allclose(lin.qvel, simulator.data.qvel, atol=1e-6)


@pytest.mark.parametrize("seed", [2, 3, 5, 8, 12])
def test_step_doubling_is_the_product_of_its_halves(seed: int) -> None:
    """Of bodies with equal moments of inertia.

    Gyroscopic forces of others that turn slowly are those of the middle under error control alone.
    """
    model = models.load("two boxes")
    data = next(models.states(model, 1, seed=seed))
    model.body_inertia[:] = model.body_inertia.mean(axis=1, keepdims=True)
    # The first step is a tenth of the largest.
    doubled = asp.Cenic(error_estimate="step-doubling", max_step=1e-2)
    lin = asp.derivatives.linearize(model, data, integrator=doubled, step=1e-3)
    halves = asp.derivatives.linearize(
        model,
        data,
        integrator=asp.Icf(time_step=5e-4),
        step=1e-3,
    )
    assert len(lin.steps) == 1
    np.testing.assert_allclose(lin.A, halves.A, atol=1e-10 * np.abs(halves.A).max())


def test_the_trapezoid_says_that_it_is_differenced() -> None:
    model = models.load("ball")
    data = mujoco.MjData(model)
    data.qpos[2] = 0.5
    lin = asp.derivatives.linearize(
        model, data, integrator=asp.Cenic(error_estimate="trapezoid"), step=0.01
    )
    assert lin.method == "differences"
    exact = np.eye(12)
    exact[:6, 6:] = 0.01 * np.eye(6)
    np.testing.assert_allclose(lin.A, exact, atol=1e-8)


@pytest.mark.parametrize("scheme", ["step-doubling", "extrapolation"])
@pytest.mark.parametrize("shape", ["sphere", "box"])
def test_contacts_that_cease_to_push_in_the_first_half_are_followed_ahead(
    scheme: str, shape: str
) -> None:
    """One contact, or all corners of a box at once, at their kinks."""
    size = ".1" if shape == "sphere" else ".1 .1 .1"
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="0 0 0"/><worldbody><geom type="plane" size="5 5 .1"/>
        <body><freejoint/><geom type="{shape}" size="{size}" mass="1"/></body></worldbody></mujoco>"""
    )
    contact = asp.ContactParameters(stiffness=1e4, dissipation=0.0, stiction_tolerance=1e-4)
    integrator = asp.Cenic(error_estimate=scheme, accuracy=0.1, max_step=1e-2)
    data = mujoco.MjData(model)
    # The first step is a tenth of the largest; its half ends where nothing overlaps any more.
    data.qpos[2], data.qvel[2] = 0.1 - 1e-4, 1e-4 / 5e-4
    lin = asp.derivatives.linearize(model, data, integrator=integrator, contact=contact, step=1e-3)
    np.testing.assert_array_equal(lin.steps, [1e-3])
    derivative = StepDerivative(asp.Simulator(model, integrator=integrator, contact=contact))
    take_over(derivative, data)
    start = state_of(data)
    decisions = decide(derivative, start, lin.steps)

    def end(change: np.ndarray) -> StepState:
        qpos = start.qpos.copy()
        mujoco.mj_integratePos(model, qpos, change[:6].copy(), 1.0)
        state = StepState(0.0, qpos, start.qvel + change[6:], start.act)
        return replay(derivative, state, decisions)

    base, sides = end(np.zeros(12)), []
    for displacement in (1e-9, -1e-9):
        ends = [end(change) for change in displacement * np.eye(12)]
        sides.append(np.array([difference(model, base, one) for one in ends]).T / displacement)
    assert models.error(lin.A, sides[0]) < 1e-4
    assert models.error(lin.A, sides[1]) > 1e-2


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_activations_are_extrapolated() -> None:
    """A link with a filtered motor and an integrated one, beside central differences of steps."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint name='j' axis='0 1 0' damping='.1'/>"
        "<geom type='capsule' size='.02' fromto='0 0 0 0 0 -.4' mass='1'/></body></worldbody>"
        "<actuator><general joint='j' dyntype='filter' dynprm='.05' gainprm='3'/>"
        "<general joint='j' dyntype='integrator' gainprm='2'/></actuator></mujoco>"
    )
    step = 0.02
    model.opt.timestep = step
    integrator = asp.Cenic(accuracy=1e3, max_step=step, tolerance_ratio=1e-11)

    def end(x: np.ndarray) -> np.ndarray:
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = x[0], x[1], x[2:4], x[4:]
        asp.Simulator(model, data=data, integrator=integrator).advance_to(step)
        return np.concatenate([data.qpos, data.qvel, data.act])

    point = np.array([0.7, 0.3, 0.4, 0.1, 1.0, 0.5])
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = 0.7, 0.3, point[2:4], point[4:]
    found = asp.derivatives.linearize(model, data, integrator=integrator)
    size = 1e-5
    changes = size * np.eye(6)
    expected = [(end(point + one) - end(point - one)) / (2 * size) for one in changes]
    np.testing.assert_allclose(np.hstack([found.A, found.B]), np.transpose(expected), atol=1e-8)
