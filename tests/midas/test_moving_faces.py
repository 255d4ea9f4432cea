"""Cylinders and ellipsoids over faces of boxes that move, and of meshes: as round as they are."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from engines import assemble, engine_of, move_to, potential
from same_bits import state_bits

import asperity as asp
from asperity.midas.engine_contacts import survey
from asperity.midas.geometry.collision_time import KEPT
from asperity.midas.geometry.round_heights import plane_through, round_height
from asperity.midas.geometry.round_impact import time_to_face
from asperity.midas.geometry.stencil import ELLIPSOID_PLANE, RIM_PLANE, Stencil

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

G = 9.81
ANGLE = 0.2
DOWN = np.array([np.cos(ANGLE), 0.0, -np.sin(ANGLE)])
UP = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])
LYING = 'euler="1.5707963267948966 0 0"'
SOLIDS = {
    "cylinder": ('type="cylinder" size=".1 .05"', 0.1, 1 / 2),
    "spheroid": ('type="ellipsoid" size=".1 .1 .05"', 0.1, 2 / 5),
}
CORNERS = [(x, y, z) for x in (-5, 5) for y in (-2, 2) for z in (-0.1, 0.1)]
MESH = (
    '<asset><mesh name="block" vertex="'
    + " ".join(f"{value:g}" for corner in CORNERS for value in corner)
    + '"/></asset>'
)
BLOCKS = {"box": 'type="box" size="5 2 .1"', "mesh": 'type="mesh" mesh="block"'}


def simulator(bodies: str, threads: int = 1, **options) -> asp.Simulator:
    xml = f'<mujoco><compiler angle="radian"/>{MESH}<worldbody>{bodies}</worldbody></mujoco>'
    return asp.Simulator(xml, integrator=asp.Midas(**options), threads=threads)


def rolling(geom: str, place: str) -> str:
    return (
        f'<body name="round" {place}><freejoint name="round"/><geom name="round" {geom} mass="1" '
        'friction=".3"/></body>'
    )


def velocity(sim: asp.Simulator, joint: str = "round") -> np.ndarray:
    begin = sim.model.joint(joint).dofadr[0]
    return np.array(sim.data.qvel[begin : begin + 6])


@pytest.mark.parametrize("carrier", ["world", "mocap", "slide", "hinge"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("solid", SOLIDS)
def test_solids_roll_down_an_incline_without_loss(carrier, block, solid):
    geom, radius, share = SOLIDS[solid]
    place = f'pos="{-0.1 * UP[0]} 0 {-0.1 * UP[2]}" euler="0 {ANGLE} 0"'
    board = f'<geom {BLOCKS[block]} friction=".3" mass="1000"/>'
    board = {
        "world": f"<body {place}>{board}</body>",
        "mocap": f'<body mocap="true" {place}>{board}</body>',
        "slide": f'<body {place}><joint type="slide" axis="0 0 1" limited="true" '
        f'range="-.001 .001"/>{board}</body>',
        "hinge": f'<body {place}><joint axis="0 1 0" stiffness="1e9" damping="1e6"/>{board}</body>',
    }[carrier]
    top = (radius + 0.0009) * UP
    sim = simulator(board + rolling(geom, f'pos="{top[0]} 0 {top[2]}" {LYING}'))
    assert sim.advance_to(1.0).success
    speed = velocity(sim)[:3]
    assert speed @ DOWN == pytest.approx(G * np.sin(ANGLE) / (1 + share), rel=1e-3)
    assert abs(speed @ UP) < 1e-4


@pytest.mark.parametrize("solid", SOLIDS)
def test_friction_shares_momentum_with_a_board_that_slides(solid):
    """J = v₀/(1/m + 1/M + r²/I): until the solid rolls, whose own speed friction lowers."""
    geom, radius, share = SOLIDS[solid]
    first, board_mass = 2.0, 3.0
    board = (
        f'<body name="board" pos="0 0 -.1"><freejoint name="board"/><geom name="board" '
        f'{BLOCKS["box"]} mass="{board_mass}" friction=".3"/></body>'
        '<geom name="floor" type="plane" size="9 9 1" pos="0 0 -.2009"/>'
    )
    top = rolling(geom, f'pos="-2 0 {radius + 0.0009}" {LYING}')
    xml = (
        f'<mujoco><compiler angle="radian"/><worldbody>{board}{top}</worldbody>'
        '<contact><pair geom1="floor" geom2="board" friction="0 0 0 0 0"/>'
        '<exclude body1="world" body2="round"/></contact></mujoco>'
    )
    sim = asp.Simulator(xml, integrator=asp.Midas())
    sim.data.qvel[sim.model.joint("round").dofadr[0]] = first
    for i in range(15):
        assert sim.advance_to(0.1 * (i + 1)).success
        momentum = velocity(sim)[0] + board_mass * velocity(sim, "board")[0]
        assert momentum == pytest.approx(first, abs=2e-3)
        assert 0.0 <= velocity(sim, "board")[0] <= velocity(sim)[0] <= first
    impulse = first / (1.0 + 1.0 / board_mass + 1.0 / share)
    assert velocity(sim)[0] == pytest.approx(first - impulse, rel=3e-3)
    assert velocity(sim, "board")[0] == pytest.approx(impulse / board_mass, rel=1e-2)
    # It rolls on the board: about its axis, which is its own z.
    slip = velocity(sim)[0] - velocity(sim, "board")[0] - radius * abs(velocity(sim)[5])
    assert abs(slip) < 2e-3


def test_a_can_that_spins_on_a_tray_hands_on_its_spin():
    """Friction of its flat face takes no angular momentum away, and in the end both turn alike."""
    xml = """<mujoco><worldbody>
      <geom name="floor" type="plane" size="9 9 1" pos="0 0 -.0209"/>
      <body name="tray" pos="0 0 -.01"><freejoint name="tray"/>
        <geom name="tray" type="box" size=".2 .2 .01" mass=".5" friction=".3"/></body>
      <body pos="0 0 .0609"><freejoint name="round"/>
        <geom name="can" type="cylinder" size=".04 .06" mass="1" friction=".3"/></body>
      </worldbody><contact><pair geom1="floor" geom2="tray" friction="0 0 0 0 0"/></contact></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas())
    sim.data.qvel[sim.model.joint("round").dofadr[0] + 5] = 20.0
    can, tray = 0.5 * 0.04**2, 0.5 * (0.4**2 + 0.4**2) / 12
    assert sim.advance_to(1.5).success
    common = 20.0 * can / (can + tray)
    assert velocity(sim)[5] == pytest.approx(common, rel=0.02)
    assert velocity(sim, "tray")[5] == pytest.approx(common, rel=0.02)


