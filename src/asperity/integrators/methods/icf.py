"""ICF: one convex step with uncoupled friction, the building block of CENIC (IV; method ``icf``).

    A = M_0 + δt D + δt² K,                  r = M_0 v_0 + δt f_0,
    v = argmin ½vᵀAv − rᵀv + Σ ℓ(Jv),        q = q_0 ⊕ δt v

D and K are the damping and stiffness of joints, which makes linear springs and dampers implicit.
Fixed steps leave out the K of trees whose springs they resolve, which then keep their energy, and
extrapolated steps leave out a part of it (`.springs`). The elasticity of deformable bodies is
implicit, too; their K is that of `asperity.soft.corotation` at q_0, and D = β K. f_0 are all other
smooth forces, with the springs' at q_0. Linear servos, limits and constraints enter as potentials
(`asperity.convex.potentials`), and so do external systems
(`asperity.integrators.external.feedback`).
"""

from __future__ import annotations

from dataclasses import dataclass

from asperity.compiled import Kernel, Table, compiled, entry_point
from asperity.compiled.calls import call_method
from asperity.compiled.row_kernels import copy_row
from asperity.compiled.team import over_ranges
from asperity.convex.chain_cholesky import multiply_chains
from asperity.convex.particles.solver import PARTICLE_KERNELS
from asperity.convex.potentials.lagged import DELIVERED_LAW, LAGGED_LAW
from asperity.convex.potentials.law_table import ContactLaw, install_law
from asperity.convex.potentials.similar import SIMILAR_LAW
from asperity.convex.problem import EXACT, RESIDUAL_AND_STEP
from asperity.integrators.methods.convex_step import ConvexMethod, graph_of
from asperity.integrators.methods.gyroscopic import follow_spins, solve_turning
from asperity.integrators.methods.motion import (
    FEWEST_TREES,
    advance_activations,
    evaluate_for,
    move_by_solution,
    move_trees,
)
from asperity.integrators.methods.springs import has_fast_springs
from asperity.integrators.methods.step_balance import balance_step
from asperity.integrators.results import keep_results
from asperity.integrators.world import World
from asperity.integrators.world_layout import (
    ALL_TREES,
    FREE_BODIES,
    OK,
    SHARE_SIGNATURE,
    compiled_method,
)
from asperity.plant.elasticity import find_positions
from asperity.plant.plant_layouts import STATE
from asperity.soft.blocks import add_inner_bonds, own_block
from asperity.soft.flow import flow
from asperity.soft.folds import flow_of_folds
from asperity.soft.strands import add_strand_stiffness, find_taut_strands, find_tension
from asperity.soft.tense_triangles import (
    add_triangles,
    find_taut_triangles,
    find_triangle_tension,
)
from asperity.soft.twists import add_twist_stiffness, turn_edges
from asperity.soft.vibrations import find_steady_velocity

__all__ = [
    "ICF_KERNELS",
    "ICF_LAWS",
    "IcfMethod",
    "icf_method",
    "icf_solution",
    "install_icf",
    "smooth_terms",
]

ICF_LAWS = {"delivered": DELIVERED_LAW, "lagged": LAGGED_LAW, "similar": SIMILAR_LAW}

# CENIC VI-C: the wished number of iterations with one Hessian.
_REUSED_ITERATIONS = 10
_STEADY_TOLERANCE = 1e-5


