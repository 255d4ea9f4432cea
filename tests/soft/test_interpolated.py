"""Flexes whose vertices are interpolated between nodes."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest
from soft_models import Array, compile_soft, positions

import asperity as asp
from asperity.plant.model.cells import cell_edges, filled_cells, interpolation
from asperity.plant.model.elastic_constants import elastic_constants
from asperity.soft.cells import cell, cell_stiffness, mean_gradient, mean_moduli
from asperity.soft.elements import elasticity

YOUNG, POISSON = 1e5, 0.3
LAME = (YOUNG * POISSON / (1.3 * 0.4), YOUNG / 2.6)


def _cube(
    dof: str, *, cells: int = 1, height: float = 0.06, poisson: float = POISSON
) -> mujoco.MjModel:
    return compile_soft(
        "<geom type='plane' size='1 1 1'/>"
        f"<flexcomp name='f' type='grid' dim='3' count='5 5 5' spacing='.015 .015 .015' mass='0.5'"
        f" pos='0 0 {height}' radius='.001' dof='{dof}' cellcount='{cells} {cells} {cells}'>"
        f"<elasticity young='{YOUNG}' poisson='{poisson}' damping='0.01'/>"
        "<contact selfcollide='none'/></flexcomp>"
    )


def _beam(dof: str, cells: int) -> mujoco.MjModel:
    """A beam along x from 0 to 1 m, with a side of 0.1 m, whose nodes at x = 0 are fixed."""
    order = 1 if dof == "trilinear" else 2
    ends = " ".join(map(str, range((order + 1) ** 2)))
    return compile_soft(
        "<body name='wall'><flexcomp name='beam' type='grid' dim='3' count='11 2 2' pos='0.5 0 0'"
        f" spacing='.1 .1 .1' radius='0.001' mass='1' dof='{dof}' cellcount='{cells} 1 1'>"
        f"<pin id='{ends}'/><elasticity young='{YOUNG}' poisson='{POISSON}'/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp></body>",
        gravity=0.0,
    )


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=100.0), asp.Midas(time_step=100.0)],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize(
    ("dof", "cells", "expected"), [("trilinear", 10, 0.983), ("quadratic", 5, 0.975)]
)
def test_cantilever_bends_as_a_beam(
    integrator: asp.Integrator, dof: str, cells: int, expected: float
) -> None:
    """Tip deflection F L³/3EI + F L/(5/6 G A); cells with linear shapes alone have 0.68 of it."""
    model = _beam(dof, cells)
    sim = asp.Simulator(model, integrator=integrator)
    rest = positions(model, mujoco.MjData(model))
    tip = np.flatnonzero(rest[:, 0] > 1.0 - 1e-6)
    nodes, weights = interpolation(model, 0)
    force = np.zeros((model.nflexnode, 3))
    for vertex in tip:
        force[nodes[vertex], 2] += weights[vertex] * 1e-4 / len(tip)
    bodies = model.flex_nodebodyid
    for body, own in zip(bodies, force, strict=True):
        if model.body_dofnum[body] == 3:
            first = int(model.body_dofadr[body])
            sim.data.qfrc_applied[first : first + 3] = own
    sim.advance_to(500.0)
    found = (positions(model, sim.data) - rest)[tip, 2].mean()
    theory = 1e-4 * (4.0 / (YOUNG * 1e-4) + 2.0 * (1.0 + POISSON) / (5.0 / 6.0 * YOUNG * 0.01))
    assert found / theory == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize(("dof", "cells"), [("trilinear", 1), ("trilinear", 3), ("quadratic", 2)])
def test_vertices_are_where_mujoco_has_them(dof: str, cells: int) -> None:
    model = _cube(dof, cells=cells)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.01 * np.random.default_rng(0).normal(size=model.nq)
    found = positions(model, data)
    mujoco.mj_kinematics(model, data)
    nodes, weights = interpolation(model, 0)
    expected = np.einsum("nk,nki->ni", weights, data.xpos[model.flex_nodebodyid][nodes])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=0.002), asp.Cenic(), asp.Midas(verify=True)],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize(("dof", "cells"), [("trilinear", 1), ("trilinear", 3), ("quadratic", 1)])
def test_the_floor_bears_the_weight(integrator: asp.Integrator, dof: str, cells: int) -> None:
    """A bar becomes m g L/(2 E A) shorter under its own weight, which masses of nodes keep exact.

    But for the depth of its 25 contacts, which are ten times as stiff as an edge's square.
    """
    model = _cube(dof, cells=cells, poisson=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.5)
    assert np.abs(sim.data.qvel).max() < 1e-4
    borne = abs(sum(one.force[2] for one in sim.contacts))
    assert borne == pytest.approx(0.5 * 9.81, rel=1e-4)
    shorter = 0.06 - np.ptp(positions(model, sim.data)[:, 2])
    depth = 0.5 * 9.81 / (25.0 * 10.0 * YOUNG * 0.015)
    assert shorter == pytest.approx(0.5 * 9.81 * 0.06 / (2.0 * YOUNG * 0.06**2), abs=depth)


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
def test_a_free_cube_keeps_its_momentum(dof: str) -> None:
    """It turns at 10 rad/s for a second, in steps of 1 ms, and falls."""
    model = _cube(dof, height=10.0)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    mass = model.body_mass[model.flex_nodebodyid]
    data = mujoco.MjData(model)

    def nodes() -> Array:
        data.qpos[:] = sim.data.qpos
        mujoco.mj_kinematics(model, data)
        return np.array(data.xpos[model.flex_nodebodyid])

    def spin(x: Array) -> Array:
        v = sim.data.qvel.reshape(-1, 3)
        centre = mass @ x / mass.sum()
        return np.asarray(mass @ np.cross(x - centre, v))

    x = nodes()
    centre = mass @ x / mass.sum()
    axis = np.array([3.0, 8.0, 5.2])
    sim.data.qvel[:] = np.cross(axis, x - centre).ravel()
    before = spin(x)
    sim.advance_to(1.0)
    after = nodes()
    assert np.linalg.norm(spin(after) - before) < 2e-3 * np.linalg.norm(before)
    fallen = (mass @ after / mass.sum() - centre)[2]
    # Steps of implicit Euler fall by ½ g t (t + h).
    assert fallen == pytest.approx(-0.5 * 9.81 * 1.001, rel=1e-9)


def test_cells_keep_linear_displacements() -> None:
    """Of both orders: no force on what turns, and the mean strain and its energy of a linear one."""
    rng = np.random.default_rng(2)
    edges = np.diag([0.1, 0.07, 0.05])
    volume = float(np.prod(np.diag(edges)))
    for order in (1, 2):
        ticks = np.linspace(0.0, 1.0, order + 1)
        places = np.array(list(itertools.product(ticks, repeat=3))) @ edges
        stiffness = cell_stiffness(edges, order, elasticity(*LAME))
        turn = np.cross(rng.normal(size=3), places)
        assert np.abs(stiffness @ turn.ravel()).max() < 1e-12 * np.abs(stiffness).max()
        moduli = mean_moduli(edges, order, stiffness)
        np.testing.assert_allclose(moduli / volume, elasticity(*LAME), atol=1e-7 * YOUNG)
        slope = rng.normal(size=(3, 3))
        gradient = mean_gradient(edges, order, stiffness)
        np.testing.assert_allclose((places @ slope.T).T @ gradient, slope, atol=1e-12)
        found = cell(tuple(range(len(places))), places, edges, order, stiffness)
        np.testing.assert_allclose((places @ slope.T).T @ found.gradient, slope, atol=1e-12)


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
def test_constants_and_gradients_of_cells_that_are_filled_in_part(dof: str) -> None:
    """An ellipsoid in its box: MuJoCo integrates over its tetrahedra."""
    model = compile_soft(
        "<flexcomp name='f' type='ellipsoid' dim='3' count='8 8 8' spacing='.07 .07 .07' mass='5'"
        f" radius='.001' dof='{dof}'><elasticity young='{YOUNG}' poisson='{POISSON}'/>"
        "<contact selfcollide='none'/></flexcomp>"
    )
    np.testing.assert_allclose(elastic_constants(model)[0], LAME, rtol=1e-5)
    (nodes,), (stiffness,) = filled_cells(model, 0)
    order = int(model.flex_interp[0])
    edges = cell_edges(model.flex_node0[nodes])
    gradient = mean_gradient(edges, order, stiffness)
    slope = np.random.default_rng(3).normal(size=3)
    np.testing.assert_allclose(model.flex_node0[nodes] @ slope @ gradient, slope, atol=1e-10)
    # What is more than the energy of the mean strain is not negative.
    strain = np.zeros((6, 3 * len(gradient)))
    for row, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))):
        strain[row, i::3] += gradient[:, j]
        if i != j:
            strain[row, j::3] += gradient[:, i]
    more = stiffness - strain.T @ mean_moduli(edges, order, stiffness) @ strain
    values = np.linalg.eigvalsh(more)
    assert values.min() > -1e-9 * values.max()


@pytest.mark.parametrize(
    "integrator", [asp.Cenic(), asp.Midas(verify=True)], ids=lambda one: type(one).__name__
)
def test_pads_on_fingers_hold_a_box(integrator: asp.Integrator) -> None:
    """Nodes that fingers carry: what a pad presses with is the fingers' force."""
    pad = (
        "<body name='{0}' pos='{1} 0 0.1'><joint name='{0}' type='slide' axis='1 0 0'/>"
        "<geom type='box' size='.01 .03 .03' mass='0.2' contype='0' conaffinity='0'/>"
        "<flexcomp name='pad_{0}' type='grid' dim='3' count='3 4 4' spacing='.01 .02 .02'"
        " pos='{2} 0 0' mass='0.02' radius='.0005' dof='trilinear'><pin id='{3}'/>"
        f"<elasticity young='{YOUNG}' poisson='{POISSON}' damping='0.01'/>"
        "<contact selfcollide='none' friction='1'/></flexcomp></body>"
    )
    model = compile_soft(
        pad.format("left", -0.046, 0.02, "0 1 2 3")
        + pad.format("right", 0.046, -0.02, "4 5 6 7")
        + "<body name='box' pos='0 0 0.1'><freejoint/><geom type='box' size='.015 .015 .015'"
        " mass='0.1'/></body>",
        sections="<actuator><motor joint='left'/><motor joint='right'/></actuator>",
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.ctrl[:] = [4.0, -4.0]
    sim.advance_to(1.0)
    start = sim.data.body("box").xpos.copy()
    pressed = [abs(one.normal_force) for one in sim.contacts]
    assert sum(pressed) == pytest.approx(8.0, rel=1e-2)
    sim.advance_to(3.0)
    assert np.linalg.norm(sim.data.body("box").xpos - start) < 1e-4


def test_surfaces_around_cells_are_no_cloth() -> None:
    """A mesh of triangles in a box of cells: it falls as a volume, and needs no edges."""
    ticks = np.linspace(-0.03, 0.03, 4)
    model = compile_soft(
        "<geom type='plane' size='1 1 1'/><flexcomp name='f' type='box' dim='2' count='4 4 4'"
        f" spacing='{ticks[1] - ticks[0]} .02 .02' pos='0 0 .04' mass='0.1' radius='.001'"
        f" dof='trilinear'><elasticity young='{YOUNG}' poisson='0.3' elastic2d='none'"
        " damping='0.01'/><contact selfcollide='none'/></flexcomp>"
    )
    sim = asp.Simulator(model, integrator=asp.Cenic())
    sim.advance_to(1.0)
    assert sum(one.force[2] for one in sim.contacts) == pytest.approx(0.1 * 9.81, rel=1e-3)


def _slabs(gap: float) -> str:
    """Two of 1014 tetrahedra, one over the other."""
    return "".join(
        f"<flexcomp name='{name}' type='grid' dim='3' count='14 14 2' spacing='.01 .01 .01'"
        f" pos='0 0 {height}' radius='.001' mass='.5' dof='trilinear'>"
        "<elasticity young='1e5' damping='.01'/><contact selfcollide='none'/></flexcomp>"
        for name, height in (("low", 0.0065), ("high", 0.0185 + gap))
    )


def test_midas_parts_bodies_beside_flexes_of_many_elements() -> None:
    """MuJoCo looks for their contacts, and not at flexes, for which it has not enough memory."""
    model = compile_soft(
        "<geom type='box' size='1 1 .05' pos='0 0 -.05'/><body pos='.3 0 .04999'><freejoint/>"
        f"<geom type='box' size='.05 .05 .05'/></body>{_slabs(5e-4)}",
        sections="<size memory='2M'/>",
    )
    sim = asp.Simulator(model, integrator=asp.Midas())
    sim.advance_to(0.02)
    assert sim.clearance is not None
    assert sim.clearance > 0.0


def test_flexes_of_many_elements_touch_each_other() -> None:
    """All pairs of their elements would take all of MuJoCo's memory."""
    model = compile_soft(f"<geom type='plane' size='1 1 .1'/>{_slabs(-1e-4)}")
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.002))
    sim.advance_to(0.02)
    assert np.any(np.all(sim.contacts.flex >= 0, axis=1))


