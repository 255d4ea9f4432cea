"""Activation distances of pairs of links: small where links begin near each other, usual elsewhere."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from engines import assemble, engine_of, move_to, potential
from scipy.optimize import brentq

import asperity as asp
from asperity.midas.time.step_start import prepare_step

G = 9.81
USUAL, NEAR = 1e-3, 2e-5
COMMON = 0.5 * USUAL  # where anything is as near as that

BLOCK = (
    '<body name="{name}" pos="{x} 0 {z}"><freejoint/>'
    '<geom name="{name}" type="box" size=".1 .1 .05" mass="2"/></body>'
)


def blocks(friction: float = 0.0, angle: float = 0.0, far: float = 0.99 * COMMON) -> str:
    """Two blocks on an incline [rad], in its axes: one begins much nearer to it than the other."""
    return f"""<mujoco><option gravity="{G * np.sin(angle)} 0 {-G * np.cos(angle)}"/>
    <default><geom friction="{friction}"/></default><worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    {BLOCK.format(name="near", x=0.0, z=0.05 + NEAR)}
    {BLOCK.format(name="far", x=1.0, z=0.05 + far)}
    </worldbody></mujoco>"""


def simulator(xml: str, qvel=None, **options) -> asp.Simulator:
    sim = asp.Simulator(xml, integrator=asp.Midas(**options))
    if qvel is not None:
        sim.data.qvel[:] = qvel
    return sim


def distances(sim: asp.Simulator) -> dict[frozenset[str], float]:
    """Activation distances by the names of geoms [m]."""
    engine = sim.session.method.engine
    names = [sim.model.geom(geom).name for geom in range(sim.model.ngeom)]
    return {
        frozenset(names[geom] for geom in engine.pair_geoms(pair)): float(distance)
        for pair, distance in enumerate(engine.table.pairs.activation)
    }


def advance(sim: asp.Simulator, time: float) -> None:
    report = sim.advance_to(time)
    assert report.success, report.message


def pressure(ratio: float) -> float:
    """−b′/κw of the barrier at D/d̂, by docs/equations.md, ‘Barrier and friction’."""
    z = ratio * ratio
    return 2.0 * ratio * (2.0 * (z - 1.0) * np.log(z) + (z - 1.0) ** 2 / z)


def gap_ratios(sim: asp.Simulator) -> list[float]:
    """Distance of the near and of the far thing from the floor, in its activation distances."""
    found, contacts = distances(sim), sim.contacts
    ratios = []
    for name in ("near", "far"):
        own = np.any(contacts.geom == sim.model.geom(name).id, axis=1)
        gap = float(contacts.signed_distance[own].mean())
        ratios.append(gap / found[frozenset({name, "floor"})])
    return ratios


def test_one_near_pair_leaves_others_theirs():
    sim = simulator(blocks(far=0.1))
    found = distances(sim)
    assert found[frozenset({"near", "floor"})] == pytest.approx(NEAR, rel=1e-6)
    assert found[frozenset({"far", "floor"})] == COMMON
    assert found[frozenset({"far", "near"})] == COMMON
    (note,) = sim.load_report.notes
    assert "'near' and the world (0.02 mm)" in note
    assert "'far'" not in note


@pytest.mark.parametrize("gap", [0.0, 0.7 * USUAL])
def test_what_begins_less_near_is_level_with_all_else(gap):
    sim = simulator(blocks(far=0.1).replace(f"{0.05 + NEAR}", f"{0.05 + gap}"))
    found = set(distances(sim).values())
    assert len(found) == 1
    # What touches is taken apart by a little more than half of the usual one.
    assert found.pop() == pytest.approx(gap if gap > 0.0 else 1.1 * COMMON, rel=0.01)
    assert sim.load_report.notes == ()


def test_a_distance_that_is_given_is_that_of_all_pairs():
    sim = simulator(blocks(far=0.1), activation_distance=3e-4)
    assert set(distances(sim).values()) == {3e-4}
    assert sim.load_report.notes == ()
    advance(sim, 0.5)
    assert 0.05 + 0.9 * 3e-4 < sim.data.qpos[2] < 0.05 + 3e-4


def test_shapes_too_small_have_less():
    ball = '<body pos="{x} 0 .1"><freejoint/><geom name="{x}" size="{r}"/></body>'
    sim = simulator(
        f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
        {ball.format(x=0, r=0.002)}{ball.format(x=1, r=0.05)}</worldbody></mujoco>"""
    )
    found = distances(sim)
    assert found[frozenset({"0", "floor"})] == pytest.approx(0.05 * 0.004)
    assert found[frozenset({"0", "1"})] == pytest.approx(0.05 * 0.004)
    assert found[frozenset({"1", "floor"})] == USUAL
    assert sim.load_report.notes == ()


