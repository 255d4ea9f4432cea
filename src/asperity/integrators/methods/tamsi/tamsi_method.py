"""TAMSI as a method: its solver in ICF's step."""

from __future__ import annotations

from dataclasses import dataclass, field

from asperity.compiled import Kernel, Table
from asperity.convex.potentials.law_table import ContactLaw, install_law
from asperity.integrators.methods.convex_step import (
    EVALUATION_KERNELS,
    FarSightedMethod,
    install_evaluation,
)
from asperity.integrators.methods.icf import ICF_KERNELS, icf_method, icf_solution, install_icf
from asperity.integrators.methods.tamsi.block_lu import factorize_jacobian, solve_jacobian
from asperity.integrators.methods.tamsi.jacobian_assembly import assemble_jacobian
from asperity.integrators.methods.tamsi.tamsi_law import ONE_WAY, TWO_WAY
from asperity.integrators.methods.tamsi.tamsi_layout import new_tamsi_table
from asperity.integrators.methods.tamsi.tamsi_newton import solve_tamsi
from asperity.integrators.world import World
from asperity.integrators.world_layout import ALL_TREES, FREE_BODIES

__all__ = ["TamsiMethod"]


@dataclass(kw_only=True, eq=False)
class TamsiMethod(FarSightedMethod):
    """Steps whose contact is not the minimum of anything, by Newton's method with TALS.

    Parameters
    ----------
    two_way : bool
        Whether normal forces follow the velocities of the step's end.
    parabolic : bool
        Whether friction below the stiction tolerance is a parabola, and not a ramp.
    transition_aware : bool
    tolerance : float
        Change of contact velocities, in stiction tolerances, that counts as none.
    max_iterations : int
    center_robots, explicit_springs, looks_ahead : bool
        As of `asperity.integrators.methods.icf.IcfMethod`.
    """

    kernel = icf_method
    solution = icf_solution

    two_way: bool
    parabolic: bool
    transition_aware: bool
    tolerance: float
    max_iterations: int
    center_robots: bool
    explicit_springs: bool
    looks_ahead: bool
    table: Table | None = field(init=False, default=None)

    @property
    def law(self) -> ContactLaw:
        """The contact law."""
        return TWO_WAY if self.two_way else ONE_WAY

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (
            assemble_jacobian,
            solve_tamsi,
            factorize_jacobian,
            solve_jacobian,
            *EVALUATION_KERNELS,
            *self.law.kernels,
            *ICF_KERNELS,
        )

    def grow_coupling(self, size: int) -> None:
        assert self.table is not None
        self.table.resize(coupling_room=size)

    def prepare(self, world: World) -> None:
        super().prepare(world)
        install_evaluation(world)
        install_icf(world.table)
        problem = world.problem
        if self.table is None:
            self.table = new_tamsi_table(problem)
        self.table.transition_aware = int(self.transition_aware)
        self.table.parabolic = int(self.parabolic)
        self.table.relative = self.tolerance
        self.table.limited = 0
        install_law(problem, self.law)
        problem.entries.assemble = assemble_jacobian.address
        problem.entries.factorize = factorize_jacobian.address
        problem.entries.solve_factors = solve_jacobian.address
        problem.options.max_iterations = self.max_iterations
        world.table.center_gyroscopic = ALL_TREES if self.center_robots else FREE_BODIES
        world.table.explicit_springs = int(self.explicit_springs)
        if self.looks_ahead:
            self.look_farther(world, looks_ahead=True)
        world.table.balances_steps = 1
        for state in world.evaluated_states:
            state.table.every_friction = 1
            state.table.passive_rows = 1
        world.table.solve_problem = solve_tamsi.address
