"""The two-stage θ-method of SAP (II-C, II-D; docs/equations.md, ‘θ-method’).

With q^θ = q_0 ⊕ δt θ v^θvq, v^θ = θ v + (1 − θ) v_0, v^θvq = θ_vq v + (1 − θ_vq) v_0, joint springs
and dampers k_1, and k_2 for all other smooth forces:

    stage 1, free motion    M(q^θ)(v* − v_0) = δt (k_1 + k_2)(q^θ, v^θ)
    stage 2, contact        A (v − v*) = J(q_0)ᵀ γ,   A = M(q^θ) + δt² θ θ_vq K + δt θ D
    positions               q = q_0 ⊕ δt v^θvq

Linear servos and external systems are feedback in stage 2, of implicit Euler whatever the scheme.
Symplectic Euler takes gyroscopic forces of fast spins in the middle of the step
(`asperity.integrators.methods.gyroscopic`), and dampers, and springs of trees that swing faster
than the step, at its end: explicit ones gain energy without bound where δt D > 2 M or δt² K > 4 M.

(θ, θ_vq) are (0, 0) for explicit Euler, (0, 1) symplectic Euler, (1, 1) implicit Euler and (½, ½)
the midpoint rule. Stage 1 is explicit for θ = 0; else Newton's method solves it, with the matrix A
for articulated trees (k_2 changes little within a step) and the exact gyroscopic term for free
bodies, which may spin fast.

Stage 1 keeps a free body's angular velocity in the body's own axes, where its inertia is constant
and the midpoint rule conserves rotational energy, and the velocity of its centre of mass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np

from asperity.compiled import Kernel, Layout, Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method, call_pp_status
from asperity.convex.block_cholesky import cholesky, cholesky_solve
from asperity.convex.potentials.law_table import ContactLaw, install_law
from asperity.convex.potentials.sap import COULOMB_LAW, SAP_LAW
from asperity.convex.problem import ARMIJO, EXACT, MOMENTUM
from asperity.integrators.methods.convex_step import ConvexMethod, graph_of
from asperity.integrators.methods.gyroscopic import follow_spins, solve_turning
from asperity.integrators.methods.motion import (
    advance_activations,
    evaluate_for,
    integrate_positions,
)
from asperity.integrators.methods.springs import has_fast_springs
from asperity.integrators.methods.step_balance import balance_step
from asperity.integrators.results import keep_results
from asperity.integrators.world import World
from asperity.integrators.world_layout import (
    ALL_TREES,
    NO_TREES,
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    compiled_method,
)
from asperity.plant.evaluate import evaluate_smooth
from asperity.plant.plant_layouts import STATE
from asperity.plant.state import State
from asperity.plant.trees import add_mass, turn_along, velocity_from_solver

__all__ = ["LINE_SEARCHES", "ThetaMethod", "theta_method", "theta_solution", "theta_terms"]

LINE_SEARCHES = {"exact": EXACT, "armijo": ARMIJO}

# α_max of the line searches, as in SAP's code.
_LARGEST_SEARCH_STEP = {"exact": 1.5, "armijo": 1.25}

THETA = Layout(
    "θ-method",
    theta="f8",  # θ
    theta_vq="f8",  # θ_vq
    is_symplectic="i8",
    norm_by_system="f8",  # 1 to scale norms by diag(A), 0 by diag(M)
    evaluate_smooth="i8",  # compiled entry point
    between=STATE,  # the plant at q^θ and v^θ
    mean="f8[nv]",
    free="f8[nv]",  # v*, in solver velocities of the step's beginning
)

_TOLERANCE = 1e-10
"""Largest expected error of ‖v*‖ in the metric of diag(M), relative."""

_MAX_ITERATIONS = 30

_LARGEST = 1.7976931348623157e308


@compiled
def _evaluate_between(world: Table, source: Table, velocity: np.ndarray, step: float) -> int:
    """Evaluate the plant at q^θ and v^θ in the state ``between``, without contacts.

    ``velocity`` is in solver velocities of the source.
    """
    memory = THETA.at(world.memory)
    between = memory.between
    theta = memory.theta
    theta_vq = memory.theta_vq
    velocity_from_solver(world.plant, source.cdof, velocity, world.scratch)
    for i in range(memory.mean.size):
        memory.mean[i] = theta_vq * world.scratch[i] + (1.0 - theta_vq) * source.qvel[i]
        between.qvel[i] = theta * world.scratch[i] + (1.0 - theta) * source.qvel[i]
    integrate_positions(world.plant, source, between, memory.mean, theta * step)
    copy_numbers(source.act, between.act)
    return call_pp_status(memory.evaluate_smooth, world.plant, between)


@compiled
def _solve_spin(
    mass: np.ndarray, block: int, velocity: np.ndarray, b: np.ndarray, start: int, share: float
) -> None:
    """Solve for the change of a free body's velocity, with the gyroscopic term, in place.

    The rotational matrix is I + share ([ω]× I − [I ω]×), ω the angular velocity at q^θ.
    """
    x = velocity[start]
    y = velocity[start + 1]
    z = velocity[start + 2]
    xx = mass[block]
    xy = mass[block + 1]
    xz = mass[block + 2]
    yy = mass[block + 7]
    yz = mass[block + 8]
    zz = mass[block + 14]
    hx = xx * x + xy * y + xz * z
    hy = xy * x + yy * y + yz * z
    hz = xz * x + yz * y + zz * z
    a00 = xx + share * (y * xz - z * xy)
    a01 = xy + share * (y * yz - z * yy + hz)
    a02 = xz + share * (y * zz - z * yz - hy)
    a10 = xy + share * (z * xx - x * xz - hz)
    a11 = yy + share * (z * xy - x * yz)
    a12 = yz + share * (z * xz - x * zz + hx)
    a20 = xz + share * (x * xy - y * xx + hy)
    a21 = yz + share * (x * yy - y * xy - hx)
    a22 = zz + share * (x * yz - y * xz)
    c0 = a11 * a22 - a12 * a21
    c1 = a12 * a20 - a10 * a22
    c2 = a10 * a21 - a11 * a20
    scale = 1.0 / (a00 * c0 + a01 * c1 + a02 * c2)
    b0 = b[start] * scale
    b1 = b[start + 1] * scale
    b2 = b[start + 2] * scale
    b[start] = c0 * b0 + (a02 * a21 - a01 * a22) * b1 + (a01 * a12 - a02 * a11) * b2
    b[start + 1] = c1 * b0 + (a00 * a22 - a02 * a20) * b1 + (a02 * a10 - a00 * a12) * b2
    b[start + 2] = c2 * b0 + (a01 * a20 - a00 * a21) * b1 + (a00 * a11 - a01 * a10) * b2
    for a in range(3, 6):
        b[start + a] /= mass[block + 7 * a]


@compiled
def _newton_step(
    world: Table, source: Table, velocity: np.ndarray, step: float
) -> tuple[float, float]:
    """Improve v* once; returns the size of the change and of v*."""
    plant = world.plant
    trees = plant.trees
    problem = world.problem
    iterate, hessian = problem.iterate, problem.hessian
    between = THETA.at(world.memory).between
    memory = THETA.at(world.memory)
    theta = memory.theta
    theta_vq = memory.theta_vq
    factor = hessian.factor
    after = iterate.product
    before = iterate.gradient
    change = iterate.direction
    turn_along(plant, source.cdof, between.cdof, velocity, after)
    turn_along(plant, source.cdof, between.cdof, source.velocity, before)
    length = 0.0
    size = 0.0
    for tree in range(plant.ntree):
        start = trees.start[tree]
        n = trees.size[tree]
        block = trees.block_start[tree]
        for i in range(n):
            value = step * between.force[start + i]
            for j in range(n):
                value -= between.mass[block + i * n + j] * (after[start + j] - before[start + j])
            change[start + i] = value
        if trees.spatial[tree]:
            _solve_spin(between.mass, block, between.velocity, change, start, theta * step)
        else:
            hessian.factor_island[tree] = 0
            for k in range(n * n):
                factor[block + k] = between.mass[block + k]
            for i in range(n):
                d = plant.dofs.damping[start + i]
                change[start + i] -= step * d * between.velocity[start + i]
                factor[block + i * n + i] += (
                    theta * step * (d + theta_vq * step * plant.dofs.stiffness[start + i])
                )
            cholesky(factor, block, n, hessian.factor_inverse_diagonal, start)
            cholesky_solve(factor, block, n, hessian.factor_inverse_diagonal, change, start)
        for i in range(start, start + n):
            length += between.mass_diagonal[i] * change[i] * change[i]
            size += between.mass_diagonal[i] * (after[i] + change[i]) * (after[i] + change[i])
    turn_along(plant, between.cdof, source.cdof, change, before)
    for i in range(plant.nv):
        velocity[i] += before[i]
    return np.sqrt(length), np.sqrt(size)


@compiled
def _free_motion(world: Table, source: Table, step: float, velocity: np.ndarray) -> int:
    """Solve stage 1 for θ > 0; ``between`` then holds the plant at q^θ."""
    copy_numbers(source.velocity, velocity)
    previous = 0.0
    for iteration in range(_MAX_ITERATIONS):
        code = _evaluate_between(world, source, velocity, step)
        if code != OK:
            return code
        length, size = _newton_step(world, source, velocity, step)
        if not length + size <= _LARGEST:
            return NON_FINITE
        eta = 1.0
        if iteration > 0 and previous > 0.0:
            rate = min(length / previous, 0.9999)
            eta = rate / (1.0 - rate)
        if eta * length <= _TOLERANCE * size:
            return OK
        previous = length
    return NOT_CONVERGED


@compiled
def _fill_mass(world: Table, owner: Table, frame: Table, step: float) -> None:
    """A and the diagonal of the norms: mass of one state in the solver velocities of another."""
    plant = world.plant
    trees = plant.trees
    problem = world.problem
    smooth = problem.smooth
    memory = THETA.at(world.memory)
    theta = memory.theta
    theta_vq = memory.theta_vq
    by_system = memory.norm_by_system
    matrix = smooth.matrix
    smooth.plain_mass = 0
    if owner.address == frame.address:
        copy_numbers(owner.mass, matrix)
    else:
        matrix[:] = 0.0
        add_mass(
            plant,
            owner.mass,
            owner.cdof,
            frame.cdof,
            matrix,
        )
    for tree in range(plant.ntree):
        start = trees.start[tree]
        n = trees.size[tree]
        damping_share = theta * step
        spring_share = theta * theta_vq * step * step
        if memory.is_symplectic == 1:
            damping_share = step
            spring_share = step * step if has_fast_springs(plant, tree, step) else 0.0
        for i in range(n):
            at = trees.block_start[tree] + i * n + i
            implicit = 0.0
            if not trees.spatial[tree]:
                implicit = (
                    damping_share * plant.dofs.damping[start + i]
                    + spring_share * plant.dofs.stiffness[start + i]
                )
            smooth.mass_diagonal[start + i] = matrix[at] + by_system * implicit
            smooth.mass_inverse_diagonal[start + i] = 1.0 / smooth.mass_diagonal[start + i]
            matrix[at] += implicit


@compiled
def _multiply(graph: Table, smooth: Table, x: np.ndarray, out: np.ndarray) -> None:
    """``out = A x`` for all trees."""
    for tree in range(graph.ntree):
        start = graph.tree_start[tree]
        n = graph.tree_size[tree]
        row = graph.block_start[tree]
        for i in range(n):
            value = 0.0
            for j in range(n):
                value += smooth.matrix[row + j] * x[start + j]
            out[start + i] = value
            row += n


@compiled
def theta_terms(world: Table, state: Table, step: float) -> int:
    """Fill A, the diagonal of the norms, and r, from the snapshot; returns a code of methods."""
    plant = world.plant
    problem = world.problem
    smooth = problem.smooth
    rhs = smooth.rhs
    if THETA.at(world.memory).theta == 0.0:
        _fill_mass(world, state, state, step)
        _multiply(problem.graph, smooth, state.velocity, rhs)
        symplectic = THETA.at(world.memory).is_symplectic
        for tree in range(plant.ntree):
            start = plant.trees.start[tree]
            fast = symplectic == 1 and has_fast_springs(plant, tree, step)
            # A free body without damping has none in its solver velocities either.
            for i in range(start, start + plant.trees.size[tree]):
                slope = plant.dofs.damping[i] + (step * plant.dofs.stiffness[i] if fast else 0.0)
                rhs[i] += step * (state.force[i] - slope * state.velocity[i])
        return OK
    free = THETA.at(world.memory).free
    code = _free_motion(world, state, step, free)
    if code != OK:
        return code
    _fill_mass(world, THETA.at(world.memory).between, state, step)
    _multiply(problem.graph, smooth, free, rhs)
    return OK


@compiled_method
def theta_solution(world: Table, state: Table, _target: Table, step: float) -> int:
    """Solve both stages of a step; the result is in the problem's ``velocity``."""
    code = evaluate_for(world, state, step)
    if code != OK:
        return code
    code = theta_terms(world, state, step)
    if code != OK:
        return code
    code = graph_of(world, state)
    if code != OK:
        return code
    # An extrapolated guess may satisfy the criterion at once; from the state's own velocity what is
    # exact, such as energy without friction, stays exact.
    world.guess_kind = 0
    return solve_turning(world, state, step)


