"""Worlds that are simulators of their own, where more than a state goes on from step to step.

`Midas` keeps links and their history, in memory that no two worlds can share. External systems have
states, outputs that are held, and parameters that users write. Delayed controls and sensors are
noted in every step. So every world has a simulator, which the threads take in turn. Its loops run
without Python's lock, but for systems that are written in Python.
"""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import mujoco
import numpy as np

from asperity.errors import ArgumentError, AsperityWarning, ModelError, Status, warn_user
from asperity.integrators import Integrator
from asperity.plant import native
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.model_watch import ModelWatch
from asperity.plant.model.resolved_materials import ResolvedMaterials
from asperity.simulator.model_changes import take_over_materials
from asperity.simulator.simulator import Simulator
from asperity.simulator.state_vector import STATE_BITS, exchanged_bits
from asperity.systems import ExternalSystem
from asperity.worlds.bound_fields import find_fields
from asperity.worlds.crew import Crew
from asperity.worlds.rollout_arrays import ROLLOUT_BITS
from asperity.worlds.variations import Variations
from asperity.worlds.world_rows import WorldRows
from asperity.worlds.worlds import Worlds

__all__ = ["SimulatedWorlds"]


class SimulatedWorlds(Worlds):
    """Worlds, each with a `Simulator`.

    Parameters
    ----------
    model, integrator, contact, joint_stiction_tolerance, crew
        As for `Worlds`.
    systems : sequence of ExternalSystem
        Of which every world gets copies.
    """

    have_models = True

    def __init__(
        self,
        model: mujoco.MjModel,
        integrator: Integrator,
        contact: ContactParameters,
        joint_stiction_tolerance: float,
        crew: Crew,
        systems: Sequence[ExternalSystem] = (),
    ) -> None:
        self._systems = tuple(systems)
        super().__init__(model, integrator, contact, joint_stiction_tolerance, crew)
        self._simulators: list[Simulator] = []

    def adopt(self, rows: WorldRows, *, keeps_results: bool = True) -> None:
        """Make a simulator for every world, unless they are there."""
        if len(self._simulators) == rows.count:
            return
        with warnings.catch_warnings():
            # What is to say about the model was said when it was loaded.
            warnings.simplefilter("ignore", AsperityWarning)
            self._simulators = [
                Simulator(
                    self._model,
                    integrator=self._integrator,
                    contact=self._contact,
                    joint_stiction_tolerance=self._tolerance,
                    systems=_copies(self._systems),
                    # What follows from a state is derived where sensors or `data` are asked for.
                    publish="lazy",
                )
                for _ in range(rows.count)
            ]
        for sim in self._simulators:
            sim.session.stay_awake()
        self._materials = self._simulators[0].session.plant.materials
        self._states = [
            np.zeros((rows.count, len(system.initial_state))) for system in self._systems
        ]
        self._put_states(range(rows.count))

    def bind(self, rows: WorldRows) -> None:
        """Rows say what they keep."""

    @property
    def materials(self) -> ResolvedMaterials:
        """Contact parameters of worlds that have none of their own."""
        return self._materials

    @property
    def notes(self) -> tuple[str, ...]:
        return self._simulators[0].load_report.notes

    def take_contact(self, contact: ContactParameters) -> None:
        """See `asperity.worlds.compiled_worlds.CompiledWorlds.take_contact`."""
        for sim in self._simulators:
            sim.contact = contact
        self._contact = contact
        self._materials = self._simulators[0].session.plant.materials
        self._other_contact = True

    @property
    def systems(self) -> tuple[tuple[ExternalSystem, ...], ...]:
        return tuple(sim.systems for sim in self._simulators)

    @property
    def system_states(self) -> list[np.ndarray]:
        return self._states

    def restart(self, rows: WorldRows, worlds: np.ndarray) -> None:
        """Let the next call of worlds begin anew, and external systems in their initial states."""
        for w in worlds:
            self._simulators[w].session.coupling.reset()
            self._simulators[w].session.inputs.forget()
        self._put_states(worlds)

    @property
    def counts(self) -> np.ndarray:
        """Work done since the beginning, in the order of `Statistics`."""
        return np.asarray(sum(sim.session.counters.read() for sim in self._simulators))

    def _take_model(self) -> None:
        for sim in self._simulators:
            native.copy_numbers(self._model, sim.model)

    def take_variations(self, rows: WorldRows, variations: Variations, worlds: np.ndarray) -> None:
        """Give worlds models of their own, with the fields that vary."""
        if self._watch is None and len(worlds):
            self._simulators = [_with_own_model(sim) for sim in self._simulators]
            self._watch = ModelWatch(self._model, meshes=True)
        for w in worlds:
            session = self._simulators[w].session
            variations.write(int(w), session.model)
            try:
                materials = variations.materials(int(w), self._materials)
            except ArgumentError as error:
                raise ArgumentError(f"world {w}: {error}") from None
            if materials is not self._materials:
                take_over_materials(session, materials)
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
                status = self._advance_one(rows, w, substeps, step, place, publishes, rollout)
            except (ArgumentError, ModelError) as error:
                status = Status.INVALID_INPUT
                complaints[w] = str(error)
            rows.table.status[w] = int(status)
            return False

        self._crew.run([work] * self._crew.threads, stopped.set, len(worlds))
        if complaints:
            w = min(complaints)
            warn_user(f"world {w}: {complaints[w]}")

    def data(self, rows: WorldRows, w: int) -> mujoco.MjData:
        """See `asperity.worlds.compiled_worlds.CompiledWorlds.data`."""
        try:
            self._advance_one(rows, w, 0, 0.0, 0, True, None)
        except (ArgumentError, ModelError) as error:
            raise type(error)(f"world {w}: {error}") from None
        return copy.copy(self._simulators[w].data)

    # -- inside --------------------------------------------------------------------------------

    def _advance_one(
        self,
        rows: WorldRows,
        w: int,
        substeps: int,
        step: float,
        place: int,
        publishes: bool,
        rollout: dict[str, Any] | None,
    ) -> Status:
        sim = self._simulators[w]
        mujoco.mj_setState(sim.model, sim.session.data, rows.values[w], exchanged_bits(sim.model))
        for states, system in zip(self._states, sim.systems, strict=True):
            sim.system_state(system)[:] = states[w]
        try:
            return self._run_one(w, substeps, step, place, publishes, rollout)
        except Exception as error:
            if sim.systems and not isinstance(error, ArgumentError | ModelError):
                error.add_note(f"in world {w}")
            raise
        finally:
            self._keep(rows, w, publishes)

    def _run_one(
        self,
        w: int,
        substeps: int,
        step: float,
        place: int,
        publishes: bool,
        rollout: dict[str, Any] | None,
    ) -> Status:
        sim = self._simulators[w]
        data = sim.session.data
        status = Status.SUCCESS
        if substeps == 0:
            status = sim.advance_to(sim.time, on_failure="return").status
        for substep in range(substeps):
            if status == Status.SUCCESS and rollout is not None:
                status = _take_inputs(sim.model, data, rollout, place, substep)
            if status == Status.SUCCESS:
                status = sim.advance_to(sim.time + step, on_failure="return").status
            if rollout is not None:
                _record(sim.model, sim.data if publishes else data, rollout, place, substep)
            elif status != Status.SUCCESS:
                break
        return status

    def _keep(self, rows: WorldRows, w: int, publishes: bool) -> None:
        """Write a simulator's state, and sensors if asked for, into the row of its world."""
        sim = self._simulators[w]
        data = sim.data if publishes else sim.session.data
        mujoco.mj_getState(sim.model, data, rows.state[w], STATE_BITS)
        # Of delayed controls and sensors, which are noted in every step.
        rows.arrays["history"][w] = data.history
        plastic = rows.arrays["plastic"][w]
        plastic[:] = data.plastic[: len(plastic)]
        if publishes:
            rows.arrays["sensordata"][w] = data.sensordata
            find_fields(sim.model, data, rows.bound, w)
        self._put_states([w])

    def _put_states(self, worlds: Iterable[int]) -> None:
        """Write states of systems into their rows."""
        for w in worlds:
            sim = self._simulators[w]
            for states, system in zip(self._states, sim.systems, strict=True):
                states[w] = sim.system_state(system)


