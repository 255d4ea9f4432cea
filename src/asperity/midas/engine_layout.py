"""The engine's table: a table of tables, one for each thing that its kernels share.

A function takes the engine only if it reads several of them, and else the one that it reads.
Members of a team have engines of their own that differ in nothing but the space to work in.
"""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.midas.energy.energy_layout import FRICTION, HESSIAN, SCHEDULE
from asperity.midas.entry_points import ENTRY_POINTS
from asperity.midas.factor.factor_layout import FACTOR
from asperity.midas.geometry.box_trees import KEPT_LEAVES, KEPT_NODES, LEAF, STACK
from asperity.midas.lists.list_layout import (
    BOX_TREES,
    BOXES,
    CANDIDATES,
    RELATIVE,
    RUNS,
    SEARCH,
)
from asperity.midas.model.model_layout import (
    COUPLINGS,
    GAPS,
    JOINTS,
    LINKS,
    MOTORS,
    PAIRS,
    SHAPES,
    TIES,
    TURNS,
)
from asperity.midas.newton.newton_layout import NEWTON
from asperity.midas.pose.pose_layout import FORCES, POSES, VERTICES
from asperity.midas.time.time_layout import TIME

__all__ = [
    "BALL",
    "CANDIDATES_FULL",
    "CUT",
    "CUT_SHORT",
    "DAMPER",
    "DRAFT",
    "FACTOR_FULL",
    "FREE",
    "HINGE",
    "LIMIT",
    "LINKS_FULL",
    "MIDAS",
    "POINT",
    "PREDICTED",
    "SLIDE",
    "SMALLEST_ACTIVATION",
    "SPRING",
    "STARTED",
    "STATE_NEEDED",
    "STATISTICS",
    "WHOLE",
    "WORK",
]

# Kinds of links, by the joint to their parent.
FREE = 0
BALL = 1
HINGE = 2
SLIDE = 3
# A vertex of a deformable body, which moves along three axes and does not turn.
POINT = 4

# Kinds of terms of ball and free joints.
SPRING = 0
DAMPER = 1
LIMIT = 2

# Why candidates are listed, and along which paths (`candidate_lists.rebuild`).
STARTED = 0
CUT = 1
PREDICTED = 2

# Solutions: to the end, or for their normal forces only, and such a one that was cut short.
WHOLE = 0
DRAFT = 1
CUT_SHORT = 2

SMALLEST_ACTIVATION = 1e-5
"""No activation distance is chosen below this [m]."""

# Codes of methods, besides those of `asperity.integrators.world`: what must grow,
CANDIDATES_FULL = 32
FACTOR_FULL = 33
LINKS_FULL = 34
# and that a copy of the state is needed before the step is divided.
STATE_NEEDED = 36

STATISTICS = (
    "rebuilds",
    "factorizations",
    "line_searches",
    "iterations",
    "solves",
    "fallbacks",  # steps that took friction by other normal forces than asked
    "frictionless",  # steps that took none
    "yielding",  # steps in which an equality constraint pulled as hard as it may
)
"""Counters of the engine."""

ENTRIES = Layout("entry points of midas", **dict.fromkeys(ENTRY_POINTS, "i8"))
"""Addresses of compiled entry points."""

COUNTS = Layout(
    "counts of midas",
    clearance="f8",  # smallest distance of surfaces at the end of any step so far [m]
    **dict.fromkeys(STATISTICS, "i8"),
)
"""What the engine counts and measures."""

OPTIONS = Layout(
    "options of midas",
    activation="f8",  # the largest d̂ of a pair [m]
    barrier_stiffness="f8",  # κ [Pa]
    joint_stiction="f8",  # of dry friction in joints [m/s or rad/s]
    tolerance="f8",  # largest step of a converged iteration, per time step [m/s]
    max_iterations="i8",
    max_lags="i8",  # solutions of a step, each with friction's normal forces from the one before
    second_order="i8",  # 1 for BDF2
    linear="i8",  # 1 if Q is a linear function of the variables
)
"""Options."""

PARTS = Layout(
    "parts",
    team="i8",  # address of the table of the threads, or 0
    task="i8",  # entry point of what they do
    members="i8[:]",  # addresses of the members' engines, which have `WORK` of their own
    searchers="i8[:]",  # and of those with candidates of their own, too
    value="f8[part_room]",  # what is found part by part, to be put together in their order
)
"""Work that is done part by part (`asperity.midas.parts`)."""

