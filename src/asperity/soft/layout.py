"""The table of deformable bodies: particles, elements, strands, and bonds between particles."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["ELASTIC", "HELD_BY_ELEMENTS", "YIELDING"]

HELD_BY_ELEMENTS = -2
"""In ``equality_strand``: an equality that needs no rows, as elements do its work."""

YIELDING = {
    # elements that yield (`asperity.soft.plasticity`): what a state keeps of one is in the slots
    # `plastic_first .. first of the next`, of which two matrices make a tensor and back
    "yielding": "i8",
    "plastic_element": "i8[:]",
    "plastic_limit": "f8[:]",  # ε_y
    "plastic_squared": "i8[:]",  # whether slots are those of C_p − 1, and not of U_p − 1
    "plastic_plane": "f8[:]",  # Poisson's ratio of triangles, −1 of volumes
    "plastic_moduli": "f8[:,:]",  # V λ and V μ [J], of triangles those of their planes
    "plastic_first": "i8[:]",
    "plastic_slot": "i8[:]",
    "plastic_read": "i8[:]",  # where the matrices are, shapes (6, slots) and (slots, 6)
    "plastic_write": "i8[:]",
    "plastic_matrix": "f8[:]",
    "plastic_length": "f8[:]",  # length that an element changes by per change of a slot [m]
    # edges of cloth that yield as it bends (`asperity.soft.folds`): ends, and vertices across
    "folds": "i8",
    "fold_particle": "i8[:,:]",
    "fold_slot": "i8[:]",
    "fold_unit": "f8[:]",  # ψ_p per slot
    "fold_limit": "f8[:]",  # largest ψ − ψ_p
    # and triangles that bend there, elements or cells: S times the area, by vertices and by edges
    "bends": "i8",
    "bend_element": "i8[:]",
    "bend_moment": "i8[:]",  # where its matrix is, shape (3, vertices)
    "bend_matrix": "f8[:]",
    "bend_moduli": "f8[:,:]",  # D (1 − ν)/A and D ν/A
    "bend_fold": "i8[:,:]",  # −1 of none
    "bend_share": "f8[:,:,:]",
}
"""What yields, of this table and of Midas's."""

