"""Implicit Euler, the two-stage SDIRK method and the two-stage Rosenbrock method.

With f the dynamics, γ = 1 − 1/√2 and J the Jacobian of f at the step's beginning:

implicit Euler   x = x_0 + h f(x)
SDIRK2           k_1 = f(x_0 + γ h k_1),   k_2 = f(x_0 + (1 − γ) h k_1 + γ h k_2),
                 x = x_0 + (1 − γ) h k_1 + γ h k_2,
                 x̂ = x_0 + (1 − α) h k_1 + α h k_2,   α = 2 − 5√2/4        (Kennedy & Carpenter)
Rosenbrock 2     G k_1 = f(x_0),   G k_2 = f(x_0 + k_1/γ) − 2 k_1/(γ h),   G = I/(γ h) − J,
                 x = x_0 + (3 k_1 + k_2)/(2 γ),   x̂ = x_0 + k_1/γ                     (FATODE)

All three are L-stable. Activations and the states of external systems are advanced first, with the
rates of the step's beginning: with them the order is one. So is the Rosenbrock method's with forces
that depend on time itself.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_ppdd_status, call_ppdp_status, call_ppp_status
from asperity.integrators.methods.classical.jacobian import evaluate_at, factorize_stage
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.methods.classical.stages import place, system_rates
from asperity.integrators.methods.motion import (
    advance_activations,
    ensure_evaluated,
    position_difference,
)
from asperity.integrators.methods.square_lu import solve_square
from asperity.integrators.world_layout import (
    END_VELOCITY,
    OK,
    compiled_method,
)

__all__ = ["implicit_euler_method", "rosenbrock_2_method", "sdirk_2_method"]

_GAMMA = 1.0 - np.sqrt(0.5)
_ALPHA = 2.0 - 1.25 * np.sqrt(2.0)


@compiled
def _begin(world: Table, source: Table, target: Table, step: float) -> int:
    """Advance activations and the states of systems, and set the guess.

    That is what step doubling says, or the velocity now.
    """
    plant = world.plant
    classical = CLASSICAL.at(world.memory)
    if plant.na > 0:
        code = ensure_evaluated(world, source)
        if code != OK:
            return code
        advance_activations(plant, source, target, step)
        for i in range(target.act.size):
            classical.activation[i] = target.act[i]
    z = classical.system_state
    if z.size > 0:
        code = call_ppp_status(classical.dynamics, world, source, classical)
        if code != OK:
            return code
        system_rates(world, z)
        for i in range(z.size):
            z[i] = source.system_state[i] + step * z[i]
    for i in range(classical.guess.size):
        classical.guess[i] = world.guess[i] if world.guess_kind == END_VELOCITY else source.qvel[i]
    world.guess_kind = 0
    return OK


@compiled
def _solve(world: Table, source: Table, c: float, time: float) -> int:
    classical = CLASSICAL.at(world.memory)
    return call_ppdd_status(classical.solve_stage, world, source, c, time)


@compiled_method
def implicit_euler_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of implicit Euler, without an error estimate."""
    code = _begin(world, source, target, step)
    if code != OK:
        return code
    classical = CLASSICAL.at(world.memory)
    for i in range(classical.base_displacement.size):
        classical.base_displacement[i] = 0.0
        classical.base_velocity[i] = source.qvel[i]
    code = _solve(world, source, step, step)
    if code != OK:
        return code
    place(world, source, target, step)
    world.result.error_order = 0
    world.result.sample = classical.work.address
    return OK


@compiled
def _finish(world: Table, source: Table, target: Table, step: float) -> None:
    """Compare the target with the embedded solution, which the table holds."""
    full = world.full
    world.result.sample = CLASSICAL.at(world.memory).work.address
    world.result.error_order = 0
    if target.address == full.address:
        # A part of a step: nobody asks for its error.
        return
    place(world, source, full, step)
    position_difference(world.plant, full, target, world.result.error)
    world.result.error_order = 2


