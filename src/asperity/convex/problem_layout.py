"""The tables of a convex problem, by role: see `asperity.convex.problem`."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "AT_HAND",
    "COUNTS",
    "ENTRIES",
    "GUESS",
    "HESSIAN",
    "ITERATE",
    "MOST_COORDINATES",
    "MOST_TREES",
    "NEWTON",
    "OPTIONS",
    "REDUCED_WIDTH",
    "SCRATCH",
    "SMOOTH",
    "STATISTICS",
]

# Of `asperity.convex.contact_space`: beyond, H itself is factorized sooner.
MOST_COORDINATES = 72
MOST_TREES = 4
REDUCED_WIDTH = MOST_COORDINATES + 8  # room for a right-hand side, in whole vectors

_CONTACT_FIELDS = [
    "v1",
    "v2",
    "vn",
    "dv1",
    "dv2",
    "dvn",
    "g1",
    "g2",
    "gn",
    "h11",
    "h12",
    "h22",
    "hnn",
    # normal with tangential: zero unless the law is `coupled`
    "h1n",
    "h2n",
]
_ROW_FIELDS = ["row_u", "row_du", "row_impulse", "row_curvature"]

STATISTICS = (
    "solves",
    "iterations",
    "longest_iterations",  # of the island that took most, summed over solves
    "factorizations",
    "reuses",
    "line_search_evaluations",
    "unsettled",  # solves whose bounds of friction, or steps whose gyroscopic forces, found no end
)
"""Counters of a problem's solver."""

OPTIONS = Layout(
    "options of a convex solver",
    tolerance="f8 = 1e-8",  # of the solve
    absolute_tolerance="f8 = 1e-14",  # ε_a of the momentum criterion [√J]
    criterion="i8",
    max_iterations="i8 = 100",
    reused_iterations="i8",  # wished iterations with a reused Hessian (0: never reuse)
    line_search_method="i8",
    line_search_tolerance="f8 = 1e-2",  # part of |ℓ'(0)| at which an exact line search ends
    largest_search_step="f8 = 1",  # α_max
    # of laws whose numbers are to agree with the solution
    most_changes="i8 = 40",  # of these numbers in a solve, after which they stay as they are
    settle_tolerance="f8 = 1e-3",  # relative change of friction by which they may differ from it
    refuse_unsettled="i8",  # 1: a solve in which they do not agree has not converged
    limit_gap="f8",  # distance at which a limit counts as reached [m or rad]
    # of single laws
    slip_regularization="f8",  # σ of the SAP law; 0: by the stiction tolerance
    near_rigid="f8 = 1",  # β of the SAP law
    relaxation_time="f8 = -1",  # [s], of contacts without one; negative: the step size
)

SMOOTH = Layout(
    "smooth part of a convex problem",
    matrix="f8[matrix_room]",  # A, block by block
    bond="f8[all_bonds, 9]",  # A between the first tree of a bond and the second,
    bond_step="f8",  # which changes little from step to step of this size; 0 where there are none
    plain_mass="i8",  # 1: of free bodies A is the inertia about the centre of mass, and the mass
    mass_diagonal="f8[nv] = 1",  # diag(M), which scales the norms
    mass_inverse_diagonal="f8[nv] = 1",
    rhs="f8[nv]",
    impulse="f8[nv]",  # of forces, δt k, which scales the residual
)
"""A and r. Solves only read it, but for forces in r that follow the velocity."""

GUESS = Layout(
    "guess of a convex problem",
    # a change of velocity along which the guess in ``velocity`` may be improved
    extrapolation="f8[nv + 6 * links]",
    extrapolated="i8",  # 1 if ``extrapolation`` is filled; cleared by the solve
    is_close="i8",  # 1 if the guess is worth taking the law's numbers from
    is_known="i8",  # 1: contact and row velocities of the guess are filled already
    # 1: only islands of trees that are marked are solved; the others have their solution, with all
    # that belongs to it. Cleared by the solve.
    only_marked="i8",
    tree_marked="i8[ntree]",
    # 1: of an island that keeps its solution, whose impulses are known elsewhere
    at_rest="i8[ntree]",
)
"""What is known of the solution before a solve, besides the velocity from which it begins."""

