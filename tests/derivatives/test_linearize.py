"""Derivatives of steps against central differences of steps that are solved to round-off."""

from __future__ import annotations

import copy
from typing import Any

import derivative_models as models
import mujoco
import numpy as np
import pytest

import asperity as asp

_STATES = 5
# Displacements of differences: the best of them counts, as truncation limits one and round-off the
# other.
_SIZES = (1e-6, 1e-7, 1e-8)
# Forward and backward differences that are so far apart, whatever their size, have a kink between.
_KINK = 0.02


def _compare(name: str, key: str, count: int, seed: int) -> list[float]:
    """Errors of the derivatives at random states without a kink."""
    model = models.load(name)
    integrator = models.INTEGRATORS[key]
    differences = models.Differences(model, integrator)
    errors = []
    for data in models.states(model, count, seed):
        lin = asp.derivatives.linearize(model, data, integrator=integrator)
        assert lin.method == "implicit"
        ours = np.concatenate([lin.A, lin.B], axis=1)
        found = []
        for size in _SIZES:
            ahead, behind = differences.sides(data, size)
            found.append((models.error(ours, 0.5 * (ahead + behind)), ahead, behind))
        least, ahead, behind = min(found, key=lambda one: one[0])
        if models.error(ahead, behind) > _KINK:
            # One-sided agreement, column by column.
            apart = [np.abs(ours - side).max(axis=0) for side in (ahead, behind)]
            assert np.all(np.min(apart, axis=0) <= 1e-3 * (1.0 + np.abs(ours).max(axis=0)))
        else:
            errors.append(least)
    return errors


@pytest.mark.parametrize("name", models.MODELS)
def test_icf_agrees_with_differences_of_whole_steps(name: str) -> None:
    errors = _compare(name, "icf", _STATES, seed=7)
    assert len(errors) >= _STATES - 1
    assert max(errors) < 1e-5


@pytest.mark.parametrize("key", sorted(set(models.INTEGRATORS) - {"icf"}))
@pytest.mark.parametrize(
    "name",
    [
        *("capsule on a ramp", "arm at its limits", "servo with activation"),
        *("motors with inner states", "four-bar linkage", "two boxes", "conveyor belt"),
        *("fingers with torsion", "balls that roll"),
    ],
)
def test_other_methods_agree_with_differences_of_whole_steps(name: str, key: str) -> None:
    errors = _compare(name, key, 3, seed=3)
    assert len(errors) >= 2
    assert max(errors) < 1e-5


@pytest.mark.parametrize("name", ["sliding box", "quadruped"])
def test_the_step_is_the_simulator_s(name: str) -> None:
    model = models.load(name)
    integrator = asp.Icf(tolerance=1e-12, friction_tolerance=1e-10, friction_passes=200)
    differences = models.Differences(model, integrator)
    for data in models.states(model, 3, seed=1):
        lin = asp.derivatives.linearize(model, data, integrator=integrator)
        qpos, qvel, _ = differences.simulated(data)
        np.testing.assert_allclose(lin.qpos, qpos, atol=1e-10)
        np.testing.assert_allclose(lin.qvel, qvel, atol=1e-7)


def test_without_contact_it_is_mujoco_s() -> None:
    """Both integrators are semi-implicit Euler with implicit dampers."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep=".002"/><worldbody>
        <body pos="0 0 1"><joint axis="0 1 0" damping=".3"/><geom size=".1" pos=".2 0 0"/>
          <body pos=".4 0 0"><joint axis="1 1 0"/><geom size=".05" pos=".1 .1 0"/></body></body>
        <body pos="2 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/></body>
        </worldbody>
        <actuator><motor joint="j" gear="2"/></actuator></mujoco>""".replace(
            'axis="0 1 0"', 'name="j" axis="0 1 0"'
        )
    )
    data = mujoco.MjData(model)
    data.qvel[:] = np.linspace(-1.0, 1.0, model.nv)
    data.ctrl[:] = 0.4
    size = 2 * model.nv
    by_state, by_control = np.zeros((size, size)), np.zeros((size, model.nu))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, by_state, by_control, None, None)
    lin = asp.derivatives.linearize(model, data, integrator=asp.Icf(time_step=0.002))
    np.testing.assert_allclose(lin.A, by_state, atol=2e-8)
    np.testing.assert_allclose(lin.B, by_control, atol=2e-8)


