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
d_i = g_i. Efforts of one system may be coupled instead
(`asperity.integrators.external.coupled_efforts`).

Derivatives are taken once per beginning of a step, whatever the number of attempts: they do not
depend on δt. The second half step of step doubling takes the system's present g and h, and the
derivatives of the beginning.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.integrators.external.coupled_efforts import (
    couple_efforts,
    find_exceeded,
    set_own_row,
    set_row,
)
from asperity.integrators.external.linearisation import first_bad, linearise_system, sample_system
from asperity.integrators.external.system_table import EXPLICIT, IMPLICIT, SYSTEM
from asperity.integrators.world_layout import (
    LIMITED,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    compiled_method,
)
from asperity.plant.trees import velocity_from_solver

__all__ = ["SYSTEM_KERNELS", "advance_systems", "limit_systems", "prepare_systems"]


@compiled
def _prepare_state(system: Table, step: float) -> np.ndarray:
    """P applied: how z⁺ depends on u⁺. Returns z⁺ − z at u_0."""
    n = system.rate_now.size
    m = system.velocity.size
    matrix = np.empty((n, n))
    right = np.empty((n, m + 1))
    for i in range(n):
        for j in range(n):
            matrix[i, j] = (1.0 if i == j else 0.0) - step * system.rate_z[i, j]
        right[i, m] = step * system.rate_now[i]
        for b in range(m):
            right[i, b] = step * (step * system.rate_q[i, b] + system.rate_v[i, b])
            right[i, m] -= step * system.rate_v[i, b] * system.velocity[b]
    # Of so small a matrix; Numba needs ten seconds to compile a call of solve.
    inverse = np.linalg.inv(matrix)
    change = np.zeros(n)
    for i in range(n):
        system.state_drift[i] = 0.0
        for j in range(n):
            system.state_drift[i] += inverse[i, j] * right[j, m]
        change[i] = system.state_drift[i]
        for b in range(m):
            system.state_gain[i, b] = 0.0
            for j in range(n):
                system.state_gain[i, b] += inverse[i, j] * right[j, b]
            change[i] += system.state_gain[i, b] * system.velocity[b]
    return change


@compiled
def _prepare_implicit(plant: Table, state: Table, system: Table, step: float) -> int:
    efforts = system.efforts
    first = system.first_effort
    n = system.velocity.size
    nz = system.z.size
    change = np.empty(0)
    if nz > 0:
        change = _prepare_state(system, step)
        if first_bad(change) >= 0:
            return NON_FINITE
    for k in range(n):
        efforts[k] = system.output_now[k]
        for b in range(n):
            slope = step * system.output_q[k, b] + system.output_v[k, b]
            for j in range(nz):
                slope += system.output_z[k, j] * system.state_gain[j, b]
            system.gains[k, b] = -slope
            efforts[k] += step * system.output_q[k, b] * system.velocity[b]
        for j in range(nz):
            efforts[k] += system.output_z[k, j] * change[j]
        if not system.coupled[k]:
            set_own_row(
                state,
                first + k,
                system.gains[k, k],
                system.output_now[k],
                efforts[k],
                system.velocity[k],
            )
    if system.limited.size > 0:
        system.limited[:] = 0
        couple_efforts(plant, state, system)
    return OK


@compiled
def _prepare_explicit(plant: Table, state: Table, system: Table) -> None:
    first = system.first_effort
    for k in range(system.output_now.size):
        set_row(state, first + k, 0.0, system.output_now[k], 0.0)


@compiled_method
def prepare_systems(world: Table, state: Table, _target: Table, step: float) -> int:
    """Write the feedback of every external system into the rows of its efforts."""
    plant = world.plant
    for s in range(world.systems.size):
        system = SYSTEM.at(world.systems[s])
        code = sample_system(plant, system, state)
        if code == OK and system.treatment == IMPLICIT:
            if state.address == world.current.address:
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
def limit_systems(world: Table, state: Table, _target: Table, step: float) -> int:
    """After a solution, limit the coupled efforts that are beyond their limits.

    Returns `LIMITED` if rows have changed and the problem must be solved again.
    """
    plant = world.plant
    problem = world.problem
    code = OK
    for s in range(world.systems.size):
        system = SYSTEM.at(world.systems[s])
        if system.treatment != IMPLICIT or system.members.size == 0:
            continue
        velocity_from_solver(plant, state.cdof, problem.iterate.velocity, world.scratch)
        if find_exceeded(plant, system, world.scratch):
            couple_efforts(plant, state, system)
            code = LIMITED
    return code


@compiled_method
def advance_systems(world: Table, source: Table, target: Table, step: float) -> int:
    """Advance the systems' states to the end of the step that was prepared last."""
    for s in range(world.systems.size):
        system = SYSTEM.at(world.systems[s])
        first = system.first_state
        treatment = system.treatment
        for j in range(system.z.size):
            value = source.system_state[first + j]
            if treatment == EXPLICIT:
                value += step * system.rate_now[j]
            elif treatment == IMPLICIT:
                value += system.state_drift[j]
                for k in range(system.velocity.size):
                    gain = system.state_gain[j, k]
                    for i in range(target.qvel.size):
                        value += gain * system.jacobian[k, i] * target.qvel[i]
            target.system_state[first + j] = value
    return OK


SYSTEM_KERNELS = (prepare_systems, limit_systems, advance_systems)
"""What simulations with external systems need compiled."""
