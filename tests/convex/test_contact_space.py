"""Solves in contact space end where those end that factorize the Hessian."""

from __future__ import annotations

import ctypes

import mujoco
import numpy as np
import pytest
from convex_problems import Case, Scene, call, random_case
from test_chains import branched_case

import asperity as asp
from asperity.contact.constraint_set import ACTUATOR, EQUALITY, FRICTION, LIMIT
from asperity.convex.contact_space import (
    AT_END,
    SOLVED,
    SPOILED,
    fits_contact_space,
    solve_in_contact_space,
)
from asperity.convex.island import choose_island, settle
from asperity.convex.potentials.lagged import DELIVERED_LAW, LAGGED_LAW
from asperity.convex.potentials.law_table import ContactLaw, install_law
from asperity.convex.potentials.similar import SIMILAR_LAW
from asperity.convex.problem import CONVERGED

STEP = 1e-2
LAWS = {"lagged": LAGGED_LAW, "delivered": DELIVERED_LAW}


def turn_and_roll(case: Case, seed: int) -> None:
    """Give some contacts torsion, rolling, or another coefficient along the second tangent."""
    contacts = case.contacts
    rng = np.random.default_rng(seed)
    contacts.ellipsoids = 1
    for i in range(contacts.count):
        kind = (6, 4, 0, 3)[i % 4]
        contacts.ellipsoidal[i] = kind
        contacts.slip_scale[i, 0] = rng.uniform(0.3, 2.0)
        contacts.slip_scale[i, 1:3] = rng.uniform(0.01, 0.1, 2) if kind == 6 else 0.0
        contacts.slip_scale[i, 3] = rng.uniform(0.01, 0.1) if kind > 3 else 0.0


def one_tree(
    seed: int, straight: float = 0.6, law: ContactLaw = LAGGED_LAW, turns: bool = False
) -> Case:
    """A tree of which links touch one another and the world, with all kinds of constraints."""
    case = branched_case(seed, straight, smallest=20, count=1, touching=4)
    p, _, r = case.tables
    install_law(p, law)
    p.law.coupled = int(law.coupled)
    p.options.tolerance = 1e-12
    rng = np.random.default_rng(seed)
    for i in range(r.count):
        # With dry friction there is no room for so many impulses of contacts.
        r.kind[i] = (EQUALITY, LIMIT, LIMIT, ACTUATOR, LIMIT if turns else FRICTION)[i % 5]
        r.position[i] = 1e-2 * rng.standard_normal()
        if r.kind[i] == LIMIT:
            r.upper[i] = rng.uniform(0.0, 2e-2)
            r.lower[i] = np.inf
        elif r.kind[i] == FRICTION:
            r.lower[i], r.upper[i] = 1e-3, rng.uniform(0.0, 5.0)
        elif r.kind[i] == ACTUATOR:
            r.proportional[i], r.derivative[i] = rng.uniform(0.0, 100.0, 2)
            r.force[i] = 10.0 * rng.standard_normal()
            r.lower[i], r.upper[i] = -5.0, 5.0
    if turns:
        turn_and_roll(case, seed)
    case.prepare(0.1 * rng.standard_normal(p.graph.nv), STEP)
    choose_island(p.graph, p.at_hand, p.newton, 0)
    return case


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("straight", [0.0, 0.6, 1.0])
def test_solutions_are_those_of_the_hessian_factorized(
    law: str, straight: float, turns: bool
) -> None:
    for seed in range(20):
        solutions, factorizations = [], []
        for address in (0, solve_in_contact_space.address):
            case = one_tree(seed, straight, LAWS[law], turns)
            p = case.problem
            p.entries.solve_in_contact_space = address
            assert fits_contact_space(p) == (address != 0)
            guess = 0.1 * np.random.default_rng(seed).standard_normal(p.graph.nv)
            assert case.solve(guess) == CONVERGED
            # Rows of constraints that are as good as rigid have round-off of this size.
            assert np.abs(gradient(case)).max() <= (3e-8 if turns else 1e-9)
            assert np.abs(np.linalg.solve(case.assemble(), gradient(case))).max() <= 1e-11
            choose_island(p.graph, p.at_hand, p.newton, 0)
            if law == "delivered":
                assert p.counts.unsettled == 1 or settle(p, case.contacts)
            solutions.append(case.solution.copy())
            factorizations.append(p.counts.factorizations)
        # With friction bounded by what a step delivers there may be several solutions.
        if law != "delivered":
            assert np.allclose(solutions[0], solutions[1], rtol=0.0, atol=1e-9)
        assert factorizations[1] == 1 <= factorizations[0]