@pytest.mark.parametrize("key", ["icf", "sap"])
def test_drag_in_a_straight_pose(key: str) -> None:
    """Joints have no arms about some axes there, on which they have drag in a pose beside it."""
    rod = "<geom type='capsule' size='.02' fromto='0 0 0 0 0 -.3' mass='.1'/>"
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option density='1000' viscosity='.1' gravity='0 0 0'/><worldbody>"
        f"<body><joint axis='0 1 0'/>{rod}<body pos='0 0 -.3'><joint axis='1 0 0'/>{rod}</body>"
        "</body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[:] = 2.0, -3.0
    integrator = models.INTEGRATORS[key]
    lin = asp.derivatives.linearize(model, data, integrator=integrator)
    ahead, behind = models.Differences(model, integrator).sides(data, 1e-6)
    assert lin.method == "implicit"
    assert lin.unmatched == 0
    assert models.error(lin.A, 0.5 * (ahead + behind)[:, :4]) < 1e-5


@pytest.mark.parametrize("key", ["icf", "sap"])
def test_a_tendon_s_servo_in_a_straight_pose(key: str) -> None:
    """It has no arm there, but beside: ∂v/∂θ is −h F L″/I with the force F and the length L(θ)."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option gravity='0 0 0'/><worldbody><site name='top' pos='0 0 .2'/><body>"
        "<joint axis='0 1 0' armature='.1'/><geom size='.02' mass='1e-9' pos='0 0 -.3'/>"
        "<site name='tip' pos='0 0 -.3'/></body></worldbody><tendon><spatial name='t'>"
        "<site site='top'/><site site='tip'/></spatial></tendon>"
        "<actuator><position tendon='t' kp='1000'/></actuator></mujoco>"
    )
    data = mujoco.MjData(model)
    data.ctrl[0] = 0.3
    integrator = models.INTEGRATORS[key]
    lin = asp.derivatives.linearize(model, data, integrator=integrator)
    # L² = .2² + .3² + 2 · .2 · .3 cos θ, and the servo pulls by 1000 (L − .3).
    slope = 1000.0 * (0.5 - 0.3) * (0.2 * 0.3 / 0.5)
    assert lin.A[1, 0] == pytest.approx(slope * lin.steps[0] / 0.1, rel=1e-5)


_ROD = "<geom type='capsule' size='.02' fromto='0 0 0 0 0 -.3' mass='.1'/>"
_STRAIGHT = {
    # A rod that hangs straight below its hinge is pulled further down, and two are pulled aside.
    "connect": f"""<site name='w' pos='0 0 -.35'/><body><joint axis='0 1 0' armature='.1'/>{_ROD}
      <site name='tip' pos='0 0 -.3'/></body></worldbody>
      <equality><connect site1='tip' site2='w'/></equality>""",
    "connect two": f"""<site name='w' pos='.1 0 -.75'/><body><joint axis='0 1 0'/>{_ROD}
      <body pos='0 0 -.3'><joint axis='0 1 0'/>{_ROD}<site name='tip' pos='0 0 -.3'/></body></body>
      </worldbody><equality><connect site1='tip' site2='w'/></equality>""",
    "weld": f"""<site name='w' pos='0 0 -.35' euler='0 10 20'/><body>
      <joint axis='0 1 0' armature='.1'/>{_ROD}<site name='tip' pos='0 0 -.3'/></body></worldbody>
      <equality><weld site1='tip' site2='w'/></equality>""",
    # a = .1 + 3 b², at b = 0
    "joint": f"""<body><joint name='a' axis='0 1 0' armature='.1'/>{_ROD}</body><body pos='1 0 0'>
      <joint name='b' axis='0 1 0' armature='.1'/>{_ROD}</body></worldbody>
      <equality><joint joint1='a' joint2='b' polycoef='.1 0 3 0 0'/></equality>""",
}


@pytest.mark.parametrize("key", ["icf", "sap", "tamsi"])
@pytest.mark.parametrize("name", _STRAIGHT)
def test_an_equality_in_a_straight_pose(name: str, key: str) -> None:
    """It has no arm along some of what it pulls, but beside."""
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><option gravity='0 0 0'/><worldbody>{_STRAIGHT[name]}</mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[:] = 0.3
    integrator = models.INTEGRATORS[key]
    lin = asp.derivatives.linearize(model, data, integrator=integrator)
    ahead, behind = models.Differences(model, integrator).sides(data, 1e-7)
    assert lin.unmatched == 0
    assert models.error(lin.A, 0.5 * (ahead + behind)[:, : 2 * model.nv]) < 1e-6


def test_of_a_tendon_s_equality_without_an_arm_there_is_a_warning() -> None:
    """MuJoCo leaves it out, so that nothing is known of it beside."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option gravity='0 0 0'/><worldbody><site name='top' pos='0 0 .2'/>"
        f"<body euler='0 -60 0'><joint axis='0 1 0' armature='.1'/>{_ROD}"
        "<site name='tip' pos='0 0 -.3'/></body></worldbody><tendon><spatial name='t'>"
        "<site site='top'/><site site='tip'/></spatial></tendon>"
        "<equality><tendon tendon1='t' polycoef='-.1 0 0 0 0'/></equality></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qpos[0] = np.pi / 3.0
    with pytest.warns(asp.AsperityWarning, match="leave out what these change by"):
        lin = asp.derivatives.linearize(model, data, integrator=models.INTEGRATORS["icf"])
    assert lin.unmatched == 1


