"""Implicit Euler, SDIRK2 and ROS2: orders, stability, stick and slip, error control, failures."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.errors import ArgumentError, Status

Array = np.ndarray
Implicit = asp.ImplicitEuler | asp.Sdirk2 | asp.Rosenbrock2

METHODS: dict[str, tuple[Callable[..., Implicit], int]] = {
    "implicit Euler, quasi Newton": (asp.ImplicitEuler, 1),
    "implicit Euler, full Newton": (lambda **k: asp.ImplicitEuler(newton="full", **k), 1),
    "SDIRK2": (asp.Sdirk2, 2),
    "ROS2": (asp.Rosenbrock2, 2),
    "implicit Euler, analytic": (lambda **k: asp.ImplicitEuler(jacobian="analytic", **k), 1),
    "SDIRK2, analytic": (lambda **k: asp.Sdirk2(jacobian="analytic", **k), 2),
    "ROS2, analytic": (lambda **k: asp.Rosenbrock2(jacobian="analytic", **k), 2),
}

TUMBLE = """
<mujoco><worldbody>
  <body pos='0 0 2'><freejoint/><geom type='box' size='.1 .2 .05' mass='1'/></body>
  <body pos='1 0 2'><joint type='ball' damping='0.1'/>
    <geom type='box' size='.1 .02 .05' pos='.2 .1 0' mass='1'/>
    <body pos='.4 0 0'><joint axis='0 1 0' stiffness='3' damping='.02'/>
      <geom type='capsule' fromto='0 0 0 .3 0 0' size='.02' mass='.3'/></body></body>
</worldbody></mujoco>
"""
SPHERE = """
<mujoco><worldbody><geom type='plane' size='0 0 1' friction='0'/>
  <body pos='0 0 0.0995'><freejoint/>
    <geom type='sphere' size='0.1' mass='1' friction='0.3'/></body>
</worldbody></mujoco>
"""
SOFT = asp.ContactParameters(stiffness=1e4, dissipation=2.0, stiction_tolerance=1e-2)


def run(
    text: str,
    integrator: Implicit | asp.RungeKutta3,
    end: float,
    qvel: list[float],
    contact: asp.ContactParameters | None = None,
) -> tuple[Array, asp.Simulator]:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = qvel
    sim = asp.Simulator(model, integrator=integrator, data=data, contact=contact)
    report = sim.advance_to(end)
    assert report.success, report.message
    return np.concatenate([sim.data.qpos, sim.data.qvel]), sim


SPINNING = [1, 0, 0.5, 2, 3, -1, 1, -2, 3, 1.5]


@pytest.mark.parametrize("name", METHODS)
def test_order_in_free_motion(name: str) -> None:
    make, order = METHODS[name]
    exact, _ = run(TUMBLE, asp.RungeKutta3(time_step=2e-4), 0.1, SPINNING)
    errors = []
    for step in (2.5e-3, 1.25e-3, 6.25e-4):
        found, sim = run(TUMBLE, make(time_step=step), 0.1, SPINNING)
        errors.append(np.abs(found - exact).max())
        assert sim.stats.substeps == 0
    orders = np.diff(np.log(errors)) / np.log(0.5)
    assert orders[-1] == pytest.approx(order, abs=0.25)
    assert abs(orders[-1] - order) < abs(orders[0] - order) + 0.01


@pytest.mark.parametrize("name", METHODS)
def test_order_with_an_activation(name: str) -> None:
    """A filtered motor, of which the activation is that of every stage, but of ROS2's."""
    make, order = METHODS[name]
    order = 1 if name.startswith("ROS2") else order
    text = """
      <mujoco><worldbody><body><joint name='j' axis='0 1 0' damping='2'/>
        <geom type='capsule' fromto='0 0 0 0 0 -.5' size='.03' mass='1'/></body></worldbody>
      <actuator><general joint='j' dyntype='filter' dynprm='0.05' gainprm='8'/></actuator></mujoco>"""
    errors = []
    for step in (None, 4e-3, 2e-3, 1e-3):
        integrator = asp.RungeKutta3(time_step=2e-4) if step is None else make(time_step=step)
        sim = asp.Simulator(text, integrator=integrator)
        sim.data.ctrl[0] = 1.0
        assert sim.advance_to(0.2).success
        found = np.array([*sim.data.qpos, *sim.data.qvel, *sim.data.act])
        if step is None:
            exact = found
        else:
            errors.append(np.abs(found - exact).max())
    orders = np.diff(np.log(errors)) / np.log(0.5)
    np.testing.assert_allclose(orders, order, atol=0.2)


