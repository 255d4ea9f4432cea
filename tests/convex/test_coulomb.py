"""SAP's compliance with Coulomb's friction: the numbers of a step, and the law of a solution."""

from __future__ import annotations

import numpy as np
import pytest
from convex_problems import MIXED, Case, Scene, random_case
from one_contact import STEP
from sap_reference import SLIP_REGULARIZATION, sap_contacts

from asperity.convex.potentials.law_table import install_law
from asperity.convex.potentials.sap import COULOMB_LAW
from asperity.convex.problem import CONVERGED, MOMENTUM

PILE = Scene(
    sizes=[6] * 6,
    spatial=[True] * 6,
    touching=[(-1, 0), (0, 1), (1, 2), (2, 0), (-1, 3), (3, 2), (4, 3)],
    parameters={"dynamic_friction": 0.4, "static_friction": 0.4},
)
ARMS = Scene(
    sizes=MIXED.sizes,
    spatial=MIXED.spatial,
    touching=MIXED.touching,
    parameters={"dynamic_friction": 0.3, "static_friction": 0.5},
)


def prepared(seed: int, scene: Scene) -> tuple[Case, np.ndarray]:
    rng = np.random.default_rng(seed)
    case = random_case(rng, scene)
    p = case.problem
    install_law(p, COULOMB_LAW)
    p.options.criterion = MOMENTUM
    p.options.max_iterations = 500
    p.options.tolerance = 1e-13
    p.options.line_search_tolerance = 1e-8
    p.options.largest_search_step = 1.5
    p.options.settle_tolerance = 1e-10
    p.options.most_changes = 200
    p.options.slip_regularization = SLIP_REGULARIZATION
    before = rng.standard_normal(p.graph.nv)
    case.prepare(before, STEP)
    return case, before


def stribeck(static: float, dynamic: float, ratio: float) -> float:
    """μ at a slip over the stiction tolerance (CENIC IV-B, Δ = 10)."""

    def f(s: float) -> float:
        return s / np.sqrt(s * s + 1.0)

    return (static - dynamic) * 0.5 * (1.0 - f(ratio - 10.0) / f(10.0)) + dynamic


@pytest.mark.parametrize("scene", [PILE, ARMS], ids=["free bodies", "arms and free bodies"])
def test_solutions_have_coulomb_s_law(scene: Scene) -> None:
    """γ_n = (v̂_n − v_n)₊/R_n, and friction μ γ_n v_t/√(‖v_t‖² + v_s²), both at the end.

    In some of 20 random problems, impacts at 1 m/s, friction and normal impulses find no end.
    """
    settled = slides = 0
    for seed in range(20):
        case, before = prepared(seed, scene)
        expected = sap_contacts(case, STEP)
        assert case.solve(before) == CONVERGED
        case.evaluate(case.solution.copy())
        p, t = case.problem, case.contacts
        iterate = p.iterate
        normals = iterate.gn[: case.ncontact]
        error = 0.0
        for i, c in enumerate(p.graph.contact[: case.ncontact]):
            slip = np.array([iterate.v1[i], iterate.v2[i]])
            normal = max(expected[c].target - iterate.vn[i], 0.0) / expected[c].rn
            assert normals[i] == pytest.approx(normal, rel=1e-6, abs=1e-9 * normals.max())
            size = np.hypot(*slip)
            v_s = t.stiction_tolerance[c]
            mu = stribeck(t.static_friction[c], t.dynamic_friction[c], size / v_s)
            friction = -mu * normal * slip / np.hypot(size, v_s)
            found = np.array([iterate.g1[i], iterate.g2[i]])
            error = max(error, float(np.max(np.abs(found - friction))))
            slides += size > v_s and normal > 0.0
        settled += error < 1e-6 * normals.max()
    assert slides > 20
    assert settled >= 15
