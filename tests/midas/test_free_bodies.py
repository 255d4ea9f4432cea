"""Free bodies through the Simulator: friction, stacks, fast bodies, and what is published."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

G = 9.81


def box_on_plane(friction: float, angle: float, gap: float = 9.9e-4) -> str:
    """A block on an incline [rad], in the incline's axes."""
    return f"""
    <mujoco><option gravity="{G * np.sin(angle)} 0 {-G * np.cos(angle)}"/><worldbody>
    <geom name="floor" type="plane" size="5 5 1" friction="{friction}"/>
    <body pos="0 0 {0.05 + gap}"><freejoint/>
      <geom name="block" type="box" size=".1 .1 .05" friction="{friction}" mass="2"/></body>
    </worldbody></mujoco>"""


def simulator(xml: str, qvel=None, **options) -> asp.Simulator:
    sim = asp.Simulator(xml, integrator=asp.Midas(**options))
    if qvel is not None:
        sim.data.qvel[:] = qvel
    return sim


def advance(sim: asp.Simulator, time: float) -> asp.simulator.report.Report:
    report = sim.advance_to(time)
    assert report.success, report.message
    return report


@pytest.mark.parametrize("friction", [0.1, 0.2, 0.3])
def test_block_slides_down_an_incline_by_coulombs_law(friction):
    angle = np.deg2rad(20)
    sim = simulator(box_on_plane(friction, angle))
    advance(sim, 0.1)  # until it rests on its barrier
    start, speed = sim.data.qpos[0], sim.data.qvel[0]
    advance(sim, 0.5)
    acceleration = G * (np.sin(angle) - friction * np.cos(angle))
    assert sim.data.qvel[0] - speed == pytest.approx(0.4 * acceleration, rel=1e-3)
    distance = 0.4 * speed + 0.5 * acceleration * 0.4**2
    assert sim.data.qpos[0] - start == pytest.approx(distance, rel=1e-3)


@pytest.mark.parametrize(("ratio", "slides"), [(0.99, True), (1.01, False)])
def test_threshold_of_stiction(ratio, slides):
    angle = np.deg2rad(20)
    sim = simulator(box_on_plane(ratio * np.tan(angle), angle))
    advance(sim, 2.0)
    before = sim.data.qpos[0]
    advance(sim, 3.0)
    # What sticks creeps below the stiction tolerance; what slides speeds up.
    assert (sim.data.qpos[0] - before > 0.05) == slides
    assert (sim.data.qvel[0] < 1e-4) != slides


def test_contact_forces_carry_the_weight_and_the_friction():
    angle = np.deg2rad(20)
    sim = simulator(box_on_plane(0.2, angle))
    advance(sim, 0.3)
    contacts = sim.contacts
    on_block = np.where(contacts.geom[:, :1] == sim.model.geom("block").id, -1.0, 1.0)
    total = (on_block * contacts.force).sum(axis=0)
    weight = 2 * G * np.cos(angle)
    np.testing.assert_allclose(total, [-0.2 * weight, 0, weight], rtol=2e-4, atol=1e-6)
    assert np.all(contacts.signed_distance > 0)
    np.testing.assert_allclose(sim.data.qfrc_constraint[:3], total, rtol=1e-3, atol=1e-5)
    assert contacts.slip_speed == pytest.approx(sim.data.qvel[0], rel=1e-6)


def test_free_motion_keeps_momentum_and_falls_as_implicit_euler_does():
    xml = """<mujoco><worldbody><body><freejoint/>
      <geom type="box" size=".1 .05 .02" mass="2" pos=".1 .2 0" euler="10 20 30"/></body></worldbody></mujoco>"""
    sim = simulator(xml, qvel=[1, 2, 3, 0.5, -0.4, 0.3], time_scheme="implicit-euler")
    body = sim.model.body(1).ipos
    mujoco.mj_forward(sim.model, sim.data)
    start = sim.data.xipos[1].copy()
    com = np.zeros(6)
    mujoco.mj_objectVelocity(sim.model, sim.data, mujoco.mjtObj.mjOBJ_BODY, 1, com, 0)
    velocity = com[3:] + np.cross(com[:3], 0 * body)
    advance(sim, 1.0)
    n = 100
    fall = np.array([0, 0, -G]) * 0.01**2 * n * (n + 1) / 2
    np.testing.assert_allclose(sim.data.xipos[1], start + velocity + fall, atol=1e-9)


