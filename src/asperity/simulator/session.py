"""A session: what one simulation is made of, and the making of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco

from asperity.compiled import HoldsAddresses, Table
from asperity.compiled.compilation import compile_kernels
from asperity.compiled.team import TEAM_KERNELS, Team
from asperity.integrators import Integrator
from asperity.integrators.methods.method import Method
from asperity.integrators.methods.own_results import OwnResults
from asperity.integrators.resting import SLEEP_KERNELS
from asperity.integrators.steppings.attempts import CONTACTS
from asperity.integrators.steppings.attempts import ITERATIONS as HISTORY_ITERATIONS
from asperity.integrators.steppings.stepping import Stepping
from asperity.integrators.world import THREAD_KERNELS, World
from asperity.loading import LoadReport
from asperity.plant import native
from asperity.plant.data_reference import DataReference
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.model_watch import WATCH_KERNELS, ModelWatch
from asperity.plant.model.sleep import (
    SLEEP,
    awake_notes,
    sleep_hindrance,
    trees_to_start_asleep,
)
from asperity.plant.plant import Plant, contact_kernels
from asperity.simulator.checks import contact_notes
from asperity.simulator.claim import Claim
from asperity.simulator.compiled_call import BEGINNING, CALL_KERNELS, SIMULATOR_CALL, new_call
from asperity.simulator.compiled_publication import STAGES, solve_forces
from asperity.simulator.counters import COUNTER_KERNELS, ITERATIONS, Counters
from asperity.simulator.fast_motion import FastMotion
from asperity.simulator.history import HistoryKeeper
from asperity.simulator.inputs import Inputs
from asperity.simulator.publish import Delivered
from asperity.simulator.sampling import SamplingClock
from asperity.simulator.watcher import Watcher
from asperity.systems import Coupling

__all__ = ["Control", "Session"]

Control = Callable[[mujoco.MjModel, mujoco.MjData], None]


def sleep_is_wanted(integrator: Integrator, model: mujoco.MjModel) -> bool:
    """Whether a user asks for sleep, by an integrator's option or else the model's flag."""
    if not integrator.takes_sleep:
        return False
    asked: bool | None = getattr(integrator, "sleep", None)
    return bool(model.opt.enableflags & SLEEP) if asked is None else asked


def _rests(integrator: Integrator, model: mujoco.MjModel) -> bool:
    """Whether bodies are to sleep, if only at first."""
    starts = integrator.starts_asleep and trees_to_start_asleep(model).size > 0
    return starts or sleep_is_wanted(integrator, model)


# Attempted steps in the first stretch between two returns to Python.
_FIRST_PACE = 100


@dataclass(eq=False)
class Session(HoldsAddresses):
    """One simulation: a `Simulator` has one, and functions of this room work on it.

    Parameters
    ----------
    model : mujoco.MjModel
    load_report : LoadReport
        What was noticed about the model.
    integrator : Integrator
    coupling : Coupling
        External systems.
    clock : SamplingClock
        When the control callback is due.
    control_period : float or None
        Time between two control calls [s]; None if it is the model's time step.
    control : callable or None
        The control callback.
    threads : int
        How many threads a step may use.
    lazy : bool
        Whether what follows from a state is left to those who read it.
    watcher : Watcher or None
        Who looks at every stretch of steps.
    history : HistoryKeeper or None
        Who keeps what attempted steps were.

    Attributes
    ----------
    plant : Plant
        What the model is made of, in tables.
    reference : DataReference
        The published data; the only reference that keeps it alive.
    option : mujoco.MjOption
        The model's, which takes longer to ask for than to read.
    team : Team or None
        The threads.
    watch : ModelWatch
        Notices what a user changes in the model.
    method : Method
        What takes one step.
    stepping : Stepping
        What chooses steps.
    world : World
        States, and the memory in which steps are taken.
    first_steps : (float, float)
        The world's next and last step size where it begins anew [s].
    results : OwnResults
        What the last step has left.
    inputs : Inputs
        What a user may change in the data.
    counters : Counters
        Work done.
    call : Table
        Of calls in compiled code.
    at_once : bool
        Whether such a call does all of it, without Python in between.
    wakes : bool
        Whether data may come that is asleep to MuJoCo.
    stays_awake : bool
        Whether nothing sleeps, whatever is asked for.
    fast_motion : FastMotion or None
        Warns of steps that are too long; None where it has, or where none are.
    claim : Claim
        Held while the session runs.
    stale : bool
        Whether the data lacks what follows from the state.
    wall_time : float
        Spent in stepping loops [s].
    pace : int
        Attempted steps in a stretch between two returns to Python.
    more : int
        Advances by the model's time step that follow one in compiled code.
    last_tick : float
        Wall time of the last call of a progress callback [s].
    """

    model: mujoco.MjModel
    load_report: LoadReport
    integrator: Integrator
    coupling: Coupling
    clock: SamplingClock
    control_period: float | None
    control: Control | None
    threads: int
    lazy: bool
    watcher: Watcher | None
    history: HistoryKeeper | None = None

    plant: Plant = field(init=False)
    reference: DataReference = field(init=False)
    option: mujoco.MjOption = field(init=False)
    team: Team | None = field(init=False)
    watch: ModelWatch = field(init=False)
    method: Method = field(init=False)
    stepping: Stepping = field(init=False)
    world: World = field(init=False)
    first_steps: tuple[float, float] = field(init=False)
    results: OwnResults = field(init=False)
    inputs: Inputs = field(init=False)
    counters: Counters = field(init=False)
    call: Table = field(init=False)
    at_once: bool = field(init=False)
    wakes: bool = field(init=False)
    claim: Claim = field(init=False)
    stays_awake: bool = False
    fast_motion: FastMotion | None = None
    stale: bool = False
    wall_time: float = 0.0
    pace: int = _FIRST_PACE
    more: int = 0
    last_tick: float = 0.0

    # -- making --------------------------------------------------------------------------------

    def make_plant(self, contact: ContactParameters, joint_stiction_tolerance: float) -> None:
        """Compile what model, options and external systems need, and make the plant."""
        integrator = self.integrator
        method, name = integrator.make_method(), type(integrator).__name__
        convex, systems = method.base.evaluates_plant, self.coupling.systems
        compile_kernels(
            (
                *(contact_kernels(self.model, contact) if convex else ()),
                *method.kernels,
                *(method.base.flex_kernels if self.model.nflex > 0 else ()),
                *integrator.stepping.kernels,
                *self.coupling.kernels,
                *WATCH_KERNELS,
                *((*CALL_KERNELS, *COUNTER_KERNELS) if convex else (*BEGINNING, *STAGES)),
                *((solve_forces, *STAGES) if convex and systems else ()),
                *(SLEEP_KERNELS if _rests(integrator, self.model) else ()),
                *((THREAD_KERNELS if convex else TEAM_KERNELS) if self.threads > 1 else ()),
            ),
            name,
        )
        self.plant = Plant(
            self.model,
            contact,
            joint_stiction_tolerance,
            self.coupling.efforts,
            integrator.default_stiction_tolerance,
            evaluated=convex,
        )
        self.note((*contact.notes, *contact_notes(contact, integrator, self.model)))
        self.note(self.plant.surfaces.notes)
        reason = "external systems" if systems else sleep_hindrance(self.plant)
        if _rests(integrator, self.model) and reason is not None:
            self.note([f"Nothing sleeps, because there are {reason}.", *awake_notes(self.model)])
        if self.plant.surfaces.any_compliant and "surface" not in integrator.contact_parameters:
            self.note([f"{name} keeps geoms apart; their pressure fields play no part."])

    def start_with(self, data: mujoco.MjData) -> None:
        """Make the world, to begin at the state that is in ``data``, where it is published."""
        self.claim = Claim(
            "this simulator is running, in another thread or in a call of which this one is a "
            "part; give every thread a simulator of its own, by copy.deepcopy for example."
        )
        self.team = Team(self.threads) if self.threads > 1 else None
        self.reference = DataReference(data, keep=True)
        self.option = self.model.opt
        copies_model = self.integrator.make_method().base.copies_model
        self.watch = ModelWatch(self.model, meshes=copies_model)
        self.make_world()
        self.start_clocks(float(data.time))

    def make_world(self) -> None:
        """Make method and world, with memory for what the plant has."""
        self.method = self.integrator.make_method()
        self.stepping = self.integrator.stepping
        self.world = World(
            self.plant,
            self.reference(),
            mujoco.MjData(self.model),
            convex=self.base.evaluates_plant,
            team=self.team,
        )
        self.world.table.records = -1
        self._write_options()
        step = self.integrator.time_step
        base = self.base
        self.fast_motion = None
        if step and base.evaluates_plant:
            motion = FastMotion(self.model, step)
            motion.look_at_fall()
            self.fast_motion = None if base.sees_ahead else motion
        self.coupling.attach(self.world)
        self.inputs = Inputs(self.model, self.world)
        self.counters = Counters(self.world, self.base)
        self.results = Delivered(self.world, self.coupling)
        self.make_call()

    def prepare(self) -> None:
        """Let the world begin anew, with the options of method and stepping."""
        self._write_options()
        self.make_call()

    def make_call(self) -> None:
        """Make the table of calls in compiled code, for the model as it is."""
        convex, model = self.base.evaluates_plant, self.model
        self.wakes = bool(self.option.enableflags & SLEEP)
        self.at_once = convex and not self.has_systems and model.nhistory == 0
        inputs = self.inputs.table
        self.call = Table(
            SIMULATOR_CALL,
            call=new_call(model, self.world, self.method, self.stepping, inputs, self.first_steps),
            watch=self.watch.table,
            lazy=int(self.lazy),
            time_step=model._address
            + native.offset("mjModel", "opt")
            + native.offset("mjOption", "timestep"),
            **({"counters": self.counters.table} if convex else {}),
        )

    def _write_options(self) -> None:
        self.method.prepare(self.world)
        self.stepping.prepare(self.world)
        self.first_steps = float(self.world.table.next_step), float(self.world.table.last_step)
        self.set_sleep()
        self.world.share_evaluation()

    def set_sleep(self) -> None:
        """Let islands rest as integrator and model ask for it now."""
        if self.lets_sleep:
            compile_kernels(SLEEP_KERNELS, "sleep")
        falls_asleep = sleep_is_wanted(self.integrator, self.model)
        self.world.let_rest(self.lets_sleep, falls_asleep=falls_asleep)

    def stay_awake(self) -> None:
        """Wake everything, and let nothing sleep from now on."""
        self.stays_awake = True
        self.set_sleep()

    # -- parts -----------------------------------------------------------------------------------

    @property
    def base(self) -> Method:
        """The innermost method, which memory and results are those of."""
        return self.method.base

    @property
    def data(self) -> mujoco.MjData:
        """The published data; what follows from the state may be missing (`stale`)."""
        return self.reference()

    @property
    def lets_sleep(self) -> bool:
        """Whether anything may sleep."""
        wanted = not self.stays_awake and _rests(self.integrator, self.model)
        return wanted and not self.has_systems and sleep_hindrance(self.plant) is None

    @property
    def has_systems(self) -> bool:
        """Whether there are external systems."""
        return bool(self.coupling.systems)

    def note(self, notes: Sequence[str]) -> None:
        """Add sentences to what the load report says about the model, each once."""
        report = self.load_report
        self.load_report = LoadReport(report.source, tuple(dict.fromkeys((*report.notes, *notes))))

    def start_clocks(self, time: float) -> None:
        """Let the sampling times of control and systems begin at ``time`` [s]."""
        self.clock.start(time)
        self.coupling.start_clock(time)

    def clear_counters(self) -> None:
        """Set the counters of work to zero."""
        self.base.clear_statistics(self.world)
        self.base.clear_residual(self.world)
        self.world.clear_counters()
        self.wall_time = 0.0
        self.world.forget_solutions()

    def take_steps(self, end: float, budget: int) -> int:
        """Advance the world to a time in at most so many attempts; returns a stepping's reason."""
        watcher = self.watcher
        if watcher is not None:
            budget = watcher.before_steps(budget)
        base = self.method.base
        base.begin(self.world)
        budget = min(budget, base.most_steps)
        history = self.history
        if history is not None:
            budget = self._begin_history(history, budget)
        code = self.stepping.advance(self.world, self.method, end, budget)
        base.end(self.world)
        if history is not None:
            self._end_history(history)
        if watcher is not None:
            watcher.after_steps()
        return code

    def _begin_history(self, history: HistoryKeeper, budget: int) -> int:
        """Let attempted steps be kept; returns how many at most."""
        convex = self.base.evaluates_plant
        counter = self.world.problem.counts.address_of("iterations") if convex else 0
        self.world.table.attempt_counter = counter
        iterations = int(self.counters.read()[ITERATIONS])
        history.begin(self.world, iterations, records=self.watcher is not None)
        # Methods without a convex problem have counters of their own, read from step to step.
        return budget if convex else 1

    def _end_history(self, history: HistoryKeeper) -> None:
        table, own = self.world.table, self.base.own_results(self.world)
        if table.attempts > 0 and not self.base.evaluates_plant:
            row = table.attempt[int(table.attempts) - 1]
            row[HISTORY_ITERATIONS] = self.counters.read()[ITERATIONS]
            if own is not None:
                row[CONTACTS] = own.delivered.contacts.count
        history.end(self.world)

    # -- copies ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What a session knows besides its options: what each of its parts knows, by name."""
        return {
            "inputs": self.inputs.state(),
            "data": self.inputs.present(),
            "userdata": self.data.userdata.copy(),
            "world": self.world.state(),
            "coupling": self.coupling.state(),
            "method": self.base.state(self.world),
            "clock": self.clock.state(),
            "times": (self.wall_time, self.pace),
            "stale": self.stale,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` has returned, but for the data, into a world of other memory."""
        self.inputs.set_state(state["inputs"])
        self.world.set_state(state["world"])
        self.coupling.set_state(state["coupling"])
        self.clock.set_state(state["clock"])
        self.wall_time, self.pace = state["times"]
