"""The convex problem of one step and the memory of its solver.

    min over v of  ½ vᵀ A v − rᵀ v + Σ_contacts ℓ_i(J_i v + b_i) + Σ_rows ℓ_j(J_j v)

A is block diagonal over kinematic trees. Velocities are *solver velocities*: generalized
velocities, except that a free body uses its spatial velocity at its centre of mass in world axes.

Everything that Newton's method evaluates per contact is stored field by field ("structure of
arrays") and sorted by island, so that the potentials and the line search run over contiguous
memory.

A problem is the smooth part, the iterate with its gradient, curvatures and factors, and what is
known of the solve at hand. Tables of their own have its structure (`GRAPH`), the numbers of its
laws (`LAW`), the options of its solver, and scratch, which each thread has for itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from asperity.compiled import Layout, Table
from asperity.convex.bond_fields import bond_fields
from asperity.convex.chains import chain_fields
from asperity.convex.divided_layout import DIVIDED_FIELDS
from asperity.convex.graph_layout import GRAPH
from asperity.convex.law_layout import LAW

__all__ = [
    "ARMIJO",
    "ASSEMBLED",
    "CONVERGED",
    "EXACT",
    "MOMENTUM",
    "MOST_COORDINATES",
    "MOST_TREES",
    "NON_FINITE",
    "NOT_CONVERGED",
    "OF_DIRECTION",
    "OF_VELOCITY",
    "PAIRS",
    "PROBLEM",
    "REDUCED_WIDTH",
    "RESIDUAL_AND_STEP",
    "SCRATCH",
    "STATISTICS",
    "UNCOUPLED",
    "new_problem",
    "path_places",
    "read_statistics",
    "write_statistics",
]

# What solvers return.
CONVERGED = 0
NOT_CONVERGED = 1
NON_FINITE = 2

# What there is for a factorization of the island at hand: the blocks of its Hessian; of a divided
# island, sums of pairs of which it is to fill them; or blocks of trees that nothing is to couple.
ASSEMBLED = 0
PAIRS = 1
UNCOUPLED = 2

# To which of A v and A p bonds are to be added.
OF_VELOCITY = 0
OF_DIRECTION = 1

# Stopping criteria (see `asperity.convex.convex_newton`) and line searches.
RESIDUAL_AND_STEP = 0
MOMENTUM = 1
EXACT = 0
ARMIJO = 1

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

_ROW_FIELDS = ["u", "du", "impulse", "curvature"]

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
    # of single laws
    slip_regularization="f8 = 1e-3",  # σ of the friction laws
    near_rigid="f8 = 1",  # β of the SAP law
    relaxation_time="f8 = -1",  # [s], of contacts without one; negative: the step size
)

SCRATCH = Layout(
    "scratch of a convex solver",
    path_force="f8[6]",
    pair_hessian="f8[1, 21]",  # (P, Q, G) of one pair of links
    # contact space (`asperity.convex.contact_space`)
    # 1 + the first tree of the island whose matrix is factorized without contacts, or 0
    base_tree="i8",
    coordinates="i8",
    response=f"f8[response_room, {MOST_COORDINATES}]",  # U, dof by dof
    response_rows="i8",
    response_start="i8[ntree]",  # of a tree's rows
    response_chains="i8[ntree]",  # mask of a tree's chains in which contacts act
    delassus=f"f8[{MOST_COORDINATES}, {MOST_COORDINATES}]",  # W
    active=f"i8[{MOST_COORDINATES}]",  # coordinates with curvature,
    compliance=f"f8[2, {MOST_COORDINATES}]",  # and G⁻¹
    reduced=f"f8[{MOST_COORDINATES}, {REDUCED_WIDTH}]",  # K, and a right-hand side
    coordinate=f"f8[9, {MOST_COORDINATES}]",  # vectors: see `asperity.convex.contact_space`
    # assembly
    patch="f8[3, 36]",
    projection="f8[6, largest_tree]",
    jacobian="f8[2, 3, 6]",  # of both sides of one contact
    # panels (`asperity.convex.particles`)
    tree_column="i8[bonded_trees]",  # of a tree in the panel at hand
    run="i8[bonded_trees, 3]",  # of its columns
    panel_part="f8[bonded_dofs]",  # of a vector
)
"""What belongs to the island at hand, wherever it is."""

PROBLEM = Layout(
    "convex problem",
    graph=GRAPH,
    law=LAW,
    options=OPTIONS,
    scratch=SCRATCH,
    # the smooth part
    matrix="f8[matrix_room]",  # A, block by block
    bond="f8[bonds, 9]",  # A between the first tree of a bond and the second
    panel_kept="i8[bonded_trees]",  # 1 of panels that are factorized and stay so in this solve
    plain_mass="i8",  # 1: of free bodies A is the inertia about the centre of mass, and the mass
    mass_diagonal="f8[nv] = 1",  # diag(M), which scales the norms
    mass_inverse_diagonal="f8[nv] = 1",
    rhs="f8[nv]",
    # In: guess; out: solution. This and the work vectors end with six places per link, the spatial
    # velocity (or force) of links of articulated trees; a free body's is its own part.
    velocity="f8[nv + 6 * links]",
    # In: a change of velocity along which the guess may be improved.
    extrapolation="f8[nv + 6 * links]",
    # dofs between links and the world, place by place
    path_velocity="f8[places, 6]",  # spatial velocity there, or force of all that is beyond
    # of contacts beyond, (P, Q, G) of `asperity.convex.spatial_hessian`
    path_hessian="f8[places, 21]",
    path_active="i8[places]",  # whether that is not zero
    # factorization
    factor="f8[matrix_room]",
    factor_inverse_diagonal="f8[nv]",
    factor_island="i8[ntree]",  # trees in the island with which a tree was factorized; 0: never
    coupling="f8[coupling_room]",
    row_base="f8[rows]",  # curvature of a row in the matrix of contact space
    row_coordinate="i8[rows] = -1",  # its coordinate there, or −1
    # contacts, sorted by island
    **dict.fromkeys(_CONTACT_FIELDS, "f8[contacts]"),
    # of ellipsoidal contacts (`asperity.convex.ellipsoids`): the parts of the scaled slip that are
    # turning, zero of the other contacts beside them, how they change, and the impulses conjugate
    # to them; the direction of the scaled slip, and curvatures across it, along it beyond that, and
    # of normal with it
    **dict.fromkeys(["turn", "turn_change", "turn_impulse"], "f8[contacts, 3]"),
    slip_direction="f8[contacts, 5]",
    slip_curvature="f8[contacts, 3]",
    **{"row_" + name: "f8[rows]" for name in _ROW_FIELDS},
    # work vectors
    product="f8[nv]",  # A v
    gradient="f8[nv + 6 * links]",
    direction="f8[nv + 6 * links]",
    direction_product="f8[nv]",  # A p
    # [first, last) of the islands that a call of the solver is about; all where the last is 0
    first_island="i8",
    last_island="i8",
    part_longest="i8",  # iterations of the island that took most, of such parts
    shared="i8",  # address of the table of `asperity.convex.shared_islands`, or 0
    # the island at hand: [first, last) of its trees in `island_tree`, of contacts and of rows
    first_tree="i8",
    last_tree="i8",
    first_contact="i8",
    last_contact="i8",
    first_row="i8",
    last_row="i8",
    **DIVIDED_FIELDS,
    changes="i8",  # of the law's numbers in this island's solve
    bounds_square="f8",  # bounds of friction, and how far they are from those of the velocities
    changes_square="f8",
    disagreement="f8",  # of the law's numbers with the velocities, when last looked at
    # line search
    smooth_slope="f8",  # of the quadratic part at α = 0
    smooth_curvature="f8",
    search_cost="f8",  # of contacts and rows at α = 0
    search_slope="f8",  # of everything at α = 0
    search_step="f8",  # part of the last direction that was taken
    # Newton's method
    in_contact_space="i8",  # 1 if directions are those of contact space
    has_factors="i8",  # 1 if there are factors of just this island
    wanted_residual="f8",
    residual="f8",  # ‖D ∇ℓ‖
    previous_residual="f8",  # one iteration ago
    least_residual="f8",  # so far, with those that are not much smaller left out
    stalled="i8",  # iterations since then
    direction_ends="i8",  # where the direction leads (`asperity.convex.contact_space`)
    direction_length="f8",  # ‖D⁻¹ p‖
    step_length="f8",  # of the part that was taken
    rate="f8",  # θ, by which it has shrunk
    contact_curvature="f8",  # the contacts' second derivative where they were last evaluated
    # compiled entry points
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
    extension="i8",  # the table of a solver that needs one of its own, or 0
    # compiled entry point that lets forces in r follow the velocity, or 0, what it is called with,
    # and how often it has been in this island's solve
    follow_forces="i8",
    follower="i8",
    followed="i8",
    guess_is_close="i8",  # 1 if the guess is worth taking the law's numbers from
    # 1: contact and row velocities of the guess are filled already
    guess_is_known="i8",
    # 1: only islands of trees that are marked are solved; the others have their solution, with all
    # that belongs to it. Cleared by the solve.
    only_marked="i8",
    tree_marked="i8[ntree]",
    extrapolated="i8",  # 1 if `extrapolation` is filled; cleared by the solve
    limit_gap="f8",  # distance at which a limit counts as reached [m or rad]
    **dict.fromkeys(STATISTICS, "i8"),
    worst_residual="f8",  # largest ‖D∇ℓ‖/s at which a solve ended without meeting its tolerance
)


def path_places(nv: int, points: int) -> int:
    """Places of dofs between links and the world, if so many contacts may be of elements' points.

    Both sides of each may be points of a tetrahedron.
    """
    return nv + 24 * points


def new_problem(
    *,
    tree_start: np.ndarray,
    tree_size: np.ndarray,
    tree_spatial: np.ndarray,
    contacts: int,
    links: int,
    rows: int,
    dof_parent: np.ndarray | None = None,
    bond_tree: np.ndarray | None = None,
    bond_rank: np.ndarray | None = None,
    max_iterations: int = 100,
    reuse_iterations: int = 0,
) -> Table:
    """Allocate a problem for a set of kinematic trees.

    ``dof_parent`` is the degree of freedom before each one in its tree, −1 for the first. Without
    it A is taken for dense within a tree. ``bond_tree`` are pairs of trees of three dofs that A
    couples, shape (bonds, 2), and ``bond_rank`` the places of these trees in their order of
    elimination, −1 of others, shape (ntree,).
    """
    ntree = len(tree_size)
    nv = int(np.sum(tree_size))
    block_start = np.concatenate([[0], np.cumsum(tree_size**2)]).astype(np.int64)
    largest = int(tree_size.max(initial=6))
    chains = chain_fields(tree_start, tree_size, dof_parent)
    bonds = bond_fields(ntree, bond_tree, bond_rank)
    bonded = len(bonds["bond_tree"]) > 0
    sizes = {
        "contacts": contacts,
        "rows": rows,
        "links": links,
        "bonds": len(bonds["bond_tree"]),
        "bonded_trees": ntree if bonded else 0,
        "places": path_places(nv, contacts if bonded else 0),
    }
    table = Table(
        PROBLEM,
        **sizes,
        nv=nv,
        ntree=ntree,
        matrix_room=int(block_start[-1]),
        coupling_room=36 * 64,
        graph=Table(
            GRAPH,
            **sizes,
            nv=nv,
            ntree=ntree,
            chains=len(chains["chain_first"]),
            spans=len(chains["mass_span"]),
            tree_pairs=max(1, ntree * (ntree - 1) // 2),
            panel_pairs=ntree * (ntree - 1) // 2 if bonded else 0,
            tree_start=tree_start.astype(np.int64),
            tree_size=tree_size.astype(np.int64),
            tree_spatial=tree_spatial.astype(np.int64),
            dof_tree=np.repeat(np.arange(ntree, dtype=np.int64), tree_size),
            block_start=block_start,
            order=np.arange(ntree, dtype=np.int64),
            position=np.arange(ntree, dtype=np.int64),
            fewest_divided=ntree + 1,  # no island is, at first
            **bonds,
            **chains,
        ),
        law=Table(LAW, contacts=contacts, rows=rows),
        options=Table(OPTIONS, max_iterations=max_iterations, reused_iterations=reuse_iterations),
        scratch=Table(
            SCRATCH,
            ntree=ntree,
            bonded_trees=sizes["bonded_trees"],
            bonded_dofs=nv if bonded else 0,
            response_room=min(nv, MOST_TREES * largest),
            largest_tree=largest,
        ),
        members=np.zeros(1, np.int64),
    )
    table.members[0] = table.address
    return table


def read_statistics(problem: Table) -> dict[str, int]:
    """What the problem's solver has counted, by name."""
    return {name: getattr(problem, name) for name in STATISTICS}


def write_statistics(problem: Table, counts: Mapping[str, int] | None = None) -> None:
    """Set the counters to these numbers, or to zero."""
    for name in STATISTICS:
        setattr(problem, name, 0 if counts is None else counts[name])