def _copies(systems: tuple[ExternalSystem, ...]) -> tuple[ExternalSystem, ...]:
    """Copies of external systems for one world, which share nothing but models.

    Raises
    ------
    ArgumentError
        If one cannot be copied.
    """
    found = []
    for system in systems:
        values = getattr(system, "__dict__", {}).values()
        shared = {id(value): value for value in values if isinstance(value, mujoco.MjModel)}
        try:
            found.append(copy.deepcopy(system, shared))
        except Exception as error:
            label = getattr(system, "label", repr(system))
            raise ArgumentError(
                f"{label} cannot be copied ({error}), and every world needs a copy of its own; "
                "give it a __deepcopy__."
            ) from error
    return tuple(found)


def _with_own_model(simulator: Simulator) -> Simulator:
    """A copy with a model of its own, and with the same systems, which users may have at hand."""
    made = copy.deepcopy(simulator, {id(system): system for system in simulator.systems})
    made.session.stay_awake()
    return made


def _take_inputs(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    rollout: dict[str, Any],
    place: int,
    substep: int,
) -> Status:
    inputs = rollout["inputs"]
    values = inputs[place if len(inputs) > 1 else 0, substep if inputs.shape[1] > 1 else 0]
    if not np.all(np.isfinite(values)):
        return Status.INVALID_INPUT
    mujoco.mj_setState(model, data, values, rollout["input_bits"])
    return Status.SUCCESS


def _record(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    rollout: dict[str, Any],
    place: int,
    substep: int,
) -> None:
    mujoco.mj_getState(model, data, rollout["state"][place, substep], ROLLOUT_BITS)
    rollout["sensordata"][place, substep] = data.sensordata
