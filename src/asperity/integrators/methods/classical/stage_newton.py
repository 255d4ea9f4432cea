"""Newton's method for implicit stages, with the control of Hairer & Wanner, volume II, IV.8.

For the updates Δ_i of the state x = (u, v) in the largest norm, with seconds and metres as units,
θ = ‖Δ_i‖/‖Δ_{i−1}‖ and η = θ/(1 − θ): the iteration has converged when η ‖Δ_i‖ is below the
tolerance or Δ_i is round-off, and diverged when θ > 1. Full Newton has a new Jacobian in every
iteration. Quasi Newton tries in turn, each time from the initial guess,

1. the factors at hand, whatever step they were made for,
2. the Jacobian at hand, factorized for this step,
3. a new Jacobian at the beginning of the stage;

a Jacobian that is new and fails ends the attempt. With TALS an update that makes a contact jump its
stiction region is cut, which costs one more evaluation, and says nothing of convergence. Quasi
Newton then gets a new Jacobian too: that of the steep region is the point of stopping there.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_ppdp_status
from asperity.integrators.methods.classical.jacobian import evaluate_at, factorize_stage
from asperity.integrators.methods.classical.slip import keep_slips, share_of_update
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.methods.square_lu import solve_square
from asperity.integrators.world_layout import NON_FINITE, NOT_CONVERGED, OK, WORLD
from asperity.plant.plant_layouts import STATE

__all__ = ["solve_stage"]

_MAX_ITERATIONS = 10
# Cut updates do not count as iterations; there are as many as contacts change their mind.
_MAX_CUTS = 20
_ROUND_OFF = 2.2e-15
_LARGEST = 1.7976931348623157e308


@compiled
def _go_to(classical: Table, c: float, start: np.ndarray, share: float, update: np.ndarray) -> None:
    """Displacement and velocity of the stage at ``start + share · update``."""
    iterate = classical.iterate
    for i in range(iterate.size):
        iterate[i] = start[i] + share * update[i]
        classical.velocity[i] = iterate[i]
        classical.displacement[i] = classical.base_displacement[i] + c * iterate[i]


@compiled
def _residual(classical: Table, c: float, out: np.ndarray) -> None:
    """``out = −g(v)`` from the acceleration that was evaluated last."""
    for i in range(classical.iterate.size):
        out[i] = classical.base_velocity[i] + c * classical.acceleration[i] - classical.iterate[i]


@compiled
def _new_jacobian(world: Table, source: Table, time: float) -> int:
    """Differentiate at the iterate, where the dynamics have been evaluated."""
    classical = CLASSICAL.at(world.memory)
    work = classical.work
    return call_ppdp_status(classical.differentiate, world, source, time, work)


@compiled
def _iterate(world: Table, source: Table, c: float, time: float, full: bool) -> int:
    """Newton's iteration from the guess with the factors at hand, or new ones each time."""
    classical = CLASSICAL.at(world.memory)
    problem = world.problem
    contacts = classical.work.contacts
    aware = classical.transition_aware == 1
    tolerance = classical.newton_tolerance
    update = classical.update
    start = classical.acceleration_of[2]
    n = classical.iterate.size
    for i in range(n):
        update[i] = 0.0
    _go_to(classical, c, classical.guess, 0.0, update)
    previous = 0.0
    cuts = 0
    iteration = 0
    code = evaluate_at(world, source, time)
    while code == OK and iteration < _MAX_ITERATIONS:
        if aware:
            keep_slips(classical, problem.graph, problem.iterate, contacts)
        if full:
            code = _new_jacobian(world, source, time)
            if code == OK:
                code = factorize_stage(world, c)
            if code != OK:
                return code
        _residual(classical, c, update)
        solve_square(
            classical.factor.ctypes.data, 8 * n, n, classical.pivot, 0, update.ctypes.data, 8, 1
        )
        problem.counts.iterations += 1
        # In seconds and metres the state changes most where its velocity does, but in long steps.
        size = 0.0
        round_off = True
        for i in range(n):
            change = max(abs(update[i]), c * abs(update[i]))
            if not change <= size:
                size = change
            if abs(update[i]) > _ROUND_OFF * max(1.0, abs(classical.iterate[i])):
                round_off = False
            start[i] = classical.iterate[i]
        if not size <= _LARGEST:
            return NON_FINITE
        _go_to(classical, c, start, 1.0, update)
        if round_off:
            return OK
        if iteration > 0 and previous > 0.0:
            rate = size / previous
            if rate < 1.0 and rate / (1.0 - rate) * size < tolerance:
                return OK
            if rate > 1.0 and iteration > 1:
                return NOT_CONVERGED
        previous = size
        iteration += 1
        code = evaluate_at(world, source, time)
        if aware and code == OK and cuts < _MAX_CUTS:
            alpha = share_of_update(classical, problem.graph, problem.iterate, contacts)
            if alpha < 1.0:
                cuts += 1
                classical.limited += 1
                iteration = 0
                previous = 0.0
                _go_to(classical, c, start, alpha, update)
                code = evaluate_at(world, source, time)
                if code == OK and not full:
                    # The steep region is one that the Jacobian at hand has not seen.
                    code = _new_jacobian(world, source, time)
                    if code == OK:
                        code = factorize_stage(world, c)
    return NOT_CONVERGED if code == OK else code


@entry_point(types.int64(WORLD.type, STATE.type, types.float64, types.float64))
def solve_stage(world: Table, source: Table, c: float, time: float) -> int:
    """Solve a stage from the table's ``guess``; the result is in its ``iterate``.

    ``time`` [s] is that of the stage, counted from the source's. The table's displacement and
    velocity are those of the stage, and ``work`` is at or next to it.
    """
    classical = CLASSICAL.at(world.memory)
    world.problem.counts.solves += 1
    if classical.full_newton == 1:
        return _iterate(world, source, c, time, True)
    fresh = False
    first = 1
    if classical.has_jacobian == 0:
        first = 3
    elif classical.factor_step == 0.0:
        first = 2
    code = NOT_CONVERGED
    for trial in range(first, 4):
        if trial == 2 and classical.factor_step == c:
            continue
        if trial == 3:
            _go_to(classical, c, classical.guess, 0.0, classical.guess)
            code = evaluate_at(world, source, time)
            if code == OK:
                code = _new_jacobian(world, source, time)
            if code != OK:
                return code
            fresh = True
        if trial > 1:
            code = factorize_stage(world, c)
            if code != OK:
                continue
        code = _iterate(world, source, c, time, False)
        if code not in (NOT_CONVERGED, NON_FINITE):
            return code
    if fresh:
        # Next time, at another step, the Jacobian of this failure is not worth a trial.
        classical.has_jacobian = 0
    return code
