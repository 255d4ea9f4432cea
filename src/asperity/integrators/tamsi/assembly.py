"""Assembly of TAMSI's Jacobian ``A + Jᵀ H J``, which is not symmetric (TAMSI equation 23).

Blocks on and above the diagonal (in the order of elimination) go where the convex Hessian has them,
those below it into TAMSI's own ``lower``. Contacts of the same two bodies are gathered first.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import compiled, entry_point
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.assembly import begin_blocks, clear_couplings
from asperity.convex.problem import PROBLEM
from asperity.integrators.tamsi.layout import TAMSI

__all__ = ["assemble_jacobian"]

_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get
_tamsi = TAMSI.get


@compiled
def _world_matrix(c, i, frame, derivative):
    """H of one contact in world axes, row by row."""
    h11, h12, h22, h1n, h2n, hnn = derivative
    ax = frame[c, 0]
    ay = frame[c, 1]
    az = frame[c, 2]
    bx = frame[c, 3]
    by = frame[c, 4]
    bz = frame[c, 5]
    nx = frame[c, 6]
    ny = frame[c, 7]
    nz = frame[c, 8]
    # Rows of H in the contact's axes times the axes.
    px = h11[i] * ax + h12[i] * bx + h1n[i] * nx
    py = h11[i] * ay + h12[i] * by + h1n[i] * ny
    pz = h11[i] * az + h12[i] * bz + h1n[i] * nz
    qx = h12[i] * ax + h22[i] * bx + h2n[i] * nx
    qy = h12[i] * ay + h22[i] * by + h2n[i] * ny
    qz = h12[i] * az + h22[i] * bz + h2n[i] * nz
    mx = hnn[i] * nx
    my = hnn[i] * ny
    mz = hnn[i] * nz
    return (
        ax * px + bx * qx + nx * mx,
        ax * py + bx * qy + nx * my,
        ax * pz + bx * qz + nx * mz,
        ay * px + by * qx + ny * mx,
        ay * py + by * qy + ny * my,
        ay * pz + by * qz + ny * mz,
        az * px + bz * qx + nz * mx,
        az * py + bz * qy + nz * my,
        az * pz + bz * qz + nz * mz,
    )


@compiled
def _add_spatial(patch, which, g, left, right, c, sign):
    """patch[which] += sign · ([r]×; 1) G (−[s]×, 1) for the arms r, s of contact c."""
    x = left[c, 0]
    y = left[c, 1]
    z = left[c, 2]
    u = right[c, 0]
    v = right[c, 1]
    w = right[c, 2]
    for i in range(3):
        a = sign * g[3 * i]
        b = sign * g[3 * i + 1]
        d = sign * g[3 * i + 2]
        # Row i of G (−[s]×, 1): (s × row, row).
        row = (v * d - w * b, w * a - u * d, u * b - v * a, a, b, d)
        # Row i of [r]× takes it to the rows i + 1 and i + 2 of the moment.
        for j in range(6):
            patch[which, 18 + 6 * i + j] += row[j]
            if i == 0:
                patch[which, 6 + j] += z * row[j]
                patch[which, 12 + j] -= y * row[j]
            elif i == 1:
                patch[which, j] -= z * row[j]
                patch[which, 12 + j] += x * row[j]
            else:
                patch[which, j] += y * row[j]
                patch[which, 6 + j] -= x * row[j]


@compiled
def _add_block(problem, tamsi, contacts, p, q, which):
    """Add a 6 × 6 patch between the links p (rows) and q (columns) to the block of their trees."""
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    tree_spatial = _problem(problem, "tree_spatial")
    position = _problem(problem, "position")
    link_tree = _contacts(contacts, "link_tree")
    link_start = _contacts(contacts, "link_start")
    link_size = _contacts(contacts, "link_size")
    dof = _contacts(contacts, "chain_dof")
    column = _contacts(contacts, "chain_column")
    patch = _tamsi(tamsi, "patch")
    right = _tamsi(tamsi, "projection")
    rows = link_tree[p]
    columns = link_tree[q]
    width = tree_size[columns]
    if rows == columns:
        target = _problem(problem, "factor")
        at = _problem(problem, "block_start")[rows]
    else:
        entry = _problem(problem, "pair_entry")[rows, columns]
        at = _problem(problem, "entry_block")[entry]
        if position[rows] < position[columns]:
            target = _problem(problem, "coupling")
        else:
            target = _tamsi(tamsi, "lower")
    if tree_spatial[rows] and tree_spatial[columns]:
        for i in range(6):
            for j in range(6):
                target[at + i * width + j] += patch[which, 6 * i + j]
        return
    wide = 6
    if not tree_spatial[columns]:
        wide = link_size[q]
        for e in range(wide):
            for i in range(6):
                value = 0.0
                for j in range(6):
                    value += patch[which, 6 * i + j] * column[link_start[q] + e, j]
                right[i, e] = value
    else:
        for i in range(6):
            for j in range(6):
                right[i, j] = patch[which, 6 * i + j]
    high = 6
    if not tree_spatial[rows]:
        high = link_size[p]
    for f in range(high):
        i = f
        if not tree_spatial[rows]:
            i = dof[link_start[p] + f] - tree_start[rows]
        for e in range(wide):
            j = e
            if not tree_spatial[columns]:
                j = dof[link_start[q] + e] - tree_start[columns]
            value = 0.0
            if tree_spatial[rows]:
                value = right[f, e]
            else:
                for k in range(6):
                    value += column[link_start[p] + f, k] * right[k, e]
            target[at + i * width + j] += value


@compiled
def _add_contacts(problem, tamsi, contacts, first, last):
    order = _problem(problem, "contact")
    h11 = _problem(problem, "h11")
    hnn = _problem(problem, "hnn")
    h22 = _problem(problem, "h22")
    derivative = (
        h11,
        _problem(problem, "h12"),
        h22,
        _problem(problem, "h1n"),
        _problem(problem, "h2n"),
        hnn,
    )
    link = _contacts(contacts, "link")
    frame = _contacts(contacts, "frame")
    arm_a = _contacts(contacts, "arm_a")
    arm_b = _contacts(contacts, "arm_b")
    patch = _tamsi(tamsi, "patch")
    i = first
    while i < last:
        c = order[i]
        a = link[c, 0]
        b = link[c, 1]
        for which in range(4):
            for k in range(36):
                patch[which, k] = 0.0
        active = False
        while i < last:
            c = order[i]
            if link[c, 0] != a or link[c, 1] != b:
                break
            if hnn[i] != 0.0 or h11[i] != 0.0 or h22[i] != 0.0:
                active = True
                g = _world_matrix(c, i, frame, derivative)
                if a >= 0:
                    _add_spatial(patch, 0, g, arm_a, arm_a, c, 1.0)
                if b >= 0:
                    _add_spatial(patch, 3, g, arm_b, arm_b, c, 1.0)
                if a >= 0 and b >= 0:
                    _add_spatial(patch, 1, g, arm_a, arm_b, c, -1.0)
                    _add_spatial(patch, 2, g, arm_b, arm_a, c, -1.0)
            i += 1
        if not active:
            continue
        if a >= 0:
            _add_block(problem, tamsi, contacts, a, a, 0)
        if b >= 0:
            _add_block(problem, tamsi, contacts, b, b, 3)
        if a >= 0 and b >= 0:
            _add_block(problem, tamsi, contacts, a, b, 1)
            _add_block(problem, tamsi, contacts, b, a, 2)


@compiled
def _add_rows(problem, tamsi, rows, first, last):
    order = _problem(problem, "row")
    curvature = _problem(problem, "row_curvature")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    position = _problem(problem, "position")
    pair_entry = _problem(problem, "pair_entry")
    entry_block = _problem(problem, "entry_block")
    factor = _problem(problem, "factor")
    upper = _problem(problem, "coupling")
    lower = _tamsi(tamsi, "lower")
    tree = _rows(rows, "tree")
    start = _rows(rows, "start")
    dof = _rows(rows, "dof")
    jacobian = _rows(rows, "jacobian")
    for k in range(first, last):
        g = curvature[k]
        if g == 0.0:
            continue
        r = order[k]
        for p in range(2):
            s = tree[r, p]
            if s < 0:
                continue
            for q in range(2):
                t = tree[r, q]
                if t < 0:
                    continue
                width = tree_size[t]
                at = block_start[s] if p == q else entry_block[pair_entry[s, t]]
                for e in range(start[r, p], start[r, p + 1]):
                    value = g * jacobian[e]
                    line = at + (dof[e] - tree_start[s]) * width - tree_start[t]
                    for f in range(start[r, q], start[r, q + 1]):
                        if p == q:
                            factor[line + dof[f]] += value * jacobian[f]
                        elif position[s] < position[t]:
                            upper[line + dof[f]] += value * jacobian[f]
                        else:
                            lower[line + dof[f]] += value * jacobian[f]


@entry_point(types.int64(types.int64, types.int64, types.int64))
def assemble_jacobian(problem, contacts, rows):
    """Fill the blocks of the island's Jacobian from the present derivatives."""
    tamsi = _problem(problem, "extension")
    island = _problem(problem, "island")
    begin_blocks(problem)
    clear_couplings(problem, _tamsi(tamsi, "lower"))
    _add_contacts(problem, tamsi, contacts, island[2], island[3])
    _add_rows(problem, tamsi, rows, island[4], island[5])
    return 0
