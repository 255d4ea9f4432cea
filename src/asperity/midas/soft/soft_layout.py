"""The table of deformable bodies: vertices, elements, and what their surfaces may touch.

Vertices are those of flexes, in MuJoCo's order, the nodes of interpolated ones, and then those of
rigid shapes that a flex may touch. A *group* is a flex, or a rigid shape; within a group of a flex
there is self contact.
"""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.soft.layout import YIELDING

__all__ = ["SOFT", "SOFT_FULL"]

SOFT_FULL = 35
"""Code of methods: the lists of this table must grow."""

SOFT = Layout(
    "soft bodies of midas",
    # Vertices: x = [1, x̄] Q of their link; those between nodes have no link, and x = Σ w x_node.
    particles="i8",  # those of flexes, with nodes, which come first
    between="i8[:]",  # vertices that are between nodes
    node_first="i8[:]",  # of every vertex in the lists of nodes and their weights
    node="i8[:]",
    node_weight="f8[:]",
    vertex_link="i8[:]",  # the world's number for what is fixed
    vertex_rest="f8[:,:]",
    vertex_variable="i8[:]",  # first of the three variables that it is; −1 of others
    pinned="i8",  # how many vertices of flexes are on links that move
    vertex_group="i8[:]",
    vertex_radius="f8[:]",  # [m]
    vertex_area="f8[:]",  # [m²]
    flex_first="i8[:]",  # first particle of a flex, and where they end
    now="f8[vertices, 3]",  # of the iterate [m]
    trial="f8[vertices, 3]",
    move="f8[vertices, 3]",  # from there to the trial state, and how far that is
    distance="f8[vertices]",
    start="f8[vertices, 3]",  # at the step's beginning
    past="f8[vertices, 3]",  # from where displacements count, by the scheme's weights
    ahead="f8[vertices, 3]",  # at the step's end, if they move as in the last one
    # Elements: cells and tetrahedra, triangles of cloth, faces of shells; −1 for corners beyond.
    element_vertex="i8[:,:]",
    element_corners="i8[:]",
    element_dimension="i8[:]",  # 3, or 2 of triangles of cloth, and of faces of shells
    element_gradient="f8[:,:,:]",  # mean of F = Σ x_a g_aᵀ [1/m], shape (n, corners, 3)
    element_size="f8[:]",  # volume [m³] or area [m²]
    element_lame="f8[:,:]",  # λ and μ [Pa or N/m]
    element_damping="f8[:]",  # β of Rayleigh's damping [s]
    element_past="f8[elements, 3, 3]",  # FᵀF from where its changes count
    # Cells bend besides: ½ Σ u_aᵀ R K Rᵀ u_b, u_a = x_a − x_0 − R X_a, with what their stiffness is
    # more than that of their mean strain, and rotations that are known when a step begins. X is 0
    # where K X is. So do triangles of cloth, with those beside them.
    cell_element="i8[:]",  # whose rotation it has
    cell_vertex="i8[:,:]",  # its own, or those of a triangle and beside it
    cell_corners="i8[:]",
    cell_rest="f8[:,:,:]",  # X_a from the first corner [m], shape (n, width, 3)
    cell_matrix="i8[:]",  # number of K; those of equal shape share one
    cell_flat="i8[:]",  # 1 where K is a multiple of 1 between vertices, and K X is 0
    matrix="f8[:,:,:]",  # [N/m], shape (., 3 width, 3 width)
    # Pairs of vertices in elements, cells and strands (`asperity.midas.soft.couples`), and their
    # blocks: of cells, which resist as much all step, with their forces at its beginning; of all.
    couple="i8[:,:]",
    element_couple="i8[:,:]",
    cell_couple="i8[:,:]",
    strand_couple="i8[:,:]",
    couple_steady="f8[couples, 3, 3]",
    couple_block="f8[couples, 3, 3]",
    couple_place="i8[couples, 3]",  # in the factor: where it begins, −1 of pinned vertices; steps
    steady_force="f8[vertices, 3]",  # [N]
    steady_slope="f8[vertices, 3]",
    # What yields. Elements that have the shape at rest of one that does, whose gradients are these
    # where nothing has yielded.
    **YIELDING,
    shaped_first="i8[:]",
    shaped="i8[:]",
    shaped_gradient="f8[:,:,:]",
    fold_work="f8[4, 18]",
    fold_local="f8[6, 3]",
    # Strands (`asperity.midas.soft.edges`): edges that are springs or keep their length, and bends
    # of two edges, which have a third vertex.
    strand_particle="i8[:,:]",  # −1 for the third of an edge
    strand_length="f8[:]",  # of an edge at rest [m]
    strand_stiffness="f8[:]",  # [N/m], of bends [N m]
    strand_damping="f8[:]",  # [N s/m], of bends [N m s]
    strand_equality="i8[:]",  # the model's, −1 of what none holds
    strand_inertia="f8[:]",  # mass that an equality's force may move [kg], 0 of what none holds
    strand_active="i8[strands]",  # 0 of an equality that is off
    strand_penalty="f8[strands]",  # [N/m]
    strand_rest="f8[strands]",  # stretch that is left for later steps [m]
    strand_force="f8[strands]",  # multiplier [N], and that of the last step
    strand_force_start="f8[strands]",
    left_open="i8",  # 1 if the last solution has left some so
    strand_opened="i8[strands]",  # 1 of an edge that something has kept from its length
    strand_past="f8[strands, 3]",  # stretch or curvature from where its changes count
    strand_now="f8[3]",
    strand_rates="f8[3, 9]",
    # Twist of bends (`asperity.midas.soft.twists`), by the links of the edges after and before.
    twist_particle="i8[:,:]",
    twist_link="i8[:,:]",  # −1 of an edge that does not turn
    twist_stiffness="f8[:]",  # [N m]
    twist_damping="f8[:]",  # [N m s]
    twist_axis="f8[:,:]",  # the rod's direction at rest
    twist_start="f8[twists]",  # at the step's beginning
    twist_past="f8[twists]",  # from where its changes count
    twist_slope="f8[9]",
    turning_link="i8[:]",  # edges that turn about themselves
    turning_particle="i8[:,:]",
    turning_axis="f8[:,:]",
    # Surfaces.
    point="i8[:]",  # vertices that may touch
    edge="i8[:,:]",
    edge_area="f8[:]",
    edge_square="f8[:]",  # squared length at rest [m²]
    face="i8[:,:]",
    # Pairs of groups, or of a flex and a half-space, that may touch.
    group_pair="i8[:,:]",  # −1 of those that may not
    plane_pair="i8[:,:]",  # of a flex and a half-space
    pair_group="i8[:,:]",  # the second is −1 − i of half-space i
    pair_activation="f8[:]",  # d̂ [m]
    pair_widest="f8[:]",  # that of the first state
    pair_given="f8[:]",  # distance in a given state that has moved something [m]
    pair_friction="f8[:]",
    pair_stiction="f8[:]",  # ε_v [m/s]
    activation="f8",  # the largest [m]
    # Broad phase: what vertices stay in while the list holds, in the world and beside the mean of
    # their flex.
    box="f8[vertices, 2, 3]",
    own_box="f8[vertices, 2, 3]",
    own_mean="f8[flexes, 2, 3]",
    reach="f8[2, vertices]",  # how far they may get in both [m]
    listed="i8",
    sweep_axis="i8",
    item_box="f8[items, 2, 3]",  # of points and faces
    item_order="i8[items]",
    side_box="f8[sides, 2, 3]",  # of edges
    side_order="i8[sides]",
    group_box="f8[groups, 2, 3]",
    strip="i8[swept, 2]",  # first and last of an item or a side
    strip_start="i8[strips + 1]",
    strip_item="i8[4 * swept]",
    # Candidates, measured at the iterate.
    count="i8",
    kind="i8[soft_room]",
    vertex="i8[soft_room + 1, 4]",
    pair="i8[soft_room]",
    radius="f8[soft_room]",  # of both sides together [m]
    weight="f8[soft_room]",  # area [m²]
    threshold="f8[soft_room]",
    square="f8[soft_room]",  # of those that sleep, of a bound of their distance
    bound="f8[soft_room]",  # what their distance is at least [m]
    asleep="i8[soft_room]",
    coefficient="f8[soft_room + 1, 6]",
    arm="f8[soft_room + 1, 3]",
    final="f8[soft_room]",
    laid="i8[soft_room]",  # 1 of those that the factor has room for
    # Sites of friction's stencils, and in the last row those of the candidate at hand.
    sites="i8[soft_room + 1]",
    site_link="i8[soft_room + 1, most_sites]",
    site_variable="i8[soft_room + 1, most_sites]",
    site_weight="f8[soft_room + 1, most_sites, 4]",
    # Friction, frozen over a solution: tangents, μλ and the dual.
    stencils="i8",
    rub_frame="f8[soft_room + 1, 2, 3]",
    rub_force="f8[soft_room + 1]",
    rub_stiction="f8[soft_room + 1]",
    rub_dual="f8[soft_room + 1, 2]",
    rub_laid="i8",
    turn_share="f8",
    # Links that move what a flex may touch, with their ancestors; and pairs of links that elements
    # couple, which come first among those of the engine.
    wanted="i8[:]",
    bond="i8[:,:]",
    # Space to work in.
    slope="f8[2, 3]",
    small="f8[8, 3, 3]",
    pinned_block="f8[3, 3]",
    corner="f8[corners, 3]",  # F g
    pull="f8[corners, 3]",  # F⁻ᵀ g
    held="f8[corners, 3]",  # S g
    mode="f8[6, corners, 3]",
    mode_scale="f8[6]",
    tilt_block="f8[3, 3]",
    tilt_rate="f8[2, 4]",
    tilt_direction="f8[2, 3]",
    tilt="f8[4, 3]",
    along="f8[3, corners]",
    slope_work="f8[most_corners, 3]",
    cell_offset="f8[width, 3]",
    upper="f8[6]",
)
"""Deformable bodies."""
