"""Worlds that advance in compiled code: of methods whose steps begin from the state alone."""

from __future__ import annotations

import copy
from typing import Any

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.compiled.compilation import compile_kernels
from asperity.errors import ArgumentError, ModelError, Status
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.model_watch import WATCH_KERNELS, ModelWatch
from asperity.plant.model.resolved_materials import ResolvedMaterials
from asperity.plant.plant import Plant, contact_kernels
from asperity.simulator.checks import contact_notes
from asperity.simulator.counters import COUNTER_KERNELS
from asperity.worlds.crew import Crew
from asperity.worlds.lane import Lane
from asperity.worlds.variations import Variations
from asperity.worlds.world_kernels import WORLD_KERNELS
from asperity.worlds.world_rows import WorldRows
from asperity.worlds.world_tables import JOB
from asperity.worlds.worlds import Worlds

__all__ = ["CompiledWorlds"]

_INTERRUPTED = int(Status.INTERRUPTED)


class CompiledWorlds(Worlds):
    """Worlds in lanes, one per thread; parameters are those of `Worlds`."""

    def __init__(
        self,
        model: mujoco.MjModel,
        integrator: Integrator,
        contact: ContactParameters,
        joint_stiction_tolerance: float,
        crew: Crew,
    ) -> None:
        super().__init__(model, integrator, contact, joint_stiction_tolerance, crew)
        method = integrator.make_method()
        compile_kernels(
            (
                *contact_kernels(model, contact),
                *method.kernels,
                integrator.stepping.entry,
                *WORLD_KERNELS,
                *WATCH_KERNELS,
                *COUNTER_KERNELS,
            ),
            f"worlds of {type(integrator).__name__}",
        )
        self._make()
        self._watch = ModelWatch(model)
        self._following = np.zeros(1, np.int64)
        self._job = self._new_job(_NO_ROLLOUT)
        self._counts = np.zeros_like(self._lanes[0].counters.read())

    def _make(self) -> None:
        """Make the plant and the lanes of the model as it is."""
        plant = Plant(
            self._model,
            self._contact,
            self._tolerance,
            stiction_tolerance=self._integrator.default_stiction_tolerance,
        )
        self.plant = plant
        self._lanes = [Lane(plant, self._integrator) for _ in range(self._crew.threads)]

    def _new_job(self, fields: dict[str, Any]) -> Table:
        """A job, with nothing to do."""
        following = self._following.ctypes.data
        return Table(JOB, following=following, worlds=np.zeros(0, np.int64), **fields)

    @property
    def materials(self) -> ResolvedMaterials:
        """Contact parameters of worlds that have none of their own."""
        return self.plant.materials

    @property
    def notes(self) -> tuple[str, ...]:
        contact = self._contact
        return (
            *contact.notes,
            *contact_notes(contact, self._integrator, self.plant.model),
            *self.plant.surfaces.notes,
        )

    def take_contact(self, contact: ContactParameters) -> None:
        """Take other contact parameters, which the next call follows.

        Raises
        ------
        ArgumentError, ModelError
            If they do not fit the model. Nothing has then changed.
        """
        before, counts = self._contact, self.counts
        self._contact = contact
        try:
            compile_kernels(contact_kernels(self._model, contact), "the contact parameters")
            self._make()
        except Exception:
            self._contact = before
            raise
        self._counts, self._other_contact = counts, True

    def adopt(self, rows: WorldRows, *, keeps_results: bool = True) -> None:
        """Let worlds share the plant, with memory for what steps deliver if that is to be kept."""
        if keeps_results:
            world = self._lanes[0].world
            rows.set_plant(self.plant, world.contact_capacity, world.row_capacity)
        else:
            rows.share_plant(self.plant)
        self.bind(rows)

    def bind(self, rows: WorldRows) -> None:
        """Hand over fields that rows keep, from the next call on."""
        for lane in self._lanes:
            lane.bind(rows.bound)

    def restart(self, rows: WorldRows, worlds: np.ndarray) -> None:
        """Let the next call of worlds begin anew."""
        rows.forget(worlds)

    @property
    def counts(self) -> np.ndarray:
        """Work done since the beginning, in the order of `Statistics`."""
        return self._counts + sum(lane.counters.read() for lane in self._lanes)

    def _take_model(self) -> None:
        counts = self.counts
        self._make()
        self._counts = counts

    def take_variations(self, rows: WorldRows, variations: Variations, worlds: np.ndarray) -> None:
        """Give worlds plants of their own, with the fields that vary.

        Raises
        ------
        ModelError
            If one cannot be simulated with them; those before it have theirs.
        """
        for world in worlds:
            w = int(world)
            address, model, in_place = variations.make(w)
            try:
                materials = variations.materials(w, self.plant.materials)
                plant = self.plant.variant(address, model, materials, only_inertias=in_place)
                plant.model = model
                detection = self._lanes[0].detection_for(plant)
            except (ArgumentError, ModelError) as error:
                raise type(error)(f"world {w}: {error}") from None
            plant.model = self._model
            rows.set_variant(w, plant, detection)
            variations.remember(w)

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
        """Advance worlds ``substeps`` times by ``step`` [s].

        Parameters
        ----------
        rows : WorldRows
        worlds : ndarray of int64
            Their numbers.
        substeps : int
            With 0 of them sensors are read in the states as they are.
        step : float
        publishes : bool
            Whether sensors are read.
        rollout : dict, optional
            Of the fields of a job that are a rollout's.
        """
        if len(worlds) == 0:
            return
        self._following[0] = 0
        # To make a table takes longer than a step.
        job = self._job if rollout is None else self._new_job({"records": 1, **rollout})
        if job.worlds is not worlds:
            job.worlds = worlds
        job.stop, job.substeps, job.step = 0, substeps, step
        job.publishes = int(publishes)
        # Of worlds that are not come to.
        rows.table.status[worlds] = _INTERRUPTED

        def stop() -> None:
            job.stop = 1

        works = [lambda budget, lane=lane: lane.run(rows, job, budget) for lane in self._lanes]
        try:
            self._crew.run(works, stop, len(worlds))
        finally:
            for lane in self._lanes:
                lane.leave()

    def data(self, rows: WorldRows, w: int) -> mujoco.MjData:
        """A copy of the MjData of one world, published.

        Raises
        ------
        ArgumentError
            If something was written into its row that cannot be simulated.
        """
        status = rows.table.status
        before = int(status[w])
        self.advance(rows, np.array([w]), 0, 0.0, publishes=True)
        found = int(status[w])
        status[w] = before
        if found == Status.INVALID_INPUT:
            raise ArgumentError(f"world {w}: {Status.INVALID_INPUT.message}")
        return copy.copy(self._lanes[0].data)


_NO_ROLLOUT: dict[str, Any] = {
    "state": np.zeros((0, 0, 0)),
    "sensordata": np.zeros((0, 0, 0)),
    "inputs": np.zeros((0, 0, 0)),
    "input_bits": 0,
    "controls": 0,
}
