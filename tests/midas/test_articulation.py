"""Joints: motion against ODE solutions, exactness, limits, springs, dampers and motors."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from joint_gaps import largest_gap
from scipy.integrate import solve_ivp

import asperity as asp

ROD = '<geom type="capsule" fromto="0 0 0 .5 0 0" size=".02" mass="1"/>'
MECHANISMS = {
    "double pendulum": f'<body pos="0 0 1"><joint axis="0 1 0"/>{ROD}<body pos=".5 0 0">'
    f'<joint axis="0 1 0"/>{ROD}</body></body>',
    "slide on a turning arm": f'<body pos="0 0 1"><joint axis="0 .2 1"/>{ROD}<body pos=".1 0 .1">'
    '<joint type="slide" axis="1 0 .1"/><geom type="sphere" size=".02" mass="1"/></body></body>',
    "ball and universal joint": f'<body pos="0 0 1"><joint type="ball"/>{ROD}<body pos=".5 0 0">'
    f'<joint axis="0 1 0"/><joint axis="1 0 0"/>{ROD.replace(".5 0 0", ".5 .1 0")}</body></body>',
    "planar joint": f'<body pos="0 0 1"><joint type="slide" axis="1 0 0"/><joint type="slide" '
    f'axis="0 1 0"/><joint axis="0 0 1"/>{ROD}</body>',
    "arm on a free base": '<body pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1" mass="3"/>'
    f'<body pos="0 0 .2"><joint axis="0 1 0" ref="20"/>{ROD}<body pos=".6 0 0"><joint type="slide" '
    'axis="0 0 1"/><geom type="sphere" size=".03" mass=".5"/></body></body></body>',
}


def scene(bodies: str, more: str = "", option: str = "") -> str:
    return (
        f'<mujoco><compiler autolimits="true"/><option {option}><flag contact="disable"/></option>'
        f"<worldbody>{bodies}</worldbody>{more}</mujoco>"
    )


def midas(xml: str, **options) -> asp.Simulator:
    return asp.Simulator(xml, integrator=asp.Midas(**options))


def reference(xml: str, qvel: np.ndarray, time: float) -> np.ndarray:
    """The end of MuJoCo's own motion, with fourth-order Runge–Kutta steps of 0.1 ms."""
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 1e-4
    data = mujoco.MjData(model)
    data.qvel[:] = qvel
    mujoco.mj_step(model, data, nstep=round(time / 1e-4))
    return data.qpos


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    ("scheme", "order", "largest"), [("implicit-euler", 1, 0.1), ("bdf2", 2, 0.01)]
)
def test_mechanisms_converge_to_the_exact_motion(name, scheme, order, largest):
    xml = scene(MECHANISMS[name])
    qvel = np.cos(np.arange(mujoco.MjModel.from_xml_string(xml).nv))
    times = (0.1, 0.2, 0.3)
    exact = [reference(xml, qvel, time) for time in times]
    errors = []
    for step in (0.01, 0.005, 0.0025):
        # Of usual links, strain would be as large as the smallest of errors.
        sim = midas(xml, time_step=step, time_scheme=scheme, tolerance=1e-8, rigidity=1e10)
        sim.data.qvel[:] = qvel
        errors.append(0.0)
        for time, qpos in zip(times, exact, strict=True):
            assert sim.advance_to(time).success
            errors[-1] += np.abs(sim.data.qpos - qpos).max()
    assert errors[0] < largest
    if name == "planar joint":
        # It holds nothing that turns: the free motion, which every step counts from, is the exact
        # one, but for the strain of links.
        assert max(errors) < 1e-4
        return
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, order, atol=0.3)


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_pendulum_swings_as_its_differential_equation_says():
    xml = scene(f'<body pos="0 0 1"><joint axis="0 1 0"/>{ROD}</body>')
    sim = midas(xml, time_step=1e-3, time_scheme="bdf2", tolerance=1e-8)
    model = sim.model
    arm = model.body_ipos[1, 0]
    inertia = model.body_inertia[1].max() + arm**2
    solution = solve_ivp(
        lambda t, y: [y[1], 9.81 * arm / inertia * np.cos(y[0])],
        (0, 3),
        [0, 0],
        rtol=1e-10,
        atol=1e-12,
        t_eval=np.arange(0, 3.01, 0.5),
    )
    for time, angle in zip(solution.t, solution.y[0], strict=True):
        assert sim.advance_to(time).success
        assert sim.data.qpos[0] == pytest.approx(angle, abs=2e-3)


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
@pytest.mark.parametrize("name", MECHANISMS)
def test_joints_do_not_drift(name):
    """Both bodies of a joint see its anchor at one place; MuJoCo's poses see all links where they are."""
    sim = midas(scene(MECHANISMS[name]), time_step=0.01)
    sim.data.qvel[:] = 5 * np.sin(1 + np.arange(sim.model.nv))
    for _ in range(200):
        assert sim.step().success
        assert largest_gap(sim.session.method.engine) < 1e-10


