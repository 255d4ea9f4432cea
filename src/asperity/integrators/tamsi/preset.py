"""TAMSI as users name it."""

from __future__ import annotations

from dataclasses import dataclass

from asperity.compiled import Kernel
from asperity.convex.graph import build_graph
from asperity.convex.potentials.laws import install_law
from asperity.convex.problem import MAX_ITERATIONS
from asperity.integrators.base import Integrator, require_one_of, require_positive
from asperity.integrators.icf import icf_method, icf_solution
from asperity.integrators.layout import LAST_STEP
from asperity.integrators.stepping import advance_fixed
from asperity.integrators.substeps import substep_method
from asperity.integrators.tamsi.assembly import assemble_jacobian
from asperity.integrators.tamsi.block_lu import factorize_jacobian, solve_jacobian
from asperity.integrators.tamsi.law import ONE_WAY, TWO_WAY
from asperity.integrators.tamsi.layout import new_tamsi_table
from asperity.integrators.tamsi.newton import solve_tamsi
from asperity.integrators.world import World
from asperity.plant.contacts import read_contacts
from asperity.plant.evaluate import evaluate, read_constraints

__all__ = ["Tamsi"]

_COUPLINGS = {"two-way": TWO_WAY, "one-way": ONE_WAY}
_FRICTION_LAWS = ("linear", "parabolic")


@dataclass(frozen=True, kw_only=True)
class Tamsi(Integrator):
    """Fixed steps of the transition-aware modified semi-implicit method (TAMSI).

    Hunt–Crossley contact and regularised friction, coupled both ways and implicit in velocities, at
    the geometry of the step's beginning. The forces are those of the continuous law, without the
    convex methods' artefacts, but the equations are not those of a minimum: Newton's method with
    the transition-aware line search nearly always converges, and nothing guarantees it. There is
    one coefficient of friction, the dynamic one. Contacts are as stiff as their material says: the
    near-rigid contact of `Sap` has no part in this method, so rigid materials with long steps cost
    iterations.

    Limits, equalities, dry friction, linear servos, joint springs, joint dampers and external
    systems are implicit, as in `Icf`.

    Parameters
    ----------
    time_step : float
        Step size [s].
    coupling : {"two-way", "one-way"}
        Whether normal forces follow the velocities of the step's end (section V-C), or are those of
        its beginning: semi-implicit Euler (section V-A), unstable in stiff contact.
    friction_law : {"linear", "parabolic"}
        Friction below the stiction tolerance: the paper's ramp (equation 7), or the parabola of
        Drake's implementation, which is twice as steep at rest and smooth at its end.
    transition_aware : bool
        Whether Newton's updates are cut by TALS (section III-A). Off only for comparisons.
    tolerance : float
        A step is solved when no contact velocity changes by more than this part of the stiction
        tolerance.
    max_iterations : int
        Newton iterations after which a solve counts as failed.
    substeps : bool
        Do a step that fails in parts, of a millionth of it at the least, instead of stopping the
        simulation with ``Status.NOT_CONVERGED``.
    """

    time_step: float = 1e-3
    coupling: str = "two-way"
    friction_law: str = "linear"
    transition_aware: bool = True
    tolerance: float = 1e-2
    max_iterations: int = 30
    substeps: bool = True

    def __post_init__(self) -> None:
        require_positive("time_step", self.time_step)
        require_one_of("coupling", self.coupling, _COUPLINGS)
        require_one_of("friction_law", self.friction_law, _FRICTION_LAWS)
        require_positive("tolerance", self.tolerance)
        require_positive("max_iterations", self.max_iterations)

    @property
    def takes_systems(self) -> bool:
        return True

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (
            assemble_jacobian,
            solve_tamsi,
            factorize_jacobian,
            solve_jacobian,
            evaluate,
            read_constraints,
            read_contacts,
            build_graph,
            icf_solution,
            *_COUPLINGS[self.coupling].kernels,
            advance_fixed,
            icf_method,
            substep_method,
        )

    def prepare(self, world: World) -> None:
        problem, table = world.problem, world.table
        if world.tamsi is None:
            world.tamsi = new_tamsi_table(problem)
        world.tamsi.transition_aware = int(self.transition_aware)
        world.tamsi.parabolic = int(self.friction_law == "parabolic")
        world.tamsi.relative = self.tolerance
        world.tamsi.statistics[:] = 0
        install_law(problem, _COUPLINGS[self.coupling])
        problem.assemble = assemble_jacobian.address
        problem.factorize = factorize_jacobian.address
        problem.solve_factors = solve_jacobian.address
        problem.limits[MAX_ITERATIONS] = self.max_iterations
        table.solve_problem = solve_tamsi.address
        table.solve_step = icf_solution.address
        table.base_method = icf_method.address
        table.reals[LAST_STEP] = self.time_step

    def advance(self, world: World, end: float, budget: int) -> int:
        method = substep_method if self.substeps else icf_method
        return int(advance_fixed(world.table.address, method.address, self.time_step, end, budget))
