"""Elements of Midas: derivatives, patch test, bending of cloth, and materials."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest
import scipy.sparse as sparse
from midas_models import begin, cloth, engine_of, gradient, hessian, potential
from scipy.sparse.linalg import spsolve
from soft_models import Array, compile_soft, cube

from asperity.midas.engine import Engine
from asperity.midas.geometry.stencil import VERTEX_PLANE
from asperity.midas.time.step import solve_step
from asperity.soft.bending import Bend, bending
from asperity.soft.dissection import dissection_ranks

FLOOR = "<geom type='plane' size='1 1 0.1' friction='0.5'/>"
BOX = (
    "<body pos='0.001 0.002 0.0224'><freejoint/>"
    "<geom type='box' size='0.013 0.011 0.01' mass='0.05' friction='0.5'/></body>"
)
ARM = (
    "<body pos='0.1 0 0.0325'><joint type='hinge' axis='0 1 0'/>"
    "<geom type='capsule' size='0.008' fromto='0 0 0 -0.09 0.02 -0.02' mass='0.05'"
    " friction='0.5'/></body>"
)


ROD = (
    "<flexcomp name='rod' type='grid' dim='1' count='8 1 1' spacing='0.01 1 1' mass='0.01'"
    " radius='0.001' pos='0 0 0.0022'><elasticity young='1e6' poisson='0.3' damping='1e-3'/>"
    "<edge equality='true'/><contact friction='0.5'/></flexcomp>"
)


def _cells(dof: str, cells: int = 1, *, height: float = 0.0161) -> str:
    """A cube of 30 mm between the nodes of cells."""
    return (
        "<flexcomp name='cells' type='grid' dim='3' count='4 4 4' spacing='.01 .01 .01' mass='.03'"
        f" pos='0 0 {height}' radius='5e-4' dof='{dof}' cellcount='{cells} {cells} {cells}'>"
        "<elasticity young='1e4' poisson='0.3' damping='2e-3'/><contact friction='0.5'/></flexcomp>"
    )


def _stepped(body: str, *, steps: int, gravity: float = 9.81, h: float = 0.004) -> Engine:
    engine = engine_of(compile_soft(body, gravity=gravity))
    for _ in range(steps):
        engine.read_inputs()
        while code := int(solve_step(engine.table, h)):
            assert engine.grow(code)
    return engine


def _differences(engine: Engine, z: Array, size: float) -> Array:
    out = np.zeros(len(z))
    for i in range(len(z)):
        move = np.zeros(len(z))
        move[i] = size
        out[i] = (potential(engine, z + move) - potential(engine, z - move)) / (2.0 * size)
    return out


@pytest.mark.parametrize(
    "body",
    [
        FLOOR + cube(count=3, height=0.0261, young=1e4),
        FLOOR + cloth(0.06, count=4, height=0.0022) + BOX.replace("0.0224", "0.0145"),
        FLOOR + cloth(0.06, count=4, height=0.0022) + ARM,
        FLOOR + ROD + BOX.replace("0.0224", "0.0145"),
        FLOOR + _cells("trilinear", 2) + BOX.replace("0.0224", "0.0428"),
        FLOOR + _cells("quadratic") + ARM.replace("0.0325", "0.0605"),
    ],
    ids=(
        *("volume", "cloth under a box", "cloth under an arm", "rod under a box"),
        *("cells under a box", "a cell under an arm"),
    ),
)
def test_gradient_is_that_of_the_potential(body: str) -> None:
    """With contact, friction and damping, at a state that is not in equilibrium."""
    engine = _stepped(body, steps=12)
    assert engine.soft is not None
    assert len(engine.soft.contacts().rows) > 3
    rng = np.random.default_rng(0)
    z = np.array(engine.table.poses.z_now)
    z += rng.normal(scale=2e-5, size=len(z))
    found = gradient(engine, z)
    expected = _differences(engine, z, 1e-8)
    scale = np.abs(expected).max()
    assert scale > 0.0
    worst = int(np.argmax(np.abs(found - expected)))
    print(worst, found[worst], expected[worst], engine.table.links.kind)
    np.testing.assert_allclose(found, expected, atol=1e-5 * scale)


def _twisted_rod(*, turns: float) -> Engine:
    """A rod that bends out of every plane, is twisted, and has moved by a step since."""
    engine = engine_of(compile_soft(ROD, gravity=0.0))
    rng = np.random.default_rng(3)
    qpos = np.array(engine.table.poses.qpos)
    qpos[:24] += rng.normal(scale=2e-3, size=24)
    qpos[24:] = turns * rng.normal(size=7)
    engine.set_state(qpos, rng.normal(scale=0.05, size=len(qpos)))
    engine.read_inputs()
    while code := int(solve_step(engine.table, 0.004)):
        assert engine.grow(code)
    return engine


def test_gradient_of_twist() -> None:
    """With edges that have moved by tenths of a radian within the step."""
    engine = _twisted_rod(turns=1.0)
    assert engine.soft is not None
    soft = engine.soft.table
    z = np.array(engine.table.poses.z_now)
    z[:24] += np.random.default_rng(4).normal(scale=2e-3, size=24)
    parts = []
    stiffness, damping = np.array(soft.twist_stiffness), np.array(soft.twist_damping)
    for share in (1.0, 0.0):
        soft.twist_stiffness[:], soft.twist_damping[:] = share * stiffness, share * damping
        parts.append((gradient(engine, z), _differences(engine, z, 5e-7)))
    found, expected = (one - other for one, other in zip(*parts, strict=True))
    for part in (slice(24), slice(24, None)):
        scale = np.abs(expected[part]).max()
        assert scale > 0.0
        np.testing.assert_allclose(found[part], expected[part], atol=1e-5 * scale)


def test_hessian_of_bends_without_twist_is_exact() -> None:
    """Second derivatives of m, which it leaves out, are multiplied by m."""
    engine = _twisted_rod(turns=0.0)
    assert engine.soft is not None
    soft, size = engine.soft.table, 1e-7
    # Angles of edges that leave no bend twisted.
    qpos = np.array(engine.table.poses.qpos)
    qpos[24:] -= np.cumsum(np.append(0.0, _twist_now(engine, qpos)))
    assert np.abs(_twist_now(engine, qpos)).max() < 1e-12
    z = np.array(engine.table.poses.z)
    stiffness = np.array(soft.twist_stiffness)
    found, expected = [], []
    for share in (1.0, 0.0):
        soft.twist_stiffness[:] = share * stiffness
        found.append(hessian(engine, z))
        moves = size * np.eye(len(z))
        expected.append(
            [(gradient(engine, z + m) - gradient(engine, z - m)) / (2.0 * size) for m in moves]
        )
    difference = np.subtract(*expected)
    for part in (np.s_[:24, :24], np.s_[:24, 24:], np.s_[24:, 24:]):
        scale = np.abs(difference[part]).max()
        assert scale > 0.0
        np.testing.assert_allclose(np.subtract(*found)[part], difference[part], atol=1e-4 * scale)


def _twist_now(engine: Engine, qpos: Array) -> Array:
    """By how much bends are twisted, found in a step without length."""
    assert engine.soft is not None
    engine.set_state(qpos, np.zeros(len(qpos)))
    begin(engine)
    return np.array(engine.soft.table.twist_start)


@pytest.mark.parametrize(
    "body",
    [
        cube(count=3, height=1.0, damping=0.0),
        cloth(0.06, count=4, height=1.0, damping=0.0),
        _cells("trilinear", height=1.0).replace("damping='2e-3'", ""),
        _cells("quadratic", height=1.0).replace("damping='2e-3'", ""),
    ],
    ids=("volume", "cloth", "trilinear", "quadratic"),
)
def test_hessian_of_what_is_stretched_is_exact(body: str) -> None:
    """Where no eigenvalue is negative nothing is left out."""
    engine = _stepped(body, steps=1, gravity=0.0)
    z = np.array(engine.table.poses.z_now).reshape(-1, 3)
    rng = np.random.default_rng(1)
    # Cloth has three directions across its plane, where it is not stretched.
    z = z.mean(axis=0) + (z - z.mean(axis=0)) @ np.diag([1.3, 1.25, 1.2])
    z += rng.normal(scale=2e-4, size=z.shape)
    found = hessian(engine, z.ravel())
    step = 1e-6
    expected = np.zeros_like(found)
    for i in range(z.size):
        move = np.zeros(z.size)
        move[i] = step
        ahead = gradient(engine, z.ravel() + move)
        expected[i] = (ahead - gradient(engine, z.ravel() - move)) / (2.0 * step)
    np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


def test_hessian_of_pressed_edges_is_exact_near_the_solution() -> None:
    """Far from it what pressed edges lose of their stiffness across is left out."""
    net = cloth(0.06, count=4, height=1.0, damping=0.0)
    elastic = net[net.index("<elasticity") : net.index("<contact")]
    engine = _stepped(net.replace(elastic, "<edge equality='true'/>"), steps=1, gravity=0.0)
    rng = np.random.default_rng(5)
    z = np.array(engine.table.poses.z_now)
    z += rng.normal(scale=2e-3, size=len(z))
    newton = engine.table.newton
    newton.curved, newton.nearly_rigid = 1, 1
    exact = hessian(engine, z)
    moves = 1e-7 * np.eye(len(z))
    expected = [(gradient(engine, z + m) - gradient(engine, z - m)) / 2e-7 for m in moves]
    np.testing.assert_allclose(exact, expected, atol=1e-6 * np.abs(exact).max())
    newton.curved = 0
    left_out = np.linalg.eigvalsh(hessian(engine, z) - exact)
    assert left_out[-1] > 1e-3 * np.abs(exact).max()
    assert left_out[0] > -1e-9 * left_out[-1]


@pytest.mark.parametrize(
    "body",
    [cube(count=3, height=1.0), cloth(0.06, count=4, height=1.0), _cells("quadratic", height=1.0)],
    ids=("volume", "cloth", "quadratic"),
)
def test_hessian_of_pressed_elements_is_exact_near_the_solution(body: str) -> None:
    """With damping's stress; far from it no part is less than the exact one."""
    engine = _stepped(body, steps=1, gravity=0.0, h=0.01)
    assert engine.soft is not None
    z = np.array(engine.table.poses.z_now).reshape(-1, 3)
    z = z.mean(axis=0) + (z - z.mean(axis=0)) @ np.diag([0.8, 0.9, 1.1])
    z = (z + np.random.default_rng(6).normal(scale=5e-4, size=z.shape)).ravel()
    newton = engine.table.newton
    newton.curved, newton.nearly_rigid = 1, 1
    exact = hessian(engine, z)
    moves = 1e-7 * np.eye(len(z))
    expected = [(gradient(engine, z + m) - gradient(engine, z - m)) / 2e-7 for m in moves]
    np.testing.assert_allclose(exact, expected, atol=1e-6 * np.abs(exact).max())
    damping = np.array(engine.soft.table.element_damping)
    engine.soft.table.element_damping[:] = 0.0
    exact = hessian(engine, z)
    newton.curved = 0
    positive = hessian(engine, z)
    added = np.linalg.eigvalsh(positive - exact)
    assert damping.max() > 0.0
    assert added[-1] > 1e-3 * np.abs(exact).max()
    assert added[0] > -1e-9 * added[-1]
    assert np.linalg.eigvalsh(positive)[0] > 0.0


