"""The world: plant, convex problem and states of one simulation, with the table that joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.compiled.team import TEAM_KERNELS, Team
from asperity.contact.delivered import (
    grow_delivered,
    new_delivered,
    read_delivered,
    write_delivered,
)
from asperity.convex.problem import new_problem, path_places, read_statistics, write_statistics
from asperity.convex.shared_islands import SharedIslands, solve_part, solve_shared
from asperity.integrators.resting import Resting
from asperity.integrators.world_layout import (
    ATTEMPT_COLUMNS,
    CONTACTS_FULL,
    COUPLING_FULL,
    RESULT,
    ROWS_FULL,
    WORLD,
)
from asperity.plant import native
from asperity.plant.detection.shared_detection import (
    SHARED_DETECTION_KERNELS,
    SharedDetection,
    can_share_detection,
)
from asperity.plant.detection.sweep_pairs import new_sweep
from asperity.plant.model.plastic import plastic_size
from asperity.plant.plant import Plant
from asperity.plant.shared_positions import (
    SHARED_POSITIONS_KERNELS,
    SharedPositions,
    can_share_positions,
)
from asperity.plant.state import State, link_room

__all__ = ["THREAD_KERNELS", "Memory", "World"]

THREAD_KERNELS = (
    *TEAM_KERNELS,
    solve_part,
    solve_shared,
    *SHARED_POSITIONS_KERNELS,
    *SHARED_DETECTION_KERNELS,
)
"""What worlds with a team need compiled."""

_CONTACTS = 256
_RECORDS = 256

# What goes on from one call to the next: of the world's table, and of its current state.
_COUNTERS = ("steps", "rejections", "substeps", "impact_rejections", "rebounds")
_SIZES = ("next_step", "last_step", "records")
_RECORD = ("record_time", "record_qpos", "record_qvel", "record_act", "record_plastic")
_STATE = ("qpos", "qvel", "act", "system_state", "tension", "plastic")


class Memory(Protocol):
    """What a method keeps in a world, which grows with it (`asperity.integrators.methods`)."""

    @property
    def states(self) -> Sequence[State]:
        """States of the method's own in which it evaluates the plant."""
        ...

    @property
    def history(self) -> Sequence[int]:
        """Addresses of numbers that are zero where nothing is known of earlier steps."""
        ...

    def grow_contacts(self, capacity: int) -> None:
        """Make room for so many contacts."""
        ...

    def grow_coupling(self, size: int) -> None:
        """Make room for so many numbers in the couplings between trees."""
        ...

    def grow(self, code: int) -> bool:
        """Enlarge what a code of the method's own says; False if the code means nothing to it."""
        ...

    def set_system_states(self, count: int) -> None:
        """Make room for so many states of external systems."""
        ...


def _coupled_before(plant: Table) -> np.ndarray:
    """The dof before each one in its tree, as if one chain where a flex is in a moving body.

    Its elements couple branches of the tree, so that A is dense there.
    """
    before = np.array(plant.dofs.parent)
    inner = plant.elastic.bond_dof[len(plant.elastic.bond_tree) :, 0]
    for tree in np.unique(plant.dofs.tree[inner]):
        first, size = int(plant.trees.start[tree]), int(plant.trees.size[tree])
        before[first : first + size] = np.append(-1, np.arange(first, first + size - 1))
    return before


