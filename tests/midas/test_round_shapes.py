"""Spheres and capsules are a point and a line with a radius: their distances, and how they roll."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from engines import engine_of

import asperity as asp
from asperity.midas.engine_contacts import survey

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

KINDS = {
    "sphere": 'type="sphere" size=".05"',
    "capsule": 'type="capsule" size=".03 .06"',
    "box": 'type="box" size=".05 .04 .06"',
}


@pytest.mark.parametrize(
    ("one", "other"),
    [("sphere", "sphere"), ("sphere", "capsule"), ("sphere", "box"), ("capsule", "capsule"),
     ("capsule", "box")],
)  # fmt: skip
def test_distances_are_those_of_the_shapes(one, other):
    """The nearest of all candidates against MuJoCo's distance of convex shapes."""
    xml = f"""<mujoco><worldbody><body><freejoint/><geom {KINDS[one]}/></body>
      <body pos="1 0 0"><freejoint/><geom {KINDS[other]}/></body></worldbody></mujoco>"""
    engine = engine_of(xml, activation_distance=0.05)
    rng = np.random.default_rng(1)
    model, data = engine.model, mujoco.MjData(engine.model)
    near = 0
    for _ in range(150):
        data.qpos[7:10] = rng.uniform(-0.17, 0.17, 3)
        for at in (3, 10):
            data.qpos[at : at + 4] = rng.normal(size=4)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_kinematics(model, data)
        expected = mujoco.mj_geomDistance(model, data, 0, 1, 1.0, np.zeros(6))
        if not 1e-3 < expected < 0.05:
            continue
        near += 1
        engine.set_state(data.qpos, np.zeros(12))
        while engine.grow(int(survey(engine.table))):
            pass
        square = np.asarray(engine.table.candidates.square[: engine.table.candidates.count])
        assert np.sqrt(square.min()) == pytest.approx(expected, abs=1e-6)
    assert near > 15


def _tiles(count: int = 8, size: float = 4.0) -> str:
    """Asset of a slab whose upper side, at z = 0, has a grid of triangles."""
    along = np.linspace(-size, size, count + 1)
    corners = [(x, y, z) for z in (0.0, -0.2) for x in along for y in along]
    wide, below = count + 1, (count + 1) ** 2
    faces = []
    for i in range(count):
        for j in range(count):
            a = i * wide + j
            b, c, d = a + 1, a + wide, a + wide + 1
            faces += [(a, c, b), (b, c, d)]
            faces += [(below + a, below + b, below + c), (below + b, below + d, below + c)]
    for i in range(count):
        last = count * wide
        for a, b in (
            (i, i + 1), (last + i + 1, last + i),
            ((i + 1) * wide, i * wide), (i * wide + count, (i + 1) * wide + count),
        ):  # fmt: skip
            faces += [(a, b, below + a), (b, below + b, below + a)]
    vertex = " ".join(f"{x:.6g}" for corner in corners for x in corner)
    face = " ".join(str(k) for triangle in faces for k in triangle)
    return f'<asset><mesh name="tiles" vertex="{vertex}" face="{face}"/></asset>'


ON = """<mujoco>{assets}<option gravity="{gx} 0 {gz}"/><worldbody>{floor}<body pos="0 0 .1009"><freejoint/>
  <geom {kind} friction="{mu}" mass="1"/></body></worldbody></mujoco>"""
PLANE = '<geom type="plane" size="5 5 1"/>'
TILES = '<geom type="mesh" mesh="tiles"/>'
SLAB = '<geom type="box" size="5 5 .1" pos="0 0 -.1"/>'
ROLLERS = {
    "sphere": 'type="sphere" size=".1"',
    "capsule": 'type="capsule" size=".1 .2" euler="90 0 0"',
}


def ratio(sim: asp.Simulator) -> float:
    """I / m r² about the axis that it rolls about."""
    axis = np.zeros(9)
    mujoco.mju_quat2Mat(axis, sim.model.body_iquat[1])
    inertia = axis.reshape(3, 3) @ np.diag(sim.model.body_inertia[1]) @ axis.reshape(3, 3).T
    return float(inertia[1, 1] / (sim.model.body_mass[1] * 0.1**2))


