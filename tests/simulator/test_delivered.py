"""What is published after a step: the contacts and forces that the step delivered."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

G = 9.81

TUMBLING = """
<mujoco><worldbody><geom type="plane" size="0 0 1" friction="0.4"/>
  <body pos="0 0 0.15" euler="20 35 10"><freejoint/>
    <geom type="box" size="0.1 0.07 0.05" mass="1.7" friction="0.4"/></body>
</worldbody></mujoco>
"""

STACK = """
<mujoco><option cone="{cone}"/><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="a" pos="0 0 0.1"><freejoint/><geom name="a" type="box" size="0.1 0.1 0.1" mass="3"/>
    <site name="sole" type="box" size="0.11 0.11 0.02" pos="0 0 -0.1"/></body>
  <body name="b" pos="0 0 0.3"><freejoint/><geom name="b" type="box" size="0.1 0.1 0.1" mass="2"/>
    <site name="between" type="box" size="0.11 0.11 0.02" pos="0 0 -0.1"/></body>
  <body name="c" pos="0 0 0.5"><freejoint/><geom name="c" type="box" size="0.1 0.1 0.1" mass="1"/>
  </body></worldbody>
  <sensor><touch site="sole"/><touch site="between"/></sensor></mujoco>
"""

ARM = """
<mujoco><worldbody><body pos="0 0 1">
  <joint name="j" axis="0 1 0" limited="true" range="-60 30" frictionloss="0.4"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/></body>
  <body pos="1 0 1"><joint name="k" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/></body></worldbody>
  <equality><joint joint1="k"/></equality><actuator><motor joint="j"/></actuator></mujoco>
