"""Panels of deformable bodies against dense linear algebra, in scenes with everything that couples.

A soft cube lies on the floor, a finger on two joints presses it, another soft cube lies on it and
touches elements, a ball rests on that, and a constraint ties a vertex to a free box.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from convex_problems import Case, call

import asperity as asp
from asperity.convex.island import begin_island
from asperity.convex.particles.assembly import assemble_panels
from asperity.convex.particles.panel_cholesky import factorize_panels, solve_panels


def _cube(name: str, count: int, height: float) -> str:
    spacing = 0.05 / (count - 1)
    return (
        f"<flexcomp name='{name}' type='grid' dim='3' count='{count} {count} {count}'"
        f" spacing='{spacing} {spacing} {spacing}' pos='0.004 0.003 {height}' radius='0.0005'"
        " mass='0.06'><elasticity young='1e5' poisson='0.3' damping='0.002'/>"
        "<contact selfcollide='none' friction='0.8'/></flexcomp>"
    )


SCENE = f"""<mujoco><option integrator='discrete'/><worldbody>
  <geom type='plane' size='1 1 .1'/>
  <body pos='-.033 0 .025'><joint type='slide' axis='1 0 0'/>
    <geom type='box' size='.005 .005 .005' pos='-.05 0 0' mass='.1'/>
    <body><joint axis='0 1 0'/><geom type='box' size='.01 .02 .02' mass='.2'/></body></body>
  <body name='box' pos='.1 0 .05'><freejoint/><geom type='box' size='.02 .02 .02'/></body>
  <body pos='0 0 .112'><freejoint/><geom size='.01' mass='.02'/></body>
  <body pos='.5 0 .1'><freejoint/><geom size='.05'/></body>
  {_cube("low", 4, 0.0252)}{_cube("high", 3, 0.0755)}
</worldbody>
<equality><connect body1='low_63' body2='box' anchor='0 0 0'/></equality></mujoco>"""


def _dense_matrix(case: Case) -> np.ndarray:
    """A with its bonds."""
    out = case.dense_matrix()
    p = case.problem
    for (first, second), block in zip(p.graph.bonds.tree, p.smooth.bond, strict=True):
        out[case.dofs(first), case.dofs(second)] += block.reshape(3, 3)
        out[case.dofs(second), case.dofs(first)] += block.reshape(3, 3).T
    return out


@pytest.fixture(scope="module")
def case() -> Case:
    sim = asp.Simulator(mujoco.MjModel.from_xml_string(SCENE), integrator=asp.Icf(time_step=2e-3))
    sim.data.qfrc_applied[0] = 0.5
    sim.advance_to(0.1)
    world = sim.session.world
    case = Case(world.problem, world.current.contacts, world.current.rows)
    case.simulator = sim  # type: ignore[attr-defined]
    velocity = 0.01 * np.random.default_rng(0).standard_normal(sim.model.nv)
    case.prepare(velocity, 2e-3)
    case.evaluate(velocity)
    return case


def test_scene_has_all_that_couples(case: Case) -> None:
    graph, contacts = case.problem.graph, case.contacts
    soft = contacts.link_soft[: contacts.link_count]
    sizes = contacts.link_size[: contacts.link_count]
    # Points of elements and single vertices, joints, and free bodies.
    assert np.any((soft == 1) & (sizes > 3))
    assert np.any((soft == 1) & (sizes == 3))
    trees = contacts.link_tree[: contacts.link_count][soft == 0]
    assert set(graph.tree_spatial[trees]) == {0, 1}
    both = soft[contacts.link[: contacts.count]].sum(axis=1)
    assert np.any(both[np.all(contacts.link[: contacts.count] >= 0, axis=1)] == 2)
    assert case.nrow > 0
    # Panels of several trees, and fewer of them than trees.
    assert 1 < graph.panels.count < 0.5 * graph.ntree
    assert graph.islands > 1


def test_solution_is_that_of_dense_algebra(case: Case) -> None:
    problem = case.problem
    size = problem.graph.nv
    dense = case.dense_hessian() - case.dense_matrix() + _dense_matrix(case)
    b = np.random.default_rng(0).standard_normal(size)
    for kept in (False, True):
        problem.iterate.direction[:size] = b
        for _ in case.islands():
            if not kept:
                problem.hessian.panel_kept[:] = 0
            filled = call(assemble_panels, *case.tables)
            assert call(factorize_panels, problem, filled) == 1
            call(solve_panels, problem, 0)
        found = problem.iterate.direction[:size]
        scale = np.abs(dense) @ np.abs(found) + np.abs(b)
        assert np.abs((dense @ found - b) / scale).max() < 1e-12


def test_products_have_bonds(case: Case) -> None:
    problem = case.problem
    size = problem.graph.nv
    velocity = np.random.default_rng(2).standard_normal(size)
    problem.iterate.velocity[:size] = velocity
    for _ in case.islands():
        begin_island(problem, case.rows)
    product = _dense_matrix(case) @ velocity
    assert np.abs(problem.iterate.product[:size] - product).max() < 1e-10 * np.abs(product).max()


def test_forces_of_a_point_are_those_of_its_velocity(case: Case) -> None:
    """What spreads velocities to links and gathers forces from them are transposes."""
    rng = np.random.default_rng(1)
    size = case.problem.graph.nv
    velocity = rng.standard_normal(size)
    case.set_velocity(velocity)
    jacobian = case.dense_contact_jacobian()[case.problem.graph.contact[: case.ncontact]]
    expected = jacobian @ velocity
    found = np.stack(
        [case.problem.iterate.v1, case.problem.iterate.v2, case.problem.iterate.vn], axis=1
    )[: case.ncontact]
    assert np.abs(found - expected).max() < 1e-12
    impulse = rng.standard_normal((case.ncontact, 3))
    for k, name in enumerate(("g1", "g2", "gn")):
        getattr(case.problem.iterate, name)[: case.ncontact] = impulse[:, k]
    out = np.zeros(size)
    case.add_impulses(out, 1.0, case.ncontact, 0)
    assert np.abs(out - np.einsum("ik,ikj->j", impulse, jacobian)).max() < 1e-12
