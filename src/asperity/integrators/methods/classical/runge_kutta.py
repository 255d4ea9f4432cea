"""Runge–Kutta and Rosenbrock methods from their tableaux.

With the dynamics f, the rates K_i of a step of size h from x_0 are

explicit              K_i = f(x_0 + h Σ_j a_ij K_j)
diagonally implicit   K_i = f(x_0 + h Σ_j a_ij K_j + γ h K_i)
Rosenbrock            (I − γ h J) K_i = γ (f(x_0 + h Σ_j a_ij K_j) + Σ_j c_ij K_j)

with J = ∂f/∂x at x_0. The step ends at x = x_0 + h Σ b_i K_i, and x̂ = x_0 + h Σ b̂_i K_i estimates
its error. The methods are

- Kutta's third-order rule with the midpoint rule as its reference, the pair of Drake's RungeKutta3,
- implicit Euler,
- SDIRK2 with γ = 1 − 1/√2 (Kennedy and Carpenter),
- the two-stage Rosenbrock method of FATODE with the same γ.

A step of the last one in which a joint meets or leaves a limit is done by SDIRK2 instead, because J
is another one then. The implicit ones are L-stable. They advance activations and the states of
external systems with the rates of the step's beginning: activations to the time of each diagonally
implicit stage, all else first, to the step's end. With the latter the order is one. So is the
Rosenbrock method's with forces that depend on time itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.compiled import Table, compiled, higher_order
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_ppdd_status, call_ppdp_status, call_ppp_status
from asperity.contact.constraint_laws import limit_forces
from asperity.contact.constraint_set import LIMIT
from asperity.integrators.methods.classical.jacobian import evaluate_at, factorize_stage
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.methods.classical.stages import evaluate_stage, place, system_rates
from asperity.integrators.methods.motion import (
    advance_activations,
    ensure_evaluated,
    position_difference,
)
from asperity.integrators.methods.square_lu import solve_square
from asperity.integrators.world_layout import END_VELOCITY, OK, compiled_method

__all__ = [
    "implicit_euler_method",
    "rosenbrock_2_method",
    "runge_kutta_3_method",
    "sdirk_2_method",
]

_GAMMA = 1.0 - np.sqrt(0.5)
_ALPHA = 2.0 - 1.25 * np.sqrt(2.0)
_NONE = (0.0, 0.0)
# Of a stage, which no method returns.
_MEETS_LIMIT = -1

_Row = tuple[float, ...]


class _Tableau(NamedTuple):
    """The numbers of a method, as the module's docstring has them; rows are of one length."""

    a: tuple[_Row, ...]
    times: _Row
    """At which stages are evaluated, over h."""
    b: _Row
    embedded: _Row
    """b̂."""
    gamma: float = 0.0
    c: tuple[_Row, ...] = (_NONE,)
    order: int = 0
    """Of the error estimate; 0 if there is none."""