@pytest.mark.parametrize("name", METHODS)
def test_order_in_contact(name: str) -> None:
    """A sphere slips on a soft floor; the law of friction is smooth and not too steep."""
    make, order = METHODS[name]
    qvel = [1.0, 0.3, 0, 0, 0, 5.0]
    exact, _ = run(SPHERE, asp.RungeKutta3(time_step=1e-5), 0.05, qvel, SOFT)
    errors = [
        np.abs(run(SPHERE, make(time_step=step), 0.05, qvel, SOFT)[0] - exact).max()
        for step in (5e-4, 2.5e-4, 1.25e-4)
    ]
    orders = np.diff(np.log(errors)) / np.log(0.5)
    assert orders[-1] == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("name", METHODS)
def test_error_control(name: str) -> None:
    make, _ = METHODS[name]
    exact, _ = run(TUMBLE, asp.RungeKutta3(time_step=2e-4), 0.1, SPINNING)
    errors, steps = [], []
    for accuracy in (1e-3, 1e-4, 1e-5):
        found, sim = run(TUMBLE, make(accuracy=accuracy, error_norm="state"), 0.1, SPINNING)
        errors.append(np.abs(found - exact).max())
        steps.append(sim.stats.steps)
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    # All estimates are of second order.
    assert steps[2] / steps[1] == pytest.approx(np.sqrt(10), rel=0.25)


@pytest.mark.parametrize("name", METHODS)
def test_stiff_dampers_and_springs_at_long_steps(name: str) -> None:
    """L-stability: rates a thousand times those that the step resolves die out."""
    make, _ = METHODS[name]
    text = (
        "<mujoco><option gravity='0 0 0'/><worldbody><body>"
        "<joint type='slide' axis='1 0 0' damping='1e4' stiffness='1e6'/>"
        "<geom size='.1' mass='1'/></body><body pos='1 0 0'>"
        "<joint type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body></worldbody></mujoco>"
    )
    found, _ = run(text, make(time_step=1e-2), 0.5, [1.0, 1.0])
    assert abs(found[0]) < 1e-6
    assert abs(found[2]) < 1e-6
    assert found[1] == pytest.approx(0.5)


@pytest.mark.parametrize("name", METHODS)
def test_box_sticks_to_an_incline(name: str) -> None:
    make, _ = METHODS[name]
    angle = np.arctan(0.4)
    text = f"""
<mujoco><option gravity='{9.81 * np.sin(angle)} 0 {-9.81 * np.cos(angle)}'/><worldbody>
  <geom type='plane' size='0 0 1' friction='0'/>
  <body pos='0 0 0.05'><freejoint/>
    <geom type='box' size='0.1 0.1 0.05' mass='1' friction='0.5'/></body></worldbody></mujoco>"""
    contact = asp.ContactParameters(stiffness=1e4, dissipation=5.0)
    _, sim = run(text, make(accuracy=1e-5, error_norm="state"), 0.5, [0.0] * 6, contact)
    # f(s) = s/√(s² + 1) = 0.8 at s = 4/3.
    assert sim.data.qvel[0] == pytest.approx(4 / 3 * 1e-4, rel=0.02)
    contacts = sim.contacts
    assert contacts.force[:, 2].sum() == pytest.approx(9.81 * np.cos(angle), rel=1e-3)
    assert -contacts.force[:, 0].sum() == pytest.approx(9.81 * np.sin(angle), rel=1e-3)


BOX_ON_SLIDES = """
<mujoco><option gravity='0 0 -9.8'/><worldbody>
  <geom type='plane' size='0 0 1' friction='0'/>
  <body pos='0 0 {height}'><joint name='x' type='slide' axis='1 0 0'/>
    <joint type='slide' axis='0 0 1'/>
    <geom type='sphere' size='0.05' mass='0.33' friction='1'/></body>
</worldbody><actuator><motor joint='x'/></actuator></mujoco>
"""


def shaken_box(*, transition_aware: bool, newton: str) -> asp.Simulator:
    """The box of TAMSI IV-A, a second of it at steps of 10 ms."""
    stiffness, step = 1e4, 1e-2

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        # The force at the end of the step is that of implicit Euler.
        data.ctrl[0] = 4.0 * np.cos(2 * np.pi * (data.time + step))

    sim = asp.Simulator(
        BOX_ON_SLIDES.format(height=0.05 - 0.33 * 9.8 / stiffness),
        integrator=asp.ImplicitEuler(
            time_step=step,
            newton=newton,
            transition_aware=transition_aware,
            friction_law="linear",
        ),
        contact=asp.ContactParameters(stiffness=stiffness, dissipation=0.0),
        control=control,
        control_period=step,
    )
    report = sim.advance_to(1.0)
    assert report.success, report.message
    return sim


