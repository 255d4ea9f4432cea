"""The table in which derivatives of a step are worked out."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Layout, Table

__all__ = [
    "ACTIVATION",
    "CONTACT_PARAMETER",
    "CONTROL",
    "DELIVERED_BOUND",
    "DERIVATIVE",
    "DIRECTION",
    "EVALUATED_COLUMNS",
    "FRICTION_ALONE",
    "FROZEN_COLUMNS",
    "INERTIAL_PARAMETER",
    "POSITION",
    "RIGID_COLUMNS",
    "SIMULATED_PARAMETER",
    "SYMMETRIC",
    "VELOCITY",
    "grow_columns",
    "grow_sets",
    "new_derivative",
]

# What is displaced (`asperity.derivatives.columns`).
POSITION = 0
VELOCITY = 1
ACTIVATION = 2
CONTROL = 3
DIRECTION = 4  # the state, along a row of ``directions``

# How columns by the state were found (`columns_kind`): displaced states were evaluated, contacts
# only moved, or everything is known in closed form.
EVALUATED_COLUMNS = 0
FROZEN_COLUMNS = 1
RIGID_COLUMNS = 2

# How columns by parameters are found (`displaced_kind`).
SIMULATED_PARAMETER = 0
CONTACT_PARAMETER = 1
INERTIAL_PARAMETER = 2

# What is missing in the curvatures of a contact law to be all of −∂γ/∂v (`coupling`).
SYMMETRIC = 0  # nothing
DELIVERED_BOUND = 1  # the bound of friction depends on the velocity
FRICTION_ALONE = 2  # friction depends on the normal velocity, but not the other way round

DERIVATIVE = Layout(
    "derivative of a step",
    coupling="i8",
    # the state at the step's beginning, and the velocity at its end
    qpos="f8[:]",
    qvel="f8[:]",
    act="f8[:]",
    ctrl="f8[:]",
    applied="f8[:]",
    velocity="f8[:]",
    # addresses of these inputs in further data
    other_ctrl="i8[:]",
    other_applied="i8[:]",
    turning="i8[:]",  # trees with gyroscopic forces of the middle of the step
    # contacts and rows there, to be found again in displaced states
    contacts="i8",
    patches="i8",  # 1 if some of them are points of pressure fields
    contact_geom="i8[:,:]",
    contact_point="f8[:,:]",
    rows="i8",
    row_kind="i8[:]",
    row_source="i8[:]",
    reach="f8",  # how far a contact may move in a displaced state [m]
    one_sided="i8",  # number of displacements of which one side alone has the same contacts
    unmatched="i8",  # and of those with none
    # work vectors, with the problem's length of vectors
    displacement="f8[:]",
    directions="f8[:,:]",  # changes of positions, velocities and activations
    gyroscopic="f8[:]",
    mean="f8[:]",
    generalized="f8[:]",
    sides="f8[:,:]",  # residual and activations at the end: at the state, and on both sides of it
    columns="f8[:,:]",  # their derivatives, one row for each displacement
    # at the solution
    system="f8[:,:]",  # H = ∂g/∂v, in generalized velocities
    jacobian="f8[:,:]",  # rows (1, 2, n) of every contact, then scalar constraints
    blocks="f8[:,:,:]",  # −∂γ/∂v of every contact
    row_curvature="f8[:]",
    row_impulse="f8[:]",
    row_piece="i8[:]",
    kinks="i8",  # contacts and rows that are where pieces of their laws meet
    # there and on both sides of a displacement (`pieces`); contacts and rows in the order of the
    # problem of the state itself
    contact_place="i8[:]",
    row_place="i8[:]",
    side_force="f8[:,:,:]",
    side_piece="i8[:,:]",
    side_impulse="f8[:,:]",
    side_row_piece="i8[:,:]",
    # how the root is sought
    solver="i8",  # address of the step's own solver
    no_solver="i8",  # and of what stands in for it
    residual="f8",  # ‖D g‖/max(1, ‖D r‖) in the end
    factors="f8[:,:]",
    pivots="i8[:]",
    index="i8[:]",
    right="f8[:,:]",
    before="f8[:]",
    # how contacts move with geoms and laws respond (`contact_motion`, `law_slopes`)
    frozen="i8",  # 1 where contacts need not be found again in displaced states
    code="i8",  # of the last step of a trajectory
    find_root="i8",  # compiled entry points: stages, and one of a state
    fill_columns="i8",  # with contacts that are found in every displaced state
    fill_frozen_columns="i8",
    assemble="i8",
    add_parameters="i8",
    follow_one_side="i8",  # where pieces meet
    ahead="i8",  # 1 if columns are then those ahead, 0 if all of them are on the pieces at hand
    evaluate_smooth="i8",
    collision="i8",  # address of MuJoCo's table of functions for two geoms
    geom_type="i8[:]",
    geom_kinds="i8",
    found="f8[:,:]",  # what such a function returns
    contact_frame="f8[:,:]",
    contact_distance="f8[:]",
    contact_origin="f8[:,:]",  # centre of geom 2
    motion="f8[:,:,:]",  # (point, normal, distance) by the motion of geom 2 against geom 1
    cdof="f8[:,:]",
    com="f8[:,:]",
    by_distance="f8[:,:]",  # derivatives of impulses
    by_mass="f8[:,:]",
    by_start="f8[:,:,:]",
    uses_mass="i8",
    uses_start="i8",
    impulse="f8[:,:]",
    end_velocity="f8[:,:]",
    start_velocity="f8[:,:]",
    inverse_mass="f8[:]",
    row_change="f8[:]",
    row_done="i8[:]",
    others="i8",  # rows that a displacement leads to another piece
    # rigid bodies without tendons, fluids and the like (`rigid_terms`, `contact_columns`)
    rigid="i8",  # 1 if the model is of this kind
    joint_first="i8[:]",  # degrees of freedom of the same joint, and behind the last that it moves
    joint_last="i8[:]",
    subtree_end="i8[:]",
    motion_rate="f8[:,:]",  # spatial velocity behind every degree of freedom, in inverse dynamics
    start_motion="f8[:,:]",  # at the step's beginning
    end_motion="f8[:,:]",  # and at its end
    acceleration="f8[:,:]",
    inertia="f8[:,:]",  # of all that is behind a degree of freedom, as the following
    body_force="f8[:,:]",
    force_rate="f8[:,:]",  # B
    axis_momentum="f8[:,:]",  # I S
    axis_rate="f8[:,:]",  # Bᵀ S
    wrench="f8[:,:]",  # of contacts
    wrench_change="f8[:,:]",
    # simulations with displaced parameters (`displaced_balances`)
    displaced="i8[:,:]",  # addresses of world and table, of the larger and the smaller value
    displaced_sizes="f8[:]",
    displaced_codes="i8[:,:]",
    # and those of which columns are known without (`direct_parameters`)
    columns_kind="i8",  # how columns by the state were found
    displaced_kind="i8[:]",
    displaced_plant="i8[:]",  # addresses of plants with the larger values
    geom_sliding="f8[:,:]",  # friction of geoms: of the model, and with every larger value
    geom_priority="i8[:]",
    inertial_start="i8[:]",  # where a parameter's bodies begin
    inertial_body="i8[:]",
    inertial_change="f8[:,:]",  # ∂I/∂θ at the body's centre of mass, in its inertial axes
    mj_ximat="f8[:,:]",
    # the step's derivatives
    share="f8",  # of the end velocity in the motion of positions
    rotations="i8[:]",  # first dofs of rotations that a quaternion describes
    turns="f8[:,:]",  # their J_r(travel) and exp(−travel) − 1
    result="f8[:,:]",
)


_SPATIAL = (
    *("motion_rate", "start_motion", "end_motion", "acceleration", "body_force"),
    *("axis_momentum", "axis_rate", "wrench", "wrench_change"),
)

# Contacts of two geoms that MuJoCo finds at most, and numbers of each.
_PAIR = (100, 10)


def new_derivative(
    nq: int, nv: int, na: int, nu: int, trees: int, bodies: int, vector: int, rotations: int
) -> Table:
    """Allocate the table; ``vector`` is the length of the problem's vectors."""
    table = Table(
        DERIVATIVE,
        qpos=np.zeros(nq),
        qvel=np.zeros(nv),
        act=np.zeros(na),
        ctrl=np.zeros(nu),
        applied=np.zeros(nv),
        other_ctrl=np.zeros(0, np.int64),
        other_applied=np.zeros(0, np.int64),
        velocity=np.zeros(nv),
        turning=np.zeros(trees, np.int64),
        displacement=np.zeros(nv),
        directions=np.zeros((1, 2 * nv + na)),
        gyroscopic=np.zeros(vector),
        mean=np.zeros(nv),
        generalized=np.zeros(nv),
        sides=np.zeros((3, nv + na)),
        system=np.zeros((nv, nv)),
        factors=np.zeros((nv, nv)),
        pivots=np.zeros(nv, np.int64),
        index=np.zeros(nv, np.int64),
        before=np.zeros(nv),
        found=np.zeros(_PAIR),
        cdof=np.zeros((nv, 6)),
        com=np.zeros((bodies, 3)),
        turns=np.zeros((rotations, 18)),
        displaced=np.zeros((0, 4), np.int64),
        displaced_sizes=np.zeros(0),
        displaced_codes=np.zeros((0, 2), np.int64),
        displaced_kind=np.zeros(0, np.int64),
        displaced_plant=np.zeros(0, np.int64),
        geom_sliding=np.zeros((1, 0)),
        geom_priority=np.zeros(0, np.int64),
        inertial_start=np.zeros(1, np.int64),
        inertial_body=np.zeros(0, np.int64),
        inertial_change=np.zeros((0, 10)),
        joint_first=np.zeros(nv, np.int64),
        joint_last=np.zeros(nv, np.int64),
        subtree_end=np.zeros(nv, np.int64),
        inertia=np.zeros((nv, 10)),
        force_rate=np.zeros((nv, 36)),
        **{name: np.zeros((nv, 6)) for name in _SPATIAL},
    )
    grow_columns(table, 3 * nv + na + nu)
    grow_sets(table, nv, 1, 1)
    return table


