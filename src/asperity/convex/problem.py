"""The convex problem of one step and the memory of its solver.

    min over v of  ½ vᵀ A v − rᵀ v + Σ_contacts ℓ_i(J_i v + b_i) + Σ_rows ℓ_j(J_j v)

A is block diagonal over kinematic trees. Velocities are *solver velocities*: generalized
velocities, except that a free body uses its spatial velocity at its centre of mass in world axes.

Everything that Newton's method evaluates per contact is stored field by field ("structure of
arrays") and sorted by island, so that the potentials and the line search run over contiguous
memory.

A problem is made of tables, one for each role:

- the structure: trees, chains, contacts and rows by island (``graph``);
- the model of one step: A and r (``smooth``), numbers of laws (``law``), options, and the guess;
- the iterate: velocities, directions, impulses and curvatures, and the Hessian with its factors;
- what each thread has for itself: the island at hand, the state of Newton's method there, counts
  and scratch;
- what threads share of a divided island (``division``), and addresses of entry points.

Kernels take the tables that they read. Only entry points, and what calls them, take the problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from asperity.compiled import Layout, Table
from asperity.convex.bond_fields import bond_fields
from asperity.convex.chains import chain_fields
from asperity.convex.divided_layout import DIVISION
from asperity.convex.graph_layout import BONDS, CHAINS, DIVIDED, GRAPH, PANELS, PATHS
from asperity.convex.law_layout import LAW
from asperity.convex.problem_layout import (
    AT_HAND,
    COUNTS,
    ENTRIES,
    GUESS,
    HESSIAN,
    ITERATE,
    MOST_TREES,
    NEWTON,
    OPTIONS,
    SCRATCH,
    SMOOTH,
    STATISTICS,
)

__all__ = [
    "ARMIJO",
    "ASSEMBLED",
    "CONVERGED",
    "EXACT",
    "MOMENTUM",
    "NON_FINITE",
    "NOT_CONVERGED",
    "OF_DIRECTION",
    "OF_ONE_THREAD",
    "OF_VELOCITY",
    "PAIRS",
    "PROBLEM",
    "RESIDUAL_AND_STEP",
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

PROBLEM = Layout(
    "convex problem",
    graph=GRAPH,
    smooth=SMOOTH,
    law=LAW,
    options=OPTIONS,
    guess=GUESS,
    iterate=ITERATE,
    hessian=HESSIAN,
    division=DIVISION,
    entries=ENTRIES,
    at_hand=AT_HAND,
    newton=NEWTON,
    counts=COUNTS,
    scratch=SCRATCH,
)

OF_ONE_THREAD = ("at_hand", "newton", "counts", "scratch")
"""Tables that each thread that solves islands of one problem has for itself."""


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
    inner_bonds: int = 0,
    element_points: int = 0,
    max_iterations: int = 100,
    reuse_iterations: int = 0,
) -> Table:
    """Allocate a problem for a set of kinematic trees.

    ``dof_parent`` is the degree of freedom before each one in its tree, −1 for the first. Without
    it A is taken for dense within a tree. ``bond_tree`` are pairs of trees of three dofs that A
    couples, shape (bonds, 2), and ``bond_rank`` the places of these trees in their order of
    elimination, −1 of others, shape (ntree,). Within trees there are ``inner_bonds`` more. As many
    contacts as ``element_points`` may be of points of flexes' elements.
    """
    ntree = len(tree_size)
    nv = int(np.sum(tree_size))
    block_start = np.concatenate([[0], np.cumsum(tree_size**2)]).astype(np.int64)
    largest = int(tree_size.max(initial=6))
    chains = chain_fields(tree_start, tree_size, dof_parent)
    bonds = bond_fields(tree_start, tree_size, bond_tree, bond_rank)
    bonded = len(bonds["tree"]) > 0
    sizes = {
        "contacts": contacts,
        "rows": rows,
        "links": links,
        "bonds": len(bonds["tree"]),
        "all_bonds": len(bonds["tree"]) + inner_bonds,
        "bonded_trees": ntree if bonded else 0,
        "places": path_places(nv, element_points),
    }
    sizes |= {
        "nv": nv,
        "ntree": ntree,
        "chains": len(chains["first"]),
        "spans": len(chains["mass_span"]),
        "tree_pairs": max(1, ntree * (ntree - 1) // 2),
        "panel_pairs": ntree * (ntree - 1) // 2 if bonded else 0,
        "matrix_room": int(block_start[-1]),
        "coupling_room": 36 * 64,
        "bonded_dofs": nv if bonded else 0,
        "response_room": min(nv, MOST_TREES * largest),
        "largest_tree": largest,
    }

    def made(layout: Layout, **values: Any) -> Table:
        return Table(layout, **{name: sizes[name] for name in layout.sizes}, **values)

    graph = made(
        GRAPH,
        tree_start=tree_start.astype(np.int64),
        tree_size=tree_size.astype(np.int64),
        tree_spatial=tree_spatial.astype(np.int64),
        dof_tree=np.repeat(np.arange(ntree, dtype=np.int64), tree_size),
        block_start=block_start,
        order=np.arange(ntree, dtype=np.int64),
        position=np.arange(ntree, dtype=np.int64),
        chains=made(CHAINS, **chains),
        paths=made(PATHS),
        bonds=made(BONDS, **bonds),
        panels=made(PANELS),
        divided=made(DIVIDED, fewest_trees=ntree + 1),  # no island is, at first
    )
    table = Table(
        PROBLEM,
        graph=graph,
        smooth=made(SMOOTH),
        law=made(LAW),
        options=made(OPTIONS, max_iterations=max_iterations, reused_iterations=reuse_iterations),
        guess=made(GUESS),
        iterate=made(ITERATE),
        hessian=made(HESSIAN),
        division=made(DIVISION),
        entries=made(ENTRIES),
        at_hand=made(AT_HAND),
        newton=made(NEWTON),
        counts=made(COUNTS),
        scratch=made(SCRATCH),
    )
    table.division.members = np.array([table.address], np.int64)
    return table


def read_statistics(problem: Table) -> dict[str, int]:
    """What the problem's solver has counted, by name."""
    return {name: getattr(problem.counts, name) for name in STATISTICS}


def write_statistics(problem: Table, counts: Mapping[str, int] | None = None) -> None:
    """Set the counters to these numbers, or to zero."""
    for name in STATISTICS:
        setattr(problem.counts, name, 0 if counts is None else counts[name])
