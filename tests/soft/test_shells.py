"""Shells of cells: interpolated flexes whose faces alone resist."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from soft_models import Array, compile_soft, positions

import asperity as asp
from asperity.plant.model.cells import interpolation
from asperity.plant.model.elastic_constants import elastic_constants
from asperity.plant.model.shells import shell_faces, shell_membranes, shell_rigidity

YOUNG, POISSON, THICKNESS = 1e6, 0.3, 0.004
INTEGRATORS = [asp.Icf(time_step=0.002), asp.Cenic(), asp.Midas(verify=True)]


def _shell(
    cells: tuple[int, int, int],
    sides: tuple[float, float, float],
    *,
    dof: str = "trilinear",
    elastic2d: str = "both",
    count: tuple[int, int, int] = (2, 2, 2),
    more: str = "",
    place: str = "0 0 0",
    touches: int = 1,
    damping: float = 0.0,
) -> str:
    spacing = " ".join(f"{side / (many - 1):.12g}" for side, many in zip(sides, count, strict=True))
    return (
        f"<flexcomp name='f' type='grid' dim='3' count='{' '.join(map(str, count))}' mass='0.5'"
        f" spacing='{spacing}' pos='{place}' cellcount='{' '.join(map(str, cells))}' dof='{dof}'"
        f" radius='.001'>{more}<elasticity young='{YOUNG}' poisson='{POISSON}'"
        f" damping='{damping}' elastic2d='{elastic2d}' thickness='{THICKNESS}'/>"
        f"<contact selfcollide='none' contype='{touches}' conaffinity='{touches}'/></flexcomp>"
    )


def _dofs(model: mujoco.MjModel) -> Array:
    """Of nodes; −1 of those that do not move."""
    bodies = model.flex_nodebodyid
    return np.where(model.body_dofnum[bodies] == 3, model.body_dofadr[bodies], -1)


def _deflected(model: mujoco.MjModel, force: Array, integrator: asp.Integrator) -> Array:
    """Displacements of nodes at rest under forces [m]."""
    sim = asp.Simulator(model, integrator=integrator)
    moved = np.zeros((model.nflexnode, 3))
    for dof, own in zip(_dofs(model), force, strict=True):
        if dof >= 0:
            sim.data.qfrc_applied[dof : dof + 3] = own
    sim.advance_to(1000.0)
    for node, dof in enumerate(_dofs(model)):
        if dof >= 0:
            moved[node] = sim.data.qpos[dof : dof + 3]
    return moved


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
def test_vertices_inside_are_where_mujoco_has_them(dof: str) -> None:
    cells = (3, 2, 4) if dof == "trilinear" else (2, 1, 2)
    model = compile_soft(_shell(cells, (0.3, 0.2, 0.4), dof=dof, count=(5, 4, 6)))
    data = mujoco.MjData(model)
    data.qpos[:] = 0.01 * np.random.default_rng(0).normal(size=model.nq)
    found = positions(model, data)
    mujoco.mj_kinematics(model, data)
    nodes, weights = interpolation(model, 0)
    expected = np.einsum("nk,nki->ni", weights, data.xpos[model.flex_nodebodyid][nodes])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    still = np.flatnonzero(_dofs(model) < 0)
    assert len(still)
    assert not weights[:, still].any()


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
def test_constants_are_those_of_the_shell(dof: str) -> None:
    """Plane stress, and E t³/12(1 − ν²); MuJoCo's faces of order 2 are these, in their axes."""
    model = compile_soft(_shell((2, 3, 1), (0.3, 0.2, 0.07), dof=dof))
    lame = elastic_constants(model)[0]
    stretching = YOUNG * THICKNESS
    expected = stretching * POISSON / (1.0 - POISSON**2), stretching / (2.0 + 2.0 * POISSON)
    np.testing.assert_allclose(lame, expected, rtol=1e-9)
    rigidity = stretching * THICKNESS**2 / 12.0 / (1.0 - POISSON**2)
    assert shell_rigidity(model, 0) == pytest.approx(rigidity, rel=1e-9)
    if dof == "trilinear":
        return
    own = -model.flex_stiffness.reshape(-1, 9, 3, 9, 3)
    faces = shell_membranes(model, 0, lame)
    for one, axes, theirs in zip(faces, shell_faces(model, 0)[1], own, strict=True):
        turned = theirs[:, axes][..., axes].reshape(27, 27)
        np.testing.assert_allclose(one.stiffness, turned, atol=1e-9 * np.abs(turned).max())


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=100.0), asp.Midas(time_step=100.0)],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize(
    ("dof", "cells", "expected"), [("trilinear", 10, 0.991), ("quadratic", 5, 0.9955)]
)
def test_a_hollow_beam_bends_as_one(
    integrator: asp.Integrator, dof: str, cells: int, expected: float
) -> None:
    """F L³/3EI + F L/(G A) of a square tube and its webs; faces of MuJoCo have 0.888 of it."""
    pins = " ".join(map(str, range(4 if dof == "trilinear" else 9)))
    tube = _shell((cells, 1, 1), (1.0, 0.1, 0.1), dof=dof, more=f"<pin id='{pins}'/>", touches=0)
    model = compile_soft(f"<body name='wall'>{tube}</body>", gravity=0.0)
    tip = np.flatnonzero((model.flex_node0[:, 0] > 0.5 - 1e-9) & (_dofs(model) >= 0))
    force = np.zeros((model.nflexnode, 3))
    force[tip, 2] = 1e-3 / len(tip)
    outer, inner = 0.1 + THICKNESS, 0.1 - THICKNESS
    moment, webs = (outer**4 - inner**4) / 12.0, 2.0 * 0.1 * THICKNESS
    theory = 1e-3 * (1.0 / (3.0 * YOUNG * moment) + 2.6 / (YOUNG * webs))
    found = _deflected(model, force, integrator)[tip, 2].mean()
    assert found / theory == pytest.approx(expected, rel=2e-3)


