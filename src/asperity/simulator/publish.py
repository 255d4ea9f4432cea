"""Publication of a state into MjData: derived quantities, contact forces, sensors.

After a publication MjData is what ``mj_forward`` would leave at the present state. Contacts,
constraint forces and accelerations are those of the step that led there, as after ``mj_step``: its
impulses over its length. So nothing is solved again. Only where no step has led to the state, at
the beginning or after a user's change, one from there on is solved and not taken. Classical
integrators know forces at an instant only: theirs are those of the state.
"""

from __future__ import annotations

import mujoco
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.compiled.calls import call_method, call_p_status, call_pp
from asperity.contact.delivered import NOTHING, SOLVED, TAKEN
from asperity.integrators.methods.motion import ensure_evaluated
from asperity.integrators.methods.own_results import OwnResults
from asperity.integrators.results import copy_results, keep_results
from asperity.integrators.world import World
from asperity.integrators.world_layout import (
    CONTACTS_FULL,
    COUPLING_FULL,
    FAILED,
    NOT_CONVERGED,
    OK,
    ROWS_FULL,
    TREES,
    WORLD,
)
from asperity.plant.resting_layout import RESTING
from asperity.plant.trees import velocity_from_solver
from asperity.simulator.constraint_forces import (
    FORCE_KERNELS,
    write_accelerations,
    write_contacts,
    write_forces,
)
from asperity.systems import Coupling

__all__ = [
    "ENERGY",
    "NOT_EVALUATED",
    "PUBLICATION_KERNELS",
    "Delivered",
    "forces_of",
    "publish",
    "solve_forces",
]

ENERGY = int(mujoco.mjtEnableBit.mjENBL_ENERGY)

# The state is not evaluated: there is nothing to publish, or more memory is needed first.
NOT_EVALUATED = (CONTACTS_FULL, ROWS_FULL, COUPLING_FULL, TREES, FAILED)


@compiled
def _no_forces(world: Table) -> None:
    """Deliver the contacts of the current state, without forces."""
    state = world.current
    delivered = world.delivered
    for i in range(state.contacts.count):
        for a in range(3):
            state.contacts.impulse[i, a] = 0.0
            state.contacts.velocity[i, a] = 0.0
    for i in range(state.rows.count):
        state.rows.impulse[i] = 0.0
    copy_results(delivered, state)
    for i in range(delivered.acceleration.size):
        delivered.acceleration[i] = 0.0


@compiled
def forces_of(world: Table, step: float) -> int:
    """Evaluate the current state; if no step has led there, solve one of ``step`` [s] from there.

    Returns a method's code.
    """
    state = world.current
    delivered = world.delivered
    state.step = step
    if world.resting != 0:
        # It finds all that MjData lacks of bodies at rest, too.
        call_p_status(RESTING.at(world.resting).wake_changed, world)
    code = ensure_evaluated(world, state)
    if code != OK:
        return code
    if state.find_positions != 0:
        # The centre of mass of the world as a whole is found by none of these.
        call_pp(world.plant.mujoco.com_pos, world.plant.model, state.data)
    if delivered.origin in (TAKEN, SOLVED):
        # What systems exert is shown for the state.
        if world.systems.size > 0:
            return call_method(world.prepare_systems, world, state, 0, step)
        return OK
    world.guess_kind = 0
    code = call_method(world.solve_step, world, state, 0, step)
    # Forces of the last iterate are better than none.
    if code in (OK, NOT_CONVERGED):
        velocity_from_solver(world.plant, state.cdof, world.problem.iterate.velocity, world.scratch)
        keep_results(world, state, state.qvel, world.scratch, step)
        code = call_p_status(world.deliver, world)
    elif code in NOT_EVALUATED:
        return code
    elif delivered.origin == NOTHING:
        _no_forces(world)
    delivered.origin = SOLVED
    return code


@compiled_loop(types.int64(types.int64, types.float64))
def solve_forces(world_address: int, step: float) -> int:
    """See `forces_of`."""
    return forces_of(WORLD.at(world_address), step)


PUBLICATION_KERNELS = (solve_forces, *FORCE_KERNELS)
"""What `publish` needs compiled, of results that a world keeps."""


class Delivered(OwnResults):
    """Results that a world keeps: of convex methods, TAMSI and the classical integrators.

    Parameters
    ----------
    world : World
    coupling : Coupling
        External systems, whose efforts are published with those of actuators.
    """

    def __init__(self, world: World, coupling: Coupling) -> None:
        super().__init__(world.plant.model)
        self._world = world
        self._coupling = coupling

    @property
    def delivered(self) -> Table:
        return self._world.delivered

    def evaluate(self, model: mujoco.MjModel, data: mujoco.MjData) -> int:
        world = self._world
        while True:
            code = solve_forces.call(world.table.address, world.table.last_step)
            if code == OK or not world.grow(code):
                break
        if code in NOT_EVALUATED:
            return code
        mujoco.mj_camlight(model, data)
        if not world.plant.table.has_articulated_trees:
            mujoco.mj_makeM(model, data)
        mujoco.mj_factorM(model, data)
        return code

    def write_actuation(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._coupling.publish(data)

    def write_accelerations(self, data: mujoco.MjData) -> None:
        write_accelerations(data, self._world.delivered)


def publish(plant: Table, results: OwnResults, data: mujoco.MjData) -> int:
    """Bring the MjData of the current state up to date; returns a method's code."""
    # What MuJoCo marks as computed once per forward pass must be computed again.
    data.flg_energypos = data.flg_energyvel = False
    data.flg_subtreevel = data.flg_rnepost = False
    model = results.model
    if results.has_options:
        with results.options() as own_model:
            code = _derive(plant, results, own_model, data)
        if code not in NOT_EVALUATED:
            with results.further_forces(data):
                mujoco.mj_sensorAcc(model, data)
    else:
        code = _derive(plant, results, model, data)
        if code not in NOT_EVALUATED:
            mujoco.mj_sensorAcc(model, data)
    if code not in NOT_EVALUATED and model.opt.enableflags & ENERGY:
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
    return code


def _derive(plant: Table, results: OwnResults, model: mujoco.MjModel, data: mujoco.MjData) -> int:
    """Fill what follows from positions, velocities and the forces delivered."""
    code = results.evaluate(model, data)
    if code in NOT_EVALUATED:
        return code
    delivered = write_contacts(plant, data, results.delivered, results.margin)
    mujoco.mj_makeConstraint(model, data)
    mujoco.mj_fwdVelocity(model, data)
    results.write_actuation(model, data)
    mujoco.mj_fwdAcceleration(model, data)
    write_forces(plant, model, data, delivered)
    results.write_accelerations(data)
    mujoco.mj_sensorPos(model, data)
    mujoco.mj_sensorVel(model, data)
    return code
