"""Tables of the plant: the model's constants, and the state with its snapshot of the mechanics."""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.contact.hydroelastic.field_layout import FIELD_WORK, FIELDS
from asperity.plant.detection.near_pairs_layout import NEAR_PAIRS, POSSIBLE_PAIRS
from asperity.plant.topic_layouts import TOPICS
from asperity.soft.layout import ELASTIC

__all__ = [
    "CONTACTS_FULL",
    "EVALUATED",
    "FAILED",
    "GLIDING",
    "NOT_AHEAD",
    "OFFSETS",
    "OTHER_FORCES",
    "PLANT",
    "ROWS_FULL",
    "SOFT",
    "STATE",
    "TREES",
    "VALID",
    "WOKEN",
    "WORK",
]

# What `evaluate` returns.
EVALUATED = 0
CONTACTS_FULL = 1  # grow the contact set and call again
ROWS_FULL = 2  # grow the constraint set and call again
TREES = 3  # a constraint couples more than two trees (see `kinematic_trees`)
FAILED = 4  # MuJoCo ran out of memory for contacts or constraints
WOKEN = 10  # something at rest was touched within a step: begin the step again

# What `valid` says of a state's snapshot.
VALID = 1
OTHER_FORCES = 2  # controls or applied forces are other ones, and all else is as it was
NOT_AHEAD = 3  # nothing is, and contacts are to be found without a look at the coming step

OFFSETS = Layout(
    "offsets in MuJoCo's structs",
    # in ``mjData``
    time_offset="i8",
    ncon_offset="i8",
    contact_offset="i8",
    nefc_offset="i8",
    efc_type_offset="i8",
    efc_id_offset="i8",
    efc_pos_offset="i8",
    efc_weight_offset="i8",
    tendon_jacobian_offset="i8",
    efc_frictionloss_offset="i8",
    efc_jacobian_offset="i8",
    efc_rownnz_offset="i8",
    efc_rowadr_offset="i8",
    efc_colind_offset="i8",
    efc_force_offset="i8",
    # in ``mjContact``, and how large one is
    contact_size="i8",
    contact_dist="i8",
    contact_pos="i8",
    contact_frame="i8",
    contact_friction="i8",
    contact_surfacevel="i8",
    contact_dim="i8",
    contact_geom="i8",
    contact_flex="i8",
    contact_elem="i8",
    contact_vert="i8",
    contact_first_geom="i8",
    contact_second_geom="i8",
    contact_exclude="i8",
    contact_margin="i8",
    contact_efc_address="i8",
)
"""Where fields of MuJoCo's structs are [bytes]."""

PLANT = Layout(
    "plant",
    **TOPICS,
    model="i8",
    detection_model="i8",  # as collision detection and constraints get it
    smooth_model="i8",  # as the velocity stage gets it: without flexes, whose forces are ours
    flex_model="i8",  # as `mj_flex` gets it
    # compiled entry points
    read_contacts="i8",
    mend_normals="i8",  # 0 where MuJoCo's are always right
    leave_out_seams="i8",  # 0 where no boxes or hulls lie beside each other
    read_constraints="i8",
    evaluate_motion="i8",
    list_pairs="i8",  # 0 where MuJoCo searches the pairs itself
    find_elasticity="i8",  # 0 where there are no flexes
    possible_pairs=POSSIBLE_PAIRS,
    has_actuators="i8",
    has_fields="i8",  # height fields
    has_adhesion="i8",  # of geoms, pairs or actuators
    acts_on_bodies="i8",  # by actuators, through what these touch
    has_articulated_trees="i8",
    only_free_bodies="i8",  # in vacuum, without actuators: Asperity knows their dynamics
    gravity="f8[:]",
    has_mujoco_rows="i8",  # equalities or dry friction of tendons
    sparse_rows="i8",
    offsets=OFFSETS,
    nq="i8",
    nv="i8",
    na="i8",
    nbody="i8",
    ngeom="i8",
    ntree="i8",
    elastic=ELASTIC,
    # pressure fields and rigid surfaces of geoms
    fields=FIELDS,
    # error norm
    error_weight="f8[:]",
)