ELASTIC = Layout(
    "elastic bodies",
    # Vertices of all flexes, and nodes of those that are interpolated. A vertex between nodes is
    # itself fixed, and no element's.
    particles="i8",
    elements="i8",
    bonds="i8",  # pairs of moving particles, or edges that turn, that share an element or bend
    # Particles: positions are those in the frame of the flex, the parent of its vertices' bodies.
    # Where that is the world each particle with three slides is a tree; else all are in one tree.
    flex_frame="i8[:]",  # body
    flex_inner="i8[:]",  # 1 where all are in one
    particle_dof="i8[:]",  # the first of three slides along the frame's axes; −1 of what is fixed
    # What contacts move, the same and those with fewer slides, and how many slides: vertices with
    # one or two are in one tree, no element's or strand's, and held by MuJoCo's rows.
    contact_dof="i8[:]",
    contact_dofs="i8[:]",
    particle_tree="i8[:]",  # −1 of what is fixed
    particle_qpos="i8[:]",
    particle_base="f8[:,:]",  # position where qpos is zero [m]
    particle_offset="f8[:,:]",  # position in its body [m]
    particle_body="i8[:]",
    # elements: those of an element are `first .. first of the next` in the lists of places
    element_first="i8[:]",
    element_matrix="i8[:]",  # where its stiffness is; those of equal shape share one
    place_particle="i8[:]",
    place_rest="f8[:,:]",  # from the element's mean [m]
    place_gradient="f8[:,:]",  # [1/m]
    matrix="f8[:]",  # [N/m]
    # Of every pair of places a ≥ b of an element, row by row: the bond, doubled, and 1 more if its
    # first tree, or dof, is that of b; of a = b, or where one is fixed, −1
    element_pair="i8[:]",
    pair_bond="i8[:]",
    # bonds: trees, the first before the second; those within a tree come last, without a row here
    bond_tree="i8[:,:]",
    bond_dof="i8[:,:]",  # first dofs, in the same order
    bond_damping="f8[:]",  # β of Rayleigh's damping β K [s]
    particle_damping="f8[:]",
    tree_rank="i8[:]",  # place in the order of elimination of trees with bonds; −1 of others
    **YIELDING,
    # strands: edges of ropes, and bends of two edges that meet (`asperity.soft.strands`)
    strands="i8",
    strand_particle="i8[:,:]",  # the third one of an edge is −1
    strand_length="f8[:]",  # of an edge at rest [m]
    strand_stiffness="f8[:]",  # [N/m], of bends [N m]
    strand_damping="f8[:]",  # [N s/m], of bends [N m s]
    strand_bond="i8[:,:]",  # of the particles (1, 0), (2, 0) and (2, 1), as in `pair_bond`
    equality_strand="i8[:]",  # the first strand that an equality holds; −1 of others, or that
    equality_softness="f8[:]",  # its slowest mode's share of a row's J M⁻¹ Jᵀ; 1 of others
    # twist of bends (`asperity.soft.twists`), by the dofs of the edges after and before
    twists="i8",
    twist_particle="i8[:,:]",
    twist_dof="i8[:,:]",  # −1 of an edge that does not turn
    twist_qpos="i8[:,:]",
    twist_tree="i8[:,:]",
    twist_stiffness="f8[:]",  # [N m]
    twist_damping="f8[:]",  # [N m s]
    twist_bond="i8[:,:]",  # of pairs of edges and particles, as in `pair_bond`
    twist_axis="f8[:,:]",  # the rod's direction at rest
    # Edges that turn about themselves
    turning_qpos="i8[:]",
    turning_dof="i8[:]",
    turning_particle="i8[:,:]",
    turning_axis="f8[:,:]",
    # triangles of cloth (`asperity.soft.tense_triangles`)
    triangles="i8",
    triangle_element="i8[:]",
    triangle_yielding="i8[:]",  # its number among those that yield, or −1
    triangle_area="f8[:]",  # [m²]
    triangle_moduli="f8[:,:]",  # λ and μ [N/m]
    # collision: elements of the flexes, as MuJoCo counts them
    flex_first_vertex="i8[:]",
    flex_first_corner="i8[:]",  # of its first element in `corner`
    flex_corners="i8[:]",  # of an element: four of tetrahedra, two of a rope's edges
    corner="i8[:]",  # vertices of elements, as counted within their flex
    flex_vertices="i8[:]",
    flex_first_element="i8[:]",  # and how many there are
    # Faces of element e of all from `element_face[e]` on: vertices as above, seen outside
    # counterclockwise, and the element that they are of
    element_face="i8[:]",
    face_corner="i8[:,:]",
    face_element="i8[:]",
    # Edges of these faces, each with one element, and the faces on both sides
    element_edge="i8[:]",
    edge_corner="i8[:,:]",
    edge_face="i8[:,:]",
    edge_is_diagonal="i8[:]",  # 1: what crosses it crosses another edge, too
    flex_edge="f8[:]",  # mean length of edges on the surface [m]
    flex_radius="f8[:]",  # [m]
    particle_surface="i8[:]",  # 1 of those on a surface
    # Nodes of vertices that are interpolated, of vertex p from `vertex_first[p]` on, with weights
    vertex_first="i8[:]",
    vertex_particle="i8[:]",
    vertex_weight="f8[:]",
    geom_shape="i8[:]",  # type of geoms whose distance is known, −1 of others
    # What geoms have, from the first of each one on (`asperity.plant.model.flex_outlines`)
    geom_corner_first="i8[:]",
    geom_corner="f8[:,:]",
    geom_edge_first="i8[:]",
    geom_edge="f8[:,:]",
    geom_side_first="i8[:]",
    geom_side="f8[:,:]",
    geom_is_plane="i8[:]",
    # Flexes with faces, and such geoms that may touch them, with coefficients of friction and
    # dimension as MuJoCo has them in contacts
    pair_flex="i8[:]",
    pair_geom="i8[:]",
    pair_margin="f8[:]",  # [m]
    pair_friction="f8[:,:]",
    pair_dimension="i8[:]",
    # MuJoCo's arrays (views of the MjModel)
    element_layer="i4[:]",
    active_layers="i4[:]",
    flex_margin="f8[:]",
    flex_gap="f8[:]",
    geom_margin="f8[:]",
    geom_gap="f8[:]",
)