LIMITED = '<body pos="0 0 1"><joint name="j" axis="0 1 0" range="-30 60" {more}/>' + ROD + "</body>"


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
@pytest.mark.parametrize("speed", [0.0, 10.0, -300.0, 3000.0])
def test_limits_are_never_passed(speed):
    sim = midas(scene(LIMITED.format(more="")))
    low, high = sim.model.jnt_range[0]
    sim.data.qvel[0] = speed
    for _ in range(200):
        assert sim.step().success
        assert low < sim.data.qpos[0] < high
    # The rod falls on its upper limit and rests there, a hair away, carried by it.
    assert high - sim.data.qpos[0] < 0.01
    assert abs(sim.data.qvel[0]) < 1e-6
    arm = sim.model.body_ipos[1, 0] * np.cos(sim.data.qpos[0])
    assert sim.data.qfrc_constraint[0] == pytest.approx(-9.81 * arm, rel=1e-4)


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_a_strong_motor_does_not_break_a_limit():
    more = '<actuator><motor joint="j" gear="1e4"/></actuator>'
    sim = midas(scene(LIMITED.format(more=""), more))
    low, high = sim.model.jnt_range[0]
    for torque in (1.0, -1.0, 1.0):
        sim.data.ctrl[0] = torque
        for _ in range(50):
            assert sim.step().success
            assert low < sim.data.qpos[0] < high
        assert sim.data.qfrc_actuator[0] == pytest.approx(1e4 * torque)


def test_states_beyond_a_limit_are_refused_and_states_at_it_are_not():
    sim = midas(scene(LIMITED.format(more="")).replace('range="-30 60"', 'range="0 60"'))
    assert sim.step().success
    sim.data.qpos[0] = -0.1
    with pytest.raises(asp.ModelError, match=r"'j' is at -0.1, outside its range 0 to 1.04"):
        sim.step()


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_joints_drawn_beyond_a_limit_are_brought_back_and_named():
    """The zero of many robots is outside of their joints' ranges."""
    xml = scene(LIMITED.format(more="").replace('range="-30 60"', 'range="10 60"'))
    with pytest.raises(asp.ModelError, match=r"'j' is at 0, outside its range 0.17"):
        midas(xml, overlaps="refuse")
    sim = midas(xml)
    assert any("'j'" in note for note in sim.load_report.notes)
    for _ in range(2):
        assert sim.step().success
        assert sim.data.qpos[0] > np.deg2rad(10)
        sim.reset()


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_all_joints_beyond_a_limit_are_brought_back_on_request():
    xml = scene(LIMITED.format(more="").replace('range="-30 60"', 'range="10 60"'))
    sim = midas(xml, overlaps="separate")
    sim.data.qpos[0] = 0.1
    assert sim.step().success
    assert sim.data.qpos[0] > np.deg2rad(10)


DRIVEN = '<body><joint name="j" type="{kind}" axis="0 0 1" {joint}/><geom type="box" size=".1 .1 .1" mass="2"/></body>'