def test_several_steps_are_the_product() -> None:
    model = models.load("double pendulum on the floor")
    data = next(models.states(model, 1, seed=2))
    integrator = asp.Icf()
    three = asp.derivatives.linearize(model, data, integrator=integrator, step=3e-3)
    product = np.eye(2 * model.nv)
    control = np.zeros((2 * model.nv, model.nu))
    one = copy.copy(data)
    for _ in range(3):
        lin = asp.derivatives.linearize(model, one, integrator=integrator)
        product = lin.A @ product
        control = lin.A @ control + lin.B
        one.qpos[:], one.qvel[:] = lin.qpos, lin.qvel
    np.testing.assert_allclose(three.steps, 1e-3, rtol=1e-9)
    np.testing.assert_allclose(three.A, product, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(three.B, control, rtol=1e-5, atol=1e-9)


def test_the_data_stay_as_they_are_and_the_result_repeats() -> None:
    model = models.load("quadruped")
    data = next(models.states(model, 1, seed=4))
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
    before, after = np.empty(size), np.empty(size)
    mujoco.mj_getState(model, data, before, mujoco.mjtState.mjSTATE_INTEGRATION)
    first = asp.derivatives.linearize(model, data, integrator=asp.Icf())
    asp.derivatives.linearize(model, mujoco.MjData(model), integrator=asp.Icf())
    second = asp.derivatives.linearize(model, data, integrator=asp.Icf())
    mujoco.mj_getState(model, data, after, mujoco.mjtState.mjSTATE_INTEGRATION)
    np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(first.A, second.A)
    np.testing.assert_array_equal(first.B, second.B)


@pytest.mark.parametrize("speed", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("above", [-1e-9, 0.0, 1e-9])
def test_at_the_edge_of_contact_it_is_the_one_sided_derivative(above: float, speed: float) -> None:
    """A ball that just touches is in contact, and so is one below; one above flies freely."""
    model = models.load("ball")
    data = mujoco.MjData(model)
    data.qpos[2] = 0.1 + above
    data.qvel[2] = speed
    lin = asp.derivatives.linearize(model, data, integrator=asp.Icf(time_step=1e-3))
    differences = models.Differences(model, asp.Icf(time_step=1e-3))
    # A tenth of the distance to the edge: nothing crosses it that was not there.
    forward, backward = differences.sides(data, 1e-10)
    touches = above <= 0.0
    expected = (backward if touches else forward)[:, : 2 * model.nv]
    np.testing.assert_allclose(lin.A, expected, rtol=1e-6, atol=1e-4)
    # Contact makes the step's end stiffer, as long as the ball does not leave.
    stiffness = lin.A[model.nv + 2, 2]
    assert stiffness < -50.0 if touches and speed <= 0.0 else stiffness == 0.0


def test_a_change_of_the_model_is_heard() -> None:
    model = models.load("sliding box")
    data = mujoco.MjData(model)
    data.qvel[0] = 1.0
    before = asp.derivatives.linearize(model, data, integrator=asp.Icf())
    model.geom_friction[:, 0] = 0.1
    after = asp.derivatives.linearize(model, data, integrator=asp.Icf())
    assert before.qvel[0] < after.qvel[0] - 1e-3


@pytest.mark.parametrize(
    "integrator",
    [asp.Midas(time_step=0.01), asp.RungeKutta3(time_step=1e-4), asp.ImplicitEuler(time_step=1e-3)],
)
def test_other_integrators_say_that_they_are_differenced(integrator: Any) -> None:
    text = models.MODELS["double pendulum on the floor"].replace(models.FLOOR, "")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = 0.1, -0.2
    lin = asp.derivatives.linearize(model, data, integrator=integrator)
    assert lin.method == "differences"
    exact = asp.derivatives.linearize(
        model, data, integrator=asp.Icf(time_step=1e-4), step=integrator.time_step
    )
    # All of them are first-order approximations, at least, of the same motion in the air.
    np.testing.assert_allclose(lin.A, exact.A, rtol=0.05, atol=0.02)
    np.testing.assert_allclose(lin.B, exact.B, rtol=0.05, atol=0.02)


def test_delayed_controls_are_refused_by_name() -> None:
    text = """<mujoco><worldbody><body><joint name="x"/><geom size=".1"/></body></worldbody>
      <actuator><motor name="late" joint="x" delay=".05" nsample="9"/></actuator></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    with pytest.raises(asp.ModelError, match=r"'late' has a delay, and what is on its way"):
        asp.derivatives.linearize(model, mujoco.MjData(model), integrator=asp.Icf())
    with pytest.raises(asp.ModelError, match=r"'late' has a delay, and what is on its way"):
        asp.derivatives.Transition(model, integrator=asp.Icf())


def test_what_cannot_be_linearised_is_refused() -> None:
    model = models.load("ball")
    data = mujoco.MjData(model)
    with pytest.raises(asp.ArgumentError, match="step must be positive"):
        asp.derivatives.linearize(model, data, step=-1.0)
    with pytest.raises(asp.ArgumentError, match="another model"):
        asp.derivatives.linearize(model, mujoco.MjData(models.load("quadruped")))
    with pytest.raises(asp.ArgumentError, match=r"mujoco\.MjModel"):
        asp.derivatives.linearize("ball.xml", data)  # type: ignore[arg-type]
    data.qvel[0] = np.nan
    with pytest.raises(asp.ArgumentError, match="qvel"):
        asp.derivatives.linearize(model, data)


@pytest.mark.parametrize("key", ["icf", "similar", "sap", "tamsi"])
def test_moments_of_friction_follow_the_axes_of_joints(key: str) -> None:
    """Of a soft ball on three joints that turns far against friction, which is most of its load."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option gravity="0 0 0"/><worldbody><geom type="plane" size="1 1 1"/>
        <body pos="0 0 .095"><joint axis="0 1 .2"/><joint axis="1 .1 0"/>
          <geom size=".01" mass=".1" contype="0"/>
          <body><joint axis=".2 .1 1"/><geom size=".1" mass="1" condim="6" friction=".1 .2 .1"/>
        </body></body></worldbody></mujoco>"""
    )
    integrator = models.INTEGRATORS[key]
    soft = asp.ContactParameters(stiffness=1e3)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (0.4, -0.3, 0.2), (3.0, 2.0, 4.0)
    lin = asp.derivatives.linearize(model, data, integrator=integrator, contact=soft)
    assert lin.method == "implicit"
    ahead, behind = models.Differences(model, integrator, soft).sides(data, 1e-6)
    expected = 0.5 * (ahead + behind)
    # Without friction velocities would change by less.
    assert np.abs(expected[3:, 3:] - np.eye(3)).max() > 1e-2
    assert np.abs(lin.A - expected).max() < 1e-7
