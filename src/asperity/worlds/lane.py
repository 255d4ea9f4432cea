"""A lane: the memory in which one thread advances worlds, one after another."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.errors import SimulationError
from asperity.integrators import Integrator
from asperity.integrators.steppings.accepted import BUDGET_USED
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK, TREES
from asperity.plant import native
from asperity.plant.detection.gliding import GlidingDetection
from asperity.plant.model.sleep import wake
from asperity.plant.plant import Plant
from asperity.simulator.advance import COUPLED_TREES
from asperity.simulator.compiled_call import new_call
from asperity.simulator.counters import Counters
from asperity.simulator.state_vector import new_exchange
from asperity.worlds.bound_fields import field_addresses, finders
from asperity.worlds.world_kernels import DELIVERED_FULL, advance_worlds
from asperity.worlds.world_rows import WorldRows
from asperity.worlds.world_tables import LANE, NO_WORLD

__all__ = ["Lane"]


class Lane(HoldsAddresses):
    """World, method and MjData for one thread.

    Parameters
    ----------
    plant : Plant
        Shared by all lanes, and by the worlds whose model does not differ.
    integrator : Integrator
    """

    def __init__(self, plant: Plant, integrator: Integrator) -> None:
        model = plant.model
        self.data = mujoco.MjData(model)
        self._method = integrator.make_method()
        base = self._method.base
        self.world = World(plant, self.data, mujoco.MjData(model))
        self.world.table.records = -1
        self._method.prepare(self.world)
        integrator.stepping.prepare(self.world)
        self.counters = Counters(self.world, base)
        states = self.world.evaluated_states
        # Data that several states share have their inputs once.
        every = list({id(state.data): state.data for state in states}.values())
        for data in every:
            wake(model, data)
        world = self.world.table
        first_steps = float(world.next_step), float(world.last_step)
        exchange = new_exchange(model, states, every)
        self.table = Table(
            LANE,
            call=new_call(
                model, self.world, self._method, integrator.stepping, exchange, first_steps
            ),
            place=NO_WORLD,
            gliding=int(states[0].table.gliding),
            delivered=self.world.delivered.address,
            plant_slot=world.address_of("plant"),
            delivered_slot=world.address_of("delivered"),
            sensordata=self.data.sensordata,
        )
        self._set_room()

    def run(self, rows: WorldRows, job: Table, budget: int) -> bool:
        """Advance worlds of a job; False if there are more to do.

        Raises
        ------
        SimulationError
            If the model is one that cannot be simulated.
        """
        table = self.table
        code = advance_worlds.call(table.address, rows.table.address, job.address, budget)
        if code in (OK, BUDGET_USED):
            return bool(code == OK)
        w = int(job.worlds[table.place])
        if code == DELIVERED_FULL:
            rows.grow_delivered(w, *self._room)
        elif self.world.grow(code):
            self._set_room()
        else:
            table.place = NO_WORLD
            if code == TREES:
                raise SimulationError(COUPLED_TREES)
            raise SimulationError(f"world {w} has ended with an unknown code, {code}.")
        return False

    def detection_for(self, plant: Plant) -> GlidingDetection | None:
        """Detection of what glides in a plant with other numbers, if the method wants any."""
        return self._method.base.detection_for(plant)

    def bind(self, names: Iterable[str]) -> None:
        """Hand over these fields of MjData whenever sensors are read."""
        names = list(names)
        self.table.bound = field_addresses(self.data, names)
        addresses = [native.function_address(name) for name in finders(names)]
        self.table.finders = np.array(addresses, np.int64)

    def leave(self) -> None:
        """Be at no world, whatever happened there."""
        self.table.place = NO_WORLD

    # -- inside --------------------------------------------------------------------------------

    @property
    def _room(self) -> tuple[int, int]:
        return self.world.contact_capacity, self.world.row_capacity

    def _set_room(self) -> None:
        self.table.contact_room, self.table.row_room = self._room
