"""The second-order trapezoid scheme (CENIC V-B, equation 25; docs/equations.md, ‘Trapezoid’).

A full ICF step gives x̂. With hats for x̂, a second solve takes means of the beginning and of x̂:

    (M_0 + M̂ + δt D + ½ δt² K)(v − v_0) = δt (f_0 + f̂) + ... + j_0 + Ĵᵀ γ(Ĵ v),
    q = q_0 ⊕ ½ δt (v + v_0),

This is twice the momentum balance, so the potentials need no factor. Their elastic forces are those
of x̂, stepped backwards: f_e0 = f_e(q̂) + δt k v̂_n. Springs and dampers of joints follow the
implicit trapezoid rule. j_0 are the impulses δt·f of the continuous laws at the beginning. Limits
and equalities have no continuous law, and take those of the full step. The difference to x̂
estimates the error.

**Damping.** The trapezoid rule damps nothing that is faster than the step, because the force of the
beginning acts for half of it. Stiff contacts in long steps ring, creep and launch bodies. So
`DampedTrapezoid` also solves such steps by extrapolated step doubling, from the same x̂. It takes
that result for islands with a contact that carries force and is not resolved, k w δt² > 4 with its
inverse mass w, or k w d x δt > 1 with its overlap x, or with a limit that pushes. Free motion and
resolved contacts keep the trapezoid.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Kernel, Layout, Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method
from asperity.contact.constraint_laws import DRIFT_SPEED
from asperity.contact.constraint_set import ACTUATOR, FRICTION, LIMIT, PASSIVE
from asperity.contact.laws import friction_of_contact
from asperity.convex.contact_velocities import add_impulses, row_velocities
from asperity.convex.ellipsoids import slip_square
from asperity.convex.potentials.lagged import prepare_lagged
from asperity.convex.potentials.rows import prepare_rows
from asperity.integrators.methods.convex_step import graph_of, minimise, velocities_at
from asperity.integrators.methods.extrapolation import Extrapolation, extrapolation_method
from asperity.integrators.methods.method import Method, WrappingMethod
from asperity.integrators.methods.motion import (
    advance_activations,
    ensure_evaluated,
    integrate_positions,
    move_positions,
    position_difference,
)
from asperity.integrators.results import keep_results
from asperity.integrators.world import World
from asperity.integrators.world_layout import END_VELOCITY, OK, compiled_method
from asperity.plant.model.actuation import set_asked_servos
from asperity.plant.trees import (
    add_mass,
    turn_along,
    turn_origins,
    velocity_from_solver,
)

__all__ = ["DampedTrapezoid", "Trapezoid", "trapezoid_method"]

TRAPEZOID = Layout(
    "trapezoid",
    doubling="i8",  # the kernel of step doubling for islands that are not smooth, or 0
    # of every tree: its island at the beginning and at the end, and 1 if it is doubled
    island="i8[2, trees]",
    doubled="i8[trees]",
    rough="i8[trees]",  # per island
    # the trapezoid's solution
    qpos="f8[nq]",
    qvel="f8[nv]",
    error="f8[nv]",
)

# k w δt² up to which a step resolves a contact: (δt ω)², and half a period is π/ω. And the rate of
# its damping, k w d x, times the step: the damper of the beginning acts for half of it.
_RESOLVED = 4.0
_DAMPED = 1.0


@compiled
def _impulses_now(graph: Table, law: Table, iterate: Table, state: Table, step: float) -> None:
    """Replace the impulses of the last solve by δt·f of the continuous laws, where there are such.

    Needs contact and row velocities at the state's own velocity.
    """
    contacts = state.contacts
    rows = state.rows
    order = graph.contact
    for i in range(contacts.count):
        c = order[i]
        normal = (
            step
            * contacts.stiffness[c]
            * max(-contacts.signed_distance[c], 0.0)
            * max(1.0 - contacts.dissipation[c] * iterate.vn[i], 0.0)
        )
        square = slip_square(graph, iterate, i, 0.0)
        coefficient = friction_of_contact(contacts, c, np.sqrt(square))
        f = coefficient * normal / np.sqrt(square + law.soft_slip_square[i])
        iterate.g1[i] = -f * iterate.v1[i]
        iterate.g2[i] = -f * iterate.v2[i]
        if graph.ellipsoids != 0:
            for k in range(3):
                iterate.turn_impulse[i, k] = -f * iterate.turn[i, k]
        iterate.gn[i] = normal
    order = graph.row
    for i in range(rows.count):
        r = order[i]
        if rows.kind[r] == FRICTION:
            iterate.row_impulse[i] = (
                -step
                * rows.upper[r]
                * iterate.row_u[i]
                / np.sqrt(iterate.row_u[i] * iterate.row_u[i] + rows.lower[r] * rows.lower[r])
            )
        elif rows.kind[r] in (ACTUATOR, PASSIVE):
            iterate.row_impulse[i] = step * min(max(rows.force[r], rows.lower[r]), rows.upper[r])


@compiled
def _smooth_terms(
    world: Table, source: Table, full: Table, step: float, start_impulse: np.ndarray
) -> None:
    """Fill A, diag(M) and r; ``start_impulse`` is j_0 in the solver velocities of the source."""
    plant = world.plant
    trees = plant.trees
    dofs = plant.dofs
    problem = world.problem
    smooth = problem.smooth
    matrix = smooth.matrix
    smooth.plain_mass = 0
    rhs = smooth.rhs
    product = problem.iterate.product
    copy_numbers(full.mass, matrix)
    add_mass(
        plant,
        source.mass,
        source.cdof,
        full.cdof,
        matrix,
    )
    # Forces at the beginning and j_0, changed to the solver velocities of x̂.
    for i in range(rhs.size):
        product[i] = step * source.force[i] + start_impulse[i]
    turn_along(plant, source.cdof, full.cdof, product, rhs)
    turn_along(plant, source.cdof, full.cdof, source.velocity, product)
    for tree in range(plant.ntree):
        s = trees.start[tree]
        n = trees.size[tree]
        block = trees.block_start[tree]
        for i in range(n):
            value = 0.0
            for j in range(n):
                value += matrix[block + i * n + j] * product[s + j]
            smooth.impulse[s + i] = step * full.force[s + i]
            rhs[s + i] += value + smooth.impulse[s + i]
            smooth.mass_diagonal[s + i] = 2.0 * full.mass_diagonal[s + i]
            smooth.mass_inverse_diagonal[s + i] = 0.5 / full.mass_diagonal[s + i]
            if not trees.spatial[tree]:
                v = product[s + i]
                rhs[s + i] -= step * dofs.damping[s + i] * v
                rhs[s + i] -= step * step * dofs.stiffness[s + i] * (0.5 * v - full.qvel[s + i])
        if not trees.spatial[tree]:
            for i in range(n):
                matrix[block + i * n + i] += step * (
                    dofs.damping[s + i] + 0.5 * step * dofs.stiffness[s + i]
                )


@compiled
def _backward_potentials(world: Table, source: Table, full: Table, step: float) -> None:
    """Fill the numbers of all potentials from x̂, stepped backwards."""
    plant = world.plant
    problem = world.problem
    graph, iterate = problem.graph, problem.iterate
    rows = full.rows
    ncontact, nrow = velocities_at(graph, iterate, full, full.velocity)
    prepare_lagged(graph, problem.law, iterate, full.contacts, step, ncontact, step)
    turn_along(plant, source.cdof, full.cdof, source.velocity, iterate.product)
    row_velocities(graph, rows, 0, nrow, iterate.product, iterate.row_du)
    prepare_rows(problem, rows, step, step, step, DRIFT_SPEED, nrow, True)


@compiled
def _note_rough(
    memory: Table, graph: Table, iterate: Table, state: Table, step: float, end: int
) -> None:
    """Keep the islands of a state's graph, and mark trees with stiff contacts or limits.

    Needs the impulses of the last solve in the problem, which is that of the state, and contact
    velocities.
    """
    for tree in range(graph.ntree):
        memory.island[end, tree] = graph.component[graph.ntree + tree]
    contacts = state.contacts
    for i in range(contacts.count):
        c = graph.contact[i]
        if iterate.gn[i] <= 0.0:
            continue
        stiff = contacts.stiffness[c] * contacts.inverse_mass[c] * step * step
        # Overlap at the end, over the step.
        deepest = max(-contacts.signed_distance[c] / step, 0.0) + max(-iterate.vn[i], 0.0)
        if stiff <= _RESOLVED and stiff * contacts.dissipation[c] * deepest <= _DAMPED:
            continue
        for side in range(2):
            link = contacts.link[c, side]
            if link >= 0:
                memory.doubled[contacts.link_tree[link]] = 1
    rows = state.rows
    for i in range(rows.count):
        r = graph.row[i]
        if rows.kind[r] != LIMIT or iterate.row_impulse[i] == 0.0:
            continue
        for side in range(2):
            if rows.tree[r, side] >= 0:
                memory.doubled[rows.tree[r, side]] = 1


@compiled
def _spread(memory: Table) -> bool:
    """Let whole islands be doubled, those of the beginning and those of the end; True if any is."""
    trees = memory.doubled.size
    changed = True
    while changed:
        changed = False
        for end in range(2):
            for island in range(trees):
                memory.rough[island] = 0
            for tree in range(trees):
                if memory.doubled[tree] == 1:
                    memory.rough[memory.island[end, tree]] = 1
            for tree in range(trees):
                if memory.doubled[tree] == 0 and memory.rough[memory.island[end, tree]] == 1:
                    memory.doubled[tree] = 1
                    changed = True
    return bool(np.any(memory.doubled == 1))


@compiled
def _double(world: Table, source: Table, target: Table, step: float) -> int:
    """Solve the step by step doubling, and put the trapezoid's solution where it is smooth."""
    plant = world.plant
    memory = TRAPEZOID.at(world.trapezoid)
    copy_numbers(target.qpos, memory.qpos)
    for i in range(target.qvel.size):
        memory.qvel[i] = target.qvel[i]
        memory.error[i] = world.result.error[i]
    code = call_method(memory.doubling, world, source, target, step)
    world.doubled_step = 0.0
    if code != OK:
        return code
    # The middle state has been used.
    for i in range(target.qpos.size):
        world.half.qpos[i] = memory.qpos[i]
    position_difference(plant, target, world.half, world.scratch)
    for i in range(target.qvel.size):
        if memory.doubled[plant.dofs.tree[i]] == 1:
            world.scratch[i] = 0.0
        else:
            target.qvel[i] = memory.qvel[i]
            world.result.error[i] = memory.error[i]
            world.result.velocity_share[i] = 1.0
    move_positions(plant, target.qpos, world.scratch, 1.0)
    return OK


