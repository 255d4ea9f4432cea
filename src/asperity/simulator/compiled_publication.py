"""Publication of a state into MjData by compiled code.

Stages, between which Python may write what only it knows: the state is evaluated, contacts and
velocities follow, then accelerations, forces and what sensors read. A state of which compiled code
knows all is published in one call.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Layout, Table, compiled, compiled_loop, entry_point
from asperity.compiled.calls import (
    call_method,
    call_p_status,
    call_pp,
    load_address,
    load_double,
    store_byte,
    store_double,
)
from asperity.contact.delivered import DELIVERED, NOTHING, SOLVED, TAKEN
from asperity.integrators.methods.motion import ensure_evaluated
from asperity.integrators.results import copy_results, keep_results, kept_contacts
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
from asperity.plant import native
from asperity.plant.plant_layouts import PLANT
from asperity.plant.resting_layout import RESTING
from asperity.plant.trees import turn_by_themselves, velocity_from_solver
from asperity.simulator.constraint_forces import (
    PYRAMIDAL,
    add_contacts,
    blank_contact,
    fill_accelerations,
    fill_forces,
    room_for_contacts,
)

__all__ = [
    "ENERGY",
    "NOT_EVALUATED",
    "PUBLICATION",
    "STAGES",
    "new_publication",
    "publish_compiled",
    "publish_contacts",
    "publish_forces",
    "solve_forces",
]

ENERGY = int(mujoco.mjtEnableBit.mjENBL_ENERGY)

# The state is not evaluated: there is nothing to publish, or more memory is needed first.
NOT_EVALUATED = (CONTACTS_FULL, ROWS_FULL, COUPLING_FULL, TREES, FAILED)

_FUNCTIONS = {
    "camlight": "mj_camlight",
    "make_mass": "mj_makeM",
    "factor_mass": "mj_factorM",
    "make_constraint": "mj_makeConstraint",
    "forward_velocity": "mj_fwdVelocity",
    "reference_constraint": "mj_referenceConstraint",
    "forward_acceleration": "mj_fwdAcceleration",
    "sensors_of_position": "mj_sensorPos",
    "sensors_of_velocity": "mj_sensorVel",
    "sensors_of_acceleration": "mj_sensorAcc",
    "energy_of_position": "mj_energyPos",
    "energy_of_velocity": "mj_energyVel",
}

# What MuJoCo marks as computed once per forward pass must be computed again.
_FLAGS = ("flg_energypos", "flg_energyvel", "flg_subtreevel", "flg_rnepost")

# Length [m] of an edge without a direction, for which MuJoCo takes that of the first axis.
_NO_LENGTH = 1e-15

PUBLICATION = Layout(
    "publication",
    **dict.fromkeys(_FUNCTIONS, "i8"),
    flags="i8[:]",  # offsets
    blank="i8",  # address of a contact of MuJoCo's without contents
    margin="f8",  # below which contacts push [m],
    include_margin="i8",  # and where contacts have it
    room="i8",  # contacts that MuJoCo's memory is sure to hold
    pyramidal="i8",
    energy="i8",  # whether energies are wanted
    constraint_forces="i8",  # offsets
    accelerations="i8",
    warm_start="i8",
    # Jacobians of the edges of flexes: entries of each, the first one's number, and their dofs
    edge_count="i4[:]",
    edge_first="i4[:]",
    edge_dof="i4[:]",
    edge_vertex="i8[:, 2]",
    edge_sign="f8[:]",  # of each entry, which is of a slide of either vertex; none if others are
    edge_jacobian="i8",  # offsets
    vertices="i8",
    edge_velocity="i8",
    velocity="i8",
)


def _edge_vertices(model: mujoco.MjModel) -> np.ndarray:
    """The vertices of all edges of flexes, shape (nflexedge, 2)."""
    first = np.repeat(model.flex_vertadr, model.flex_edgenum)
    return np.asarray(first[:, None] + model.flex_edge, np.int64).reshape(-1, 2)


def _edge_signs(model: mujoco.MjModel) -> np.ndarray:
    """−1 of the first vertex's entries of Jacobians, 1 of the second's; none if not all slide."""
    dof = model.flexedge_J_colind
    if len(dof) != np.sum(model.flexedge_J_rownnz):
        return np.zeros(0)
    bodies = np.repeat(model.flex_vertbodyid[_edge_vertices(model)], model.flexedge_J_rownnz, 0)
    slides = model.jnt_type[model.dof_jntid[dof]] == int(mujoco.mjtJoint.mjJNT_SLIDE)
    ends = model.dof_bodyid[dof, None] == bodies
    if not np.all(slides & (ends[:, 0] != ends[:, 1])):
        return np.zeros(0)
    return np.where(ends[:, 0], -1.0, 1.0)


def new_publication(model: mujoco.MjModel, data: mujoco.MjData) -> Table:
    """Make the table of publications into an MjData."""
    blank = blank_contact()
    table = Table(
        PUBLICATION,
        **{name: native.function_address(function) for name, function in _FUNCTIONS.items()},
        flags=np.array([native.offset("mjData", name) for name in _FLAGS], np.int64),
        blank=blank.ctypes.data,
        include_margin=native.offset("mjContact", "includemargin"),
        room=room_for_contacts(data),
        pyramidal=int(model.opt.cone == PYRAMIDAL),
        energy=int(model.opt.enableflags & ENERGY != 0),
        constraint_forces=native.offset("mjData", "qfrc_constraint"),
        accelerations=native.offset("mjData", "qacc"),
        warm_start=native.offset("mjData", "qacc_warmstart"),
        edge_count=model.flexedge_J_rownnz,
        edge_first=model.flexedge_J_rowadr,
        edge_dof=model.flexedge_J_colind,
        edge_vertex=_edge_vertices(model),
        edge_sign=_edge_signs(model),
        edge_jacobian=native.offset("mjData", "flexedge_J"),
        edge_velocity=native.offset("mjData", "flexedge_velocity"),
        vertices=native.offset("mjData", "flexvert_xpos"),
        velocity=native.offset("mjData", "qvel"),
    )
    table.keep(blank)
    return table


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
    copy_results(delivered, state, kept_contacts(state))
    for i in range(delivered.acceleration.size):
        delivered.acceleration[i] = 0.0


@compiled
def _forces_of(world: Table, step: float) -> int:
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
        turn_by_themselves(world.plant, state.qpos, step, world.scratch)
        keep_results(world, state, state.qvel, world.scratch, step)
        code = call_p_status(world.deliver, world)
    elif code in NOT_EVALUATED:
        return code
    elif delivered.origin == NOTHING:
        _no_forces(world)
    delivered.origin = SOLVED
    return code


@compiled
def _find_edge_jacobians(publication: Table, plant: Table, state: Table) -> None:
    """Find Jacobians of the edges of flexes, which evaluations leave out."""
    if publication.edge_sign.size == 0:
        call_pp(plant.mujoco.flex, plant.model, state.data)
        return
    vertices = load_address(state.data + publication.vertices)
    out = load_address(state.data + publication.edge_jacobian)
    along = np.empty(3)
    for edge in range(publication.edge_count.size):
        one = vertices + 24 * publication.edge_vertex[edge, 0]
        other = vertices + 24 * publication.edge_vertex[edge, 1]
        for a in range(3):
            along[a] = load_double(other + 8 * a) - load_double(one + 8 * a)
        length = np.sqrt(along[0] * along[0] + along[1] * along[1] + along[2] * along[2])
        if length < _NO_LENGTH:
            along[0], along[1], along[2] = 1.0, 0.0, 0.0
            length = 1.0
        first = publication.edge_first[edge]
        for k in range(first, first + publication.edge_count[edge]):
            axis = state.mj_cdof[publication.edge_dof[k]]
            along_axis = along[0] * axis[3] + along[1] * axis[4] + along[2] * axis[5]
            store_double(out + 8 * k, publication.edge_sign[k] * along_axis / length)


@compiled
def _find_edge_velocities(publication: Table, data: int) -> None:
    """Find how fast edges of flexes become longer, which the velocity stage does not see."""
    jacobian = load_address(data + publication.edge_jacobian)
    velocity = load_address(data + publication.velocity)
    out = load_address(data + publication.edge_velocity)
    for edge in range(publication.edge_count.size):
        total = 0.0
        first = publication.edge_first[edge]
        for k in range(first, first + publication.edge_count[edge]):
            dof = publication.edge_dof[k]
            total += load_double(jacobian + 8 * k) * load_double(velocity + 8 * dof)
        store_double(out + 8 * edge, total)


@compiled
def _constrain(
    publication: Table, plant: Table, delivered: Table, model: int, data: int, has_velocity: bool
) -> None:
    """Write the contacts that were delivered, and what follows from them and from velocities."""
    for i in range(publication.flags.size):
        store_byte(data + publication.flags[i], 0)
    store_double(publication.blank + publication.include_margin, publication.margin)
    add_contacts(plant, model, data, delivered, publication.blank, publication.room)
    call_pp(publication.make_constraint, model, data)
    if has_velocity:
        # The evaluation has just run the velocity stage, but for what it does with rows.
        call_pp(publication.reference_constraint, model, data)
    else:
        # Forces of flexes are ours, and those of passive contact would end the process.
        smooth = model if plant.smooth_model == plant.model else plant.smooth_model
        call_pp(publication.forward_velocity, smooth, data)
    _find_edge_velocities(publication, data)


@compiled
def _apply_forces(
    publication: Table, plant: Table, delivered: Table, model: int, data: int
) -> None:
    """Write forces, and what follows from them."""
    call_pp(publication.forward_acceleration, model, data)
    fill_forces(plant, model, data, delivered, publication.pyramidal, publication.constraint_forces)


@entry_point(types.int64(WORLD.type, PUBLICATION.type))
def publish_compiled(world: Table, publication: Table) -> int:
    """Bring the MjData of the current state up to date; returns a method's code."""
    plant = world.plant
    delivered = world.delivered
    model, data = plant.model, world.current.data
    had_velocity = world.current.valid != 0
    code = _forces_of(world, world.last_step)
    if code in NOT_EVALUATED:
        return code
    call_pp(publication.camlight, model, data)
    if not plant.has_articulated_trees:
        call_pp(publication.make_mass, model, data)
    call_pp(publication.factor_mass, model, data)
    has_velocity = not had_velocity and not plant.only_free_bodies
    if plant.flex_model != model:
        _find_edge_jacobians(publication, plant, world.current)
    _constrain(publication, plant, delivered, model, data, has_velocity)
    _apply_forces(publication, plant, delivered, model, data)
    fill_accelerations(data, delivered, publication.accelerations, publication.warm_start)
    call_pp(publication.sensors_of_position, model, data)
    call_pp(publication.sensors_of_velocity, model, data)
    call_pp(publication.sensors_of_acceleration, model, data)
    if publication.energy:
        call_pp(publication.energy_of_position, model, data)
        call_pp(publication.energy_of_velocity, model, data)
    return code


# Tables as addresses: Numba needs two microseconds to see what a table is, whenever Python calls.
@compiled_loop(types.int64(types.int64, types.float64))
def solve_forces(world_address: int, step: float) -> int:
    """See `_forces_of`."""
    return _forces_of(WORLD.at(world_address), step)


_STAGE = types.void(types.int64, types.int64, types.int64, types.int64, types.int64)


@compiled_loop(_STAGE)
def publish_contacts(publication: int, plant: int, delivered: int, model: int, data: int) -> None:
    """See `_constrain`; all are addresses."""
    tables = PUBLICATION.at(publication), PLANT.at(plant), DELIVERED.at(delivered)
    _constrain(*tables, model, data, False)


@compiled_loop(_STAGE)
def publish_forces(publication: int, plant: int, delivered: int, model: int, data: int) -> None:
    """See `_apply_forces`; all are addresses."""
    _apply_forces(
        PUBLICATION.at(publication), PLANT.at(plant), DELIVERED.at(delivered), model, data
    )


STAGES = (publish_contacts, publish_forces)
"""What `asperity.simulator.publish` needs compiled, of results that a method keeps."""
