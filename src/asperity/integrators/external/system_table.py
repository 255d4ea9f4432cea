"""The table of an external system, as compiled code sees it (`…external.feedback`)."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "CALL_SUCCEEDED",
    "EXPLICIT",
    "HELD",
    "IMPLICIT",
    "SYSTEM",
]

# How a system is treated (`treatment`).
IMPLICIT = 0
EXPLICIT = 1
HELD = 2  # the effort is a sampled controller's, and stays as it is

CALL_SUCCEEDED = 1
"""What a system's function returns; a Numba function that raises returns 0."""

SYSTEM = Layout(
    "external system",
    # ``call(system)`` fills `output` and `rate` from the five arrays after it.
    call="i8",
    time="f8",
    z="f8[:]",
    qpos="f8[:]",
    qvel="f8[:]",
    parameters="f8[:]",
    own="i8",  # address of a table of the system's own, or 0
    output="f8[:]",
    rate="f8[:]",
    treatment="i8",
    first_effort="i8",
    first_state="i8",
    coupled="i8[:]",  # per effort, whether its row spans the system's coupled efforts
    members="i8[:]",  # those efforts
    difference="f8",  # step of the differences, 0 for one by machine precision
    # the state (its address) and the evaluation of which there are outputs, or derivatives
    sampled_state="i8",
    sampled_evaluation="i8",
    linearised_state="i8",
    linearised_evaluation="i8",
    bad_output="i8",  # the first output, or rate, that was not finite, or −1
    bad_rate="i8",
    # at the state of which there are outputs
    output_now="f8[:]",
    rate_now="f8[:]",
    velocity="f8[:]",  # u_0
    jacobian="f8[:,:]",
    squared_length="f8[:]",  # of its rows
    # derivatives
    output_q="f8[:,:]",
    output_v="f8[:,:]",
    output_z="f8[:,:]",
    rate_q="f8[:,:]",
    rate_v="f8[:,:]",
    rate_z="f8[:,:]",
    # of the step that was prepared last
    state_drift="f8[:]",
    state_gain="f8[:,:]",  # W
    gains="f8[:,:]",  # −∂y/∂u
    efforts="f8[:]",  # y(u_0)
    limited="i8[:]",  # per coupled effort, 1 if it has a row of its own because of its limits
    row_weight="f8[:,:]",  # of the other coupled efforts: their share in every row,
    row_gain="f8[:]",
    row_bias="f8[:]",
)
