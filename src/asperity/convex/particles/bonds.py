"""Bonds: the blocks of A between particles of deformable bodies.

A is otherwise block diagonal over kinematic trees. The bonds are the same in every step. Trees that
bonds connect are one island, whatever touches them.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.convex.problem import OF_VELOCITY, PROBLEM

__all__ = ["add_bonds", "multiply_bonds"]


@compiled
def _multiply(graph: Table, smooth: Table, tree: int, x: np.ndarray, out: np.ndarray) -> None:
    """Add to a tree's part of A x what its bonds contribute."""
    bonds = graph.bonds
    if bonds.first[tree] == bonds.first[tree + 1]:
        return  # no particle: it may have less than three degrees of freedom
    value = smooth.bond
    start = graph.tree_start[tree]
    u = 0.0
    v = 0.0
    w = 0.0
    for place in range(bonds.first[tree], bonds.first[tree + 1]):
        bond = bonds.end[place] >> 1
        if bonds.end[place] & 1 == 0:
            other = graph.tree_start[bonds.tree[bond, 1]]
            a = x[other]
            b = x[other + 1]
            c = x[other + 2]
            u += value[bond, 0] * a + value[bond, 1] * b + value[bond, 2] * c
            v += value[bond, 3] * a + value[bond, 4] * b + value[bond, 5] * c
            w += value[bond, 6] * a + value[bond, 7] * b + value[bond, 8] * c
        else:
            other = graph.tree_start[bonds.tree[bond, 0]]
            a = x[other]
            b = x[other + 1]
            c = x[other + 2]
            u += value[bond, 0] * a + value[bond, 3] * b + value[bond, 6] * c
            v += value[bond, 1] * a + value[bond, 4] * b + value[bond, 7] * c
            w += value[bond, 2] * a + value[bond, 5] * b + value[bond, 8] * c
    out[start] += u
    out[start + 1] += v
    out[start + 2] += w


@entry_point(types.int64(PROBLEM.type, types.int64))
def multiply_bonds(problem: Table, which: int) -> int:
    """Add to A v or A p of the island at hand what bonds contribute.

    The first is where a solve of the island begins: factors of its matrix are void then.
    """
    iterate, graph = problem.iterate, problem.graph
    for index in range(problem.at_hand.first_tree, problem.at_hand.last_tree):
        tree = graph.island_tree[index]
        if which == OF_VELOCITY:
            _multiply(graph, problem.smooth, tree, iterate.velocity, iterate.product)
            if graph.panels.of_tree[tree] >= 0:
                problem.hessian.panel_kept[graph.panels.of_tree[tree]] = 0
        else:
            _multiply(graph, problem.smooth, tree, iterate.direction, iterate.direction_product)
    return 0


@compiled
def add_bonds(bonds: Table, panels: Table, smooth: Table, hessian: Table, tree: int) -> None:
    """Add a tree's bonds with trees that are eliminated later to its panel."""
    coupling = hessian.coupling
    stride = panels.stride[panels.of_tree[tree]]
    for place in range(bonds.first[tree], bonds.first[tree + 1]):
        bond = bonds.end[place] >> 1
        second = bonds.end[place] & 1
        if bonds.later[bond] == second:
            continue
        at = bonds.at[bond]
        value = smooth.bond[bond]
        if second == 0:
            for i in range(3):
                coupling[at + i * stride] += value[3 * i]
                coupling[at + i * stride + 1] += value[3 * i + 1]
                coupling[at + i * stride + 2] += value[3 * i + 2]
        else:
            for i in range(3):
                coupling[at + i * stride] += value[i]
                coupling[at + i * stride + 1] += value[i + 3]
                coupling[at + i * stride + 2] += value[i + 6]
