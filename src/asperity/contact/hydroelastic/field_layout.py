"""Tables of pressure fields and rigid surfaces, and what a search for contact polygons needs.

Fields are without units: the *extent* is the pressure over the hydroelastic modulus E of the geom,
so that geoms of equal shape share a field whatever their moduli. Over a tetrahedron it is
e(x) = g · x + c, and λ_i(x) = L_i · x + b_i are the barycentric coordinates; x is in the geom's
frame. A tree of boxes lies over the tetrahedra of a field, another over the triangles of its
surface.
"""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "ADAPTIVE",
    "CENTRE_OF_PRESSURE",
    "CENTROID",
    "COMPLIANT_HALF_SPACE",
    "COMPLIANT_MESH",
    "CUT",
    "FIELDS",
    "FIELD_WORK",
    "LEVELS",
    "MOMENTS",
    "NO_SURFACE",
    "POINT_COLUMNS",
    "RIGID_HALF_SPACE",
    "RIGID_MESH",
    "SMOOTH",
]

# What a geom is.
NO_SURFACE = 0
COMPLIANT_MESH = 1
COMPLIANT_HALF_SPACE = 2
RIGID_MESH = 3
RIGID_HALF_SPACE = 4

# Where the force of a polygon acts.
ADAPTIVE = 0
CENTRE_OF_PRESSURE = 1
CENTROID = 2
MOMENTS = 3

# Which polygons count: those that face the gradients, and beyond 90 degrees fading or up to 112.5.
SMOOTH = 0
CUT = 1

LEVELS = 6
"""Boxes per node: of what has an extent of at most 4⁻ᵏ, for k from 0 to 5."""

FIELDS = Layout(
    "pressure fields",
    # tetrahedra of all fields, in the order of their trees
    vertex="f8[:,:,:]",  # (n, 4, 3), geom frame [m]
    extent="f8[:,:]",  # (n, 4), at the vertices
    gradient="f8[:,:]",  # (n, 3) [1/m]
    constant="f8[:]",
    steepness="f8[:]",  # norm of the gradient [1/m]
    barycentric="f8[:,:,:]",  # (n, 4, 4): L_i [1/m] and b_i
    cell="i8[:]",  # the same number where the extent is the same function; −1 if nowhere else
    # triangles of all surfaces, in the order of their trees
    corner="f8[:,:,:]",  # (n, 3, 3), geom frame [m]
    normal="f8[:,:]",  # outward
    facet="i8[:]",  # the same number in one plane; −1 if alone in it
    # nodes of all trees
    box="f8[:,:,:]",  # (n, LEVELS, 6): centre and half sides; the latter negative of nothing
    child="i8[:,:]",  # −1 of leaves
    first="i8[:]",  # tetrahedron or triangle
    count="i8[:]",
    # one row per field
    root="i8[:]",  # of the tree over its tetrahedra, −1 if it has none
    surface_root="i8[:]",  # of the tree over the triangles of its surface, −1 if it has none
    tetrahedron_count="i8[:]",
    triangle_count="i8[:]",
    hull_first="i8[:]",  # vertices of a convex hull of all of it
    hull_count="i8[:]",
    steepest="f8[:]",  # largest norm of a gradient [1/m]
    hull="f8[:,:]",
    # one entry per geom
    geom_kind="i8[:]",
    geom_field="i8[:]",  # −1 for none
    geom_modulus="f8[:]",  # [Pa]
    geom_depth="f8[:]",  # where the extent is 1 [m]; infinite of rigid geoms
    geom_ball="f8[:]",  # radius of a ball [m]; 0 of anything else
    geom_round="i8[:]",  # 1 of balls, and of what turns into itself about its z axis
    # of flat sides: half lengths of a box, or radius, 0 and half length of a cylinder; or zeros
    geom_sides="f8[:,:]",
    geom_side_depth="f8[:]",  # where the extent behind them is 1 [m], of rigid geoms, too
    geom_convex="i8[:]",  # whether the field or surface fills what MuJoCo collides
    # pairs of geoms that are told to touch in points: sorted keys, as for materials
    point_pairs="i8[:]",
    quadrature="i8",
    angle_rule="i8",
    any="i8",  # whether there is a compliant geom at all
)

# Columns of the points of a patch: where the force acts, the unit normal from the first geom to the
# second (both in the frame of the first), stiffness, signed distance, area and pressure.
POINT_COLUMNS = 10

# Columns of its faces: normal, area, centroid, second moments of area about it along two tangents,
# weight, pressure at the centroid, its slope along the normal, and its gradient along the plane.
_FACE_COLUMNS = 16

_STACK = 4096
# A tetrahedron's section has up to four corners, and each of four planes adds at most one.
_CORNERS = 12
_CORNERS_KEPT = 8

FIELD_WORK = Layout(
    "search for contact polygons",
    point=f"f8[points, {POINT_COLUMNS}]",
    point_count="i8",
    stack=f"i8[{_STACK}, 2]",
    polygon=f"f8[{_CORNERS}, 3]",
    clipped=f"f8[{_CORNERS}, 3]",
    value="f8[4]",
    moved="f8[4, 3]",  # vertices of a tetrahedron of the second geom, in the frame of the first
    centre="f8[3]",
    rotation="f8[3, 3]",  # of the second geom in the frame of the first
    translation="f8[3]",
    # faces: polygons, or all in one plane of the same two linear pressures, as of one
    face_count="i8",
    face=f"f8[points, {_FACE_COLUMNS}]",
    face_key="i8[points, 2]",  # cells or facets
    # polygons
    exact="i8",  # so many points, the first ones, are those of balls, without polygons
    keep_polygons="i8",  # whether somebody wants to see them
    corner_count="i8",
    corner=f"f8[{_CORNERS_KEPT} * points, 4]",  # position and pressure
    polygon_count="i8",
    corner_first="i8[points + 1]",
)
