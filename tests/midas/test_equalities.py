"""Equality constraints: closed loops, welds and coupled joints, against exact motions."""

from __future__ import annotations

from contextlib import nullcontext

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

G = 9.81
FREE_OF_CONTACT = '<option><flag contact="disable"/></option>'


def midas(xml: str, **options) -> asp.Simulator:
    return asp.Simulator(xml, integrator=asp.Midas(**options))


def gaps(sim: asp.Simulator, *, seen_from_second: bool = False) -> np.ndarray:
    """Distances between tied points, where the engine's affine links have them [m].

    Those that the second link sees are in its coordinates, which strain does not change.
    """
    table = sim.session.method.engine.table
    q = [table.poses.q[table.ties.link[:, side]] for side in (0, 1)]
    ends = [np.einsum("ti,tik->tk", table.ties.given[:, side], q[side]) for side in (0, 1)]
    gap = ends[0] - ends[1]
    if seen_from_second:
        gap = np.einsum("tk,tki->ti", gap, np.linalg.inv(q[1][:, 1:]))
    return np.linalg.norm(gap, axis=1)


CRANK, ROD = 0.1, 0.3
MASSES = {"crank": 0.5, "rod": 0.3, "slider": 1.0}
SLIDER_CRANK = f"""
<mujoco>{FREE_OF_CONTACT}<worldbody>
<body name="crank"><joint axis="0 -1 0"/>
 <geom type="box" size="{CRANK / 2} .01 .01" pos="{CRANK / 2} 0 0" mass="{MASSES["crank"]}"/>
 <body name="rod" pos="{CRANK} 0 0"><joint axis="0 -1 0"/>
  <geom type="box" size="{ROD / 2} .01 .01" pos="{ROD / 2} 0 0" mass="{MASSES["rod"]}"/></body></body>
<body name="slider" pos="{CRANK + ROD} 0 0"><joint type="slide" axis="1 0 0"/>
 <geom type="box" size=".02 .02 .02" mass="{MASSES["slider"]}"/></body></worldbody>
<equality><connect body1="rod" body2="slider" anchor="{ROD} 0 0"/></equality></mujoco>"""


def slider_crank(angle: float, speed: float, times: np.ndarray) -> np.ndarray:
    """Crank angle [rad] from the mechanism's equation of motion m θ̈ + ½ m′ θ̇² + V′ = 0."""

    def inertia(length: float, mass: float) -> float:
        return mass * ((length**2 + 0.02**2) / 12)

    def effective(q: float) -> tuple[float, float]:
        rod = np.arcsin(CRANK / ROD * np.sin(q))  # below the slide's axis
        spin = CRANK * np.cos(q) / (ROD * np.cos(rod))
        piston = -CRANK * np.sin(q) - ROD * np.sin(rod) * spin
        middle = (
            -CRANK * np.sin(q) - 0.5 * ROD * np.sin(rod) * spin,
            CRANK * np.cos(q) - 0.5 * ROD * np.cos(rod) * spin,
        )
        mass = inertia(CRANK, MASSES["crank"]) + MASSES["crank"] * CRANK**2 / 4
        mass += inertia(ROD, MASSES["rod"]) * spin**2 + MASSES["rod"] * np.dot(middle, middle)
        height = CRANK * np.sin(q)
        energy = G * height * (0.5 * MASSES["crank"] + 0.5 * MASSES["rod"])
        return mass + MASSES["slider"] * piston**2, energy

    def rate(t: float, y: np.ndarray) -> list[float]:
        e = 1e-5
        low, high = effective(y[0] - e), effective(y[0] + e)
        mass_slope, force = (high[0] - low[0]) / (2 * e), (high[1] - low[1]) / (2 * e)
        return [y[1], -(force + 0.5 * mass_slope * y[1] ** 2) / effective(y[0])[0]]

    solution = solve_ivp(rate, (0, times[-1]), [angle, speed], rtol=1e-9, atol=1e-11, t_eval=times)
    return solution.y[0]


