"""The rows of worlds: their states, inputs and results in arrays, world first."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.compiled.replicas import Replicas
from asperity.contact.delivered import new_delivered
from asperity.plant.gliding import GlidingDetection
from asperity.plant.plant import Plant
from asperity.worlds.world_kernels import copy_delivered
from asperity.worlds.world_tables import INPUT_NAMES, ROWS, STATE_NAMES

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
    arrays : dict of str to ndarray
        Views in the shapes of MjData with the world before: ``xfrc_applied`` is (count, nbody, 6).
    table : Table
    """

    def __init__(self, model: mujoco.MjModel, count: int) -> None:
        self.count = count
        self._model = model
        data = mujoco.MjData(model)
        self.arrays: dict[str, np.ndarray] = {}
        flat: dict[str, np.ndarray] = {}
        for name in (*STATE_NAMES, *INPUT_NAMES, "sensordata"):
            shape = getattr(data, name).shape
            dtype = np.uint8 if name == "eq_active" else np.float64
            flat[name] = np.zeros((count, int(np.prod(shape, dtype=int))), dtype)
            self.arrays[name] = flat[name].reshape(count, *shape)
        self.arrays["time"] = flat["time"] = np.zeros(count)
        self.arrays["status"] = flat["status"] = np.zeros(count, np.int64)
        self.table = Table(
            ROWS,
            **flat,
            # None that is known: not a number is not even itself.
            **{f"known_{name}": np.full_like(flat[name], np.nan) for name in STATE_NAMES},
            worlds=count,
            # MuJoCo silently replaces controls beyond this by zero.
            largest_control=float(mujoco.mjMAXVAL),
        )

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

    def plant(self, w: int, shared: Plant) -> Plant:
        """A world's plant."""
        return self._variants[w][0] if w in self._variants else shared

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
        for name in (*STATE_NAMES, *INPUT_NAMES, "time"):
            self.arrays[name][worlds] = getattr(data, name)

    def forget(self, worlds: np.ndarray) -> None:
        """Let the next call of these worlds begin anew."""
        self.table.known_time[worlds] = np.nan
