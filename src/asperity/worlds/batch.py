"""Many worlds of one model."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Sequence
from typing import Any, ClassVar, SupportsIndex

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.arguments import as_array, as_number, is_count
from asperity.compiled import HoldsAddresses
from asperity.compiled.team import available_threads
from asperity.errors import ArgumentError
from asperity.fixed_attributes import FixedAttributes
from asperity.integrators import Integrator
from asperity.loading import LoadReport, load_model
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.names import described
from asperity.simulator.checks import (
    check_contact,
    check_count,
    check_integrator,
    check_model,
    check_stiction_tolerance,
    find_keyframe,
    reset_data,
)
from asperity.simulator.claim import Claim
from asperity.simulator.counters import as_statistics
from asperity.simulator.report import Statistics
from asperity.systems import ExternalSystem
from asperity.worlds.crew import Crew
from asperity.worlds.kinds import make_worlds
from asperity.worlds.row_views import row_view
from asperity.worlds.variations import Variations
from asperity.worlds.varying_contact import require_read
from asperity.worlds.world_rows import WorldRows

__all__ = ["Batch"]


class Batch(FixedAttributes, HoldsAddresses):
    """Many worlds of one model, which advance in compiled code on a pool of threads.

    Parameters
    ----------
    model : path, str, mujoco.MjSpec or mujoco.MjModel
        As for `Simulator`.
    count : int
        Number of worlds.
    integrator : Integrator
        How to advance; ``Cenic(accuracy=1e-3)`` by default.
    contact : ContactParameters, optional
        As for `Simulator`.
    threads : int, optional
        Threads that advance worlds; as many as this process may run at once by default.
    joint_stiction_tolerance : float, optional
        As for `Simulator`.
    systems : sequence of ExternalSystem
        As for `Simulator`. Every world gets copies, with states and parameters of their own:
        `systems` and `system_state`.

    Raises
    ------
    ArgumentError, ModelError
        If the model cannot be loaded or simulated, or an argument is none.

    Notes
    -----
    ``qpos``, ``qvel``, ``act``, ``plastic``, ``ctrl``, ``qfrc_applied``, ``xfrc_applied``,
    ``mocap_pos``, ``mocap_quat``, ``eq_active`` and ``time`` are arrays with the world first. They
    may be written
    between calls, by element or as a whole: ``batch.ctrl[3] = 0.1``, ``batch.ctrl =
    policy(batch.qpos)``. They are views of one array with a row per world.

    Each world does what a `Simulator` of its own would do, to the bit, whatever the number of
    threads and the other worlds. One that fails has a `status` and stays in the state of its last
    accepted step; the others go on. So does one with an input that is not finite, which does not
    move. The next call tries again, unless `reset` has put it elsewhere. An exception in an
    external system's function ends the call, names its world in a note, and leaves the worlds where
    they have come to.

    A batch runs in one thread at a time, and cannot be copied.
    """

    instead: ClassVar = dict.fromkeys(
        ("count", "integrator", "model", "systems", "threads", "accuracy", "time_step"),
        "make a Batch with it",
    )

    def __init__(
        self,
        model: str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
        count: int,
        *,
        integrator: Integrator | None = None,
        contact: ContactParameters | None = None,
        threads: int | None = None,
        joint_stiction_tolerance: float | None = None,
        systems: Sequence[ExternalSystem] = (),
    ) -> None:
        integrator, count = check_integrator(integrator, many=True), check_count("count", count)
        threads = available_threads() if threads is None else check_count("threads", threads)
        tolerance = check_stiction_tolerance(joint_stiction_tolerance, integrator)
        contact = check_contact(contact)
        self._model, report = load_model(model)
        notes = check_model(self.model, integrator, many=True)
        self._integrator = integrator
        try:
            self._rows = WorldRows(self.model, count)
        except MemoryError:
            raise ArgumentError(
                f"{count} worlds do not fit into this machine's memory; make fewer."
            ) from None
        crew = Crew(min(count, threads))
        self._crew = crew
        self._worlds = make_worlds(self.model, integrator, contact, tolerance, crew, systems)
        self._worlds.adopt(self._rows)
        self._load_report = LoadReport(report.source, (*report.notes, *notes))
        self._every = np.arange(self.count)
        self._initial = mujoco.MjData(self.model)
        self._claim = Claim(
            "this batch is running, in another thread; give every thread a batch of its own."
        )
        self._variations: Variations | None = None
        self.reset()

    def __repr__(self) -> str:
        method = type(self._integrator).__name__
        return f"<Batch of {self.count} worlds of {described(self.model)}, {method}>"

    # -- what there is -------------------------------------------------------------------------

    time = row_view("time", "Simulated time [s], shape (n,).")
    qpos = row_view("qpos", "Positions, shape (n, nq).")
    qvel = row_view("qvel", "Velocities, shape (n, nv).")
    act = row_view("act", "Activations of actuators, shape (n, na).")
    plastic = row_view("plastic", "What flexes have yielded, as in MjData, shape (n, nplastic).")
    ctrl = row_view("ctrl", "Controls, shape (n, nu).")
    qfrc_applied = row_view("qfrc_applied", "Applied generalized forces, shape (n, nv).")
    xfrc_applied = row_view(
        "xfrc_applied", "Force and torque applied at bodies' centres of mass, shape (n, nbody, 6)."
    )
    mocap_pos = row_view("mocap_pos", "Positions of mocap bodies [m], shape (n, nmocap, 3).")
    mocap_quat = row_view("mocap_quat", "Quaternions of mocap bodies, shape (n, nmocap, 4).")
    eq_active = row_view("eq_active", "Whether equalities are switched on, 1 or 0, shape (n, neq).")

    @property
    def model(self) -> mujoco.MjModel:
        """The model of all worlds, but for what `vary` has made their own.

        Its numbers may be changed between calls, as those of a `Simulator`'s.
        """
        return self._model

    @property
    def load_report(self) -> LoadReport:
        """What was dropped, ignored or found unusual in the model."""
        report = self._load_report
        notes = (*report.notes, *self._worlds.notes)
        return LoadReport(report.source, tuple(dict.fromkeys(notes)))

    @property
    def integrator(self) -> Integrator:
        """How to advance."""
        return self._integrator

    @property
    def contact(self) -> ContactParameters:
        """Contact parameters of all worlds, but for what `vary` has made their own.

        Others may be put there between calls.
        """
        return self._worlds.contact

    @contact.setter
    def contact(self, contact: ContactParameters) -> None:
        contact = check_contact(contact)
        with self._claim:
            self._worlds.take_contact(contact)
            self._follow_model()

    @property
    def count(self) -> int:
        """Number of worlds."""
        return self._rows.count

    def __len__(self) -> int:
        return self._rows.count

    @property
    def threads(self) -> int:
        """Threads that advance worlds."""
        return self._crew.threads

    @property
    def sensordata(self) -> np.ndarray:
        """Readings of sensors at the end of the last call, shape (n, nsensordata); read-only.

        What a user has written since then they do not know: see `forward`.
        """
        return _read_only(self._rows.arrays["sensordata"])

    def bind(self, field: str) -> np.ndarray:
        """A field of MjData by world, which every later call fills as it fills `sensordata`.

        Parameters
        ----------
        field : str
            One with a fixed number of real numbers: ``"xpos"``, ``"cfrc_ext"``,
            ``"qfrc_actuator"``, …, but no contacts and constraints.

        Returns
        -------
        ndarray, shape (n, ...)
            The same one in every call; read-only.

        Raises
        ------
        ArgumentError
            If there is no such field, or it cannot be bound.
        """
        rows = self._rows
        name = field if isinstance(field, str) else repr(field)
        if name in rows.arrays:
            return _read_only(rows.arrays[name])
        if name not in rows.bound:
            with self._claim:
                rows.bind(name)
                self._worlds.bind(rows)
            status = np.array(self.status)
            self.forward()
            rows.arrays["status"][:] = status
        return _read_only(rows.bound[name])

    @property
    def status(self) -> np.ndarray:
        """How the last call has ended in every world, a `Status` each, shape (n,); read-only."""
        return _read_only(self._rows.arrays["status"])

    @property
    def systems(self) -> tuple[tuple[ExternalSystem, ...], ...]:
        """External systems by world: ``batch.systems[i][k]`` is world i's copy of the k-th.

        Their attributes (targets, ``parameters``) may be written between calls.
        """
        return self._worlds.systems or ((),) * self.count

    def system_state(self, number: int) -> np.ndarray:
        """States z of the external systems with this number, shape (n, states).

        They may be written between calls.

        Raises
        ------
        ArgumentError
            If there is no such system.
        """
        states = self._worlds.system_states
        if not is_count(number) or not 0 <= number < len(states):
            raise ArgumentError(f"there is no external system {number!r}; there are {len(states)}.")
        return states[int(number)]

    @property
    def stats(self) -> Statistics:
        """Work done by all worlds since they were made."""
        return as_statistics(self._worlds.counts, 0.0)

    # -- advancing -----------------------------------------------------------------------------

    def step(self, nstep: int = 1) -> np.ndarray:
        """Advance every world by so many steps, with the controls as they are.

        A step is the integrator's fixed one, or the model's ``timestep``, as `Simulator.step`.

        Returns
        -------
        ndarray, shape (n,)
            `status`.

        Raises
        ------
        ArgumentError, ModelError
            If the number of steps is none, or the model was changed into one that cannot be
            simulated. Nothing has then changed.
        """
        if not is_count(nstep) or nstep < 0:
            raise ArgumentError(f"nstep must be a whole number of steps, got {nstep!r}.")
        return self._advance(self._every, int(nstep), self._step)

    def advance(self, duration: float, times: int = 1) -> np.ndarray:
        """Advance every world by a duration [s], once or several times, with the controls as are.

        Returns
        -------
        ndarray, shape (n,)
            `status`.

        Raises
        ------
        ArgumentError, ModelError
            If the duration is negative or not finite, or as for `step`.
        """
        if not is_count(times) or times < 0:
            raise ArgumentError(f"times must be a whole number, got {times!r}.")
        duration = as_number("duration", duration)
        if not (math.isfinite(duration) and duration >= 0.0):
            raise ArgumentError(f"duration must be finite and not negative, got {duration}.")
        return self._advance(self._every, int(times), duration)

    def forward(self) -> np.ndarray:
        """Bring `sensordata` up to date with what was written into the arrays; returns `status`."""
        return self._advance(self._every, 0, 0.0)

    def reset(
        self,
        mask: ArrayLike | None = None,
        keyframe: int | str | None = None,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
    ) -> None:
        """Return worlds to the model's initial state, or to a keyframe.

        Controls, applied forces, mocap poses, the time and states of external systems return, too,
        and step control begins anew.

        Parameters
        ----------
        mask : array_like, optional
            Which worlds: truth values, shape (n,), or their numbers; all by default.
        keyframe : int or str, optional
        qpos, qvel : array_like, optional
            Initial state over that of model or keyframe: of all, shape (nq,), or of each of the
            worlds that return, shape (m, nq).

        Raises
        ------
        ArgumentError
            If an argument has another shape or is not finite, or there is no such keyframe.
            Nothing has then changed.
        """
        worlds = self._chosen(mask)
        given = {
            name: self._rows_of(name, values, worlds)
            for name, values in (("qpos", qpos), ("qvel", qvel))
            if values is not None
        }
        key = None if keyframe is None else find_keyframe(self.model, keyframe)
        with self._claim:
            self._follow_model()
            variations = self._variations
            if variations is not None and variations.changes_initial_state:
                for w in worlds:
                    self._rows.write(w, variations.initial_data(int(w), key))
            else:
                data = self._initial
                reset_data(self.model, data, key)
                self._rows.write(worlds, data)
            for name, values in given.items():
                self._rows.arrays[name][worlds] = values
            self._worlds.restart(self._rows, worlds)
            self._worlds.advance(self._rows, worlds, 0, 0.0, publishes=self._publishes)

    def data(self, world: int) -> mujoco.MjData:
        """MjData of one world, as a `Simulator` would publish it; a copy.

        Contacts and forces are those of the step that led to the state, or, where none has, those
        of one that would begin there.

        Raises
        ------
        ArgumentError
            If there is no such world, or what was written into its arrays is not finite.
        """
        number = self._number(world)
        with self._claim:
            self._follow_model()
            return self._worlds.data(self._rows, number)

    # -- models that differ ----------------------------------------------------------------------

    def vary(self, field: str) -> np.ndarray:
        """Let a field of the model differ from world to world.

        Parameters
        ----------
        field : str
            An array of ``MjModel`` of real numbers that enter the motion: ``"geom_friction"``,
            ``"body_mass"``, ``"dof_damping"``, ``"actuator_gainprm"``, …; with `Midas` also
            ``"mesh_vert"``. Or an option of it: ``"opt.gravity"``, ``"opt.wind"``,
            ``"opt.density"``, ``"opt.viscosity"``, …. Or a contact parameter.
            ``"contact.stiffness"``, ``"contact.friction"``, … hold for every pair without values of
            its own, as in `ContactParameters`. ``"contact.geom_stiffness"``, … are the geoms' own
            values, NaN where there is none.

        Returns
        -------
        ndarray, shape (n, ...)
            Its values by world, at first the model's, to be written between calls. The next call
            takes over what has changed. Friction and masses take a fraction of a millisecond per
            world; gains, damping and ranges take some milliseconds. What MuJoCo derives from such
            fields (``mj_setConst``) follows.

        Raises
        ------
        ArgumentError
            If there is no such field, or it cannot vary. Later calls refuse values that cannot be
            simulated, naming the world.
        """
        with self._claim:
            if isinstance(field, str):
                require_read(field, self.integrator)
            if self._variations is None:
                self._variations = Variations(
                    self.model, self.count, meshes=self._worlds.have_models
                )
            return self._variations.vary(field, self._worlds.materials)

    def world_model(self, world: int) -> mujoco.MjModel:
        """A copy of the model with the fields that `vary` has made a world's own.

        Contact parameters are not part of a model.
        """
        number = self._number(world)
        if self._variations is None:
            return copy.copy(self.model)
        return self._variations.model(number)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise TypeError(
            "a Batch cannot be copied or pickled; make another one, and give it this one's state: "
            "other.reset(qpos=batch.qpos, qvel=batch.qvel)."
        )

    # -- inside --------------------------------------------------------------------------------

    @property
    def _step(self) -> float:
        step = self.integrator.time_step
        return float(self.model.opt.timestep) if step is None else step

    @property
    def _publishes(self) -> bool:
        return self.model.nsensordata > 0 or bool(self._rows.bound)

    def _advance(self, worlds: np.ndarray, substeps: int, step: float) -> np.ndarray:
        with self._claim:
            self._follow_model()
            self._worlds.advance(self._rows, worlds, substeps, step, publishes=self._publishes)
        return self.status

    def _follow_model(self) -> None:
        """Take over what has changed in the model, and in the fields that vary."""
        variations = self._variations
        again = self._worlds.follow_model()
        if again:
            self._worlds.adopt(self._rows)
        if variations is not None:
            worlds = variations.changed()
            if again:
                variations.forget_model()
                worlds = np.union1d(worlds, variations.varied())
            self._worlds.take_variations(self._rows, variations, worlds)

    def _number(self, world: Any) -> int:
        if not is_count(world) or not -self.count <= world < self.count:
            raise ArgumentError(f"there is no world {world}; the batch has {self.count}.")
        return int(world) % self.count

    def _chosen(self, mask: ArrayLike | None) -> np.ndarray:
        """Numbers of the worlds that a mask, or a list of numbers, is about."""
        if mask is None:
            return self._every
        chosen = np.asarray(mask)
        if chosen.dtype == np.bool_:
            if chosen.shape != (self.count,):
                raise ArgumentError(
                    f"mask must have shape ({self.count},), one truth value per world, got "
                    f"{chosen.shape}."
                )
            return np.flatnonzero(chosen)
        if chosen.size == 0:
            return self._every[:0]
        if chosen.ndim > 1 or chosen.dtype.kind not in "iu":
            raise ArgumentError(f"mask must be truth values or numbers of worlds, got {mask!r}.")
        numbers = [self._number(one) for one in np.atleast_1d(chosen)]
        return np.unique(np.array(numbers, np.int64))

    def _rows_of(self, name: str, values: ArrayLike, worlds: np.ndarray) -> np.ndarray:
        array = as_array(name, values)
        size = self._rows.arrays[name].shape[1]
        if array.shape not in ((size,), (len(worlds), size)):
            raise ArgumentError(
                f"{name} must have shape ({size},) or ({len(worlds)}, {size}), one row for each "
                f"world that is reset, got {array.shape}."
            )
        if not np.all(np.isfinite(array)):
            raise ArgumentError(f"{name} must be finite.")
        return array


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