def gradient(case: Case) -> np.ndarray:
    """The gradient at the solution, with its impulses: A v − r − Jᵀ γ, each row scaled and turned."""
    p, c = case.problem, case.contacts
    out = case.dense_matrix() @ case.solution - p.smooth.rhs
    for i, k in enumerate(p.graph.contact[: case.ncontact]):
        second, rolling_1, rolling_2, torsion = (
            c.slip_scale[k] if c.ellipsoidal[k] else (1, 0, 0, 0)
        )
        frame = c.frame[k].reshape(3, 3)
        force = frame.T @ [p.iterate.g1[i], second * p.iterate.g2[i], p.iterate.gn[i]]
        turn = np.zeros(3)
        if c.ellipsoidal[k]:
            turn = frame.T @ (p.iterate.turn_impulse[i] * [rolling_1, rolling_2, torsion])
        for side, sign, arm in ((0, -1.0, c.arm_a), (1, 1.0, c.arm_b)):
            if c.link[k, side] >= 0:
                wrench = np.concatenate([turn + np.cross(arm[k], force), force])
                out -= sign * case.link_columns(c.link[k, side]).T @ wrench
    rows = case.dense_row_jacobian()
    for i, r in enumerate(p.graph.row[: case.nrow]):
        out -= rows[r] * p.iterate.row_impulse[i]
    return out


def several_trees(seed: int, count: int) -> Case:
    """Trees that touch one another, with constraints of single joints."""
    case = branched_case(seed, 0.6, smallest=10, count=count, touching=9)
    p, c, r = case.tables
    install_law(p, LAGGED_LAW)
    p.options.tolerance = 1e-12
    rng = np.random.default_rng(seed)
    # All trees are in one island.
    for i in range(count - 1):
        c.link[i] = p.graph.tree_start[i], p.graph.tree_start[i + 1]
    for i in range(r.count):
        dof = int(rng.integers(p.graph.nv))
        r.tree[i] = p.graph.dof_tree[dof], -1
        r.start[i] = i, i + 1, i + 1
        r.dof[i], r.jacobian[i] = dof, 1.0
        r.kind[i] = LIMIT
        r.position[i], r.upper[i] = 1e-2 * rng.standard_normal(), rng.uniform(0.0, 2e-2)
        r.lower[i] = np.inf
    r.entry_count = r.count
    case.prepare(0.1 * rng.standard_normal(p.graph.nv), STEP)
    choose_island(p.graph, p.at_hand, p.newton, 0)
    return case


@pytest.mark.parametrize("count", [2, 4])
def test_trees_that_touch_one_another(count: int) -> None:
    for seed in range(10):
        solutions, factorizations = [], []
        for address in (0, solve_in_contact_space.address):
            case = several_trees(seed, count)
            p = case.problem
            assert p.at_hand.last_tree - p.at_hand.first_tree == count
            p.entries.solve_in_contact_space = address
            assert fits_contact_space(p) == (address != 0)
            assert (
                case.solve(0.1 * np.random.default_rng(seed).standard_normal(p.graph.nv))
                == CONVERGED
            )
            assert np.abs(case.dense_gradient(case.solution)).max() <= 1e-9
            solutions.append(case.solution.copy())
            factorizations.append(p.counts.factorizations)
        assert np.allclose(solutions[0], solutions[1], rtol=0.0, atol=1e-9)
        assert factorizations[1] == 1 < factorizations[0]


def tree_with_bodies(seed: int, rowed: tuple[tuple[int, int], ...]) -> Case:
    """A tree, a free body and a hinge that touch one another, with friction of all kinds."""
    scene = Scene(
        sizes=(14, 6, 1),
        spatial=(False, True, False),
        touching=((-1, 0), (-1, 1), (0, 1), (1, 2)),
        rowed=rowed,
        contacts_per_pair=1,
    )
    case = random_case(np.random.default_rng(seed), scene)
    case.problem.options.tolerance = 1e-12
    turn_and_roll(case, seed)
    case.rows.kind[: case.nrow] = LIMIT
    case.rows.lower[: case.nrow] = np.inf
    case.prepare(0.1 * np.random.default_rng(seed).standard_normal(case.problem.graph.nv), STEP)
    choose_island(case.problem.graph, case.problem.at_hand, case.problem.newton, 0)
    return case


