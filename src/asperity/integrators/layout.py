"""What methods and stepping loops share, as compiled code sees it: codes, indices, the table.

A *method* is a compiled function ``code = method(world, source, target, h)`` that advances the
state at address ``source`` by h [s] into ``target`` and fills ``error``, the difference of two
solutions, if it has an estimate. It may use the ``guess`` of the end velocity if
``guess_kind`` is set. A *stepping* decides on h and on what is accepted. Codes below `REFUSED`
are good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from asperity.compiled import EntryPoint, Layout
from asperity.contact.delivered import DELIVERED
from asperity.convex.problem import PROBLEM
from asperity.plant import layouts
from asperity.plant.layouts import PLANT, STATE

__all__ = [
    "CONTACTS_FULL",
    "COUPLING_FULL",
    "END_VELOCITY",
    "FAILED",
    "LIMITED",
    "METHOD_SIGNATURE",
    "NON_FINITE",
    "NOT_CONVERGED",
    "OK",
    "PREVIOUS_VELOCITY",
    "ROWS_FULL",
    "SYSTEM_FAILED",
    "TREES",
    "WORLD",
    "compiled_method",
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

# What `guess_kind` says of `guess`, besides 0 for nothing.
END_VELOCITY = 1
PREVIOUS_VELOCITY = 2

WORLD = Layout(
    "world",
    plant=PLANT,
    problem=PROBLEM,
    evaluate="i8",  # compiled entry points
    evaluate_smooth="i8",
    build_graph="i8",
    solve_problem="i8",
    # A method whose result is not a state but the solution of a step's convex problem.
    solve_step="i8",
    base_method="i8",  # the method that step doubling repeats
    engine="i8",  # table of an integrator that keeps more state than the world does, or 0
    current=STATE,
    following=STATE,
    classical="i8",  # the table of a classical integrator, or 0
    work=STATE,  # of the classical integrators' own
    half=STATE,
    full=STATE,
    guess="f8[:]",
    guess_kind="i8",
    error="f8[:]",
    scratch="f8[:]",
    geom_position="f8[:,:]",
    geom_rotation="f8[:,:]",
    theta="f8",  # θ, θ_vq of the θ-method
    theta_vq="f8",
    norm_by_system="f8",  # 1 to scale norms by diag(A), 0 by diag(M)
    has_error="i8",
    factors_valid="i8",
    # address and evaluation of the state whose graph is at hand, or 0
    graph_state="i8",
    graph_evaluation="i8",
    geom_sample="i8",  # address of the last state in which a method has looked for contacts, or 0
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
    velocity_weight="f8",
    velocity_time="f8",  # [s]
    records="i8",  # number of recorded states, negative where none are wanted
    # results (`asperity.integrators.results`): the state whose contact and constraint sets have
    # those of the last solve, or 0, the interval over which they acted [s], and what they did
    result_state="i8",
    result_step="f8",
    result_acceleration="f8[:]",
    deliver="i8",  # compiled entry point, or 0
    delivered=DELIVERED,
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

METHOD_SIGNATURE = types.int64(WORLD.type, STATE.type, STATE.type, types.float64)
"""``code = method(world, source, target, h)``, h [s]."""


def compiled_method(function: Callable[..., Any]) -> EntryPoint:
    """Decorate a method (see `METHOD_SIGNATURE`)."""
    return EntryPoint(function, METHOD_SIGNATURE)
