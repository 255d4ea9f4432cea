"""What stays of deformations at a step's end, and what it changes by.

It is `asperity.soft.flow.flow` and `asperity.soft.folds.flow_of_folds` of the end's positions
and of what was before,

    c⁺ = W T(U(q⁺), A c),

with matrices A and W of an element, of which what flows, T, has the derivative of the branch that
the step has taken: the identity where nothing flows. T and folds are differentiated by complex
steps, Im T(x + i h)/h with h near zero, which are exact (W. Squire, G. Trapp, SIAM Rev. 40, 1998).
U = Rᵀ F changes by Rᵀ dF − ω × U, with ω of `asperity.derivatives.balance.elastic_columns`.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.derivatives.balance.elastic_columns import fill_inverse, fill_spin
from asperity.derivatives.stages import call_stage, stage
from asperity.integrators.world_layout import OK
from asperity.plant.elasticity import find_positions
from asperity.soft.corotation import element_rotation
from asperity.soft.flow import flow_element, flowed, stretch_of
from asperity.soft.folds import flow_fold, fold_angle
from asperity.soft.plasticity import Tensor, read_plastic, root

__all__ = [
    "COMPLEX_STEP",
    "add_flow",
    "fill_flow",
    "fill_matrix",
    "fill_root_slopes",
    "keep_plastic",
    "plastic_after",
    "pull_back_flow",
]

COMPLEX_STEP = 1e-30
_ROWS = (0, 1, 2, 0, 1, 2)
_COLUMNS = (0, 1, 2, 1, 2, 0)


@compiled
def _find_end(world: Table, work: Table) -> None:
    """Fill positions of particles at the step's end, of the world's following state."""
    copy_numbers(work.end, world.following.qpos)
    find_positions(world.plant.elastic, world.following)


@stage
def keep_plastic(world: Table, work: Table, _step: float, beside: int) -> int:
    """Fill ``flow.after`` with what stays at the step's end.

    Notes what flows; in a simulation ``beside`` it, with other parameters, the same does.
    """
    slopes, before = work.flow, work.start.plastic
    elastic = world.plant.elastic
    soft = world.following.soft
    least = 1.0 - beside
    _find_end(world, work)
    copy_numbers(before, slopes.after)
    for place in range(elastic.yielding):
        if beside == 0 or slopes.flows[place] == 1:
            flows = flow_element(
                elastic, place, soft.position, before, soft.work, slopes.after, least
            )
            if beside == 0:
                slopes.flows[place] = int(flows)
    for fold in range(elastic.folds):
        if beside == 0 or slopes.folds_flow[fold] == 1:
            flows = flow_fold(elastic, fold, soft.position, before, soft.work, slopes.after, least)
            if beside == 0:
                slopes.folds_flow[fold] = int(flows)
    return OK


@compiled
def plastic_after(world: Table, work: Table, beside: int, out: np.ndarray) -> None:
    """Fill the part of ``out`` behind the activations with what stays, as `keep_plastic` does."""
    if work.start.plastic.size > 0:
        call_stage(work.keep_plastic, world, work, 0.0, beside)
        copy_numbers(work.flow.after, out[work.start.qvel.size + work.start.act.size :])


@compiled
def _tensor(x: np.ndarray, first: int) -> Tensor:
    return (x[first], x[first + 1], x[first + 2], x[first + 3], x[first + 4], x[first + 5])


@compiled
def fill_matrix(tensor: Tensor, out: np.ndarray) -> None:
    """Fill the matrix of a symmetric tensor, shape (3, 3)."""
    for k in range(6):
        out[_ROWS[k], _COLUMNS[k]] = out[_COLUMNS[k], _ROWS[k]] = tensor[k]


@compiled
def fill_root_slopes(tensor: Tensor, squared: bool, x: np.ndarray, out: np.ndarray) -> None:
    """Fill what U_p changes by with what a state keeps; ``x`` are six complex numbers."""
    for k in range(6):
        for i in range(6):
            x[i] = tensor[i]
            out[i, k] = 1.0 if i == k else 0.0
        if squared:
            x[k] += COMPLEX_STEP * 1j
            found = root(_tensor(x, 0))
            for i in range(6):
                out[i, k] = found[i].imag / COMPLEX_STEP


@compiled
def _slopes(
    elastic: Table, place: int, u: Tensor, c: Tensor, x: np.ndarray, out: np.ndarray
) -> None:
    """Fill what T changes by with U and with what was, shape (6, 12)."""
    for k in range(12):
        for i in range(6):
            x[i] = u[i]
            x[6 + i] = c[i]
        x[k] += COMPLEX_STEP * 1j
        old = _tensor(x, 6)
        if elastic.plastic_squared[place] == 1:
            old = root(old)
        _, found = flowed(elastic, place, _tensor(x, 0), old, 0.0)
        for i in range(6):
            out[i, k] = found[i].imag / COMPLEX_STEP


@compiled
def _fill_stretch_slopes(
    r: np.ndarray, g: np.ndarray, u: np.ndarray, spin: np.ndarray, out: np.ndarray
) -> None:
    """Fill what U changes by with the displacement of a vertex with the gradient g, (6, 3)."""
    for j in range(3):
        for k in range(6):
            value = 0.0
            for side in range(2):
                a = _ROWS[k] if side == 0 else _COLUMNS[k]
                b = _COLUMNS[k] if side == 0 else _ROWS[k]
                one = (a + 1) % 3
                two = (a + 2) % 3
                value += r[3 * j + a] * g[b] - spin[one, j] * u[two, b] + spin[two, j] * u[one, b]
            out[k, j] = 0.5 * value


@compiled
def _fill_element(
    elastic: Table,
    position: np.ndarray,
    before: np.ndarray,
    place: int,
    pad: np.ndarray,
    out: np.ndarray,
    tail: np.ndarray,
) -> None:
    """Fill what T of an element changes by with positions, and ``tail`` with c⁺ by c, c first."""
    element = elastic.plastic_element[place]
    _, kept = read_plastic(elastic, before, place)
    element_rotation(elastic, position, element, pad)
    r, f = pad[1], pad[2]
    u = stretch_of(r, f)
    slopes = np.empty((6, 12))
    _slopes(elastic, place, u, kept, np.empty(12, np.complex128), slopes)
    matrix = np.empty((3, 3))
    fill_matrix(u, matrix)
    inverse = np.empty((3, 3))
    spin = np.empty((3, 3))
    by_vertex = np.empty((6, 3))
    fill_inverse(r, f, inverse)
    begin = elastic.element_first[element]
    for a in range(elastic.element_first[element + 1] - begin):
        g = elastic.place_gradient[begin + a]
        fill_spin(r, g, inverse, spin)
        _fill_stretch_slopes(r, g, matrix, spin, by_vertex)
        for i in range(6):
            for j in range(3):
                value = 0.0
                for k in range(6):
                    value += slopes[i, k] * by_vertex[k, j]
                out[i, 3 * a + j] = value
    first = elastic.plastic_first[place]
    count = elastic.plastic_first[place + 1] - first
    read, write = elastic.plastic_read[place], elastic.plastic_write[place]
    for one in range(count):
        for other in range(count):
            value = 0.0
            for i in range(6):
                for k in range(6):
                    value += (
                        elastic.plastic_matrix[write + 6 * other + i]
                        * slopes[i, 6 + k]
                        * elastic.plastic_matrix[read + k * count + one]
                    )
            tail[elastic.plastic_slot[first + one], elastic.plastic_slot[first + other]] = value


@compiled
def _fill_fold(
    elastic: Table, fold: int, position: np.ndarray, pad: np.ndarray, out: np.ndarray
) -> None:
    """Fill what stays of a fold that flows by the positions of its four vertices; both complex."""
    for v in range(4):
        p = elastic.fold_particle[fold, v]
        for j in range(3):
            before = position[p, j]
            position[p, j] += COMPLEX_STEP * 1j
            angle = fold_angle(elastic, fold, position, pad)
            position[p, j] = before
            out[3 * v + j] = angle.imag / COMPLEX_STEP / elastic.fold_unit[fold]


@compiled
def fill_flow(world: Table, work: Table) -> None:
    """Fill ``flow`` and, of columns by what stays at the beginning, what they say of the end."""
    start, slopes = work.start, work.flow
    size = start.plastic.size
    elastic = world.plant.elastic
    soft = world.following.soft
    behind = work.columns.shape[1] - size
    first = work.result.shape[0] - size
    tail = work.columns[first : first + size, behind:]
    for s in range(size):
        for i in range(size):
            tail[s, i] = 1.0 if s == i else 0.0
    _find_end(world, work)
    for place in range(elastic.yielding):
        if slopes.flows[place] == 1:
            _fill_element(
                *(elastic, soft.position, start.plastic, place, soft.work),
                *(slopes.by_position[place], tail),
            )
    if elastic.folds == 0:
        return
    position = soft.position.astype(np.complex128)
    pad = np.empty(soft.work.shape, np.complex128)
    for fold in range(elastic.folds):
        if slopes.folds_flow[fold] == 1:
            tail[elastic.fold_slot[fold], elastic.fold_slot[fold]] = 0.0
            _fill_fold(elastic, fold, position, pad, slopes.fold_by_position[fold])


@compiled
def add_flow(elastic: Table, work: Table, count: int) -> None:
    """Add to rows of ``result`` of what stays what they change by with the end's positions."""
    slopes, result = work.flow, work.result
    behind = result.shape[0] - work.start.plastic.size
    change = np.empty(6)
    for place in range(elastic.yielding):
        if slopes.flows[place] == 0:
            continue
        first = elastic.plastic_first[place]
        last = elastic.plastic_first[place + 1]
        element = elastic.plastic_element[place]
        begin = elastic.element_first[element]
        vertices = elastic.element_first[element + 1] - begin
        for k in range(count):
            change[:] = 0.0
            for a in range(vertices):
                dof = elastic.particle_dof[elastic.place_particle[begin + a]]
                if dof >= 0:
                    for i in range(6):
                        for j in range(3):
                            slope = slopes.by_position[place, i, 3 * a + j]
                            change[i] += slope * result[dof + j, k]
            at = elastic.plastic_write[place]
            for s in range(last - first):
                value = 0.0
                for i in range(6):
                    value += elastic.plastic_matrix[at + 6 * s + i] * change[i]
                result[behind + elastic.plastic_slot[first + s], k] += value
    for fold in range(elastic.folds):
        if slopes.folds_flow[fold] == 0:
            continue
        row = behind + elastic.fold_slot[fold]
        for v in range(4):
            dof = elastic.particle_dof[elastic.fold_particle[fold, v]]
            if dof >= 0:
                for j in range(3):
                    slope = slopes.fold_by_position[fold, 3 * v + j]
                    for k in range(count):
                        result[row, k] += slope * result[dof + j, k]