@pytest.mark.parametrize(
    ("scheme", "order", "largest"), [("implicit-euler", 1, 0.2), ("bdf2", 2, 0.02)]
)
def test_slider_crank_moves_as_its_differential_equation_says(scheme, order, largest):
    times = np.array([0.1, 0.2, 0.3, 0.4])
    speed = 6.0
    exact = slider_crank(0.0, speed, times)
    errors = []
    for step in (0.004, 0.002, 0.001):
        sim = midas(SLIDER_CRANK, time_step=step, time_scheme=scheme, tolerance=1e-8, rigidity=1e10)
        # With the crank stretched out the slider stands, and the rod turns back.
        sim.data.qvel[:] = (speed, -speed * (1 + CRANK / ROD), 0.0)
        errors.append(0.0)
        for time, angle in zip(times, exact, strict=True):
            assert sim.advance_to(time).success
            errors[-1] = max(errors[-1], abs(sim.data.qpos[0] - angle))
            assert gaps(sim).max() < 1e-10
    assert errors[0] < largest
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), order, atol=0.35)


def test_what_poses_see_of_a_loop_is_the_elasticity_of_its_links():
    """Links are affine; the hundredfold rigidity leaves a hundredth of the gap in ``data``."""
    seen = []
    for rigidity in (1e8, 1e10):
        sim = midas(SLIDER_CRANK, time_scheme="implicit-euler", time_step=0.002, rigidity=rigidity)
        sim.data.qvel[:] = (12.0, -16.0, 0.0)
        largest = 0.0
        for _ in range(100):
            assert sim.step().success
            rod = sim.data.body("rod")
            pin = rod.xpos + rod.xmat.reshape(3, 3) @ [ROD, 0, 0]
            largest = max(largest, np.linalg.norm(pin - sim.data.body("slider").xpos))
        seen.append(largest)
    assert seen[0] < 1e-4
    assert seen[1] == pytest.approx(1e-2 * seen[0], rel=0.1)


LENGTH, BASE = 0.2, 0.3
FOUR_BAR = f"""
<mujoco>{FREE_OF_CONTACT}<worldbody>
<body pos="0 0 1"><joint axis="0 1 0"/>
  <geom type="box" size=".01 .01 {LENGTH / 2}" pos="0 0 {-LENGTH / 2}" mass=".4"/>
  <body name="coupler" pos="0 0 {-LENGTH}"><joint axis="0 1 0"/>
   <geom type="box" size="{BASE / 2} .01 .01" pos="{BASE / 2} 0 0" mass="1"/></body></body>
<body name="rocker" pos="{BASE} 0 1"><joint axis="0 1 0"/>
  <geom type="box" size=".01 .01 {LENGTH / 2}" pos="0 0 {-LENGTH / 2}" mass=".4"/></body></worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="{BASE} 0 0"/></equality></mujoco>"""


def test_parallelogram_swings_like_its_pendulum():
    """A closed four-bar with equal sides: a point mass for the coupler, which never turns."""
    sim = midas(FOUR_BAR, time_step=1e-3, time_scheme="bdf2", tolerance=1e-8, rigidity=1e10)
    start = 0.7
    sim.data.qpos[:] = (start, -start, start)
    bar = 0.4 * (LENGTH**2 + 0.02**2) / 12 + 0.4 * LENGTH**2 / 4
    inertia = 2 * bar + 1.0 * LENGTH**2
    torque = G * LENGTH * (2 * 0.4 * 0.5 + 1.0)
    exact = solve_ivp(
        lambda t, y: [y[1], -torque / inertia * np.sin(y[0])],
        (0, 2),
        [start, 0],
        rtol=1e-10,
        atol=1e-12,
        t_eval=np.arange(0.25, 2.01, 0.25),
    )
    for time, angle in zip(exact.t, exact.y[0], strict=True):
        assert sim.advance_to(time).success
        assert sim.data.qpos[0] == pytest.approx(angle, abs=2e-3)
        assert sim.data.qpos[2] == pytest.approx(sim.data.qpos[0], abs=1e-5)
        assert sim.data.body("coupler").xmat[8] == pytest.approx(1, abs=1e-9)
        assert gaps(sim).max() < 1e-10


