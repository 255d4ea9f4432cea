"""Derivatives of the dynamics by forward differences, and the matrix of implicit stages.

With ẋ = f(x), x = (u, v) and u̇ = v, a stage x = b + c f(x) is a system for velocities alone,

    g(v) = v − b_v − c a(q_0 ⊕ (b_u + c v), v) = 0,    ∂g/∂v = G = I − c J_v − c² J_q,

where J_q and J_v are the derivatives of the acceleration a with respect to displacements and
velocities. They are kept apart, so that G can be had for another c without another evaluation.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_ppp_status
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.methods.classical.stages import place
from asperity.integrators.methods.square_lu import factorize_square
from asperity.integrators.world_layout import NOT_CONVERGED, OK, WORLD
from asperity.plant.plant_layouts import STATE

__all__ = ["differentiate", "evaluate_at", "factorize_stage"]

_ROOT_OF_EPSILON = 1.4901161193847656e-08


@compiled
def evaluate_at(world: Table, source: Table, time: float) -> int:
    """Evaluate the dynamics in ``work``, at the table's displacement and velocity."""
    classical = CLASSICAL.at(world.memory)
    place(world, source, classical.work, time)
    return call_ppp_status(classical.dynamics, world, classical.work, classical)


@entry_point(types.int64(WORLD.type, STATE.type, types.float64, STATE.type))
def differentiate(world: Table, source: Table, time: float, _state: Table) -> int:
    """Fill J_q and J_v at the table's displacement and velocity, in 2 nv evaluations.

    The dynamics must have been evaluated there; their acceleration is in the table afterwards too.
    """
    classical = CLASSICAL.at(world.memory)
    displacement = classical.displacement
    velocity = classical.velocity
    acceleration = classical.acceleration
    base = classical.acceleration_of[1]
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
            classical.position_jacobian[i * n + j] = (acceleration[i] - base[i]) / size
        value = velocity[j]
        velocity[j] = value + _ROOT_OF_EPSILON * max(1.0, abs(value))
        size = velocity[j] - value
        code = evaluate_at(world, source, time)
        velocity[j] = value
        if code != OK:
            return code
        for i in range(n):
            classical.velocity_jacobian[i * n + j] = (acceleration[i] - base[i]) / size
    for i in range(n):
        acceleration[i] = base[i]
    classical.has_jacobian = 1
    classical.factor_step = 0.0
    return OK


@compiled
def factorize_stage(world: Table, c: float) -> int:
    """Factorize G for a c [s], unless that is at hand."""
    classical = CLASSICAL.at(world.memory)
    if classical.factor_step == c:
        return OK
    n = classical.pivot.size
    for k in range(n * n):
        classical.factor[k] = -c * (
            classical.velocity_jacobian[k] + c * classical.position_jacobian[k]
        )
    for i in range(n):
        classical.factor[i * n + i] += 1.0
    classical.factor_step = 0.0
    if not factorize_square(classical.factor.ctypes.data, 8 * n, n, classical.pivot, 0):
        return NOT_CONVERGED
    world.problem.counts.factorizations += 1
    classical.factor_step = c
    return OK