@pytest.mark.parametrize(
    "body",
    [cube(count=3, height=1.0), cloth(0.06, count=4, height=1.0), _cells("quadratic", height=1.0)],
    ids=("volume", "cloth", "quadratic"),
)
def test_hessian_is_positive_where_the_energy_is_not_convex(body: str) -> None:
    engine = _stepped(body, steps=1, gravity=0.0, h=0.1)
    z = np.array(engine.table.poses.z_now).reshape(-1, 3)
    z = z.mean(axis=0) + 0.5 * (z - z.mean(axis=0))
    z += np.random.default_rng(2).normal(scale=1e-3, size=z.shape)
    assert np.isfinite(potential(engine, z.ravel()))
    assert np.linalg.eigvalsh(hessian(engine, z.ravel()))[0] > 0.0


def _entries(engine: Engine, order: np.ndarray) -> int:
    """Blocks of the factor beside its diagonal, with vertices eliminated in an order."""
    z = np.array(engine.table.poses.z_now)
    count = len(order)
    coupled = np.any(hessian(engine, z).reshape(count, 3, count, 3) != 0.0, axis=(1, 3))
    coupled = coupled[np.ix_(order, order)]
    for k in range(count):
        later = k + 1 + np.flatnonzero(coupled[k, k + 1 :])
        coupled[np.ix_(later, later)] = True
    return int(np.triu(coupled, 1).sum())


