"""The external systems of one simulation: their tables, states, sampling times and failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from asperity.arguments import as_array, is_flag, is_number
from asperity.compiled import HoldsAddresses, Kernel, Table
from asperity.errors import ArgumentError, SimulationError
from asperity.integrators.external.feedback import (
    SYSTEM_KERNELS,
    advance_systems,
    limit_systems,
    prepare_systems,
)
from asperity.integrators.external.system_table import EXPLICIT, HELD, IMPLICIT, SYSTEM
from asperity.integrators.world import World
from asperity.plant.efforts import Efforts
from asperity.systems.base import ExternalSystem
from asperity.systems.callbacks import SystemFunction
from asperity.systems.system_efforts import resolve_efforts

__all__ = ["Coupling"]


class Coupling(HoldsAddresses):
    """External systems and their states in one simulation.

    Parameters
    ----------
    model : mujoco.MjModel
    systems : sequence of ExternalSystem
    evaluated : bool
        Whether the integrator evaluates systems at will, as `Integrator.evaluates_systems` says.

    Raises
    ------
    ArgumentError
        If a system cannot be used with the model.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        systems: Sequence[ExternalSystem],
        *,
        evaluated: bool = False,
    ) -> None:
        self.model = model
        self._evaluated = evaluated
        self.systems = tuple(systems)
        for number, system in enumerate(self.systems):
            if not isinstance(system, ExternalSystem):
                raise ArgumentError(
                    f"systems[{number}] must be an asperity.systems.ExternalSystem, got {system!r}."
                )
            if system in self.systems[:number]:
                raise ArgumentError(f"{system.label} is listed twice; make another one.")
            system.bind(model)
            _check(system)
        self.efforts, self._effort_start = resolve_efforts(
            model, self.systems, coupled=not evaluated
        )
        sizes = [len(system.initial_state) for system in self.systems]
        self._state_start = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self._functions: list[SystemFunction] = []
        self._samples = [0] * len(self.systems)
        self._clock_start = 0.0
        self._world: World | None = None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """What the systems need compiled."""
        if not self.systems:
            return ()
        own = [kernel[0] for system in self.systems if (kernel := system.kernel()) is not None]
        return (*SYSTEM_KERNELS, *dict.fromkeys(own))

    def attach(self, world: World) -> None:
        """Give a world the systems, in their initial states."""
        self._world = world
        if not self.systems:
            return
        self._functions = [
            SystemFunction(system, self._table(number))
            for number, system in enumerate(self.systems)
        ]
        table = world.table
        table.systems = np.array([f.table.address for f in self._functions], np.int64)
        table.prepare_systems = prepare_systems.address
        table.limit_systems = limit_systems.address
        table.advance_systems = advance_systems.address
        total = int(self._state_start[-1])
        table.system_weight = np.zeros(total)
        for number, system in enumerate(self.systems):
            table.system_weight[self._slice(number)] = system.error_weight
        world.set_system_states(total)
        self.reset()

    def reset(self) -> None:
        """Return to the initial states; sampled systems exert nothing until their first sample."""
        if self._world is None:
            return
        current = self._world.current.table.system_state
        for number, system in enumerate(self.systems):
            current[self._slice(number)] = system.initial_state
            self._functions[number].table.output_now[:] = 0.0
        self.invalidate()

    # -- a model that changes --------------------------------------------------------------------

    def efforts_of_model(self) -> tuple[Efforts, list[int]]:
        """Efforts, and where each system's begin, by what the model has become.

        Raises
        ------
        ArgumentError
            If a system cannot be used with the model any more.
        """
        for system in self.systems:
            system.bind(self.model)
        return resolve_efforts(self.model, self.systems, coupled=not self._evaluated)

    def take_over(self, efforts: Efforts, start: list[int]) -> None:
        """Take over what `efforts_of_model` has returned."""
        self.efforts, self._effort_start = efforts, start
        for function in self._functions:
            function.bind_again()

    # -- copies ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What is kept from one call to the next, to be given to a copy."""
        return {
            "samples": list(self._samples),
            "clock_start": self._clock_start,
            "outputs": [function.table.output_now.copy() for function in self._functions],
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` has returned."""
        self._samples = list(state["samples"])
        self._clock_start = state["clock_start"]
        for function, output in zip(self._functions, state["outputs"], strict=True):
            if len(output) == len(function.table.output_now):
                function.table.output_now[:] = output

    # -- states ----------------------------------------------------------------------------------

    def invalidate(self) -> None:
        """Forget outputs and derivatives: a user may have changed what they depend on."""
        for function in self._functions:
            function.table.sampled_state = 0
            function.table.linearised_state = 0

    def state_of(self, system: ExternalSystem) -> np.ndarray:
        """The part of the current state that is a system's; a writeable view."""
        assert self._world is not None
        return self._world.current.table.system_state[self._slice(self._number(system))]

    def output(self, system: ExternalSystem) -> np.ndarray:
        """What a system exerts at the published state, within its limits."""
        number = self._number(system)
        low, high = np.array(self._limits(number)).reshape(-1, 2).T
        return np.clip(self._functions[number].table.output_now, low, high)

    def check(self) -> None:
        """Refuse states that are not finite."""
        for system in self.systems:
            bad = np.flatnonzero(~np.isfinite(self.state_of(system)))
            if len(bad):
                value = self.state_of(system)[bad[0]]
                raise ArgumentError(
                    f"{system.label}: state {bad[0]} is {value}; it must be finite."
                )

    # -- sampling ------------------------------------------------------------------------------

    def start_clock(self, time: float) -> None:
        """Let the sampling times begin at ``time`` [s]."""
        self._clock_start = time
        self._samples = [0] * len(self.systems)

    def next_sample(self) -> float:
        """When the next sampled system is due [s]; infinity if there is none."""
        return min((self._due(n) for n in range(len(self.systems))), default=math.inf)

    def sample(self) -> None:
        """Compute and hold the outputs of the sampled systems that are due.

        Raises
        ------
        ArgumentError
            If an output or rate is not finite. The state is then as it was.
        """
        assert self._world is not None
        current = self._world.current.table
        time = float(current.time)
        for number, system in enumerate(self.systems):
            period = system.sample_time
            if period is None or time < self._due(number) - 1e-9 * period:
                continue
            function = self._functions[number]
            table = function.table
            table.time = time
            table.qpos[:] = current.qpos
            table.qvel[:] = current.qvel
            table.z[:] = self.state_of(system)
            function.evaluate()
            for what, values in (("output", table.output), ("rate", table.rate)):
                bad = np.flatnonzero(~np.isfinite(values))
                if len(bad):
                    raise ArgumentError(
                        f"{system.label}: {what} {bad[0]} is {values[bad[0]]} at {time:.6g} s; "
                        "correct the function that computes it."
                    )
            table.output_now[:] = table.output
            self.state_of(system)[:] += period * table.rate
            elapsed = (time - self._clock_start) / period
            self._samples[number] = max(self._samples[number], int(elapsed + 0.5)) + 1

    def _due(self, number: int) -> float:
        period = self.systems[number].sample_time
        # A product, not a sum: sampling times must not drift by round-off.
        return math.inf if period is None else self._clock_start + self._samples[number] * period

    # -- failures ------------------------------------------------------------------------------

    def raise_failure(self) -> None:
        """Raise what a system raised inside of a step."""
        for function in self._functions:
            function.raise_failure()
        raise SimulationError(
            "an external system failed within a step, but not when it was called again; its "
            "functions must depend on their arguments alone."
        )

    def complaint(self) -> str:
        """A sentence on an output or rate that was not finite in the last call, or nothing."""
        for function in self._functions:
            table = function.table
            for what, bad, values in (
                ("output", table.bad_output, table.output),
                ("rate", table.bad_rate, table.rate),
            ):
                if bad >= 0:
                    value, time = values[bad], table.time
                    return f"{function.system.label}: {what} {bad} is {value} at {time:.6g} s."
        return ""

    # -- publication ---------------------------------------------------------------------------

    def publish(self, data: mujoco.MjData) -> None:
        """Let ``actuator_force`` and ``qfrc_actuator`` tell what the systems exert."""
        if not self.systems:
            return
        # Of a state that has been published before, the data has the systems' efforts already.
        if len(data.actuator_force) == 0:
            data.qfrc_actuator[:] = 0.0
        else:
            mujoco.mj_fwdActuation(self.model, data)
        for number, system in enumerate(self.systems):
            function = self._functions[number]
            efforts = self.output(system)
            first = self._effort_start[number]
            for k, effort in enumerate(efforts):
                actuator = self.efforts.actuators[first + k]
                if actuator >= 0:
                    at = int(self.model.actuator_outadr[actuator])
                    own = float(data.actuator_force[at])
                    data.actuator_force[at] = effort
                    effort = effort - own
                data.qfrc_actuator += function.table.jacobian[k] * effort

    # -- inside --------------------------------------------------------------------------------

    def _number(self, system: ExternalSystem) -> int:
        for number, own in enumerate(self.systems):
            if own is system:
                return number
        raise ArgumentError(
            f"{system!r} is not among the systems of this simulator; pass it as systems=[...]."
        )

    def _slice(self, number: int) -> slice:
        return slice(int(self._state_start[number]), int(self._state_start[number + 1]))

    def _limits(self, number: int) -> Sequence[tuple[float, float]]:
        return self.efforts.limits[self._effort_start[number] : self._effort_start[number + 1]]

    def _table(self, number: int) -> Table:
        system = self.systems[number]
        n = len(self._limits(number))
        nz = len(system.initial_state)
        first = self._effort_start[number]
        groups = self.efforts.groups[first : first + n]
        coupled = sum(group >= 0 for group in groups)
        implicit = system.implicit and not self._evaluated
        treatment = HELD if system.sample_time else (IMPLICIT if implicit else EXPLICIT)
        parameters = system.parameters
        if not (isinstance(parameters, np.ndarray) and parameters.dtype == np.float64):
            raise ArgumentError(
                f"{system.label}: parameters must be a float64 array, got {parameters!r}."
            )
        table = Table(
            SYSTEM,
            call=0,
            own=0,
            z=np.zeros(nz),
            qpos=self.model.qpos0.copy(),
            qvel=np.zeros(self.model.nv),
            parameters=parameters,
            output=np.zeros(n),
            rate=np.zeros(nz),
            treatment=treatment,
            first_effort=first,
            first_state=int(self._state_start[number]),
            coupled=np.array([int(g >= 0) for g in groups], np.int64),
            members=np.array([k for k in range(n) if groups[k] >= 0], np.int64),
            difference=1.0 if system.linear else 0.0,
            bad_output=-1,
            bad_rate=-1,
            output_now=np.zeros(n),
            rate_now=np.zeros(nz),
            velocity=np.zeros(n),
            jacobian=np.zeros((n, self.model.nv)),
            squared_length=np.zeros(n),
            output_q=np.zeros((n, n)),
            output_v=np.zeros((n, n)),
            output_z=np.zeros((n, nz)),
            rate_q=np.zeros((nz, n)),
            rate_v=np.zeros((nz, n)),
            rate_z=np.zeros((nz, nz)),
            state_drift=np.zeros(nz),
            state_gain=np.zeros((nz, n)),
            gains=np.zeros((n, n)),
            efforts=np.zeros(n),
            limited=np.zeros(coupled, np.int64),
            row_weight=np.zeros((coupled, coupled)),
            row_gain=np.zeros(coupled),
            row_bias=np.zeros(coupled),
        )
        table.z[:] = system.initial_state
        assert not table.missing(), table.missing()
        return table


def _check(system: ExternalSystem) -> None:
    for name in ("implicit", "coupled", "linear"):
        value = getattr(system, name)
        if not is_flag(value):
            raise ArgumentError(f"{system.label}: {name} must be True or False, got {value!r}.")
    state = as_array(f"{system.label}: initial_state", system.initial_state)
    if state.ndim != 1 or not np.all(np.isfinite(state)):
        raise ArgumentError(
            f"{system.label}: initial_state must be a vector of finite numbers, got "
            f"{system.initial_state!r}."
        )
    time = system.sample_time
    if time is not None and not (is_number(time) and math.isfinite(time) and time > 0):
        raise ArgumentError(
            f"{system.label}: sample_time must be positive and finite, got {time!r}."
        )
    weight = system.error_weight
    if not (is_number(weight) and math.isfinite(weight) and weight >= 0):
        raise ArgumentError(
            f"{system.label}: error_weight must be non-negative and finite, got {weight!r}."
        )
    if weight > 0 and (len(state) == 0 or time is not None):
        raise ArgumentError(
            f"{system.label}: error_weight={weight} has no effect "
            + ("with a sample_time" if len(state) else "without a state (initial_state)")
            + "; omit it."
        )
