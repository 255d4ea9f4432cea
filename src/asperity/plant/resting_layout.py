"""Tables of trees at rest: what evaluations leave out, and what steppings know of it."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["RESTING", "RESTING_POSITIONS"]

RESTING = Layout(
    "trees at rest",
    at_rest="i8[trees]",  # 1: of an island that keeps its solution,
    group="i8[trees]",  # which goes by its first tree
    count="i8",  # of trees at rest
    kept="i8",  # contacts of theirs, which come first among those delivered
    positions="i8[:]",  # addresses of `RESTING_POSITIONS`
    outdated="i8",  # 1: there are contacts among them of trees that have woken
    room="i8",  # for contacts that are delivered
    starts="i8",  # 1: some are to rest from now on,
    starts_in="i8[trees]",  # by islands, which go by their first tree; -1: none
    wake_touched="i8",  # compiled entry points
    wake_changed="i8",
    fall_asleep="i8",
    keep_contacts="i8",
    remember="i8",
    # MuJoCo's lists of what is awake
    listed="i8",  # 1: they are those of `at_rest`
    body_awake="i4[:]",
    body_awake_ind="i4[:]",
    parent_awake_ind="i4[:]",
    dof_awake_ind="i4[:]",
    tree_awake="i4[:]",
    bodies_awake="i8",  # their lengths
    parents_awake="i8",
    dofs_awake="i8",
    # falling asleep
    may_rest="i8[trees]",  # 0: never
    velocity_tolerance="f8",  # below which a tree may be at rest [m/s]
    length="f8[nv]",  # by which velocities count
    qpos_start="i8[trees]",
    qpos_size="i8[trees]",
    quiet="i8[trees]",  # steps below the tolerance,
    first_quiet="f8[nv]",  # and the solver velocity after the first of them
    horizon="f8[trees]",  # for how long the last bound was good [s]
    until="f8[trees]",  # times up to which bounds are good [s], and the first of them
    due="f8",
    factor="f8[square]",
    inverse="f8[largest]",
    column="f8[largest]",
    # what a user may change between two calls, as it was at the end of the last one
    time="f8",
    qpos="f8[nq]",
    qvel="f8[nv]",
    applied="f8[nv]",
    body_applied="f8[bodies, 6]",
    poses="f8[:]",  # of mocap bodies
    active="u1[:]",  # equalities
    mocap_pos="f8[:,:]",  # views of the MjData
    mocap_quat="f8[:,:]",
    eq_active="u1[:]",
)
"""One for a world."""

RESTING_POSITIONS = Layout(
    "positions of what is awake",
    within_step="i8",  # 1: of a state from which no step begins
    known="i8",  # 1: the state's MjData, and the state, have all there is to know of what rests
    everything="i8",  # 1: nothing was left out in the last evaluation
    model="i8[words]",  # MuJoCo's structs
    data="i8[words_of_data]",
    flags="i8",  # word of the model in which flags are,
    sleep="i8",  # and the bit
    at_bodies="i8",  # where lengths of lists are in the data
    at_parents="i8",
    at_dofs="i8",
    at_trees="i8",
    at_rows="i8",
)
"""One for each state that is evaluated."""
