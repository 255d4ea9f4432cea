"""Volumes in contact with each other and with cloth: vertices on faces, and edges that cross."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from soft_models import compile_soft, positions

import asperity as asp

BOTH = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3))
NAMES = ("icf", "cenic")
FLOOR = "<geom type='plane' size='1 1 .1' friction='.8'/>"
RADIUS = 5e-4


def _volume(
    name: str,
    count: tuple[int, int, int],
    size: tuple[float, float, float],
    at: tuple[float, float, float],
    *,
    mass: float,
    young: float = 1e5,
    damping: float = 0.002,
    friction: float = 0.8,
    inner: str = "",
) -> str:
    spacing = " ".join(str(length / (n - 1)) for length, n in zip(size, count, strict=True))
    return (
        f"<flexcomp name='{name}' type='grid' dim='3' count='{' '.join(map(str, count))}'"
        f" spacing='{spacing}' pos='{' '.join(map(str, at))}' radius='{RADIUS}' mass='{mass}'>"
        f"{inner}<elasticity young='{young}' poisson='.3' damping='{damping}'/>"
        f"<contact selfcollide='none' friction='{friction}'/></flexcomp>"
    )


def _velocities(model: mujoco.MjModel, data: mujoco.MjData, flex: int) -> np.ndarray:
    first = model.flex_vertadr[flex]
    bodies = model.flex_vertbodyid[first : first + model.flex_vertnum[flex]]
    return np.asarray(data.qvel[model.body_dofadr[bodies][:, None] + np.arange(3)])


def _support(sim: asp.Simulator) -> float:
    """Vertical force between flexes [N]."""
    contacts = sim.contacts
    upper = np.where(contacts.flex[:, 1] == 1, 1.0, -1.0)
    between = np.all(contacts.flex >= 0, axis=1)
    return float((upper * contacts.force[:, 2])[between].sum())


def _fastest(sim: asp.Simulator, start: float, end: float) -> float:
    fastest = 0.0
    for time in np.linspace(start, end, 11):
        sim.advance_to(float(time))
        fastest = max(fastest, float(np.abs(sim.data.qvel).max()))
    return fastest


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
@pytest.mark.parametrize(
    ("lower", "upper"),
    [((3, 3, 3), (3, 3, 3)), ((2, 2, 2), (5, 5, 5)), ((5, 5, 3), (2, 2, 2))],
    ids=("alike", "fine on coarse", "coarse on fine"),
)
def test_a_cube_on_a_cube_comes_to_rest(
    integrator: asp.Icf | asp.Cenic, lower: tuple[int, int, int], upper: tuple[int, int, int]
) -> None:
    body = _volume("low", lower, (0.06, 0.06, 0.04), (0, 0, 0.0215), mass=0.1)
    body += _volume("up", upper, (0.04, 0.04, 0.04), (0.003, 0.002, 0.0635), mass=0.1)
    sim = asp.Simulator(compile_soft(FLOOR + body), integrator=integrator)
    assert _fastest(sim, 1.0, 1.2) < 2e-4
    assert _support(sim) == pytest.approx(0.1 * 9.81, rel=1e-3)


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
def test_bars_cross_between_their_vertices(integrator: asp.Icf | asp.Cenic) -> None:
    """Their edges touch, which no vertex is near to."""
    size = (0.3, 0.04, 0.04)
    body = _volume("low", (3, 2, 2), size, (0, 0, 0.021), mass=0.3, young=5e5)
    upper = _volume("up", (3, 2, 2), size, (0.03, 0, 0.0625), mass=0.3, young=5e5)
    body += upper.replace("<flexcomp", "<flexcomp euler='0 0 90'")
    model = compile_soft(FLOOR + body)
    sim = asp.Simulator(model, integrator=integrator)
    assert _fastest(sim, 1.0, 1.2) < 1e-3
    assert _support(sim) == pytest.approx(0.3 * 9.81, rel=1e-2)
    assert np.all(sim.contacts.vert[np.all(sim.contacts.flex >= 0, axis=1)] == -1)


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
def test_cloth_hangs_over_the_edges_of_a_coarse_block(integrator: asp.Icf | asp.Cenic) -> None:
    """Both cross between vertices: no point of its faces is within the block."""
    cloth = (
        "<flexcomp name='cloth' type='grid' dim='2' count='7 7 1' spacing='.04 .04 .01'"
        " pos='.01 .005 .065' radius='1e-3' mass='.05'><elasticity young='1e5' poisson='0'"
        " thickness='1e-3' elastic2d='both' damping='.01'/>"
        "<contact selfcollide='none' friction='.5'/></flexcomp>"
    )
    block = _volume("block", (2, 2, 2), (0.1, 0.1, 0.06), (0, 0, 0.0305), mass=0.5)
    model = compile_soft(FLOOR + block + cloth)
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.5)
    x = positions(model, sim.data)
    triangles = x[8 + model.flex_elem[model.flex_elemdataadr[1] :].reshape(-1, 3)]
    shares = np.array([[i, j, 8 - i - j] for i in range(9) for j in range(9 - i)]) / 8.0
    points = np.einsum("sk,tki->tsi", shares, triangles).reshape(-1, 3)
    low, high = x[:8].min(axis=0) + 1e-3, x[:8].max(axis=0) - 1e-3
    assert not np.any(np.all((points > low) & (points < high), axis=1))
    assert x[8:, 2].max() > 0.058


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
@pytest.mark.parametrize("slope", [0.28, 0.35])
def test_a_cube_on_an_inclined_slab_sticks_or_slides(
    integrator: asp.Icf | asp.Cenic, slope: float
) -> None:
    friction = 0.3
    pins = "<pin gridrange='0 0 0 12 4 0'/>"
    slab = _volume(
        "low", (13, 5, 3), (0.6, 0.1, 0.04), (0.15, 0, 0.02), mass=2, young=1e6, inner=pins
    )
    cube = _volume("up", (2, 2, 2), (0.05, 0.05, 0.05), (0.003, 0.002, 0.0662), mass=0.1, young=1e6)
    model = compile_soft(slab + cube)
    model.flex_friction[:, 0] = friction
    angle = np.arctan(slope)
    model.opt.gravity[:] = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.3)
    before = _velocities(model, sim.data, 1)[:, 0].mean()
    sim.advance_to(0.5)
    gained = _velocities(model, sim.data, 1)[:, 0].mean() - before
    if slope < friction:
        assert abs(before) < 2e-5
    expected = 9.81 * max(np.sin(angle) - friction * np.cos(angle), 0.0) * 0.2
    assert gained == pytest.approx(expected, rel=2e-2, abs=1e-5)


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
def test_bars_that_collide_keep_angular_momentum(integrator: asp.Icf | asp.Cenic) -> None:
    """Without friction forces are along the normals, on which both points lie."""
    size = (0.25, 0.05, 0.05)
    body = _volume("a", (6, 2, 2), size, (-0.13, 0, 0), mass=0.5, damping=0.0, friction=0.0)
    body += _volume("b", (6, 2, 2), size, (0.13, 0.004, 0.003), mass=0.5, damping=0.0, friction=0.0)
    model = compile_soft(body, gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[:72:3] = 1.0
    sim.advance_to(0.15)
    x = positions(model, sim.data)
    v = np.vstack([_velocities(model, sim.data, flex) for flex in range(2)])
    assert v[24:, 0].mean() > 0.7
    assert v.mean(axis=0) == pytest.approx([0.5, 0.0, 0.0], abs=1e-9)
    assert 0.5 / 24 * np.cross(x, v).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-5)