def test_dissection_leaves_fewer_entries_than_an_order_along_an_axis() -> None:
    engine = _stepped(cube(count=6, height=1.0), steps=1, gravity=0.0)
    z = np.array(engine.table.poses.z_now)
    along = _entries(engine, np.lexsort(z.reshape(-1, 3).T))
    assert engine.table.factor.column_size.sum() < 0.8 * along


def test_cloth_has_fewer_entries_than_by_dissection() -> None:
    engine = _stepped(cloth(0.3, count=12, height=1.0), steps=1, gravity=0.0)
    assert engine.soft is not None
    z = np.array(engine.table.poses.z_now)
    by_halves = np.argsort(dissection_ranks(z.reshape(-1, 3), engine.soft.table.bond))
    assert engine.table.factor.column_size.sum() < 0.9 * _entries(engine, by_halves)


BALL = "<geom type='sphere' friction='0' size='0.02' pos='0.003 0.002 -0.0211'/>"
ROLLER = (
    "<body pos='0.003 0.002 -0.0151'><freejoint/><geom type='capsule' size='0.014' friction='0'"
    " fromto='-.01 0 0 .012 .003 0' mass='0.05'/></body>"
)
LYING = cloth(0.06, count=5, height=0.0002, young=3e3, damping=0.0, friction=0.0)
FOLDED = LYING.replace("radius='0.001'", "radius='0.0005'") + cloth(
    *(0.05,),
    count=4,
    height=0.0019,
    young=3e3,
    damping=0.0,
    friction=0.0,
    name="other",
    euler="0 0 20",
)


