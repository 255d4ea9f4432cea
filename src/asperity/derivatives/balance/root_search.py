"""The search for the root of a step's momentum balance, in compiled code.

The step's own solver begins. Newton's method with the whole of H goes on until g is round-off,
with one factorization as long as that contracts.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_method
from asperity.derivatives.balance.dense_solve import factorize_system, solve_system
from asperity.derivatives.balance.hessian import fill_hessian
from asperity.derivatives.balance.kinks import count_kinks
from asperity.derivatives.balance.matching import remember_sets
from asperity.derivatives.balance.middle_velocity import find_middle_trees
from asperity.derivatives.balance.residual import (
    activations_after,
    keep_the_guess,
    prepare,
    residual,
)
from asperity.derivatives.stages import call_stage, stage
from asperity.integrators.results import write_results
from asperity.integrators.steppings.rebounds import begin_rebounds
from asperity.integrators.world_layout import NOT_CONVERGED, OK
from asperity.plant.trees import velocity_from_solver

__all__ = ["NO_ROOT", "REBOUNDS", "ROOT_KERNELS", "SETS_FULL", "find_root"]

# What `find_root` returns beside the codes of methods.
SETS_FULL = -101
NO_ROOT = -102
REBOUNDS = -103

# Options of the solver while the solution is sought of which the derivative is taken, unless its
# own are tighter: tolerance, agreement of friction, changes of its bounds, iterations. The second
# ones serve where Newton's method does not converge after the first.
_TOLERANCES = (1e-8, 1e-13)
_SETTLE_TOLERANCES = (1e-2, 1e-9)
_MOST_CHANGES = (20, 100)
_MOST_ITERATIONS = 500

# Newton iterations that make g vanish, what counts as round-off, what is accepted, and the
# contraction below which factors are kept, all as shares of max(1, ‖D r‖). Where friction is as
# steep as 1e6 times inertia, the round-off of the velocity alone is more than that in g: then a
# last Newton step must change no more than the accepted share of the velocity.
_POLISHING = 16
_ROUND_OFF = 1e-15
_ACCEPTED = 1e-9
_CONTRACTION = 1e-2


@compiled
def _solve(world: Table, root: Table, step: float, attempt: int) -> int:
    """Let the step's own solver find its solution."""
    problem = world.problem
    options = problem.options
    tolerance = options.tolerance
    settle_tolerance = options.settle_tolerance
    most_changes = options.most_changes
    max_iterations = options.max_iterations
    options.tolerance = min(tolerance, _TOLERANCES[attempt])
    options.settle_tolerance = min(settle_tolerance, _SETTLE_TOLERANCES[attempt])
    options.most_changes = max(most_changes, _MOST_CHANGES[attempt])
    options.max_iterations = max(max_iterations, _MOST_ITERATIONS)
    world.solve_problem = root.solver
    world.factors_valid = 0
    world.graph_state = 0
    world.guess_kind = 0
    code = call_method(world.solve_step, world, world.current, 0, step)
    options.tolerance = tolerance
    options.settle_tolerance = settle_tolerance
    options.most_changes = most_changes
    options.max_iterations = max_iterations
    return OK if code == NOT_CONVERGED else code


@compiled
def _rebounds(world: Table, state: Table, step: float) -> bool:
    """Whether fixed steps would let bodies part after this one."""
    if world.add_rebounds == 0 or state.contacts.count == 0:
        return False
    problem = world.problem
    write_results(problem.graph, problem.iterate, state.contacts, state.rows)
    before = world.rebounds
    found = begin_rebounds(world, state, step)
    world.rebounds = before
    return found


@compiled
def _read_solution(world: Table, work: Table, step: float) -> None:
    """Prescribe the solution that the solver has found, and keep what belongs to the state."""
    state = world.current
    velocity_from_solver(world.plant, state.cdof, world.problem.iterate.velocity, work.velocity)
    find_middle_trees(world, work, state, step)
    remember_sets(world.plant, work.sets, state)