def test_the_world_is_one():
    """A ball that rolls from tile to tile meets with no step, wherever it began near to one."""
    sim = simulator(
        f"""<mujoco><worldbody><geom name="floor" type="plane" size="9 9 1" pos="0 0 -.02"/>
        <geom name="one" type="box" size=".1 .1 .01" pos="-.1 0 -.01"/>
        <geom name="two" type="box" size=".1 .1 .01" pos=".1 0 -.01"/>
        <body pos="-.1 0 {0.03 + 5e-5}"><freejoint/><geom name="ball" size=".03"/></body>
        </worldbody></mujoco>""",
        qvel=[0.5, 0, 0, 0, 0.5 / 0.03, 0],
    )
    assert list(distances(sim).values()) == pytest.approx([5e-5] * 3)
    advance(sim, 0.1)
    height = sim.data.qpos[2]
    for _ in range(20):
        advance(sim, sim.time + 0.01)
        assert sim.data.qpos[2] == pytest.approx(height, abs=1e-6)
    assert sim.data.qpos[0] == pytest.approx(0.05, rel=1e-3)


def test_a_load_rests_at_the_same_share_of_either_distance():
    sim = simulator(blocks())
    found = distances(sim)
    assert found[frozenset({"near", "floor"})] < 0.1 * found[frozenset({"far", "floor"})]
    advance(sim, 1.0)
    table, contacts = sim.session.method.engine.table, sim.contacts
    for name in ("near", "far"):
        own = np.any(contacts.geom == sim.model.geom(name).id, axis=1)
        assert contacts.normal_force[own].sum() == pytest.approx(2 * G, rel=1e-6)
    lower = table.shapes.vertex_rest[:8, 3] < 0.0
    area = float(table.shapes.vertex_area[:8][lower].sum())
    expected = brentq(lambda r: 1e7 * area * pressure(r) - 2 * G, 0.1, 1.0 - 1e-9)
    assert gap_ratios(sim) == pytest.approx([expected, expected], abs=1e-5)


@pytest.mark.parametrize("kind", ["cylinder", "sphere", "ellipsoid"])
def test_round_shapes_rest_at_the_same_share_of_either_distance(kind):
    xml = blocks().replace('type="box" size=".1 .1 .05"', f'type="{kind}" size=".05 .05 .05"')
    sim = simulator(xml, verify=True)
    advance(sim, 0.5)
    ratios = gap_ratios(sim)
    assert 0.4 < ratios[0] < 0.999
    assert ratios[0] == pytest.approx(ratios[1], abs=1e-4)


def test_both_slide_by_coulombs_law():
    angle, friction = np.deg2rad(20), 0.2
    sim = simulator(blocks(friction, angle), verify=True)
    advance(sim, 0.1)  # until they rest on their barriers
    start, speed = sim.data.qpos[[0, 7]].copy(), sim.data.qvel[[0, 6]].copy()
    advance(sim, 0.5)
    acceleration = G * (np.sin(angle) - friction * np.cos(angle))
    np.testing.assert_allclose(sim.data.qvel[[0, 6]] - speed, 0.4 * acceleration, rtol=1e-3)
    way = 0.4 * speed + 0.5 * acceleration * 0.4**2
    np.testing.assert_allclose(sim.data.qpos[[0, 7]] - start, way, rtol=1e-3)


@pytest.mark.parametrize(("ratio", "slides"), [(0.99, True), (1.01, False)])
def test_both_stick_alike(ratio, slides):
    angle = np.deg2rad(20)
    sim = simulator(blocks(ratio * np.tan(angle), angle))
    advance(sim, 1.5)
    assert np.all((sim.data.qvel[[0, 6]] < 1e-4) != slides)


