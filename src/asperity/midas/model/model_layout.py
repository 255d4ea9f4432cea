"""What the engine knows of a model: links, joints, constraints, motors, and surfaces.

*Links* are affine bodies: bodies of the model that move as one, and massless ones between the
joints of a body with several joints. A link's coordinates are Q = [p; Aᵀ], shape (4, 3): a point
with rest coordinates x̄, measured from the link's centre of mass, is at x = [1, x̄] Q. The last row
of every link array is the world, which does not move. Links are sorted by kinematic tree, parents
before children.

Links obey their joints exactly, by a change of variables along the tree:

    Q = T Q_parent + E Z,

with constant 4 × 4 matrices T (for a slide joint affine in the joint's position s) and E, and with
the link's own variables Z, shape (k, 3): Q of a free body, 3 vectors of a ball joint, 2 of a hinge;
a slide joint has the single variable s, and a vertex of a deformable body the point p.
``variables`` lists all of them.
"""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "COUPLINGS",
    "GAPS",
    "JOINTS",
    "LINKS",
    "MOTORS",
    "PAIRS",
    "SHAPES",
    "TIES",
    "TURNS",
]

LINKS = Layout(
    "links",
    # Links, n of them; in arrays of shape (n + 1, ...) the last row is the world.
    parent="i8[:]",  # the world is n
    kind="i8[:]",
    variable="i8[:]",  # first variable, shape (n + 1,)
    transfer="f8[:,:,:]",  # T, shape (n, 4, 4)
    # what s multiplies in T's first row; of a vertex, where it is at qpos of zero; shape (n, 3)
    slide_direction="f8[:,:]",
    joint="i8[:]",  # coordinate of a hinge or slide, or −1
    embedding="f8[:,:,:]",  # E, shape (n, 4, 4)
    # [1, x̄] of what the joint holds and then [0, x̄] of Z, shape (n, 4, 4)
    own_row="f8[:,:,:]",
    mass="f8[:,:,:]",  # ∫ρ[1, x̄]ᵀ[1, x̄]dV, shape (n, 4, 4)
    # Axis of least inertia, in rest coordinates; its square is 0 if another one has as little, and
    # 1 if it has none; shape (n, 3).
    slender_axis="f8[:,:]",
    slender_side="f8[:,:,:]",  # the other two, shape (number of links, 2, 3)
    pivot="i8[:]",  # 1 on a ball joint, 2 on a hinge that is fixed in the world, 0 elsewhere
    rigidity="f8[:]",  # κV of the orthogonality energy [J]
    radius="f8[:]",  # of the link about its centre of mass [m]
    gravity="f8[:,:]",  # acceleration [m/s²], shape (n, 3)
    qpos="i8[:]",  # address in qpos of free and ball joints and of vertices, or −1
    dof="i8[:]",  # address in qvel of free and ball joints and of vertices in links, or −1
    centre="f8[:,:]",  # centre of mass in the body frame [m]
    turn="f8[:,:,:]",  # axes in the parent's, at the reference pose, or those that qpos counts on
    holder="i8[:]",  # link in whose frame qpos of a vertex counts; −1 of what counts in the world
    first_dof="i8[:]",  # first address in qvel, or −1
    # Island of links that sleep, −1 of others, and of the world (`asperity.midas.time.sleep`).
    island_asleep="i8[links + 1] = -1",
    # Variables that move a link, its ancestors' first: chain_start[l] to chain_start[l + 1].
    chain_start="i8[:]",
    chain_variable="i8[:]",
    crossed="i8[:]",  # 1 for links whose Jacobians coordinates take that others depend on
    cross_variable="i8[2 * longest_chain]",
    cross_slope="f8[2, 2 * longest_chain]",
    jacobian="f8[:,:,:]",  # ∂Q/∂z, one (4, 3) for every entry of chain_variable
)
"""Links, kinematic trees, and the variables that move them."""

