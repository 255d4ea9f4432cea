"""What methods and steppings share, as compiled code sees it: codes, the world, a step's result.

A *method* is a compiled function ``code = method(world, source, target, h)`` that advances the
state ``source`` by h [s] into ``target`` and says in ``world.result`` what is to know about the
step. It may use the ``guess`` of the end velocity if ``guess_kind`` is set. A *stepping* decides on
h and on what is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from asperity.compiled import EntryPoint, Layout
from asperity.contact.delivered import DELIVERED
from asperity.convex.problem import PROBLEM
from asperity.plant import plant_layouts
from asperity.plant.detection.sweep_pairs import SWEEP
from asperity.plant.plant_layouts import PLANT, STATE

__all__ = [
    "ALL_TREES",
    "CONTACTS_FULL",
    "COUPLING_FULL",
    "END_VELOCITY",
    "FAILED",
    "FREE_BODIES",
    "LIMITED",
    "METHOD_SIGNATURE",
    "NON_FINITE",
    "NOT_CONVERGED",
    "NO_TREES",
    "OK",
    "PREVIOUS_VELOCITY",
    "RESULT",
    "ROWS_FULL",
    "SHARE_SIGNATURE",
    "STEPPING_SIGNATURE",
    "SYSTEM_FAILED",
    "TOWARDS",
    "TREES",
    "WORLD",
    "compiled_method",
]

# Codes of methods.
OK = plant_layouts.EVALUATED
CONTACTS_FULL = plant_layouts.CONTACTS_FULL
ROWS_FULL = plant_layouts.ROWS_FULL
TREES = plant_layouts.TREES
FAILED = plant_layouts.FAILED
COUPLING_FULL = 5
NOT_CONVERGED = 6
NON_FINITE = 7
LIMITED = 9  # efforts were limited: solve the step again
SYSTEM_FAILED = 8  # an external system raised; who called it knows what

# What `center_gyroscopic` says.
NO_TREES = 0
FREE_BODIES = 1
ALL_TREES = 2

# What `guess_kind` says of `guess`, besides 0 for nothing.
END_VELOCITY = 1
PREVIOUS_VELOCITY = 2
TOWARDS = 3  # the end velocity, or further along `guess_direction`

RESULT = Layout(
    "step result",
    error_order="i8",  # of ``error`` in the step size; 0 if the step has no estimate
    error="f8[nv]",  # difference of two solutions' positions, in the tangent space
    velocity_share="f8[nv]",  # of the velocity weight: less of what does not move smoothly
    # Address of the last state in which the method has looked for contacts, with geoms where the
    # state's MjData has them; 0 if contacts that it may have missed are not to be looked for.
    sample="i8",
    # Where the last solve's impulses are (`asperity.integrators.results`): address of the state in
    # whose contact and constraint sets, or 0; the interval over which they act [s]; and the change
    # of generalized velocities in it, per time.
    solved="i8",
    interval="f8",
    acceleration="f8[nv]",
)
"""What a method leaves with the state at a step's end; ``world.full`` is the other solution."""

