"""The constraint set: limits, equalities, dry friction and actuators, scalar, at one state.

Each constraint is one row with a Jacobian over at most two kinematic trees, in solver velocities
(see `asperity.contact.contact_set` for spatial trees):

    ċ = row(tree 1) · v(tree 1) + row(tree 2) · v(tree 2).

Kinds
-----
``EQUALITY``   c = 0; ``position`` is the present violation [m or rad].
``LIMIT``      0 ≤ c ≤ range; ``position`` is the present distance c to the lower limit [m or rad],
               ``upper`` that to the upper limit, `NO_LIMIT` if there is none. ``lower`` is the
               largest speed |ċ| [m/s or rad/s], infinite if there is none.
``FRICTION``   dry friction of a joint or tendon; ``upper`` is the largest force [N or Nm],
               ``lower`` the velocity [m/s or rad/s] that regularises it.
``ACTUATOR``   linear feedback ``f = clamp(force − proportional·(c⁺ − c) − derivative·(ċ⁺ − ċ))`` to
               [``lower``, ``upper``]; ``force`` is the value at the present state.
``PASSIVE``    the same of springs, muscles and fluids, whose present value the smooth forces have:
               ``force`` is 0, but of springs with play that have yet to be reached. Springs that
               the step resolves do not count.
"""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "ACTUATOR",
    "CONSTRAINT_SET",
    "EQUALITY",
    "FRICTION",
    "LIMIT",
    "NO_LIMIT",
    "PASSIVE",
]

EQUALITY = 0
LIMIT = 1
FRICTION = 2
ACTUATOR = 3
PASSIVE = 4

NO_LIMIT = 1e20
"""Distance [m or rad] to a limit that does not exist."""

CONSTRAINT_SET = Layout(
    "constraint set",
    count="i8",  # of rows
    entry_count="i8",  # of Jacobian entries
    kind="i8[rows]",
    tree="i8[rows, 2]",  # −1 where the second tree is missing
    # entries [start 0, start 1) belong to tree 1, [start 1, start 2) to tree 2
    start="i8[rows, 3]",
    dof="i8[entries]",  # one per Jacobian entry
    jacobian="f8[entries]",
    position="f8[rows]",
    # of equalities of edges that turn, 0 of others: length [m], and square of the rate [1/s²]
    turning="f8[rows, 2]",
    force="f8[rows]",
    proportional="f8[rows]",
    derivative="f8[rows]",
    lower="f8[rows]",
    upper="f8[rows]",
    # diagonal estimate of J M⁻¹ Jᵀ; of MuJoCo's rows no less than that of the model's first pose
    inverse_mass="f8[rows]",
    # MuJoCo's constraint row, or −1 − the index of an actuator's output, of a joint with limits, or
    # of the dof of dry friction
    source="i8[rows]",
    identity="i8[rows]",  # of a row of MuJoCo's: type · 2³² + id, increasing with the row
    impulse="f8[rows]",  # of the step in which the set was used [N s or Nm s]
)
