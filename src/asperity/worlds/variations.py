"""Fields of the model that differ from world to world.

A world whose fields differ has a C struct of its own. It points to the arrays of the shared model,
and to copies of its varied fields and of those that MuJoCo derives from them (``mj_setConst``).
MuJoCo's functions take it for the model.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses
from asperity.errors import ArgumentError, ModelError
from asperity.plant import native
from asperity.plant.model.derived_bounds import DECIDING, update_bounds
from asperity.plant.model.finite import check_signs
from asperity.plant.model.model_watch import is_watched
from asperity.plant.model.resolved_materials import ResolvedMaterials
from asperity.plant.model.support import check_supported
from asperity.simulator.checks import reset_data
from asperity.worlds.varying_contact import CONTACT, contact_values, world_materials
from asperity.worlds.varying_fields import OPTION, field_values, template_of, write_field

__all__ = ["Variations"]

_WORD = 8

_STRUCT = native.struct_size("mjModel")

# Of what is not watched, what MuJoCo derives from other fields.
_DERIVED = frozenset({"bvh_aabb"})

# Of which the plant copies inertias at most, and nothing is of any other use than as a number.
_READ_IN_PLACE = frozenset({"geom_friction", "pair_friction", "body_mass", "body_inertia"})

# From which initial states and inputs follow.
_INITIAL = frozenset({"qpos0", "body_pos", "body_quat"})


class Variations(HoldsAddresses):
    """Model fields by world.

    Parameters
    ----------
    model : mujoco.MjModel
        Of all worlds.
    count : int
        Number of worlds.
    meshes : bool
        Whether vertices of meshes may differ: of worlds that have a whole model each.
    """

    def __init__(self, model: mujoco.MjModel, count: int, *, meshes: bool = False) -> None:
        self._model, self._count, self._meshes = model, count, meshes
        self._data = mujoco.MjData(model)
        self.forget_model()
        self._values: dict[str, np.ndarray] = {}
        self._contact: dict[str, np.ndarray] = {}
        self._known: dict[str, np.ndarray] = {}
        self._structs: dict[int, tuple[np.ndarray, list[np.ndarray]]] = {}
        self._taken: set[int] = set()

    @property
    def changes_initial_state(self) -> bool:
        """Whether worlds begin in states of their own."""
        return not _INITIAL.isdisjoint(self._values)

    def vary(self, name: str, materials: ResolvedMaterials) -> np.ndarray:
        """Let a field, or a contact parameter, vary; returns its values, shape (count, ...).

        Raises
        ------
        ArgumentError
            If the model has no such field, or its numbers do not enter the motion.
        """
        of_contact = isinstance(name, str) and name.startswith(CONTACT)
        found = self._contact if of_contact else self._values
        if name not in found:
            if of_contact:
                template = contact_values(materials, name)
            else:
                template = template_of(self._model, name, meshes=self._meshes)
            found[name] = np.repeat(template[None], self._count, axis=0)
            self._known[name] = found[name].copy()
        return found[name]

    def materials(self, w: int, shared: ResolvedMaterials) -> ResolvedMaterials:
        """Contact parameters of a world.

        Raises
        ------
        ArgumentError
            If one of them is negative or infinite.
        """
        if not self._contact:
            return shared
        return world_materials(shared, {name: v[w] for name, v in self._contact.items()})

    def changed(self) -> np.ndarray:
        """Numbers of the worlds whose values are other ones than were taken over last.

        Raises
        ------
        ArgumentError
            If one of them is not finite.
        """
        differs = np.zeros(self._count, bool)
        for name, values in (*self._values.items(), *self._contact.items()):
            now, known = values.reshape(self._count, -1), self._known[name].reshape(self._count, -1)
            other = now != known
            if name in self._contact:
                other &= ~(np.isnan(now) & np.isnan(known))
            # Of a field's number that is none this is true as well.
            differs |= np.any(other, axis=1)
        worlds = np.flatnonzero(differs)
        for w in worlds:
            for name, values in self._values.items():
                bad = np.argwhere(~np.isfinite(values[w]))
                if len(bad):
                    where = f", at index {bad[0].tolist()}" if bad.size else ""
                    raise ArgumentError(
                        f"{name} of world {w} has a value that is not finite{where}; write a "
                        "number there."
                    )
        return worlds

    def varied(self) -> np.ndarray:
        """Numbers of the worlds whose values are other ones than the model's, or have been."""
        if self._contact:
            return np.arange(self._count)
        differs = np.isin(np.arange(self._count), list(self._taken))
        for name, values in self._values.items():
            shared = field_values(self._model, name)
            differs |= np.any((values != shared).reshape(self._count, -1), axis=1)
        return np.flatnonzero(differs)

    def remember(self, w: int) -> None:
        """Take the values of a world for known."""
        self._taken.add(w)
        for name, values in (*self._values.items(), *self._contact.items()):
            self._known[name][w] = values[w]

    def forget_model(self) -> None:
        """Take the shared model's numbers anew."""
        # Where the model of one world after another is put together.
        self._mould = copy.copy(self._model)
        self._find_fields()

    def write(self, w: int, model: mujoco.MjModel) -> None:
        """Write a world's values, and what MuJoCo derives from them, into a model."""
        for name, values in self._values.items():
            write_field(model, name, values[w])
        arrays = {name for name in self._values if not name.startswith(OPTION)}
        if not _READ_IN_PLACE.issuperset(arrays) or "body_mass" in arrays:
            mujoco.mj_setConst(model, self._data)
        if not DECIDING.isdisjoint(arrays):
            update_bounds(model)

    def model(self, w: int) -> mujoco.MjModel:
        """A copy of the model with a world's values."""
        model = copy.copy(self._model)
        self.write(w, model)
        return model

    def make(self, w: int) -> tuple[int, mujoco.MjModel, bool]:
        """Make the struct of a world.

        Returns
        -------
        address : int
        model : mujoco.MjModel
            A model with the same numbers, for what is to be computed of them, until the next call.
        in_place : bool
            Whether plants copy inertias at most of what differs.

        Raises
        ------
        ModelError
            If such a model cannot be simulated.
        """
        mould = self._mould
        self.write(w, mould)
        quick = _READ_IN_PLACE.issuperset(self._values)
        try:
            if quick:
                check_signs(mould, self._values)
            else:
                # What an actuator acts on does not vary, and the batch has looked at it.
                check_supported(mould, every_actuator=True, every_friction=True, asks_mujoco=True)
        except ModelError as error:
            raise ModelError(f"world {w}: {error}") from None
        struct = native.memory(self._model._address, _STRUCT // _WORD).copy()
        for name, values in self._values.items():
            if name.startswith(OPTION):
                place = native.offset("mjModel", "opt")
                place += native.offset("mjOption", name.removeprefix(OPTION))
                numbers = struct[place // _WORD :].view(np.float64)
                numbers[: values[w].size] = values[w].ravel()
        copies = []
        for number in self._differing():
            name, first, count = self._fields[number]
            copies.append(native.memory(first, count).copy())
            struct[native.offset("mjModel", name) // _WORD] = copies[-1].ctypes.data
        self._structs[w] = struct, copies
        return int(struct.ctypes.data), mould, quick

    def initial_data(self, w: int, keyframe: int | None) -> mujoco.MjData:
        """Initial state and inputs of a world, until the next call."""
        self.write(w, self._mould)
        reset_data(self._mould, self._data, keyframe)
        return self._data

    # -- inside --------------------------------------------------------------------------------

    def _find_fields(self) -> None:
        """Find the arrays of the mould, and runs of them in which it is compared with the model."""
        arrays = [native.model_arrays(model) for model in (self._mould, self._model)]
        self._fields: list[tuple[str, int, int]] = []
        runs: list[list[int]] = []
        for (name, first, last), (_, shared, _) in zip(*arrays, strict=True):
            count = (last - first) // _WORD
            if count == 0 or not (is_watched(name) or name in _DERIVED):
                continue
            self._fields.append((name, first, count))
            if runs and runs[-1][0] + _WORD * runs[-1][2] == first:
                runs[-1][2] += count
            else:
                runs.append([first, shared, count])
        self._starts = np.cumsum([0, *(count for _, _, count in self._fields)])
        self._own = [native.memory(first, count) for first, _, count in runs]
        self._shared = [native.memory(shared, count) for _, shared, count in runs]

    def _differing(self) -> np.ndarray:
        """Numbers of the fields in which the mould differs from the model."""
        own, shared = np.concatenate(self._own), np.concatenate(self._shared)
        words = np.flatnonzero(own != shared)
        return np.unique(np.searchsorted(self._starts, words, side="right") - 1)