@compiled
def _scaled_norm(state: Table, vector: np.ndarray, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += state.mass_inverse_diagonal[i] * vector[i] * vector[i]
    return float(np.sqrt(total))


@compiled
def _share_of_velocity(work: Table, state: Table, n: int) -> float:
    """Return ‖D⁻¹ δv‖ / ‖D⁻¹ v‖ of a Newton step δv from the factors of H and g in ``sides[0]``."""
    root = work.root
    if not factorize_system(root, work.system):
        return np.inf
    for i in range(n):
        work.mean[i] = work.sides[0][i]
    solve_system(root, work.mean, 1)
    change = 0.0
    size = 0.0
    for i in range(n):
        change += work.mean[i] * work.mean[i] / state.mass_inverse_diagonal[i]
        size += work.velocity[i] * work.velocity[i] / state.mass_inverse_diagonal[i]
    return float(np.sqrt(change / size)) if size > 0.0 else np.inf


@compiled
def _balance(world: Table, work: Table, step: float) -> int:
    """Fill ``sides[0]`` with g and the activations at the end, at the prescribed velocity."""
    state = world.current
    code = prepare(world, state, step)
    if code != OK:
        return code
    residual(world, work, state, step, work.sides[0])
    activations_after(world, work.start, state, step, work.sides[0])
    return OK


@compiled
def _polish(world: Table, work: Table, step: float) -> int:
    """Make g vanish; H is that of the velocity in the end."""
    root = work.root
    state = world.current
    problem = world.problem
    nv = problem.graph.nv
    gradient = work.sides[0]
    code = _balance(world, work, step)
    if code != OK:
        return code
    scale = max(1.0, _scaled_norm(state, problem.smooth.rhs, nv))
    fill_hessian(world, work, state, step)
    norm = _scaled_norm(state, gradient, nv) / scale
    known = True
    factors = False
    for _ in range(_POLISHING):
        if norm < _ROUND_OFF or not np.isfinite(norm):
            break
        if not factors:
            if not factorize_system(root, work.system):
                break
            factors = True
        for i in range(nv):
            root.before[i] = work.velocity[i]
            work.mean[i] = gradient[i]
        solve_system(root, work.mean, 1)
        for i in range(nv):
            work.velocity[i] -= work.mean[i]
        code = _balance(world, work, step)
        if code != OK:
            return code
        after = _scaled_norm(state, gradient, nv) / scale
        if not after < norm:
            # Round-off, a kink, or factors of another velocity: what was before is better.
            for i in range(nv):
                work.velocity[i] = root.before[i]
            code = _balance(world, work, step)
            if code != OK:
                return code
            if known:
                break
            fill_hessian(world, work, state, step)
            known = True
            factors = False
            continue
        contraction = after / norm
        far = contraction < 0.5
        norm = after
        known = False
        if not far and norm < _ACCEPTED:
            break
        if contraction > _CONTRACTION:
            fill_hessian(world, work, state, step)
            known = True
            factors = False
    if not known:
        fill_hessian(world, work, state, step)
    if norm > _ACCEPTED:
        norm = min(norm, _share_of_velocity(work, state, nv))
    root.residual = norm
    return OK


@stage
def find_root(world: Table, work: Table, step: float, _number: int) -> int:
    """Find the root of g from the current state, and leave no solver in place.

    Returns a code of methods, ``SETS_FULL``, ``NO_ROOT``, or ``REBOUNDS`` where bodies part after
    an impact, of which the balance knows nothing.
    """
    sets = work.sets
    root = work.root
    state = world.current
    work.ends.acts = 0
    for attempt in range(2):
        code = _solve(world, root, step, attempt)
        if code != OK:
            return code
        contacts = state.contacts.count
        rows = state.rows.count
        if sets.contact_geom.shape[0] < contacts or sets.row_kind.size < rows:
            return SETS_FULL
        world.solve_problem = root.no_solver
        if attempt == 0 and _rebounds(world, state, step):
            return REBOUNDS
        _read_solution(world, work, step)
        code = _polish(world, work, step)
        if code != OK:
            return code
        if root.residual <= _ACCEPTED:
            work.kinks = count_kinks(world, state, step)
            if work.ends.wanted == 1 and world.balances_steps == 1:
                return call_stage(work.ends.begin, world, work, step, 0)
            return OK
    return NO_ROOT


ROOT_KERNELS = (find_root, keep_the_guess)