WORK = Layout(
    "work arrays of an evaluation",
    body_link="i8[bodies] = -1",  # links that bodies have so far
    left_out="i8[trees]",  # 1: at rest, with all that is known of it at hand
    dof_row="f8[nv]",  # the generalized Jacobian of a row
    dof_force="f8[nv]",
    dof_actuation="f8[nv]",  # what actuators exert, but for servos with the limit of their joint
    passive_force="f8[nv]",  # of the last evaluation, with bias forces
    actuator_length="f8[outputs]",
    gyroscopic="f8[nv]",
    gyroscopic_following="f8[nv]",
    gyroscopic_undone="f8[nv]",  # what they lacked of those at the solution, a pass before
    spin_force="f8[nv]",  # of bodies whose spin forces follow, what the last ones were
    gyroscopic_share="f8[trees]",  # of it that they were given, by tree; 0 at first
    body_motion="f8[bodies, 13]",  # poses and velocities (`asperity.plant.tree_motion`)
    turning="i8[trees]",  # trees whose gyroscopic forces are still to be found
    turned="f8[trees]",  # angle by which the fastest body of a tree turns in a step
    velocity_change="f8[nv]",
    # Twice the energy, momentum and angular momentum that trees should have, and what they have
    gains="f8[trees, inertia]",
    tree_motion="f8[trees, motion]",  # (`asperity.plant.tree_motion`)
    pair_material="f8[parameters]",
    # of contacts of flexes, of a surface (`asperity.plant.detection.flex_contacts`)
    contact_share="f8[contacts]",
    contact_depth="f8[contacts]",
    contact_weight="f8[contacts]",
    fields=FIELD_WORK,
)

GLIDING = Layout(
    "detection of contacts at a distance",
    glides="i8",  # 1: of what glides
    before="i8",  # address of a state: of what it has pressed together (`pressed_contacts`), or 0,
    interval="f8",  # in this time [s]
    looks_ahead="i8",  # 1: of what would pass through something in the coming step,
    fast="i8[geoms]",  # 1: a geom that would,
    ahead="f8[geoms, 3]",  # where geoms would be [m],
    moves="i8[geoms]",  # 1 if they move beyond themselves, relative to the mean of all,
    reach="f8[geoms]",  # and how far they come from where they are [m]
    # of trees: how far centres of geoms are from the root's frame, and the least inner radius [m]
    tree_reach="f8[trees]",
    tree_inner_radius="f8[trees]",
    model="i8",  # address of an mjModel with the margins below
    geom_margin="f8[geoms]",  # [m]
    body_margin="f8[bodies]",
    pair_margin="f8[pairs]",
    option_margin="f8[:]",  # in that mjModel; of all pairs, if margins are overridden
    # the user's
    own_geom_margin="f8[:]",
    own_pair_margin="f8[:]",
    own_option_margin="f8",
    overridden="i8",
    pair_geom="i8[:,:]",
    geom_body="i8[:]",
    added="f8[geoms]",  # to the margins of geoms
    radius="f8[:]",  # of a ball around each geom's centre [m]
    surface_speed="f8[:]",  # of moving surfaces [m/s]
    dof_velocity="f8[dofs, 6]",  # spatial, at centres of mass of trees
    geom_velocity="f8[geoms, 4]",  # of the centre, and angular speed
    friction="f8",  # the largest coefficient of sliding,
    turning_friction="f8",  # and of torsion and rolling [m]
    relaxation="f8",  # the longest relaxation time of any pair [s], negative if there is none
    relaxes="i8",
    default_relaxation="f8",  # [s]; negative for the time step
    gravity="f8",  # [m/s²]
)

SOFT = Layout(
    "elasticity at a state",
    energy="f8",  # [J]
    position="f8[particles, 3]",  # in the frames of the flexes [m]
    force="f8[particles, 3]",  # [N]
    own="f8[particles, 9]",  # stiffness of a particle with itself [N/m],
    bond="f8[bonds, 9]",  # and of the first one of a bond with the second
    # Of edges n and T/|d| [N/m], of triangles the normal and T A [N m] (`asperity.soft.vibrations`)
    taut="f8[tense, 4]",
    torque="f8[twists]",  # of bends that are twisted [N m]
    steady="f8[particles, 3]",  # w [m/s]
    conjugate="f8[5, particles, 3]",
    work="f8[4, width]",  # of three numbers for each vertex of an element
    work_points="f8[12, 6]",
    side_particle="i8[side]",  # particles of a contact's side, with weights
    side_weight="f8[side]",
    vertex_geom="i8[particles]",  # 1 + the geom from which a vertex's distance is known
    # The contact of a vertex with another flex, and how far it is from the face, and its plane [m]
    vertex_contact="i8[particles]",
    vertex_distance="f8[particles]",
    vertex_height="f8[particles]",
    # Where vertices are in the frame of a geom [m], and outside which sides of its box
    vertex_local="f8[particles, 3]",
    vertex_outside="i8[particles]",
    # The model that MuJoCo gets (`asperity.plant.detection.touching_elements`)
    near_geom="i8[geoms]",
    element_layer="i4[elements]",
    detection_struct="i8[words]",
    layer_offset="i8",
)

