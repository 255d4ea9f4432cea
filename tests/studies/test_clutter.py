"""Clutter: slip, condition, convergence and contacts of the SAP experiments, at small size."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from convex_problems import Case

from studies.experiments.clutter_runs import clutter_simulator, cost_history, hessian
from studies.experiments.form import slope
from studies.experiments.sap_contacts import count_contacts
from studies.experiments.sap_convergence import convergence
from studies.experiments.sap_slip import settle, slip_bound
from studies.scenes.sap_clutter import sap_clutter


def ignore(share: float) -> None:
    pass


@pytest.fixture(scope="module")
def falling():
    """Twelve objects at a moment when they collide."""
    simulator = clutter_simulator(bodies_per_column=3, tolerance=1e-8)
    assert simulator.advance_to(0.29).success
    return simulator


@pytest.mark.parametrize("walls", [True, False])
def test_slip_is_below_its_bound_and_the_condition_falls_with_sigma(walls: bool) -> None:
    sigmas = [1e-5, 1e-4, 1e-3]
    runs = [settle(sigma, walls, 41, ignore, bodies_per_column=2, duration=5.0) for sigma in sigmas]
    for sigma, run in zip(sigmas, runs, strict=True):
        assert slip_bound(sigma) == pytest.approx(sigma * 9.81 * 0.01)
        assert 0.0 < run.slip < slip_bound(sigma)
        assert run.iterations > 0.0
    assert slope(sigmas, [run.condition for run in runs]) == pytest.approx(-1.0, abs=0.1)


def test_costs_fall_to_that_of_the_step(falling) -> None:
    qpos, qvel = falling.data.qpos.copy(), falling.data.qvel.copy()
    costs = cost_history(falling)
    assert len(costs) > 5
    # But for round-off: what spins follows the iterates until its forces agree with the end.
    assert np.all(np.diff(costs) <= 2.0 * np.spacing(abs(costs[-1])))
    iterations, relative = convergence(falling)
    assert iterations == len(costs) - 1
    assert relative[0] == 1.0
    # The last two iterations lower the gradient, and the cost by its round-off at most.
    assert len(relative) >= len(costs) - 2
    assert np.all(np.diff(relative) < 0.0)
    # Quadratic convergence: the last iterations add more and more digits.
    digits = -np.diff(np.log10(relative))
    assert digits[-1] > 2.0 * np.median(digits)
    np.testing.assert_array_equal(falling.data.qpos, qpos)
    before = falling.stats.longest_iterations
    assert falling.step().success
    assert falling.stats.longest_iterations - before == iterations
    falling.data.qpos[:], falling.data.qvel[:] = qpos, qvel
    assert falling.advance_to(falling.time).success
    np.testing.assert_array_equal(cost_history(falling), costs)


def test_hessian_is_that_of_the_dense_formula(falling) -> None:
    found = hessian(falling)
    world = falling.session.world
    expected = Case(world.problem, world.current.contacts, world.current.rows).dense_hessian()
    scale = np.sqrt(np.diag(expected))
    scaled = np.outer(scale, scale)
    np.testing.assert_allclose(found / scaled, expected / scaled, atol=1e-12)
    assert np.linalg.eigvalsh(found).min() > 0.0


def flat(model: mujoco.MjModel, heights: list[float]) -> mujoco.MjData:
    """All bodies out of reach, but the first cubes one above the other, faces down."""
    data = mujoco.MjData(model)
    qpos = data.qpos.reshape(-1, 7)
    qpos[:, 2] = 10.0 + np.arange(len(qpos))
    boxes = [
        int(model.geom_bodyid[i]) - 1
        for i in range(model.ngeom)
        if model.geom_bodyid[i] > 0 and model.geom_type[i] == mujoco.mjtGeom.mjGEOM_BOX
    ]
    for body, height in zip(boxes, heights, strict=False):
        qpos[body] = 0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize(("face_spheres", "points"), [(False, 4), (True, 9)])
def test_points_of_a_cube_that_lies_flat(face_spheres: bool, points: int) -> None:
    model = mujoco.MjModel.from_xml_string(sap_clutter(3, face_spheres=face_spheres))
    assert np.isclose(model.body_mass[1:], 1.0).any()
    data = flat(model, [0.0499])
    assert data.ncon == points
    np.testing.assert_allclose(data.contact.dist, -1e-4, atol=1e-12)
    # Nothing but spheres touches where cubes have them: faces against faces, and both spheres.
    data = flat(model, [0.0499, 0.1497])
    kinds = {
        tuple(sorted(int(model.geom_type[g]) for g in pair))
        for pair, distance in zip(data.contact.geom, data.contact.dist, strict=True)
        if distance < 0.0
    }
    box, sphere, plane = (
        int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}")) for name in ("BOX", "SPHERE", "PLANE")
    )
    if face_spheres:
        assert kinds == {(plane, sphere), (sphere, box), (sphere, sphere)}
    else:
        assert kinds == {(plane, box), (box, box)}


def test_flat_cubes_on_the_ground_have_more_contacts_than_a_pile() -> None:
    walls, spread = (count_contacts(10, walls, ignore, duration=4.0) for walls in (True, False))
    assert 20 < walls < spread
    with pytest.raises(ValueError, match="at least 1"):
        sap_clutter(0)
