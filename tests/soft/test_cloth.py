"""Cloth in Icf and Cenic: known solutions, contact, and agreement with Midas."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from midas_models import cloth
from scipy.spatial import Delaunay
from soft_models import Array, arch, compile_soft, positions, vertex_dofs

import asperity as asp
from asperity.plant.model.flexes import flex_elements
from asperity.soft.bending import bending
from asperity.soft.membranes import triangles

BOTH = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-4))
FLOOR = "<geom type='plane' size='1 1 0.1'/>"


def _masses(model: mujoco.MjModel) -> Array:
    return np.where(vertex_dofs(model) >= 0, model.body_mass[model.flex_vertbodyid], 0.0)


def _by_edges(inner: str = "", *, count: int = 8, size: float = 0.2, pins: str = "") -> str:
    """A square that an equality of its edges holds."""
    spacing = size / (count - 1)
    return (
        f"<flexcomp name='cloth' type='grid' dim='2' count='{count} {count} 1' mass='0.02'"
        f" spacing='{spacing} {spacing} {spacing}' pos='0 0 0.5' radius='1e-3'>"
        f"<edge equality='true'/>{inner}{pins}<contact selfcollide='none'/></flexcomp>"
    )


def _irregular(cells: int) -> tuple[Array, np.ndarray]:
    """A unit square of points moved at random, with a row of regular ones around it."""
    ticks = np.arange(-1, cells + 2) / cells
    points = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=2).reshape(-1, 2)
    inner = np.all((points > 1e-9) & (points < 1.0 - 1e-9), axis=1)
    rng = np.random.default_rng(0)
    points[inner] += rng.uniform(-0.3, 0.3, (int(inner.sum()), 2)) / cells
    return points, Delaunay(points).simplices


STEADY = asp.Icf(time_step=100.0)
STEADY_MIDAS = asp.Midas(time_step=20.0, tolerance=1e-8)


@pytest.mark.parametrize(
    ("cells", "regular", "integrator", "tolerance"),
    [(32, True, STEADY, 5e-3), (20, False, STEADY, 1e-2), (12, False, STEADY_MIDAS, 3e-2)],
)
def test_clamped_plate(
    cells: int, regular: bool, integrator: asp.Integrator, tolerance: float
) -> None:
    """Deflection of a square plate under a pressure, 0.00126532 q a⁴/D (Timoshenko)."""
    young, thickness, pressure = 1e7, 1e-3, 1e-5
    if regular:
        ticks = np.arange(-1, cells + 2) / cells
        points = np.stack(np.meshgrid(ticks, ticks), axis=2).reshape(-1, 2)
        number = np.arange(len(points)).reshape(cells + 3, cells + 3)
        a, b, c, d = (
            number[i : i + cells + 2, j : j + cells + 2].ravel() for i in (0, 1) for j in (0, 1)
        )
        faces = np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
    else:
        points, faces = _irregular(cells)
    held = np.flatnonzero(~np.all((points > 1e-9) & (points < 1.0 - 1e-9), axis=1))
    x = np.concatenate([points, np.zeros((len(points), 1))], axis=1)
    model = compile_soft(
        "<flexcomp name='plate' type='direct' dim='2' mass='1' radius='5e-4'"
        f" point='{' '.join(f'{value:.12g}' for value in x.ravel())}'"
        f" element='{' '.join(map(str, faces.ravel()))}'><pin id='{' '.join(map(str, held))}'/>"
        f"<elasticity young='{young}' poisson='0.3' thickness='{thickness}' elastic2d='both'/>"
        "<contact selfcollide='none' contype='0' conaffinity='0'/></flexcomp>",
        gravity=0.0,
    )
    sim = asp.Simulator(model, integrator=integrator)
    area = np.zeros(len(points))
    np.add.at(area, faces, triangles(x, faces)[0][:, None] / 3.0)
    dofs = vertex_dofs(model)
    sim.data.qfrc_applied[dofs[dofs >= 0] + 2] = pressure * area[dofs >= 0]
    sim.advance_to(500.0)
    found = positions(model, sim.data)[:, 2].max()
    # Two rows of vertices at the border are held: what bends begins half a cell outside.
    side = 1.0 + 1.0 / cells
    rigidity = young * thickness**3 / 12.0 / (1.0 - 0.3**2)
    assert found == pytest.approx(0.00126532 * pressure * side**4 / rigidity, rel=tolerance)


def test_quadratic_plates_bend_as_they_should() -> None:
    """Of an irregular mesh: the energy inside, and vertices that bear no load."""
    points, faces = _irregular(8)
    x = np.concatenate([points, np.zeros((len(points), 1))], axis=1)
    border = np.any((points < 0.2) | (points > 0.8), axis=1)
    for curvature in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.5, -1.0, 0.7)):
        xx, yy, xy = curvature
        u = 0.5 * (xx * points[:, 0] ** 2 + yy * points[:, 1] ** 2) + xy * points.prod(axis=1)
        load = np.zeros(len(points))
        for bend in bending(x, faces, 2.0, 0.3):
            own = bend.vertices
            force = bend.stiffness[2::3, 2::3] @ u[own]
            load[own] += force
            if np.any(np.any(faces[bend.triangle][:, None] == np.flatnonzero(border), axis=1)):
                continue
            area = triangles(x, faces[bend.triangle][None])[0][0]
            whole = 0.7 * (xx**2 + yy**2 + 2.0 * xy**2) + 0.3 * (xx + yy) ** 2
            assert u[own] @ force == pytest.approx(2.0 * area * whole, rel=1e-9)
        assert np.abs(load[~border]).max() < 1e-9 * np.abs(load).max()


def test_bending_around_a_vertex_of_three_triangles() -> None:
    """Two neighbours of a triangle have the same corner there, which is one vertex of its energy.

    Planes have no energy.
    """
    turn = np.pi / 2.0 + 2.0 * np.pi / 3.0 * np.arange(3)
    inner = np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=1)
    positions = np.concatenate([[[0.0, 0.0, 0.0]], inner, -2.0 * np.roll(inner, 1, axis=0)])
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 4, 2], [2, 5, 3], [3, 6, 1]])
    bends = bending(positions, faces, 1.0, 0.3)
    for bend in bends:
        assert bend.flat
        assert len(set(bend.vertices.tolist())) == len(bend.vertices)
        matrix = bend.stiffness[::3, ::3]
        np.testing.assert_allclose(bend.stiffness, np.kron(matrix, np.eye(3)), atol=1e-12)
        for slope in (positions[:, 0], positions[:, 1], np.ones(7)):
            assert np.abs(matrix @ slope[bend.vertices]).max() < 1e-12


@pytest.mark.parametrize("moved", [0.0, 0.25])
def test_bending_of_a_tube(moved: float) -> None:
    """Displacements cos 2θ outwards and −½ sin 2θ around stretch nothing, and bend by 3 cos 2θ/R².

    Rigid motion bends nothing.
    """
    around, rows, radius, length = 96, 24, 0.1, 0.15
    aside, up = moved * np.random.default_rng(0).uniform(-1.0, 1.0, (2, rows + 1, around))
    up[[0, -1]] = 0.0
    rank = np.arange(rows + 1)[:, None]
    turn = 2.0 * np.pi * (np.arange(around) + 0.5 * rank + aside) / around
    height = length / rows * (rank + up)
    out = np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=2).reshape(-1, 3)
    along = np.stack([-np.sin(turn), np.cos(turn), 0.0 * turn], axis=2).reshape(-1, 3)
    x = radius * out
    x[:, 2] = height.ravel()
    lower = np.arange(rows * around).reshape(rows, around)
    beside = np.roll(lower, -1, axis=1)
    faces = np.stack([[lower, beside, lower + around], [beside, beside + around, lower + around]])
    bends = bending(x, faces.transpose(0, 2, 3, 1).reshape(-1, 3), 1e-3, 0.0)
    assert not any(bend.flat for bend in bends)

    def energy(moved: Array) -> float:
        total = 0.0
        for bend in bends:
            # Into the axes of the triangle, whose second and third one give its plane.
            corners = bend.vertices
            turned = np.linalg.lstsq(x[corners] - x[corners].mean(axis=0), bend.rest, rcond=None)[0]
            u = (moved[corners] @ turned).ravel()
            total += 0.5 * float(u @ bend.stiffness @ u)
        return total

    double = 2.0 * turn.reshape(-1, 1)
    found = energy(np.cos(double) * out - 0.5 * np.sin(double) * along)
    exact = 0.5 * 1e-3 * length * np.pi * radius * 9.0 / radius**4
    assert found == pytest.approx(exact, rel=5e-3)
    for axis in np.eye(3):
        assert energy(np.broadcast_to(axis, x.shape)) < 1e-10 * exact
        assert energy(np.cross(axis, x) / radius) < 1e-10 * exact


def test_a_strip_on_edge_buckles_under_its_weight() -> None:
    """At 12.85 √(EI GJ)/L³, found by how fast a deflection grows in steps without inertia.

    That is of a narrow one; this one is a sixtieth as wide as long.
    """
    cells, ratio, young, thickness = 4, 60, 1e7, 5e-4
    width, spacing = 1.0 / ratio, 1.0 / ratio / cells
    model = compile_soft(
        f"<flexcomp name='strip' type='grid' dim='2' count='{ratio * cells + 2} {cells + 1} 1'"
        f" spacing='{spacing} {spacing} {spacing}' mass='.01' radius='2e-4' euler='90 0 0'>"
        f"<pin gridrange='0 0 1 {cells}'/><elasticity young='{young}' poisson='0'"
        f" thickness='{thickness}' elastic2d='both'/>"
        "<contact selfcollide='none' contype='0' conaffinity='0'/></flexcomp>",
        gravity=0.0,
    )
    x = positions(model, mujoco.MjData(model))
    area = np.zeros(len(x))
    faces = flex_elements(model, 0)
    np.add.at(area, faces, triangles(x, faces)[0][:, None] / 3.0)
    dofs = vertex_dofs(model)
    load = area[dofs >= 0] / width
    # Two rows of vertices are held: what bends begins half a cell outside.
    length = 1.0 + 0.5 * spacing
    bends, twists = (young * thickness**3 * width / part for part in (12.0, 6.0))
    critical = 12.85 * np.sqrt(bends * twists) / length**3
    rates = []
    shares = (0.96, 1.04)
    for share in shares:
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e4))
        sim.data.qfrc_applied[dofs[dofs >= 0] + 2] = -share * critical * load
        sim.data.qfrc_applied[dofs[dofs >= 0] + 1] = 1e-6 * critical * load
        aside = []
        for time in (2e6, 3e6, 4e6):
            sim.advance_to(time)
            aside.append(positions(model, sim.data)[np.argmax(x[:, 0]), 1])
        rates.append(np.log((aside[2] - aside[1]) / (aside[1] - aside[0])))
    assert rates[0] < 0.0 < rates[1]
    found = np.interp(0.0, rates, np.square(shares)) ** 0.5
    assert found == pytest.approx(1.0, rel=2e-2)


@pytest.mark.parametrize(
    ("integrator", "time"),
    [(asp.Icf(time_step=100.0), 500.0), (asp.Midas(time_step=1.0, tolerance=1e-8), 16.0)],
    ids=["icf", "midas"],
)
def test_a_quarter_arch_bends_by_its_load(integrator: asp.Integrator, time: float) -> None:
    """P R³/EI (π/4 − θ/2 − sin 2θ/4) down, by Castigliano; it is clamped up to θ."""
    rows = 25
    model = compile_soft(arch(rows), gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    rigidity = 1e7 * 1e-9 / 12.0 * 0.02
    load = 1e-3 * rigidity / 0.1**2
    sim.data.qfrc_applied[vertex_dofs(model)[-4:] + 2] = -load / 4.0
    sim.advance_to(time)
    # Two rows are held: what bends begins half a cell inside.
    clamped = 0.25 * np.pi / (rows - 1)
    share = np.pi / 4.0 - 0.5 * clamped - 0.25 * np.sin(2.0 * clamped)
    found = 0.1 - positions(model, sim.data)[-4:, 2].mean()
    assert found == pytest.approx(load * 0.1**3 / rigidity * share, rel=1e-2)


def test_hanging_cloth_is_stretched_by_its_weight() -> None:
    count, size, mass = 9, 0.4, 0.05
    stiffness = 20.0  # E t [N/m]
    text = cloth(
        size,
        count=count,
        young=stiffness / 1e-3,
        mass=mass,
        euler="90 0 0",
        kind="stretch",
        damping=0.05,
        pins=f"<pin gridrange='0 {count - 1} {count - 1} {count - 1}'/>",
    ).replace("poisson='0.3'", "poisson='0'")
    model = compile_soft(text)
    rest = positions(model, mujoco.MjData(model))
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=5e-3))
    sim.advance_to(3.0)
    found = positions(model, sim.data)
    heights = np.unique(rest[:, 2].round(9))
    weight = 9.81 * _masses(model)
    edge = size / (count - 1)
    forces = [weight[rest[:, 2] < z - 1e-6].sum() for z in heights[1:]]
    stretch = edge / (stiffness * size) * np.sum(forces)
    lowest = rest[:, 2] < heights[0] + 1e-6
    assert (rest - found)[lowest, 2].mean() == pytest.approx(stretch, rel=2e-2)


@pytest.mark.parametrize(
    "body",
    [cloth(count=6), _by_edges(count=6), arch(13, angle=4.7, held=False)],
    ids=("triangles", "edges", "curved"),
)
@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
def test_free_cloth_keeps_momentum(body: str, integrator: asp.Icf | asp.Cenic) -> None:
    model = compile_soft(body, gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    mass, x = _masses(model), positions(model, sim.data)
    centre = mass @ x / mass.sum()
    dofs = vertex_dofs(model)[:, None] + np.arange(3)
    sim.data.qvel[dofs] = np.cross([6.0, 2.0, 8.0], x - centre) + np.array([0.1, 0.2, 0.3])

    def now() -> tuple[Array, Array]:
        v = sim.data.qvel[dofs]
        turning = np.cross(positions(model, sim.data) - centre, v)
        return mass @ v, (mass[:, None] * turning).sum(axis=0)

    before = now()
    sim.advance_to(0.3)
    after = now()
    drift = 0.3 * np.cross(before[0] / mass.sum(), before[0])
    assert np.abs(after[0] - before[0]).max() < 1e-11
    assert np.linalg.norm(after[1] - before[1] - drift) < 2e-2 * np.linalg.norm(before[1])


@pytest.mark.parametrize("young", [1e5, 1e7])
def test_energy_does_not_grow_in_long_steps(young: float) -> None:
    """Of cloth that tumbles, at a coarse accuracy: steps turn it by a tenth of a radian."""
    model = compile_soft(cloth(0.4, count=8, young=young, mass=0.05), gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
    mass, x = _masses(model), positions(model, sim.data)
    dofs = vertex_dofs(model)[:, None] + np.arange(3)
    sim.data.qvel[dofs] = np.cross([6.0, 3.0, 8.0], x - mass @ x / mass.sum())

    def now() -> tuple[float, float]:
        v, x = sim.data.qvel[dofs], positions(model, sim.data)
        turning = (mass[:, None] * np.cross(x - mass @ x / mass.sum(), v)).sum(axis=0)
        return 0.5 * float(mass @ (v**2).sum(axis=1)), float(np.linalg.norm(turning))

    before = np.array(now())
    for time in np.arange(1, 9) / 4.0:
        sim.advance_to(float(time))
        energy, turning = np.array(now()) / before
        assert 0.95 < energy < 1.001
        assert 0.98 < turning < 1.001


@pytest.mark.parametrize("body", [cloth(0.1, count=5, height=0.01), _by_edges(count=5)])
@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
def test_cloth_rests_with_its_weight(body: str, integrator: asp.Icf | asp.Cenic) -> None:
    model = compile_soft(FLOOR + body.replace("0 0 0.5'", "0 0 0.01'"))
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.5)
    assert np.abs(sim.data.qvel).max() < 1e-4
    assert sim.contacts.normal_force.sum() == pytest.approx(0.02 * 9.81, rel=1e-3)
    assert positions(model, sim.data)[:, 2] == pytest.approx(1e-3, abs=1e-4)


@pytest.mark.parametrize(("slope", "sticks"), [(0.25, True), (0.4, False)])
def test_cloth_on_an_incline(slope: float, sticks: bool) -> None:
    friction = 0.3
    model = compile_soft(
        FLOOR.replace("/>", f" friction='{friction}'/>")
        + cloth(0.1, count=5, height=0.001, friction=friction)
    )
    model.opt.gravity[:] = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.advance_to(0.3)
    before = sim.data.qvel.reshape(-1, 3)[:, 0].mean()
    sim.advance_to(0.5)
    gained = sim.data.qvel.reshape(-1, 3)[:, 0].mean() - before
    if sticks:
        assert abs(before) < 1e-5
    else:
        expected = 9.81 * (np.sin(slope) - friction * np.cos(slope)) * 0.2
        assert gained == pytest.approx(expected, rel=2e-2)


def test_ball_between_vertices_rests_on_a_triangle() -> None:
    """Of a cloth that is held at its border; three vertices carry the ball."""
    pins = "".join(
        f"<pin gridrange='{row}'/>" for row in ("0 0 0 3", "3 0 3 3", "0 0 3 0", "0 3 3 3")
    )
    model = compile_soft(
        cloth(0.2, count=4, young=1e7, damping=0.02, pins=pins)
        + "<body pos='0.012 -0.012 0.512'><freejoint/><geom size='0.01' mass='0.02'/></body>"
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.advance_to(0.6)
    assert np.any(sim.contacts.elem >= 0)
    assert sim.contacts.force[:, 2].sum() == pytest.approx(-0.02 * 9.81, rel=5e-2)
    ball = sim.data.qpos[-7:-4]
    assert np.abs(ball[:2] - [0.012, -0.012]).max() < 0.02
    assert ball[2] > 0.49


def test_steps_do_not_depend_on_stiffness() -> None:
    """Of a ball of 0.5 kg that falls on a cloth which is held at its border, and stretches it."""
    pins = "".join(
        f"<pin gridrange='{row}'/>" for row in ("0 0 0 7", "7 0 7 7", "0 0 7 0", "0 7 7 7")
    )
    ball = "<body pos='0 0 0.58'><freejoint/><geom size='0.04' mass='0.5'/></body>"
    counts = []
    for young in (1e6, 1e7, 1e8):
        model = compile_soft(cloth(0.3, count=8, young=young, pins=pins) + ball)
        sim = asp.Simulator(model, integrator=asp.Cenic())
        sim.advance_to(0.3)
        assert sim.data.qpos[-5] > 0.4
        counts.append(sim.stats.steps)
    assert max(counts) <= 1.6 * min(counts)


@pytest.mark.parametrize("kind", ["bend", None])
def test_an_equality_keeps_edges(kind: str | None) -> None:
    """Of a cloth that swings, with and without bending."""
    inner = f"<elasticity young='3e4' poisson='0.3' thickness='1e-3' elastic2d='{kind}'/>"
    body = _by_edges(inner if kind else "", pins="<pin gridrange='0 0 0 7'/>")
    model = compile_soft(body)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.advance_to(0.2)
    ends = positions(model, sim.data)[model.flex_edge]
    stretch = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / model.flexedge_length0
    assert np.abs(stretch - 1.0).max() < 2e-3
    assert sim.data.flexvert_xpos[:, 2].min() < 0.4


def test_cloth_over_a_ball_hangs_as_in_midas() -> None:
    model = compile_soft(
        "<geom type='sphere' size='0.08' pos='0 0 0.08' friction='0.5'/>"
        + cloth(0.3, count=10, height=0.17)
    )
    heights = []
    for integrator in (asp.Icf(time_step=4e-3), asp.Midas(time_step=0.01)):
        sim = asp.Simulator(model, integrator=integrator)
        sim.advance_to(1.5)
        x = positions(model, sim.data)
        assert np.linalg.norm(x - [0.0, 0.0, 0.08], axis=1).min() > 0.08
        heights.append(x[:, 2].mean())
    assert heights[0] == pytest.approx(heights[1], abs=1e-2)


@pytest.mark.parametrize("dim", [2, 3])
def test_dampers_of_edges_are_those_of_mujoco(dim: int) -> None:
    """Of a flex that moves at random, beside the same one without them: accelerations of a step."""
    text = (
        f"<flexcomp name='f' type='grid' dim='{dim}' count='4 4 {1 if dim == 2 else 3}' mass='0.1'"
        " spacing='.05 .05 .05' radius='1e-3'>{}<elasticity young='1e3' poisson='.3'"
        + (" thickness='1e-3' elastic2d='stretch'" if dim == 2 else "")
        + "/><contact selfcollide='none'/></flexcomp>"
    )
    rng = np.random.default_rng(4)
    found = []
    for edge in ("<edge damping='.2'/>", ""):
        model = mujoco.MjModel.from_xml_string(
            f"<mujoco><option gravity='0 0 0'/><worldbody>{text.format(edge)}</worldbody></mujoco>"
        )
        if not found:
            moved = rng.normal(size=(2, model.nv)) * [[5e-3], [5.0]]
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-7))
        sim.data.qpos[:], sim.data.qvel[:] = moved
        sim.advance_to(1e-7)
        reference = mujoco.MjData(model)
        reference.qpos[:], reference.qvel[:] = moved
        mujoco.mj_forward(model, reference)
        mass = np.array(model.body_mass[model.dof_bodyid])
        found.append((mass * (sim.data.qvel - moved[1]) / 1e-7, reference.qfrc_passive.copy()))
    (ours, theirs), (ours_without, theirs_without) = found
    expected = theirs - theirs_without
    np.testing.assert_allclose(ours - ours_without, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.filterwarnings("ignore:.*passive contact is ignored")
@pytest.mark.parametrize("integrator", [asp.Icf(time_step=2e-3), asp.Cenic()], ids=("icf", "cenic"))
def test_cloth_of_passive_contact_lies_on_the_floor(integrator: asp.Integrator) -> None:
    """MuJoCo's own forces of such contact are not asked for: it would end the process."""
    inner = "<elasticity young='1e4' poisson='.3' thickness='1e-3' elastic2d='both'/>"
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><option integrator='discrete'/><worldbody>{FLOOR}<flexcomp name='f' type='grid'"
        " dim='2' count='4 4 1' mass='.1' spacing='.05 .05 .05' pos='0 0 .002' radius='1e-3'>"
        f"{inner}<contact passive='true'/></flexcomp></worldbody></mujoco>"
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.3)
    assert sim.data.flexvert_xpos[-1, 2] == pytest.approx(1e-3, abs=5e-5)