def test_gradient_is_the_slope_of_the_potential():
    """Of a cylinder over a tilted block, both of which deform: the block's part, too."""
    rng = np.random.default_rng(2)
    for geom in (SOLIDS["cylinder"][0], 'type="ellipsoid" size=".1 .07 .04"'):
        engine = engine_of(
            '<mujoco><worldbody><body pos="0 0 -.1"><freejoint/><geom type="box" size=".5 .5 .1"/>'
            f'</body><body pos="0 0 .5"><freejoint/><geom name="round" {geom}/></body></worldbody>'
            "</mujoco>",
            activation_distance=0.02,
        )
        model, data = engine.model, mujoco.MjData(engine.model)
        for _ in range(5):
            data.qpos[:] = model.qpos0
            data.qpos[3:7] += 0.1 * rng.normal(size=4)
            data.qpos[10:14] = rng.normal(size=4)
            mujoco.mj_normalizeQuat(model, data.qpos)
            mujoco.mj_kinematics(model, data)
            turn = data.geom_xmat[0].reshape(3, 3)
            gap = mujoco.mj_geomDistance(model, data, 0, 1, 2.0, None)
            data.qpos[7:10] -= (gap - 0.01) * turn[:, 2]
            mujoco.mj_kinematics(model, data)
            data.qpos[7:10] -= (mujoco.mj_geomDistance(model, data, 0, 1, 2.0, None) - 0.01) * turn[
                :, 2
            ]
            engine.set_state(data.qpos, np.zeros(12))
            while engine.grow(int(survey(engine.table))):
                pass
            assert engine.table.pairs.plane[0] >= 0
            z = engine.table.poses.z.copy() + 1e-4 * rng.normal(size=24)
            engine.table.time.step = 0.01
            engine.table.poses.q_target[:] = engine.table.poses.q
            move_to(engine, z)
            assert (
                np.min(np.asarray(engine.table.candidates.square)[: engine.table.candidates.count])
                > 0
            )
            assemble(engine)
            slope = engine.table.newton.gradient.copy()
            for _ in range(6):
                direction, step = rng.normal(size=24), 1e-6
                ends = [potential(engine, z + s * step * direction) for s in (-2, -1, 1, 2)]
                numeric = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
                scale = np.linalg.norm(slope) * np.linalg.norm(direction)
                assert slope @ direction == pytest.approx(numeric, abs=1e-6 * scale)


