"""Where links and vertices are, and what pulls at links."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "FORCES",
    "POSES",
    "VERTICES",
]

POSES = Layout(
    "poses",
    # State at the end of the last step, and before it.
    z="f8[variables]",
    q="f8[links + 1, 4, 3]",
    v="f8[links + 1, 4, 3]",
    q_before="f8[links + 1, 4, 3]",
    v_before="f8[links + 1, 4, 3]",
    q_older="f8[links + 1, 4, 3]",  # before that
    v_older="f8[links + 1, 4, 3]",
    qpos="f8[nq] = nan",  # of the state, as published
    qvel="f8[nv] = nan",
    qvel_before="f8[nv]",
    shift="f8[nv]",  # mean generalized velocity of the last step
    shift_older="f8[nv]",
    # During a step: from where displacements count, where inertia leads, iterate and trial.
    q_slip="f8[links + 1, 4, 3]",
    q_target="f8[links + 1, 4, 3]",
    v_free="f8[links + 1, 4, 3]",  # rate at its end, and a step ago, if nothing had acted on links
    v_past="f8[links + 1, 4, 3]",
    turns="i8[links]",  # 1 of links whose rotation is predicted, with their angular momentum
    momentum="f8[links, 3]",  # but for what torques of the step add [N m s]
    slender_momentum="f8[links]",  # likewise, about the slender axis
    z_now="f8[variables]",
    q_now="f8[links + 1, 4, 3]",
    z_trial="f8[variables]",
    z_solution="f8[variables]",  # of the last converged solve
    q_trial="f8[links + 1, 4, 3]",
    q_straight="f8[links + 1, 4, 3]",  # of a trial state on arcs: the straight one
)
"""Coordinates of links at the end of the last steps, and in the step at hand."""

FORCES = Layout(
    "forces",
    wrench="f8[links, 6]",  # applied force at the centre of mass and torque
    force="f8[links, 4, 3]",  # what it is on Q
    drag="f8[:,:,:]",  # −∂F/∂Q̇ of a fluid [kg/s], shape (n, 12, 12), or (0, 12, 12) without
    drag_rate="f8[:,:,:]",  # Q̇ that its forces are of
)
"""Applied forces and drag."""

VERTICES = Layout(
    "vertices",
    # Positions of the vertices that candidates have, and how far from now to the trial state.
    now="f8[:,:]",
    trial="f8[:,:]",
    move="f8[vertices, 3]",
    listed="i8[moving]",  # the moving ones among them
    listed_count="i8",
    mark="i8[vertices]",  # number of the last list that has a vertex
)
"""Positions of vertices."""