ITERATE = Layout(
    "iterate of a convex solver",
    # In: guess; out: solution. This and the work vectors end with six places per link, the spatial
    # velocity (or force) of links of articulated trees; a free body's is its own part.
    velocity="f8[nv + 6 * links]",
    product="f8[nv]",  # A v
    gradient="f8[nv + 6 * links]",
    direction="f8[nv + 6 * links]",
    direction_product="f8[nv]",  # A p
    # of dofs between links and the world, place by place: spatial velocity there, or force of all
    # that is beyond
    path_velocity="f8[places, 6]",
    # contacts, sorted by island
    **dict.fromkeys(_CONTACT_FIELDS, "f8[contacts]"),
    # of ellipsoidal contacts (`asperity.convex.ellipsoids`): the parts of the scaled slip that are
    # turning, zero of the other contacts beside them, how they change, and the impulses conjugate
    # to them; the direction of the scaled slip, and curvatures across it, along it beyond that, and
    # of normal with it
    **dict.fromkeys(["turn", "turn_change", "turn_impulse"], "f8[contacts, 3]"),
    slip_direction="f8[contacts, 5]",
    slip_curvature="f8[contacts, 3]",
    **dict.fromkeys(_ROW_FIELDS, "f8[rows]"),
)
"""The velocity, the direction of descent, and what contacts and rows have of both."""

HESSIAN = Layout(
    "Hessian of a convex solver",
    factor="f8[matrix_room]",  # blocks of trees: H, then its factor
    factor_inverse_diagonal="f8[nv]",
    factor_island="i8[ntree]",  # trees in the island with which a tree was factorized; 0: never
    factor_step="f8[ntree]",  # and the ``bond_step`` then
    # the same of the set of panels that is not at hand, and the ``bond_step`` of the one that is
    other_island="i8[ntree]",
    other_step="f8[ntree]",
    panels_step="f8",
    coupling="f8[coupling_room]",  # blocks between trees
    panel_kept="i8[bonded_trees]",  # 1 of panels that are factorized and stay so in this solve
    # of contacts beyond a place, (P, Q, G) of `asperity.convex.spatial_hessian`
    path_hessian="f8[places, 21]",
    path_active="i8[places]",  # whether that is not zero
    row_base="f8[rows]",  # curvature of a row in the matrix of contact space
    row_coordinate="i8[rows] = -1",  # its coordinate there, or −1
)

AT_HAND = Layout(
    "island at hand",
    # [first, last) of the islands that a call of the solver is about; all where the last is 0
    first_island="i8",
    last_island="i8",
    part_longest="i8",  # iterations of the island that took most, of such parts
    # [first, last) of the island's trees in `island_tree`, of contacts and of rows
    first_tree="i8",
    last_tree="i8",
    first_contact="i8",
    last_contact="i8",
    first_row="i8",
    last_row="i8",
    # of its parts and chunks; no parts if it is not divided
    first_part="i8",
    last_part="i8",
    first_chunk="i8",
    last_chunk="i8",
)
"""Each thread has one of its own."""

