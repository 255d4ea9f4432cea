"""What methods and stepping loops share, as compiled code sees it: codes, indices, the table.

A *method* is a compiled function ``code = method(world, source, target, h)`` that advances the
state at address ``source`` by h [s] into ``target`` and fills ``error``, the difference of two
solutions, if it has an estimate. It may use the ``guess`` of the end velocity if
``ints[HAS_GUESS]`` is set. A *stepping* decides on h and on what is accepted. Codes below `REFUSED`
are good.
"""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.plant import layouts

__all__ = [
    "ACCURACY",
    "CONTACTS_FULL",
    "COUPLING_FULL",
    "END_VELOCITY",
    "FACTORS_VALID",
    "FAILED",
    "FORCES_AT_HAND",
    "GEOM_SAMPLE",
    "GRAPH_EVALUATION",
    "GRAPH_STATE",
    "HAS_ERROR",
    "HAS_GUESS",
    "HISTORY",
    "LARGEST_STEP",
    "LAST_STEP",
    "LIMITED",
    "NEXT_STEP",
    "NON_FINITE",
    "NOT_CONVERGED",
    "OK",
    "PREVIOUS_VELOCITY",
    "RECORDS",
    "REJECTIONS",
    "ROWS_FULL",
    "SMALLEST_STEP",
    "STEPS",
    "SUBSTEPS",
    "SYSTEM_FAILED",
    "TREES",
    "VELOCITY_TIME",
    "VELOCITY_WEIGHT",
    "WORLD",
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
LIMITED = 9  # efforts were limited: solve the step again
SYSTEM_FAILED = 8  # an external system raised; who called it knows what

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
SUBSTEPS = 11  # parts of steps that did not converge at once
FORCES_AT_HAND = 10  # 1 if `solve_step` leaves impulses, not only a velocity
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
VELOCITY_TIME = 6  # [s]

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
    engine="i8",  # table of an integrator that keeps more state than the world does, or 0
    current="i8",  # states
    following="i8",
    classical="i8",  # the table of a classical integrator, or 0
    work="i8",  # a state of the classical integrators' own, or 0
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
)
