"""What the experiments with the clutter of the SAP paper share (VI-C)."""

from __future__ import annotations

import ctypes

import numpy as np

from asperity.convex.island import choose_island
from asperity.convex.potentials.contact_driver import evaluate_contacts
from asperity.errors import SimulationError
from asperity.integrators import Sap
from asperity.integrators.world import World
from asperity.integrators.world_layout import NOT_CONVERGED, OK
from asperity.simulator import Simulator
from studies.scenes.sap_clutter import sap_clutter

__all__ = [
    "BODIES_PER_COLUMN",
    "DURATION",
    "TIME_STEP",
    "TOLERANCE",
    "clutter_simulator",
    "cost_history",
    "hessian",
]

TIME_STEP = 0.01  # [s]
DURATION = 10.0  # [s]
BODIES_PER_COLUMN = 10

TOLERANCE = 1e-5
"""Of the stopping criterion, that of the authors' code for these scenes."""


def clutter_simulator(
    *,
    walls: bool = True,
    bodies_per_column: int = BODIES_PER_COLUMN,
    seed: int = 41,
    face_spheres: bool = True,
    slip_regularization: float = 1e-3,
    tolerance: float = TOLERANCE,
) -> Simulator:
    """A simulator of the clutter before it falls.

    Parameters
    ----------
    walls, bodies_per_column, seed, face_spheres
        See `sap_clutter`. Cubes are those of the authors' code by default, on which the numbers
        of contacts depend.
    slip_regularization, tolerance
        See `Sap`. The paper's figures range over σ from 10⁻⁶ to 1, at the lower end of which
        single steps need hundreds of iterations.
    """
    integrator = Sap(
        time_step=TIME_STEP,
        slip_regularization=slip_regularization,
        tolerance=tolerance,
        max_iterations=2000,
        gliding=True,
    )
    scene = sap_clutter(bodies_per_column, walls, seed, face_spheres=face_spheres)
    return Simulator(scene, integrator=integrator)


def _solve(world: World, step: float) -> int:
    """Solve the next step's convex problem without taking the step."""
    table = world.table
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, *3 * [ctypes.c_int64], ctypes.c_double)
    return int(signature(table.solve_step)(table.address, world.current.table.address, 0, step))


def _cost(world: World) -> float:
    """The cost at the problem's present velocity, without the constant ½ v*ᵀ A v*."""
    problem = world.problem
    graph = problem.graph
    velocity = problem.iterate.velocity[: graph.nv]
    cost = evaluate_contacts(problem, 0, world.current.contacts.count)
    cost -= problem.smooth.rhs @ velocity
    for tree in range(graph.ntree):
        n, start = graph.tree_size[tree], graph.tree_start[tree]
        block = graph.block_start[tree]
        part = velocity[start : start + n]
        cost += 0.5 * part @ problem.smooth.matrix[block : block + n * n].reshape(n, n) @ part
    return float(cost)


def cost_history(simulator: Simulator) -> np.ndarray:
    """Cost of the next step's problem [J] at its initial guess and after every iteration.

    The problem is solved anew with an iteration limit of 0, 1, 2 … until the stopping criterion is
    met; islands iterate side by side. The simulator's state does not change. The model must have
    contacts as its only constraints.

    Raises
    ------
    SimulationError
        If the solver ends without meeting its criterion.
    """
    world = simulator.session.world
    options = world.problem.options
    assert simulator.integrator.time_step is not None
    before = int(options.max_iterations)
    costs: list[float] = []
    try:
        for options.max_iterations in range(before + 1):
            code = _solve(world, simulator.integrator.time_step)
            costs.append(_cost(world))
            if code == OK:
                return np.array(costs)
            if code != NOT_CONVERGED:
                break
    finally:
        options.max_iterations = before
    raise SimulationError("a convex problem could not be solved to its tolerance.")


def hessian(simulator: Simulator) -> np.ndarray:
    """Hessian at the solution of the next step's problem, as the solver assembles it.

    Returns
    -------
    ndarray, shape (nv, nv)
        In solver velocities: those of a free body's centre of mass in world axes.
    """
    world = simulator.session.world
    problem, contacts, rows = world.problem, world.current.contacts, world.current.rows
    graph = problem.graph
    assert simulator.integrator.time_step is not None
    _solve(world, simulator.integrator.time_step)
    evaluate_contacts(problem, 0, contacts.count)
    assemble = ctypes.CFUNCTYPE(ctypes.c_int64, *3 * [ctypes.c_int64])(problem.entries.assemble)
    for k in range(graph.islands):
        choose_island(problem.graph, problem.at_hand, problem.newton, k)
        assemble(problem.address, contacts.address, rows.address)
    out = np.zeros((graph.nv, graph.nv))
    for tree in range(graph.ntree):
        n, start = graph.tree_size[tree], graph.tree_start[tree]
        dofs = slice(start, start + n)
        block = graph.block_start[tree]
        lower = np.tril(problem.hessian.factor[block : block + n * n].reshape(n, n))
        out[dofs, dofs] = lower + np.tril(lower, -1).T
        first = graph.column_start[tree]
        for entry in range(first, first + graph.column_size[tree]):
            other = graph.entry_tree[entry]
            m, at = graph.tree_size[other], graph.entry_block[entry]
            columns = slice(graph.tree_start[other], graph.tree_start[other] + m)
            cross = problem.hessian.coupling[at : at + n * m].reshape(n, m)
            out[dofs, columns] = cross
            out[columns, dofs] = cross.T
    return out
