"""The convex problem of the next step, prepared and not solved."""

from __future__ import annotations

import math

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_method
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.problem import CONVERGED, PROBLEM
from asperity.errors import SimulationError
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK
from studies.experiments.reference.sap_problem import Tables

__all__ = ["prepare_problem"]


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, types.int64))
def _keep_the_guess(_problem: Table, _contacts: Table, _rows: Table, _have_factors: int) -> int:
    """Stand in for a solver: what the solver would have been given stays as it is."""
    return CONVERGED


@compiled
def _solve_step(world: Table, step: float) -> int:
    return call_method(world.solve_step, world, world.current, 0, step)


def prepare_problem(world: World, step: float) -> Tables:
    """Prepare the convex problem of a step from the current state, without solving it.

    Everything is as the solver of that step would find it: A and r, the graph, the numbers of the
    potentials, and the guess in ``velocity``. Neither the state nor what a simulator has
    published is changed.

    Parameters
    ----------
    world : World
        Prepared by an integrator with convex steps, with a valid current state.
    step : float
        Step size [s].

    Raises
    ------
    ValueError
        If the step size is not positive and finite.
    SimulationError
        If the problem cannot be set up; the message has the method's code.
    """
    if not (math.isfinite(step) and step > 0.0):
        raise ValueError(f"step must be positive and finite, got {step}.")
    table = world.table
    solver = table.solve_problem
    table.solve_problem = _keep_the_guess.address
    table.guess_kind = 0
    try:
        while True:
            code = int(_solve_step(table, step))
            if code == OK or not world.grow(code):
                break
    finally:
        table.solve_problem = solver
        table.factors_valid = 0
    if code != OK:
        raise SimulationError(
            f"the convex problem of a step of {step} s could not be set up (code {code}); "
            "look at the state for numbers that are not finite."
        )
    return Tables(world.problem, world.current.contacts, world.current.rows)