@pytest.mark.parametrize("floor", [PLANE, SLAB, TILES], ids=["plane", "slab", "mesh"])
@pytest.mark.parametrize("kind", ROLLERS)
def test_what_slips_then_rolls_keeps_rolling(kind, floor):
    """v = v₀/(1 + k), by the angular momentum about the line of contact, and no slower later."""
    assets = _tiles() if floor == TILES else ""
    xml = ON.format(assets=assets, gx=0, gz=-9.81, floor=floor, kind=ROLLERS[kind], mu=0.3)
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=2e-3, time_scheme="bdf2", verify=True))
    sim.data.qvel[0] = 1.0
    assert sim.advance_to(0.5).success
    rolling = sim.data.qvel[0]
    assert rolling == pytest.approx(1.0 / (1.0 + ratio(sim)), rel=5e-3)
    assert np.linalg.norm(sim.data.qvel[3:]) * 0.1 == pytest.approx(rolling, rel=5e-3)
    assert sim.advance_to(1.0).success
    assert sim.data.qvel[0] == pytest.approx(rolling, rel=2e-3)


@pytest.mark.parametrize("kind", ROLLERS)
def test_what_rolls_down_a_slope_accelerates_as_it_should(kind):
    """a = g sin α/(1 + k) at 20°."""
    slope = np.radians(20.0)
    xml = ON.format(
        assets="",
        gx=9.81 * np.sin(slope),
        gz=-9.81 * np.cos(slope),
        floor=PLANE,
        kind=ROLLERS[kind],
        mu=0.8,
    )
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=5e-3, time_scheme="bdf2"))
    assert sim.advance_to(0.5).success
    expected = 9.81 * np.sin(slope) / (1.0 + ratio(sim)) * 0.5
    assert sim.data.qvel[0] == pytest.approx(expected, rel=0.01)


def test_balls_that_overlap_are_refused_with_their_depth():
    xml = """<mujoco><worldbody><body><freejoint/><geom size=".05"/></body>
      <body pos=".097 0 0"><freejoint/><geom size=".05"/></body></worldbody></mujoco>"""
    with pytest.raises(asp.ModelError, match=r"intersect by 3 mm"):
        asp.Simulator(xml, integrator=asp.Midas())


def test_contacts_of_a_ball_are_on_its_surface():
    sim = asp.Simulator(
        ON.format(assets="", gx=0, gz=-9.81, floor=PLANE, kind=ROLLERS["sphere"], mu=0.3),
        integrator=asp.Midas(),
    )
    assert sim.advance_to(0.5).success
    contacts = sim.contacts
    assert np.abs(contacts.point[:, 2]).max() < 1e-3
    assert contacts.force[:, 2].sum() == pytest.approx(
        9.81 * (1.0 if contacts.force[0, 2] > 0 else -1.0), rel=1e-4
    )


ROPE = """<flexcomp name="rope" type="grid" dim="1" count="3 1 1" spacing=".4 .4 .4" pos="-.1 -.01 0"
  mass="1.5" radius=".005"><edge stiffness="1000"/></flexcomp>"""


@pytest.mark.parametrize("other", ["capsule", "box", "rope"])
def test_friction_acts_where_a_capsule_is_touched(other):
    """Whichever of two bodies it is: no angular momentum comes from friction between them."""
    body = (
        f'<body euler="90 0 0"><freejoint/><geom type="{other}" size=".1 .2 .2" mass="1"/></body>'
    )
    sim = asp.Simulator(
        f"""<mujoco><option gravity="0 0 0"/><worldbody>{ROPE if other == "rope" else body}
        <body pos="0 0 .4" euler="75 0 0"><freejoint/>
          <geom type="capsule" size=".1 .2" mass="1"/></body></worldbody></mujoco>""",
        integrator=asp.Midas(time_step=1e-3),
        contact=asp.ContactParameters(friction=0.3),
    )

    def angular_momentum() -> np.ndarray:
        mujoco.mj_subtreeVel(sim.model, sim.data)
        linear = sim.model.body_subtreemass[0] * sim.data.subtree_linvel[0]
        return sim.data.subtree_angmom[0] + np.cross(sim.data.subtree_com[0], linear)

    sim.data.qvel[-6:-3] = (1.0, 0.0, -2.0)
    mujoco.mj_forward(sim.model, sim.data)
    before = angular_momentum()
    sim.advance_to(0.2)
    assert abs(sim.data.qvel[-1]) > 1.0  # friction spins it about its axis
    np.testing.assert_allclose(angular_momentum(), before, atol=2e-3)
