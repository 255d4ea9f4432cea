"""Worlds that are simulators of their own, of methods that remember more than a state.

`Midas` keeps links and their history from step to step, in memory that no two worlds can share. So
every world has a simulator, which the threads take in turn; its loops run without Python.
"""

from __future__ import annotations

import copy
import threading
import warnings
from typing import Any

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses
from asperity.errors import AsperityWarning, ModelError, Status
from asperity.integrators import Integrator
from asperity.plant import native
from asperity.plant.contact_parameters import ContactParameters
from asperity.plant.model_watch import ModelWatch
from asperity.plant.support import check_supported
from asperity.simulator.simulator import Simulator
from asperity.worlds.crew import Crew
from asperity.worlds.variations import Variations
from asperity.worlds.world_rows import WorldRows
from asperity.worlds.world_tables import INPUT_NAMES, STATE_NAMES

__all__ = ["SimulatedWorlds"]


class SimulatedWorlds(HoldsAddresses):
    """Worlds, each with a `Simulator`.

    Parameters
    ----------
    model, integrator, contact, joint_stiction_tolerance, crew
        As for `asperity.worlds.compiled_worlds.CompiledWorlds`.
    """

    have_models = True
    """See `asperity.worlds.compiled_worlds.CompiledWorlds.have_models`."""

    def __init__(
        self,
        model: mujoco.MjModel,
        integrator: Integrator,
        contact: ContactParameters,
        joint_stiction_tolerance: float,
        crew: Crew,
    ) -> None:
        self._takes_adhesion = integrator.takes_adhesion
        self._model, self._crew = model, crew
        self._options: dict[str, Any] = {
            "integrator": integrator,
            "contact": contact,
            "joint_stiction_tolerance": joint_stiction_tolerance,
        }
        self._simulators: list[Simulator] = []
        # Of the shared model, once simulators have models of their own.
        self._watch: ModelWatch | None = None

    def adopt(self, rows: WorldRows, *, keeps_results: bool = True) -> None:
        """Make a simulator for every world, unless they are there."""
        if len(self._simulators) == rows.count:
            return
        with warnings.catch_warnings():
            # What is to say about the model was said when it was loaded.
            warnings.simplefilter("ignore", AsperityWarning)
            self._simulators = [Simulator(self._model, **self._options) for _ in range(rows.count)]

    @property
    def counts(self) -> np.ndarray:
        """Work done since the beginning, in the order of `Statistics`."""
        return np.asarray(sum(sim._counters.read() for sim in self._simulators))

    def follow_model(self) -> bool:
        """Let simulators follow the model, which those do themselves that share it.

        Returns
        -------
        bool
            Whether fields that vary are to be written again, into copies of the changed model.

        Raises
        ------
        ModelError
            If it is another mechanism now, or cannot be simulated; nothing has then changed.
        """
        if self._watch is None or not self._watch.changed():
            return False
        self._watch.refuse_other_structure()
        check_supported(self._model, adhesion=self._takes_adhesion)
        for sim in self._simulators:
            native.copy_numbers(self._model, sim.model)
        self._watch.remember()
        return True

    def take_variations(self, rows: WorldRows, variations: Variations, worlds: np.ndarray) -> None:
        """Give worlds models of their own, with the fields that vary."""
        if self._watch is None and len(worlds):
            self._simulators = [copy.deepcopy(sim) for sim in self._simulators]
            self._watch = ModelWatch(self._model, meshes=True)
        for w in worlds:
            variations.write(int(w), self._simulators[w].model)
            variations.remember(int(w))

    def advance(
        self,
        rows: WorldRows,
        worlds: np.ndarray,
        substeps: int,
        step: float,
        *,
        publishes: bool,
        rollout: dict[str, Any] | None = None,
    ) -> None:
        """See `asperity.worlds.compiled_worlds.CompiledWorlds.advance`."""
        lock, places = threading.Lock(), iter(range(len(worlds)))
        complaints: dict[int, str] = {}
        stopped = threading.Event()
        rows.table.status[worlds] = int(Status.INTERRUPTED)

        def work(_: int) -> bool:
            with lock:
                place = next(places, None)
            if place is None or stopped.is_set():
                return True
            w = int(worlds[place])
            try:
                status = self._advance_one(rows, w, substeps, step, place, rollout)
            except ModelError as error:
                status = Status.INVALID_INPUT
                complaints[w] = str(error)
            rows.table.status[w] = int(status)
            return False

        self._crew.run([work] * self._crew.threads, stopped.set, len(worlds))
        if complaints:
            w = min(complaints)
            warnings.warn(f"world {w}: {complaints[w]}", AsperityWarning, stacklevel=4)

    def data(self, rows: WorldRows, w: int) -> mujoco.MjData:
        """See `asperity.worlds.compiled_worlds.CompiledWorlds.data`."""
        try:
            self._advance_one(rows, w, 0, 0.0, 0, None)
        except ModelError as error:
            raise ModelError(f"world {w}: {error}") from None
        return copy.copy(self._simulators[w].data)

    # -- inside --------------------------------------------------------------------------------

    def _advance_one(
        self,
        rows: WorldRows,
        w: int,
        substeps: int,
        step: float,
        place: int,
        rollout: dict[str, Any] | None,
    ) -> Status:
        sim = self._simulators[w]
        data = sim.data
        for name in (*STATE_NAMES, *INPUT_NAMES):
            getattr(data, name)[:] = rows.arrays[name][w]
        data.time = float(rows.arrays["time"][w])
        status = Status.SUCCESS
        if substeps == 0:
            status = sim.advance_to(sim.time).status
        for substep in range(substeps):
            if status == Status.SUCCESS and rollout is not None:
                status = _take_inputs(data, rollout, place, substep)
            if status == Status.SUCCESS:
                status = sim.advance_to(sim.time + step).status
            if rollout is not None:
                _record(data, rollout, place, substep)
            elif status != Status.SUCCESS:
                break
        for name in STATE_NAMES:
            rows.arrays[name][w] = getattr(data, name)
        rows.arrays["time"][w] = data.time
        rows.arrays["sensordata"][w] = data.sensordata
        return status


def _take_inputs(data: mujoco.MjData, rollout: dict[str, Any], place: int, substep: int) -> Status:
    inputs = rollout["inputs"]
    values = inputs[place if len(inputs) > 1 else 0, substep if inputs.shape[1] > 1 else 0]
    if not np.all(np.isfinite(values)):
        return Status.INVALID_INPUT
    for name, start in zip(INPUT_NAMES, rollout["input_start"], strict=True):
        if start >= 0:
            target = getattr(data, name)
            part = values[start : start + target.size].reshape(target.shape)
            target[:] = part != 0.0 if name == "eq_active" else part
    return Status.SUCCESS


def _record(data: mujoco.MjData, rollout: dict[str, Any], place: int, substep: int) -> None:
    rollout["state"][place, substep] = np.concatenate([[data.time], data.qpos, data.qvel, data.act])
    rollout["sensordata"][place, substep] = data.sensordata