@compiled
def smooth_terms(world: Table, state: Table, step: float, first: int, last: int) -> None:
    """Fill A, diag(M) and r of the trees ``first .. last`` from the snapshot."""
    plant = world.plant
    problem = world.problem
    smooth = problem.smooth
    smooth.plain_mass = 1
    graph = problem.graph
    for tree in range(first, last):
        if problem.guess.at_rest[tree] == 1:
            continue
        start = graph.tree_start[tree]
        n = graph.tree_size[tree]
        block = graph.block_start[tree]
        copy_row(smooth.matrix.ctypes.data + 8 * block, state.mass.ctypes.data + 8 * block, n * n)
        if graph.tree_spatial[tree]:
            # Inertia about the centre of mass, and mass: the rest is zero.
            x = state.velocity[start]
            y = state.velocity[start + 1]
            z = state.velocity[start + 2]
            mass = state.mass[block + 21]
            for i in range(3):
                k = block + 6 * i
                smooth.rhs[start + i] = (
                    state.mass[k] * x + state.mass[k + 1] * y + state.mass[k + 2] * z
                )
                smooth.rhs[start + 3 + i] = mass * state.velocity[start + 3 + i]
        else:
            multiply_chains(graph, state.mass, tree, state.velocity, smooth.rhs)
        for i in range(n):
            smooth.impulse[start + i] = step * state.force[start + i]
            smooth.rhs[start + i] += smooth.impulse[start + i]
            smooth.mass_diagonal[start + i] = state.mass_diagonal[start + i]
            smooth.mass_inverse_diagonal[start + i] = state.mass_inverse_diagonal[start + i]
        if not graph.tree_spatial[tree]:
            explicit = world.explicit_springs == 1 and not has_fast_springs(plant, tree, step)
            for i in range(n):
                share = 0.0 if explicit else 1.0
                if world.doubled_step > 0.0:
                    share = world.spring_share[start + i]
                smooth.matrix[block + i * n + i] += step * (
                    plant.dofs.damping[start + i] + share * step * plant.dofs.stiffness[start + i]
                )


@entry_point(SHARE_SIGNATURE)
def _fill_smooth(world: Table, first: int, last: int, _unused: int) -> int:
    """`smooth_terms` of some trees, or, for −1, the graph."""
    state = STATE.at(world.shared_source)
    if first < 0:
        return graph_of(world, state)
    smooth_terms(world, state, world.shared_step, first, last)
    return OK


@compiled_method
def _fill_elasticity(world: Table, state: Table, _target: Table, step: float) -> int:
    """Add (δt² + δt β) K of deformable bodies to A, and what strands have."""
    problem = world.problem
    elastic = world.plant.elastic
    soft = state.soft
    # Friction on ropes is at its bounds, which old factors find in other iterates.
    problem.smooth.bond_step = step if elastic.strands == 0 else 0.0
    for particle in range(elastic.particles):
        if elastic.particle_dof[particle] < 0:
            continue
        factor = step * (step + elastic.particle_damping[particle])
        block, row = own_block(elastic, problem.graph, particle)
        for i in range(3):
            for j in range(3):
                problem.smooth.matrix[block + row * i + j] += factor * soft.own[particle, 3 * i + j]
    for bond in range(elastic.bonds):
        factor = step * (step + elastic.bond_damping[bond])
        for k in range(9):
            problem.smooth.bond[bond, k] = factor * soft.bond[bond, k]
    find_taut_strands(elastic, state)
    find_taut_triangles(elastic, state)
    find_steady_velocity(elastic, state, max(world.doubled_step, step), world.steady_tolerance)
    add_strand_stiffness(elastic, state, step, problem.graph, problem.smooth)
    add_triangles(elastic, state, step, problem.graph, problem.smooth)
    add_twist_stiffness(elastic, state, step, problem.graph, problem.smooth)
    add_inner_bonds(elastic, problem.graph, problem.smooth)
    return OK


@compiled_method
def _keep_tension(world: Table, source: Table, target: Table, step: float) -> int:
    """Keep the tension of ropes and cloth for the step that begins at the target.

    Angles of a rod's edges follow these, and what is strained beyond its yield flows.
    """
    find_tension(
        world.plant.elastic,
        source.soft.position,
        source.qvel,
        target.qvel,
        source.rows,
        step,
        target.tension,
    )
    find_triangle_tension(world.plant.elastic, source, target.qvel, step, target.tension)
    turn_edges(world.plant.elastic, source, target.qpos)
    elastic = world.plant.elastic
    if elastic.yielding + elastic.folds > 0:
        position, work = target.soft.position, target.soft.work
        find_positions(elastic, target)
        flow(elastic, position, source.plastic, work, target.plastic)
        flow_of_folds(elastic, position, source.plastic, work, target.plastic)
    return OK


@compiled
def fill_elasticity(world: Table, state: Table, step: float) -> None:
    """Add what deformable bodies have to what `smooth_terms` has filled for all trees."""
    if world.plant.elastic.particles > 0:
        call_method(world.fill_elasticity, world, state, 0, step)


