"""Chains of joints, which say where a tree's block of the Hessian is not zero.

The mass matrix couples a degree of freedom with its ancestors only, not with other branches. So a
tree is cut into *chains*, runs of joints without a branch (trunk, limbs, fingers). Long ones are
cut into pieces of a few dofs. A chain couples with its ancestors, which have smaller numbers, since
dofs are numbered from the root outwards. Eliminated from the last chain to the first, the mass
matrix has no fill (R. Featherstone, Efficient factorization of the joint-space inertia matrix for
branched kinematic trees, Int. J. Robotics Research 24, 2005). Contacts and constraints between
branches add couplings. The elimination tree gives their fill: the neighbours of an eliminated chain
become those of the nearest one among them.

Neighbours are bit masks over a tree's chains. Kernels use *spans* instead: runs of dofs of
neighbouring chains that follow each other, whose columns lie side by side in the tree's block.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers

__all__ = ["chain_fields", "fill_chains", "has_branches", "path_chains"]

# A triangle of 8 × 8 numbers is what is done one by one; all else is done by rows.
_LONGEST = 8
# Chains of a tree: bits of a mask.
_MOST = 62


def _cut(size: int, parent: np.ndarray | None) -> tuple[list[int], list[int]]:
    """First dofs of a tree's chains, and their ancestors as masks; ``parent`` is in the tree."""
    if parent is not None:
        children = np.bincount(parent[parent >= 0], minlength=size)
        follows = [
            dof > 0 and parent[dof] == dof - 1 and children[dof - 1] == 1 for dof in range(size)
        ]
        runs = [dof for dof in range(size) if not follows[dof]]
        first: list[int] = []
        for begin, end in zip(runs, [*runs[1:], size], strict=True):
            pieces = -(-(end - begin) // _LONGEST)
            first += [begin + (end - begin) * k // pieces for k in range(pieces)]
        if len(first) <= _MOST:
            masks: list[int] = []
            for begin in first:
                before = int(parent[begin])
                chain = int(np.searchsorted(first, before, side="right")) - 1
                masks.append(masks[chain] | 1 << chain if before >= 0 else 0)
            return first, masks
    piece = max(_LONGEST, -(-size // _MOST))
    first = list(range(0, size, piece))
    return first, [(1 << chain) - 1 for chain in range(len(first))]


def _spans(chains: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """First dofs and sizes of chains, with those that follow each other made one."""
    out: list[tuple[int, int]] = []
    for first, size in chains:
        if out and sum(out[-1]) == first:
            out[-1] = (out[-1][0], out[-1][1] + size)
        else:
            out.append((first, size))
    return out


def chain_fields(
    tree_start: np.ndarray, tree_size: np.ndarray, dof_parent: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Chains of all trees and spans of their ancestors, as fields of the graph's chains.

    Parameters
    ----------
    tree_start, tree_size : array of int, shape (ntree,)
        First dof and number of dofs of each tree.
    dof_parent : array of int, shape (nv,), optional
        The dof before each one, −1 for the first of a tree. Without it A is taken for dense within
        a tree.
    """
    ntree = len(tree_size)
    start = np.zeros(ntree + 1, np.int64)
    firsts: list[int] = []
    sizes: list[int] = []
    masks: list[int] = []
    spans: list[int] = []
    chain_of = np.zeros(int(np.sum(tree_size)), np.int64)
    total = 0
    for tree in range(ntree):
        size, offset = int(tree_size[tree]), int(tree_start[tree])
        parent = None
        if dof_parent is not None:
            parent = dof_parent[offset : offset + size] - offset
            parent = np.where(parent < 0, -1, parent)
        first, mask = _cut(size, parent)
        ends = [*first[1:], size]
        for chain, (begin, end) in enumerate(zip(first, ends, strict=True)):
            chain_of[offset + begin : offset + end] = chain
            spans.append(total)
            total += chain
        firsts += first
        sizes += [end - begin for begin, end in zip(first, ends, strict=True)]
        masks += mask
        start[tree + 1] = len(firsts)
    count = len(firsts)
    fields: dict[str, np.ndarray] = {
        "start": start,
        "of_dof": chain_of,
        "first": np.array(firsts, np.int64),
        "size": np.array(sizes, np.int64),
        "ancestors": np.array(masks, np.int64),
        "span_start": np.array(spans, np.int64),
        "mass_spans": np.zeros(count, np.int64),
        "mass_span": np.zeros((max(total, 1), 2), np.int64),
    }
    for tree in range(ntree):
        base = int(start[tree])
        for chain in range(base, int(start[tree + 1])):
            before = [c for c in range(base, chain) if masks[chain] >> (c - base) & 1]
            found = _spans([(firsts[c], sizes[c]) for c in before])
            fields["mass_spans"][chain] = len(found)
            for number, span in enumerate(found):
                fields["mass_span"][spans[chain] + number] = span
    return fields


@compiled
def has_branches(chains: Table, tree: int) -> bool:
    """Whether a tree has more than one chain."""
    return chains.start[tree + 1] - chains.start[tree] > 1


@compiled
def path_chains(chains: Table, tree: int, dof: int) -> int:
    """Mask of the chains between a dof and the root."""
    chain = chains.of_dof[dof]
    return chains.ancestors[chains.start[tree] + chain] | (1 << chain)


@compiled
def _couple(chains: Table, tree: int, some: int, others: int) -> None:
    """Let all chains of one mask be neighbours of all of another, in one tree."""
    start = chains.start[tree]
    for chain in range(chains.start[tree + 1] - start):
        below = (1 << chain) - 1
        if some >> chain & 1:
            chains.neighbours[start + chain] |= others & below
        if others >> chain & 1:
            chains.neighbours[start + chain] |= some & below


@compiled
def _touch_by_contacts(graph: Table, contacts: Table) -> None:
    chains = graph.chains
    for contact in range(contacts.count):
        a = contacts.link[contact, 0]
        b = contacts.link[contact, 1]
        if a < 0 or b < 0:
            continue
        tree_a = contacts.link_tree[a]
        tree_b = contacts.link_tree[b]
        if tree_a == tree_b and graph.tree_spatial[tree_a]:
            continue
        mask_a = 1
        mask_b = 1
        if not graph.tree_spatial[tree_a]:
            mask_a = path_chains(chains, tree_a, contacts.chain_dof[contacts.link_start[a]])
        if not graph.tree_spatial[tree_b]:
            mask_b = path_chains(chains, tree_b, contacts.chain_dof[contacts.link_start[b]])
        if tree_a == tree_b:
            _couple(chains, tree_a, mask_a, mask_b)
        else:
            chains.touched[tree_a] |= mask_a
            chains.touched[tree_b] |= mask_b


@compiled
def _touch_by_rows(chains: Table, rows: Table) -> None:
    for row in range(rows.count):
        if rows.start[row, 2] - rows.start[row, 0] <= 1:
            continue
        for part in range(2):
            tree = rows.tree[row, part]
            if tree < 0:
                continue
            mask = 0
            for e in range(rows.start[row, part], rows.start[row, part + 1]):
                mask |= 1 << chains.of_dof[rows.dof[e]]
            if rows.tree[row, 1] >= 0:
                chains.touched[tree] |= mask
            elif mask & (mask - 1) != 0:
                _couple(chains, tree, mask, mask)


@compiled
def _eliminate(chains: Table, tree: int) -> None:
    """Add the fill of the elimination, and make spans of neighbours."""
    start = chains.start[tree]
    last = chains.start[tree + 1] - start - 1
    span = chains.fill_span
    rows = chains.touched[tree]
    for chain in range(last, -1, -1):
        mask = chains.neighbours[start + chain]
        if rows >> chain & 1:
            rows |= mask
        at = chains.span_start[start + chain]
        number = 0
        nearest = -1
        for below in range(chain):
            if not mask >> below & 1:
                continue
            nearest = below
            first = chains.first[start + below]
            if number > 0 and span[at + number - 1, 0] + span[at + number - 1, 1] == first:
                span[at + number - 1, 1] += chains.size[start + below]
            else:
                span[at + number, 0] = first
                span[at + number, 1] = chains.size[start + below]
                number += 1
        chains.fill_spans[start + chain] = number
        if nearest >= 0:
            chains.neighbours[start + nearest] |= mask & ((1 << nearest) - 1)
    chains.rows[tree] = rows


@compiled
def fill_chains(graph: Table, contacts: Table, rows: Table) -> None:
    """Find what the factors of all trees' blocks consist of, for these contacts and rows.

    Between trees whole blocks couple; within a tree all chains that couple with another tree become
    neighbours, and ``tree_rows`` has those whose rows of these blocks are not zero.
    """
    chains = graph.chains
    if chains.neighbours.size == graph.ntree:
        return
    for tree in range(graph.ntree):
        chains.touched[tree] = 0
    copy_numbers(chains.ancestors, chains.neighbours)
    _touch_by_contacts(graph, contacts)
    _touch_by_rows(chains, rows)
    for tree in range(graph.ntree):
        if has_branches(chains, tree):
            touched = chains.touched[tree]
            if touched & (touched - 1) != 0:
                _couple(chains, tree, touched, touched)
            _eliminate(chains, tree)
