"""The world: everything that methods and stepping loops share, as one table.

A *method* is a compiled function ``code = method(world, source, target, h)`` that advances the
state at address ``source`` by h [s] into ``target`` and fills ``error``, the difference of two
solutions, if it has an estimate. It may use the ``guess`` of the end velocity if
``ints[HAS_GUESS]`` is set. A *stepping* decides on h and on what is accepted. Codes below `REFUSED`
are good.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Layout, Table
from asperity.convex.graph import build_graph
from asperity.convex.newton import install_solver, solve_problem
from asperity.convex.problem import grow_contacts, grow_factor, grow_rows, new_problem
from asperity.plant import layouts
from asperity.plant.evaluate import evaluate, evaluate_smooth
from asperity.plant.plant import Plant
from asperity.plant.state import State

__all__ = [
    "ACCURACY",
    "COUPLING_FULL",
    "END_VELOCITY",
    "FACTORS_VALID",
    "GEOM_SAMPLE",
    "GRAPH_EVALUATION",
    "GRAPH_STATE",
    "HAS_ERROR",
    "HAS_GUESS",
    "HISTORY",
    "LARGEST_STEP",
    "LAST_STEP",
    "NEXT_STEP",
    "NON_FINITE",
    "NOT_CONVERGED",
    "OK",
    "PREVIOUS_VELOCITY",
    "RECORDS",
    "REJECTIONS",
    "SMALLEST_STEP",
    "STEPS",
    "VELOCITY_WEIGHT",
    "WORLD",
    "World",
]

# Codes of methods.
OK = layouts.EVALUATED
CONTACTS_FULL = layouts.CONTACTS_FULL
ROWS_FULL = layouts.ROWS_FULL
TREES = layouts.TREES
FAILED = layouts.FAILED
COUPLING_FULL = 5
NOT_CONVERGED = 6
NON_FINITE = 7

# Indices into `ints`.
HAS_GUESS = 0
HAS_ERROR = 1
FACTORS_VALID = 2
STEPS = 3
REJECTIONS = 4
RECORDS = 5
GRAPH_STATE = 6
GRAPH_EVALUATION = 7
HISTORY = 9  # 1 if `following` holds the state before the current one
GEOM_SAMPLE = 8  # the last state in which a method has looked for contacts, or 0

# What `ints[HAS_GUESS]` says of `guess`, besides 0 for nothing.
END_VELOCITY = 1
PREVIOUS_VELOCITY = 2

# Indices into `reals`.
ACCURACY = 0
NEXT_STEP = 1
LARGEST_STEP = 2
SMALLEST_STEP = 3
VELOCITY_WEIGHT = 4
LAST_STEP = 5

WORLD = Layout(
    "world",
    plant="i8",
    problem="i8",
    evaluate="i8",  # compiled entry points
    evaluate_smooth="i8",
    build_graph="i8",
    solve_problem="i8",
    # A method whose result is not a state but the solution of a step's convex problem.
    solve_step="i8",
    base_method="i8",  # the method that step doubling repeats
    current="i8",  # states
    following="i8",
    half="i8",
    full="i8",
    guess="f8[:]",
    error="f8[:]",
    scratch="f8[:]",
    geom_position="f8[:,:]",
    geom_rotation="f8[:,:]",
    theta="f8[:]",  # θ, θ_vq of the θ-method; 1 to scale norms by diag(A), 0 by diag(M)
    reals="f8[:]",
    ints="i8[:]",
    record_time="f8[:]",
    record_qpos="f8[:,:]",
    record_qvel="f8[:,:]",
    record_act="f8[:,:]",
)


class World:
    """Plant, problem and states of one simulation.

    Parameters
    ----------
    plant : Plant
    data, scratch : mujoco.MjData
        Where the current state, and the intermediate states of a step, are evaluated.
    """

    def __init__(self, plant: Plant, data: mujoco.MjData, scratch: mujoco.MjData) -> None:
        model = plant.model
        self.plant = plant
        self.current: State = plant.new_state(data)
        self.following: State = plant.new_state(scratch, contacts=1)
        self.half: State = plant.new_state(scratch)
        self.full: State = plant.new_state(scratch)
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
        install_solver(self.problem)
        records = 256
        self.table = Table(
            WORLD,
            plant=plant.table.address,
            problem=self.problem.address,
            evaluate=evaluate.address,
            evaluate_smooth=evaluate_smooth.address,
            build_graph=build_graph.address,
            solve_problem=solve_problem.address,
            solve_step=0,
            base_method=0,
            current=self.current.table.address,
            following=self.following.table.address,
            half=self.half.table.address,
            full=self.full.table.address,
            guess=np.zeros(model.nv),
            error=np.zeros(model.nv),
            scratch=np.zeros(model.nv),
            geom_position=np.zeros((model.ngeom, 3)),
            geom_rotation=np.zeros((model.ngeom, 9)),
            theta=np.zeros(3),
            reals=np.zeros(8),
            ints=np.zeros(16, np.int64),
            record_time=np.zeros(records),
            record_qpos=np.zeros((records, model.nq)),
            record_qvel=np.zeros((records, model.nv)),
            record_act=np.zeros((records, model.na)),
        )

    def grow(self, code: int) -> bool:
        """Enlarge what a method found too small; False if ``code`` is about something else."""
        states = (self.current, self.half, self.full)
        if code == CONTACTS_FULL:
            self.contact_capacity *= 2
            for state in states:
                state.grow_contacts(self.contact_capacity)
            grow_contacts(self.problem, self.contact_capacity)
        elif code == ROWS_FULL:
            self.row_capacity *= 2
            for state in states:
                state.grow_rows(self.row_capacity)
            grow_rows(self.problem, self.row_capacity)
        elif code == COUPLING_FULL:
            grow_factor(self.problem, 2 * int(self.problem.counts[2]))
        else:
            return False
        self.table.ints[FACTORS_VALID] = 0
        self.table.ints[GRAPH_STATE] = 0
        return True