@compiled_method
def sdirk_2_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of SDIRK2, with the embedded solution in the state ``full``."""
    code = _begin(world, source, target, step)
    if code != OK:
        return code
    classical = CLASSICAL.at(world.memory)
    base = classical.base_displacement
    iterate = classical.iterate
    first = classical.rate[0]
    first_acceleration = classical.acceleration_of[0]
    qvel = source.qvel
    c = _GAMMA * step
    for i in range(base.size):
        base[i] = 0.0
        classical.base_velocity[i] = qvel[i]
    code = _solve(world, source, c, c)
    if code != OK:
        return code
    rest = step - c
    for i in range(base.size):
        first[i] = iterate[i]
        first_acceleration[i] = (iterate[i] - qvel[i]) / c
        classical.guess[i] = iterate[i]
        base[i] = rest * first[i]
        classical.base_velocity[i] = qvel[i] + rest * first_acceleration[i]
    code = _solve(world, source, c, step)
    if code != OK:
        return code
    place(world, source, target, step)
    for i in range(base.size):
        acceleration = (iterate[i] - classical.base_velocity[i]) / c
        classical.displacement[i] = step * ((1.0 - _ALPHA) * first[i] + _ALPHA * iterate[i])
        classical.velocity[i] = qvel[i] + step * (
            (1.0 - _ALPHA) * first_acceleration[i] + _ALPHA * acceleration
        )
    _finish(world, source, target, step)
    return OK


@compiled
def _rosenbrock_stage(
    classical: Table, c: float, right_u: np.ndarray, right_v: np.ndarray, stage: int
) -> None:
    """Solve G k = (r_u, r_v); k_u and k_v are kept as rates of a stage."""
    x = classical.update
    k_u = classical.rate[stage]
    k_v = classical.acceleration_of[stage]
    n = x.size
    for i in range(n):
        value = right_v[i]
        for j in range(n):
            value += c * classical.position_jacobian[i * n + j] * right_u[j]
        x[i] = c * value
    solve_square(classical.factor.ctypes.data, 8 * n, n, classical.pivot, 0, x.ctypes.data, 8, 1)
    for i in range(n):
        k_v[i] = x[i]
        k_u[i] = c * (right_u[i] + x[i])


@compiled_method
def rosenbrock_2_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of the Rosenbrock method, with the embedded solution in the state ``full``."""
    code = _begin(world, source, target, step)
    if code != OK:
        return code
    classical = CLASSICAL.at(world.memory)
    displacement = classical.displacement
    velocity = classical.velocity
    right_u = classical.rate[2]
    right_v = classical.acceleration_of[2]
    k_u = classical.rate
    k_v = classical.acceleration_of
    qvel = source.qvel
    n = qvel.size
    c = _GAMMA * step
    for i in range(n):
        displacement[i] = 0.0
        velocity[i] = qvel[i]
    if classical.activation.size + classical.system_state.size > 0:
        # Differences must not see activations and system states jump.
        evaluated = classical.work
        code = evaluate_at(world, source, 0.0)
    else:
        evaluated = source
        code = call_ppp_status(classical.dynamics, world, source, classical)
    if code == OK:
        differentiate = classical.differentiate
        code = call_ppdp_status(differentiate, world, source, 0.0, evaluated)
    if code == OK:
        code = factorize_stage(world, c)
    if code != OK:
        return code
    for i in range(n):
        right_u[i] = qvel[i]
        right_v[i] = classical.acceleration[i]
    _rosenbrock_stage(classical, c, right_u, right_v, 0)
    for i in range(n):
        displacement[i] = k_u[0, i] / _GAMMA
        velocity[i] = qvel[i] + k_v[0, i] / _GAMMA
    code = evaluate_at(world, source, step)
    if code != OK:
        return code
    for i in range(n):
        right_u[i] = velocity[i] - 2.0 * k_u[0, i] / c
        right_v[i] = classical.acceleration[i] - 2.0 * k_v[0, i] / c
    _rosenbrock_stage(classical, c, right_u, right_v, 1)
    world.problem.iterations += 1
    share = 0.5 / _GAMMA
    for i in range(n):
        displacement[i] = share * (3.0 * k_u[0, i] + k_u[1, i])
        velocity[i] = qvel[i] + share * (3.0 * k_v[0, i] + k_v[1, i])
    place(world, source, target, step)
    for i in range(n):
        displacement[i] = k_u[0, i] / _GAMMA
        velocity[i] = qvel[i] + k_v[0, i] / _GAMMA
    _finish(world, source, target, step)
    return OK