WORK = Layout(
    "work",
    # Of two links seen from one of them: matrices, where boxes are, paths of a stencil, and the
    # direction that told the last one apart.
    relative_work="f8[16, 3]",
    relative_move="f8[4, 3]",
    relative_normal="f8[3]",
    # The axes of both, how points of the moving one are seen along them, and where nodes of their
    # trees and primitives of their leaves are (`asperity.midas.lists.link_pair_nodes`).
    seen_axis="f8[6, 3]",
    seen_start="f8[6, 4]",
    seen_path="f8[6, 4]",
    moving_node=f"i8[{KEPT_NODES}]",
    moving_seen=f"f8[{KEPT_NODES}, 6, 2]",
    moving_margin=f"f8[{KEPT_NODES}]",
    still_node=f"i8[{KEPT_NODES}]",
    still_seen=f"f8[{KEPT_NODES}, 6, 2]",
    still_leaf=f"i8[{KEPT_LEAVES}]",
    still_item=f"f8[{KEPT_LEAVES}, {LEAF}, 6, 2]",
    moving_leaf=f"i8[{KEPT_LEAVES}]",
    moving_item=f"f8[{KEPT_LEAVES}, {LEAF}, 6, 2]",
    moving_corner=f"f8[{KEPT_LEAVES}, {LEAF}, 3, 2, 3]",
    # Space of searches: nodes that wait, primitives of leaves with their boxes, how far a link is
    # from its path's beginning, and a node's box.
    node_stack=f"i8[{STACK}, 2]",
    leaf_item=f"i8[2, {LEAF}]",
    leaf_box=f"f8[{LEAF} + 1, 2, 3]",
    deviation="f8[4, 3]",
    box_work="f8[2, 3]",
    block_work="f8[3, 12, 12]",
    angle_slope="f8[3, 3]",
    angle_work="f8[9, 9]",
    side_weight="f8[2, 4]",
    mollifier_slope="f8[2, 3]",
    slip="f8[3]",
    slips="f8[2, 5]",
    kind_sides="f8[2, 3, 4]",
    normal="f8[3]",
    upper="f8[6]",  # upper triangle of a symmetric matrix
    corner="f8[7, 3]",
    directions="f8[3, 3]",
    inertia_work="f8[16, 3]",
    moments_work="f8[3, 3]",
    round_work="f8[8, 4]",
    # Of a panel of the factor (`asperity.convex.particles`): columns of links, those that are side
    # by side in another one, and a part of a vector, or products of four columns.
    tree_column="i8[links]",
    run="i8[links, 3]",
    panel_part="f8[4 * (variables + 8)]",
)
"""Space to work in, of which every member of a team has its own."""

SOFT_PART = Layout(
    "soft part of midas",
    bodies="i8",  # address of the table of deformable bodies, 0 without
    energy="f8",  # of the state that was asked for last [J s²]
    time="f8",  # share of the way to the trial state
    share="f8",  # of the direction, by which friction's duals are moved
    friction="f8",  # sum of the forces that friction can bear [N]
    strain="f8",  # the largest of edges that equalities hold
    open="i8",  # 1 if the last solution has left one of them longer or shorter
    measured="i8",  # 1 if vertices and candidates are those of the iterate
    code="i8",  # what must grow, or 0
    pairs="i8",  # pairs of links with an entry in the factor
    pair_link="i8[soft_pair_room, 2]",
    plastic="f8[plastic_numbers]",  # what has yielded, as states have it
)
"""What the engine has to do with deformable bodies (`asperity.midas.soft`)."""

MIDAS = Layout(
    "midas",
    options=OPTIONS,
    entries=ENTRIES,
    parts=PARTS,
    counts=COUNTS,
    links=LINKS,
    joints=JOINTS,
    turns=TURNS,
    ties=TIES,
    couplings=COUPLINGS,
    gaps=GAPS,
    motors=MOTORS,
    shapes=SHAPES,
    pairs=PAIRS,
    poses=POSES,
    forces=FORCES,
    vertices=VERTICES,
    boxes=BOXES,
    relative=RELATIVE,
    box_trees=BOX_TREES,
    search=SEARCH,
    runs=RUNS,
    candidates=CANDIDATES,
    friction=FRICTION,
    schedule=SCHEDULE,
    hessian=HESSIAN,
    newton=NEWTON,
    factor=FACTOR,
    time=TIME,
    work=WORK,
    soft=SOFT_PART,
)