NEWTON = Layout(
    "Newton's method in the island at hand",
    begun="i8",  # 1: ``direction`` is −g, and blocks of a divided island have sums of it
    followed="i8",  # how often forces in r have followed the velocity
    changes="i8",  # of the law's numbers
    bounds_square="f8",  # bounds of friction, and how far they are from those of the velocities
    changes_square="f8",
    disagreement="f8",  # of the law's numbers with the velocities, when last looked at
    # line search
    smooth_slope="f8",  # of the quadratic part at α = 0
    smooth_curvature="f8",
    search_cost="f8",  # of contacts and rows at α = 0
    search_slope="f8",  # of everything at α = 0
    search_step="f8",  # part of the last direction that was taken
    contact_curvature="f8",  # the contacts' second derivative where they were last evaluated
    # iterations
    in_contact_space="i8",  # 1 if directions are those of contact space
    has_factors="i8",  # 1 if there are factors of just this island
    has_old_factors="i8",  # 1: those with bonds are of an earlier solve
    wanted_residual="f8",
    residual="f8",  # ‖D ∇ℓ‖
    previous_residual="f8",  # one iteration ago
    least_residual="f8",  # so far, with those that are not much smaller left out
    stalled="i8",  # iterations since then
    direction_ends="i8",  # where the direction leads (`asperity.convex.contact_space`)
    direction_length="f8",  # ‖D⁻¹ p‖
    step_length="f8",  # of the part that was taken
    rate="f8",  # θ, by which it has shrunk
)
"""Each thread has one of its own."""

COUNTS = Layout(
    "counts of a convex solver",
    **dict.fromkeys(STATISTICS, "i8"),
    worst_residual="f8",  # largest ‖D∇ℓ‖/s at which a solve ended without meeting its tolerance
)
"""Each thread has one of its own; they are added up at the end of a solve."""

SCRATCH = Layout(
    "scratch of a convex solver",
    path_force="f8[6]",
    pair_hessian="f8[1, 21]",  # (P, Q, G) of one pair of links
    # contact space (`asperity.convex.contact_space`)
    # 1 + the first tree of the island whose matrix is factorized without contacts, or 0
    base_tree="i8",
    coordinates="i8",
    contact_coordinates="i8",  # the first of them
    response=f"f8[response_room, {MOST_COORDINATES}]",  # U, dof by dof
    response_rows="i8",
    response_start="i8[ntree]",  # of a tree's rows
    response_chains="i8[ntree]",  # mask of a tree's chains in which contacts act
    delassus=f"f8[{MOST_COORDINATES}, {MOST_COORDINATES}]",  # −W, which there is a kernel for
    active=f"i8[{MOST_COORDINATES}]",  # coordinates with curvature,
    sign=f"f8[{MOST_COORDINATES}]",  # and that of their pivots
    sticking=f"i8[{MOST_COORDINATES}]",  # 1 of the island's contacts that are taken to stick
    reduced=f"f8[{MOST_COORDINATES}, {REDUCED_WIDTH}]",  # K, and a right-hand side
    coordinate=f"f8[10, {MOST_COORDINATES}]",  # vectors: see `asperity.convex.contact_space`
    # assembly
    patch="f8[3, 36]",
    projection="f8[6, largest_tree]",
    jacobian="f8[2, 3, 6]",  # of both sides of one contact
    # panels (`asperity.convex.particles`)
    tree_column="i8[bonded_trees]",  # of a tree in the panel at hand
    run="i8[bonded_trees, 3]",  # of its columns
    panel_part="f8[4 * (bonded_dofs + 8)]",  # of a vector, or products of four columns
)
"""What belongs to the island at hand, wherever it is. Each thread has one of its own."""

ENTRIES = Layout(
    "entry points of a convex solver",
    assemble="i8",
    factorize="i8",
    solve_factors="i8",
    line_search="i8",
    solve_in_contact_space="i8",  # or 0
    # where there are bonds (`asperity.convex.particles.solver`)
    assemble_trees="i8",
    factorize_trees="i8",
    solve_trees="i8",
    list_panels="i8",
    touch_panels="i8",
    couple_points="i8",
    prepare_order="i8",
    multiply_bonds="i8",
    # of divided islands
    share_phase="i8",
    do_phase="i8",
    assemble_divided="i8",
    factorize_divided="i8",
    solve_divided="i8",
    # what lets forces in r follow the velocity, or 0, and what it is called with
    follow_forces="i8",
    follower="i8",
)
"""Addresses of compiled entry points, which are set where the solver is installed."""