def steady(joint: str, more: str, kind: str = "slide", ctrl: float = 0.0, time: float = 3.0):
    sim = midas(scene(DRIVEN.format(kind=kind, joint=joint), more))
    if sim.model.nu:
        sim.data.ctrl[0] = ctrl
    assert sim.advance_to(time).success
    return sim


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_springs_dampers_and_servos_settle_where_their_forces_balance():
    weight = 2 * 9.81
    sim = steady('stiffness="500" damping="40" springref=".1"', "")
    assert sim.data.qpos[0] == pytest.approx(0.1 - weight / 500, abs=1e-6)
    sim = steady("", '<actuator><position joint="j" kp="1000" kv="100"/></actuator>', ctrl=0.2)
    assert sim.data.qpos[0] == pytest.approx(0.2 - weight / 1000, abs=1e-6)
    assert sim.data.actuator_force[0] == pytest.approx(weight, rel=1e-4)
    sim = steady("", '<actuator><velocity joint="j" kv="1000"/></actuator>', ctrl=0.2)
    assert sim.data.qvel[0] == pytest.approx(0.2 - weight / 1000, rel=1e-5)
    sim = steady('damping="10"', "", time=5.0)
    assert sim.data.qvel[0] == pytest.approx(-weight / 10, rel=1e-5)


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_effort_limits_bound_a_servo():
    more = '<actuator><position joint="j" kp="1e4" forcerange="-25 25"/></actuator>'
    sim = midas(scene(DRIVEN.format(kind="slide", joint=""), more))
    sim.data.ctrl[0] = 10.0
    sim.advance_to(0.5)
    assert sim.data.actuator_force[0] == pytest.approx(25.0)
    assert sim.data.qacc[0] == pytest.approx(25 / 2 - 9.81, rel=1e-6)


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_armature_and_applied_forces():
    xml = scene(DRIVEN.format(kind="hinge", joint='armature=".5"'), option='gravity="0 0 0"')
    sim = midas(xml)
    inertia = sim.model.body_inertia[1, 2]
    sim.data.qfrc_applied[0] = 0.3
    sim.step()
    assert sim.data.qvel[0] == pytest.approx(0.01 * 0.3 / (0.5 + inertia), rel=1e-6)
    sim.data.qfrc_applied[0] = 0.0
    sim.data.xfrc_applied[1] = (0, 0, 0, 0.7, 0, 0.3)
    sim.step()
    assert sim.data.qvel[0] == pytest.approx(0.02 * 0.3 / (0.5 + inertia), rel=1e-5)


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_gravity_compensation_of_a_part_holds_that_part():
    """Of two bodies that are one, the heavy one is held so far that they balance."""
    bodies = (
        '<body pos="0 0 1"><joint axis="0 1 0"/><geom size=".05" pos="-.3 0 0" mass="1"/>'
        '<body gravcomp=".75"><geom size=".05" pos=".3 0 0" mass="4"/></body></body>'
    )
    sim = midas(scene(bodies))
    assert sim.advance_to(0.5).success
    assert abs(sim.data.qvel[0]) < 1e-6
    sim.model.body_gravcomp[2] = 0.5
    sim.reset()
    assert sim.advance_to(0.01).success
    inertia = 5.0 * (0.3**2 + 0.4 * 0.05**2)
    assert sim.data.qvel[0] == pytest.approx(0.01 * 9.81 * 0.3 / inertia, rel=1e-4)


def test_gravity_is_compensated_only_if_a_body_has_a_positive_share():
    body = '<body pos="{} 0 1" gravcomp="{}"><freejoint/><geom size=".1" mass="3"/></body>'
    for other in (0.0, 0.5):
        model = mujoco.MjModel.from_xml_string(scene(body.format(0, -1.0) + body.format(1, other)))
        sim = midas(model)
        assert sim.advance_to(0.1).success
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, 50)
        assert sim.data.qvel == pytest.approx(data.qvel, rel=1e-9, abs=1e-9)


def test_dry_friction_holds_up_to_its_bound():
    for ctrl, slides in ((0.99, False), (1.01, True)):
        xml = scene(
            DRIVEN.format(kind="hinge", joint='frictionloss="2"'),
            '<actuator><motor joint="j" gear="2"/></actuator>',
            'gravity="0 0 0"',
        )
        sim = midas(xml)
        sim.data.ctrl[0] = ctrl
        assert sim.advance_to(5.0).success
        assert (sim.data.qvel[0] > 1e-3) == slides