def _held(pin: str) -> mujoco.MjModel:
    """A bar of 1 m along x with a side of 0.1 m, of five cells whose strain equalities hold."""
    return compile_soft(
        "<geom type='plane' size='5 5 0.1' pos='0 0 -0.6'/>"
        "<body name='frame' euler='0 20 0'>"
        "<flexcomp name='bar' type='grid' dim='3' count='6 2 2' spacing='0.2 0.1 0.1' mass='2'"
        f" radius='0.001' dof='trilinear' cellcount='5 1 1'>{pin}"
        "<edge equality='strain'/><contact selfcollide='none'/></flexcomp></body>"
    )


def test_an_equality_of_strain_is_stiff_elasticity() -> None:
    """Its own weight bends a held bar as one with the modulus m g/(10⁻⁶ V^⅔)."""
    model = _held("<pin id='0 1 2 3'/>")
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1.0))
    sim.advance_to(20.0)
    moved = sim.data.qpos.reshape(-1, 3)
    weight = 9.81 * model.body_mass[model.flex_nodebodyid[4:]].sum()
    young = weight / 1e-6 / 0.01 ** (2.0 / 3.0)
    at = np.arange(0.2, 1.01, 0.2)
    shares = model.body_mass[model.flex_nodebodyid[4:]].reshape(5, 4).sum(axis=1)
    across = 9.81 * np.cos(np.radians(20.0)) * shares
    bent = np.sum(across * at**2 * (3.0 - at) / 6.0) / (young * 0.1**4 / 12.0)
    assert np.linalg.norm(moved, axis=1).max() == pytest.approx(bent, rel=0.03)
    assert any("stiff elasticity" in note for note in sim.load_report.notes)