def grow_columns(table: Table, count: int) -> None:
    """Make room for derivatives by so many coordinates."""
    nv, na = len(table.qvel), len(table.act)
    table.columns = np.zeros((count, nv + na))
    table.right = np.zeros((nv, count))
    table.result = np.zeros((2 * nv + na, count))


def grow_sets(table: Table, nv: int, contacts: int, rows: int) -> None:
    """Make room for so many contacts and scalar constraints."""
    table.contact_geom = np.zeros((contacts, 2), np.int64)
    table.contact_point = np.zeros((contacts, 3))
    table.row_kind = np.zeros(rows, np.int64)
    table.row_source = np.zeros(rows, np.int64)
    table.jacobian = np.zeros((3 * contacts + rows, nv))
    table.blocks = np.zeros((contacts, 3, 3))
    table.row_curvature = np.zeros(rows)
    table.row_impulse = np.zeros(rows)
    table.row_piece = np.zeros(rows, np.int64)
    table.contact_place = np.zeros(contacts, np.int64)
    table.row_place = np.zeros(rows, np.int64)
    table.side_force = np.zeros((3, contacts, 3))
    table.side_piece = np.zeros((3, contacts), np.int64)
    table.side_impulse = np.zeros((3, rows))
    table.side_row_piece = np.zeros((3, rows), np.int64)
    table.row_change = np.zeros(rows)
    table.row_done = np.zeros(rows, np.int64)
    table.contact_frame = np.zeros((contacts, 9))
    table.contact_distance = np.zeros(contacts)
    table.contact_origin = np.zeros((contacts, 3))
    table.motion = np.zeros((contacts, 7, 6))
    table.by_distance = np.zeros((contacts, 3))
    table.by_mass = np.zeros((contacts, 3))
    table.by_start = np.zeros((contacts, 3, 3))
    table.impulse = np.zeros((contacts, 3))
    table.end_velocity = np.zeros((contacts, 3))
    table.start_velocity = np.zeros((contacts, 3))
    table.inverse_mass = np.zeros(contacts)
