"""Bonds: the blocks of A between particles of deformable bodies, and edges that twist.

A is otherwise block diagonal over kinematic trees. The bonds are the same in every step. Trees that
bonds connect are one island, whatever touches them.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.vector_rows import multiply_blocks
from asperity.convex.problem import OF_VELOCITY, PROBLEM

__all__ = ["add_bonds", "multiply_bonds"]

_PARTICLE = 3  # dofs; loops of so many are unrolled


@compiled
def _multiply(graph: Table, smooth: Table, tree: int, x: np.ndarray, out: np.ndarray) -> None:
    """Add to A x what a tree's bonds contribute of which it is the first tree, to both trees."""
    bonds = graph.bonds
    if bonds.own_first[tree] == bonds.own_first[tree + 1]:
        return  # no particle: it may have less than three degrees of freedom
    value = smooth.bond
    start = graph.tree_start[tree]
    if bonds.own_three[tree] == 1:
        multiply_blocks(
            start,
            bonds.own.ctypes.data + 8 * bonds.own_first[tree],
            bonds.own_first[tree + 1] - bonds.own_first[tree],
            value.ctypes.data,
            bonds.own_column.ctypes.data + 8 * bonds.own_first[tree],
            x.ctypes.data,
            out.ctypes.data,
        )
        return
    n = graph.tree_size[tree]
    # Numbers of a bond's matrix that are not a tree's are zero.
    a = x[start]
    b = x[start + 1] if n > 1 else 0.0
    c = x[start + 2] if n > 1 else 0.0
    u = 0.0
    v = 0.0
    w = 0.0
    for place in range(bonds.own_first[tree], bonds.own_first[tree + 1]):
        bond = bonds.own[place]
        other = bonds.tree[bond, 1]
        first = graph.tree_start[other]
        for j in range(graph.tree_size[other]):
            x_j = x[first + j]
            u += value[bond, j] * x_j
            v += value[bond, 3 + j] * x_j
            w += value[bond, 6 + j] * x_j
            out[first + j] += value[bond, j] * a + value[bond, 3 + j] * b + value[bond, 6 + j] * c
    out[start] += u
    if n > 1:
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
def add_bonds(graph: Table, smooth: Table, hessian: Table, tree: int) -> None:
    """Add a tree's bonds with trees that are eliminated later to its panel."""
    bonds, panels, sizes = graph.bonds, graph.panels, graph.tree_size
    coupling = hessian.coupling
    n = sizes[tree]
    stride = panels.stride[panels.of_tree[tree]]
    for place in range(bonds.first[tree], bonds.first[tree + 1]):
        bond = bonds.end[place] >> 1
        second = bonds.end[place] & 1
        at = bonds.at[bond]
        value = smooth.bond[bond]
        row = 1 if second else 3
        m = sizes[bonds.tree[bond, 1 - second]]
        if n == _PARTICLE and m == _PARTICLE:
            for i in range(_PARTICLE):
                for j in range(_PARTICLE):
                    coupling[at + i * stride + j] += value[i * row + j * (4 - row)]
            continue
        for i in range(n):
            for j in range(m):
                coupling[at + i * stride + j] += value[i * row + j * (4 - row)]
