"""TAMSI as users name it."""

from __future__ import annotations

from dataclasses import dataclass

from asperity.compiled import Kernel
from asperity.convex.graph import build_graph
from asperity.convex.potentials.laws import install_law
from asperity.errors import ModelError
from asperity.integrators.base import ERROR_NORMS, Integrator, require_one_of, require_positive
from asperity.integrators.icf import icf_method, icf_solution
from asperity.integrators.results import deliver
from asperity.integrators.step_doubling import ERROR_ORDER, step_doubling_method
from asperity.integrators.stepping import advance_error_controlled, advance_fixed
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

_TIME_STEP = 1e-3
_FIRST_STEP = 0.1


@dataclass(frozen=True, kw_only=True)
class Tamsi(Integrator):
    """The transition-aware modified semi-implicit method (TAMSI), in fixed steps as in the paper.

    With ``accuracy`` instead of ``time_step`` it doubles steps under error control, as `Cenic` does
    with its convex steps.

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
    time_step : float, optional
        Step size [s], 1e-3 if there is no ``accuracy``.
    accuracy, max_step, min_step, error_norm
        Of error control, as in `Cenic`.
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
        simulation with ``Status.NOT_CONVERGED``. Error control tries smaller steps in any case.
    """

    time_step: float | None = None
    accuracy: float | None = None
    max_step: float = 0.1
    min_step: float = 1e-9
    error_norm: str = "position"
    coupling: str = "two-way"
    friction_law: str = "linear"
    transition_aware: bool = True
    tolerance: float = 1e-2
    max_iterations: int = 30
    substeps: bool = True

    def __post_init__(self) -> None:
        if self.time_step is not None and self.accuracy is not None:
            raise ModelError(
                "time_step asks for fixed steps and accuracy for error control; give one of them."
            )
        if self.accuracy is not None:
            require_positive("accuracy", self.accuracy)
        elif self.time_step is None:
            object.__setattr__(self, "time_step", _TIME_STEP)
        else:
            require_positive("time_step", self.time_step)
        require_positive("max_step", self.max_step)
        require_positive("min_step", self.min_step)
        if self.min_step >= self.max_step:
            raise ModelError(f"min_step {self.min_step} must be below max_step {self.max_step}.")
        require_one_of("error_norm", self.error_norm, ERROR_NORMS)
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
            deliver,
            *_COUPLINGS[self.coupling].kernels,
            icf_method,
            *(
                (advance_fixed, substep_method)
                if self.accuracy is None
                else (advance_error_controlled, step_doubling_method)
            ),
        )

    def prepare(self, world: World) -> None:
        problem, table = world.problem, world.table
        if world.tamsi is None:
            world.tamsi = new_tamsi_table(problem)
        world.tamsi.transition_aware = int(self.transition_aware)
        world.tamsi.parabolic = int(self.friction_law == "parabolic")
        world.tamsi.relative = self.tolerance
        world.tamsi.limited = 0
        install_law(problem, _COUPLINGS[self.coupling])
        problem.assemble = assemble_jacobian.address
        problem.factorize = factorize_jacobian.address
        problem.solve_factors = solve_jacobian.address
        problem.max_iterations = self.max_iterations
        table.solve_problem = solve_tamsi.address
        table.solve_step = icf_solution.address
        table.base_method = icf_method.address
        table.accuracy = 0.0 if self.accuracy is None else self.accuracy
        table.largest_step = self.max_step
        table.smallest_step = self.min_step
        table.next_step = _FIRST_STEP * self.max_step
        table.last_step = table.next_step if self.time_step is None else self.time_step
        table.velocity_time = ERROR_NORMS[self.error_norm]

    def advance(self, world: World, end: float, budget: int) -> int:
        table = world.table
        if self.time_step is None:
            method = step_doubling_method.address
            return int(advance_error_controlled(table, method, ERROR_ORDER, end, budget))
        fixed = substep_method if self.substeps else icf_method
        return int(advance_fixed(table, fixed.address, self.time_step, end, budget))
