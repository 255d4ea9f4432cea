"""What a simulator works with: world, method and data, and how they are kept in agreement."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal

import mujoco

from asperity.compiled import Table
from asperity.compiled.compilation import compile_kernels
from asperity.compiled.team import TEAM_KERNELS, Team
from asperity.contact.delivered import NOTHING, TAKEN
from asperity.errors import SimulationError
from asperity.integrators import Integrator
from asperity.integrators import world_layout as codes
from asperity.integrators.methods.own_results import OwnResults
from asperity.integrators.world import THREAD_KERNELS, World
from asperity.loading import LoadReport
from asperity.plant.contact_parameters import ContactParameters
from asperity.plant.data_reference import DataReference
from asperity.plant.model_watch import WATCH_KERNELS, ModelWatch
from asperity.plant.plant import Plant, contact_kernels
from asperity.simulator.call_at_once import publish_at_once
from asperity.simulator.compiled_call import CALL_KERNELS
from asperity.simulator.constraint_forces import FORCE_KERNELS
from asperity.simulator.counters import COUNTER_KERNELS, Counters
from asperity.simulator.inputs import INPUT_KERNELS, Inputs
from asperity.simulator.model_changes import take_over_model
from asperity.simulator.publish import PUBLICATION_KERNELS, Delivered, publish
from asperity.simulator.sampling import SamplingClock
from asperity.systems import Coupling

__all__ = ["Control", "Machinery"]

Control = Callable[[mujoco.MjModel, mujoco.MjData], None]


class Machinery:
    """The inside of a `Simulator`, which is what its users see of it.

    Attributes are those of the simulator; the modules beside this one read and write them, too.

    Attributes
    ----------
    model : mujoco.MjModel
    load_report : LoadReport
    integrator : Integrator
    control : callable, optional
    threads : int
    coupling : Coupling
        External systems.
    plant : Plant
        What the model is made of, in tables.
    world : World
        States, and the memory in which steps are taken.
    method : Method
        What takes one step.
    """

    model: mujoco.MjModel
    load_report: LoadReport
    integrator: Integrator
    control: Control | None
    threads: int
    coupling: Coupling

    _call: Table | Literal[False] | None = None
    """Of calls in compiled code; None where it is to be made, False where there are none."""

    _takes_calls = True
    """Whether calls may advance in compiled code alone, past subclasses that look at steps."""

    _resumes = False
    """Whether it goes on from the state of another one, of which it is a copy."""

    _sampling: SamplingClock
    _control_period: float | None
    _lazy: bool

    def _make_plant(self, contact: ContactParameters, joint_stiction_tolerance: float) -> None:
        """Compile what model, options and external systems need, and make the plant."""
        integrator = self.integrator
        method, name = integrator.make_method(), type(integrator).__name__
        convex, systems = method.base.evaluates_plant, self.coupling.systems
        compile_kernels(
            (
                *(contact_kernels(self.model, contact) if convex else ()),
                *method.kernels,
                *integrator.stepping.kernels,
                *self.coupling.kernels,
                *WATCH_KERNELS,
                *INPUT_KERNELS,
                *((*CALL_KERNELS, *COUNTER_KERNELS) if convex else FORCE_KERNELS),
                *(PUBLICATION_KERNELS if convex and systems else ()),
                *((THREAD_KERNELS if convex else TEAM_KERNELS) if self.threads > 1 else ()),
            ),
            name,
        )
        self.plant = Plant(
            self.model,
            contact,
            joint_stiction_tolerance,
            self.coupling.efforts,
            evaluated=convex,
        )
        self._note(contact.notes)
        self._note(self.plant.surfaces.notes)
        if self.plant.surfaces.any_compliant and "surface" not in integrator.contact_parameters:
            self._note([f"{name} keeps geoms apart; their pressure fields play no part."])

    def _start_with(self, data: mujoco.MjData) -> None:
        """Make the world, begin at the state that is in ``data``, and publish there."""
        self._team = Team(self.threads) if self.threads > 1 else None
        self._stale = False  # whether data lacks what follows from the state
        # The only one that keeps it alive, see `_release_data`.
        self._reference = DataReference(data, keep=True)
        self._make_world()
        self._watch = ModelWatch(self.model, meshes=self._base.copies_model)
        self._running = threading.Lock()
        self._wall_time = 0.0
        self._pace = 100  # attempted steps per return to Python
        self._start_control(float(data.time))
        self._last_tick = 0.0  # wall time of the last call of a progress callback [s]
        self._inputs = Inputs(self.model, data)
        self._sync()
        if not self._resumes:
            self._note(self._base.look_at_start(self.world))
        self._publish()
        self._clear_counters()

    def _make_world(self) -> None:
        """Make method and world, with memory for what the plant has."""
        self.method = self.integrator.make_method()
        # Memory and results are those of the innermost method.
        self._base = self.method.base
        self._stepping = self.integrator.stepping
        convex = self._base.evaluates_plant
        self.world = World(
            self.plant, self._reference(), mujoco.MjData(self.model), convex=convex, team=self._team
        )
        self.world.table.records = -1
        self._prepare()
        self.coupling.attach(self.world)
        self._counters = Counters(self.world, self._base)
        self._results: OwnResults = Delivered(self.world, self.coupling)

    def _prepare(self) -> None:
        """Write the options of method and stepping into the world."""
        self.method.prepare(self.world)
        self._stepping.prepare(self.world)
        self.world.share_evaluation()
        self._call = None

    def _clear_counters(self) -> None:
        world = self.world
        self._base.clear_statistics(world)
        self._base.clear_residual(world)
        world.table.steps = world.table.rejections = world.table.substeps = 0
        world.table.impact_rejections = world.table.damped_impacts = 0
        # The graph at hand is known by its state's number of evaluations, which starts anew.
        world.table.graph_state = 0
        for state in world.evaluated_states:
            state.table.evaluations = 0
        self._wall_time = 0.0
        self.world.forget_solutions()

    def _claim(self) -> None:
        """Refuse to run twice at once."""
        if not self._running.acquire(blocking=False):
            raise SimulationError(
                "this simulator is running, in another thread or in a call of which this one is a "
                "part; give every thread a simulator of its own, by copy.deepcopy for example."
            )

    def _note(self, notes: Sequence[str]) -> None:
        """Add to what the load report says about the model."""
        report = self.load_report
        self.load_report = LoadReport(report.source, (*report.notes, *notes))

    def _release_data(self) -> None:
        """Let the data live no longer than others refer to it; nor is the simulator of use then."""
        self._reference.release()

    def _take_steps(self, end: float, budget: int) -> int:
        """Advance the world to a time in at most so many attempts; returns a stepping's reason."""
        self._base.begin(self.world)
        budget = min(budget, self._base.most_steps)
        code = self._stepping.advance(self.world, self.method, end, budget)
        self._base.end(self.world)
        return code

    def _sync(self) -> None:
        """Take over what the user changed in model and data; refuse what cannot be simulated."""
        other_world = self._watch.changed() and take_over_model(self)
        inputs = self._inputs
        if not inputs.changed():
            if other_world:
                inputs.hand_over(self.world)
            return
        inputs.hand_over(self.world)
        if inputs.new_state:
            # Steps that led elsewhere say nothing about those to come: the same state, given again,
            # leads to the same bits.
            self.world.delivered.origin = NOTHING
            self._stepping.prepare(self.world)
            self.world.forget_solutions()
        if inputs.new_time:
            self._base.restart(self.world)
            self._start_control(float(self._reference().time))

    def _follow_time_step(self) -> None:
        """Let control without a period of its own follow a change of the model's time step."""
        if self.control is None or self._control_period is not None:
            return
        step = float(self.model.opt.timestep)
        if self._sampling.period != step:
            self._sampling = SamplingClock(step)
            self._sampling.start(self._reference().time)

    def _start_control(self, time: float) -> None:
        """Let the control's sampling times begin at ``time`` [s]."""
        self._sampling.start(time)
        self.coupling.start_clock(time)

    def _call_control(self) -> None:
        assert self.control is not None
        data = self._reference()
        self.control(self.model, data)
        self._sync()
        self.coupling.invalidate()
        self._sampling.sampled(data.time)

    def _catch_up(self) -> None:
        """Publish what was left to those who read it; what a user has written since then stays."""
        inputs = self._inputs
        written = inputs.present()
        inputs.write(inputs.known())
        self._publish()
        inputs.write(written)

    def _up_to_date(self) -> mujoco.MjData:
        """The data, with all that follows from the state."""
        if self._stale and self._running.acquire(blocking=False):
            try:
                self._catch_up()
            finally:
                self._running.release()
        return self._reference()

    def _be_lazy(self, lazy: bool) -> None:
        """Publish lazily, or eagerly, from the next call on."""
        if lazy != self._lazy:
            self._lazy = lazy
            if self._call:
                self._call.lazy = int(lazy)

    def _find_forces(self) -> None:
        """Find forces at a state to which no step has led."""
        if self._stale and self._results.delivered.origin != TAKEN:
            self._up_to_date()

    def _flush(self) -> None:
        """Empty the record of accepted steps (recording simulations replace this)."""
        self.world.table.records = 0

    def _publish(self, *, quietly: bool = False, lazily: bool = False) -> None:
        if lazily and self._lazy:
            self._inputs.write_state(self.world.current.table)
            self._inputs.remember()
            self._stale = True
            return
        self._stale = False
        if publish_at_once(self):
            return
        self._inputs.write_state(self.world.current.table)
        self._results = self._base.own_results(self.world) or self._results
        code = publish(self.plant.table, self._results, self._reference())
        self._inputs.remember()
        if code == codes.SYSTEM_FAILED and not quietly:
            self.coupling.raise_failure()
