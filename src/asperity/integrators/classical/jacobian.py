"""Derivatives of the dynamics by forward differences, and the matrix of implicit stages.

With ẋ = f(x), x = (u, v) and u̇ = v, a stage x = b + c f(x) is a system for velocities alone,

    g(v) = v − b_v − c a(q_0 ⊕ (b_u + c v), v) = 0,    ∂g/∂v = G = I − c J_v − c² J_q,

where J_q and J_v are the derivatives of the acceleration a with respect to displacements and
velocities. They are kept apart, so that G can be had for another c without another evaluation.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled, entry_point
from asperity.compiled.calls import call_ppp_status
from asperity.convex.problem import FACTORIZATIONS, PROBLEM
from asperity.integrators.classical.layout import CLASSICAL, FACTOR_STEP, HAS_JACOBIAN
from asperity.integrators.classical.stages import place
from asperity.integrators.layout import NOT_CONVERGED, OK, WORLD
from asperity.integrators.tamsi.block_lu import lu

__all__ = ["differentiate", "evaluate_at", "factorize_stage"]

_ROOT_OF_EPSILON = 1.4901161193847656e-08

_world = WORLD.get
_problem = PROBLEM.get
_classical = CLASSICAL.get


@compiled
def evaluate_at(world, source, time):
    """Evaluate the dynamics in ``work``, at the table's displacement and velocity."""
    work = _world(world, "work")
    classical = _world(world, "classical")
    place(world, source, work, time)
    return call_ppp_status(_classical(classical, "dynamics"), world, work, classical)


@entry_point(types.int64(types.int64, types.int64, types.float64, types.int64))
def differentiate(world, source, time, _state):
    """Fill J_q and J_v at the table's displacement and velocity, in 2 nv evaluations.

    The dynamics must have been evaluated there; their acceleration is in the table afterwards too.
    """
    classical = _world(world, "classical")
    displacement = _classical(classical, "displacement")
    velocity = _classical(classical, "velocity")
    acceleration = _classical(classical, "acceleration")
    base = _classical(classical, "acceleration_of")[1]
    by_position = _classical(classical, "position_jacobian")
    by_velocity = _classical(classical, "velocity_jacobian")
    n = velocity.size
    for i in range(n):
        base[i] = acceleration[i]
    for j in range(n):
        value = displacement[j]
        displacement[j] = value + _ROOT_OF_EPSILON * max(1.0, abs(value))
        # What was really added, after rounding.
        size = displacement[j] - value
        code = evaluate_at(world, source, time)
        displacement[j] = value
        if code != OK:
            return code
        for i in range(n):
            by_position[i * n + j] = (acceleration[i] - base[i]) / size
        value = velocity[j]
        velocity[j] = value + _ROOT_OF_EPSILON * max(1.0, abs(value))
        size = velocity[j] - value
        code = evaluate_at(world, source, time)
        velocity[j] = value
        if code != OK:
            return code
        for i in range(n):
            by_velocity[i * n + j] = (acceleration[i] - base[i]) / size
    for i in range(n):
        acceleration[i] = base[i]
    _classical(classical, "ints")[HAS_JACOBIAN] = 1
    _classical(classical, "reals")[FACTOR_STEP] = 0.0
    return OK


@compiled
def factorize_stage(world, c):
    """Factorize G for a c [s], unless that is at hand."""
    classical = _world(world, "classical")
    reals = _classical(classical, "reals")
    if reals[FACTOR_STEP] == c:
        return OK
    factor = _classical(classical, "factor")
    by_position = _classical(classical, "position_jacobian")
    by_velocity = _classical(classical, "velocity_jacobian")
    pivot = _classical(classical, "pivot")
    n = pivot.size
    for k in range(n * n):
        factor[k] = -c * (by_velocity[k] + c * by_position[k])
    for i in range(n):
        factor[i * n + i] += 1.0
    reals[FACTOR_STEP] = 0.0
    if not lu(factor, 0, n, pivot, 0):
        return NOT_CONVERGED
    _problem(_world(world, "problem"), "statistics")[FACTORIZATIONS] += 1
    reals[FACTOR_STEP] = c
    return OK
