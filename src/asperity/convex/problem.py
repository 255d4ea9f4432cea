"""The convex problem of one step and the memory of its solver.

    min over v of  ½ vᵀ A v − rᵀ v + Σ_contacts ℓ_i(J_i v + b_i) + Σ_rows ℓ_j(J_j v)

A is block diagonal over kinematic trees. Velocities are *solver velocities*: generalized
velocities, except that a free body uses its spatial velocity at its centre of mass in world axes.

Everything that Newton's method evaluates per contact is stored field by field ("structure of
arrays") and sorted by island, so that the potentials and the line search run over contiguous
memory.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from asperity.compiled import Layout, Table
from asperity.contact.constraint_laws import DRIFT_SPEED
from asperity.convex.chains import chain_fields
from asperity.convex.divided_layout import DIVIDED_FIELDS

__all__ = [
    "ARMIJO",
    "CONVERGED",
    "EXACT",
    "MOMENTUM",
    "MOST_COORDINATES",
    "MOST_TREES",
    "NON_FINITE",
    "NOT_CONVERGED",
    "PROBLEM",
    "REDUCED_WIDTH",
    "RESIDUAL_AND_STEP",
    "STATISTICS",
    "new_problem",
    "read_statistics",
    "write_statistics",
]

# What solvers return.
CONVERGED = 0
NOT_CONVERGED = 1
NON_FINITE = 2

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
    # numbers of the laws; each law says which it uses
    "friction",  # coefficient μ
    "friction_limit",  # largest impulse of friction μ n_0, known before the step [N s]
    "friction_change",  # the last change of that bound in this solve
    "to_and_fro",  # of a patch's first point: 1 if the patch's bounds change so in this solve
    "soft_slip_square",  # ε² of a friction law smoothed by √(‖v_t‖² + ε²)
    "stiction_tolerance",  # v_s of a friction law with a ramp
    "cutoff",  # of the Hunt–Crossley normal impulse: see `asperity.convex.potentials.normal`
    "normal_slope",
    "normal_bend",
    "explicit_normal",  # part of the normal impulse that is known before the step [N s]
    "normal_target",  # v̂_n of a linear spring and damper
    "normal_gain",
    "tangential_gain",
    "dual1",  # the lagged law's estimates: of the direction of friction,
    "dual2",
    "dual_n",  # and of the final speed below the cutoff
    # the normal impulse that is expected of the solution, for the first of these; or −1
    "expected_impulse",
    "stoppable",  # slip speed that friction could stop within the step
    # of continuous forces, for analytic Jacobians: their derivatives by the signed distance
    "by_distance1",
    "by_distance2",
    "by_distance_n",
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

_ROW_FIELDS = ["u", "du", "impulse", "curvature", "target", "gain", "lower", "upper"]

PROBLEM = Layout(
    "convex problem",
    nv="i8",
    ntree="i8",
    tree_start="i8[ntree]",
    tree_size="i8[ntree]",
    tree_spatial="i8[ntree]",
    dof_tree="i8[nv]",
    block_start="i8[:]",  # of a tree's dense block in `matrix` and `factor`
    # chains of trees (`asperity.convex.chains`): numbers and masks are those within a tree
    chain_start="i8[ntree + 1]",  # of a tree's chains
    dof_chain="i8[nv]",
    chain_first="i8[chains]",  # first dof, from that of the tree
    chain_size="i8[chains]",
    chain_ancestors="i8[chains]",
    chain_neighbours="i8[chains]",  # chains before it with which it couples in the factor
    span_start="i8[chains]",  # of a chain's spans
    mass_spans="i8[chains]",  # number of spans of ancestors
    mass_span="i8[spans, 2]",  # first dof from that of the tree, number of dofs
    fill_spans="i8[chains]",  # the same of neighbours
    fill_span="i8[spans, 2]",
    tree_touched="i8[ntree]",  # chains that couple with other trees
    # chains whose rows of couplings with other trees are not zero; a chain alone has all rows
    tree_rows="i8[ntree] = 1",
    # the smooth part
    matrix="f8[matrix_room]",  # A, block by block
    plain_mass="i8",  # 1: of free bodies A is the inertia about the centre of mass, and the mass
    mass_diagonal="f8[nv] = 1",  # diag(M), which scales the norms
    mass_inverse_diagonal="f8[nv] = 1",
    rhs="f8[nv]",
    # In: guess; out: solution. This and the work vectors end with six places per link, the spatial
    # velocity (or force) of links of articulated trees; a free body's is its own part.
    velocity="f8[nv + 6 * links]",
    # In: a change of velocity along which the guess may be improved (see `EXTRAPOLATED`).
    extrapolation="f8[nv + 6 * links]",
    # Dofs of articulated trees between links and the world, by island, each one after those before
    # it (`asperity.convex.paths`)
    path_dof="i8[nv]",
    path_entry="i8[nv]",  # its column in the contact set's chains
    path_parent="i8[nv]",  # the place of the dof before it, −1 for the first of a tree
    # first place of those that follow each other, with dofs that do, to this one
    path_run="i8[nv]",
    path_columns="f8[6, nv]",  # (angular, linear) of all places, component by component
    path_force="f8[6]",  # six numbers
    path_velocity="f8[nv, 6]",  # spatial velocity there, or force of all that is beyond
    path_hessian="f8[nv, 21]",  # of contacts beyond, (P, Q, G) of `asperity.convex.spatial_hessian`
    pair_hessian="f8[1, 21]",  # the same of one pair of links
    path_active="i8[nv]",  # whether that is not zero
    dof_path="i8[nv] = -1",  # place of a dof, −1 if it has none
    link_tip="i8[links]",  # place of a link's last dof
    island_path_start="i8[ntree + 1]",
    link_order="i8[links]",  # links of articulated trees by island
    island_link_start="i8[ntree + 2]",
    # graph of trees
    islands="i8",
    components="i8 = -1",  # of the symbolic factorization, −1 if there is none
    coupling_size="i8",  # numbers in its blocks
    entries="i8",  # blocks
    order="i8[ntree]",
    position="i8[ntree]",
    column_start="i8[ntree + 1]",  # per tree, into the entry arrays
    column_size="i8[ntree]",
    entry_tree="i8[tree_pairs]",
    entry_block="i8[tree_pairs]",  # offset of the entry's block in `coupling`
    # bits of the trees with which a tree couples and that are eliminated later
    adjacency="i8[ntree, (ntree + 63) // 64]",
    waiting="i8[(ntree + 63) // 64]",  # bits of trees that are yet to be eliminated
    neighbours="i8[ntree]",  # marks and lists of trees, for whoever needs them next
    degree="i8[ntree]",  # sizes of all trees with which a tree couples
    elimination_key="i8[ntree]",  # by place: see `asperity.convex.elimination`
    elimination_slot="i8[ntree]",  # a tree's place
    component="i8[2 * ntree + 1]",  # union-find parents, then island of a tree
    island_start="i8[ntree + 1]",
    island_tree="i8[ntree]",
    island_contact_start="i8[ntree + 2]",
    island_row_start="i8[ntree + 2]",
    # factorization
    factor="f8[matrix_room]",
    factor_inverse_diagonal="f8[nv]",
    factor_island="i8[ntree]",  # trees in the island with which a tree was factorized; 0: never
    coupling="f8[coupling_room]",
    # contact space (`asperity.convex.contact_space`)
    # 1 + the first tree of the island whose matrix is factorized without contacts, or 0
    base_tree="i8",
    coordinates="i8",
    row_base="f8[rows]",  # curvature of a row in that matrix
    row_coordinate="i8[rows] = -1",  # or −1
    response=f"f8[response_room, {MOST_COORDINATES}]",  # U, dof by dof
    response_rows="i8",
    response_start="i8[ntree]",  # of a tree's rows
    response_chains="i8[ntree]",  # mask of a tree's chains in which contacts act
    delassus=f"f8[{MOST_COORDINATES}, {MOST_COORDINATES}]",  # W
    active=f"i8[{MOST_COORDINATES}]",  # coordinates with curvature,
    compliance=f"f8[2, {MOST_COORDINATES}]",  # and G⁻¹
    reduced=f"f8[{MOST_COORDINATES}, {REDUCED_WIDTH}]",  # K, and a right-hand side
    coordinate=f"f8[9, {MOST_COORDINATES}]",  # vectors: see `asperity.convex.contact_space`
    wanted_residual="f8",
    # contacts, sorted by island
    contact="i8[contacts]",  # index into the contact set
    base_a="i8[contacts]",  # where the spatial velocity of side A or B starts in a vector, or −1
    base_b="i8[contacts]",
    row="i8[rows]",
    row_entry="i8[rows] = -1",  # of its Jacobian, of a row of one dof, or −1
    row_kind="i8[rows]",
    **dict.fromkeys(_CONTACT_FIELDS, "f8[contacts]"),
    **{"row_" + name: "f8[rows]" for name in _ROW_FIELDS},
    # work vectors
    product="f8[nv]",  # A v
    gradient="f8[nv + 6 * links]",
    direction="f8[nv + 6 * links]",
    direction_product="f8[nv]",  # A p
    patch="f8[3, 36]",
    projection="f8[6, largest_tree]",
    jacobian="f8[2, 3, 6]",  # of both sides of one contact
    # [first, last) of the islands that a call of the solver is about; all where the last is 0
    first_island="i8",
    last_island="i8",
    part_longest="i8",  # iterations of the island that took most, of such parts
    shared="i8",  # address of the table of `asperity.convex.shared_islands`, or 0
    large_tree="i8",  # the one tree that may fit contact space, −1 where there are none or several
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
    prepare_contacts="i8",  # the contact law
    evaluate_contacts="i8",
    along_contacts="i8",
    contact_cost_along="i8",
    begin_estimates="i8",  # or 0
    update_estimates="i8",
    measure_contacts="i8",  # or 0: how far numbers are from agreement with the solution
    settle_contacts="i8",  # or 0: numbers that are to agree with the solution
    most_changes="i8 = 40",  # of them in a solve, after which they stay as they are
    settle_tolerance="f8 = 1e-3",  # relative change of friction by which they may differ from it
    refuse_unsettled="i8",  # 1: a solve in which they do not has not converged
    coupled="i8",  # 1 if the law couples normal and tangential
    extension="i8",  # the table of a solver that needs one of its own, or 0
    # options, statistics
    tolerance="f8 = 1e-8",  # of the solve
    absolute_tolerance="f8 = 1e-14",  # ε_a of the momentum criterion [√J]
    criterion="i8",
    max_iterations="i8 = 100",
    reused_iterations="i8",  # wished iterations with a reused Hessian (0: never reuse)
    line_search_method="i8",
    line_search_tolerance="f8 = 1e-2",  # part of |ℓ'(0)| at which an exact line search ends
    largest_search_step="f8 = 1",  # α_max
    guess_is_close="i8",  # 1 if the guess is worth taking the law's numbers from
    # interval in which the impulses of the contact set have acted, if they are those of another
    # solution from the same configuration [s]; 0: they are not
    expected_interval="f8",
    # 1: contact and row velocities of the guess are filled already
    guess_is_known="i8",
    # 1: only islands of trees that are marked are solved; the others have their solution, with all
    # that belongs to it. Cleared by the solve.
    only_marked="i8",
    tree_marked="i8[ntree]",
    extrapolated="i8",  # 1 if `extrapolation` is filled; cleared by the solve
    slip_regularization="f8 = 1e-3",  # σ of the friction laws
    # up to which equalities are restored within a step [m/s or rad/s]
    drift_speed=f"f8 = {DRIFT_SPEED}",
    near_rigid="f8 = 1",  # β of the SAP law
    relaxation_time="f8 = -1",  # [s], of contacts without one; negative: the step size
    **dict.fromkeys(STATISTICS, "i8"),
    worst_residual="f8",  # largest ‖D∇ℓ‖/s at which a solve ended without meeting its tolerance
)


def new_problem(
    *,
    tree_start: np.ndarray,
    tree_size: np.ndarray,
    tree_spatial: np.ndarray,
    contacts: int,
    links: int,
    rows: int,
    dof_parent: np.ndarray | None = None,
    max_iterations: int = 100,
    reuse_iterations: int = 0,
) -> Table:
    """Allocate a problem for a set of kinematic trees.

    ``dof_parent`` is the degree of freedom before each one in its tree, −1 for the first. Without
    it A is taken for dense within a tree.
    """
    ntree = len(tree_size)
    nv = int(np.sum(tree_size))
    block_start = np.concatenate([[0], np.cumsum(tree_size**2)]).astype(np.int64)
    largest = int(tree_size.max(initial=6))
    chains = chain_fields(tree_start, tree_size, dof_parent)
    table = Table(
        PROBLEM,
        nv=nv,
        ntree=ntree,
        links=links,
        contacts=contacts,
        rows=rows,
        chains=len(chains["chain_first"]),
        spans=len(chains["mass_span"]),
        matrix_room=int(block_start[-1]),
        coupling_room=36 * 64,
        tree_pairs=max(1, ntree * (ntree - 1) // 2),
        response_room=min(nv, MOST_TREES * largest),
        largest_tree=largest,
        tree_start=tree_start.astype(np.int64),
        tree_size=tree_size.astype(np.int64),
        tree_spatial=tree_spatial.astype(np.int64),
        dof_tree=np.repeat(np.arange(ntree, dtype=np.int64), tree_size),
        block_start=block_start,
        order=np.arange(ntree, dtype=np.int64),
        position=np.arange(ntree, dtype=np.int64),
        fewest_divided=ntree + 1,  # no island is, at first
        members=np.zeros(1, np.int64),
        max_iterations=max_iterations,
        reused_iterations=reuse_iterations,
        **chains,
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
