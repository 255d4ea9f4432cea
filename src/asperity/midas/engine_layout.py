"""The engine's table: everything that its kernels share.

*Links* are affine bodies: bodies of the model that move as one, and massless ones between the
joints of a body with several joints. A link's coordinates are Q = [p; Aᵀ], shape (4, 3): a point
with rest coordinates x̄, measured from the link's centre of mass, is at x = [1, x̄] Q. The last row
of every link array is the world, which does not move. Links are sorted by kinematic tree, parents
before children.

Links obey their joints exactly, by a change of variables along the tree:

    Q = T Q_parent + E Z,

with constant 4 × 4 matrices T (for a slide joint affine in the joint's position s) and E, and with
the link's own variables Z, shape (k, 3): Q of a free body, 3 vectors of a ball joint, 2 of a hinge;
a slide joint has the single variable s. ``variables`` lists all of them.
"""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.midas.entry_points import ENTRY_POINTS
from asperity.midas.geometry.box_trees import LEAF, STACK

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
    "PREDICTED",
    "SLIDE",
    "SPRING",
    "STARTED",
    "STATISTICS",
    "WHOLE",
]

# Kinds of links, by the joint to their parent.
FREE = 0
BALL = 1
HINGE = 2
SLIDE = 3

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

# Codes of methods, besides those of `asperity.integrators.world`: what must grow.
CANDIDATES_FULL = 32
FACTOR_FULL = 33
LINKS_FULL = 34

STATISTICS = (
    "rebuilds",
    "factorizations",
    "line_searches",
    "iterations",
    "solves",
    "fallbacks",  # steps that took friction by other normal forces than asked
    "frictionless",  # steps that took none
)
"""Counters of the engine."""

