"""The contact set: geometry and material of every contact at one configuration.

Conventions, stated here once and used everywhere
-------------------------------------------------
A contact joins geom 1 (side A) and geom 2 (side B). Its normal points from geom 1 to geom 2; the
signed distance is negative where the geoms overlap. The contact velocity is that of B relative to A
in the contact frame, with the axes (tangent 1, tangent 2, normal), so a positive third component
separates. Impulses and forces are those on B; A receives their opposite.

Bodies appear as *links*: a moving body that touches something. A link's spatial velocity is
(angular, linear) in world axes, the linear part taken at the centre of mass of the link's kinematic
tree (the reference point of MuJoCo's ``cdof``). With it the contact velocity is

    v_c = R ((v_b + ω_b × arm_b) − (v_a + ω_a × arm_a)) + surface_velocity,

with the contact's axes as the rows of R, so that a side's Jacobian is ``R (−[arm]×, 1)``. A side
that is fixed to the world has link −1 and no term. A link belongs to a tree. If the tree is
*spatial* (one free body), its solver velocity is V itself; otherwise V is the sum over the degrees
of freedom between the link and the world,
``V = Σ chain_column[i] · v[chain_dof[i]]``.

Friction has one coefficient μ for a slip of two components, the first two of v_c. Where it has
others besides, for the second tangent, for torsion or for rolling, the contact is *ellipsoidal*,
and the same law holds for a *scaled slip* of five components
(docs/equations.md, ‘Friction of all kinds’),

    u = (v_1, s_0 v_2, s_1 ω_1, s_2 ω_2, s_3 ω_n),

with the velocity ω = R (ω_b − ω_a) of B's turning relative to A.
"""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["CONTACT_SET"]

CONTACT_SET = Layout(
    "contact set",
    # Sizes are room for contacts, for links, and for all their chains of dofs one after another.
    count="i8",  # of contacts
    ellipsoids="i8",  # 0 if no contact is ellipsoidal
    link_count="i8",
    patch_count="i8",
    # one entry per link
    link_tree="i8[links]",
    link_start="i8[links]",  # first entry in the chain arrays; meaningless for spatial trees
    link_size="i8[links]",
    # 1 of a point of an element: dofs of several trees, of which `link_tree` is one; no turning
    link_soft="i8[links]",
    # of a point of an element in one tree: how many dofs, first in its chain, are vertices', which
    # no other link has with the same columns
    link_own="i8[links]",
    chain_dof="i8[chain]",
    chain_column="f8[chain, 6]",  # (angular, linear)
    # one row per contact
    link="i8[contacts, 2]",  # A, B; −1 for a body fixed to the world
    # from the centre of mass of A's tree to the contact point, world axes [m]
    arm_a="f8[contacts, 3]",
    arm_b="f8[contacts, 3]",
    signed_distance="f8[contacts]",  # [m]
    stiffness="f8[contacts]",  # [N/m]
    dissipation="f8[contacts]",  # Hunt–Crossley [s/m]
    static_friction="f8[contacts]",
    dynamic_friction="f8[contacts]",
    stiction_tolerance="f8[contacts]",  # [m/s]
    relaxation_time="f8[contacts] = -1",  # of linear dissipation [s]; negative where none is given
    inverse_mass="f8[contacts]",  # mean diagonal of J diag(M)⁻¹ Jᵀ [1/kg]
    # 0, or of an ellipsoidal contact the impulses that it has: 3, with torsion 4, with rolling 6
    ellipsoidal="i8[contacts]",
    # further coefficients over μ, for the second tangent, for rolling about both tangents [m], and
    # for torsion [m]
    slip_scale="f8[contacts, 4]",
    surface_velocity="f8[contacts, 2]",  # of B relative to A along t1, t2 [m/s]
    geom="i8[contacts, 2]",  # of a flex its number, counted on from the last geom's
    element="i8[contacts, 2] = -1",  # of a flex, or
    vertex="i8[contacts, 2] = -1",  # the vertex; −1 of geoms
    source="i8[contacts]",  # index among MuJoCo's contacts
    area="f8[contacts]",  # of a patch that the contact stands for [m²]; 0 for a point contact
    patch="i8[contacts] = -1",  # number of the patch of pressure fields, −1 for a point contact
    growth="f8[contacts] = 1",  # of the force with a power of the overlap; 1 for a point contact
    distance_change="f8[contacts]",  # of the signed distance, from that of the geoms [m]
    turning_velocity="f8[contacts, 3]",  # what turning in the step adds to the mean velocity [m/s]
    carried="f8[contacts]",  # part of the normal velocity that presses nothing in [m/s]
    point="f8[contacts, 3]",  # [m], world
    frame="f8[contacts, 9]",  # t1, t2, n in world axes, row by row
    # results of the step in which the set was used, along t1, t2, n
    impulse="f8[contacts, 3]",  # on B [N s]
    velocity="f8[contacts, 3]",  # of B relative to A at the step's end [m/s]
    # of ellipsoidal contacts: torsion and rolling, and the scaled slip at the step's end
    angular_impulse="f8[contacts, 3]",  # on B [N m s]
    slip="f8[contacts]",  # ‖u‖ [m/s]
)