def test_free_bodies_and_small_trees_that_touch_a_large_one() -> None:
    for seed in range(20):
        solutions, factorizations = [], []
        for address in (0, solve_in_contact_space.address):
            case = tree_with_bodies(seed, ((0, -1), (0, -1), (2, -1)))
            p = case.problem
            p.entries.solve_in_contact_space = address
            assert p.at_hand.last_tree == 3
            assert fits_contact_space(p) == (address != 0)
            assert case.solve(np.zeros(p.graph.nv)) == CONVERGED
            assert np.abs(gradient(case)).max() <= 1e-8
            solutions.append(case.solution.copy())
            factorizations.append(p.counts.factorizations)
        assert np.allclose(solutions[0], solutions[1], rtol=0.0, atol=1e-9)
        assert factorizations[1] == 1 < factorizations[0]


def test_constraints_between_trees_do_not_fit() -> None:
    assert not fits_contact_space(tree_with_bodies(0, ((0, 2),)).problem)


LEG = """<body pos="{} {} 0"><joint axis="0 1 0"/><joint axis="1 0 0"/>
  <geom type="capsule" fromto="0 0 0 .05 0 -.2" size=".03" mass=".5"/>
  <body pos=".05 0 -.2"><joint axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 -.05 0 -.2" size=".03" mass=".3" condim="{}"/></body>
</body>"""
ROBOT = f"""<mujoco><option timestep="0.004"/>
<default><geom friction="0.8 0.02 0.01"/><joint range="-60 60" damping=".1"/></default>
<worldbody><geom type="plane" size="0 0 1" condim="1"/>
  <body pos="0 0 .45"><freejoint/><geom type="box" size=".2 .1 .05" mass="4"/>
    {LEG.format(0.2, 0.1, 4)}{LEG.format(0.2, -0.1, 6)}
    {LEG.format(-0.2, 0.1, 4)}{LEG.format(-0.2, -0.1, 6)}
  </body>
  <body pos=".3 .1 .1"><freejoint/><geom type="sphere" size=".1" mass=".3" condim="6"/></body>
</worldbody></mujoco>"""


def test_a_robot_with_torsion_and_rolling_moves_as_by_the_hessian() -> None:
    """A robot that stumbles over a ball, on feet that twist and roll."""
    model = mujoco.MjModel.from_xml_string(ROBOT)
    states, factorizations, fitting = [], [], 0
    for fits in (False, True):
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=4e-3, friction_bound="lagged"))
        p = sim.session.world.problem
        if not fits:
            p.entries.solve_in_contact_space = 0
        for step in range(100):
            sim.advance_to(4e-3 * (step + 1))
            island = p.graph.component[p.graph.ntree]
            choose_island(p.graph, p.at_hand, p.newton, island)
            kinds = p.graph.ellipsoidal[p.at_hand.first_contact : p.at_hand.last_contact]
            if fits and p.graph.ellipsoids and {4, 6} <= set(kinds):
                fitting += fits_contact_space(p)
        states.append(np.concatenate([sim.data.qpos, sim.data.qvel]))
        factorizations.append(sim.stats.factorizations)
    assert np.allclose(states[0], states[1], rtol=0.0, atol=1e-6)
    assert fitting > 20
    assert factorizations[1] < 0.5 * factorizations[0]


def test_more_trees_than_there_is_room_for_do_not_fit() -> None:
    assert not fits_contact_space(several_trees(0, 5).problem)


def without_contacts(seed: int) -> Case:
    """`one_tree` whose contacts are far apart."""
    case = one_tree(seed)
    case.contacts.signed_distance[: case.ncontact] = 10.0
    case.prepare(np.zeros(case.problem.graph.nv), STEP)
    choose_island(case.problem.graph, case.problem.at_hand, case.problem.newton, 0)
    case.problem.newton.wanted_residual = 1e-9
    case.problem.scratch.base_tree = 0
    return case


