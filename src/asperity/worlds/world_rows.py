"""The rows of worlds: their states, inputs and results in arrays, world first."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.compiled.replicas import Replicas
from asperity.contact.delivered import new_delivered
from asperity.plant.detection.gliding import GlidingDetection
from asperity.plant.plant import Plant
from asperity.simulator.inputs import present_vector
from asperity.simulator.state_vector import parts_of, vector_size
from asperity.worlds.bound_fields import new_bound
from asperity.worlds.world_kernels import copy_delivered
from asperity.worlds.world_tables import ROWS

__all__ = ["WorldRows"]


class WorldRows(HoldsAddresses):
    """States, inputs and results of all worlds.

    Parameters
    ----------
    model : mujoco.MjModel
    count : int
        Number of worlds.

    Attributes
    ----------
    values : ndarray, shape (count, n)
        State and inputs of every world (`asperity.simulator.state_vector`).
    state : ndarray, shape (count, m)
        What these begin with: time, positions, velocities and activations.
    arrays : dict of str to ndarray
        Views of them in the shapes of MjData with the world before: ``xfrc_applied`` is
        (count, nbody, 6). And ``sensordata`` and ``status``.
    bound : dict of str to ndarray
        Other fields of MjData, which are kept at the end of every call that publishes.
    table : Table
    """

    def __init__(self, model: mujoco.MjModel, count: int) -> None:
        self.count = count
        self._model = model
        data = mujoco.MjData(model)
        parts = parts_of(model)
        self.values = np.zeros((count, vector_size(model)))
        self.state = self.values[:, : parts["act"].stop]
        self.arrays: dict[str, np.ndarray] = {
            name: self.values[:, part].reshape(count, *np.shape(getattr(data, name)))
            for name, part in parts.items()
            if name != "plastic"
        }
        # Of rods' frames MuJoCo keeps numbers there, too, which are no state here.
        self.arrays["plastic"] = self.values[:, parts["plastic"]]
        self.arrays["sensordata"] = np.zeros((count, model.nsensordata))
        self.arrays["status"] = np.zeros(count, np.int64)
        self.bound: dict[str, np.ndarray] = {}
        self.table = Table(
            ROWS,
            values=self.values,
            # None that is known: not a number is not even itself.
            known=np.full_like(self.values, np.nan),
            sensordata=self.arrays["sensordata"],
            status=self.arrays["status"],
            worlds=count,
        )

    def bind(self, name: str) -> None:
        """Keep a field of MjData from now on.

        Raises
        ------
        ArgumentError
            If it cannot be kept.
        """
        self.bound[name] = new_bound(self._model, name, self.count)
        rows = self.bound.values()
        self.table.bound = np.array([one.ctypes.data for one in rows], np.int64)
        self.table.bound_sizes = np.array([one[0].size for one in rows], np.int64)

    def set_plant(self, plant: Plant, contacts: int, rows: int) -> None:
        """Let all worlds share a plant, with room for so many contacts and constraints."""
        table = self.table
        table.plant = np.full(self.count, plant.table.address, np.int64)
        table.gliding[:] = 0
        self._variants: dict[int, tuple[Plant, GlidingDetection | None]] = {}
        one = new_delivered(self._model.nv, self._model.njnt, contacts, rows)
        self._delivered = Replicas(one, self.count)
        self._grown: dict[int, Table] = {}
        table.delivered = self._delivered.addresses
        table.contact_room = np.full(self.count, contacts, np.int64)
        table.row_room = np.full(self.count, rows, np.int64)
        # What was delivered before is gone.
        self.forget(np.arange(self.count))

    def share_plant(self, plant: Plant) -> None:
        """Let all worlds share a plant, of which no results are to be kept."""
        table = self.table
        table.plant = np.full(self.count, plant.table.address, np.int64)
        self._variants = {}
        for name in ("delivered", "contact_room", "row_room"):
            setattr(table, name, np.zeros(self.count, np.int64))

    def set_variant(self, w: int, plant: Plant, detection: GlidingDetection | None) -> None:
        """Let a world have a plant of its own, and detection of what glides."""
        self._variants[w] = plant, detection
        self.table.plant[w] = plant.table.address
        if detection is not None:
            self.table.gliding[w] = detection.table.address if detection.needed else -1

    def grow_delivered(self, w: int, contacts: int, rows: int) -> None:
        """Make room for what is delivered in one world, which keeps what it has."""
        table = self.table
        contacts = max(contacts, int(table.contact_room[w]))
        rows = max(rows, int(table.row_room[w]))
        larger = new_delivered(self._model.nv, self._model.njnt, contacts, rows)
        copy_delivered.call(int(table.delivered[w]), larger.address)
        self._grown[w] = larger
        table.delivered[w] = larger.address
        table.contact_room[w] = contacts
        table.row_room[w] = rows

    def write(self, worlds: np.ndarray, data: mujoco.MjData) -> None:
        """Give worlds the state and the inputs of an MjData."""
        self.values[worlds] = present_vector(self._model, data)

    def forget(self, worlds: np.ndarray) -> None:
        """Let the next call of these worlds begin anew."""
        self.table.known[worlds] = np.nan