WORLD = Layout(
    "world",
    plant=PLANT,
    problem=PROBLEM,
    team="i8",  # address of the table of threads that share a step's work, or 0
    # of the work that they share: addresses of states, and the time step [s]
    shared_source="i8",
    shared_target="i8",
    shared_step="f8",
    evaluate="i8",  # compiled entry points
    build_graph="i8",
    solve_problem="i8",
    # A method whose result is not a state but the solution of a step's convex problem.
    solve_step="i8",
    base_method="i8",  # the method that others wrap: that step doubling repeats, for instance
    base_order="i8",  # its order of accuracy
    order="i8",  # and that of the method that wraps it
    memory="i8",  # address of the table of its own that it may have
    trapezoid="i8",  # and that of the trapezoid's, which may have step doubling's beside it
    center_gyroscopic="i8",  # of which trees gyroscopic forces are those in the middle of a step
    explicit_springs="i8",  # 1: springs of joints are explicit where a step resolves them
    has_centered_forces="i8",  # 1: there were such forces in the last step
    balances_steps="i8",  # 1: trees that turn far get the energy and momentum that they should have
    # size of the extrapolated step of which this one is a half, or the whole [s]; 0: of none. Then
    # springs are implicit in part, every degree of freedom's by its share, and drift of equalities
    # is not taken back at once.
    doubled_step="f8",
    steady_tolerance="f8",  # of conjugate gradients (`asperity.soft.vibrations`)
    spring_share="f8[nv]",
    current=STATE,
    following=STATE,
    half=STATE,
    full=STATE,
    guess="f8[nv]",
    guess_direction="f8[nv]",
    guess_kind="i8",
    # interval in which impulses of the contact set have acted that come with the guess [s], or 0
    guess_interval="f8",
    result=RESULT,
    scratch="f8[nv]",
    sweep=SWEEP,  # poses at a sample before, and memory (`asperity.plant.detection.sweep`)
    factors_valid="i8",
    # address and evaluation of the state whose graph is at hand, or 0
    graph_state="i8",
    graph_evaluation="i8",
    # stepping
    has_history="i8",  # 1 if `following` holds the state before the current one
    steps="i8",
    rejections="i8",
    substeps="i8",  # parts of steps that did not converge at once
    accuracy="f8",
    next_step="f8",  # [s]
    last_step="f8",
    largest_step="f8",
    smallest_step="f8",
    # An attempt from the current state that was refused: its size [s], or 0 if there is none, and
    # the generalized velocities that it has found, half way and at the end of the whole step.
    tried="f8",
    tried_half="f8[nv]",
    tried_end="f8[nv]",
    velocity_weight="f8",
    velocity_time="f8",  # [s]
    # impacts that are shorter than steps (`asperity.integrators.steppings.impacts`): compiled entry
    # points, or 0; the longest step that they have found [s]; and steps refused for it
    known_impacts="i8",
    beginning_impacts="i8",
    impact_step="f8",
    impact_rejections="i8",
    # of fixed steps (`asperity.integrators.steppings.rebounds`): the entry point, or 0, and how
    # many contacts have rebounded
    add_rebounds="i8",
    rebounds="i8",
    records="i8",  # number of recorded states, negative where none are wanted
    # what accepted steps have delivered, and the compiled entry point that keeps it, or 0
    delivered=DELIVERED,
    deliver="i8",
    # compiled entry points that do a part of the trees or contacts (`SHARE_SIGNATURE`)
    fill_smooth="i8",
    fill_elasticity="i8",  # or 0
    keep_tension="i8",  # or 0
    fill_velocities="i8",
    follow_spins="i8",
    move_trees="i8",
    write_results="i8",
    copy_results="i8",
    find_rebounds="i8",
    # external systems: their tables, entry points, and weights of their state in the error norm
    systems="i8[:]",
    prepare_systems="i8",
    limit_systems="i8",
    advance_systems="i8",
    system_weight="f8[:]",
    record_time="f8[:]",
    record_qpos="f8[:,:]",
    record_qvel="f8[:,:]",
    record_act="f8[:,:]",
    record_plastic="f8[:,:]",
    # of every attempted step what `asperity.integrators.steppings.attempts` has columns for, how
    # many are there, negative where none are wanted, and the address of a counter of iterations
    attempt="f8[:,:]",
    attempts="i8",
    attempt_counter="i8",
    resting="i8",  # address of `asperity.plant.resting_layout.RESTING`, or 0
)

ATTEMPT_COLUMNS = 7
"""Columns of ``attempt`` (`asperity.integrators.steppings.attempts`)."""

METHOD_SIGNATURE = types.int64(WORLD.type, STATE.type, STATE.type, types.float64)
"""``code = method(world, source, target, h)``, h [s]."""

SHARE_SIGNATURE = types.int64(WORLD.type, types.int64, types.int64, types.int64)
"""``code = share(world, first, last, 0)`` of what is done range by range.

See `asperity.compiled.team.over_ranges`. What it needs besides is in the world's ``shared_source``,
``shared_target`` and ``shared_step``.
"""

STEPPING_SIGNATURE = types.int64(WORLD.type, types.int64, types.float64, types.float64, types.int64)
"""``reason = stepping(world, method, step, end, budget)`` of steppings that compiled code calls.

The fixed step [s] means nothing to error control; ``end`` is a time [s], ``budget`` the most
attempts.
"""


def compiled_method(function: Callable[..., Any]) -> EntryPoint:
    """Decorate a method (see `METHOD_SIGNATURE`)."""
    return EntryPoint(function, METHOD_SIGNATURE)
