"""The simulator: a model, an integrator and an MjData that is always up to date."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, SupportsIndex

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.arguments import as_number
from asperity.contact.delivered import NOTHING
from asperity.errors import ArgumentError, OnFailure, check_on_failure, failure
from asperity.fixed_attributes import FixedAttributes
from asperity.integrators import Integrator
from asperity.loading import LoadReport
from asperity.plant.detection.patch_polygons import PolygonFinder, Polygons
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.names import described
from asperity.renamed import attribute_error
from asperity.shown import Shown
from asperity.simulator.advance import advance
from asperity.simulator.checkpoint import load_simulator, save_simulator
from asperity.simulator.checks import find_keyframe, reset_data
from asperity.simulator.counters import as_statistics
from asperity.simulator.current_contacts import Contacts, read_contacts
from asperity.simulator.exchange import find_forces, publish_session, take_over, up_to_date
from asperity.simulator.history import History
from asperity.simulator.model_changes import take_over_contact, take_over_model
from asperity.simulator.opening import new_session, options_of, reopened
from asperity.simulator.other_options import take_over_options
from asperity.simulator.patches import Patches, read_patches
from asperity.simulator.progress import shown
from asperity.simulator.report import Report, Statistics
from asperity.simulator.session import Control, Session
from asperity.simulator.watcher import Watcher
from asperity.systems import ExternalSystem

__all__ = ["Progress", "Simulator"]

Progress = bool | Callable[["Simulator"], None] | None
"""Whether to show a bar, or what to call with the simulator."""


class Simulator(FixedAttributes, Shown):
    """A simulation of an MJCF or URDF model.

    Parameters
    ----------
    model : path, str, mujoco.MjSpec or mujoco.MjModel
        A model file, an XML string, or a model of MuJoCo's bindings.
    integrator : Integrator
        How to advance; ``Cenic(accuracy=1e-3)`` by default.
    contact : ContactParameters, optional
        Contact parameters; what it leaves open comes from the model's ``<custom>`` elements, then
        from defaults.
    control : callable, optional
        ``control(model, data)`` writes ``data.ctrl`` (or applied forces) and is called at the start
        and then every ``control_period``; between calls the controls are held.
    control_period : float, optional
        Time between control calls [s]; the model's ``timestep`` by default.
    keyframe : int or str, optional
        Initial state from the model.
    qpos, qvel, ctrl : array_like, optional
        Initial state and controls, over those of model, ``data`` and keyframe.
    data : mujoco.MjData, optional
        Where to publish, and the initial state; by default one is made of the model.
    joint_stiction_tolerance : float, optional
        Velocity [m/s or rad/s] below which dry friction of joints and tendons (``frictionloss``) is
        stiction. A joint that nine tenths of its friction hold creeps twice as fast. 1e-5 by
        default, 1e-3 with `Midas` and the classical integrators. That of contacts is
        ``ContactParameters.stiction_tolerance``.
    systems : sequence of ExternalSystem
        Controllers and force elements that are integrated with the simulation; their states are
        those of `system_state`.
    publish : {"eager", "lazy"}
        When ``data`` gets poses, contacts, forces, ``qacc`` and sensors: after every call, or when
        somebody reads them. With ``"lazy"`` a call leaves time, ``qpos``, ``qvel`` and ``act`` in
        ``data``. The rest is derived when the attribute `data` is read: write
        ``sim.data.sensordata``, and do not keep ``data = sim.data``. Calls of one step of a robot
        take 0.5 to 0.9 of the time if nobody reads.
    threads : int or None
        How many threads a step may use; None for as many as this process may run at once. Results
        have the same bits for any number. Threads pay for hundreds of bodies, for dozens of robots,
        and with `Midas` from a millisecond a step on (docs/python.md, ‘Copies and threads’). One by
        default, because several simulations at once, as in a `Batch`, use the cores better.
    history : bool or int
        Whether to keep what every attempted step was, see `History`; or of how many, the latest. A
        million by default, 64 MB. Steps stay the same; each takes some 20 µs longer.

    Raises
    ------
    ArgumentError, ModelError
        If the model cannot be loaded or has an element that is not supported.

    Notes
    -----
    ``data`` after each call is what ``mj_forward`` would leave at the present state. Contacts,
    forces (where ``mj_contactForce`` and sensors read them) and accelerations are those of the step
    that led there, as after ``mj_step`` (see `Contacts`).

    A user may change ``data.qpos``, ``qvel``, ``ctrl``, applied forces and mocap poses between
    calls, as with ``mj_step``, and in a control callback. If a state was written, as by
    ``mj_resetData``, step control begins anew, so the same state leads to the same bits. If the
    time was written, the control period begins anew, too. States of external systems are those of
    `system_state`.

    Numbers of ``model`` may be changed, too: masses, sizes, friction, gains, limits, options. The
    next call takes them over, in a few milliseconds, or refuses them by name. Changes of what
    MuJoCo derives from meshes act a step later. The tree of bodies and joints cannot change.

    ``copy.deepcopy`` and ``pickle`` make an independent simulator that goes on to the same bits.
    With ``copy.copy`` it shares model, callback and systems. `save` and `load` use a file.

    A simulator runs in one thread at a time, and raises `SimulationError` if another one tries.
    Different simulators may run in different threads, also of the same model while nobody changes
    it. They do not hold Python's lock while they take steps.

    The logger ``asperity`` tells what is compiled (warnings), which advances failed (info) and what
    every advance took (debug).

    Attributes
    ----------
    session : Session
        What the simulation is made of (internal).
    """

    session: Session
    instead: ClassVar = {
        **dict.fromkeys(
            ("accuracy", "integrator", "step_size", "time_step"),
            "call sim.change_integrator(dataclasses.replace(sim.integrator, accuracy=...))",
        ),
        **dict.fromkeys(("act", "ctrl", "qpos", "qvel", "time"), "write into sim.data"),
        **dict.fromkeys(
            ("control_period", "data", "model", "publish", "systems", "threads"),
            "make a Simulator with it",
        ),
    }

    def __init__(
        self,
        model: str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
        *,
        integrator: Integrator | None = None,
        contact: ContactParameters | None = None,
        control: Control | None = None,
        control_period: float | None = None,
        keyframe: int | str | None = None,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        ctrl: ArrayLike | None = None,
        data: mujoco.MjData | None = None,
        joint_stiction_tolerance: float | None = None,
        systems: Sequence[ExternalSystem] = (),
        publish: Literal["eager", "lazy"] = "eager",
        threads: int | None = 1,
        history: int | bool = False,
    ) -> None:
        self.session = new_session(
            model,
            integrator=integrator,
            contact=contact,
            control=control,
            control_period=control_period,
            joint_stiction_tolerance=joint_stiction_tolerance,
            systems=systems,
            publish=publish,
            threads=threads,
            history=history,
            data=data,
            keyframe=keyframe,
            arrays={"qpos": qpos, "qvel": qvel, "ctrl": ctrl},
            watcher=self if isinstance(self, Watcher) else None,
        )

    # -- what there is -------------------------------------------------------------------------

    def __repr__(self) -> str:
        method = type(self.integrator).__name__
        return f"<Simulator of {described(self.model)}, {method}, at {self.time:.6g} s>"

    @property
    def model(self) -> mujoco.MjModel:
        """The model; its numbers may be changed between calls."""
        return self.session.model

    @property
    def load_report(self) -> LoadReport:
        """What was dropped, ignored or found unusual in the model."""
        return self.session.load_report

    @property
    def integrator(self) -> Integrator:
        """How to advance."""
        return self.session.integrator

    @property
    def contact(self) -> ContactParameters:
        """The contact parameters; others may be put there between calls.

        What follows is what a simulator with these parameters makes of the state.
        """
        return self.session.plant.contact

    @contact.setter
    def contact(self, contact: ContactParameters) -> None:
        with self.session.claim:
            take_over(self.session)
            take_over_contact(self.session, contact)
            publish_session(self.session)

    @property
    def control(self) -> Control | None:
        """The control callback; another one, or None, may be put there between calls."""
        return self.session.control

    @control.setter
    def control(self, control: Control | None) -> None:
        self.session.control = control

    @property
    def threads(self) -> int:
        """How many threads a step may use."""
        return self.session.threads

    @property
    def data(self) -> mujoco.MjData:
        """The state, and everything that follows from it."""
        return up_to_date(self.session)

    @property
    def systems(self) -> tuple[ExternalSystem, ...]:
        """The external systems; in a copy, their copies."""
        return self.session.coupling.systems

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.session.reference().time)

    @property
    def stats(self) -> Statistics:
        """Work done since construction or the last reset."""
        return as_statistics(self.session.counters.read(), self.session.wall_time)

    @property
    def control_period(self) -> float:
        """Time between two calls of the control callback [s]."""
        return self.session.clock.period

    @property
    def step_size(self) -> float:
        """The step size [s]: the fixed one, or the one that error control will try next."""
        if self.integrator.time_step is not None:
            return self.integrator.time_step
        return float(self.session.world.table.next_step)

    @property
    def contacts(self) -> Contacts:
        """Contacts of the last step with the forces that they delivered."""
        find_forces(self.session)
        return read_contacts(self.model, self.session.results.delivered)

    @property
    def asleep(self) -> np.ndarray:
        """Which bodies are asleep: bool, shape (nbody,); none unless ``sleep`` is on."""
        return self.session.world.bodies_at_rest

    @property
    def patches(self) -> Patches:
        """Patches of pressure fields in the last step; the contacts are their points."""
        find_forces(self.session)
        return read_patches(self.model, self.session.results.delivered, self.session.plant.fields)

    def polygons(self) -> Polygons:
        """Contact polygons of pressure fields at the published state, with their pressures."""
        finder = PolygonFinder(self.model, self.session.plant.fields)
        patches = self.patches
        return finder.of_pairs(
            patches.geom, patches.normal, self.data.geom_xpos, self.data.geom_xmat
        )

    @property
    def history(self) -> History:
        """Attempted steps since the beginning or the last reset, with ``history=True``.

        Raises
        ------
        ArgumentError
            If none are kept.
        """
        keeper = self.session.history
        if keeper is None:
            raise ArgumentError(
                "no history is kept; make the simulator with Simulator(..., history=True)."
            )
        return keeper.table()

    @property
    def clearance(self) -> float | None:
        """Smallest distance of surfaces over all steps [m], of `Midas`, which keeps them apart."""
        return self.session.base.clearance(self.session.world)

    def system_state(self, system: ExternalSystem) -> np.ndarray:
        """State z of an external system; a view that may be written between advances."""
        return self.session.coupling.state_of(system)

    def system_output(self, system: ExternalSystem) -> np.ndarray:
        """Efforts of an external system at the published state [N, Nm], within its limits."""
        _ = self.data
        return self.session.coupling.output(system)

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy of the published state [J].

        The potential energy is that of gravity, joint springs and compressed contacts. A fast body
        that a long fixed step has carried deep into another counts as if it had been pressed there,
        with the stiffness that stops it in that step.
        """
        data = self.data
        mujoco.mj_energyPos(self.model, data)
        mujoco.mj_energyVel(self.model, data)
        contacts = self.session.world.current.contacts
        count = contacts.count
        depth = np.maximum(-contacts.signed_distance[:count], 0.0)
        elastic = 0.5 * float(np.sum(contacts.stiffness[:count] * depth**2))
        return float(data.energy[1]), float(data.energy[0]) + elastic

    def step(self, *, on_failure: OnFailure = "raise") -> Report:
        """Advance by one step: the integrator's fixed one, or the model's ``timestep``.

        A failure is that of `advance_to`.
        """
        session = self.session
        step = session.integrator.time_step
        step = session.option.timestep if step is None else step
        return self.advance_to(session.reference().time + step, on_failure=on_failure)

    def advance_to(
        self, time: float, *, progress: Progress = None, on_failure: OnFailure = "raise"
    ) -> Report:
        """Advance to a time.

        Parameters
        ----------
        time : float
            Target [s], not before the present time.
        progress : bool or callable, optional
            True shows a bar. A function is called with the simulator about every 50 ms of wall
            time; ``data`` is then published.
        on_failure : str
            ``"return"`` returns the report of an advance that stopped early, in which
            ``status`` is not ``Status.SUCCESS``. The state is that of the last accepted step. Input
            that cannot be used is an error all the same.

        Returns
        -------
        Report

        Raises
        ------
        ArgumentError, ModelError
            If the time, the state or a control is not finite, the time is in the past, or the
            changed model cannot be simulated. Nothing has then changed.
        SimulationError
            If the simulation stops before the time, with ``on_failure="raise"``. The state is that
            of the last accepted step. Or if the simulator is running already, in another thread or
            below this call.
        KeyboardInterrupt
            Passed on; the state is that of the last accepted step.
        """
        if type(time) is not float:
            time = as_number("time", time)
        if on_failure != "raise":
            check_on_failure(on_failure)
        session = self.session
        claim = session.claim
        if not claim.lock.acquire(False):
            claim.refuse()
        try:
            if progress is None:
                report = advance(session, time, None)
            else:
                with shown(progress, time) as each:
                    report = advance(
                        session, time, None if each is None else functools.partial(each, self)
                    )
        finally:
            claim.lock.release()
        if report.status and on_failure == "raise":
            raise failure(report.status, report.time, report.message)
        return report

    def reset(self, keyframe: int | str | None = None) -> None:
        """Return to the model's initial state, or to a keyframe, and clear the statistics.

        Raises
        ------
        ArgumentError, ModelError
            If the keyframe does not exist, or the model was changed into one that cannot be
            simulated.
        SimulationError
            If the simulator is running, in another thread or above this call.
        """
        session = self.session
        with session.claim:
            model, data = session.model, self.data
            key = None if keyframe is None else find_keyframe(model, keyframe)
            if session.watch.changed():
                take_over_model(session)
            reset_data(model, data, key)
            session.prepare()
            session.coupling.reset()
            session.inputs.forget()
            session.world.delivered.origin = NOTHING
            take_over(session)
            publish_session(session)
            session.clear_counters()
            if session.history is not None:
                session.history.forget()

    def change_integrator(self, integrator: Integrator) -> None:
        """Go on with other options of the same integrator, such as another accuracy.

        State and external systems are kept, and so are counters and the forces of the last step,
        except with `Midas`. The simulation goes on as a new simulator with these options would from
        this state.

        Parameters
        ----------
        integrator : Integrator
            Of the same kind as the present one; ``dataclasses.replace(sim.integrator,
            accuracy=1e-4)`` makes it.

        Raises
        ------
        ArgumentError
            If it is of another kind, or goes from fixed steps to error control or back. Nothing has
            then changed.
        SimulationError
            If the simulator is running, in another thread or above this call.
        """
        with self.session.claim:
            take_over_options(self.session, integrator)

    def take_over(self) -> None:
        """Take over the contents of model and data, as every advance does, without a step.

        What follows depends on these alone.

        Raises
        ------
        ModelError
            If it cannot be simulated; nothing has then changed.
        """
        with self.session.claim:
            self.session.inputs.forget()
            take_over(self.session, forgetting=True)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(attribute_error(self, name))

    # -- copies ------------------------------------------------------------------------------

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Copies and pickles are made anew from the options, and then get what this one knows.

        ``copy.copy`` shares model, callback and external systems, ``copy.deepcopy`` nothing.
        """
        with self.session.claim:
            # What subclasses add goes along; of them, only what `Simulator` makes is made anew.
            further = {name: value for name, value in vars(self).items() if name != "session"}
            options, state = options_of(self.session), self.session.state()
            return _made_again, (type(self), options, self.load_report, state), further

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a checkpoint: the simulator with its model and all that it knows.

        `load` makes a simulator of it that goes on to the same bits, with the same version of
        MuJoCo. An existing file is replaced only once the new one is complete.

        Raises
        ------
        ArgumentError
            If the control callback or an external system cannot be pickled.
        SimulationError
            If the simulator is running.
        OSError
            If the file cannot be written.
        """
        return save_simulator(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Simulator:
        """Read a checkpoint that `save` has written.

        It is a pickle, which can run any code when it is read: load only what you trust.

        Raises
        ------
        ArgumentError
            If it is not one, is damaged, or belongs to another version of MuJoCo.
        """
        return load_simulator(path, Simulator)

    def warm_up(self) -> None:
        """Load or compile what the first step needs, without taking it."""
        with self.session.claim:
            self.session.take_steps(self.time, 1)


def _made_again(
    kind: type[Simulator], options: Mapping[str, Any], report: LoadReport, state: Mapping[str, Any]
) -> Simulator:
    """A simulator of these options that goes on from a session's state."""
    simulator = kind.__new__(kind)
    watcher = simulator if isinstance(simulator, Watcher) else None
    simulator.session = reopened(options, state, watcher=watcher)
    simulator.session.load_report = report
    return simulator
