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

__all__ = ["assemble", "begin_blocks", "clear_couplings"]

_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_rows = CONSTRAINT_SET.get


@compiled
def _spatial_hessian(c, i, frame, arm, curvature, coupled):
    """Hessian of one contact in world axes, about the end of an arm r.

    Returns G (xx, xy, xz, yy, yz, zz), Q = [r]× G row by row and the upper triangle of
    P = [r]× G [r]×ᵀ, so that a body's block is (P, Q; Qᵀ, G).
    """
    h11, h12, h22, h1n, h2n, hnn = curvature
    ax = frame[c, 0]
    ay = frame[c, 1]
    az = frame[c, 2]
    bx = frame[c, 3]
    by = frame[c, 4]
    bz = frame[c, 5]
    nx = frame[c, 6]
    ny = frame[c, 7]
    nz = frame[c, 8]
    a = h11[i]
    b = h12[i]
    d = h22[i]
    n = hnn[i]
    # Rows of G in the contact's axes times the axes.
    px = a * ax + b * bx
    py = a * ay + b * by
    pz = a * az + b * bz
    qx = b * ax + d * bx
    qy = b * ay + d * by
    qz = b * az + d * bz
    mx = n * nx
    my = n * ny
    mz = n * nz
    if coupled:
        e = h1n[i]
        f = h2n[i]
        px += e * nx
        py += e * ny
        pz += e * nz
        qx += f * nx
        qy += f * ny
        qz += f * nz
        mx += e * ax + f * bx
        my += e * ay + f * by
        mz += e * az + f * bz
    gxx = ax * px + bx * qx + nx * mx
    gxy = ax * py + bx * qy + nx * my
    gxz = ax * pz + bx * qz + nx * mz
    gyy = ay * py + by * qy + ny * my
    gyz = ay * pz + by * qz + ny * mz
    gzz = az * pz + bz * qz + nz * mz
    x = arm[c, 0]
    y = arm[c, 1]
    z = arm[c, 2]
    qxx = y * gxz - z * gxy
    qxy = y * gyz - z * gyy
    qxz = y * gzz - z * gyz
    qyx = z * gxx - x * gxz
    qyy = z * gxy - x * gyz
    qyz = z * gxz - x * gzz
    qzx = x * gxy - y * gxx
    qzy = x * gyy - y * gxy
    qzz = x * gyz - y * gxz
    return (
        (gxx, gxy, gxz, gyy, gyz, gzz),
        (qxx, qxy, qxz, qyx, qyy, qyz, qzx, qzy, qzz),
        (
            y * qxz - z * qxy,
            z * qxx - x * qxz,
            x * qxy - y * qxx,
            z * qyx - x * qyz,
            x * qyy - y * qyx,
            x * qzy - y * qzx,
        ),
    )


