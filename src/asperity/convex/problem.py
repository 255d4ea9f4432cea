"""The convex problem of one step and the memory of its solver.

    min over v of  ½ vᵀ A v − rᵀ v + Σ_contacts ℓ_i(J_i v + b_i) + Σ_rows ℓ_j(J_j v)

A is block diagonal over kinematic trees. Velocities are *solver velocities*: generalized
velocities, except that a free body uses its spatial velocity at its centre of mass in world axes.

Everything that Newton's method evaluates per contact is stored field by field ("structure of
arrays") and sorted by island, so that the potentials and the line search run over contiguous
memory.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Layout, Table

__all__ = [
    "ABSOLUTE_TOLERANCE",
    "ARMIJO",
    "CONVERGED",
    "CRITERION",
    "EXACT",
    "EXTRAPOLATED",
    "FACTORIZATIONS",
    "ITERATIONS",
    "LAGGED",
    "LARGEST_SEARCH_STEP",
    "LINE_SEARCH",
    "LINE_SEARCH_EVALUATIONS",
    "LINE_SEARCH_TOLERANCE",
    "LONGEST_ITERATIONS",
    "MAX_ITERATIONS",
    "MOMENTUM",
    "NEAR_RIGID",
    "NON_FINITE",
    "NOT_CONVERGED",
    "PROBLEM",
    "RELAXATION_TIME",
    "RESIDUAL_AND_STEP",
    "REUSED_ITERATIONS",
    "REUSES",
    "SAP",
    "SIMILAR",
    "SLIP_REGULARIZATION",
    "SOLVES",
    "TOLERANCE",
    "WORST_RESIDUAL",
    "grow_contacts",
    "grow_factor",
    "grow_rows",
    "new_problem",
]

# What solvers return.
CONVERGED = 0
NOT_CONVERGED = 1
NON_FINITE = 2

# Contact laws (`law`).
LAGGED = 0
SIMILAR = 1
SAP = 2

# Indices into `limits`.
MAX_ITERATIONS = 0
REUSED_ITERATIONS = 1  # wished iterations with a reused Hessian (0: never reuse)
CRITERION = 2
LINE_SEARCH = 3
EXTRAPOLATED = 4  # 1 if `extrapolation` is filled; cleared by the solve

# Stopping criteria (see `asperity.convex.newton`) and line searches.
RESIDUAL_AND_STEP = 0
MOMENTUM = 1
EXACT = 0
ARMIJO = 1

# Indices into `tolerance`.
TOLERANCE = 0  # of the solve
LINE_SEARCH_TOLERANCE = 1  # part of |ℓ'(0)| at which an exact line search ends
SLIP_REGULARIZATION = 2  # σ of the friction laws
ABSOLUTE_TOLERANCE = 3  # ε_a of the momentum criterion [√J]
LARGEST_SEARCH_STEP = 4  # α_max

# Indices into `regularization`, the numbers of the SAP law.
NEAR_RIGID = 0  # β
RELAXATION_TIME = 1  # [s], of contacts without one; negative: the step size

# Indices into `statistics`.
SOLVES = 0
ITERATIONS = 1
FACTORIZATIONS = 2
LINE_SEARCH_EVALUATIONS = 3
REUSES = 4
LONGEST_ITERATIONS = 5  # of the island that took most, summed over solves

# Index into `residuals`: largest ‖D∇ℓ‖/s at which a solve ended without meeting its tolerance.
WORST_RESIDUAL = 0

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
    # normal with tangential: only of laws that couple them
    "h1n",
    "h2n",
    # numbers of the laws; each law says which it uses
    "friction",
    "softness",
    "cutoff",
    "normal_slope",
    "normal_bend",
    "lagged_normal",
    "target",
    "normal_gain",
    "tangential_gain",
    "dual1",  # the lagged law's estimates: of the direction of friction,
    "dual2",
    "dual_n",  # and of the final speed below the cutoff
    "stoppable",  # slip speed that friction could stop within the step
]
_ROW_FIELDS = ["u", "du", "impulse", "curvature", "target", "gain", "lower", "upper"]

PROBLEM = Layout(
    "convex problem",
    nv="i8",
    ntree="i8",
    tree_start="i8[:]",
    tree_size="i8[:]",
    tree_spatial="i8[:]",
    dof_tree="i8[:]",
    block_start="i8[:]",  # of a tree's dense block in `matrix` and `factor`
    # the smooth part
    matrix="f8[:]",  # A, block by block
    mass_diagonal="f8[:]",  # diag(M), which scales the norms
    mass_inverse_diagonal="f8[:]",
    rhs="f8[:]",
    # In: guess; out: solution. This and the work vectors end with six places per link, the spatial
    # velocity (or force) of links of articulated trees; a free body's is its own part.
    velocity="f8[:]",
    # In: a change of velocity along which the guess may be improved (see `EXTRAPOLATED`).
    extrapolation="f8[:]",
    # graph of trees
    counts="i8[:]",  # islands, components of the symbolic factorization, its pairs, its entries
    order="i8[:]",
    position="i8[:]",
    column_start="i8[:]",  # per tree, into the entry arrays
    column_size="i8[:]",
    entry_tree="i8[:]",
    entry_block="i8[:]",  # offset of the entry's block in `coupling`
    pair_entry="i4[:,:]",  # entry of two trees, −1 where they do not couple
    pair_stamp="i8[:,:]",
    stamp="i8[:]",
    adjacency="u1[:,:]",
    neighbours="i8[:]",
    component="i8[:]",  # union-find parents, then island of a tree
    island_start="i8[:]",
    island_tree="i8[:]",
    island_contact_start="i8[:]",
    island_row_start="i8[:]",
    # factorization
    factor="f8[:]",
    factor_inverse_diagonal="f8[:]",
    factor_island="i8[:]",  # trees in the island with which a tree was factorized; 0: never
    coupling="f8[:]",
    # contacts, sorted by island
    law="i8",
    contact="i8[:]",  # index into the contact set
    base_a="i8[:]",  # where the spatial velocity of side A or B starts in a vector, or −1
    base_b="i8[:]",
    row="i8[:]",
    row_kind="i8[:]",
    **dict.fromkeys(_CONTACT_FIELDS, "f8[:]"),
    **{"row_" + name: "f8[:]" for name in _ROW_FIELDS},
    # work vectors
    product="f8[:]",  # A v
    gradient="f8[:]",
    direction="f8[:]",
    direction_product="f8[:]",  # A p
    patch="f8[:,:]",
    projection="f8[:,:]",
    jacobian="f8[:,:,:]",  # of both sides of one contact
    # the island at hand: trees, contacts and rows (first and last of each)
    island="i8[:]",
    # line search: smooth slope and curvature, cost at 0; step length; slope at 0; the contacts'
    # second derivative where they were last evaluated
    search="f8[:]",
    # compiled entry points
    assemble="i8",
    factorize="i8",
    solve_factors="i8",
    line_search="i8",
    prepare_contacts="i8",  # the contact law
    evaluate_contacts="i8",
    along_contacts="i8",
    contact_cost_along="i8",
    extension="i8",  # the table of a solver that needs one of its own, or 0
    # options, statistics
    tolerance="f8[:]",
    limits="i8[:]",
    regularization="f8[:]",
    statistics="i8[:]",
    residuals="f8[:]",
)


def new_problem(
    *,
    tree_start: np.ndarray,
    tree_size: np.ndarray,
    tree_spatial: np.ndarray,
    contacts: int,
    links: int,
    rows: int,
    max_iterations: int = 100,
    reuse_iterations: int = 0,
) -> Table:
    """Allocate a problem for a set of kinematic trees."""
    ntree = len(tree_size)
    nv = int(np.sum(tree_size))
    block_start = np.concatenate([[0], np.cumsum(tree_size**2)]).astype(np.int64)
    largest = int(tree_size.max(initial=6))
    table = Table(
        PROBLEM,
        nv=nv,
        ntree=ntree,
        tree_start=tree_start.astype(np.int64),
        tree_size=tree_size.astype(np.int64),
        tree_spatial=tree_spatial.astype(np.int64),
        dof_tree=np.repeat(np.arange(ntree, dtype=np.int64), tree_size),
        block_start=block_start,
        matrix=np.zeros(block_start[-1]),
        mass_diagonal=np.ones(nv),
        mass_inverse_diagonal=np.ones(nv),
        rhs=np.zeros(nv),
        velocity=np.zeros(nv + 6 * links),
        extrapolation=np.zeros(nv + 6 * links),
        law=LAGGED,
        extension=0,
        counts=np.array([0, -1, 0, 0], np.int64),
        order=np.arange(ntree, dtype=np.int64),
        position=np.arange(ntree, dtype=np.int64),
        column_start=np.zeros(ntree + 1, np.int64),
        column_size=np.zeros(ntree, np.int64),
        entry_tree=np.zeros(max(1, ntree * (ntree - 1) // 2), np.int64),
        entry_block=np.zeros(max(1, ntree * (ntree - 1) // 2), np.int64),
        pair_entry=np.full((ntree, ntree), -1, np.int32),
        pair_stamp=np.zeros((ntree, ntree), np.int64),
        stamp=np.zeros(1, np.int64),
        adjacency=np.zeros((ntree, ntree), np.uint8),
        neighbours=np.zeros(2 * ntree + 1, np.int64),
        component=np.zeros(2 * ntree + 1, np.int64),
        island_start=np.zeros(ntree + 1, np.int64),
        island_tree=np.zeros(ntree, np.int64),
        island_contact_start=np.zeros(ntree + 2, np.int64),
        island_row_start=np.zeros(ntree + 2, np.int64),
        factor=np.zeros(block_start[-1]),
        factor_inverse_diagonal=np.zeros(nv),
        factor_island=np.zeros(ntree, np.int64),
        coupling=np.zeros(36 * 64),
        product=np.zeros(nv),
        gradient=np.zeros(nv + 6 * links),
        direction=np.zeros(nv + 6 * links),
        direction_product=np.zeros(nv),
        patch=np.zeros((3, 36)),
        projection=np.zeros((6, largest)),
        jacobian=np.zeros((2, 3, 6)),
        island=np.zeros(6, np.int64),
        search=np.zeros(6),
        tolerance=np.array([1e-8, 1e-2, 1e-3, 1e-14, 1.0]),
        limits=np.array([max_iterations, reuse_iterations, RESIDUAL_AND_STEP, EXACT, 0], np.int64),
        regularization=np.array([1.0, -1.0]),
        statistics=np.zeros(8, np.int64),
        residuals=np.zeros(4),
    )
    grow_contacts(table, contacts)
    grow_rows(table, rows)
    return table


def grow_contacts(problem: Table, contacts: int) -> None:
    """Make room for so many contacts."""
    for name in ("contact", "base_a", "base_b"):
        setattr(problem, name, np.zeros(contacts, np.int64))
    for name in _CONTACT_FIELDS:
        setattr(problem, name, np.zeros(contacts))


def grow_rows(problem: Table, rows: int) -> None:
    """Make room for so many scalar constraints."""
    problem.row = np.zeros(rows, np.int64)
    problem.row_kind = np.zeros(rows, np.int64)
    for name in _ROW_FIELDS:
        setattr(problem, "row_" + name, np.zeros(rows))


def grow_factor(problem: Table, size: int) -> None:
    """Make room for so many numbers in the couplings between trees."""
    problem.coupling = np.zeros(size)