WELDED = f"""
<mujoco>{FREE_OF_CONTACT}<worldbody>
<body name="a" pos="0 0 1"><freejoint/><geom type="box" size=".1 .05 .02" mass="2"/></body>
<body name="b" pos=".3 .1 1.1" euler="10 20 30"><freejoint/><geom type="box" size=".05 .05 .1" mass="1"/></body>
</worldbody>{{more}}</mujoco>"""
WELD = '<equality><weld name="w" body1="a" body2="b"/></equality>'


def test_welded_bodies_move_as_one():
    """Against the same two geoms on one body, in all that a free flight shows."""
    # The one body's flight is exact in any step, that of the two of second order.
    apart = midas(WELDED.format(more=WELD), time_step=0.005, tolerance=1e-8)
    one = midas(
        WELDED.replace('</body>\n<body name="b"', '<body name="b"')
        .replace('pos=".3 .1 1.1"', 'pos=".3 .1 .1"')
        .replace('<freejoint/><geom type="box" size=".05', '<geom type="box" size=".05')
        .replace('mass="1"/></body>', 'mass="1"/></body></body>')
        .format(more=""),
        time_step=0.005,
        tolerance=1e-8,
    )
    velocity, spin = np.array([0.3, -0.2, 2.0]), np.array([1.0, 2.0, -1.5])
    one.data.qvel[:] = (*velocity, *spin)
    arm = np.array([0.3, 0.1, 0.1])
    turn = apart.data.body("b").xmat.reshape(3, 3)
    apart.data.qvel[:6] = one.data.qvel
    apart.data.qvel[6:] = (*(velocity + np.cross(spin, arm)), *(turn.T @ spin))
    for _ in range(200):
        assert apart.step().success
        assert one.step().success
        assert gaps(apart).max() < 1e-10
    for body in ("a", "b"):
        mine, theirs = apart.data.body(body), one.data.body(body)
        np.testing.assert_allclose(mine.xpos, theirs.xpos, atol=2e-4)
        np.testing.assert_allclose(mine.xmat, theirs.xmat, atol=2e-3)


def test_weld_that_is_switched_on_closes_with_its_time_constant_and_lets_go():
    xml = WELDED.format(more=WELD.replace("<weld", '<weld active="false" relpose=".3 0 0 1 0 0 0"'))
    xml = xml.replace("<option>", '<option gravity="0 0 0">')
    sim = midas(xml, time_step=0.005)
    assert sim.advance_to(0.1).success
    before = gaps(sim)
    sim.data.eq_active[0] = 1
    assert sim.step().success
    np.testing.assert_allclose(gaps(sim, seen_from_second=True), before * 0.02 / 0.025, rtol=1e-6)
    assert sim.advance_to(1.0).success
    assert gaps(sim).max() < 1e-10
    relative = sim.data.body("a").xmat.reshape(3, 3).T @ (
        sim.data.body("b").xpos - sim.data.body("a").xpos
    )
    np.testing.assert_allclose(relative, [0.3, 0, 0], atol=1e-5)
    sim.data.eq_active[0] = 0
    sim.data.xfrc_applied[1, 0] = -10.0
    assert sim.advance_to(1.2).success
    assert gaps(sim).max() > 0.05