@pytest.mark.parametrize(
    "body", [BALL + LYING, ROLLER + LYING, FOLDED], ids=("ball", "link", "cloth")
)
def test_hessian_of_contacts_is_exact_near_the_solution(body: str) -> None:
    """Of faces and edges that tilt on a ball, on a link, and on other cloth."""
    engine = _stepped(body, steps=6)
    assert engine.soft is not None
    rng = np.random.default_rng(3)
    z = np.array(engine.table.poses.z_now)
    z += rng.normal(scale=2e-6, size=len(z))
    newton = engine.table.newton
    newton.curved, newton.nearly_rigid = 1, 1
    exact = hessian(engine, z)
    pushed = engine.soft.table
    assert np.sum(pushed.square[: int(pushed.count)] < 1e-6) > 3
    step = 1e-8
    expected = np.zeros_like(exact)
    for i in range(len(z)):
        move = np.zeros(len(z))
        move[i] = step
        ahead = gradient(engine, z + move)
        expected[i] = (ahead - gradient(engine, z - move)) / (2.0 * step)
    np.testing.assert_allclose(exact, expected, atol=1e-4 * np.abs(expected).max())
    newton.curved = 0
    positive = hessian(engine, z)
    assert np.linalg.eigvalsh(positive)[0] > 0.0
    # What is left out was negative; the link's own terms are not looked at.
    variable = pushed.vertex_variable[pushed.vertex_variable >= 0]
    own = np.sort(np.concatenate([variable, variable + 1, variable + 2]))
    left_out = np.linalg.eigvalsh((positive - exact)[np.ix_(own, own)])
    assert left_out[0] > -1e-9 * left_out[-1]


def test_half_spaces_are_those_of_the_model() -> None:
    """The engine has others below faces of a box that a cylinder may touch."""
    can = "<body pos='0 0 .3'><freejoint/><geom type='cylinder' size='.01 .01'/></body>"
    other = cube(count=3, height=0.2, name="other")
    box = BOX.replace("0.0224", "0.0625")
    engine = _stepped(FLOOR + cube(count=3, height=0.0261) + other + box + can, steps=1)
    assert engine.soft is not None
    assert len(engine.table.shapes.plane) > len(engine.shapes.plane_geom) == 1
    table = engine.soft.table
    planes = table.kind[: int(table.count)] == VERTEX_PLANE
    assert np.any(planes)
    assert not np.any(table.vertex[: int(table.count)][planes, 3])


