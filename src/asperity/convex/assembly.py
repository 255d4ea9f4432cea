"""Assembly of the Hessian ``A + Jᵀ G J`` into the blocks of the factorization.

Contacts of the same two bodies are gathered first: their 6 × 6 spatial Hessians add up, and only
the sum goes through the bodies' chains of joints. For free bodies it is added as it is.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled, entry_point
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.problem import LAGGED, PROBLEM

__all__ = ["assemble"]

_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get


@compiled
def _gather(patch, which, left, right, c, h11, h12, h22, hnn):
    """patch[which] += leftᵀ G right for the 3 × 6 Jacobians of one contact."""
    for i in range(6):
        a = h11 * left[c, 0, i] + h12 * left[c, 1, i]
        b = h12 * left[c, 0, i] + h22 * left[c, 1, i]
        n = hnn * left[c, 2, i]
        row = 6 * i
        for j in range(6):
            patch[which, row + j] += a * right[c, 0, j] + b * right[c, 1, j] + n * right[c, 2, j]


@compiled
def _gather_own(patch, which, jacobian, c, h11, h12, h22, hnn):
    """The same with left = right: only the lower triangle."""
    for i in range(6):
        a = h11 * jacobian[c, 0, i] + h12 * jacobian[c, 1, i]
        b = h12 * jacobian[c, 0, i] + h22 * jacobian[c, 1, i]
        n = hnn * jacobian[c, 2, i]
        row = 6 * i
        for j in range(i + 1):
            patch[which, row + j] += (
                a * jacobian[c, 0, j] + b * jacobian[c, 1, j] + n * jacobian[c, 2, j]
            )


@compiled
def _gather_coupled(patch, which, left, right, c, i, curvature):
    """patch[which] += leftᵀ G right for a G that couples normal and tangential."""
    h11, h12, h22, h1n, h2n, hnn = curvature
    for p in range(6):
        x = left[c, 0, p]
        y = left[c, 1, p]
        z = left[c, 2, p]
        a = h11[i] * x + h12[i] * y + h1n[i] * z
        b = h12[i] * x + h22[i] * y + h2n[i] * z
        n = h1n[i] * x + h2n[i] * y + hnn[i] * z
        row = 6 * p
        for q in range(6):
            patch[which, row + q] += a * right[c, 0, q] + b * right[c, 1, q] + n * right[c, 2, q]


@compiled
def _project(patch, which, column, start, size, projection):
    """projection(6 × size) = patch · columns."""
    for e in range(size):
        for i in range(6):
            value = 0.0
            for j in range(6):
                value += patch[which, 6 * i + j] * column[start + e, j]
            projection[i, e] = value


@compiled
def _add_own(problem, contacts, link, patch, which):
    """Add a patch's Hessian to the diagonal block of one link's tree."""
    factor = _problem(problem, "factor")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    tree_spatial = _problem(problem, "tree_spatial")
    tree = _contacts(contacts, "link_tree")[link]
    block = block_start[tree]
    if tree_spatial[tree]:
        for i in range(6):
            for j in range(i + 1):
                factor[block + 6 * i + j] += patch[which, 6 * i + j]
        return
    for i in range(6):
        for j in range(i):
            patch[which, 6 * j + i] = patch[which, 6 * i + j]
    dof = _contacts(contacts, "chain_dof")
    column = _contacts(contacts, "chain_column")
    projection = _problem(problem, "projection")
    start = _contacts(contacts, "link_start")[link]
    size = _contacts(contacts, "link_size")[link]
    n = tree_size[tree]
    first = tree_start[tree]
    _project(patch, which, column, start, size, projection)
    for i in range(size):
        row = block + (dof[start + i] - first) * n - first
        for j in range(size):
            value = 0.0
            for k in range(6):
                value += column[start + i, k] * projection[k, j]
            factor[row + dof[start + j]] += value


@compiled
def _add_cross(problem, contacts, a, b, patch, which):
    """Subtract a patch's coupling J_aᵀ S J_b where trees a and b meet."""
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    tree_spatial = _problem(problem, "tree_spatial")
    block_start = _problem(problem, "block_start")
    position = _problem(problem, "position")
    factor = _problem(problem, "factor")
    coupling = _problem(problem, "coupling")
    projection = _problem(problem, "projection")
    link_tree = _contacts(contacts, "link_tree")
    link_start = _contacts(contacts, "link_start")
    link_size = _contacts(contacts, "link_size")
    dof = _contacts(contacts, "chain_dof")
    column = _contacts(contacts, "chain_column")
    tree_a = link_tree[a]
    tree_b = link_tree[b]
    if tree_a == tree_b and tree_spatial[tree_a]:
        block = block_start[tree_a]
        for i in range(6):
            for j in range(6):
                factor[block + 6 * i + j] -= patch[which, 6 * i + j] + patch[which, 6 * j + i]
        return
    first_a = tree_start[tree_a]
    first_b = tree_start[tree_b]
    na = tree_size[tree_a]
    nb = tree_size[tree_b]
    same = tree_a == tree_b
    a_first = position[tree_a] < position[tree_b]
    at = 0
    if not same:
        entry = _problem(problem, "pair_entry")[tree_a, tree_b]
        at = _problem(problem, "entry_block")[entry]
    spatial_a = tree_spatial[tree_a]
    spatial_b = tree_spatial[tree_b]
    if spatial_a and spatial_b:
        for i in range(6):
            for j in range(6):
                value = patch[which, 6 * i + j]
                if a_first:
                    coupling[at + 6 * i + j] -= value
                else:
                    coupling[at + 6 * j + i] -= value
        return
    size_a = 6 if spatial_a else link_size[a]
    size_b = 6 if spatial_b else link_size[b]
    start_a = link_start[a]
    start_b = link_start[b]
    if not spatial_b:
        _project(patch, which, column, start_b, size_b, projection)
    for i in range(size_a):
        row = i if spatial_a else dof[start_a + i] - first_a
        for j in range(size_b):
            value = 0.0
            for k in range(6):
                right = patch[which, 6 * k + j] if spatial_b else projection[k, j]
                if spatial_a:
                    if k == i:
                        value = right
                else:
                    value += column[start_a + i, k] * right
            col = j if spatial_b else dof[start_b + j] - first_b
            if same:
                factor[block_start[tree_a] + row * na + col] -= value
                factor[block_start[tree_a] + col * na + row] -= value
            elif a_first:
                coupling[at + row * nb + col] -= value
            else:
                coupling[at + col * na + row] -= value