def end_of_solve(case: Case, velocity: np.ndarray) -> np.ndarray:
    """Solve in contact space from a velocity, with the base that there is; the gradient there."""
    p = case.problem
    end = AT_END
    while end == AT_END:
        case.evaluate(velocity)
        p.iterate.velocity[: p.graph.nv] = velocity
        p.iterate.gradient[: p.graph.nv] = case.dense_gradient(velocity)
        end = call(solve_in_contact_space, *case.tables)
        velocity = velocity + p.iterate.direction[: p.graph.nv]
    assert end == SOLVED
    impulses = p.iterate.row_impulse[: case.nrow].copy()
    solution = case.solution.copy()
    case.evaluate(solution)
    # Rows that are as good as rigid multiply round-off of velocities.
    assert np.allclose(p.iterate.row_impulse[: case.nrow], impulses, rtol=1e-7, atol=1e-7)
    return case.dense_gradient(solution)


def test_directions_are_newtons_where_everything_is_linear() -> None:
    """Equalities alone: one iteration, and H p = −g."""
    for seed in range(20):
        case = without_contacts(seed)
        p = case.problem
        case.rows.kind[: case.nrow] = EQUALITY
        case.prepare(np.zeros(p.graph.nv), STEP)
        velocity = 0.1 * np.random.default_rng(seed).standard_normal(p.graph.nv)
        case.evaluate(velocity)
        gradient = case.dense_gradient(velocity)
        end_of_solve(case, velocity)
        found = case.dense_hessian() @ p.iterate.direction[: p.graph.nv]
        assert np.allclose(found, -gradient, rtol=0.0, atol=1e-9 * np.abs(gradient).max())
        assert p.counts.iterations == 1


def test_constraints_that_change_need_no_other_factors() -> None:
    """Curvatures that constraints gain or lose after the factorization, or on the way."""
    changed = 0
    for seed in range(20):
        case = without_contacts(seed)
        p = case.problem
        rng = np.random.default_rng(seed)
        case.evaluate(np.zeros(p.graph.nv))
        curvatures = []
        for _ in range(5):
            p.smooth.rhs[:] = 10.0 * rng.standard_normal(p.graph.nv)
            assert np.abs(end_of_solve(case, rng.standard_normal(p.graph.nv))).max() <= 1e-6
            curvatures.append(p.iterate.row_curvature[: case.nrow].copy())
        assert p.counts.factorizations == 1
        # Dry friction and limits, which change all the time, have coordinates by now.
        assert p.scratch.coordinates > p.scratch.contact_coordinates
        changed += len(np.unique(curvatures, axis=0)) > 1
    assert changed == 20


def test_constraints_may_change_in_any_order() -> None:
    """Coordinates are given as constraints change, and used in the order of constraints."""
    case = without_contacts(0)
    p = case.problem
    case.evaluate(np.zeros(p.graph.nv))
    orders = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p.scratch.base_tree = 0
        for _ in range(4):
            p.smooth.rhs[:] = 10.0 * rng.standard_normal(p.graph.nv)
            assert np.abs(end_of_solve(case, rng.standard_normal(p.graph.nv))).max() <= 1e-6
        orders.add(tuple(p.hessian.row_coordinate[: case.nrow]))
    assert len(orders) > 1
    assert any(list(order) != sorted(order) for order in orders)


def test_solves_end_at_the_solution_where_contact_space_fails() -> None:
    """The first step by the Hessian is not the second of a solve, whose length says nothing."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    fails = kind(lambda *_: SPOILED)
    for seed in range(20):
        case = one_tree(seed)
        p = case.problem
        p.entries.solve_in_contact_space = ctypes.cast(fails, ctypes.c_void_p).value
        guess = 0.1 * np.random.default_rng(seed).standard_normal(p.graph.nv)
        assert case.solve(guess) == CONVERGED
        assert np.abs(case.dense_gradient(case.solution)).max() <= 1e-9


def test_trees_with_many_contacts_do_not_fit() -> None:
    case = branched_case(0, 0.6, smallest=20, count=1, touching=13)
    case.prepare(np.zeros(case.problem.graph.nv), STEP)
    choose_island(case.problem.graph, case.problem.at_hand, case.problem.newton, 0)
    assert not fits_contact_space(case.problem)


def test_trees_with_coupled_contacts_do_not_fit() -> None:
    """Their curvature may be singular."""
    assert not fits_contact_space(one_tree(0, law=SIMILAR_LAW).problem)