def _middle(integrator: asp.Integrator, cells: int, elastic2d: str, more: str) -> float:
    """Deflection of the top of a flat box, clamped all around, over 0.00126532 q a⁴/D."""
    along = cells + 1
    number = np.arange(2 * along**2).reshape(along, along, 2)
    free = number[1:-1, 1:-1, 1].ravel()
    pins = " ".join(map(str, np.setdiff1d(number.ravel(), free)))
    plate = _shell(
        (cells, cells, 1),
        (1.0, 1.0, 0.005),
        elastic2d=elastic2d,
        more=f"<pin id='{pins}'/>{more}",
        touches=0,
    )
    model = compile_soft(f"<body name='wall'>{plate}</body>", gravity=0.0)
    force = np.zeros((model.nflexnode, 3))
    force[free, 2] = 1e-7 / cells**2
    rigidity = YOUNG * THICKNESS**3 / 12.0 / (1.0 - POISSON**2)
    moved = _deflected(model, force, integrator)[number[cells // 2, cells // 2, 1], 2]
    return float(moved / (0.00126532 * 1e-7 / rigidity))


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=100.0), asp.Midas(time_step=100.0)],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize(
    ("elastic2d", "more"), [("both", ""), ("bend", "<edge equality='strain'/>")]
)
def test_a_face_bends_as_a_plate(integrator: asp.Integrator, elastic2d: str, more: str) -> None:
    """Those that an equality keeps from stretching, too: MuJoCo's are 1.6 to 2 times as soft."""
    coarse, fine = (_middle(integrator, cells, elastic2d, more) - 1.0 for cells in (8, 16))
    assert 0.0 < fine < min(0.4 * coarse, 0.07)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    ("dof", "elastic2d", "more"),
    [
        ("trilinear", "both", ""),
        ("trilinear", "bend", "<edge equality='strain'/>"),
        ("quadratic", "both", ""),
    ],
)
def test_the_floor_bears_a_shell(
    integrator: asp.Integrator, dof: str, elastic2d: str, more: str
) -> None:
    cells = (3, 3, 3) if dof == "trilinear" else (1, 1, 2)
    model = compile_soft(
        "<geom type='plane' size='1 1 1'/>"
        + _shell(
            cells,
            (0.06, 0.06, 0.06),
            dof=dof,
            elastic2d=elastic2d,
            count=(4, 4, 4),
            more=more,
            place="0 0 0.035",
            damping=0.01,
        )
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.5)
    assert np.abs(sim.data.qvel).max() < 1e-3
    borne = abs(sum(one.force[2] for one in sim.contacts))
    assert borne == pytest.approx(0.5 * 9.81, rel=1e-3)


@pytest.mark.parametrize(
    ("elastic2d", "more", "lost"),
    [("both", "", 2e-4), ("bend", "<edge equality='strain'/>", 4e-3)],
)
def test_a_free_shell_keeps_its_momentum(elastic2d: str, more: str, lost: float) -> None:
    """It turns at 10 rad/s for a second, in steps of 1 ms, and falls."""
    sides = (0.06, 0.03, 0.09)
    shell = _shell((2, 1, 3), sides, elastic2d=elastic2d, more=more)
    model = compile_soft(f"<geom type='plane' size='1 1 1' pos='0 0 -9'/>{shell}")
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    bodies = model.flex_nodebodyid[_dofs(model) >= 0]
    mass = model.body_mass[bodies]

    def spin() -> tuple[Array, Array]:
        x, v = np.array(sim.data.xpos[bodies]), sim.data.qvel.reshape(-1, 3)
        centre = mass @ x / mass.sum()
        return centre, np.asarray(mass @ np.cross(x - centre, v))

    centre, _ = spin()
    sim.data.qvel[:] = np.cross([3.0, 8.0, 5.2], sim.data.xpos[bodies] - centre).ravel()
    _, before = spin()
    sim.advance_to(1.0)
    now, after = spin()
    assert np.linalg.norm(after - before) < lost * np.linalg.norm(before)
    # Steps of implicit Euler fall by ½ g t (t + h).
    assert (now - centre)[2] == pytest.approx(-0.5 * 9.81 * 1.001, rel=1e-9)


@pytest.mark.parametrize("elastic2d", ["none", "both"])
def test_an_element_between_several_cells_couples_their_nodes(elastic2d: str) -> None:
    """A ball is held over a face, on elements whose nodes share no cell."""
    model = compile_soft(
        "<geom type='plane' size='1 1 1'/><body pos='.013 .006 .071'>"
        "<joint type='slide' axis='0 0 1'/><geom type='sphere' size='.01' mass='.02'/></body>"
        + _shell(
            (3, 3, 3),
            (0.06, 0.06, 0.06),
            elastic2d=elastic2d,
            count=(3, 3, 3),
            place="0 0 0.031",
            damping=0.01,
        )
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.002))
    sim.advance_to(0.5)
    borne = sum(abs(one.force[2]) for one in sim.contacts)
    assert borne == pytest.approx((0.52 + 0.02) * 9.81, rel=1e-2)
