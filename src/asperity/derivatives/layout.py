"""The tables in which derivatives of a step are worked out: one for each stage, and one for all."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "ACTIVATION",
    "ALL",
    "ALL_BUT_CONTACTS",
    "ARGUMENTS",
    "CONTACT_PARAMETER",
    "CONTROL",
    "DELIVERED_BOUND",
    "DERIVATIVE",
    "DIRECTION",
    "ENDS",
    "FLOW",
    "FRICTION_ALONE",
    "INERTIAL_PARAMETER",
    "INPUTS",
    "LAWS",
    "MOTION",
    "PARAMETERS",
    "POSITION",
    "RIGID",
    "ROOT",
    "ROW_LAWS",
    "SETS",
    "SIMULATED_PARAMETER",
    "START",
    "SYMMETRIC",
    "UNKNOWN",
    "VELOCITY",
]

# What is displaced (`asperity.derivatives.balance.columns`).
POSITION = 0
VELOCITY = 1
ACTIVATION = 2
CONTROL = 3
DIRECTION = 4  # the state, along a row of ``directions``

# What is known of a column (`difference_columns`).
UNKNOWN = 0
ALL_BUT_CONTACTS = 1
ALL = 2

# How columns by parameters are found (`displaced_kind`).
SIMULATED_PARAMETER = 0
CONTACT_PARAMETER = 1
INERTIAL_PARAMETER = 2

# What is missing in the curvatures of a contact law to be all of −∂γ/∂v (`coupling`).
SYMMETRIC = 0  # nothing
DELIVERED_BOUND = 1  # the bound of friction depends on the velocity
FRICTION_ALONE = 2  # friction depends on the normal velocity, but not the other way round

# Of y, by which a contact knows the displacement of a joint (`contact_columns`).
ARGUMENTS = 18

START = Layout(
    "beginning of a step",
    qpos="f8[nq]",
    qvel="f8[nv]",
    act="f8[na]",
    plastic="f8[ny]",
    ctrl="f8[nu]",
    applied="f8[nv]",
)

INPUTS = Layout(
    "addresses of inputs in further data",
    other_ctrl="i8[further]",
    other_applied="i8[further]",
)

SETS = Layout(
    "contacts and rows of a state, to be found again",
    contacts="i8",
    # 1 if some of them are points of pressure fields, or between several vertices of flexes
    patches="i8",
    fields="i8",  # 1 if the former
    weights="i8",  # and if the latter
    taut="i8",  # 1 with ropes or cloth
    turning="i8",  # 1 with round contacts that turn
    contact_geom="i8[contact_room, 2]",
    contact_point="f8[contact_room, 3]",
    rows="i8",
    row_kind="i8[row_room]",
    row_source="i8[row_room]",
    reach="f8",  # how far a contact may move in a displaced state [m]
)

ROOT = Layout(
    "root of a momentum balance",
    solver="i8",  # address of the step's own solver
    no_solver="i8",  # and of what stands in for it
    coupling="i8",
    turning="i8[trees]",  # trees with gyroscopic forces of the middle of the step
    gyroscopic="f8[vector]",
    factors="f8[nv, nv]",
    pivots="i8[nv]",
    first="i8[nv]",  # where rows of the factors begin
    last="i8[nv]",  # and end
    before="f8[nv]",
    residual="f8",  # ‖D g‖/max(1, ‖D r‖) in the end
)

MOTION = Layout(
    "motion of contacts with geoms",
    collision="i8",  # address of MuJoCo's table of functions for two geoms
    geom_type="i8[:]",
    geom_kinds="i8",
    found="f8[100, 10]",  # what such a function returns: contacts, and numbers of each
    contact_frame="f8[contact_room, 9]",
    contact_distance="f8[contact_room]",
    geom_distance="f8[contact_room]",  # differs in the second half of a doubled step
    contact_origin="f8[contact_room, 3]",  # centre of geom 2
    # (point, normal, distance) by the motion of geom 2 against geom 1
    relative="f8[contact_room, 7, 6]",
    cdof="f8[nv, 6]",
    com="f8[bodies, 3]",
)

LAWS = Layout(
    "responses of contact laws",
    # Components of velocities and impulses are along (1, 2, n) and, in models with torsional or
    # rolling friction, about them, scaled as in `asperity.convex.ellipsoids`.
    blocks="f8[contact_room, components, components]",  # −∂γ/∂v of every contact
    by_distance="f8[contact_room, components]",  # derivatives of impulses
    by_mass="f8[contact_room, components]",
    by_start="f8[contact_room, components, components]",  # by components of the velocity first
    uses_mass="i8",
    uses_start="i8",
    side_impulse="f8[3, contact_room, components]",  # at the state itself, and on both sides of it
    side_piece="i8[3, contact_room]",
    end_velocity="f8[contact_room, components]",
    start_velocity="f8[contact_room, components]",
    now="f8[contact_room, components]",  # contact velocities in a displaced state
    inverse_mass="f8[contact_room]",
)

ROW_LAWS = Layout(
    "responses of rows",
    row_curvature="f8[row_room]",
    row_impulse="f8[row_room]",
    row_piece="i8[row_room]",
    row_change="f8[row_room]",
    row_done="i8[row_room]",  # sides of a difference that are on the same piece
    others="i8",  # rows that a displacement leads to another piece
)

RIGID = Layout(
    "rigid bodies in closed form",
    applies="i8",  # 1 if the model is of this kind
    particles="i8",  # 1 if those of flexes are, whatever else is in the model
    joint_first="i8[nv]",  # degrees of freedom of the same joint, and behind the last that it moves
    joint_last="i8[nv]",
    subtree_end="i8[nv]",
    motion_rate="f8[nv, 6]",  # spatial velocity behind every degree of freedom, in inverse dynamics
    start_motion="f8[nv, 6]",  # at the step's beginning
    end_motion="f8[nv, 6]",  # and at its end
    acceleration="f8[nv, 6]",
    inertia="f8[nv, 10]",  # of all that is behind a degree of freedom, as the following
    body_force="f8[nv, 6]",
    force_rate="f8[nv, 36]",  # B
    axis_momentum="f8[nv, 6]",  # I S
    axis_rate="f8[nv, 6]",  # Bᵀ S
    wrench="f8[nv, 6]",  # of contacts
    axis_wrench="f8[nv, 6]",  # S ×* f of these
    # how contacts' wrenches change with displacements, K, 6 × ARGUMENTS (`contact_columns`)
    contact_rate=f"f8[nv, {6 * ARGUMENTS}]",
    axis_contact=f"f8[nv, {ARGUMENTS}]",  # Kᵀ S, and what is felt as the own axis turns
    argument=f"f8[nv, {ARGUMENTS}]",  # y
)

FLOW = Layout(
    "flow at a step's end",
    flows="i8[yielding]",  # 1 of elements that do
    by_position="f8[yielding, 6, width]",  # of what they keep, by places of their particles
    folds_flow="i8[folds]",  # and of folds
    fold_by_position="f8[folds, 12]",
    stretch="f8[yielding, 6, slots]",  # of U_p at the beginning, by what a state keeps
    after="f8[ny]",  # what stays
)

ENDS = Layout(
    "balance of robots that turn far, of velocities at a step's end",
    wanted="i8",  # 1 of ends of steps, 0 of what is solved
    begin="i8",  # stages, compiled entry points
    differentiate="i8",
    acts="i8",  # 1 if it changes velocities in the step at hand
    marked="i8[trees]",  # as of `asperity.integrators.methods.turning_trees`
    solved="f8[nv]",  # velocities before it
    velocity="f8[nv]",  # and after it
    drift="f8[trees, 3]",  # velocities of the centres of mass of what floats
    gains="f8[trees, 7]",  # what trees should have (`tree_balance`)
    inertia="f8[trees, 16]",  # and their inertia at the end, as of `asperity.plant.tree_motion`
    # v⁺ = share · v + (0, numbers): velocities that are scaled, those of centres of mass left out,
    # and slopes of share and numbers by positions, velocities at the beginning, and v
    share="f8[trees]",
    scaled="f8[nv]",
    changes="f8[3, nv, 7]",
    parameters="i8",  # first column by parameters, or one that there is not
)

PARAMETERS = Layout(
    "columns by parameters",
    add_parameters="i8",  # compiled entry point of the stage
    # simulations with displaced parameters (`displaced_balances`)
    displaced="i8[:, 4]",  # addresses of world and inputs, of the larger and the smaller value
    displaced_sizes="f8[:]",
    displaced_codes="i8[:, 2]",
    displaced_sides="f8[:, 2, :]",  # as `sides`
    displaced_ends="f8[:, :]",  # what `ENDS` change by with parameters alone
    # and what is known without (`direct_parameters`)
    displaced_kind="i8[:]",
    displaced_plant="i8[:]",  # addresses of plants with the larger values
    geom_sliding="f8[:,:]",  # friction of geoms: of the model, and with every larger value
    geom_priority="i8[:]",
    inertial_start="i8[:]",  # where a parameter's bodies begin
    inertial_body="i8[:]",
    inertial_change="f8[:, 10]",  # ∂I/∂θ at the body's centre of mass, in its inertial axes
    mj_ximat="f8[:,:]",
)

DERIVATIVE = Layout(
    "derivative of a step",
    start=START,
    inputs=INPUTS,
    sets=SETS,
    root=ROOT,
    motion=MOTION,
    laws=LAWS,
    row_laws=ROW_LAWS,
    rigid=RIGID,
    flow=FLOW,
    ends=ENDS,
    parameters=PARAMETERS,
    # stages, compiled entry points
    find_root="i8",
    fill_columns="i8",
    assemble="i8",
    pull_back="i8",
    keep_plastic="i8",  # with what yields
    plastic_columns="i8",
    follow_one_side="i8",  # where pieces meet
    evaluate_smooth="i8",  # of a state
    has_stages="i8",  # 1 for the θ-method
    ahead="i8",  # 1 if columns are those ahead of kinks, 0 if all of them are on the pieces at hand
    # what the caller is told
    code="i8",  # of the last step of a trajectory
    one_sided="i8",  # number of displacements of which one side alone has the same contacts
    unmatched="i8",  # and of those with none
    # work vectors
    mean="f8[nv]",
    generalized="f8[nv]",
    displacement="f8[nv]",
    index="i8[nv]",
    behind="f8[nv, 36]",  # of contacts with the world behind a degree of freedom
    # at the solution
    velocity="f8[nv]",  # at the step's end, before `ENDS`
    system="f8[nv, nv]",  # H = ∂g/∂v, in generalized velocities
    jacobian="f8[components * contact_room + row_room, nv]",  # of contacts, then constraints
    kinks="i8",  # contacts and rows that are where pieces of their laws meet
    # residual, and activations and what stays of deformations at the end: at the state, and on both
    # sides of it; the last where positions end as they do
    sides="f8[3, nv + na + ny]",
    directions="f8[direction_room, 2 * nv + na + ny]",  # changes of states
    columns="f8[column_room, nv + na + ny]",  # their derivatives, one row for each displacement
    is_closed_form="i8",  # 1 if columns by positions and velocities are
    # the step's derivatives
    right="f8[nv, column_room]",
    share="f8",  # of the end velocity in the motion of positions
    rotations="i8[:]",  # first dofs of rotations that a quaternion describes
    turns="f8[turned, 18]",  # their J_r(travel) and exp(−travel) − 1
    result="f8[2 * nv + na + ny, column_room]",
    end="f8[nq]",  # positions
    # derivatives of a function by the end, and by what columns are by
    adjoint="f8[2 * nv + na + ny]",
    pulled="f8[column_room]",
)