@compiled
def _add6(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@compiled
def _add9(a, b):
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@compiled
def _cross_symmetric(x, y, z, g):
    """[d]× G for a symmetric G."""
    return (
        y * g[2] - z * g[1],
        y * g[4] - z * g[3],
        y * g[5] - z * g[4],
        z * g[0] - x * g[2],
        z * g[1] - x * g[4],
        z * g[2] - x * g[5],
        x * g[1] - y * g[0],
        x * g[3] - y * g[1],
        x * g[4] - y * g[2],
    )


@compiled
def _times_cross_transposed(q, x, y, z):
    """Q [d]×ᵀ, whose rows are d × (rows of Q)."""
    return (
        y * q[2] - z * q[1],
        z * q[0] - x * q[2],
        x * q[1] - y * q[0],
        y * q[5] - z * q[4],
        z * q[3] - x * q[5],
        x * q[4] - y * q[3],
        y * q[8] - z * q[7],
        z * q[6] - x * q[8],
        x * q[7] - y * q[6],
    )


@compiled
def _full(g):
    """All nine numbers of a symmetric 3 × 3 matrix."""
    return (g[0], g[1], g[2], g[1], g[3], g[4], g[2], g[4], g[5])


@compiled
def _write_patch(patch, corner, right, low, g):
    """patch = (corner, right; lowᵀ, G), row by row."""
    full = _full(g)
    for i in range(3):
        for j in range(3):
            patch[6 * i + j] = corner[3 * i + j]
            patch[6 * i + 3 + j] = right[3 * i + j]
            patch[18 + 6 * i + j] = low[3 * j + i]
            patch[21 + 6 * i + j] = full[3 * i + j]


@compiled
def _other_side(d, g, q, p):
    """Q_b, the corner of the coupling, and P_b, from (P, Q, G) about the end of A's arm.

    With r_b = r_a + d:  Q_b = Q_a + [d]× G,  coupling = (P + Q_a [d]×ᵀ, Q_a; Q_bᵀ, G) and
    P_b = P + Q_a [d]×ᵀ + [d]× Q_bᵀ.
    """
    x, y, z = d
    q_b = _add9(q, _cross_symmetric(x, y, z, g))
    between = _add9(_full(p), _times_cross_transposed(q, x, y, z))
    turned = _times_cross_transposed(q_b, x, y, z)
    p_b = (
        between[0] + turned[0],
        between[1] + turned[3],
        between[2] + turned[6],
        between[4] + turned[4],
        between[5] + turned[7],
        between[8] + turned[8],
    )
    return q_b, between, p_b


@compiled
def _project(patch, column, start, size, projection):
    """projection(6 × size) = patch · columns."""
    for e in range(size):
        for i in range(6):
            value = 0.0
            for j in range(6):
                value += patch[6 * i + j] * column[start + e, j]
            projection[i, e] = value


@compiled
def _add_lower(factor, at, p, q, g):
    """Add the lower triangle of (P, Q; Qᵀ, G) to a 6 × 6 block."""
    factor[at] += p[0]
    factor[at + 6] += p[1]
    factor[at + 7] += p[3]
    factor[at + 12] += p[2]
    factor[at + 13] += p[4]
    factor[at + 14] += p[5]
    for i in range(3):
        row = at + 18 + 6 * i
        factor[row] += q[i]
        factor[row + 1] += q[3 + i]
        factor[row + 2] += q[6 + i]
    factor[at + 21] += g[0]
    factor[at + 27] += g[1]
    factor[at + 28] += g[3]
    factor[at + 33] += g[2]
    factor[at + 34] += g[4]
    factor[at + 35] += g[5]


@compiled
def _subtract_block(coupling, at, rows, columns, corner, right, low, g):
    """Subtract (corner, right; lowᵀ, G) from a 6 × 6 block with these strides."""
    full = _full(g)
    for i in range(3):
        for j in range(3):
            upper = at + i * rows + j * columns
            lower = upper + 3 * rows
            coupling[upper] -= corner[3 * i + j]
            coupling[upper + 3 * columns] -= right[3 * i + j]
            coupling[lower] -= low[3 * j + i]
            coupling[lower + 3 * columns] -= full[3 * i + j]


@compiled
def _add_own(problem, contacts, link, p, q, g):
    """Add a Hessian (P, Q; Qᵀ, G) to the diagonal block of one link's tree."""
    factor = _problem(problem, "factor")
    tree_start = _problem(problem, "tree_start")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    tree_spatial = _problem(problem, "tree_spatial")
    tree = _contacts(contacts, "link_tree")[link]
    block = block_start[tree]
    if tree_spatial[tree]:
        _add_lower(factor, block, p, q, g)
        return
    patch = _problem(problem, "patch")[0]
    _write_patch(patch, _full(p), q, q, g)
    dof = _contacts(contacts, "chain_dof")
    column = _contacts(contacts, "chain_column")
    projection = _problem(problem, "projection")
    start = _contacts(contacts, "link_start")[link]
    size = _contacts(contacts, "link_size")[link]
    n = tree_size[tree]
    first = tree_start[tree]
    _project(patch, column, start, size, projection)
    for i in range(size):
        row = block + (dof[start + i] - first) * n - first
        for j in range(size):
            value = 0.0
            for k in range(6):
                value += column[start + i, k] * projection[k, j]
            factor[row + dof[start + j]] += value


@compiled
def _add_cross(problem, contacts, a, b, corner, right, low, g):
    """Subtract J_aᵀ S J_b with S = (corner, right; lowᵀ, G) where the links' trees meet."""
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
        _subtract_block(factor, block, 6, 1, corner, right, low, g)
        _subtract_block(factor, block, 1, 6, corner, right, low, g)
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
        if a_first:
            _subtract_block(coupling, at, 6, 1, corner, right, low, g)
        else:
            _subtract_block(coupling, at, 1, 6, corner, right, low, g)
        return
    patch = _problem(problem, "patch")[0]
    _write_patch(patch, corner, right, low, g)
    size_a = 6 if spatial_a else link_size[a]
    size_b = 6 if spatial_b else link_size[b]
    start_a = link_start[a]
    start_b = link_start[b]
    if not spatial_b:
        _project(patch, column, start_b, size_b, projection)
    for i in range(size_a):
        row = i if spatial_a else dof[start_a + i] - first_a
        for j in range(size_b):
            value = 0.0
            for k in range(6):
                right = patch[6 * k + j] if spatial_b else projection[k, j]
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
def _add_pair(problem, contacts, a, b, d, p, q, g):
    """Add the Hessian (P, Q; Qᵀ, G) of two bodies' contacts, about the end of A's (or B's) arm."""
    if a < 0 or b < 0:
        _add_own(problem, contacts, max(a, b), p, q, g)
        return
    q_b, between, p_b = _other_side(d, g, q, p)
    _add_own(problem, contacts, a, p, q, g)
    _add_own(problem, contacts, b, p_b, q_b, g)
    _add_cross(problem, contacts, a, b, between, q, q_b, g)


@compiled
def _add_contacts(problem, contacts, first, last):
    coupled = _problem(problem, "law") != LAGGED
    order = _problem(problem, "contact")
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
    frame = _contacts(contacts, "frame")
    arm_a = _contacts(contacts, "arm_a")
    arm_b = _contacts(contacts, "arm_b")
    i = first
    while i < last:
        c = order[i]
        a = link[c, 0]
        b = link[c, 1]
        d = (arm_b[c, 0] - arm_a[c, 0], arm_b[c, 1] - arm_a[c, 1], arm_b[c, 2] - arm_a[c, 2])
        g = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        p = g
        q = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        active = False
        while i < last:
            c = order[i]
            if link[c, 0] != a or link[c, 1] != b:
                break
            if hnn[i] != 0.0 or h11[i] != 0.0 or h22[i] != 0.0:
                active = True
                one = _spatial_hessian(c, i, frame, arm_a if a >= 0 else arm_b, curvature, coupled)
                g = _add6(g, one[0])
                q = _add9(q, one[1])
                p = _add6(p, one[2])
            i += 1
        if active:
            _add_pair(problem, contacts, a, b, d, p, q, g)


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


@compiled
def clear_couplings(problem, coupling):
    """Set the couplings of the island to 0, in an array of the problem's structure."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_size = _problem(problem, "tree_size")
    column_start = _problem(problem, "column_start")
    column_size = _problem(problem, "column_size")
    entry_tree = _problem(problem, "entry_tree")
    entry_block = _problem(problem, "entry_block")
    for index in range(island[0], island[1]):
        tree = listed[index]
        n = tree_size[tree]
        for entry in range(column_start[tree], column_start[tree] + column_size[tree]):
            at = entry_block[entry]
            for k in range(at, at + n * tree_size[entry_tree[entry]]):
                coupling[k] = 0.0


@compiled
def begin_blocks(problem):
    """Fill the island's diagonal blocks with A, and its couplings with 0."""
    island = _problem(problem, "island")
    listed = _problem(problem, "island_tree")
    tree_size = _problem(problem, "tree_size")
    block_start = _problem(problem, "block_start")
    matrix = _problem(problem, "matrix")
    factor = _problem(problem, "factor")
    for index in range(island[0], island[1]):
        tree = listed[index]
        block = block_start[tree]
        for k in range(block, block + tree_size[tree] * tree_size[tree]):
            factor[k] = matrix[k]
    clear_couplings(problem, _problem(problem, "coupling"))


@entry_point(types.int64(types.int64, types.int64, types.int64))
def assemble(problem, contacts, rows):
    """Fill the blocks of the island's Hessian from the present curvatures."""
    island = _problem(problem, "island")
    begin_blocks(problem)
    _add_contacts(problem, contacts, island[2], island[3])
    _add_rows(problem, rows, island[4], island[5])
    return 0