@pytest.mark.parametrize("newton", ["full", "quasi"])
def test_transition_awareness_spares_divided_steps(newton: str) -> None:
    aware = shaken_box(transition_aware=True, newton=newton)
    plain = shaken_box(transition_aware=False, newton=newton)
    assert plain.stats.substeps >= 10
    if newton == "full":
        assert aware.stats.substeps == 0
    else:
        # A Jacobian of the stiction region serves badly where the box breaks loose.
        assert aware.stats.substeps < 0.5 * plain.stats.substeps
    assert aware.stats.evaluations < plain.stats.evaluations
    assert aware.session.method.base.table is not None
    assert aware.session.method.base.table.limited >= 2
    assert aware.data.qpos[0] == pytest.approx(plain.data.qpos[0], abs=2e-3)


def test_quasi_newton_keeps_its_jacobian() -> None:
    counts = {}
    for newton in ("full", "quasi"):
        method = asp.ImplicitEuler(time_step=1e-3, newton=newton)
        _, sim = run(TUMBLE, method, 0.1, SPINNING)
        counts[newton] = sim.stats
    assert counts["quasi"].evaluations < 0.2 * counts["full"].evaluations
    assert counts["quasi"].factorizations < 0.1 * counts["full"].factorizations


@pytest.mark.parametrize("name", METHODS)
def test_a_restored_state_continues_identically(name: str) -> None:
    """No Jacobian of an earlier trajectory is left."""
    make, _ = METHODS[name]
    _, sim = run(TUMBLE, make(time_step=5e-3), 0.05, SPINNING)
    qpos, qvel = sim.data.qpos.copy(), sim.data.qvel.copy()
    assert sim.advance_to(0.1).success
    first = sim.data.qpos.copy()
    sim.data.qpos[:], sim.data.qvel[:], sim.data.time = qpos, qvel, 0.05
    assert sim.advance_to(0.1).success
    np.testing.assert_array_equal(sim.data.qpos, first)


def test_failure_is_a_status() -> None:
    """A control that is finite and far too large."""
    text = (
        "<mujoco><worldbody><body><joint type='hinge'/><geom size='.1' pos='1 0 0' mass='1'/>"
        "</body></worldbody><actuator><motor joint='{0}' gear='1e300'/></actuator></mujoco>"
    ).replace("joint type='hinge'", "joint name='a' type='hinge'")
    sim = asp.Simulator(text.format("a"), integrator=asp.ImplicitEuler(time_step=1e-2))
    sim.data.ctrl[0] = 1e9
    report = sim.advance_to(0.1, on_failure="return")
    assert report.status in (Status.NON_FINITE, Status.NOT_CONVERGED)
    assert sim.time == 0.0
    assert np.all(np.isfinite(sim.data.qpos))


def test_refused_options() -> None:
    with pytest.raises(ArgumentError, match="newton"):
        asp.ImplicitEuler(newton="none")
    with pytest.raises(ArgumentError, match="time_step"):
        asp.Sdirk2(time_step=1e-3, accuracy=1e-3)


STOP = """
<mujoco><option gravity="0 0 0"/><worldbody><body>
  <joint name="a" axis="0 0 1" range="-30 40"/>
  <inertial pos="0 0 0" mass="1" diaginertia=".02 .02 .02"/>
</body></worldbody></mujoco>
"""


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("jacobian", ["finite-differences", "analytic"])
@pytest.mark.parametrize(
    ("integrator", "options"),
    [
        (asp.Rosenbrock2, {"time_step": 1e-3}),
        (asp.Rosenbrock2, {"accuracy": 1e-4}),
        (asp.Sdirk2, {"time_step": 1e-3}),
    ],
)
def test_a_joint_meets_its_limit_rests_there_and_leaves_it(integrator, options, jacobian) -> None:
    """At 3.8 rad/s, without a rebound; a limit gives way for v h at most."""
    sim = asp.Simulator(STOP, integrator=integrator(jacobian=jacobian, **options))
    sim.data.qvel[0], limit = 3.0, np.radians(40.0)
    turn, acceleration = 0.1, 0.2 / 0.02
    sim.data.qfrc_applied[0] = turn
    for _ in range(40):
        sim.advance_to(sim.time + 0.01)
        assert sim.data.qvel[0] > -0.1
        assert sim.data.qpos[0] < limit + 4e-3
    assert sim.data.qpos[0] == pytest.approx(limit, abs=2e-3)
    assert sim.data.qvel[0] == pytest.approx(0.0, abs=0.03)
    start, speed = float(sim.data.qpos[0]), float(sim.data.qvel[0])
    sim.data.qfrc_applied[0] = -0.2
    sim.advance_to(sim.time + 0.3)
    assert sim.data.qvel[0] == pytest.approx(speed - 0.3 * acceleration, abs=0.02)
    assert sim.data.qpos[0] == pytest.approx(start + 0.3 * speed - 0.045 * acceleration, abs=4e-3)