@compiled_method
def theta_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of the θ-method."""
    plant = world.plant
    code = call_method(world.solve_step, world, source, 0, step)
    if code != OK:
        return code
    theta_vq = THETA.at(world.memory).theta_vq
    velocity_from_solver(plant, source.cdof, world.problem.iterate.velocity, target.qvel)
    for i in range(world.scratch.size):
        world.scratch[i] = theta_vq * target.qvel[i] + (1.0 - theta_vq) * source.qvel[i]
    integrate_positions(plant, source, target, world.scratch, step)
    advance_activations(plant, source, target, step)
    keep_results(world, source, source.qvel, target.qvel, step)
    balance_step(world, source, target, step)
    world.result.error_order = 0
    world.result.sample = source.address
    if world.systems.size > 0:
        return call_method(world.advance_systems, world, source, target, step)
    return OK


@dataclass(kw_only=True, eq=False)
class ThetaMethod(ConvexMethod):
    """Steps of the θ-method with SAP's contact.

    Parameters
    ----------
    theta, theta_vq : float
        θ and θ_vq.
    near_rigid : float
        β.
    slip_regularization : float or None
        σ; by the stiction tolerance if None.
    relaxation_time : float or None
        Of contacts without one [s]; the step size by default.
    tolerance : float
        ε_r of SAP's criterion (equation 26).
    norm_by_system : bool
        Scale its norms by diag(A) instead of diag(M).
    line_search : str
        A key of `LINE_SEARCHES`.
    max_iterations : int
    gliding : bool
        Whether sliding bodies glide, as in the paper.
    friction_passes : int or None
    friction_tolerance : float
    refuse_unsettled : bool
        Of friction that does not glide, as of `asperity.integrators.methods.icf.IcfMethod`.
    looks_ahead : bool
        As of `asperity.integrators.methods.icf.IcfMethod`.
    """

    kernel = theta_method
    solution = theta_solution

    theta: float
    theta_vq: float
    near_rigid: float
    slip_regularization: float | None
    relaxation_time: float | None
    tolerance: float
    norm_by_system: bool
    line_search: str
    max_iterations: int
    gliding: bool
    friction_passes: int | None
    friction_tolerance: float
    refuse_unsettled: bool
    looks_ahead: bool
    _table: Table | None = field(init=False, default=None)
    _between: State | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        # The midpoint rule is of second order.
        self.order = 2 if self.theta == self.theta_vq == 0.5 else 1

    @property
    def law(self) -> ContactLaw:
        """The contact law."""
        return SAP_LAW if self.gliding else COULOMB_LAW

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (
            *super().kernels,
            theta_solution,
            follow_spins,
            *self.law.kernels,
            evaluate_smooth,
            theta_method,
        )

    @property
    def states(self) -> tuple[State, ...]:
        return () if self._between is None else (self._between,)

    def set_system_states(self, count: int) -> None:
        assert self._between is not None
        self._between.table.resize(system_states=count)

    def prepare(self, world: World) -> None:
        super().prepare(world)
        if self._table is None:
            # Data of its own: a step's sample of contacts is looked at after this evaluation.
            data = mujoco.MjData(world.plant.model)
            self._between = world.new_state(data)
            self._table = Table(THETA, between=self._between.table, nv=world.plant.model.nv)
        table, problem = self._table, world.problem
        world.table.memory = table.address
        table.theta, table.theta_vq = self.theta, self.theta_vq
        table.is_symplectic = int((self.theta, self.theta_vq) == (0.0, 1.0))
        table.norm_by_system = float(self.norm_by_system)
        table.evaluate_smooth = evaluate_smooth.address
        install_law(problem, self.law)
        problem.options.tolerance = self.tolerance
        problem.options.absolute_tolerance = 1e-14
        problem.options.line_search_tolerance = 1e-8
        problem.options.slip_regularization = self.slip_regularization or 0.0
        problem.options.max_iterations = self.max_iterations
        self.settle_friction(
            world, self.friction_passes, self.friction_tolerance, self.refuse_unsettled
        )
        problem.options.reused_iterations = 0
        problem.options.criterion = MOMENTUM
        problem.options.line_search_method = LINE_SEARCHES[self.line_search]
        problem.options.largest_search_step = _LARGEST_SEARCH_STEP[self.line_search]
        problem.options.near_rigid = self.near_rigid
        # Implicit schemes solve for them.
        world.table.center_gyroscopic = ALL_TREES if table.is_symplectic else NO_TREES
        world.table.follow_spins = follow_spins.address
        world.table.balances_steps = table.is_symplectic
        # Free motion has passive forces of its own middle then.
        for state in world.evaluated_states:
            state.table.passive_rows = table.is_symplectic
        if self.gliding or self.looks_ahead:
            self.look_farther(
                world,
                glides=self.gliding,
                looks_ahead=self.looks_ahead,
                relaxes=True,
                default_relaxation=self.relaxation_time,
            )
        problem.options.relaxation_time = (
            -1.0 if self.relaxation_time is None else self.relaxation_time
        )