def test_collision_of_two_free_bodies_keeps_linear_momentum():
    xml = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body><freejoint/><geom type="box" size=".05 .05 .05" mass="1" friction=".4"/></body>
      <body pos=".2 .03 .02" euler="10 5 20"><freejoint/><geom type="sphere" size=".06" mass="2"/></body>
    </worldbody></mujoco>"""
    sim = simulator(xml, qvel=[1, 0, 0, 0, 0, 2, -1, 0, 0.1, 1, 0, 0], verify=True, tolerance=1e-8)

    def momentum():
        mujoco.mj_subtreeVel(sim.model, sim.data)
        mass = sim.model.body_subtreemass[1:3]
        return mass @ sim.data.subtree_linvel[1:3]

    sim.step()
    before = momentum()
    touched = 0.0
    for _ in range(40):
        sim.step()
        touched = max(touched, sim.contacts.normal_force.sum())
    assert touched > 10
    np.testing.assert_allclose(momentum(), before, atol=1e-6)


def test_tower_of_twenty_cubes_stands():
    cubes = "".join(
        f'<body pos="0 0 {0.05 + 0.00095 + i * 0.10095}"><freejoint/>'
        '<geom type="box" size=".05 .05 .05" mass="1"/></body>'
        for i in range(20)
    )
    xml = f'<mujoco><worldbody><geom type="plane" size="1 1 1"/>{cubes}</worldbody></mujoco>'
    sim = simulator(xml, verify=True)
    advance(sim, 2.0)
    qpos = sim.data.qpos.reshape(20, 7)
    assert np.abs(qpos[:, :2]).max() < 1e-6
    assert np.abs(sim.data.qvel).max() < 1e-6
    contacts = sim.contacts
    floor = np.any(contacts.geom == 0, axis=1)
    assert contacts.normal_force[floor].sum() == pytest.approx(20 * G, rel=1e-6)


def test_fast_cube_at_a_tiny_clearance_is_not_frozen():
    """A cube at 100 m/s, 0.1 mm above the floor: far inside the barrier, but not pressed on it."""
    xml = box_on_plane(0.5, 0.0, gap=1e-4)
    sim = simulator(xml, qvel=[100, 0, 0, 0, 0, 0], activation_distance=1e-3)
    advance(sim, 0.02)
    assert sim.data.qvel[0] > 99.0


@pytest.mark.parametrize("speed", [50.0, 500.0])
def test_bullet_does_not_tunnel_through_a_plate(speed):
    xml = """<mujoco><option gravity="0 0 0"/><worldbody>
      <geom name="plate" type="box" size="1 1 .001"/>
      <body pos=".1 .2 1"><freejoint/><geom type="sphere" size=".005" mass=".01"/></body>
    </worldbody></mujoco>"""
    sim = simulator(xml, qvel=[0, 0, -speed, 0, 0, 0], verify=True)
    advance(sim, 0.1)
    assert sim.data.qpos[2] > 0.006


@pytest.mark.parametrize("heavy", [1000.0, 0.001])
def test_mass_ratios_of_a_thousand(heavy):
    xml = f"""<mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 .05099"><freejoint/><geom type="box" size=".05 .05 .05" mass="1"/></body>
      <body pos="0 0 .15198"><freejoint/><geom type="box" size=".05 .05 .05" mass="{heavy}"/></body>
    </worldbody></mujoco>"""
    sim = simulator(xml, verify=True)
    advance(sim, 1.0)
    assert sim.data.qpos[2] > 0.05
    assert sim.data.qpos[9] - sim.data.qpos[2] > 0.1
    floor = np.any(sim.contacts.geom == 0, axis=1)
    weight = (1 + heavy) * G
    assert sim.contacts.normal_force[floor].sum() == pytest.approx(weight, rel=1e-4)


@pytest.mark.parametrize("activation", [1e-5, 1e-4, 1e-2])
def test_activation_distances(activation):
    xml = box_on_plane(0.5, 0.0, gap=0.9 * activation)
    sim = simulator(xml, activation_distance=activation, verify=True)
    advance(sim, 0.5)
    assert 0.05 < sim.data.qpos[2] < 0.05 + activation
    assert np.abs(sim.data.qvel).max() < 1e-5


def test_sensors_and_accelerations_are_published():
    xml = box_on_plane(0.5, 0.0).replace(
        "</worldbody>", '</worldbody><sensor><accelerometer site="s"/></sensor>'
    )
    xml = xml.replace('mass="2"/></body>', 'mass="2"/><site name="s"/></body>')
    sim = simulator(xml)
    advance(sim, 0.5)
    np.testing.assert_allclose(sim.data.sensordata, [0, 0, G], atol=1e-6)
    np.testing.assert_allclose(sim.data.qacc, 0, atol=1e-6)


def test_same_run_gives_the_same_bits():
    ends = []
    for _ in range(2):
        sim = simulator(box_on_plane(0.3, 0.3), qvel=[0.1, 0.2, 0, 0, 0, 1])
        advance(sim, 0.2)
        ends.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("how", ["nowhere", "model", "pair", "given", "option"])
def test_what_sticks_creeps_by_the_stiction_tolerance_that_was_said(how):
    """Where friction bears the share s of its limit, 2x − x² = s of the tolerance's share x."""
    slope = np.arctan(0.5 * 0.8)
    text = {
        "model": '<custom><text name="asperity" data="stiction_tolerance=3e-4"/></custom>',
        "pair": '<custom><text name="asperity:geom:box" data="stiction_tolerance=3e-4"/></custom>',
    }
    xml = f"""<mujoco><option gravity="{9.81 * np.sin(slope)} 0 {-9.81 * np.cos(slope)}"/>
      {text.get(how, "")}<worldbody><geom type="plane" size="1 1 1" friction=".5"/>
      <body pos="0 0 .051"><freejoint/><geom name="box" type="box" size=".1 .1 .05" friction=".5"/>
      </body></worldbody></mujoco>"""
    sim = asp.Simulator(
        xml,
        integrator=asp.Midas(stiction_tolerance=3e-4 if how == "option" else None),
        contact=asp.ContactParameters(stiction_tolerance=3e-4) if how == "given" else None,
    )
    assert sim.advance_to(1.0).success
    said = 5e-6 if how == "nowhere" else 3e-4
    assert sim.data.qvel[0] == pytest.approx(said * (1 - np.sqrt(1 - 0.8)), rel=1e-2)


