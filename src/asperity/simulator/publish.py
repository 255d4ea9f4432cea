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

from asperity.compiled import compiled_loop
from asperity.compiled.calls import call_method
from asperity.contact.constraint_set import ACTUATOR, CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.kinematics import add_impulses
from asperity.convex.potentials.contacts import evaluate_contacts
from asperity.convex.potentials.rows import evaluate_rows
from asperity.convex.problem import PROBLEM
from asperity.integrators.icf import velocities_at
from asperity.integrators.layout import FORCES_AT_HAND, NOT_CONVERGED, OK, WORLD
from asperity.integrators.world import World
from asperity.plant.layouts import PLANT, STATE
from asperity.plant.trees import force_from_solver, velocity_from_solver
from asperity.simulator.constraint_forces import write_constraint_forces

__all__ = ["PUBLICATION_KERNELS", "contact_impulses", "publish", "solve_forces"]

_world = WORLD.get
_plant = PLANT.get
_state = STATE.get
_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get


_VECTOR = types.Array(types.float64, 1, "C")


@compiled_loop(types.int64(types.int64, types.float64, _VECTOR, _VECTOR))
def solve_forces(world, step, acceleration, constraint_force):
    """Solve the current state's next step without taking it.

    Fills generalized acceleration and constraint forces, and leaves impulses in the problem.
    """
    plant = _world(world, "plant")
    problem = _world(world, "problem")
    state = _world(world, "current")
    code = call_method(_world(world, "solve_step"), world, state, 0, step)
    # Forces of the last iterate are better than those of an earlier state.
    if code not in (OK, NOT_CONVERGED):
        return code
    velocity = _problem(problem, "velocity")
    rows = _state(state, "rows")
    ncontact = _contacts(_state(state, "contacts"), "counts")[0]
    nrow = _rows(rows, "counts")[0]
    if _world(world, "ints")[FORCES_AT_HAND] == 0:
        velocities_at(problem, state, velocity)
        evaluate_contacts(problem, 0, ncontact)
        evaluate_rows(problem, 0, nrow)
    velocity_from_solver(plant, _state(state, "cdof"), velocity, acceleration)
    qvel = _state(state, "qvel")
    for i in range(qvel.size):
        acceleration[i] = (acceleration[i] - qvel[i]) / step
    total = _problem(problem, "gradient")
    for i in range(qvel.size):
        total[i] = 0.0
    # Actuators are forces of their own, not constraints.
    kind = _rows(rows, "kind")
    order = _problem(problem, "row")
    impulse = _problem(problem, "row_impulse")
    for i in range(nrow):
        if kind[order[i]] == ACTUATOR:
            impulse[i] = 0.0
    add_impulses(
        problem, _state(state, "contacts"), rows, (0, ncontact), (0, nrow), total, 1.0 / step
    )
    force_from_solver(plant, _state(state, "cdof"), total, constraint_force)
    return OK


PUBLICATION_KERNELS = (solve_forces, write_constraint_forces)
"""What `publish` needs compiled."""


def contact_impulses(world: World) -> np.ndarray:
    """Impulses of the last solve, in the order of the current contact set, shape (n, 3) [N s]."""
    problem = world.problem
    count = int(world.current.contacts.counts[0])
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
        code = int(solve_forces(world.table.address, step, acceleration, constraint_force))
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
    write_constraint_forces(world.table.address, step)
    mujoco.mj_sensorPos(model, data)
    mujoco.mj_sensorVel(model, data)
    mujoco.mj_sensorAcc(model, data)
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_ENERGY:
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
    return OK