@pytest.mark.parametrize("time_step", [0.002, 0.0005])
@pytest.mark.parametrize(
    "equality",
    [
        '<weld body1="a" body2="b" relpose=".5 0 0 .9848 .1736 0 0"/>',
        '<weld body1="a" body2="b" relpose=".4 .1 0 1 0 0 0"/>',
        '<connect site1="of_a" site2="of_b"/>',
    ],
)
def test_what_closes_a_gap_does_not_hold_bodies_against_turning(equality, time_step):
    """Two bodies that spin in space keep their angular momentum while they are pulled together.

    Gaps that hold still in the world would take all of it from the first weld.
    """
    box = '<geom type="box" size=".1 .05 .15" mass="1"/>'
    sim = midas(
        f"""<mujoco><option gravity="0 0 0"><flag contact="disable"/></option><worldbody>
        <body name="a"><freejoint/>{box}<site name="of_a" pos=".3 0 0"/></body>
        <body name="b" pos=".5 0 0"><freejoint/>{box}<site name="of_b" pos="-.2 .1 .05"/></body>
        </worldbody><equality>{equality}</equality></mujoco>""",
        time_step=time_step,
    )
    spin = np.array([1.0, 2.0, 3.0])
    sim.data.qvel[:] = np.concatenate([np.zeros(3), spin, np.cross(spin, (0.5, 0.0, 0.0)), spin])

    def angular_momentum() -> np.ndarray:
        mujoco.mj_subtreeVel(sim.model, sim.data)
        return np.array(sim.data.subtree_angmom[0])

    mujoco.mj_forward(sim.model, sim.data)
    start = angular_momentum()
    for _ in range(50):
        sim.advance_to(sim.time + 0.01)
        error = np.linalg.norm(angular_momentum() - start)
        assert error < 10.0 * time_step * np.linalg.norm(start)
    assert gaps(sim).max() < 1e-6


def test_weld_carries_the_load_and_sensors_feel_it():
    """A force sensor at the root of what is welded to a hanging body."""
    xml = f"""<mujoco>{FREE_OF_CONTACT}<worldbody>
    <body name="hook"><joint name="lift" type="slide" axis="0 0 1"/><geom size=".05" mass="1"/>
      <body name="cell" pos="0 0 -.1"><geom size=".01" mass=".001"/><site name="s"/></body></body>
    <body name="load" pos="0 0 -.3"><freejoint/><geom size=".05" mass="3"/></body></worldbody>
    <equality><weld body1="cell" body2="load"/></equality>
    <actuator><position joint="lift" kp="1e5" kv="1e3"/></actuator>
    <sensor><force site="s"/></sensor></mujoco>"""
    sim = midas(xml)
    assert sim.advance_to(2.0).success
    assert sim.data.actuator_force[0] == pytest.approx(4.001 * G, rel=1e-4)
    np.testing.assert_allclose(sim.data.sensordata, [0, 0, 3.001 * G], rtol=1e-4, atol=1e-4)
    assert sim.data.qfrc_constraint[3] == pytest.approx(3 * G, rel=1e-4)


GRIPPER = """
<mujoco><option gravity="0 0 0"/><worldbody>
<body pos="-.05 0 0"><joint name="left" type="slide" axis="1 0 0" range="-.01 .05" limited="true"/>
  <geom name="left" type="box" size=".005 .01 .02" mass=".1"/></body>
<body pos=".05 0 0"><joint name="right" type="slide" axis="-1 0 0"/>
  <geom name="right" type="box" size=".005 .01 .02" mass=".1"/></body>
<body name="cube" pos=".004 0 0"><freejoint/><geom name="cube" type="box" size=".02 .02 .02" mass=".2"/></body>
</worldbody><actuator><motor joint="left"/></actuator>
<equality><joint joint1="right" joint2="left"/></equality></mujoco>"""


def test_mimic_gripper_closes_evenly_and_shares_its_force():
    sim = midas(GRIPPER)
    sim.data.ctrl[0] = 30.0
    for _ in range(100):
        assert sim.step().success
        assert abs(sim.data.qpos[0] - sim.data.qpos[1]) < 1e-10
    contacts = sim.contacts
    for finger in ("left", "right"):
        holds = np.any(contacts.geom == sim.model.geom(finger).id, axis=1)
        assert contacts.normal_force[holds].sum() == pytest.approx(15.0, rel=1e-4)
    assert abs(sim.data.body("cube").xpos[0]) < 1e-5


def test_the_limit_of_one_finger_stops_both():
    sim = midas(GRIPPER.replace("geom name=", 'geom contype="0" conaffinity="0" name='))
    sim.data.ctrl[0] = -20.0
    for _ in range(100):
        assert sim.step().success
        assert sim.data.qpos[0] > -0.01
        assert abs(sim.data.qpos[0] - sim.data.qpos[1]) < 1e-10
    assert sim.data.qpos[0] < -0.009
    assert sim.data.qfrc_constraint[:2].sum() == pytest.approx(20.0, rel=1e-4)