@compiled_method
def icf_solution(world: Table, state: Table, _target: Table, step: float) -> int:
    """Solve the convex problem of an ICF step; the result is in the problem's ``velocity``."""
    code = evaluate_for(world, state, step)
    if code != OK:
        return code
    problem = world.problem
    world.shared_source = state.address
    world.shared_step = step
    code = over_ranges(
        world.team, world.fill_smooth, world.address, problem.graph.ntree, FEWEST_TREES, True
    )
    if code != OK:
        return code
    fill_elasticity(world, state, step)
    return solve_turning(world, state, step)


@compiled_method
def icf_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One ICF step."""
    code = call_method(world.solve_step, world, source, 0, step)
    if code != OK:
        return code
    move_by_solution(world, source, target, step)
    advance_activations(world.plant, source, target, step)
    keep_results(world, source, source.qvel, target.qvel, step)
    balance_step(world, source, target, step)
    if target.tension.size + target.plastic.size > 0:
        call_method(world.keep_tension, world, source, target, step)
    world.result.error_order = 0
    world.result.sample = source.address
    if world.systems.size > 0:
        return call_method(world.advance_systems, world, source, target, step)
    return OK


ICF_KERNELS = (icf_solution, icf_method, _fill_smooth, move_trees, follow_spins)
"""What `icf_method` needs compiled."""


def install_icf(world: Table) -> None:
    """Put the entry points of `ICF_KERNELS` into a world."""
    world.fill_smooth = _fill_smooth.address
    world.move_trees = move_trees.address
    world.follow_spins = follow_spins.address


@dataclass(kw_only=True, eq=False)
class IcfMethod(ConvexMethod):
    """Steps of irrotational contact fields.

    Parameters
    ----------
    law : ContactLaw
    tolerance : float
        Of the convex solver (CENIC, equations 32 and 33).
    max_iterations : int
    hessian_reuse : bool
        Equation 35.
    friction_passes : int or None
        Changes of the bounds of friction in a solve after which they stay as they are; by default
        few in points and more with pressure fields.
    friction_tolerance : float
        Relative change of friction by which its bounds may differ from those of the solution.
    refuse_unsettled : bool
        Whether a step counts as not converged if its bounds of friction differ from those of the
        solution by more than a tenth when they stay as they are. Else it is counted in `fallbacks`.
    center_robots : bool
        Whether gyroscopic forces of robots that turn far in a step are those in its middle, as
        those of free bodies (`asperity.integrators.methods.gyroscopic`); else those of its
        beginning.
    explicit_springs : bool
        Whether springs of joints are explicit where the step resolves them.
    looks_ahead : bool
        Whether contacts count which a step would jump over (`GlidingDetection`).
    """

    kernel = icf_method
    solution = icf_solution
    flex_kernels = (*PARTICLE_KERNELS, _fill_elasticity, _keep_tension)

    law: ContactLaw
    tolerance: float
    max_iterations: int
    hessian_reuse: bool
    friction_passes: int | None
    friction_tolerance: float
    refuse_unsettled: bool
    center_robots: bool
    explicit_springs: bool
    looks_ahead: bool

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*super().kernels, *self.law.kernels, *ICF_KERNELS)

    def prepare(self, world: World) -> None:
        super().prepare(world)
        install_icf(world.table)
        if world.plant.model.nflex > 0:
            world.table.fill_elasticity = _fill_elasticity.address
            world.table.keep_tension = _keep_tension.address
        problem = world.problem
        install_law(problem, self.law)
        if self.law.coupled or self.looks_ahead:
            self.look_farther(world, glides=self.law.coupled, looks_ahead=self.looks_ahead)
        problem.options.tolerance = self.tolerance
        problem.options.line_search_tolerance = 1e-2
        problem.options.largest_search_step = 1.0
        problem.options.max_iterations = self.max_iterations
        problem.options.reused_iterations = _REUSED_ITERATIONS if self.hessian_reuse else 0
        self.settle_friction(
            world, self.friction_passes, self.friction_tolerance, self.refuse_unsettled
        )
        world.table.doubled_step = 0.0
        world.table.steady_tolerance = _STEADY_TOLERANCE
        world.table.center_gyroscopic = ALL_TREES if self.center_robots else FREE_BODIES
        world.table.explicit_springs = int(self.explicit_springs)
        world.table.balances_steps = 1
        problem.options.criterion = RESIDUAL_AND_STEP
        problem.options.line_search_method = EXACT