def test_pairs_of_joined_bodies_do_not_touch_but_grandchildren_do():
    ball = '<geom name="{0}" type="sphere" size=".1"/>'
    xml = f"""<mujoco><worldbody><body>{ball.format("a")}<freejoint/>
      <body pos=".15 0 0"><joint axis="0 0 1"/>{ball.format("b")}
       <body pos=".15 0 0"><joint axis="0 0 1"/>{ball.format("c")}</body></body></body>
      <body pos="0 0 1">{ball.format("d")}<freejoint/></body></worldbody>
      <contact><exclude body1="body0" body2="body3"/></contact></mujoco>"""
    xml = xml.replace("<body>", '<body name="body0">', 1).replace(
        '<body pos="0 0 1">', '<body name="body3" pos="0 0 1">'
    )
    sim = midas(xml)
    engine = sim.session.method.engine
    names = {
        tuple(sorted(sim.model.geom(g).name for g in engine.pair_geoms(p)))
        for p in range(len(engine.table.pairs.shape))
    }
    assert names == {("a", "c"), ("b", "d"), ("c", "d")}


URDF_LINK = """<link name="{0}"><inertial><origin xyz=".02 .01 .03"/><mass value=".5"/>
<inertia ixx="2e-3" iyy="1e-3" izz="3e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
@pytest.mark.parametrize(
    ("kind", "freedoms"),
    [("fixed", 1), ("continuous", 2), ("prismatic", 2), ("planar", 4), ("floating", 7)],
)
def test_urdf_joints_allow_what_they_should_and_nothing_else(kind, freedoms):
    """On a turning arm; for planar joints the axis is the plane's normal."""
    urdf = "".join(URDF_LINK.format(name) for name in ("base", "arm", "tool"))
    sim = midas(
        f"""<robot name="r">{urdf}<joint name="turn" type="continuous"><parent link="base"/>
        <child link="arm"/><axis xyz="0 .6 .8"/></joint><joint name="j" type="{kind}"><parent link="arm"/>
        <child link="tool"/><origin xyz=".2 .1 0" rpy=".3 .2 .1"/><axis xyz=".6 0 .8"/></joint></robot>"""
    )
    model, data = sim.model, sim.data
    assert model.nv == freedoms
    data.qvel[:] = np.cos(np.arange(freedoms))
    mujoco.mj_forward(model, data)
    arm = model.body("arm").id
    tool = model.body("tool").id if kind != "fixed" else arm
    frame = (data.xmat[arm].reshape(3, 3).T @ data.xmat[tool].reshape(3, 3)) @ [0.6, 0, 0.8]
    place = data.xmat[arm].reshape(3, 3).T @ (data.xpos[tool] - data.xpos[arm])
    for _ in range(60):
        assert sim.step().success
        assert largest_gap(sim.session.method.engine) < 1e-10
    turn = data.xmat[arm].reshape(3, 3)
    axis = turn.T @ data.xmat[tool].reshape(3, 3) @ [0.6, 0, 0.8]
    move = turn.T @ (data.xpos[tool] - data.xpos[arm]) - place
    if kind == "floating":
        # Nothing holds it: its centre of mass falls.
        mujoco.mj_subtreeVel(model, data)
        assert data.subtree_linvel[tool, 2] < -5
        return
    np.testing.assert_allclose(axis, frame, atol=1e-9)
    if kind == "planar":
        assert abs(move @ frame) < 1e-9
        assert np.linalg.norm(move) > 0.01
    elif kind == "prismatic":
        assert np.linalg.norm(np.cross(move, frame)) < 1e-9
        assert np.linalg.norm(move) > 0.01
    else:
        assert np.linalg.norm(move) < 1e-9


def test_a_torque_too_large_for_the_step_is_done_in_parts():
    """τ h²/I = 10: the whole step's potential has no minimum, since turning on pays for ever."""
    inertia, torque = 1e-3, 100.0
    xml = f"""<mujoco><option gravity="0 0 0"/><worldbody><body><joint axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1" diaginertia="{inertia} {inertia} {inertia}"/></body></worldbody>
      </mujoco>"""
    sim = midas(xml)
    sim.data.qfrc_applied[0] = torque
    assert sim.step().success
    assert sim.stats.substeps > 1
    # Half a turn in 8 ms: first-order steps are far off, but on this side.
    exact = 0.5 * torque / inertia * 0.01**2
    assert 0.5 * exact < sim.data.qpos[0] < 1.5 * exact
    slow = midas(xml)
    slow.data.qfrc_applied[0] = 1e-2 * torque
    assert slow.step().success
    assert slow.stats.substeps == 0