@compiled
def pull_back_flow(elastic: Table, work: Table) -> None:
    """Add to the ``adjoint`` of positions what that of what stays makes of them."""
    slopes, adjoint = work.flow, work.adjoint
    behind = adjoint.size - work.start.plastic.size
    pulled = np.empty(6)
    for place in range(elastic.yielding):
        if slopes.flows[place] == 0:
            continue
        first = elastic.plastic_first[place]
        last = elastic.plastic_first[place + 1]
        at = elastic.plastic_write[place]
        for i in range(6):
            pulled[i] = 0.0
            for s in range(last - first):
                share = adjoint[behind + elastic.plastic_slot[first + s]]
                pulled[i] += elastic.plastic_matrix[at + 6 * s + i] * share
        element = elastic.plastic_element[place]
        begin = elastic.element_first[element]
        for a in range(elastic.element_first[element + 1] - begin):
            dof = elastic.particle_dof[elastic.place_particle[begin + a]]
            if dof >= 0:
                for i in range(6):
                    for j in range(3):
                        adjoint[dof + j] += pulled[i] * slopes.by_position[place, i, 3 * a + j]
    for fold in range(elastic.folds):
        if slopes.folds_flow[fold] == 0:
            continue
        share = adjoint[behind + elastic.fold_slot[fold]]
        for v in range(4):
            dof = elastic.particle_dof[elastic.fold_particle[fold, v]]
            if dof >= 0:
                for j in range(3):
                    adjoint[dof + j] += share * slopes.fold_by_position[fold, 3 * v + j]