"""

EXACT = [
    asp.Icf(time_step=2e-3, tolerance=1e-15),
    asp.Icf(time_step=2e-3, tolerance=1e-15, friction_bound="similar"),
    asp.Sap(time_step=2e-3, tolerance=1e-15),
    asp.Tamsi(time_step=2e-3, tolerance=1e-10),
]


def _momentum(sim: asp.Simulator, mass: float) -> np.ndarray:
    return mass * sim.data.qvel[:3]


def _force_on_body(sim: asp.Simulator) -> np.ndarray:
    contacts = sim.contacts
    body = sim.model.geom_bodyid[contacts.geom]
    return np.asarray(
        contacts.force[body[:, 1] == 1].sum(axis=0) - contacts.force[body[:, 0] == 1].sum(axis=0)
    )


@pytest.mark.parametrize("integrator", EXACT, ids=["icf", "similar", "sap", "tamsi"])
def test_delivered_impulses_are_the_change_of_momentum(integrator: asp.Integrator) -> None:
    """Σ f h = m Δv + m g t of a box that tumbles and slides, summed over its steps."""
    mass, h = 1.7, 2e-3
    sim = asp.Simulator(TUMBLING, integrator=integrator)
    sim.data.qvel[:] = [1.5, -0.4, -1.0, 3.0, -4.0, 2.0]
    sim.advance_to(0.0)
    begin = _momentum(sim, mass)
    total = np.zeros(3)
    steps, slides, flies = 400, 0, 0
    for _ in range(steps):
        before = sim.data.qvel.copy()
        assert sim.step().success
        force = _force_on_body(sim)
        total += h * force
        slides += bool(np.hypot(*force[:2]) > 0.39 * force[2] > 0.0)
        flies += not np.any(force)
        np.testing.assert_allclose(sim.data.qacc, (sim.data.qvel - before) / h, rtol=1e-12)
    assert slides > 20
    assert flies > 5
    change = _momentum(sim, mass) - begin + [0.0, 0.0, mass * G * steps * h]
    # TAMSI ends by the size of an update, not of the residual.
    accuracy = 1e-7 if isinstance(integrator, asp.Tamsi) else 1e-10
    np.testing.assert_allclose(total, change, rtol=0, atol=accuracy * np.abs(change).max())


def test_doubled_steps_deliver_their_second_half() -> None:
    """m a = f + m g over the half step, whose beginning error control does not publish."""
    sim = asp.Simulator(TUMBLING, integrator=asp.Cenic(accuracy=1e-3, max_step=5e-3))
    sim.session.world.problem.options.tolerance = 1e-15
    sim.data.qvel[:] = [1.5, -0.4, -1.0, 3.0, -4.0, 2.0]
    touched = 0
    for _ in range(300):
        assert sim.step().success
        force = _force_on_body(sim)
        touched += bool(np.any(force))
        acceleration = force / 1.7 - [0.0, 0.0, G]
        np.testing.assert_allclose(sim.data.qacc[:3], acceleration, rtol=1e-10, atol=1e-10)
    assert touched > 50


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize(
    "integrator",
    [
        asp.Cenic(),
        asp.Icf(time_step=2e-3),
        asp.Sap(time_step=2e-3),
        asp.Tamsi(time_step=2e-3),
        asp.ImplicitEuler(time_step=2e-3),
        asp.Midas(time_step=2e-3),
    ],
    ids=["cenic", "icf", "sap", "tamsi", "implicit-euler", "midas"],
)
def test_a_stack_s_weight(integrator: asp.Integrator, cone: str) -> None:
    """Forces, MuJoCo's view of them and touch sensors carry what is above, with every method."""
    midas = isinstance(integrator, asp.Midas)
    xml = STACK.format(cone=cone)
    if midas:
        for i, height in enumerate(("0.1", "0.3", "0.5")):
            xml = xml.replace(f'pos="0 0 {height}"><free', f'pos="0 0 {0.1011 + 0.2011 * i}"><free')
    sim = asp.Simulator(xml, integrator=integrator)
    assert sim.advance_to(0.5 if midas else 2.0).success
    contacts, data = sim.contacts, sim.data
    assert data.ncon == len(contacts.geom) > 0
    wrench = np.zeros(6)
    loads = {1: 0.0, 2: 0.0, 3: 0.0}
    for i in range(data.ncon):
        mujoco.mj_contactForce(sim.model, data, i, wrench)
        force = data.contact.frame[i].reshape(3, 3).T @ wrench[:3]
        np.testing.assert_allclose(force, contacts.force[i], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(data.contact.geom[i], contacts.geom[i])
        loads[int(contacts.geom[i].max())] += abs(force[2])
    assert loads == pytest.approx({1: 6 * G, 2: 3 * G, 3: G}, rel=2e-3)
    # A touch sensor adds up the contacts of its body within its site.
    assert data.sensordata == pytest.approx([6 * G, 3 * G], rel=2e-3)
    vertical = data.qfrc_constraint[2::6]
    np.testing.assert_allclose(vertical, [3 * G, 2 * G, G], rtol=2e-3)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_looking_costs_no_solve(scale: float) -> None:
    sim = asp.Simulator(STACK.format(cone="elliptic"), integrator=asp.Icf(time_step=scale * 1e-3))
    for _ in range(20):
        before = sim.stats
        report = sim.step()
        assert report.stats.solves == report.stats.steps == 1
        # The state that was published is the one in which the next step begins.
        assert report.stats.evaluations == 1
        assert sim.stats - before == report.stats
    seen = sim.stats
    assert sim.contacts.force.size
    assert sim.advance_to(sim.time).success
    assert sim.stats == seen


def test_error_control_solves_three_times_an_attempt() -> None:
    sim = asp.Simulator(TUMBLING, integrator=asp.Cenic(accuracy=1e-4))
    for _ in range(100):
        stats = sim.step().stats
        # An attempt whose solver fails may end earlier; here none does.
        assert stats.solves == 3 * (stats.steps + stats.rejections)
    assert sim.stats.rejections > 0


def _published(sim: asp.Simulator) -> list[np.ndarray]:
    data = sim.data
    arrays = [*sim.contacts.arrays().values(), data.contact.dist, data.contact.pos, data.efc_force]
    arrays += [data.qacc, data.qfrc_constraint, data.sensordata]
    return [np.array(array) for array in arrays]


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=2e-3), asp.Cenic(), asp.Sap(time_step=2e-3), asp.Tamsi(time_step=2e-3)],
    ids=["icf", "cenic", "sap", "tamsi"],
)
def test_a_step_that_fails_leaves_what_is_published(integrator: asp.Integrator) -> None:
    sim = asp.Simulator(STACK.format(cone="elliptic"), integrator=integrator)
    sim.advance_to(0.1)
    before = _published(sim)
    assert before[4].any()
    sim.data.qfrc_applied[:] = 1e308
    report = sim.advance_to(0.3, on_failure="return")
    assert not report.success
    assert report.time == 0.1
    sim.data.qfrc_applied[:] = 0.0
    for one, other in zip(before, _published(sim), strict=True):
        np.testing.assert_array_equal(one, other)
    assert sim.advance_to(0.12).success
    untroubled = asp.Simulator(STACK.format(cone="elliptic"), integrator=integrator)
    untroubled.advance_to(0.1)
    untroubled.advance_to(0.12)
    if integrator.time_step is not None:
        np.testing.assert_array_equal(sim.contacts.force, untroubled.contacts.force)


def test_a_failure_in_the_middle_publishes_the_last_accepted_step() -> None:
    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.qfrc_applied[0] = 1e308 if data.time > 0.05 else 0.0

    model = mujoco.MjModel.from_xml_string(STACK.format(cone="elliptic"))
    icf = asp.Icf(time_step=2e-3)
    sim = asp.Simulator(model, integrator=icf, control=control, control_period=2e-3)
    assert not sim.advance_to(0.2, on_failure="return").success
    other = asp.Simulator(model, integrator=icf)
    while other.time < sim.time - 1e-9:
        other.step()
    for one, two in zip(_published(sim), _published(other), strict=True):
        # Other warm starts, the same solutions.
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