def test_light_links_that_carry_heavy_ones_stay_rigid():
    """A shoulder of three hinges, whose middle ones have a milligram, holds an arm of 5 kg."""
    xml = """<mujoco><worldbody><body name="a"><joint axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1e-6" diaginertia="1e-9 1e-9 1e-9"/>
      <body name="b"><joint axis="1 0 0"/>
      <inertial pos="0 0 0" mass="1e-6" diaginertia="1e-9 1e-9 1e-9"/>
      <body name="c"><joint axis="0 1 0" armature=".01"/><geom size=".05" pos=".5 0 0" mass="5"/>
      </body></body></body></worldbody></mujoco>"""
    sim = midas(xml)
    sim.data.qvel[:] = [3.0, 2.0, 1.0]
    assert sim.advance_to(0.5).success
    q = sim.session.method.engine.table.poses.q[:-1, 1:]
    strain = np.einsum("nij,nkj->nik", q, q) - np.eye(3)
    assert np.abs(strain).max() < 1e-2
    assert sim.stats.iterations < 15 * sim.stats.steps


@pytest.mark.parametrize("dynamics", ["filter", "filterexact", "integrator"])
def test_activations_follow_controls_and_pull(dynamics):
    """A filtered control of 1: a = 1 − e^{−t/τ}; an integrated one: a = t, cut at its range."""
    xml = scene(
        DRIVEN.format(kind="slide", joint=""),
        f'<actuator><general joint="j" dyntype="{dynamics}" dynprm="0.05" gainprm="3" '
        'actlimited="true" actrange="-1 0.25"/></actuator>',
    )
    sim = midas(xml, time_step=1e-4 if dynamics == "filter" else 5e-3)
    sim.data.ctrl[0] = 0.3
    for k in range(1, 41):
        assert sim.advance_to(0.005 * k).success
        time = sim.time
        if dynamics == "integrator":
            exact = 0.3 * time
        else:
            exact = 0.3 * (1.0 - np.exp(-time / 0.05))
        assert sim.data.act[0] == pytest.approx(min(exact, 0.25), abs=1e-3)
        assert sim.data.actuator_force[0] == pytest.approx(3.0 * sim.data.act[0])


def test_massless_links_are_as_stiff_in_centimetres_and_grams():
    """A shoulder's, whose volume its mass would give a thousandth of."""
    arm = """<mujoco><worldbody><geom type="plane" size="9 9 1" pos="0 0 -10"/><body>
      <joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 {length} 0 0" size="{radius}" density="{density}"/>
    </body></worldbody></mujoco>"""
    for units in (
        {"length": 0.02, "radius": 0.002, "density": 1000},
        {"length": 2.0, "radius": 0.2, "density": 1},
    ):
        sim = asp.Simulator(arm.format(**units), integrator=asp.Midas())
        shoulder, elbow, upper_arm = sim.session.method.engine.table.links.rigidity
        assert shoulder == elbow == pytest.approx(upper_arm, rel=0.1)


@pytest.mark.parametrize("held", ["", 'armature=".1"', 'damping="1"', 'stiffness="5"'])
def test_slides_that_can_move_against_each_other_for_nothing_are_refused(held):
    """Four in space: forces of opposite signs would wind them up without end."""
    axes = ("1 0 0", "0 1 0", "0 0 1", "1 1 0")
    slides = "".join(
        f'<joint name="s{i}" type="slide" axis="{axis}" {held if i == 3 else ""}/>'
        for i, axis in enumerate(axes)
    )
    xml = f"""<mujoco><option gravity="0 0 0"/><worldbody><body>{slides}<geom size=".1" mass="1"/>
      </body></worldbody></mujoco>"""
    if not held:
        with pytest.raises(
            asp.ModelError, match="'s3' moves its body in a direction in which 's0', 's1', 's2' can"
        ):
            asp.Simulator(xml, integrator=asp.Midas())
        return
    sim = asp.Simulator(xml, integrator=asp.Midas())
    sim.data.qfrc_applied[:] = 1.0, 1.0, 0.0, 0.0
    assert sim.advance_to(0.1).success
    # The force on what resists is none, and that on the mass the sum.
    assert sim.data.qvel[0] + np.sqrt(0.5) * sim.data.qvel[3] == pytest.approx(0.1, rel=0.1)