@pytest.mark.parametrize("is_rim", [True, False])
def test_the_time_of_impact_is_never_too_late(is_rim):
    """Nor much too early: the height that is kept is reached, or the whole way is free."""
    rng = np.random.default_rng(8)
    corner, c = np.zeros((7, 3)), np.zeros(4)
    face = np.array([4, 5, 6])
    stencil = Stencil(RIM_PLANE if is_rim else ELLIPSOID_PLANE, 0, 1, 2, 3)
    reached = 0
    for trial in range(200):
        x = np.zeros((7, 3))
        x[4:] = ((-0.3, -0.3, 0), (0.3, -0.3, 0), (-0.3, 0.3, 0))
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0] * ((0.1,), (0.07,), (0.04,))
        x[:4] = (axes[0], axes[1], -axes[0], axes[2])
        if not is_rim:
            x[[1, 2]] = x[[2, 1]]
        x[:4] += (*rng.uniform(-0.2, 0.2, 2), 0.0)

        def height(at):
            return round_height(stencil, at, plane_through(at, 4, 5, 6), 1e-3, c)

        x[:4, 2] += 10.0 ** rng.uniform(-4, -1) - height(x)
        # Affine motions of both, that turn and shift them.
        p = np.zeros((7, 3))
        for part, size in ((slice(0, 4), 0.3), (slice(4, 7), 0.3 if trial % 2 else 0.0)):
            turn = size * rng.normal(size=(3, 3))
            middle = x[part].mean(axis=0)
            p[part] = (x[part] - middle) @ (turn - turn.T) + size * 0.3 * rng.normal(size=3)
        now = height(x)
        kept = KEPT * now
        time = time_to_face(stencil, face, x, p, 1e-3, now, kept, 1.0, c, corner)
        heights = [height(x + t * p) for t in np.linspace(0.0, time, 400)]
        assert min(heights) > 0.999 * kept
        if time < 1.0:
            reached += 1
            assert heights[-1] < 1.02 * kept
    assert reached > 50


@pytest.mark.parametrize("geom", [SOLIDS["cylinder"][0], 'type="ellipsoid" size=".1 .07 .04"'])
def test_nothing_passes_a_board_that_is_thrown_at_it(geom):
    """Checked by MuJoCo's collision detection, which knows round shapes as well."""
    rng = np.random.default_rng(5)
    sagitta = 0.1 * (1.0 - np.cos(np.pi / 16) ** 2)
    for _ in range(6):
        sim = simulator(
            '<body pos="0 0 -.4"><freejoint name="board"/><geom type="box" size=".3 .2 .03" '
            'mass="2"/></body>' + rolling(geom, 'pos="0 0 .2"'),
            verify=True,
        )
        sim.data.qpos[10:14] = rng.normal(size=4)
        sim.data.qpos[10:14] /= np.linalg.norm(sim.data.qpos[10:14])
        sim.data.qvel[:6] = (*rng.uniform(-1, 1, 2), 6.0, *rng.uniform(-5, 5, 3))
        sim.data.qvel[6:] = (*rng.uniform(-1, 1, 2), -6.0, *rng.uniform(-30, 30, 3))
        for _ in range(40):
            assert sim.step().success
            mujoco.mj_kinematics(sim.model, sim.data)
            # Beyond a face it is a polyhedron of 16 segments both ways, which lies inside of it.
            assert mujoco.mj_geomDistance(sim.model, sim.data, 0, 1, 1.0, None) > -sagitta - 1e-5


def test_a_cylinder_rolls_off_a_board_that_is_carried():
    """Where it leaves the face it is a polyhedron again, and nothing is lost of its guarantee."""
    sim = simulator(
        '<body mocap="true" pos="0 0 -.05"><geom type="box" size=".3 .3 .05" friction=".3"/></body>'
        + rolling(SOLIDS["cylinder"][0], f'pos="0 0 .1009" {LYING}'),
        verify=True,
    )
    sim.data.qvel[[0, 5]] = 0.5, -5.0
    for i in range(160):
        sim.data.mocap_pos[0, 0] = 0.002 * (i + 1)
        assert sim.step().success
    assert sim.data.qpos[2] < -0.5


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bits(threads):
    bodies = '<geom type="plane" size="9 9 1" pos="0 0 -.2"/>' + "".join(
        f'<body pos="{i % 4} {i // 4} -.1"><freejoint/><geom type="box" size=".3 .3 .05"/></body>'
        f'<body pos="{i % 4} {i // 4} .08" euler="{0.1 * i} .3 0"><freejoint/>'
        f"<geom {SOLIDS['cylinder' if i % 2 else 'spheroid'][0]}/></body>"
        for i in range(8)
    )
    one, other = simulator(bodies), simulator(bodies, threads)
    for _ in range(30):
        assert one.step().success
        assert other.step().success
    assert state_bits(one) == state_bits(other)


def test_cans_between_boxes_come_to_rest_in_few_iterations():
    """Flat on flat, both of which may tilt: the Hessian knows what resists that."""
    solids = ('type="box" size=".05 .05 .05"', 'type="cylinder" size=".04 .05"')
    bodies = '<geom type="plane" size="9 9 1"/>' + "".join(
        f'<body pos="{0.25 * column} 0 {0.052 + 0.104 * level}"><freejoint/>'
        f"<geom {solids[level % 2]}/></body>"
        for column in range(4)
        for level in range(3)
    )
    sim = simulator(bodies)
    for _ in range(50):
        assert sim.step().success
    assert sim.session.method.engine.table.counts.iterations < 60
    assert np.all(np.abs(sim.data.qvel) < 1e-5)
    heights = sim.data.qpos.reshape(-1, 7)[:, 2]
    assert np.all(np.diff(heights.reshape(4, 3), axis=1) > 0.1)