def test_a_change_of_the_state_is_published_with_forces_of_a_step_from_there() -> None:
    sim = asp.Simulator(STACK.format(cone="elliptic"), integrator=asp.Icf(time_step=1e-6))
    sim.advance_to(1e-3)
    stiffness = 1e5
    sim.data.qpos[:] = sim.model.qpos0
    sim.data.qpos[[9, 16]] += 1.0, 2.0
    sim.data.qpos[2] -= 1e-4
    sim.data.qvel[:] = 0.0
    sim.advance_to(sim.time)
    # Four corners, pressed in by 0.1 mm.
    assert len(sim.contacts.geom) == 4
    np.testing.assert_allclose(sim.contacts.normal_force, stiffness * 1e-4, rtol=1e-3)
    assert sim.data.qacc[2] == pytest.approx(4 * stiffness * 1e-4 / 3 - G, rel=1e-3)
    sim.reset()
    np.testing.assert_allclose(sim.contacts.normal_force[:4].sum(), 0.0, atol=1e-2)


@pytest.mark.parametrize("integrator", EXACT, ids=["icf", "similar", "sap", "tamsi"])
def test_limits_equalities_and_dry_friction_are_in_their_rows(integrator: asp.Integrator) -> None:
    sim = asp.Simulator(ARM, integrator=integrator)
    data, kinds = sim.data, mujoco.mjtConstraint

    def force(kind: mujoco.mjtConstraint) -> float:
        return float(data.efc_force[data.efc_type == int(kind)].item())

    data.ctrl[0] = 5.0
    sim.advance_to(2.0)
    # At the upper limit MuJoCo's row pushes back with a positive force.
    angle = np.radians(30)
    assert data.qpos[0] == pytest.approx(angle, abs=1e-3)
    gravity = 0.2 * G * np.sin(data.qpos[0])
    rest = 5.0 - gravity
    limit, dry = force(kinds.mjCNSTR_LIMIT_JOINT), force(kinds.mjCNSTR_FRICTION_DOF)
    assert limit - dry == pytest.approx(rest, rel=1e-4)
    assert abs(dry) <= 0.4 * (1 + 1e-9)
    assert data.qfrc_constraint[0] == pytest.approx(-rest, rel=1e-4)
    # Against a push of 3 Nm the coupling holds.
    data.qfrc_applied[1] = 3.0
    sim.advance_to(3.0)
    gravity = 0.2 * G * np.sin(data.qpos[1])
    assert force(kinds.mjCNSTR_EQUALITY) == pytest.approx(gravity - 3.0, rel=1e-4)
    generalized = np.zeros(2)
    mujoco.mj_mulJacTVec(sim.model, data, generalized, data.efc_force)
    np.testing.assert_allclose(generalized, data.qfrc_constraint, rtol=1e-12)


def test_forces_without_a_row_are_in_the_generalized_force() -> None:
    """A joint that leaves its limit within a step: M a = f of the limit."""
    sim = asp.Simulator(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='slide' axis='1 0 0'"
        " limited='true' range='0 1'/><geom size='.1' mass='2'/></body></worldbody></mujoco>",
        integrator=asp.Icf(time_step=0.01),
    )
    sim.data.qpos[0] = 0.002
    sim.data.qvel[0] = -5.0
    lost = 0
    for _ in range(20):
        sim.step()
        assert sim.data.qfrc_constraint[0] == pytest.approx(2 * sim.data.qacc[0], abs=1e-6)
        lost += bool(sim.data.qfrc_constraint[0] and not sim.data.nefc)
    assert sim.data.qvel[0] > -1e-6
    assert lost > 0


def test_the_strongest_contacts_are_published_where_memory_lacks() -> None:
    """Of equal ones the first, in their order, each with its own force."""
    boxes = "".join(
        f'<body pos="{0.3 * x} {0.3 * y} 0.0999"><freejoint/>'
        f'<geom type="box" size="0.1 0.1 0.1" mass="{1 + (x + y) % 3}"/></body>'
        for x in range(7)
        for y in range(7)
    )
    sim = asp.Simulator(
        '<mujoco><size memory="4M"/><worldbody><geom type="plane" size="9 9 1"/>'
        f"{boxes}</worldbody></mujoco>",
        integrator=asp.Icf(time_step=2e-3),
    )
    # Without contacts none has a force.
    for height, steps in ((0.0, 5), (1.0, 1)):
        sim.data.qpos[2::7] += height
        for _ in range(steps):
            sim.step()
        contacts, data = sim.contacts, sim.data
        count = min(data.ncon, len(contacts))
        order = np.argsort(-contacts.normal_force, kind="stable")
        chosen = np.sort(order[:count])
        np.testing.assert_array_equal(data.contact.pos, contacts.point[chosen])
        np.testing.assert_array_equal(data.contact.geom, contacts.geom[chosen])
        force = np.zeros(6)
        for i, one in enumerate(chosen):
            mujoco.mj_contactForce(sim.model, data, i, force)
            assert force[0] == pytest.approx(contacts.normal_force[one], rel=1e-12)
        if height == 0.0:
            assert 0 < data.ncon < len(contacts)
            least = contacts.normal_force[chosen].min()
            ties = np.count_nonzero(contacts.normal_force == least)
            assert ties > np.count_nonzero(contacts.normal_force[chosen] == least) > 0
        else:
            assert data.ncon == len(contacts) == 0
