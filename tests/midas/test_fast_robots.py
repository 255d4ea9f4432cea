"""Robots that move fast: dry friction of joints, paths of links, trees of boxes."""

import numpy as np
import pytest

import asperity as asp
from asperity.midas.engine import Engine
from asperity.midas.engine_contacts import survey
from asperity.midas.pose.link_kinematics import move_vertices
from asperity.midas.verification import IntersectionTest


def arm(links: int, friction: float) -> str:
    """A chain of hinges that starts level and falls, without contact."""
    body = ""
    for i in range(links):
        axis = "0 1 0" if i % 2 == 0 else "1 0 0"
        body += (
            f'<body pos="{0.0 if i == 0 else 0.2} 0 0">'
            f'<joint axis="{axis}" frictionloss="{friction}"/>'
            '<geom type="capsule" size=".02" fromto="0 0 0 .2 0 0" contype="0" conaffinity="0"/>'
        )
    return f"<mujoco><worldbody>{body}{'</body>' * links}</worldbody></mujoco>"


def test_dry_friction_of_joints_does_not_overshoot():
    """8 iterations and 22 trials a step where the Hessian takes joints that slide for free."""
    sim = asp.Simulator(arm(10, friction=2.0), integrator=asp.Midas())
    stats = sim.advance_to(0.5).stats
    assert stats.iterations < 5 * stats.steps
    assert stats.line_search_evaluations < 5 * stats.steps


def test_long_chains_of_small_links_swing_as_they_should():
    """Beads of 1 cm on 16 hinges 0.2 m apart: each would strain the next one 20 times as much."""
    chain = arm(16, friction=0.0).replace(
        'type="capsule" size=".02" fromto="0 0 0 .2 0 0"', 'size=".01" pos=".1 .01 0"'
    )
    # As stiff as their own volume makes them, they would bend by a quarter of that range.
    sim = asp.Simulator(chain, integrator=asp.Midas(time_step=1e-3))
    report = sim.advance_to(0.1)
    truth = asp.Simulator(chain, integrator=asp.RungeKutta3(accuracy=1e-7))
    truth.advance_to(0.1)
    assert report.success
    assert report.stats.iterations < 5 * report.stats.steps
    # Of second order but for the first step.
    np.testing.assert_allclose(sim.data.qpos, truth.data.qpos, atol=5e-3 * np.ptp(truth.data.qpos))


HAND = """
<mujoco><option gravity="0 0 0"/><default><geom density="1000"/></default><worldbody>
<body><joint name="wrist" axis="0 0 1"/><geom type="box" size=".2 .01 .01" pos=".2 0 0"/>
 {fingers}
</body></worldbody></mujoco>"""


def hand() -> str:
    """Six fingers 2 mm apart at the end of an arm."""
    fingers = ""
    for i in range(6):
        y = 0.012 * (i - 2.5)
        fingers += (
            f'<body pos=".405 {y} 0"><joint axis="0 1 0" damping=".01"/>'
            '<geom type="box" size=".03 .005 .005" pos=".035 0 0"/></body>'
        )
    return HAND.format(fingers=fingers)


def nearest(engine: Engine) -> set[tuple[int, ...]]:
    """Stencils nearer than the activation distance, by a list made for this very state."""
    table = engine.table
    assert survey(table) == 0
    count = int(table.candidates.count)
    near = np.asarray(table.candidates.square)[:count] < float(table.options.activation) ** 2
    return {tuple(v) for v in np.asarray(table.candidates.vertex)[:count][near].tolist()}


@pytest.mark.parametrize(("joint", "speed", "most"), [("", 7.0, 20000), ("free", -30.0, 1500)])
def test_lists_of_links_that_move_together_miss_nothing(joint, speed, most):
    """While fingers swing by 30 mm a step, what is near at its end is in the list it went by.

    So it is while the hand flies by 0.3 m a step, and the list is no longer for that.
    """
    pytest.importorskip("ipctk", reason="ipctk, which looks for intersections, is not installed")
    xml = hand()
    if joint:
        xml = xml.replace('<joint name="wrist" axis="0 0 1"/>', "<freejoint/>")
    sim = asp.Simulator(xml, integrator=asp.Midas(activation_distance=3e-3), publish="lazy")
    rng = np.random.default_rng(0)
    sim.data.qvel[1 if joint else 0] = speed
    sim.data.qvel[-6:] = rng.normal(size=6)
    engine = sim.session.method.engine
    check = IntersectionTest(engine)
    seen = relative = 0
    for _ in range(20):
        sim.data.qfrc_applied[-6:] = 0.02 * rng.normal(size=6)
        assert sim.advance_to(sim.time + 0.01).status == asp.Status.SUCCESS
        table = engine.table
        count = int(table.candidates.count)
        listed = {tuple(v) for v in np.asarray(table.candidates.vertex)[:count].tolist()}
        relative += int(table.relative.any)
        # All stencils, not only those of the fingers' present neighbours, would be thousands.
        assert count < most
        near = nearest(engine)
        assert not check()
        assert near <= listed
        seen += len(near)
    assert relative > 0
    assert seen > 100


def test_large_meshes_touch_where_small_ones_do():
    """Trees of boxes find what looking at all pairs finds."""
    found = []
    for subdivisions in (1, 6):
        sim = asp.Simulator(
            "<mujoco><worldbody><geom type='box' size='.2 .2 .05' pos='0 0 -.05'/>"
            "<body pos='0.01 .02 .0507' euler='0 0 30'><freejoint/>"
            "<geom type='box' size='.05 .04 .05'/></body></worldbody></mujoco>",
            integrator=asp.Midas(subdivisions=subdivisions, activation_distance=1e-3),
        )
        engine = sim.session.method.engine
        table = engine.table
        near = nearest(engine)
        rest = np.asarray(table.shapes.vertex_rest)
        move_vertices(table.shapes, table.poses.q, table.vertices.now)
        x = np.asarray(table.vertices.now)
        # Vertices of the box's lower side, each near a triangle of the slab.
        lower = {v[0] for v in near if rest[v[0], 3] < -0.049 and x[v[0], 2] > 0.0}
        found.append(len(lower))
    assert found == [4, 49]


LIMBS = """<mujoco><option gravity="0 0 0"/><default><geom density="1000"/></default><worldbody>
<body><freejoint/><geom type="box" size=".2 .05 .05"/>
 <body pos=".2 0 0"><joint axis="0 1 1"/><geom type="box" size=".2 .03 .04" pos=".2 0 0"/>
  <body pos=".4 0 0"><joint type="ball"/><geom type="box" size=".2 .03 .02" pos=".2 0 0"/>
   <body pos=".4 0 0"><joint axis="1 0 1" damping="1"/>
    <geom type="box" size=".1 .02 .02" pos=".1 0 0"/>
</body></body></body></body></worldbody></mujoco>"""


def test_stiff_links_are_turned_in_as_few_iterations():
    """Half a radian in a step from rest: 275 iterations if straight ways stretch what they turn."""
    velocities = []
    for rigidity in (1e8, 1e11):
        sim = asp.Simulator(LIMBS, integrator=asp.Midas(rigidity=rigidity))
        sim.data.qfrc_applied[6] = 200.0
        report = sim.advance_to(0.01)
        assert report.success
        assert report.stats.iterations < 40
        velocities.append(np.array(sim.data.qvel))
    assert np.abs(velocities[0]).max() > 30.0
    # Of strains of the softer ones.
    np.testing.assert_allclose(velocities[0], velocities[1], atol=0.1)