def test_urdf_mimic_holds_in_every_step():
    box = '<inertial><mass value=".5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>'
    urdf = f"""<robot name="r"><link name="base">{box}</link>
    <link name="a">{box}</link><link name="b">{box}</link>
    <joint name="ja" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
    <joint name="jb" type="continuous"><parent link="a"/><child link="b"/><origin xyz=".3 0 0"/>
      <axis xyz="0 1 0"/><mimic joint="ja" multiplier="-2" offset="0"/></joint></robot>"""
    sim = midas(urdf)
    sim.data.qvel[:] = (1.0, -2.0)
    for _ in range(100):
        assert sim.step().success
        assert abs(sim.data.qpos[1] + 2 * sim.data.qpos[0]) < 1e-10
    assert abs(sim.data.qpos[0]) > 0.1


def test_coupling_by_a_polynomial_obeys_its_equation_of_motion():
    """y = 2x + 3x² between two slides: x moves like a point of mass m₁ + m₂ p′²."""
    xml = f"""<mujoco>{FREE_OF_CONTACT}<worldbody>
    <body><joint name="x" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body>
    <body><joint name="y" type="slide" axis="0 0 1"/><geom size=".1" mass=".5"/></body></worldbody>
    <equality><joint joint1="y" joint2="x" polycoef="0 2 3 0 0"/></equality></mujoco>"""
    exact = solve_ivp(
        lambda t, s: [
            s[1],
            -0.5 * (2 + 6 * s[0]) * (G + 6 * s[1] ** 2) / (1 + 0.5 * (2 + 6 * s[0]) ** 2),
        ],
        (0, 0.5),
        [0.5, 0.0],
        rtol=1e-10,
        atol=1e-12,
    )
    errors = []
    for step in (2e-3, 1e-3):
        sim = midas(xml, time_step=step, time_scheme="bdf2", tolerance=1e-9)
        sim.data.qpos[:] = (0.5, 1.75)
        assert sim.advance_to(0.5).success
        x, y = sim.data.qpos
        assert abs(y - 2 * x - 3 * x * x) < 1e-10
        errors.append(abs(x - exact.y[0, -1]))
    assert errors[0] < 1e-3
    assert 3 < errors[0] / errors[1] < 5


def test_a_loop_with_redundant_constraints_is_no_harder():
    """Two connects and a weld hold what one weld holds already."""
    more = WELD.replace(
        "</equality>",
        '<connect body1="a" body2="b" anchor=".1 0 0"/><connect body1="a" body2="b" anchor="0 .1 0"/></equality>',
    )
    sim = midas(WELDED.format(more=more))
    sim.data.qvel[:] = np.sin(np.arange(12))
    for _ in range(20):
        report = sim.step()
        assert report.success
        assert report.stats.iterations < 60
        assert gaps(sim).max() < 1e-10


def test_a_step_that_fails_leaves_constraints_as_they_were():
    sim = midas(SLIDER_CRANK, max_iterations=1, time_step=0.01)
    sim.data.qvel[:] = (100.0, -400 / 3, 0.0)
    before = sim.data.qpos.copy()
    assert not sim.step(on_failure="return").success
    np.testing.assert_array_equal(sim.data.qpos, before)
    assert not np.any(sim.session.method.engine.table.gaps.force_start)


