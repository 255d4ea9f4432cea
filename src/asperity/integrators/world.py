"""The world: plant, convex problem and states of one simulation, with the table that joins them."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.contact.delivered import grow_delivered, new_delivered
from asperity.convex.assembly import assemble
from asperity.convex.block_cholesky import factorize, solve_factors
from asperity.convex.graph import build_graph
from asperity.convex.line_search import line_search
from asperity.convex.newton import install_solver, solve_problem
from asperity.convex.problem import grow_contacts, grow_factor, grow_rows, new_problem
from asperity.integrators.classical.layout import (
    grow_classical,
    set_system_states,
)
from asperity.integrators.layout import (
    CONTACTS_FULL,
    COUPLING_FULL,
    ROWS_FULL,
    WORLD,
)
from asperity.integrators.results import deliver
from asperity.integrators.tamsi.layout import grow_lower
from asperity.plant.contacts import read_contacts
from asperity.plant.evaluate import evaluate, read_constraints
from asperity.plant.plant import Plant
from asperity.plant.state import State

__all__ = ["CONVEX_KERNELS", "World"]

CONVEX_KERNELS = (
    solve_problem,
    assemble,
    read_constraints,
    line_search,
    evaluate,
    read_contacts,
    build_graph,
    factorize,
    solve_factors,
    deliver,
)
"""What steps by convex problems need compiled, whatever their method."""


class World:
    """Plant, problem and states of one simulation.

    Parameters
    ----------
    plant : Plant
    data, scratch : mujoco.MjData
        Where the current state, and the intermediate states of a step, are evaluated.
    convex : bool
        Whether convex problems will be solved, for which kernels are compiled.

    Attributes
    ----------
    engine : object
        What an integrator keeps that has more state than ``qpos`` and ``qvel``.
    """

    def __init__(
        self,
        plant: Plant,
        data: mujoco.MjData,
        scratch: mujoco.MjData,
        *,
        convex: bool = True,
    ) -> None:
        model = plant.model
        self.plant = plant
        self.current: State = plant.new_state(data)
        self.following: State = plant.new_state(scratch, contacts=1)
        self.half: State = plant.new_state(scratch)
        self.full: State = plant.new_state(scratch)
        self.classical: Table | None = None
        self.tamsi: Table | None = None
        self.work: State | None = None
        self._scratch = scratch
        self.engine: object = None
        self.contact_capacity = 256
        self.row_capacity = len(self.current.rows.kind)
        self.problem: Table = new_problem(
            tree_start=plant.table.tree_start,
            tree_size=plant.table.tree_size,
            tree_spatial=plant.table.tree_spatial,
            contacts=self.contact_capacity,
            links=model.nbody + 1,
            rows=self.row_capacity,
        )
        if convex:
            install_solver(self.problem)
        # Published: what a step has delivered stays, whatever later attempts leave elsewhere.
        self.delivered: Table = new_delivered(model.nv, self.contact_capacity, self.row_capacity)
        records = 256
        self.table = Table(
            WORLD,
            plant=plant.table,
            problem=self.problem,
            evaluate=evaluate.address if convex else 0,
            build_graph=build_graph.address if convex else 0,
            solve_problem=solve_problem.address if convex else 0,
            current=self.current.table,
            following=self.following.table,
            half=self.half.table,
            full=self.full.table,
            guess=np.zeros(model.nv),
            error=np.zeros(model.nv),
            scratch=np.zeros(model.nv),
            geom_position=np.zeros((model.ngeom, 3)),
            geom_rotation=np.zeros((model.ngeom, 9)),
            result_acceleration=np.zeros(model.nv),
            deliver=deliver.address if convex else 0,
            delivered=self.delivered,
            systems=np.zeros(0, np.int64),
            system_weight=np.zeros(0),
            record_time=np.zeros(records),
            record_qpos=np.zeros((records, model.nq)),
            record_qvel=np.zeros((records, model.nv)),
            record_act=np.zeros((records, model.na)),
        )

    @property
    def evaluated_states(self) -> tuple[State, ...]:
        """States in which methods evaluate the plant; only these have room for contacts."""
        states = (self.current, self.half, self.full)
        return states if self.work is None else (*states, self.work)

    def add_work_state(self) -> None:
        """Make the state ``work``, in which methods iterate that step doubling may repeat."""
        if self.work is None:
            self.work = self.plant.new_state(
                self._scratch, self.contact_capacity, self.row_capacity
            )
            self.table.work = self.work.table

    def set_system_states(self, count: int) -> None:
        """Give all states so many states of external systems, zero."""
        for state in (*self.evaluated_states, self.following):
            state.table.system_state = np.zeros(count)
        if self.classical is not None:
            set_system_states(self.classical, count)

    def forget_history(self) -> None:
        """Let what follows depend on the current state alone."""
        self.table.has_history = 0
        if self.classical is not None:
            self.classical.has_jacobian = 0
            self.classical.factor_step = 0.0

    def grow(self, code: int) -> bool:
        """Enlarge what a method found too small; False if ``code`` is about something else."""
        if code == CONTACTS_FULL:
            self.contact_capacity *= 2
            for state in self.evaluated_states:
                state.grow_contacts(self.contact_capacity)
            grow_contacts(self.problem, self.contact_capacity)
            grow_delivered(self.delivered, self.contact_capacity, self.row_capacity)
            if self.classical is not None:
                grow_classical(self.classical, self.contact_capacity)
        elif code == ROWS_FULL:
            self.row_capacity *= 2
            for state in self.evaluated_states:
                state.grow_rows(self.row_capacity)
            grow_rows(self.problem, self.row_capacity)
            grow_delivered(self.delivered, self.contact_capacity, self.row_capacity)
        elif code == COUPLING_FULL:
            grow_factor(self.problem, 2 * self.problem.coupling_size)
            if self.tamsi is not None:
                grow_lower(self.tamsi, self.problem)
        else:
            return False
        self.table.factors_valid = 0
        self.table.graph_state = 0
        return True