@compiled
def _add_patch(problem, contacts, a, b, patch):
    if a >= 0:
        _add_own(problem, contacts, a, patch, 0)
    if b >= 0:
        _add_own(problem, contacts, b, patch, 1)
    if a >= 0 and b >= 0:
        _add_cross(problem, contacts, a, b, patch, 2)


@compiled
def _add_contacts(problem, contacts, first, last):
    coupled = _problem(problem, "law") != LAGGED
    order = _problem(problem, "contact")
    patch = _problem(problem, "patch")
    h11 = _problem(problem, "h11")
    h12 = _problem(problem, "h12")
    h22 = _problem(problem, "h22")
    hnn = _problem(problem, "hnn")
    curvature = (
        h11,
        h12,
        h22,
        _problem(problem, "h1n"),
        _problem(problem, "h2n"),
        hnn,
    )
    link = _contacts(contacts, "link")
    jacobian_a = _contacts(contacts, "jacobian_a")
    jacobian_b = _contacts(contacts, "jacobian_b")
    i = first
    while i < last:
        a = link[order[i], 0]
        b = link[order[i], 1]
        two_sided = a >= 0 and b >= 0
        for w in range(3):
            if two_sided or (w == 0 and a >= 0) or (w == 1 and b >= 0):
                for k in range(36):
                    patch[w, k] = 0.0
        active = False
        while i < last:
            c = order[i]
            if link[c, 0] != a or link[c, 1] != b:
                break
            if hnn[i] != 0.0 or h11[i] != 0.0 or h22[i] != 0.0:
                active = True
                if coupled:
                    if a >= 0:
                        _gather_coupled(patch, 0, jacobian_a, jacobian_a, c, i, curvature)
                    if b >= 0:
                        _gather_coupled(patch, 1, jacobian_b, jacobian_b, c, i, curvature)
                    if two_sided:
                        _gather_coupled(patch, 2, jacobian_a, jacobian_b, c, i, curvature)
                    i += 1
                    continue
                if a >= 0:
                    _gather_own(patch, 0, jacobian_a, c, h11[i], h12[i], h22[i], hnn[i])
                if b >= 0:
                    _gather_own(patch, 1, jacobian_b, c, h11[i], h12[i], h22[i], hnn[i])
                if two_sided:
                    _gather(patch, 2, jacobian_a, jacobian_b, c, h11[i], h12[i], h22[i], hnn[i])
            i += 1
        if active:
            _add_patch(problem, contacts, a, b, patch)