JOINTS = Layout(
    "joints",
    # Coordinates, j of them, relative to the reference pose: those of hinges and slides, and then
    # those of fixed tendons, which are sums of them, and linearized ones. ``link``,
    # ``qpos``, ``frame`` and arrays over chains have entries for joints only.
    link="i8[:]",
    dof="i8[:]",
    qpos="i8[:]",
    reference="f8[:]",  # qpos of the reference pose
    frame="f8[:,:,:]",  # u on the child, n and b on the parent, shape (j, 3, 3)
    stiffness="f8[:]",
    spring="f8[:,:]",  # coordinates between which the spring is slack, shape (j, 2)
    damping="f8[:]",
    # What a spring's force has of the square and cube of the stretch, and a damper's of the speed,
    # shape (j, 2).
    spring_curve="f8[:,:]",
    damper_curve="f8[:,:]",
    armature="f8[:]",
    friction="f8[:]",
    limit="f8[:,:]",  # lower and upper, infinite where there is none, shape (j, 2)
    activation="f8[:]",  # distance from a limit at which it begins to push
    barrier="f8[:]",  # force of that barrier [N or N m], 0 without limits
    limit_width="f8[coordinates, 2]",  # that of both, in the last step; 0 in a new state
    limit_factor="f8[coordinates, 2] = inf",  # of it, in the last step, of both limits
    speed="f8[:]",  # limit of the rate, infinite where there is none
    brake="f8[:]",  # h² times the stiffness against what is beyond it [kg or kg m²]
    limit_end="f8[coordinates, 2] = 1",  # ratio of the gap to ``limit_width`` where it will be
    dual="f8[coordinates]",  # of dry friction, as `FRICTION`'s, in [−1, 1]
    applied="f8[coordinates]",  # applied force [N or N m]
    value="f8[coordinates]",  # at the end of the last step, and before it
    rate="f8[coordinates]",
    before="f8[coordinates]",
    rate_before="f8[coordinates]",
    older="f8[coordinates]",
    rate_older="f8[coordinates]",
    start="f8[coordinates]",  # during a step, like q_slip
    target="f8[coordinates]",
    now="f8[coordinates]",  # of the iterate
    trial="f8[coordinates]",
    gradient="f8[joints, longest_chain]",  # ∂θ/∂z over the chain of the joint's link
    slope="f8[coordinates]",  # ψ′ and ψ″, motors included
    stiffening="f8[coordinates]",
    crossed="i8[:]",  # 1 for joints that others' coordinates depend on
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
)
"""Scalar coordinates: of the model, and where they are."""

TURNS = Layout(
    "turns",
    # Ball and free joints (`turn_terms`): energies of the angle from A_parent W, and of a point.
    link="i8[:]",
    kind="i8[:]",
    frame="f8[:,:,:]",  # W, shape (r, 3, 3)
    scale="f8[:]",  # stiffness, damping or a barrier's slope by u [N m/rad, N m s/rad, J]
    bound="f8[:]",  # u of a limit
    factor="f8[turn_terms] = inf",  # of its force, in the last step
    activation="f8[:]",  # distance from it at which its barrier begins
    width="f8[turn_terms]",  # that in the last step; 0 in a new state
    first="i8[links + 1]",  # first term of a link, which are in the order of links
    rows="f8[3, 3]",
)
"""Energies of angles of ball and free joints."""

TIES = Layout(
    "ties",
    link="i8[:,:]",  # the two links, shape (t, 2)
    given="f8[:,:,:]",  # [1, x̄] of the two points, shape (t, 2, 4)
    side="f8[:,:,:]",  # the same as a step holds them, with what it leaves of the gap in the second
    block="i8[:]",  # number of the two links' pair, or −1 if one is the world
)
"""Pairs of points that are held together, by an equality, a spring or a damper."""

COUPLINGS = Layout(
    "couplings",
    joint="i8[:,:]",  # the second may be −1, shape (c, 2)
    polynomial="f8[:,:]",  # shape (c, 5)
)
"""Equality constraints that couple joints."""

GAPS = Layout(
    "gaps",
    # Three of every tie, along x, y and z, then one of every coupling (`equality_terms`).
    inertia="f8[:]",  # what it feels of its links [kg or kg m²]; 0 of springs and dampers
    stiffness="f8[:]",  # of a spring [N/m]
    damping="f8[:]",  # of a damper [N s/m]
    recovery="f8[:]",  # time constant that it closes with [s]
    active="i8[:]",
    penalty="f8[:]",  # ρ [N/m or N m]
    rest="f8[:]",  # what the step leaves of it [m or rad]
    force="f8[:]",  # multipliers λ, minus the force on the first link [N or N m]
    force_start="f8[:]",
    yields="i8",  # whether forces are bounded, since a step could not close all gaps
    stuck="i8",  # whether the last solution has ended with a gap that it could not close
    bound="f8[:]",  # largest |force| of a constraint, of its first gap [N or N m]
    yielded="i8[:]",  # whether it ever was that large, of the first gap
)
"""Scalar gaps of ties and couplings."""