_KUTTA = _Tableau(
    a=((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (-1.0, 2.0, 0.0)),
    times=(0.0, 0.5, 1.0),
    b=(1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0),
    embedded=(0.0, 1.0, 0.0),
    order=3,
)
_EULER = _Tableau(a=((0.0,),), times=(1.0,), b=(1.0,), embedded=(1.0,), gamma=1.0)
_SDIRK = _Tableau(
    a=(_NONE, (1.0 - _GAMMA, 0.0)),
    times=(_GAMMA, 1.0),
    b=(1.0 - _GAMMA, _GAMMA),
    embedded=(1.0 - _ALPHA, _ALPHA),
    gamma=_GAMMA,
    order=2,
)
_ROSENBROCK = _Tableau(
    a=(_NONE, (1.0 / _GAMMA, 0.0)),
    times=(0.0, 1.0),
    b=(1.5 / _GAMMA, 0.5 / _GAMMA),
    embedded=(1.0 / _GAMMA, 0.0),
    gamma=_GAMMA,
    c=(_NONE, (-2.0 / _GAMMA, 0.0)),
    order=2,
)


@compiled
def _add(rates: np.ndarray, weights: _Row, stages: int, step: float, out: np.ndarray) -> None:
    """``out += h Σ w_i K_i`` over the first stages: the others may hold anything."""
    for stage in range(stages):
        for i in range(out.size):
            out[i] += step * weights[stage] * rates[stage, i]


@compiled
def _go_to(
    classical: Table, source: Table, weights: _Row, stages: int, step: float, explicit: bool
) -> None:
    """Put ``x_0 + h Σ w_i K_i`` into the table."""
    classical.displacement[:] = 0.0
    _add(classical.rate, weights, stages, step, classical.displacement)
    classical.velocity[:] = source.qvel
    _add(classical.acceleration_of, weights, stages, step, classical.velocity)
    if explicit:
        classical.activation[:] = source.act
        _add(classical.activation_rate, weights, stages, step, classical.activation)
        classical.system_state[:] = source.system_state
        _add(classical.system_rate, weights, stages, step, classical.system_state)


@compiled
def _begin_implicit(world: Table, source: Table, target: Table, step: float) -> int:
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
        copy_numbers(target.act, classical.activation)
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
def _explicit_stage(world: Table, source: Table, tableau: _Tableau, stage: int, step: float) -> int:
    """Evaluate K_i, each stage in a state of its own: others may look at them between steps."""
    state = source
    if stage == 1:
        state = world.half
    elif stage == 2:
        state = world.full
    if stage > 0:
        place(world, source, state, tableau.times[stage] * step)
    return evaluate_stage(world, state, stage)


@compiled
def _implicit_stage(world: Table, source: Table, tableau: _Tableau, stage: int, step: float) -> int:
    """Solve for K_i by Newton's method, from the velocity of the stage before."""
    classical = CLASSICAL.at(world.memory)
    if world.plant.na > 0:
        advance_activations(world.plant, source, classical.work, tableau.times[stage] * step)
        copy_numbers(classical.work.act, classical.activation)
    c = tableau.gamma * step
    n = classical.guess.size
    for i in range(n):
        classical.base_displacement[i] = classical.displacement[i]
        classical.base_velocity[i] = classical.velocity[i]
    code = call_ppdd_status(classical.solve_stage, world, source, c, tableau.times[stage] * step)
    for i in range(n):
        classical.guess[i] = classical.iterate[i]
        classical.rate[stage, i] = classical.iterate[i]
        acceleration = (classical.iterate[i] - classical.base_velocity[i]) / c
        classical.acceleration_of[stage, i] = acceleration
    return code


@compiled
def _linearise(world: Table, source: Table, c: float) -> int:
    """Evaluate the dynamics and I − c J at the step's beginning."""
    classical = CLASSICAL.at(world.memory)
    evaluated = source
    if classical.activation.size + classical.system_state.size > 0:
        # Differences must not see activations and system states jump.
        evaluated = classical.work
        code = evaluate_at(world, source, 0.0)
    else:
        code = call_ppp_status(classical.dynamics, world, source, classical)
    if code == OK:
        code = call_ppdp_status(classical.differentiate, world, source, 0.0, evaluated)
    if code == OK:
        code = factorize_stage(world, c)
    return code


@compiled
def _limit_side(state: Table, row: int, stiff_step: float) -> int:
    """Which side of a limit acts in a state that has been evaluated: −1, 1, or 0 for none."""
    rows = state.rows
    if rows.kind[row] != LIMIT:
        return 0
    u = 0.0
    for entry in range(rows.start[row, 0], rows.start[row, 2]):
        u += rows.jacobian[entry] * state.velocity[rows.dof[entry]]
    _, below, above = limit_forces(
        u, rows.position[row], rows.lower[row], rows.upper[row], rows.inverse_mass[row], stiff_step
    )
    return int(below > 0.0) - int(above > 0.0)


@compiled
def _meets_limit(world: Table, source: Table) -> bool:
    """Whether other limits act in the stage last evaluated than at the step's beginning."""
    classical = CLASSICAL.at(world.memory)
    work = classical.work
    # A ball joint has no row where it is not turned.
    alike = source.rows.count == work.rows.count
    for row in range(work.rows.count):
        side = _limit_side(work, row, classical.stiff_step)
        if alike and source.rows.source[row] == work.rows.source[row]:
            if side != _limit_side(source, row, classical.stiff_step):
                return True
        elif side != 0:
            return True
    return False


@compiled
def _rosenbrock_stage(
    world: Table, source: Table, tableau: _Tableau, stage: int, step: float
) -> int:
    """Solve for K_i with the factors of the first stage."""
    classical = CLASSICAL.at(world.memory)
    c = tableau.gamma * step
    if stage == 0:
        code = _linearise(world, source, c)
        world.problem.counts.iterations += 1
    else:
        code = evaluate_at(world, source, tableau.times[stage] * step)
        if code == OK and _meets_limit(world, source):
            return _MEETS_LIMIT
    if code != OK:
        return code
    right_u = classical.base_displacement
    right_v = classical.base_velocity
    right_u[:] = classical.velocity
    _add(classical.rate, tableau.c[stage], stage, 1.0, right_u)
    right_v[:] = classical.acceleration
    _add(classical.acceleration_of, tableau.c[stage], stage, 1.0, right_v)
    x = classical.update
    n = x.size
    for i in range(n):
        x[i] = right_v[i]
        for j in range(n):
            x[i] += c * classical.position_jacobian[i * n + j] * right_u[j]
    solve_square(classical.factor.ctypes.data, 8 * n, n, classical.pivot, 0, x.ctypes.data, 8, 1)
    for i in range(n):
        classical.acceleration_of[stage, i] = tableau.gamma * x[i]
        classical.rate[stage, i] = tableau.gamma * (right_u[i] + c * x[i])
    return OK


@compiled
def _finish(
    world: Table, source: Table, target: Table, step: float, tableau: _Tableau, explicit: bool
) -> None:
    """Put the end of the step into the target, and the embedded solution into ``full``."""
    classical = CLASSICAL.at(world.memory)
    full = world.full
    stages = len(tableau.b)
    _go_to(classical, source, tableau.b, stages, step, explicit)
    place(world, source, target, step)
    # Contacts and poses there are those of the last stage.
    world.result.sample = full.address if explicit else classical.work.address
    world.result.error_order = 0
    if tableau.order == 0 or target.address == full.address:
        # Of a part of a step nobody asks for the error.
        return
    _go_to(classical, source, tableau.embedded, stages, step, explicit)
    place(world, source, full, step)
    position_difference(world.plant, full, target, world.result.error)
    world.result.error_order = tableau.order


@higher_order
def _step(solve, world, source, target, step, tableau):  # type: ignore[no-untyped-def]
    """One step with rates from ``solve(world, source, tableau, stage, step)``."""
    explicit = tableau.gamma == 0.0
    classical = CLASSICAL.at(world.memory)
    code = OK if explicit else _begin_implicit(world, source, target, step)
    stage = 0
    while code == OK and stage < len(tableau.b):
        _go_to(classical, source, tableau.a[stage], stage, step, explicit)
        code = solve(world, source, tableau, stage, step)
        stage += 1
    if code == OK:
        _finish(world, source, target, step, tableau, explicit)
    return code


@compiled_method
def runge_kutta_3_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of Kutta's third-order rule."""
    return _step(_explicit_stage, world, source, target, step, _KUTTA)


@compiled_method
def implicit_euler_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of implicit Euler, without an error estimate."""
    return _step(_implicit_stage, world, source, target, step, _EULER)


@compiled_method
def sdirk_2_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of SDIRK2."""
    return _step(_implicit_stage, world, source, target, step, _SDIRK)


@compiled_method
def rosenbrock_2_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of the Rosenbrock method, or of SDIRK2 if a joint meets or leaves a limit.

    J would then be wrong by a near-rigid force, which throws the joint back with up to thousands of
    times its speed.
    """
    code = _step(_rosenbrock_stage, world, source, target, step, _ROSENBROCK)
    if code == _MEETS_LIMIT:
        return _step(_implicit_stage, world, source, target, step, _SDIRK)
    return code
