"""What a simulator knows besides its options, taken out and put into another one.

A simulation depends on addresses in memory, so a copy is made anew from the options and then given
the state, what the last step has delivered, the step size of error control, counters and clocks.
Everything else follows from these: every advance begins from the state alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.contact.delivered import grow_delivered
from asperity.convex.problem import read_statistics, write_statistics
from asperity.loading import LoadReport

if TYPE_CHECKING:
    from asperity.simulator.machinery import Machinery
    from asperity.simulator.simulator import Simulator

__all__ = ["reduced", "restore_world", "take_snapshot"]

_OWN_ATTRIBUTES = frozenset((
    "model", "load_report", "integrator", "plant", "coupling", "control", "method", "world",
    "_base", "_call", "_control_period", "_counters", "_inputs", "_last_tick", "_lazy", "_pace",
    "_reference", "_results", "_running", "_sampling", "_stale", "_stepping", "_team", "_wall_time",
    "_watch", "threads",
))  # fmt: skip
"""Attributes of `Simulator`; those that subclasses add are copied as they are."""

_COUNTERS = (
    "steps", "rejections", "substeps", "impact_rejections", "damped_impacts", "next_step",
    "last_step", "records",
)  # fmt: skip
_RECORDS = ("record_time", "record_qpos", "record_qvel", "record_act")
_STATE = ("qpos", "qvel", "act", "system_state")


@dataclass(frozen=True)
class Snapshot:
    """What a simulator knows.

    Attributes
    ----------
    known, present : mapping
        State and inputs that were published, and those that ``data`` holds, which a user may have
        changed since.
    userdata : ndarray
    world, delivered, coupling, method : mapping
        Of the simulator's parts, by name.
    evaluations : tuple of int
        Of every state.
    clocks : tuple
        Wall time, pace, and the sampling clock's start and count.
    stale : bool
        Whether what follows from the state was left to those who read it.
    """

    known: Mapping[str, np.ndarray]
    present: Mapping[str, np.ndarray]
    userdata: np.ndarray
    world: Mapping[str, Any]
    delivered: Mapping[str, Any]
    coupling: Mapping[str, Any]
    method: Mapping[str, Any]
    evaluations: tuple[int, ...]
    clocks: tuple[float, int, float, int]
    stale: bool

    def put_into(self, data: mujoco.MjData) -> None:
        """Write state and inputs, as they were published, into another MjData."""
        for name, values in self.known.items():
            if name == "time":
                data.time = float(values[0])
            else:
                target = getattr(data, name)
                target[:] = values.reshape(target.shape)
        data.userdata[:] = self.userdata


def take_snapshot(simulator: Machinery) -> Snapshot:
    """Copy what a simulator knows, which must not run meanwhile."""
    world, inputs, sampling = simulator.world, simulator._inputs, simulator._sampling
    base = simulator.method.base
    table, current = world.table, world.current.table
    numbers: dict[str, Any] = {name: getattr(table, name) for name in _COUNTERS}
    numbers |= {name: getattr(table, name)[: max(table.records, 0)].copy() for name in _RECORDS}
    numbers |= {name: getattr(current, name).copy() for name in _STATE}
    if base.evaluates_plant:
        numbers["problem"] = read_statistics(world.problem)
    return Snapshot(
        known=inputs.known(),
        present=inputs.present(),
        userdata=simulator._reference().userdata.copy(),
        world=numbers | {"contacts": world.contact_capacity, "rows": world.row_capacity},
        delivered=_read(world.delivered),
        coupling=simulator.coupling.memory(),
        method=base.memory_of(world),
        evaluations=tuple(state.table.evaluations for state in world.evaluated_states),
        clocks=(simulator._wall_time, simulator._pace, *sampling.position),
        stale=simulator._stale,
    )


def restore_world(simulator: Machinery, snapshot: Snapshot) -> None:
    """Put back state, results, counters and clocks, but not what a method keeps."""
    world, numbers = simulator.world, snapshot.world
    if simulator.method.base.evaluates_plant:
        world.reserve(numbers["contacts"], numbers["rows"])
        write_statistics(world.problem, numbers["problem"])
    for name in _COUNTERS:
        setattr(world.table, name, numbers[name])
    for name in _RECORDS:
        getattr(world.table, name)[: len(numbers[name])] = numbers[name]
    current = world.current.table
    for name in _STATE:
        values = getattr(current, name)
        if len(values) == len(numbers[name]):
            values[:] = numbers[name]
    current.time = float(snapshot.known["time"][0])
    contacts, rows = (len(snapshot.delivered[name]["impulse"]) for name in ("contacts", "rows"))
    if contacts > len(world.delivered.contacts.impulse) or rows > len(world.delivered.rows.impulse):
        grow_delivered(world.delivered, contacts, rows)
    _write(world.delivered, snapshot.delivered)
    simulator.coupling.set_memory(snapshot.coupling)
    for state, count in zip(world.evaluated_states, snapshot.evaluations, strict=True):
        state.table.evaluations = count


def _restore(simulator: Simulator, snapshot: Snapshot) -> None:
    """Let a new simulator of the same options go on where another one was."""
    restore_world(simulator, snapshot)
    simulator.method.base.set_memory(simulator.world, snapshot.method)
    if snapshot.stale:
        simulator.world.current.table.valid = 0
    simulator._publish(quietly=True, lazily=snapshot.stale)
    for state, count in zip(simulator.world.evaluated_states, snapshot.evaluations, strict=True):
        state.table.evaluations = count
    if simulator.method.base.evaluates_plant:
        write_statistics(simulator.world.problem, snapshot.world["problem"])
    simulator._wall_time, simulator._pace, *position = snapshot.clocks
    simulator._sampling.position = (position[0], int(position[1]))
    # What the user has changed since it was published is noticed by the next call.
    simulator._inputs.write(snapshot.present)


def reduced(simulator: Simulator, base: type[Simulator]) -> tuple[Any, ...]:
    """A simulator, which must not run, as ``__reduce_ex__`` returns it.

    Of subclasses of ``base``, whose constructors may differ, only what that makes is made anew.
    """
    options = {
        "model": simulator.model,
        "integrator": simulator.integrator,
        "contact": simulator.plant.contact,
        "control": simulator.control,
        "control_period": simulator._control_period,
        "joint_stiction_tolerance": simulator.plant.table.joint_stiction_tolerance,
        "systems": simulator.systems,
        "publish": "lazy" if simulator._lazy else "eager",
        "threads": simulator.threads,
    }
    attributes = vars(simulator).items()
    further = {name: value for name, value in attributes if name not in _OWN_ATTRIBUTES}
    made_of = (base, type(simulator), options, simulator.load_report, take_snapshot(simulator))
    return _made_again, made_of, further


def _made_again(
    base: type[Simulator],
    kind: type[Simulator],
    options: dict[str, Any],
    report: LoadReport,
    snapshot: Snapshot,
) -> Simulator:
    """A simulator of these options that goes on from a snapshot."""
    simulator = kind.__new__(kind)
    data = mujoco.MjData(options["model"])
    snapshot.put_into(data)
    simulator._resumes = True
    base.__init__(simulator, **options, data=data)
    del simulator._resumes
    simulator.load_report = report
    _restore(simulator, snapshot)
    return simulator


def _read(table: Table) -> dict[str, Any]:
    """Numbers and arrays of a table and of the tables in it."""
    found: dict[str, Any] = {}
    for name, field in table.layout.fields.items():
        value = getattr(table, name)
        if field.layout is not None:
            found[name] = _read(value)
        else:
            found[name] = value.copy() if field.ndim > 0 else value
    return found


def _write(table: Table, values: Mapping[str, Any]) -> None:
    """Put back what `_read` has returned, into arrays that may be longer."""
    for name, value in values.items():
        if isinstance(value, dict):
            _write(getattr(table, name), value)
        elif isinstance(value, np.ndarray):
            getattr(table, name)[: len(value)] = value
        else:
            setattr(table, name, value)