MOTORS = Layout(
    "motors",
    # Motors: force clamp(feed + position θ + velocity θ̇) on one joint.
    joint="i8[:]",
    feed="f8[:]",
    position="f8[:]",
    velocity="f8[:]",
    limit="f8[:,:]",
    # Those with activations a have feed = bias + gain (a − start) (`activations`).
    activation="i8[:]",  # the first one's place in act, or −1
    states="i8[:]",  # how many there are
    bias="f8[:]",
    state_start="f8[:]",  # a₀, shape (na,)
    state_rate="f8[:]",  # ȧ there
    state_slope="f8[:]",  # s = ∂ȧ/∂a [1/s]
    state_control="f8[:]",  # that excites a muscle
    state_muscle="f8[:,:]",  # `asperity.plant.muscles.muscle_parameters`
    state_limit="f8[:,:]",
    state_gain="f8[:,:]",  # shape (number of motors, largest of ``states``)
    constant="f8[:]",  # during a step, clamp(constant − stiffness θ)
    stiffness="f8[:]",
    force="f8[:]",  # at the end of the last step [N or N m]
)
"""Actuators and their activations."""

SHAPES = Layout(
    "shapes",
    # Shape s has the vertices vertex_start[s] to vertex_start[s + 1], and so on.
    vertex_rest="f8[:,:]",  # [1, x̄]
    vertex_link="i8[:]",
    vertex_area="f8[:]",
    vertex_radius="f8[:]",  # of its shape, if that is round [m]
    radius="f8[:]",
    moving_vertices="i8",  # those of moving links, which come first
    edge="i8[:,:]",
    edge_area="f8[:]",
    edge_square="f8[:]",  # squared rest length [m²]
    face="i8[:,:]",
    vertex_start="i8[:]",
    edge_start="i8[:]",
    face_start="i8[:]",
    # Vertices that round shapes are made of against half-spaces: two rims' or an ellipsoid's, −1
    # where there are none, shape (., 2, 4); and the area of contact of either [m²].
    anchor="i8[:,:,:]",
    area="f8[:]",
    plane="f8[:,:]",  # half-spaces: outward normal and offset
    # Half-spaces below faces that round shapes may be above (`flat_faces`): three vertices of those
    # that move, −1 of others, shape (m, 3); the vertices of its border, plane_border[i] to
    # plane_border[i + 1].
    plane_corner="i8[:,:]",
    plane_border="i8[:]",
    border_vertex="i8[:,:]",
    # ∂v/∂[1, x̄] of surfaces that run like belts, in rest coordinates: of shapes, then of
    # half-spaces, shape (s + m, 4, 3), or (0, 4, 3) if none does.
    surface_velocity="f8[:,:,:]",
)
"""Surfaces: vertices, edges, faces and half-spaces."""

PAIRS = Layout(
    "pairs",
    # Of round shapes above flat faces (`flat_faces`): how many pairs have any; the first face and
    # where they end, the half-space that they meet as, and what they were before.
    flat="i8",
    faces="i8[:,:]",
    plane="i8[:]",
    form="i8[:]",
    may_overlap="i8",  # 1 while it is asked what overlaps in a state that is given
    shape="i8[:,:]",  # what may touch; a second of −1 − i is half-space i
    activation="f8[:]",  # d̂ [m]
    widest="f8[:]",  # that of the first state
    given="f8[:]",  # distance in a given state that has moved a link of them [m]
    friction="f8[:]",
    # 1 if it has torsion, rolling or another coefficient along the second tangent; of that, of
    # rolling about both tangents [m] and of torsion [m], the ratios to the first coefficient.
    every_friction="i8[:]",
    slip_scale="f8[:,:]",
    stiction="f8[:]",  # ε_v [m/s]
    dissipation="f8[:]",  # of Hunt and Crossley [s/m]
    block="i8[:]",  # number of its two links' pair, or −1 if one is the world
    block_link="i8[:,:]",  # pairs of links, the smaller first
    # number of its two links in `RELATIVE`, of which one may be the world; −1 of half-spaces
    seen="i8[:]",
)
"""Pairs of shapes that may touch, and pairs of their links."""
