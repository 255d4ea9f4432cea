"""Deformable bodies at rest: stretched, bent a little and bent far."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_bvp
from soft_models import Array, beam, compile_soft, positions, vertex_dofs

import asperity as asp
from asperity.soft.elements import elasticity, group_tetrahedra, hexahedron, tetrahedron

YOUNG = 1e6


def _settled(model: mujoco.MjModel, force: Array, step: float, steps: int) -> Array:
    """Positions under forces on the vertices; long implicit steps lead to rest."""
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=step))
    dofs = vertex_dofs(model)
    free = dofs >= 0
    sim.data.qfrc_applied[dofs[free, None] + np.arange(3)] = force[free]
    sim.advance_to(steps * step)
    return positions(model, sim.data)


@pytest.mark.parametrize(
    ("cells", "poisson", "expected"),
    [(1, 0.0, 0.997), (1, 0.3, 0.985), (1, 0.45, 0.962), (2, 0.3, 0.987)],
)
def test_cantilever_bends_as_a_beam(cells: int, poisson: float, expected: float) -> None:
    """Tip deflection F L³/3EI + F L/(5/6 G A), of which elements with one strain have a quarter."""
    model = beam(cells, young=YOUNG, poisson=poisson)
    rest = positions(model, mujoco.MjData(model))
    tip = np.flatnonzero(rest[:, 0] > 1.0 - 1e-6)
    force = np.zeros_like(rest)
    force[tip, 2] = 1e-3 / len(tip)
    found = (_settled(model, force, 100.0, 5) - rest)[tip, 2].mean()
    second = 0.1**4 / 12.0
    shear = YOUNG / 2.0 / (1.0 + poisson)
    theory = 1e-3 * (1.0 / (3.0 * YOUNG * second) + 1.0 / (5.0 / 6.0 * shear * 0.01))
    assert found / theory == pytest.approx(expected, rel=5e-3)


def _elastica(load: float) -> float:
    """Tip deflection over length of a cantilever under its weight, θ'' = −Γ (1 − s) cos θ."""

    def slope(s: Array, y: Array) -> Array:
        return np.array([y[1], -load * (1.0 - s) * np.cos(y[0]), np.sin(y[0])])

    def ends(a: Array, b: Array) -> Array:
        return np.array([a[0], b[1], a[2]])

    s = np.linspace(0.0, 1.0, 50)
    solution = solve_bvp(slope, ends, s, np.zeros((3, 50)), tol=1e-8)
    return float(abs(solution.y[2, -1]))


@pytest.mark.parametrize("load", [1.0, 10.0])
def test_large_bending_is_that_of_the_elastica(load: float) -> None:
    model = beam(1, young=YOUNG, poisson=0.0)
    rest = positions(model, mujoco.MjData(model))
    # Weight of volumes, not of vertices with equal masses: those at the end have half.
    share = np.where(rest[:, 0] > 1.0 - 1e-6, 0.5, 1.0) * (rest[:, 0] > 1e-6)
    weight = load * YOUNG * 0.1**4 / 12.0
    force = np.zeros_like(rest)
    force[:, 2] = -weight * share / (4.0 * 10.0)
    found = _settled(model, force, 1.0, 60)
    drop = -found[rest[:, 0] > 1.0 - 1e-6, 2].mean()
    assert drop == pytest.approx(_elastica(load), rel=1.5e-2)


def test_hanging_bar_is_stretched_by_its_weight() -> None:
    model = compile_soft(
        "<flexcomp name='bar' type='grid' dim='3' count='2 2 11' spacing='0.1 0.1 0.1'"
        " pos='0 0 1' mass='2' radius='0.001'><pin gridrange='0 0 10 1 1 10'/>"
        f"<elasticity young='{YOUNG}' poisson='0'/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp>"
    )
    rest = positions(model, mujoco.MjData(model))
    found = _settled(model, np.zeros_like(rest), 10.0, 5)
    mass = np.where(vertex_dofs(model) >= 0, model.body_mass[model.flex_vertbodyid], 0.0)
    heights = np.unique(rest[:, 2].round(9))
    below = [mass[rest[:, 2] < z - 1e-6].sum() for z in heights[1:]]
    stretch = 9.81 * 0.1 / (YOUNG * 0.01) * np.sum(below)
    bottom = rest[:, 2] < heights[0] + 1e-6
    assert (rest - found)[bottom, 2].mean() == pytest.approx(stretch, rel=1e-5)


def test_cells_and_tetrahedra_keep_linear_displacements() -> None:
    """The patch test: forces of a linear displacement are zero inside."""
    rng = np.random.default_rng(1)
    model = compile_soft(
        "<flexcomp name='c' type='grid' dim='3' count='4 4 4' spacing='0.1 0.07 0.05' mass='1'>"
        "<elasticity young='1e5' poisson='0.3'/></flexcomp>"
    )
    rest = positions(model, mujoco.MjData(model))
    tetrahedra = model.flex_elem.reshape(-1, 4).astype(np.int64)
    matrix = elasticity(2e5, 1e5)
    cells, left = group_tetrahedra(rest, tetrahedra)
    assert len(cells) == 27
    assert len(left) == 0
    inside = np.all((rest > rest.min(axis=0) + 1e-6) & (rest < rest.max(axis=0) - 1e-6), axis=1)
    bent = rest + np.where(inside[:, None], rng.uniform(-0.01, 0.01, rest.shape), 0.0)
    assert len(group_tetrahedra(bent, tetrahedra)[0]) == 0
    change = rng.normal(size=(3, 3))
    for elements, at in (
        ([hexahedron(cell, rest[list(cell)], matrix) for cell in cells], rest),
        ([tetrahedron(tuple(t), bent[t], matrix) for t in tetrahedra.tolist()], bent),
    ):
        force = np.zeros_like(at)
        for one in elements:
            vertices = list(one.vertices)
            force[vertices] += (one.stiffness @ (at[vertices] @ change).ravel()).reshape(-1, 3)
        largest = np.abs(force).max()
        assert largest > 0.0
        assert np.abs(force[inside]).max() < 1e-10 * largest


def test_constants_are_found_of_every_material() -> None:
    for young, poisson in ((7e4, 0.0), (1e5, 0.3), (2.5e6, 0.45)):
        model = beam(1, young=young, poisson=poisson)
        rest = positions(model, mujoco.MjData(model))
        tip = rest[:, 0] > 1.0 - 1e-6
        force = np.zeros_like(rest)
        # Stretched by one in a thousand; where it is clamped it cannot get thinner.
        force[tip, 0] = 1e-3 * young * 0.01 / 4.0
        change = _settled(model, force, 100.0, 5) - rest
        far = (rest[:, 0] > 0.5) & (rest[:, 0] < 0.8)
        strain = np.polyfit(rest[far, 0], change[far, 0], 1)[0]
        assert strain == pytest.approx(1e-3, rel=5e-3)
        across = np.polyfit(rest[far, 1], change[far, 1], 1)[0]
        assert across == pytest.approx(-poisson * 1e-3, abs=1e-5)