def test_a_follower_that_its_own_range_contradicts_obeys_its_leader():
    """Two fingers with the same range, coupled with opposite signs, as many robots have them."""
    xml = """<mujoco><worldbody>
      <body><joint name="lead" axis="0 1 0" range="0 1" limited="true"/>
       <geom size=".03" pos=".1 0 0"/></body>
      <body pos="0 1 0"><joint name="follow" axis="0 1 0" range="0 1" limited="true"/>
       <geom size=".02" pos=".1 0 0"/></body></worldbody>
      <equality><joint joint1="follow" joint2="lead" polycoef="0 -1 0 0 0"/></equality></mujoco>"""
    sim = midas(xml)
    assert any("'follow'" in note and "contradicts" in note for note in sim.load_report.notes)
    assert sim.advance_to(0.2).success
    assert sim.data.qpos[0] == pytest.approx(-sim.data.qpos[1], abs=1e-9)
    assert 0.01 < sim.data.qpos[0] < 1.0
    # Opposite ranges do not contradict each other.
    other = xml.replace('"follow" axis="0 1 0" range="0 1"', '"follow" axis="0 1 0" range="-1 0"')
    assert not any("contradicts" in note for note in midas(other).load_report.notes)


@pytest.mark.parametrize("scheme", ["implicit-euler", "bdf2"])
def test_a_weld_yields_to_a_floor_and_closes_again(scheme):
    """A box on a mocap body that goes through the floor and comes back."""
    sim = midas(
        """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
        <body name="hand" mocap="true" pos="0 0 .3"/>
        <body name="box" pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
        </worldbody><equality><weld body1="hand" body2="box"/></equality></mujoco>""",
        time_step=0.01,
        time_scheme=scheme,
    )
    lowest = np.inf
    open_at = []
    for i in range(1, 151):
        sim.data.mocap_pos[0, 2] = 0.3 - 0.25 * np.sin(np.pi * min(i, 100) / 100)
        first = sim.stats.yielding == 0 and sim.data.mocap_pos[0, 2] < 0.1
        warned = (
            pytest.warns(asp.AsperityWarning, match="Equality constraint 0")
            if first
            else nullcontext()
        )
        with warned:
            report = sim.step()
        assert report.success
        if report.stats.yielding:
            open_at.append(i)
        lowest = min(lowest, sim.data.qpos[2])
        assert sim.data.qpos[2] > 0.1
        if i == 50:
            # The floor bears the weight and what each of the weld's four ties pulls with, which is
            # four times what would bring its end to where it belongs in the time constant.
            pull = 4.0 * 2.0 * (100.0 + 4.0 * 0.051 / 0.02**2)
            borne = sim.contacts.normal_force.sum()
            assert borne == pytest.approx(pull + 2 * G, rel=0.01)
    # As long as the hand is lower than a box on the floor can be, but for a step or two.
    below = [i for i in range(1, 101) if 0.3 - 0.25 * np.sin(np.pi * i / 100) < 0.1]
    assert open_at == list(range(open_at[0], open_at[-1] + 1))
    assert abs(open_at[0] - below[0]) <= 1
    assert abs(open_at[-1] - below[-1]) <= 2
    assert lowest < 0.1015
    assert gaps(sim).max() < 1e-9
    assert sim.data.qpos[2] == pytest.approx(0.3, abs=1e-6)


def test_a_coupling_yields_where_a_floor_stops_its_follower():
    """A servo holds the leader, whose follower belongs 0.15 m below the floor."""
    sim = midas(
        """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
        <body pos="0 0 .5"><joint name="lead" type="slide" axis="0 0 1"/><geom size=".02" mass=".1"/></body>
        <body pos=".5 0 .2"><joint name="follow" type="slide" axis="0 0 1"/><geom size=".05" mass=".3"/></body>
        </worldbody><actuator><position joint="lead" kp="1e4" kv="100"/></actuator>
        <equality><joint joint1="follow" joint2="lead" polycoef="-.3 0 0 0 0"/></equality></mujoco>""",
        time_step=0.01,
    )
    with pytest.warns(asp.AsperityWarning, match="Equality constraint 0.*bounded forces"):
        assert sim.advance_to(1.0).success
    assert -0.15 < sim.data.qpos[1] < -0.149
    pull = 0.3 * (100.0 + 4.0 * (sim.data.qpos[1] + 0.3) / 0.02**2)
    assert sim.contacts.normal_force.sum() == pytest.approx(pull + 0.3 * G, rel=0.01)
    assert sim.data.qpos[0] == pytest.approx(-0.1 * G / 1e4, rel=1e-3)