STATE = Layout(
    "state",
    data="i8",  # address of the MjData in which this state is evaluated
    contacts=CONTACT_SET,
    rows=CONSTRAINT_SET,
    work=WORK,
    near_pairs=NEAR_PAIRS,
    effort_row="i8[efforts]",  # where the efforts of external systems are in the constraint set
    # Where contacts of what glides are found too, the address of `GLIDING`, and the time step [s]
    # 1 if the method knows torsion, rolling and different friction along the tangents
    every_friction="i8",
    passive_rows="i8",  # 1 if passive forces are to change within the method's steps
    gliding="i8",
    glides="i8",  # 1: they depend on the step
    widened="i8",  # 1: contacts of the snapshot were looked for at a distance
    step="f8",
    # Signed distances of contacts are to differ from those of the geoms by these, if there are any
    distance_changes="f8[:]",
    # Where threads find positions, the compiled entry point, and the address of its table
    find_positions="i8",
    shared_positions="i8",
    # Where threads find contacts, the compiled entry point, and the address of its table
    detect_shared="i8",
    shared_detection="i8",
    rows_status="i8",  # what `read_constraints` has returned there
    contacts_status="i8",  # and `read_contacts`, or −1 if it is still to be called
    found="i8",  # number of contacts found there, and where their addresses are
    found_address="i8",
    resting="i8",  # address of `asperity.plant.resting_layout.RESTING`, or 0
    # the state
    time="f8",  # [s]
    qpos="f8[nq]",
    qvel="f8[nv]",
    act="f8[na]",
    # Of strands [N] and triangles [N/m], in the step that led here; not finite without one
    tension="f8[:]",
    plastic="f8[:]",  # of flexes that yield, as in MjData; else there is none
    system_state="f8[system_states]",  # of external systems; the plant only carries it
    valid="i8",  # whether the snapshot belongs to the state: `VALID`, or what is not
    evaluations="i8",
    # the snapshot, in solver velocities
    mass="f8[mass_room]",
    mass_diagonal="f8[nv] = 1",
    mass_inverse_diagonal="f8[nv] = 1",
    # with places for the spatial velocities of links, like the convex problem's vectors
    velocity="f8[nv + 6 * links]",
    force="f8[nv]",  # without joint damping
    soft=SOFT,
    act_dot="f8[na]",
    # Where MuJoCo is asked, slopes of its rate by itself [1/s], by length and by velocity
    act_slope="f8[na]",
    act_motion_slope="f8[2, na]",
    act_pull="f8[na]",  # and of the force by it
    output_force="f8[outputs]",  # of actuators that MuJoCo is asked for, without limits of rows,
    output_slope="f8[2, outputs]",  # and by lengths and velocities
    output_row="i8[outputs] = -1",
    cdof="f8[nv, 6]",
    # MuJoCo's arrays (views of the MjData)
    mj_qpos="f8[:]",
    mj_qvel="f8[:]",
    mj_act="f8[:]",
    mj_act_dot="f8[:]",
    mj_ctrl="f8[:]",
    mj_qfrc_applied="f8[:]",
    mj_xfrc_applied="f8[:,:]",
    mj_xipos="f8[:,:]",
    mj_ximat="f8[:,:]",
    mj_xpos="f8[:,:]",
    mj_xmat="f8[:,:]",
    mj_xquat="f8[:,:]",
    mj_cdof="f8[:,:]",
    mj_cvel="f8[:,:]",
    mj_cinert="f8[:,:]",
    mj_subtree_com="f8[:,:]",
    mj_flexvert_xpos="f8[:,:]",
    mj_geom_xpos="f8[:,:]",
    mj_geom_xmat="f8[:,:]",
    mj_mass="f8[:]",
    mj_qfrc_bias="f8[:]",
    mj_qfrc_passive="f8[:]",
    mj_qfrc_spring="f8[:]",
    mj_qfrc_gravcomp="f8[:]",
    mj_qfrc_actuator="f8[:]",
    mj_actuator_force="f8[:]",
    mj_actuator_length="f8[:]",
    mj_ten_length="f8[:]",
    mj_ten_jacobian="f8[:]",
    mj_actuator_velocity="f8[:]",
    mj_actuator_moment="f8[:]",
    mj_moment_rownnz="i4[:]",
    mj_moment_rowadr="i4[:]",
    mj_moment_colind="i4[:]",
)
