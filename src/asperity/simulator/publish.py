"""Publication of a state into MjData: derived quantities, contact forces, sensors.

After a publication MjData is what ``mj_forward`` would leave at the present state. Contacts,
constraint forces and accelerations are those of the step that led there, as after ``mj_step``: its
impulses over its length. So nothing is solved again. Only where no step has led to the state, at
the beginning or after a user's change, one from there on is solved and not taken. Classical
integrators know forces at an instant only: theirs are those of the state.

Compiled code does all of it (`asperity.simulator.compiled_publication`), unless a method keeps
results of its own, or external systems exert what is published: then Python goes through its
stages.
"""

from __future__ import annotations

import mujoco

from asperity.compiled import Table
from asperity.integrators.methods.own_results import OwnResults
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK
from asperity.simulator.compiled_publication import (
    NOT_EVALUATED,
    publish_contacts,
    publish_forces,
    solve_forces,
)
from asperity.systems import Coupling

__all__ = ["Delivered", "publish"]


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
            code = int(solve_forces.call(world.table.address, world.table.last_step))
            if code == OK or not world.grow(code):
                break
        if code not in NOT_EVALUATED:
            mujoco.mj_camlight(model, data)
            if not world.plant.table.has_articulated_trees:
                mujoco.mj_makeM(model, data)
            mujoco.mj_factorM(model, data)
            if model.nflex:
                mujoco.mj_flex(model, data)
        return code

    def write_actuation(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._coupling.publish(data)

    def write_accelerations(self, data: mujoco.MjData) -> None:
        data.qacc[:] = data.qacc_warmstart[:] = self._world.delivered.acceleration


def publish(
    publication: Table,
    plant: Table,
    results: OwnResults,
    data: mujoco.MjData,
    sensed: mujoco.MjModel | None = None,
) -> int:
    """Bring the MjData of the current state up to date, stage by stage; returns a method's code.

    ``sensed`` is the model whose sensors are read, if not that of the results.
    """
    publication.margin = results.margin
    with results.options() as model:
        code = results.evaluate(model, data)
        if code in NOT_EVALUATED:
            return code
        tables = publication.address, plant.address, results.delivered.address
        publish_contacts.call(*tables, model._address, data._address)
        results.write_actuation(model, data)
        publish_forces.call(*tables, model._address, data._address)
        results.write_accelerations(data)
        mujoco.mj_sensorPos(sensed or model, data)
        mujoco.mj_sensorVel(sensed or model, data)
    model = results.model
    with results.further_forces(data):
        mujoco.mj_sensorAcc(sensed or model, data)
    if publication.energy:
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
    return code