def test_friction_of_a_box_that_slides_is_that_of_its_weight_in_every_step():
    """A board is pulled away from under it. Friction goes by normal forces that must be exact."""
    xml = """<mujoco><worldbody><geom type="plane" size="9 9 1"/>
      <body name="board" pos="0 0 .0102"><freejoint/>
        <geom type="box" size=".5 .2 .01" mass="2"/></body>
      <body pos="0 0 .0604"><freejoint/><geom type="box" size=".04 .04 .04" mass="1"/></body>
    </worldbody></mujoco>"""
    sim = asp.Simulator(
        xml,
        integrator=asp.Midas(time_step=0.01, overlaps="separate"),
        contact=asp.ContactParameters(friction=0.3),
    )
    sim.data.xfrc_applied[1, 0] = 40.0
    speed = []
    while sim.time < 0.245:  # the box is on the board to 0.28 s
        assert sim.step().success
        speed.append(sim.data.qvel[6])
    friction = np.diff(speed)[5:] / sim.integrator.time_step
    np.testing.assert_allclose(friction, 0.3 * 9.81, rtol=5e-3)


def test_applied_torque_of_a_free_joint_turns_with_its_body():
    """A cube has no gyroscopic torque: its spin in its own axes grows by T t / I."""
    sim = asp.Simulator(
        '<mujoco><option gravity="0 0 0"/><worldbody><body><freejoint/>'
        '<geom type="box" size=".1 .1 .1" mass="1.5"/></body></worldbody></mujoco>',
        integrator=asp.Midas(time_step=2e-3),
    )
    torque, spin = np.array([0.02, 0.0, 0.01]), np.array([0.0, 5.0, 2.0])
    sim.data.qfrc_applied[3:], sim.data.qvel[3:] = torque, spin
    sim.advance_to(0.5)
    np.testing.assert_allclose(sim.data.qvel[3:], spin + 0.5 * torque / 0.01, atol=0.02)


@pytest.mark.parametrize("carrier", ["gravity", "applied"])
def test_dead_weight_of_one_of_two_bodies_keeps_the_energy(carrier: str):
    """One of two welded balls is weightless, or a constant force acts on the other alone."""
    sim = asp.Simulator(
        f'<mujoco><option gravity="0 0 {-G * (carrier == "gravity")}"/><worldbody>'
        '<body><freejoint/><geom size=".1" mass="1"/><body pos=".5 0 .1" gravcomp="1">'
        '<geom size=".1" mass="1"/></body></body></worldbody></mujoco>',
        integrator=asp.Midas(time_step=2e-3),
    )
    sim.data.qvel[4] = 3.0
    if carrier == "applied":
        sim.data.xfrc_applied[1, 2] = -G

    def energy() -> float:
        return sim.energy()[0] + G * float(sim.data.body(1).xpos[2])

    before = energy()
    sim.advance_to(1.0)
    assert energy() == pytest.approx(before, abs=0.1)
