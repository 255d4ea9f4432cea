"""Publication of a state into MjData by compiled code: what `publish` does, without Python.

For worlds that advance in threads. Where MuJoCo's memory has no room for all contacts, the choice
of the strongest is left to `publish`.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Layout, Table, entry_point
from asperity.compiled.calls import call_pp, store_byte
from asperity.integrators.world_layout import WORLD
from asperity.plant import native
from asperity.simulator.constraint_forces import (
    ACCELERATIONS,
    CONSTRAINT_FORCES,
    PYRAMIDAL,
    WARM_START,
    add_contacts,
    blank_contact,
    fill_accelerations,
    fill_forces,
    room_for_contacts,
)
from asperity.simulator.publish import ENERGY, NOT_EVALUATED, forces_of

__all__ = ["BY_PYTHON", "PUBLICATION", "new_publication", "publish_compiled"]

BY_PYTHON = 32
"""Returned where `publish` is to be called; nothing but the forces has been found then."""

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

PUBLICATION = Layout(
    "publication",
    **dict.fromkeys(_FUNCTIONS, "i8"),
    flags="i8[:]",  # offsets
    blank="i8",  # address of a contact of MuJoCo's without contents
    room="i8",  # contacts that MuJoCo's memory is sure to hold
    pyramidal="i8",
    energy="i8",  # whether energies are wanted
    constraint_forces="i8",  # offsets
    accelerations="i8",
    warm_start="i8",
)


def new_publication(model: mujoco.MjModel, data: mujoco.MjData) -> Table:
    """Make the table of publications into an MjData."""
    blank = blank_contact(0.0)
    table = Table(
        PUBLICATION,
        **{name: native.function_address(function) for name, function in _FUNCTIONS.items()},
        flags=np.array([native.offset("mjData", name) for name in _FLAGS], np.int64),
        blank=blank.ctypes.data,
        room=room_for_contacts(data),
        pyramidal=int(model.opt.cone == PYRAMIDAL),
        energy=int(model.opt.enableflags & ENERGY != 0),
        constraint_forces=CONSTRAINT_FORCES,
        accelerations=ACCELERATIONS,
        warm_start=WARM_START,
    )
    table.keep(blank)
    return table


@entry_point(types.int64(WORLD.type, PUBLICATION.type))
def publish_compiled(world: Table, publication: Table) -> int:
    """Bring the MjData of the current state up to date; returns a method's code, or `BY_PYTHON`."""
    plant = world.plant
    model = plant.model
    data = world.current.data
    delivered = world.delivered
    for i in range(publication.flags.size):
        store_byte(data + publication.flags[i], 0)
    evaluated_before = world.current.valid != 0
    code = forces_of(world, world.last_step)
    if code in NOT_EVALUATED:
        return code
    if delivered.contacts.count > publication.room:
        return BY_PYTHON
    call_pp(publication.camlight, model, data)
    if not plant.has_articulated_trees:
        call_pp(publication.make_mass, model, data)
    call_pp(publication.factor_mass, model, data)
    if add_contacts(plant, data, delivered, publication.blank) > 0:
        return BY_PYTHON
    call_pp(publication.make_constraint, model, data)
    if evaluated_before or plant.only_free_bodies:
        call_pp(publication.forward_velocity, model, data)
    else:
        # The evaluation has just run the velocity stage, but for what it does with rows.
        call_pp(publication.reference_constraint, model, data)
    call_pp(publication.forward_acceleration, model, data)
    fill_forces(plant, data, delivered, publication.pyramidal, publication.constraint_forces)
    fill_accelerations(data, delivered, publication.accelerations, publication.warm_start)
    call_pp(publication.sensors_of_position, model, data)
    call_pp(publication.sensors_of_velocity, model, data)
    call_pp(publication.sensors_of_acceleration, model, data)
    if publication.energy:
        call_pp(publication.energy_of_position, model, data)
        call_pp(publication.energy_of_velocity, model, data)
    return code