@compiled
def _add_rows(problem, rows, first, last):
    order = _problem(problem, "row")
    curvature = _problem(problem, "row_curvature")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    position = _problem(problem, "position")
    pair_entry = _problem(problem, "pair_entry")
    entry_block = _problem(problem, "entry_block")
    factor = _problem(problem, "factor")
    coupling = _problem(problem, "coupling")
    tree = _rows(rows, "tree")
    start = _rows(rows, "start")
    dof = _rows(rows, "dof")
    jacobian = _rows(rows, "jacobian")
    for i in range(first, last):
        g = curvature[i]
        if g == 0.0:
            continue
        r = order[i]
        for part in range(2):
            t = tree[r, part]
            if t < 0:
                continue
            n = tree_size[t]
            offset = tree_start[t]
            for e in range(start[r, part], start[r, part + 1]):
                row = block_start[t] + (dof[e] - offset) * n - offset
                value = g * jacobian[e]
                for f in range(start[r, part], start[r, part + 1]):
                    factor[row + dof[f]] += value * jacobian[f]
        t = tree[r, 0]
        s = tree[r, 1]
        if s < 0:
            continue
        at = entry_block[pair_entry[t, s]]
        t_first = position[t] < position[s]
        for e in range(start[r, 0], start[r, 1]):
            for f in range(start[r, 1], start[r, 2]):
                value = g * jacobian[e] * jacobian[f]
                p = dof[e] - tree_start[t]
                q = dof[f] - tree_start[s]
                if t_first:
                    coupling[at + p * tree_size[s] + q] += value
                else:
                    coupling[at + q * tree_size[t] + p] += value


@entry_point(types.int64(types.int64, types.int64, types.int64))
def assemble(problem, contacts, rows):
    """Fill the blocks of the island's Hessian from the present curvatures."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    column_start = _problem(problem, "column_start")
    column_size = _problem(problem, "column_size")
    entry_tree = _problem(problem, "entry_tree")
    entry_block = _problem(problem, "entry_block")
    matrix = _problem(problem, "matrix")
    factor = _problem(problem, "factor")
    coupling = _problem(problem, "coupling")
    for index in range(island[0], island[1]):
        tree = listed[index]
        n = tree_size[tree]
        block = block_start[tree]
        for k in range(block, block + n * n):
            factor[k] = matrix[k]
        for entry in range(column_start[tree], column_start[tree] + column_size[tree]):
            at = entry_block[entry]
            for k in range(at, at + n * tree_size[entry_tree[entry]]):
                coupling[k] = 0.0
    _add_contacts(problem, contacts, island[2], island[3])
    _add_rows(problem, rows, island[4], island[5])
    return 0