MIDAS = Layout(
    "midas",
    # options
    activation="f8",  # the largest d̂ of a pair [m]
    barrier_stiffness="f8",  # κ [Pa]
    joint_stiction="f8",  # of dry friction in joints [m/s or rad/s]
    tolerance="f8",  # largest step of a converged iteration, per time step [m/s]
    max_iterations="i8",
    max_lags="i8",  # solutions of a step, each with friction's normal forces from the one before
    second_order="i8",  # 1 for BDF2
    linear="i8",  # 1 if Q is a linear function of the variables
    # the step at hand
    step="f8",  # step of the scheme that forces act over, h or 2h/3 [s]
    whole_step="f8",  # h, of any scheme [s]
    past_levels="i8",  # how many states before the present one the step looks back at
    last_step="f8",  # [s], of BDF2's history, or the usual one if there is none
    rebounded="i8",  # 1 if the last step ended with velocities of restitution
    has_history="i8",  # 1 if the state before the present one is known
    smooth_steps="i8",  # how many steps in a row were of second order
    was_free="i8",  # 1 if nothing touched at the end of the last
    past_weight="f8[2]",  # what the two states before count for in a step
    wait="i8",  # steps until BDF2 is tried again
    patience="i8",  # how many that will be after the next impact
    clearance="f8",  # smallest distance of surfaces at the end of any step so far [m]
    longest_move="f8",  # length of paths that vertices are given boxes for [m]
    least_slack="f8",  # how much wider it is at least [m]
    list_number="i8",  # lists of candidates so far, which boxes of trees are stamped with
    widening="f8",  # how much wider than a path its box is, as a share of the path's length
    boxed_widening="f8",  # that of the boxes at hand
    inertia_damping="f8",  # what is added to inertia in the Hessian, as a multiple of it
    candidates="i8",  # stencils that may touch in this step
    friction_pairs="i8",
    slots="i8",  # pairs of moving links with a Hessian block
    couples="i8",  # the same, with those that get one from the links they carry
    iterations_left="i8",
    anchored="i8",  # candidates that have an anchor
    listed="i8",  # 1 if the candidates hold as long as vertices stay in their boxes
    only_slopes="i8",  # 1 while what is assembled is the gradient alone, and the factor stays
    may_be_rough="i8",  # 1 in a step of BDF2, which is given up when it meets with an impact
    has_prediction="i8",  # 1 if the trial state is one
    on_arcs="i8",  # 1 if the trial state is on arcs, off the straight way (`arcs`)
    nearly_rigid="i8",  # 1 if strains are those of forces, not of the way that links were turned
    taken_share="f8",  # of the direction, by the line search
    draft="i8",  # whether a solution is asked for its normal forces only: `WHOLE` ...
    **dict.fromkeys(STATISTICS, "i8"),
    **dict.fromkeys(ENTRY_POINTS, "i8"),
    # Several threads (`parts`): address of the team's table, or 0; what its members do; words of
    # this table that members share, and those that work on lists of candidates of their own share.
    team="i8",
    part_task="i8",
    shared_words="i8",
    search_words="i8",
    first_meeting="i8",  # first part of a round of the schedule
    at_trial="i8",  # 1 while energies are those of the trial state, not of the iterate
    friction_now="i8",  # 1 while friction is collected with links at the iterate
    turn_share="f8",  # of the direction, by which friction's duals are moved
    curved="i8",  # 1 while the Hessian has the terms that may make it indefinite
    known_time="f8",  # of the trial path, until which it is free as far as is known
    member_table="i8[:]",
    search_table="i8[:]",
    part_value="f8[part_room]",  # what is found part by part, to be put together in their order
    # Links, n of them; in arrays of shape (n + 1, ...) the last row is the world.
    link_parent="i8[:]",  # the world is n
    link_kind="i8[:]",
    link_tree="i8[:]",
    link_variable="i8[:]",  # first variable, shape (n + 1,)
    transfer="f8[:,:,:]",  # T, shape (n, 4, 4)
    slide_direction="f8[:,:]",  # what s multiplies in T's first row, shape (n, 3)
    link_joint="i8[:]",  # coordinate of a hinge or slide, or −1
    embedding="f8[:,:,:]",  # E, shape (n, 4, 4)
    # [1, x̄] of what the joint holds and then [0, x̄] of Z, shape (n, 4, 4)
    own_row="f8[:,:,:]",
    mass="f8[:,:,:]",  # ∫ρ[1, x̄]ᵀ[1, x̄]dV, shape (n, 4, 4)
    # Axis of least inertia, in rest coordinates; its square is 0 if another one has as little, and
    # 1 if it has none; shape (n, 3).
    slender_axis="f8[:,:]",
    slender_side="f8[:,:,:]",  # the other two, shape (number of links, 2, 3)
    link_pivot="i8[:]",  # 1 on a ball joint, 2 on a hinge that is fixed in the world, 0 elsewhere
    rigidity="f8[:]",  # κV of the orthogonality energy [J]
    radius="f8[:]",  # of the link about its centre of mass [m]
    gravity="f8[:,:]",  # acceleration [m/s²], shape (n, 3)
    link_qpos="i8[:]",  # address in qpos of free and ball joints, or −1
    link_dof="i8[:]",  # address in qvel of free and ball joints, or −1
    link_centre="f8[:,:]",  # centre of mass in the body frame [m]
    link_turn="f8[:,:,:]",  # axes in the parent's, at the reference pose
    # Trees, m of them: variables tree_variable[t] to tree_variable[t + 1].
    tree_variable="i8[:]",
    # Variables that move a link, its ancestors' first: chain_start[l] to chain_start[l + 1].
    chain_start="i8[:]",
    chain_variable="i8[:]",
    # Joints that others' coordinates depend on, and links whose Jacobians that takes: 1 for those.
    joint_crossed="i8[:]",
    link_crossed="i8[:]",
    cross_row="i8[2 * longest_chain]",
    cross_slope="f8[2, 2 * longest_chain]",
    jacobian="f8[:,:,:]",  # ∂Q/∂z, one (4, 3) for every entry of chain_variable
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
    arc_work="f8[4, 3, 3]",
    wrench="f8[links, 6]",  # applied force at the centre of mass and torque
    force="f8[links, 4, 3]",  # what it is on Q
    drag="f8[:,:,:]",  # −∂F/∂Q̇ of a fluid [kg/s], shape (n, 12, 12), or (0, 12, 12) without
    drag_rate="f8[:,:,:]",  # Q̇ that its forces are of
    link_gradient="f8[links, 4, 3]",
    gradient="f8[variables]",
    direction="f8[variables]",
    # Coordinates, j of them, relative to the reference pose: those of hinges and slides, and then
    # those of fixed tendons, which are sums of them, and linearized ones. `joint_link`,
    # `joint_qpos`, `joint_frame` and arrays over chains have entries for joints only.
    joint_link="i8[:]",
    joint_dof="i8[:]",
    joint_qpos="i8[:]",
    joint_reference="f8[:]",  # qpos of the reference pose
    joint_frame="f8[:,:,:]",  # u on the child, n and b on the parent, shape (j, 3, 3)
    joint_stiffness="f8[:]",
    joint_spring="f8[:,:]",  # coordinates between which the spring is slack, shape (j, 2)
    joint_damping="f8[:]",
    joint_armature="f8[:]",
    joint_friction="f8[:]",
    joint_limit="f8[:,:]",  # lower and upper, infinite where there is none, shape (j, 2)
    joint_activation="f8[:]",  # distance from a limit at which it begins to push
    joint_barrier="f8[:]",  # force of that barrier [N or N m], 0 without limits
    joint_limit_factor="f8[coordinates, 2] = inf",  # of it, in the last step, of both limits
    # gap over width where a limit's barrier is linearized; 0: where it is
    joint_anchor="f8[coordinates, 2]",
    joint_dual="f8[coordinates]",  # of dry friction, as friction_dual, in [−1, 1]
    joint_applied="f8[coordinates]",  # applied force [N or N m]
    joint="f8[coordinates]",
    joint_rate="f8[coordinates]",
    joint_before="f8[coordinates]",
    joint_rate_before="f8[coordinates]",
    joint_older="f8[coordinates]",
    joint_rate_older="f8[coordinates]",
    joint_start="f8[coordinates]",  # during a step, like q_slip
    joint_target="f8[coordinates]",
    joint_now="f8[coordinates]",
    joint_trial="f8[coordinates]",
    joint_gradient="f8[joints, longest_chain]",  # ∂θ/∂z over the chain of the joint's link
    joint_slope="f8[coordinates]",  # ψ′ and ψ″, motors included
    joint_stiffening="f8[coordinates]",
    # Joints that a coordinate is a weighted sum of: member_start[i] to member_start[i + 1].
    member_start="i8[:]",
    member_joint="i8[:]",
    member_weight="f8[:]",
    crossing_link="i8[:,:]",  # pairs of links that coordinates and couplings couple
    # Coordinates that are linear over a step (`linearized`), r of them, the last ones of all:
    # value + slope·(z − origin), the latter two from linear_start[i] to linear_start[i + 1].
    linear_start="i8[:]",
    linear_variable="i8[:]",
    linear_slope="f8[:]",
    linear_origin="f8[:]",
    linear_value="f8[:]",
    # Ball and free joints (`turn_terms`): energies of the angle from A_parent W, and of a point.
    turn_link="i8[:]",
    turn_kind="i8[:]",
    turn_frame="f8[:,:,:]",  # W, shape (r, 3, 3)
    turn_scale="f8[:]",  # stiffness, damping or a barrier's slope by u [N m/rad, N m s/rad, J]
    turn_bound="f8[:]",  # u of a limit
    turn_factor="f8[turn_terms] = inf",  # of its force, in the last step
    turn_width="f8[:]",  # distance from it at which its barrier begins
    turn_block="i8[:]",  # as tie_block
    turn_rows="f8[:,:]",
    hold_link="i8[:]",
    hold_kind="i8[:]",
    hold_side="f8[:,:]",  # [1, x̄] of the point
    hold_target="f8[:,:]",  # where it belongs [m]
    hold_scale="f8[:]",  # [N/m or N s/m]
    # Equality constraints: points held together and joints coupled (`equality_terms`).
    tie_link="i8[:,:]",  # the two links, shape (t, 2)
    tie_side="f8[:,:,:]",  # [1, x̄] of the two points, shape (t, 2, 4)
    tie_block="i8[:]",  # number of the two links' pair, or −1 if one is the world
    tie_inertia="f8[:]",  # what it feels of its links [kg]
    tie_recovery="f8[:]",  # time constant that a gap closes with [s]
    tie_active="i8[:]",
    tie_penalty="f8[:]",  # ρ [N/m]
    tie_rest="f8[:,:]",  # gap that the step leaves [m], shape (t, 3)
    tie_force="f8[:,:]",  # multipliers λ, minus the force on the first link [N]
    tie_force_start="f8[:,:]",
    coupling_joint="i8[:,:]",  # the second may be −1, shape (c, 2)
    coupling_polynomial="f8[:,:]",  # shape (c, 5)
    coupling_inertia="f8[:]",
    coupling_recovery="f8[:]",
    coupling_active="i8[:]",
    coupling_penalty="f8[:]",
    coupling_rest="f8[:]",
    coupling_force="f8[:]",
    coupling_force_start="f8[:]",
    # Motors: force clamp(feed + position θ + velocity θ̇) on one joint.
    motor_joint="i8[:]",
    motor_feed="f8[:]",
    motor_position="f8[:]",
    motor_velocity="f8[:]",
    motor_limit="f8[:,:]",
    # Those with an activation a that follows a control have feed = bias + gain a (`activations`).
    motor_dynamics="i8[:]",
    motor_activation="i8[:]",  # its place in act, or −1
    motor_states="i8[:]",  # how many it has there
    motor_time="f8[:]",  # τ of a filter [s]
    motor_activation_limit="f8[:,:]",
    motor_control="f8[:]",
    motor_gain="f8[:]",
    motor_bias="f8[:]",
    # Activations whose rates MuJoCo says (`evaluated_motors`), shape (na,), with what is in feed.
    state_start="f8[:]",  # when it was asked
    state_rate="f8[:]",  # ȧ
    state_slope="f8[:]",  # ∂ȧ/∂a [1/s]
    state_limit="f8[:,:]",
    motor_state_gain="f8[:,:]",  # shape (number of motors, largest of motor_states)
    motor_constant="f8[:]",  # during a step, clamp(constant − stiffness θ)
    motor_stiffness="f8[:]",
    motor_force="f8[:]",  # at the end of the last step [N or N m]
    # Surfaces; shape s has vertices shape_vertex[s] to shape_vertex[s + 1], and so on.
    vertex_rest="f8[:,:]",  # [1, x̄]
    vertex_link="i8[:]",
    vertex_area="f8[:]",
    vertex_radius="f8[:]",  # of its shape, if that is round [m]
    shape_radius="f8[:]",
    moving_vertices="i8",  # those of moving links, which come first
    edge="i8[:,:]",
    edge_area="f8[:]",
    edge_square="f8[:]",  # squared rest length [m²]
    face="i8[:,:]",
    shape_vertex="i8[:]",
    shape_edge="i8[:]",
    shape_face="i8[:]",
    # Vertices that round shapes are made of against half-spaces: two rims' or an ellipsoid's, −1
    # where there are none, shape (., 2, 4); and the area of contact of either [m²].
    shape_anchor="i8[:,:,:]",
    shape_area="f8[:]",
    plane="f8[:,:]",  # half-spaces: outward normal and offset
    # Half-spaces below faces that round shapes may be above (`flat_faces`): three vertices of those
    # that move, −1 of others, shape (m, 3); the vertices of its border, plane_border[i] to
    # plane_border[i + 1]; pairs that have any; of pairs the first face and where they end, the
    # half-space that they meet as, and what they were before.
    plane_corner="i8[:,:]",
    plane_border="i8[:]",
    border_vertex="i8[:,:]",
    flat_pairs="i8",
    pair_faces="i8[:,:]",
    pair_plane="i8[:]",
    pair_form="i8[:]",
    may_overlap="i8",  # 1 while it is asked what overlaps in a state that is given
    pair_shape="i8[:,:]",  # what may touch; a second of −1 − i is half-space i
    pair_activation="f8[:]",  # d̂ [m]
    pair_friction="f8[:]",
    pair_stiction="f8[:]",  # ε_v [m/s]
    pair_dissipation="f8[:]",  # of Hunt and Crossley [s/m]
    pair_block="i8[:]",  # number of its two links' pair, or −1 if one is the world
    block_link="i8[:,:]",  # pairs of links, the smaller first
    block_slot="i8[blocks] = -1",  # Hessian block in use, or −1
    # Positions of the vertices that candidates have, and how far from now to the trial state.
    vertex_now="f8[:,:]",
    vertex_trial="f8[:,:]",
    vertex_move="f8[vertices, 3]",
    listed_vertex="i8[moving]",  # the moving ones among them
    listed_vertices="i8",
    vertex_mark="i8[vertices]",  # number of the last list that has a vertex
    # Boxes that vertices stay in while the candidates hold (`vertex_boxes`), and how far they let
    # these move.
    vertex_low="f8[:,:]",
    vertex_high="f8[:,:]",
    vertex_reach="f8[vertices]",
    shape_box="f8[shapes, 2, 3]",
    shape_boxed="i8[shapes] = 1",  # 0 if its vertices need no boxes
    vertex_stamp="i8[vertices]",  # number of the list that they were made for
    vertex_start="f8[:,:]",
    vertex_path="f8[vertices, 3]",
    path_begin="f8[links + 1, 4, 3]",  # the links' coordinates between which their paths are
    path_end="f8[links + 1, 4, 3]",
    path_length="f8[links]",  # of the longest of a link, or more [m]
    link_share="f8[links + 1]",  # of a link's paths that boxes hold
    # Pairs of links of one tree, which are looked at from one of them (`relative_paths`). Trees
    # that one body carries, which does not move, are one tree here.
    link_root="i8[:]",
    tree_folds="i8[:]",  # 1 for trees of which two links may touch
    link_box="f8[:,:,:]",  # box of a link's vertices in rest coordinates, shape (n, 2, 3)
    link_stretch="f8[:]",  # least σ of its axes while pairs are looked at from it
    link_drift="f8[:]",  # bound of how far points are from where they were at `q_listed`
    q_listed="f8[:,:,:]",  # where the links were when all pairs were listed
    relative="i8",  # 1 if there are such pairs
    keeps_relative="i8",  # 1 while some of them keep their candidates
    relative_link="i8[:,:]",  # the base and the other one, −1 of different trees, shape (p, 2)
    relative_first="i8[:]",  # first pair of their shapes
    relative_next="i8[:]",  # the next one of a pair of shapes, or −1
    relative_state="i8[:]",  # whether it is such a pair now, and whether it may come near
    relative_found="i8[:]",  # stencils of the last list
    relative_kept="i8[:]",  # 1 if it keeps its candidates
    relative_start="f8[:,:,:]",  # G₀, shape (p, 4, 3)
    relative_path="f8[:,:,:]",  # ΔG
    relative_pivot="f8[:,:]",  # c, shape (p, 3)
    relative_width="f8[:,:]",  # a [m] and b, shape (p, 2)
    relative_radius="f8[:]",  # sum of the largest radii of their shapes [m]
    relative_reach="f8[:]",  # distance that counts as near where links are [m]
    relative_room="f8[:]",  # sum of drifts up to which they are apart, wherever they go [m]
    # Candidates that are kept while others are listed anew, and where those of a third are.
    kept_found="i8[thirds, 2]",
    kept_kind="i8[run_room]",
    kept_vertex="i8[run_room, 4]",
    kept_weight="f8[run_room]",
    kept_threshold="f8[run_room]",
    # Trees over the vertices, edges and faces of shape s (`box_trees`), numbers 3s to 3s + 2.
    tree_item="i8[:]",  # vertices, edges and faces in the order of the trees
    tree_first="i8[:]",  # first item of a tree
    tree_node="i8[:]",  # where node 0 of a tree would be
    tree_depth="i8[:]",
    tree_box="f8[:,:,:]",  # in rest coordinates, shape (nodes, 2, 3)
    tree_placed="f8[:,:,:]",  # where the links are and go
    tree_still="f8[:,:,:]",  # where they are, and least and largest moves, shape (nodes, 4, 3)
    tree_slack="f8[:]",  # how much wider than what they hold boxes are [m]
    tree_stamp="i8[:]",
    now_square="f8[run_room]",  # of the iterate
    # Runs of candidates (`candidate_runs`), run_begin[r] to run_begin[r + 1].
    runs="i8",
    run_begin="i8[run_room + 1]",
    run_link="i8[run_room, 2]",
    run_activation="f8[run_room]",  # d̂ of its pair [m]
    # bound of the least distance at the iterate, exact if it is within reach
    run_least="f8[run_room]",
    run_trial="f8[run_room]",  # at the trial state
    run_state="i8[run_room]",
    run_known="i8[run_room]",
    run_anchored="i8[run_room]",  # 1 if some of it may have an anchor
    # Contacts and friction by the parts of the schedule (`contact_schedule`).
    link_group="i8[:]",
    meeting="i8[:,:]",  # part of two groups
    run_part="i8[run_room]",
    run_schedule="i8[schedule_size + 1]",
    run_order="i8[run_room]",
    friction_schedule="i8[schedule_size + 1]",
    friction_order="i8[stencil_room]",
    friction_part="i8[stencil_room]",
    friction_bound="f8[run_room]",  # μλ of candidates [N]
    link_move="f8[links + 1]",  # bound of how far points move to the trial state [m]
    # Friction's stencils, frozen over a solve.
    friction_pair="i8[stencil_room]",
    friction_link="i8[stencil_room, 2]",
    friction_weight="f8[stencil_room, 2, 4]",  # Σ c_i [1, x̄_i] of both sides
    friction_frame="f8[stencil_room, 2, 3]",  # tangents
    friction_force="f8[stencil_room]",  # μ λ [N]
    friction_drift="f8[stencil_room, 2]",  # velocity of surfaces along the tangents [m/s]
    # ∂v/∂[1, x̄] of surfaces that run like belts, in rest coordinates: of shapes, then of
    # half-spaces, shape (s + m, 4, 3), or (0, 4, 3) if none does.
    surface_velocity="f8[:,:,:]",
    # Of restitution (`rebounds`): what friction bears besides [N], the gradient without contacts,
    # and what the change of the trial state is to be divided by for one of velocities [s].
    rebound_friction="f8[stencil_room]",
    rebound_gradient="f8[variables]",
    rebound_share="f8",
    friction_dual="f8[stencil_room, 2]",  # what the Hessian takes for f₁ u/|u|, in the unit disc
    # Hessian: blocks of links and of pairs of links, then the reduced one in envelope form.
    link_block="f8[links, 12, 12]",
    link_sums="f8[links, 6, 16]",  # those of contacts and friction, as `add_outer` sums them
    # Pairs with a block, the smaller link first: those in use, and then what links hand on to their
    # parents (`coupled_links`).
    slot_link="i8[slot_room, 2]",
    slot_sums="f8[slot_room, 6, 16]",
    slot_next="i8[slot_room]",  # another pair of the same larger link, or −1
    slot_first="i8[links]",  # first pair of which a link is the larger, or −1
    # Links whose variables a link's have an entry with, itself first, children before parents:
    # entry_start[l] to entry_start[l + 1].
    entry_start="i8[links + 1]",
    entry_link="i8[entry_room]",
    # Space of `tree_assembly`: where links are carried by their parents, how slides move them, a
    # link's rows in the coordinates of every other.
    carry="f8[links, 4, 4]",
    slide_motion="f8[links, 3]",
    link_rows="f8[links, 12, 12]",
    rows_used="i8[links]",  # 1 if there is anything in them
    tree_order="i8[trees]",
    tree_place="i8[trees]",
    tree_near="u1[trees, trees]",
    # Islands, by their rows and links: island_row[i] to island_row[i + 1].
    islands="i8",
    island_row="i8[trees + 1]",
    island_link="i8[trees + 1]",
    island_order="i8[links]",
    tree_island="i8[trees]",
    row_first="i8[variables]",
    row_start="i8[variables + 1]",
    row_used="i8[variables]",  # first column that is not zero in the factor at hand
    variable_row="i8[variables]",
    factor="f8[factor_room]",
    right="f8[variables]",
    # Of thirds of pairs of shapes: who has listed their candidates, and where these are listed.
    pair_found="i8[thirds, 3]",
    search_begin="i8[thirds + 1]",  # first third of a part of the search
    # Candidates: stencils that may come closer than the activation distance of their pair.
    candidate_kind="i8[list_room]",
    candidate_vertex="i8[list_room + 1, 4]",
    candidate_pair="i8[list_room]",
    candidate_weight="f8[list_room]",  # contact area [m²]
    candidate_threshold="f8[list_room]",  # of the mollifier
    candidate_square="f8[list_room]",  # as last measured
    candidate_coefficient="f8[list_room + 1, 6]",
    candidate_arm="f8[list_room + 1, 3]",
    candidate_anchor="f8[list_room]",  # ratio D/d̂ where its barrier is linearized; 0: where it is
    # Space to work in, of which every member has its own.
    # Of two links seen from one of them: matrices, axes of the other one with what turns along
    # them, where boxes are, paths of a stencil, and the direction that told the last one apart.
    relative_work="f8[16, 3]",
    relative_axes="f8[3, 9]",
    relative_gap="f8[3, 3]",
    relative_move="f8[4, 3]",
    relative_normal="f8[3]",
    # Of two links' axes: themselves, products with the axes of both, and the sum of components.
    pair_axes="f8[6, 10]",
    # Space of searches: nodes that wait, primitives of leaves with their boxes, how far a link is
    # from its path's beginning, and a node's box.
    node_stack=f"i8[{STACK}, 2]",
    leaf_item=f"i8[{LEAF}]",
    leaf_box=f"f8[{LEAF} + 1, 4, 3]",
    leaf_corner=f"f8[{LEAF}, 3, 2, 3]",
    deviation="f8[4, 3]",
    box_work="f8[4, 3]",
    block_work="f8[3, 12, 12]",
    angle_slope="f8[3, 3]",
    angle_work="f8[9, 9]",
    side_weight="f8[2, 4]",
    mollifier_slope="f8[2, 3]",
    slip="f8[3]",
    corner="f8[7, 3]",
    directions="f8[3, 3]",
    inertia_work="f8[16, 3]",
    moments_work="f8[3, 3]",
    round_work="f8[8, 4]",
)