class World(HoldsAddresses):
    """Plant, problem and states of one simulation.

    Parameters
    ----------
    plant : Plant
    data, scratch : mujoco.MjData
        Where the current state, and the intermediate states of a step, are evaluated. The world
        keeps the second alive, and whoever makes the world the first.
    convex : bool
        Whether there is a convex problem, which methods solve or work in.
    team : Team, optional
        Threads that methods may share their work with.

    Attributes
    ----------
    memories : list of Memory
        Of the method that has been prepared in this world.
    """

    def __init__(
        self,
        plant: Plant,
        data: mujoco.MjData,
        scratch: mujoco.MjData,
        *,
        convex: bool = True,
        team: Team | None = None,
    ) -> None:
        model = plant.model
        self.team = team
        self.plant = plant
        self.current: State = plant.new_state(data, keep=False)
        self.following: State = plant.new_state(scratch, contacts=1)
        self.half: State = plant.new_state(scratch)
        self.full: State = plant.new_state(scratch)
        self.memories: list[Memory] = []
        self.contact_capacity = _CONTACTS
        self.row_capacity = len(self.current.rows.kind)
        self.result = Table(RESULT, nv=model.nv)
        self.result.velocity_share[:] = 1.0
        # Published: what a step has delivered stays, whatever later attempts leave elsewhere.
        self.delivered = new_delivered(
            model.nv, model.njnt, self.contact_capacity, self.row_capacity
        )
        self.table = Table(
            WORLD,
            nv=model.nv,
            plant=plant.table,
            team=0 if team is None else team.table.address,
            current=self.current.table,
            following=self.following.table,
            half=self.half.table,
            full=self.full.table,
            result=self.result,
            delivered=self.delivered,
            sweep=new_sweep(plant.table),
            systems=np.zeros(0, np.int64),
            system_weight=np.zeros(0),
            record_time=np.zeros(_RECORDS),
            record_qpos=np.zeros((_RECORDS, model.nq)),
            record_qvel=np.zeros((_RECORDS, model.nv)),
            record_act=np.zeros((_RECORDS, model.na)),
            record_plastic=np.zeros((_RECORDS, plastic_size(model))),
            attempt=np.zeros((0, ATTEMPT_COLUMNS)),
            attempts=-1,
        )
        self._problem: Table | None = None
        self._shared_islands: SharedIslands | None = None
        self._shared_detection: dict[int, SharedDetection] = {}
        self._shared_positions: dict[int, SharedPositions] = {}
        self.resting: Resting | None = None
        if convex:
            self._problem = new_problem(
                tree_start=plant.table.trees.start,
                tree_size=plant.table.trees.size,
                tree_spatial=plant.table.trees.spatial,
                contacts=self.contact_capacity,
                links=link_room(model, self.contact_capacity),
                rows=self.row_capacity,
                dof_parent=_coupled_before(plant.table),
                bond_tree=plant.table.elastic.bond_tree,
                bond_rank=plant.table.elastic.tree_rank,
                inner_bonds=int(plant.table.elastic.bonds) - len(plant.table.elastic.bond_tree),
                # Also of flexes whose vertices nothing bonds.
                element_points=self.contact_capacity if model.nflex > 0 else 0,
            )
            self.table.problem = self._problem

    @property
    def problem(self) -> Table:
        """The convex problem, of worlds that have one."""
        assert self._problem is not None
        return self._problem

    def share_islands(self, solve: int) -> None:
        """Let the team solve islands, with the solver at an address, if there is a team."""
        if self.team is not None:
            self._shared_islands = SharedIslands(self.problem, self.team, solve)
            self.table.solve_problem = solve_shared.address

    def share_evaluation(self) -> None:
        """Let a team find positions and contacts, where the model, as it is now, allows it."""
        if self.team is None or self._problem is None or self.resting is not None:
            return
        model = self.plant.model
        positions = can_share_positions(model)
        contacts = can_share_detection(model)
        for state in self.evaluated_states:
            state.table.find_positions = 0
            state.table.detect_shared = 0
            address = int(state.table.data)
            if positions:
                if address not in self._shared_positions:
                    self._shared_positions[address] = SharedPositions(model, state.data, self.team)
                self._shared_positions[address].install(state.table)
            if contacts:
                if address not in self._shared_detection:
                    self._shared_detection[address] = SharedDetection(model, state.data, self.team)
                self._shared_detection[address].install(state.table)

    def let_rest(self, rests: bool, *, falls_asleep: bool = True) -> None:
        """Let islands rest (`asperity.integrators.steppings.resting`), or none; all are awake.

        Those that do not fall asleep may start so.
        """
        if not rests:
            if self.resting is not None:
                self.resting.remove(self.evaluated_states)
                self.resting, self.table.resting = None, 0
            return
        if self.resting is None:
            data, room = self.current.data, self.contact_capacity
            self.resting = Resting(self.plant, data, room)
            self.table.resting = self.resting.table.address
            if self._problem is not None:
                self._problem.guess.at_rest = self.resting.table.at_rest
        self.resting.falls_asleep = falls_asleep
        if self._problem is not None:
            self.resting.install(self.evaluated_states)
        self.resting.read_model()

    @property
    def bodies_at_rest(self) -> np.ndarray:
        """Which bodies are of islands at rest: bool, shape (nbody,)."""
        tree = self.plant.table.bodies.tree
        if self.resting is None:
            return np.zeros(len(tree), bool)
        return np.append(self.resting.table.at_rest, 0)[tree] == 1

    @property
    def evaluated_states(self) -> tuple[State, ...]:
        """States in which methods evaluate the plant; only these have room for contacts."""
        own = [state for memory in self.memories for state in memory.states]
        return (self.current, self.half, self.full, *own)

    def add_memory(self, memory: Memory) -> None:
        """Let what a method keeps grow with the world."""
        if memory not in self.memories:
            self.memories.append(memory)

    def new_state(self, data: mujoco.MjData | None = None) -> State:
        """Another state with room for as many contacts and rows as the others have.

        Parameters
        ----------
        data : mujoco.MjData, optional
            Where it is evaluated; where the intermediate states of a step are by default.
        """
        where = self.half.data if data is None else data
        return self.plant.new_state(where, self.contact_capacity, self.row_capacity)

    def set_system_states(self, count: int) -> None:
        """Give all states so many states of external systems, zero."""
        for state in (*self.evaluated_states, self.following):
            state.table.resize(system_states=count)
        for memory in self.memories:
            memory.set_system_states(count)

    def forget_history(self) -> None:
        """Let what follows depend on the current state alone."""
        self.table.has_history = 0
        self.table.tried = 0.0
        self.table.factors_valid = 0
        self.current.table.tension[:] = np.nan
        # A graph keeps the order of a larger one that it is part of.
        self.table.graph_state = 0
        if self._problem is not None:
            self._problem.graph.components = -1
        if self.current.table.glides != 0:
            # What glides is looked for as far as a step takes it: that of an earlier one.
            self.current.table.valid = 0
        for address in (number for memory in self.memories for number in memory.history):
            native.memory(address, 1)[0] = 0

    def forget_solutions(self) -> None:
        """Let what follows not depend on problems that were solved before."""
        self.forget_history()

    def forget_evaluations(self) -> None:
        """Let every state be evaluated anew: the model is another one."""
        for state in self.evaluated_states:
            state.table.valid = 0
            # MuJoCo leaves them as they are when actuation is disabled.
            state.data.act_dot[:] = 0.0
        if self.resting is not None:
            self.resting.read_model()
        self.forget_solutions()

    def clear_counters(self) -> None:
        """Set the counters of steps and evaluations to zero."""
        for name in _COUNTERS:
            setattr(self.table, name, 0)
        # The graph at hand is known by its state's number of evaluations, which starts anew.
        self.table.graph_state = 0
        for state in self.evaluated_states:
            state.table.evaluations = 0

    def state(self) -> dict[str, Any]:
        """What goes on from one call to the next: state, results, records and counters."""
        table, current = self.table, self.current.table
        records = max(table.records, 0)
        return {
            "room": (self.contact_capacity, self.row_capacity),
            "numbers": {name: getattr(table, name) for name in (*_COUNTERS, *_SIZES)},
            "record": {name: getattr(table, name)[:records].copy() for name in _RECORD},
            "time": current.time,
            "state": {name: getattr(current, name).copy() for name in _STATE},
            "delivered": read_delivered(self.delivered),
            "evaluations": [state.table.evaluations for state in self.evaluated_states],
            "resting": None if self.resting is None else self.resting.state(),
            "problem": None if self._problem is None else read_statistics(self._problem),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` has returned, perhaps of a world with less memory."""
        if self._problem is not None:
            self.reserve(*state["room"])
        table, current = self.table, self.current.table
        for name, value in state["numbers"].items():
            setattr(table, name, value)
        for name, values in state["record"].items():
            getattr(table, name)[: len(values)] = values
        current.time = state["time"]
        for name, values in state["state"].items():
            if len(getattr(current, name)) == len(values):
                getattr(current, name)[:] = values
        write_delivered(self.delivered, state["delivered"])
        if self.resting is not None and state["resting"] is not None:
            self.resting.set_state(state["resting"])
            current.valid = 0
        self.set_counts(state)

    def set_counts(self, state: Mapping[str, Any]) -> None:
        """Put back the counts of evaluations and solves of what `state` has returned.

        Worlds of other methods may evaluate more or fewer states; what counts is their sum.
        """
        counts, own = state["evaluations"], self.evaluated_states
        if len(counts) != len(own):
            counts = [sum(counts), *[0] * (len(own) - 1)]
        for one, count in zip(own, counts, strict=True):
            one.table.evaluations = count
        if self._problem is not None:
            write_statistics(self._problem, state["problem"])

    def reserve(self, contacts: int, rows: int) -> None:
        """Make room for at least so many contacts and scalar constraints."""
        while self.contact_capacity < contacts:
            self.grow(CONTACTS_FULL)
        while self.row_capacity < rows:
            self.grow(ROWS_FULL)

    def grow(self, code: int) -> bool:
        """Enlarge what a method found too small; False if ``code`` is about something else."""
        if code == CONTACTS_FULL:
            self.contact_capacity *= 2
            for state in self.evaluated_states:
                state.grow_contacts(self.contact_capacity)
            self.problem.resize(contacts=self.contact_capacity)
            if self.plant.model.nflex > 0:
                self.problem.resize(
                    links=link_room(self.plant.model, self.contact_capacity),
                    places=path_places(self.plant.model.nv, self.contact_capacity),
                )
            grow_delivered(self.delivered, self.contact_capacity, self.row_capacity)
            if self.resting is not None:
                self.resting.table.room = self.contact_capacity
            for memory in self.memories:
                memory.grow_contacts(self.contact_capacity)
        elif code == ROWS_FULL:
            self.row_capacity *= 2
            for state in self.evaluated_states:
                state.grow_rows(self.row_capacity)
            self.problem.resize(rows=self.row_capacity)
            grow_delivered(self.delivered, self.contact_capacity, self.row_capacity)
        elif code == COUPLING_FULL:
            size = 2 * self.problem.graph.coupling_size
            self.problem.resize(coupling_room=size)
            for memory in self.memories:
                memory.grow_coupling(size)
        else:
            return any(memory.grow(code) for memory in self.memories)
        self.table.factors_valid = 0
        self.table.graph_state = 0
        return True
