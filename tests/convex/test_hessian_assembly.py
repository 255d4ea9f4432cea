"""Jacobians, gradient and Hessian of whole problems against MuJoCo and dense algebra."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from convex_problems import MIXED, Case, random_case
from convex_reference import reference_objective
from mujoco_scenes import MujocoCase, load, reevaluate

from asperity.contact.constraint_set import ACTUATOR, EQUALITY, FRICTION, LIMIT

STEP = 1e-3


@pytest.fixture(scope="module")
def scene() -> MujocoCase:
    case = load()
    case.prepare(case.start_velocity, STEP)
    return case


def made(seed: int) -> Case:
    case = random_case(np.random.default_rng(seed), MIXED)
    case.prepare(np.random.default_rng(seed + 100).standard_normal(case.problem.graph.nv), STEP)
    return case


def pairs_of_trees(case: MujocoCase) -> set[tuple[int, int]]:
    c = case.contacts
    trees = [
        [-1 if link < 0 else int(c.link_tree[link]) for link in pair]
        for pair in c.link[: case.ncontact]
    ]
    return {(min(pair), max(pair)) for pair in trees}


def test_scene_has_what_it_is_for(scene: MujocoCase) -> None:
    model, table = scene.plant.model, scene.plant.table
    assert list(table.trees.size) == [6, 6, 6, 3, 10, 3, 6, 1]
    assert list(table.trees.spatial) == [1, 1, 0, 0, 0, 0, 1, 0]
    pairs = pairs_of_trees(scene)
    names = ["ball", "box", "damped", "upper", "walker", "pendulum", "loose", "cart"]
    tree = {name: int(model.body_treeid[model.body(name).id]) for name in names}

    def touch(a: str, b: str) -> bool:
        first, second = tree[a], tree[b]
        return (min(first, second), max(first, second)) in pairs

    assert (-1, tree["ball"]) in pairs
    assert touch("ball", "box")
    assert touch("box", "damped")
    assert touch("damped", "cart")
    assert touch("upper", "ball") or touch("upper", "box")
    assert touch("walker", "pendulum")
    assert touch("walker", "walker")
    kinds = set(scene.rows.kind[: scene.nrow])
    assert kinds == {EQUALITY, LIMIT, FRICTION, ACTUATOR}
    coupled = {tuple(pair) for pair in scene.rows.tree[: scene.nrow] if pair[1] >= 0}
    assert len(coupled) >= 2


def test_mass_matrix_in_solver_velocities(scene: MujocoCase) -> None:
    transform = scene.to_generalized()
    expected = transform.T @ scene.mujoco_mass() @ transform
    np.testing.assert_allclose(scene.dense_matrix(), expected, atol=1e-13 * np.abs(expected).max())


def test_contact_jacobian_is_that_of_mujoco(scene: MujocoCase) -> None:
    expected = scene.mujoco_contact_jacobian() @ scene.to_generalized()
    np.testing.assert_allclose(scene.dense_contact_jacobian(), expected, atol=1e-13)


def test_contact_velocities(scene: MujocoCase) -> None:
    scene.set_velocity(scene.start_velocity)
    expected = scene.mujoco_contact_jacobian() @ scene.state.table.qvel
    p = scene.problem
    found = np.stack([p.iterate.v1, p.iterate.v2, p.iterate.vn], axis=1)[: scene.ncontact]
    np.testing.assert_allclose(found, expected[p.graph.contact[: scene.ncontact]], atol=1e-13)


def test_normal_velocity_is_the_rate_of_the_distance() -> None:
    case = load(seed=3)
    model, state = case.plant.model, case.state.table
    normal = case.mujoco_contact_jacobian()[:, 2] @ state.qvel
    qpos, start = state.qpos.copy(), case.contacts.geom[: case.ncontact].copy()
    distances = []
    h = 1e-6
    for sign in (1, -1):
        moved = qpos.copy()
        mujoco.mj_integratePos(model, moved, state.qvel, sign * h)
        state.qpos[:] = moved
        reevaluate(case)
        np.testing.assert_array_equal(case.contacts.geom[: case.ncontact], start)
        distances.append(case.contacts.signed_distance[: case.ncontact].copy())
    rate = (distances[0] - distances[1]) / (2 * h)
    # Pairs whose distance is smooth; contacts of boxes with boxes can change their features.
    smooth = (
        mujoco.mjtGeom.mjGEOM_PLANE,
        mujoco.mjtGeom.mjGEOM_SPHERE,
        mujoco.mjtGeom.mjGEOM_CAPSULE,
    )
    chosen = [i for i in range(len(start)) if all(model.geom_type[g] in smooth for g in start[i])]
    chosen += [i for i in range(len(start)) if model.geom_type[start[i, 0]] == smooth[0]]
    assert len(set(chosen)) >= 8
    np.testing.assert_allclose(rate[chosen], normal[chosen], atol=1e-7)
    assert np.any(np.abs(normal[chosen]) > 0.05)


def test_normals_point_from_the_first_geom_to_the_second(scene: MujocoCase) -> None:
    data, c = scene.state.data, scene.contacts
    for i in range(scene.ncontact):
        normal = c.frame[i].reshape(3, 3)[2]
        a, b = c.geom[i]
        if scene.plant.model.geom_type[a] == mujoco.mjtGeom.mjGEOM_PLANE:
            np.testing.assert_allclose(normal, [0, 0, 1], atol=1e-15)
        elif np.all(scene.plant.model.geom_type[[a, b]] == mujoco.mjtGeom.mjGEOM_SPHERE):
            assert normal @ (data.geom_xpos[b] - data.geom_xpos[a]) > 0


def test_inverse_mass_estimates_the_contacts_inertia(scene: MujocoCase) -> None:
    jacobian = scene.dense_contact_jacobian()
    c = scene.contacts
    checked = 0
    for i in range(scene.ncontact):
        trees = [c.link_tree[link] for link in c.link[i] if link >= 0]
        if len(set(trees)) < len(trees):
            continue
        expected = np.mean(np.sum(jacobian[i] ** 2 / scene.problem.smooth.mass_diagonal, axis=1))
        assert c.inverse_mass[i] == pytest.approx(expected, rel=1e-12)
        checked += 1
    assert checked > 5


def test_row_jacobians_are_those_of_mujoco(scene: MujocoCase) -> None:
    model, data = scene.plant.model, scene.state.data
    reference = mujoco.MjData(model)
    reference.qpos[:], reference.qvel[:] = scene.state.table.qpos, scene.state.table.qvel
    reference.ctrl[:] = data.ctrl
    # Rows are numbered without contacts.
    option = model.opt.disableflags
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    mujoco.mj_forward(model, reference)
    model.opt.disableflags = option
    jacobian = np.zeros((reference.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        for i in range(reference.nefc):
            at, count = reference.efc_J_rowadr[i], reference.efc_J_rownnz[i]
            jacobian[i, reference.efc_J_colind[at : at + count]] = reference.efc_J[at : at + count]
    else:
        jacobian[:] = reference.efc_J.reshape(jacobian.shape)
    transform = scene.to_generalized()
    rows = scene.rows
    found = scene.dense_row_jacobian()
    seen = 0
    for r in range(scene.nrow):
        source = rows.source[r]
        if rows.kind[r] == LIMIT and source < 0:
            # MuJoCo has a row for it only if it is violated; of these only a ball joint is.
            joint = -1 - source
            limited = reference.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT
            made_by_mujoco = np.flatnonzero(limited & (reference.efc_id == joint))
            if not len(made_by_mujoco):
                assert min(rows.position[r], rows.upper[r]) > 0.0
                continue
            assert model.joint(joint).name == "pivot"
            source = made_by_mujoco[0]
        elif source < 0:
            continue
        np.testing.assert_allclose(found[r], jacobian[source] @ transform, atol=1e-13)
        position = reference.efc_pos[source] - (
            0.0 if rows.kind[r] == EQUALITY else reference.efc_margin[source]
        )
        assert rows.position[r] == pytest.approx(position, abs=1e-15)
        expected = np.sum(found[r] ** 2 / scene.problem.smooth.mass_diagonal)
        if rows.kind[r] == EQUALITY:
            expected = max(expected, reference.efc_diagA[source])
        assert rows.inverse_mass[r] == pytest.approx(expected, rel=1e-12)
        seen += 1
    assert seen == 5 + 1  # three of the connection, two couplings, the ball joint's limit
    for r in range(scene.nrow):
        if rows.kind[r] == ACTUATOR:
            velocity = found[r] @ scene.start_velocity
            output = -1 - rows.source[r]
            assert velocity == pytest.approx(reference.actuator_velocity[output], abs=1e-13)
            assert rows.force[r] == pytest.approx(reference.actuator_force[output], abs=1e-12) or (
                abs(rows.force[r]) > rows.upper[r]
            )


def test_power_balance(scene: MujocoCase) -> None:
    rng = np.random.default_rng(5)
    p = scene.problem
    for name in ("g1", "g2", "gn"):
        getattr(p.iterate, name)[: scene.ncontact] = rng.standard_normal(scene.ncontact)
    p.iterate.row_impulse[: scene.nrow] = rng.standard_normal(scene.nrow)
    velocity = rng.standard_normal(p.graph.nv)
    impulse = rng.standard_normal(p.graph.nv)
    before = impulse.copy()
    scene.add_impulses(impulse, -2.0, scene.ncontact, scene.nrow)
    scene.set_velocity(velocity)
    n, m = scene.ncontact, scene.nrow
    power = (
        p.iterate.v1[:n] @ p.iterate.g1[:n]
        + p.iterate.v2[:n] @ p.iterate.g2[:n]
        + p.iterate.vn[:n] @ p.iterate.gn[:n]
    )
    power += p.iterate.row_u[:m] @ p.iterate.row_impulse[:m]
    assert velocity @ (impulse - before) == pytest.approx(-2.0 * power, rel=1e-11)


def test_contacts_between_bodies_conserve_momentum() -> None:
    case = load(
        """<mujoco><worldbody>
        <body pos='0 0 1'><freejoint/><geom size='0.1'/></body>
        <body pos='0.15 0.05 1.08'><freejoint/><geom type='box' size='0.1 0.1 0.1'/></body>
        </worldbody></mujoco>"""
    )
    p, n = case.problem, case.ncontact
    assert n > 0
    case.prepare(case.start_velocity, STEP)
    rng = np.random.default_rng(2)
    for name in ("g1", "g2", "gn"):
        getattr(p.iterate, name)[:n] = rng.standard_normal(n)
    impulse = np.zeros(p.graph.nv)
    case.add_impulses(impulse, 1.0, n, 0)
    np.testing.assert_allclose(impulse[3:6] + impulse[9:12], 0.0, atol=1e-14)
    # Angular momentum about the origin; every body's angular part is about its own centre of mass.
    centres = case.state.data.xipos[1:3]
    total = sum(
        impulse[6 * i : 6 * i + 3] + np.cross(centres[i], impulse[6 * i + 3 : 6 * i + 6])
        for i in range(2)
    )
    np.testing.assert_allclose(total, 0.0, atol=1e-14)


def check_derivatives(case: Case, velocity: np.ndarray, before: np.ndarray) -> None:
    """Gradient against finite differences and the reference; Hessian against the dense one."""
    case.evaluate(velocity)
    p = case.problem
    gradient = case.dense_gradient(velocity)
    compiled = case.dense_matrix() @ velocity - p.smooth.rhs
    case.add_impulses(compiled, -1.0, case.ncontact, case.nrow)
    scale = np.abs(gradient).max() + np.abs(p.smooth.rhs).max()
    np.testing.assert_allclose(compiled, gradient, atol=1e-13 * scale)
    assembled = case.assemble()
    dense = case.dense_hessian()
    np.testing.assert_allclose(assembled, dense, atol=1e-13 * np.abs(dense).max())
    np.testing.assert_array_equal(assembled != 0, assembled.T != 0)

    value, slope, hessian = reference_objective(case, before, STEP)
    np.testing.assert_allclose(gradient, slope(velocity), atol=1e-12 * scale)
    np.testing.assert_allclose(dense, hessian(velocity), atol=1e-12 * np.abs(dense).max())
    rng = np.random.default_rng(0)
    for _ in range(3):
        direction = rng.standard_normal(p.graph.nv)
        h = 1e-7
        costs = [case.evaluate(velocity + s * h * direction) for s in (1, -1)]
        curvature = direction @ dense @ direction
        assert (costs[0] - costs[1]) / (2 * h) == pytest.approx(
            gradient @ direction,
            abs=1e-3 * h * curvature + 1e-15 * abs(costs[0]) / h + 1e-6 * scale,
        )
        expected = value(velocity + h * direction) - value(velocity)
        assert costs[0] - case.evaluate(velocity) == pytest.approx(
            expected, abs=1e-13 * (abs(costs[0]) + abs(value(velocity)))
        )


@pytest.mark.parametrize("seed", range(4))
def test_gradient_and_hessian_of_random_problems(seed: int) -> None:
    case = made(seed)
    rng = np.random.default_rng(seed + 100)
    before = rng.standard_normal(case.problem.graph.nv)
    for size in (0.02, 1.0):
        check_derivatives(case, size * rng.standard_normal(case.problem.graph.nv), before)


def test_gradient_and_hessian_of_the_scene(scene: MujocoCase) -> None:
    before = scene.start_velocity.copy()
    rng = np.random.default_rng(1)
    scene.prepare(before, STEP)
    for size in (0.01, 0.5):
        check_derivatives(
            scene, before + size * rng.standard_normal(scene.problem.graph.nv), before
        )
    # The same with MuJoCo's Jacobian in place of the contact set's.
    p = scene.problem
    scene.evaluate(before)
    jacobian = scene.mujoco_contact_jacobian() @ scene.to_generalized()
    rows = scene.dense_row_jacobian()
    expected = scene.dense_matrix()
    for i, c in enumerate(p.graph.contact[: scene.ncontact]):
        curvature = np.array(
            [
                [p.iterate.h11[i], p.iterate.h12[i], 0.0],
                [p.iterate.h12[i], p.iterate.h22[i], 0.0],
                [0.0, 0.0, p.iterate.hnn[i]],
            ]
        )
        expected += jacobian[c].T @ curvature @ jacobian[c]
    for i, r in enumerate(p.graph.row[: scene.nrow]):
        expected += p.iterate.row_curvature[i] * np.outer(rows[r], rows[r])
    np.testing.assert_allclose(scene.assemble(), expected, atol=1e-12 * np.abs(expected).max())


def test_contacts_without_curvature_leave_the_mass_matrix() -> None:
    case = made(0)
    for name in ("h11", "h12", "h22", "hnn", "row_curvature"):
        getattr(case.problem.iterate, name)[:] = 0.0
    # The lower triangles are copied as they are.
    np.testing.assert_array_equal(np.tril(case.assemble()), np.tril(case.dense_matrix()))