HEAP = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
{BLOCK.format(name="a", x=0, z=0.05 + 3e-5)}{BLOCK.format(name="b", x=0.02, z=0.15 + 5e-5)}
<body pos="0 .05 .4" euler="20 30 0"><freejoint/><geom type="box" size=".05 .04 .03"/></body>
<body pos="-.05 -.05 .5" euler="50 0 10"><freejoint/><geom type="cylinder" size=".04 .05"/></body>
<body pos=".05 0 .65" euler="0 70 0"><freejoint/><geom type="capsule" size=".03 .05"/>
 <body pos=".1 0 0"><joint axis="0 1 0"/><geom type="box" size=".05 .02 .02"/></body></body>
</worldbody></mujoco>"""


def test_what_falls_on_near_pairs_meets_and_intersects_nothing():
    sim = simulator(HEAP, verify=True)
    assert len(set(distances(sim).values())) > 2
    advance(sim, 3.0)
    contacts = sim.contacts
    floor = np.any(contacts.geom == 0, axis=1)
    weight = G * sim.model.body_mass.sum()
    assert contacts.normal_force[floor].sum() == pytest.approx(weight, rel=0.01)


def test_gradient_is_the_slope_of_the_potential_for_several_distances():
    engine = engine_of(HEAP, activation_distance=2e-3)
    table = engine.table
    table.pairs.activation[:] = np.linspace(1.0, 2.0, len(table.pairs.activation)) * 1e-3
    assert prepare_step(table, 0.01, False) == 0
    z = table.poses.z + 1e-6 * np.random.default_rng(0).normal(size=table.poses.z.shape)
    move_to(engine, z)
    assemble(engine)
    slope = table.newton.gradient.copy()
    square = table.candidates.square[: table.candidates.count]
    own = table.pairs.activation[table.candidates.pair[: table.candidates.count]]
    assert len(set(own[square < own**2])) > 1
    rng = np.random.default_rng(1)
    for _ in range(20):
        direction = rng.normal(size=z.shape)
        step = 1e-8
        ends = [potential(engine, z + s * step * direction) for s in (-2, -1, 1, 2)]
        expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
        assert slope @ direction == pytest.approx(
            expected, rel=1e-5, abs=1e-6 * np.linalg.norm(slope)
        )


def test_copies_and_the_first_state_again_lead_to_the_same_bits():
    sim = simulator(HEAP)
    advance(sim, 0.1)
    other = copy.deepcopy(sim)
    assert distances(other) == distances(sim)
    advance(sim, 0.3)
    advance(other, 0.3)
    np.testing.assert_array_equal(sim.data.qpos, other.data.qpos)
    before = distances(sim)
    sim.reset()
    for time in (0.1, 0.3):
        advance(sim, time)
    assert distances(sim) == before
    np.testing.assert_array_equal(sim.data.qpos, other.data.qpos)


def test_any_number_of_threads_leads_to_the_same_bits():
    ends = []
    for threads in (1, 2):
        sim = asp.Simulator(HEAP, integrator=asp.Midas(), threads=threads)
        advance(sim, 0.3)
        ends.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*ends)


def test_what_touches_later_is_taken_apart_by_its_own_distance():
    sim = simulator(blocks())
    advance(sim, 0.05)
    sim.data.qpos[:3] = 0.0, 0.0, 0.05
    sim.data.qpos[7:10] = 1.0, 0.0, 0.05
    sim.data.qvel[:] = 0.0
    advance(sim, 0.06)
    assert 0.9 * NEAR < sim.data.qpos[2] - 0.05 < 1.1 * NEAR
    assert 0.9 * COMMON < sim.data.qpos[9] - 0.05 < 1.1 * COMMON
    assert np.abs(sim.data.qvel).max() < 0.01


def test_clearance_is_the_smallest_of_what_is_within_reach():
    sim = simulator(blocks(far=0.1), qvel=[0, 0, 0.1, *np.zeros(9)])
    advance(sim, 0.01)
    # It has left the near block's reach, and the other's is not known.
    assert sim.clearance == pytest.approx(1.5 * COMMON)