@compiled
def _at_the_instant(plant: Table, state: Table) -> None:
    """Let rows of actuators have the forces by the state's own activations."""
    step, state.step = state.step, 0.0
    set_asked_servos(plant, state)
    state.step = step


@compiled_method
def trapezoid_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One trapezoid step, with the full ICF step as its reference."""
    plant = world.plant
    problem = world.problem
    graph, iterate = problem.graph, problem.iterate
    full = world.full
    for i in range(world.result.velocity_share.size):
        world.result.velocity_share[i] = 1.0
    world.guess_kind = 0
    code = call_method(world.base_method, world, source, full, step)
    if code != OK:
        return code
    _at_the_instant(plant, source)
    memory = TRAPEZOID.at(world.trapezoid)
    # The graph and the impulses are still those of the source.
    ncontact, nrow = velocities_at(graph, iterate, source, source.velocity)
    if memory.doubling != 0:
        for tree in range(graph.ntree):
            memory.doubled[tree] = 0
        _note_rough(memory, graph, iterate, source, step, 0)
    for i in range(world.guess.size):
        iterate.gradient[i] = 0.0
    _impulses_now(graph, problem.law, iterate, source, step)
    add_impulses(
        graph,
        iterate,
        source.contacts,
        source.rows,
        (0, ncontact),
        (0, nrow),
        iterate.gradient,
        1.0,
    )
    code = ensure_evaluated(world, full)
    if code != OK:
        return code
    _at_the_instant(plant, full)
    _smooth_terms(world, source, full, step, iterate.gradient)
    code = graph_of(world, full)
    if code != OK:
        return code
    _backward_potentials(world, source, full, step)
    copy_numbers(full.qvel, world.guess)
    world.guess_kind = END_VELOCITY
    code = minimise(world, full)
    if code != OK:
        return code
    velocity_from_solver(plant, full.cdof, iterate.velocity, target.qvel)
    turn_origins(plant, 0, plant.ntree, full.qpos, source.qpos, target.qvel)
    for i in range(world.scratch.size):
        world.scratch[i] = 0.5 * (source.qvel[i] + target.qvel[i])
    integrate_positions(plant, source, target, world.scratch, step)
    keep_results(world, full, source.qvel, target.qvel, step)
    advance_activations(plant, source, target, step)
    position_difference(plant, full, target, world.result.error)
    # The order of the first-order solution that it is compared with.
    world.result.error_order = 2
    world.result.sample = full.address
    if memory.doubling != 0:
        _note_rough(memory, graph, iterate, full, step, 1)
        if _spread(memory):
            return _double(world, source, target, step)
    return OK


class Trapezoid(WrappingMethod):
    """ICF steps, corrected to second order and compared with themselves."""

    kernel = trapezoid_method
    order = 2
    estimates_error = True
    takes_systems = False

    def __init__(self, base: Method) -> None:
        super().__init__(base)
        self._table: Table | None = None

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.table.balances_steps = 0
        if self._table is None:
            model = world.plant.model
            self._table = Table(TRAPEZOID, trees=model.ntree, nq=model.nq, nv=model.nv)
        world.table.trapezoid = self._table.address


class DampedTrapezoid(Trapezoid):
    """The trapezoid, with step doubling where contacts are stiffer than the step resolves."""

    def __init__(self, base: Method) -> None:
        super().__init__(base)
        self._doubling = Extrapolation(base)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*super().kernels, *self._doubling.kernels)

    def prepare(self, world: World) -> None:
        self._doubling.prepare(world)
        super().prepare(world)
        assert self._table is not None
        self._table.doubling = extrapolation_method.address
