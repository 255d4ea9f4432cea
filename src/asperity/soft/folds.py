"""Cloth that yields when it bends: folds of its edges that stay.

Over an edge of two triangles with unit normals n and n' the surface is folded by ψ = ±|n − n'|,
which is 2 sin of half the angle, with plus where the vertex beyond is above the first triangle. A
part ψ_p of it stays when it is let go. With the triangles' areas A and B, and what the edge e has
of the surface,

    |ψ − ψ_p| e/(A + B) ≤ 2 ε_y/t,

by the strain of its outermost fibres. At the end of a step what is beyond that flows, by itself for
every edge, as MuJoCo has it; within a step it is constant.

Of a triangle that bends (`asperity.soft.bending`) S has the parts M_q x of vertices, vectors in
space, and P_q = Σ ψ_p by the same edges. With its unit normal n, which turns with its corners by
δn = −Σ g_c (n · δx_c), the energy is

    E = ½ Σ C_qq' r_q · r_q',    r_q = M_q x − P_q n.

Forces are its gradient, and the stiffness is that of Gauss and Newton, Σ C_qq' J_qᵀ J_q' with
J_qv = m_qv 1 + P_q g_v nᵀ: it is positive semidefinite, and turning a shape that has yielded needs
no force. Elements have the stiffness without P; what follows is the rest. With p = C P and
u_q = Σ C_qq' M_q' x,

    f_v = n (m_v · p − g_v · Σ P_q u_q),
    K_vu = (m_v · p) g_u nᵀ + (m_u · p) n g_vᵀ + (P · p) (g_v · g_u) n nᵀ.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.soft.corotation import add_pair

__all__ = [
    "FOLD_BLOCK",
    "add_folds",
    "flow_fold",
    "flow_of_folds",
    "fold_angle",
    "fold_block",
    "fold_push",
    "fold_terms",
]

_PARTS = 3
FOLD_BLOCK = 9
_AXES = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@compiled
def _normal(x: np.ndarray, a: int, b: int, c: int, out: np.ndarray) -> float:
    """Fill the unit normal of three particles; returns twice their area."""
    square = 0.0
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        out[k] = (x[b, i] - x[a, i]) * (x[c, j] - x[a, j]) - (x[b, j] - x[a, j]) * (
            x[c, i] - x[a, i]
        )
        square += out[k] * out[k]
    size: float = np.sqrt(square)
    for k in range(3):
        out[k] /= size
    return size


@compiled
def _stays(table: Table, plastic: np.ndarray, bend: int, out: np.ndarray) -> bool:
    """Fill P of a triangle that bends; False if it is zero."""
    found = False
    for q in range(_PARTS):
        out[q] = 0.0
    for k in range(table.bend_fold.shape[1]):
        fold = table.bend_fold[bend, k]
        if fold < 0:
            continue
        value = table.fold_unit[fold] * plastic[table.fold_slot[fold]]
        # Not a number is not zero.
        if value != 0.0:
            found = True
            for q in range(_PARTS):
                out[q] += table.bend_share[bend, q, k] * value
    return found


@compiled
def _times_moduli(table: Table, bend: int, a: np.ndarray, out: np.ndarray, row: int) -> None:
    """Fill C times three numbers."""
    one, other = table.bend_moduli[bend, 0], table.bend_moduli[bend, 1]
    trace = other * (a[0] + a[1])
    out[row, 0] = one * a[0] + trace
    out[row, 1] = one * a[1] + trace
    out[row, 2] = 2.0 * one * a[2]


@compiled
def fold_terms(
    table: Table,
    bend: int,
    position: np.ndarray,
    plastic: np.ndarray,
    vertices: np.ndarray,
    work: np.ndarray,
    local: np.ndarray,
) -> tuple[bool, float, float]:
    """Find what a triangle that bends has of its folds that stay.

    ``vertices`` are those that it bends by, its own first. Row 2 of ``work`` gets m_v · p, row 3 n;
    ``local`` p, g of the corners, Σ P_q u_q, and u_q along one axis.

    Returns
    -------
    stays : bool
        False if nothing does; then there is no more.
    energy : float
        What it adds to that of bending without folds [J].
    along : float
        P · p.
    """
    stays, moments, normal = work[0], work[2], work[3]
    if not _stays(table, plastic, bend, stays):
        return False, 0.0, 0.0
    count = vertices.size
    a, b, c = vertices[0], vertices[1], vertices[2]
    size = _normal(position, a, b, c, normal)
    _times_moduli(table, bend, stays, local, 0)
    at = table.bend_moment[bend]
    energy = 0.0
    for k in range(3):
        local[4, k] = 0.0
    for k in range(3):
        for q in range(_PARTS):
            total = 0.0
            for v in range(count):
                part = table.bend_matrix[at + q * count + v]
                total += part * (position[vertices[v], k] - position[a, k])
            moments[q] = total
            energy -= local[0, q] * total * normal[k]
        _times_moduli(table, bend, moments, local, 5)
        for q in range(_PARTS):
            local[4, k] += stays[q] * local[5, q]
    along = 0.0
    for q in range(_PARTS):
        along += stays[q] * local[0, q]
    energy += 0.5 * along
    for v in range(3):
        i = vertices[(v + 1) % 3]
        j = vertices[(v + 2) % 3]
        for k in range(3):
            m = (k + 1) % 3
            n = (k + 2) % 3
            local[1 + v, k] = (
                normal[m] * (position[j, n] - position[i, n])
                - normal[n] * (position[j, m] - position[i, m])
            ) / size
    for v in range(count):
        total = 0.0
        for q in range(_PARTS):
            total += table.bend_matrix[at + q * count + v] * local[0, q]
        moments[v] = total
    return True, energy, along


@compiled
def fold_push(v: int, work: np.ndarray, local: np.ndarray) -> float:
    """Force on a vertex along n, after `fold_terms`."""
    push: float = work[2, v]
    if v < 3:
        for k in range(3):
            push -= local[1 + v, k] * local[4, k]
    return push


@compiled
def fold_block(v: int, w: int, along: float, work: np.ndarray, local: np.ndarray) -> bool:
    """Fill K_vw, w ≤ v, in row 1 of ``work`` behind `FOLD_BLOCK`; False if it is zero."""
    if w >= 3:
        return False
    moments, normal = work[2], work[3]
    dot = 0.0
    if v < 3:
        for k in range(3):
            dot += local[1 + v, k] * local[1 + w, k]
    for i in range(3):
        for j in range(3):
            value = moments[v] * local[1 + w, i] * normal[j]
            value += along * dot * normal[i] * normal[j]
            if v < 3:
                value += moments[w] * normal[i] * local[1 + v, j]
            work[1, FOLD_BLOCK + 3 * i + j] = value
    return True


@compiled
def add_folds(
    elastic: Table,
    position: np.ndarray,
    plastic: np.ndarray,
    work: np.ndarray,
    force: np.ndarray,
    own: np.ndarray,
    bond: np.ndarray,
    local: np.ndarray,
) -> float:
    """Add to forces and stiffnesses of bending what triangles have that stay bent; returns energy.

    Parameters are those of `asperity.soft.plasticity.add_plasticity`, and six rows of three to work
    with.
    """
    energy = 0.0
    normal = work[3]
    for bend in range(elastic.bends):
        element = elastic.bend_element[bend]
        first = elastic.element_first[element]
        place = elastic.place_particle[first : elastic.element_first[element + 1]]
        found, more, along = fold_terms(elastic, bend, position, plastic, place, work, local)
        if not found:
            continue
        energy += more
        pair = elastic.element_pair[element]
        for v in range(place.size):
            p = place[v]
            push = fold_push(v, work, local)
            for k in range(3):
                force[p, k] += push * normal[k]
            for w in range(v + 1):
                code = elastic.pair_bond[pair]
                pair += 1
                if w == v:
                    code = -1
                if code < 0 and (w < v or elastic.particle_dof[p] < 0):
                    continue
                if not fold_block(v, w, along, work, local):
                    continue
                if w == v:
                    add_pair(work[1], FOLD_BLOCK, 3, _AXES, own, p, 0)
                else:
                    add_pair(work[1], FOLD_BLOCK, 3, _AXES, bond, code >> 1, code & 1)
    return energy


@compiled
def fold_angle(table: Table, fold: int, position: np.ndarray, work: np.ndarray) -> float:
    """ψ of an edge; rows 0 and 2 of ``work`` get its triangles' normals.

    Complex numbers differentiate it.
    """
    one, other = work[0], work[2]
    a = table.fold_particle[fold, 0]
    b = table.fold_particle[fold, 1]
    c = table.fold_particle[fold, 2]
    d = table.fold_particle[fold, 3]
    _normal(position, a, b, c, one)
    _normal(position, a, d, b, other)
    apart = together = across = along = above = 0.0
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        edge = position[b, k] - position[a, k]
        apart += (one[k] - other[k]) ** 2
        together += (one[k] + other[k]) ** 2
        across += (other[i] * one[j] - other[j] * one[i]) * edge
        along += edge * edge
        above += one[k] * (position[d, k] - position[a, k])
    # |n − n'| has no derivative where the surface is flat, and the quotient none where it is shut.
    if apart.real < together.real:
        flat: float = 2.0 * across / np.sqrt(along * together)
        return flat
    angle: float = np.sqrt(apart)
    return angle if above.real >= 0.0 else -angle


@compiled
def flow_fold(
    table: Table,
    fold: int,
    position: np.ndarray,
    before: np.ndarray,
    work: np.ndarray,
    after: np.ndarray,
    least: float,
) -> bool:
    """Whether an edge flows, beyond ``least`` of its limit; fill how it stays folded then."""
    slot = table.fold_slot[fold]
    limit = table.fold_limit[fold]
    beyond = fold_angle(table, fold, position, work) - table.fold_unit[fold] * before[slot]
    # Not a number flows.
    if abs(beyond) <= least * limit:
        return False
    rest = limit if beyond > 0.0 else -limit
    after[slot] = before[slot] + (beyond - rest) / table.fold_unit[fold]
    return True


@compiled
def flow_of_folds(
    table: Table, position: np.ndarray, before: np.ndarray, work: np.ndarray, after: np.ndarray
) -> None:
    """Fill how edges stay folded after a step, with what flows at its end.

    ``after`` may be ``before``.
    """
    for fold in range(table.folds):
        flow_fold(table, fold, position, before, work, after, 1.0)