@pytest.mark.parametrize(
    "integrator", [asp.Icf(), asp.Cenic(), asp.Midas()], ids=["icf", "cenic", "midas"]
)
def test_cells_whose_strain_is_held_keep_their_shape(integrator: asp.Integrator) -> None:
    """A bar that falls on one end, and topples, stays as it was, and lies with its weight."""
    model = _held("")
    sim = asp.Simulator(model, integrator=integrator)
    bodies = model.flex_nodebodyid

    def distances() -> Array:
        at = sim.data.xpos[bodies]
        return np.array(np.linalg.norm(at[:, None] - at, axis=2))

    before = distances()
    for time in np.arange(0.1, 3.01, 0.1):
        sim.advance_to(time)
        np.testing.assert_allclose(distances(), before, atol=1e-3)
    assert sim.contacts.normal_force.sum() == pytest.approx(2.0 * 9.81, rel=0.01)


def test_nodes_of_cells_that_are_hardly_filled_stay_with_the_body() -> None:
    """At the corners of an ellipsoid's box they have 5 · 10⁻⁶ of the stiffness of others.

    They bear their own weight in Midas by that of the cells' corners: a thousandth of full cells.
    """
    model = compile_soft(
        "<geom type='plane' size='1 1 1'/><flexcomp name='f' type='ellipsoid' dim='3' mass='0.05'"
        " count='12 12 12' spacing='.014 .014 .014' pos='0 0 .09' radius='.001' dof='trilinear'"
        " cellcount='4 4 4'><elasticity young='1e3' poisson='0.1' damping='0.01'/>"
        "<contact selfcollide='none'/></flexcomp>"
    )
    sim = asp.Simulator(model, integrator=asp.Midas())
    sim.advance_to(0.4)
    assert np.ptp(sim.data.xpos[model.flex_nodebodyid], axis=0).max() < 1.05 * 0.154
