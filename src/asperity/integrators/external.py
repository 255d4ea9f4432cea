"""External systems: controllers and force elements beside the multibody system (CENIC III-C, V-C).

A system has the state z and outputs y, which are efforts (forces of dofs or actuators):

    ż = h(z, q, v),   y = g(z, q, v).

With u = J v the velocities along its efforts (one each; J are the efforts' generalized Jacobians)
and e = J⁺ the directions of unit velocity, forward differences at the beginning of a step give

    G_q = ∂g/∂q e,  G_v = ∂g/∂v e,  G_z = ∂g/∂z,  H_q = ∂h/∂q e,  H_v = ∂h/∂v e,  H_z = ∂h/∂z.

One Rosenbrock step of size δt (equations 26 to 28), and with it the outputs at the step's end:

    P = (I − δt H_z)⁻¹,   W = δt P (δt H_q + H_v)
    z⁺ = z + δt P (h − H_v u_0) + W u⁺
    y(u) = g + δt G_q u + G_v (u − u_0) + G_z (z⁺(u) − z),   ∂y/∂u = δt G_q + G_v + G_z W

which becomes y⁺ = clamp(−C u⁺ + d) with d = y(u_0) + C u_0 (equation 29), one ``ACTUATOR`` row per
effort. In the paper C = max(0, diag(−∂y/∂u)), and where C_i = 0 the present effort is held,
d_i = g_i. Efforts of one system may be coupled instead (`asperity.integrators.coupled_efforts`).

Derivatives are taken once per beginning of a step, whatever the number of attempts: they do not
depend on δt. The second half step of step doubling takes the system's present g and h, and the
derivatives of the beginning.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, compiled_method
from asperity.convex.problem import PROBLEM
from asperity.integrators.coupled_efforts import (
    couple_efforts,
    find_exceeded,
    set_own_row,
    set_row,
)
from asperity.integrators.layout import LIMITED, NON_FINITE, NOT_CONVERGED, OK, WORLD
from asperity.integrators.linearisation import first_bad, linearise_system, sample_system
from asperity.integrators.system_table import EXPLICIT, IMPLICIT, SYSTEM
from asperity.plant.layouts import STATE
from asperity.plant.trees import velocity_from_solver

__all__ = ["SYSTEM_KERNELS", "advance_systems", "limit_systems", "prepare_systems"]

_world = WORLD.get
_problem = PROBLEM.get
_state = STATE.get
_system = SYSTEM.get


@compiled
def _prepare_state(system, step):
    """P applied: how z⁺ depends on u⁺. Returns z⁺ − z at u_0."""
    rate = _system(system, "rate_now")
    drift = _system(system, "state_drift")
    gain = _system(system, "state_gain")
    rate_q = _system(system, "rate_q")
    rate_v = _system(system, "rate_v")
    rate_z = _system(system, "rate_z")
    velocity = _system(system, "velocity")
    n = rate.size
    m = velocity.size
    matrix = np.empty((n, n))
    right = np.empty((n, m + 1))
    for i in range(n):
        for j in range(n):
            matrix[i, j] = (1.0 if i == j else 0.0) - step * rate_z[i, j]
        right[i, m] = step * rate[i]
        for b in range(m):
            right[i, b] = step * (step * rate_q[i, b] + rate_v[i, b])
            right[i, m] -= step * rate_v[i, b] * velocity[b]
    # Of so small a matrix; Numba needs ten seconds to compile a call of solve.
    inverse = np.linalg.inv(matrix)
    change = np.zeros(n)
    for i in range(n):
        drift[i] = 0.0
        for j in range(n):
            drift[i] += inverse[i, j] * right[j, m]
        change[i] = drift[i]
        for b in range(m):
            gain[i, b] = 0.0
            for j in range(n):
                gain[i, b] += inverse[i, j] * right[j, b]
            change[i] += gain[i, b] * velocity[b]
    return change


@compiled
def _prepare_implicit(plant, state, system, step):
    velocity = _system(system, "velocity")
    output = _system(system, "output_now")
    output_q = _system(system, "output_q")
    output_v = _system(system, "output_v")
    output_z = _system(system, "output_z")
    gain = _system(system, "state_gain")
    gains = _system(system, "gains")
    efforts = _system(system, "efforts")
    coupled = _system(system, "coupled")
    first = _system(system, "first_effort")
    n = velocity.size
    nz = _system(system, "z").size
    change = np.empty(0)
    if nz > 0:
        change = _prepare_state(system, step)
        if first_bad(change) >= 0:
            return NON_FINITE
    for k in range(n):
        efforts[k] = output[k]
        for b in range(n):
            slope = step * output_q[k, b] + output_v[k, b]
            for j in range(nz):
                slope += output_z[k, j] * gain[j, b]
            gains[k, b] = -slope
            efforts[k] += step * output_q[k, b] * velocity[b]
        for j in range(nz):
            efforts[k] += output_z[k, j] * change[j]
        if not coupled[k]:
            set_own_row(state, first + k, gains[k, k], output[k], efforts[k], velocity[k])
    limited = _system(system, "limited")
    if limited.size > 0:
        for a in range(limited.size):
            limited[a] = 0
        couple_efforts(plant, state, system)
    return OK


@compiled
def _prepare_explicit(plant, state, system):
    output = _system(system, "output_now")
    first = _system(system, "first_effort")
    for k in range(output.size):
        set_row(state, first + k, 0.0, output[k], 0.0)


@compiled_method
def prepare_systems(world, state, _target, step):
    """Write the feedback of every external system into the rows of its efforts."""
    plant = _world(world, "plant")
    systems = _world(world, "systems")
    for s in range(systems.size):
        system = systems[s]
        code = sample_system(plant, system, state)
        if code == OK and _system(system, "treatment") == IMPLICIT:
            if state == _world(world, "current"):
                code = linearise_system(plant, system, state)
            if code == OK:
                # Nothing here raises but LAPACK.
                try:
                    code = _prepare_implicit(plant, state, system, step)
                except Exception:
                    code = NOT_CONVERGED
        elif code == OK:
            _prepare_explicit(plant, state, system)
        if code != OK:
            return code
    return OK


@compiled_method
def limit_systems(world, state, _target, step):
    """After a solution, limit the coupled efforts that are beyond their limits.

    Returns `LIMITED` if rows have changed and the problem must be solved again.
    """
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    systems = _world(world, "systems")
    scratch = _world(world, "scratch")
    code = OK
    for s in range(systems.size):
        system = systems[s]
        if _system(system, "treatment") != IMPLICIT or _system(system, "members").size == 0:
            continue
        velocity_from_solver(plant, _state(state, "cdof"), _problem(problem, "velocity"), scratch)
        if find_exceeded(plant, system, scratch):
            couple_efforts(plant, state, system)
            code = LIMITED
    return code


@compiled_method
def advance_systems(world, source, target, step):
    """Advance the systems' states to the end of the step that was prepared last."""
    systems = _world(world, "systems")
    before = _state(source, "system_state")
    after = _state(target, "system_state")
    qvel = _state(target, "qvel")
    for s in range(systems.size):
        system = systems[s]
        first = _system(system, "first_state")
        treatment = _system(system, "treatment")
        rate = _system(system, "rate_now")
        jacobian = _system(system, "jacobian")
        for j in range(_system(system, "z").size):
            value = before[first + j]
            if treatment == EXPLICIT:
                value += step * rate[j]
            elif treatment == IMPLICIT:
                value += _system(system, "state_drift")[j]
                for k in range(_system(system, "velocity").size):
                    gain = _system(system, "state_gain")[j, k]
                    for i in range(qvel.size):
                        value += gain * jacobian[k, i] * qvel[i]
            after[first + j] = value
    return OK


SYSTEM_KERNELS = (prepare_systems, limit_systems, advance_systems)
"""What simulations with external systems need compiled."""