def test_patch_of_a_distorted_mesh() -> None:
    """Under a linear deformation there is no force on vertices inside."""
    count, spacing = 4, 0.02
    ticks = np.arange(count) * spacing
    points = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    within = np.all((points > 0.0) & (points < ticks[-1]), axis=1)
    points[within] += np.random.default_rng(3).normal(scale=2e-3, size=(within.sum(), 3))
    corner = np.arange(count**3).reshape(count, count, count)[:-1, :-1, :-1].ravel()
    steps = np.array([count * count, count, 1])
    paths = [np.cumsum([0, *steps[list(order)]]) for order in itertools.permutations(range(3))]
    tetrahedra = np.concatenate([corner[:, None] + path for path in paths])
    body = (
        "<flexcomp name='f' type='direct' dim='3' mass='0.1' radius='1e-4'"
        f" point='{' '.join(map(str, points.ravel()))}'"
        f" element='{' '.join(map(str, tetrahedra.ravel()))}'>"
        "<elasticity young='1e5' poisson='0.3'/></flexcomp>"
    )
    engine = _stepped(body, steps=1, gravity=0.0)
    model = engine.model
    turn = np.array([[1.1, 0.2, -0.1], [0.05, 0.9, 0.3], [-0.2, 0.1, 1.2]])
    z = np.array(engine.table.poses.z_now).reshape(-1, 3) @ turn.T
    inertia = z - engine.table.poses.q_target[:-1, 0]
    force = gradient(engine, z.ravel()).reshape(-1, 3)
    force -= model.body_mass[model.flex_vertbodyid][:, None] * inertia
    assert np.abs(force[within]).max() < 1e-10 * np.abs(force).max()


def test_materials_of_cloth_are_found() -> None:
    young, thickness = 4e5, 2e-3
    engine = engine_of(compile_soft(cloth(young=young, thickness=thickness)))
    assert engine.soft is not None
    first, shear = engine.soft.table.element_lame[0]
    assert shear == pytest.approx(young * thickness / 2.6, rel=1e-6)
    assert first == pytest.approx(young * thickness * 0.3 / 0.91, rel=1e-6)
    x, faces = _grid(8, 0.2)
    rigidity = young * thickness**3 / 12.0 / 0.91
    table = engine.soft.table
    for found, bend in zip(table.cell_matrix, bending(x, faces, rigidity, 0.3), strict=True):
        width, expected = len(bend.stiffness), bend.stiffness
        np.testing.assert_allclose(
            table.matrix[found, :width, :width], expected, atol=1e-6 * np.abs(expected).max()
        )


def _grid(count: int, side: float) -> tuple[Array, np.ndarray]:
    """A regular grid of MuJoCo's: vertices and triangles."""
    model = compile_soft(cloth(side, count=count))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return np.array(data.flexvert_xpos), np.array(model.flex_elem).reshape(-1, 3).astype(np.int64)


def _assembled(bends: list[Bend], size: int) -> sparse.csc_matrix:
    """Stiffness across the plane."""
    rows = np.concatenate([np.repeat(bend.vertices, len(bend.vertices)) for bend in bends])
    columns = np.concatenate([np.tile(bend.vertices, len(bend.vertices)) for bend in bends])
    values = np.concatenate([bend.stiffness[2::3, 2::3].ravel() for bend in bends])
    return sparse.csc_matrix((values, (rows, columns)), (size, size))


@pytest.mark.parametrize("degrees", [0.0, 45.0, 135.0])
def test_cylinders_bend_alike_in_all_directions(degrees: float) -> None:
    """Inside of the border, where not all folds are there, the energy is D κ²/2 per area."""
    count = 25
    x, faces = _grid(count, 1.0)
    angle = np.radians(degrees)
    height = 0.5 * (x[:, :2] @ np.array([np.cos(angle), np.sin(angle)])) ** 2
    energy = [
        0.5 * height[bend.vertices] @ bend.stiffness[2::3, 2::3] @ height[bend.vertices]
        for bend in bending(x, faces, 2.0, 0.3)
        if len(bend.vertices) == 6
    ]
    area = 0.5 / (count - 1) ** 2
    assert np.mean(energy) == pytest.approx(0.5 * 2.0 * area, rel=1e-9)


def test_clamped_plate() -> None:
    """Deflection of a square plate under a pressure, 0.00126532 q a⁴/D (Timoshenko)."""
    count = 33
    x, faces = _grid(count, 1.0)
    stiffness = _assembled(bending(x, faces, 1.0, 0.3), len(x))
    number = np.arange(count**2).reshape(count, count)
    # Two rows of vertices at the border are held: what bends begins half a cell inside.
    free = number[2:-2, 2:-2].ravel()
    load = np.full(len(free), 1.0 / (count - 1) ** 2)
    found = spsolve(stiffness[free][:, free], load)
    side = 1.0 - 1.0 / (count - 1)
    assert found.max() == pytest.approx(0.00126532 * side**4, rel=0.01)
