"""Publication of a state into MjData: derived quantities, contact forces, sensors.

After a publication MjData is what ``mj_forward`` would leave at the present state, with the
accelerations and constraint forces of Asperity's contact model: those that act over the next step,
or, of classical integrators, those of the state.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Table, compiled_loop
from asperity.compiled.calls import call_method
from asperity.contact.constraint_set import ACTUATOR
from asperity.convex.contact_velocities import add_impulses
from asperity.convex.potentials.contact_driver import evaluate_contacts
from asperity.convex.potentials.rows import evaluate_rows
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.world import World
from asperity.integrators.world_layout import NOT_CONVERGED, OK, WORLD
from asperity.plant.trees import force_from_solver, velocity_from_solver
from asperity.simulator.constraint_forces import write_constraint_forces

__all__ = ["PUBLICATION_KERNELS", "contact_impulses", "publish", "solve_forces"]


_VECTOR = types.Array(types.float64, 1, "C")


@compiled_loop(types.int64(WORLD.type, types.float64, _VECTOR, _VECTOR))
def solve_forces(
    world: Table, step: float, acceleration: np.ndarray, constraint_force: np.ndarray
) -> int:
    """Solve the current state's next step without taking it.

    Fills generalized acceleration and constraint forces, and leaves impulses in the problem.
    """
    plant = world.plant
    problem = world.problem
    state = world.current
    code = call_method(world.solve_step, world, state, 0, step)
    # Forces of the last iterate are better than those of an earlier state.
    if code not in (OK, NOT_CONVERGED):
        return code
    rows = state.rows
    ncontact = state.contacts.count
    nrow = rows.count
    if world.forces_at_hand == 0:
        velocities_at(problem, state, problem.velocity)
        evaluate_contacts(problem, 0, ncontact)
        evaluate_rows(problem, 0, nrow)
    velocity_from_solver(plant, state.cdof, problem.velocity, acceleration)
    for i in range(state.qvel.size):
        acceleration[i] = (acceleration[i] - state.qvel[i]) / step
    for i in range(state.qvel.size):
        problem.gradient[i] = 0.0
    # Actuators are forces of their own, not constraints.
    for i in range(nrow):
        if rows.kind[problem.row[i]] == ACTUATOR:
            problem.row_impulse[i] = 0.0
    add_impulses(
        problem, state.contacts, rows, (0, ncontact), (0, nrow), problem.gradient, 1.0 / step
    )
    force_from_solver(plant, state.cdof, problem.gradient, constraint_force)
    return OK


PUBLICATION_KERNELS = (solve_forces, write_constraint_forces)
"""What `publish` needs compiled."""


def contact_impulses(world: World) -> np.ndarray:
    """Impulses of the last solve, in the order of the current contact set, shape (n, 3) [N s]."""
    problem = world.problem
    count = world.current.contacts.count
    order = problem.contact[:count]
    out = np.empty((count, 3))
    out[order, 0] = problem.g1[:count]
    out[order, 1] = problem.g2[:count]
    out[order, 2] = problem.gn[:count]
    return out


def publish(
    world: World, step: float, add_efforts: Callable[[mujoco.MjData], None] | None = None
) -> int:
    """Bring the MjData of the current state up to date; returns a method's code.

    ``add_efforts`` adds to the actuators' forces what MuJoCo does not know of.
    """
    model = world.plant.model
    data = world.current.data
    acceleration = np.zeros(model.nv)
    constraint_force = np.zeros(model.nv)
    while True:
        code = int(solve_forces(world.table, step, acceleration, constraint_force))
        if code == OK or not world.grow(code):
            break
    if code != OK:
        return code
    # What MuJoCo marks as computed once per forward pass must be computed again.
    data.flg_energypos = data.flg_energyvel = False
    data.flg_subtreevel = data.flg_rnepost = False
    mujoco.mj_camlight(model, data)
    if not world.plant.table.has_articulated_trees:
        mujoco.mj_makeM(model, data)
    mujoco.mj_factorM(model, data)
    mujoco.mj_makeConstraint(model, data)
    mujoco.mj_fwdVelocity(model, data)
    if add_efforts is not None:
        add_efforts(data)
    mujoco.mj_fwdAcceleration(model, data)
    data.qacc[:] = acceleration
    data.qacc_warmstart[:] = acceleration
    data.qfrc_constraint[:] = constraint_force
    write_constraint_forces(world.table, step)
    mujoco.mj_sensorPos(model, data)
    mujoco.mj_sensorVel(model, data)
    mujoco.mj_sensorAcc(model, data)
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_ENERGY:
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
    return OK
