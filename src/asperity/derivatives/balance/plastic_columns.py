"""What the momentum balance changes by with what stays of deformations.

An element that has yielded takes, with K and U_p of `asperity.soft.plasticity`,

    G = R K z',    z' = Rᵀ (δt x + δt (δt + β) v) − δt U_p X.

A change of U_p by δ changes z' by −δt δ X, g' by −U_p⁻¹ δ g', and so the stress σ of
`asperity.derivatives.balance.elastic_columns` by that of −δt Σ δ X_b g'_bᵀ − L δ U_p⁻¹.

Triangles with folds that stay (`asperity.soft.folds`) are differentiated by complex steps
(`asperity.derivatives.balance.flow`), also by positions.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.elastic_columns import (
    add_stress,
    fill_strained,
    find_stress,
    multiply,
    rest_gradients,
    subtract_rest,
    turn_back,
)
from asperity.derivatives.balance.flow import (
    COMPLEX_STEP,
    fill_flow,
    fill_matrix,
    fill_root_slopes,
)
from asperity.derivatives.stages import call_stage, stage
from asperity.integrators.world_layout import OK
from asperity.soft.corotation import element_rotation
from asperity.soft.folds import FOLD_BLOCK, fold_block, fold_push, fold_terms
from asperity.soft.plasticity import Tensor, inverse, plastic_stretch, read_plastic

__all__ = ["add_plastic_columns", "plastic_columns"]

# What `plastic_columns` fills.
_BY_PLASTIC, _BY_POSITION = 0, 1


@compiled
def _add_product(a: np.ndarray, b: np.ndarray, sign: float, out: np.ndarray) -> None:
    """Add ± a b."""
    for i in range(3):
        for j in range(3):
            for k in range(3):
                out[i, j] += sign * a[i, k] * b[k, j]


@compiled
def _fill_stretch_slopes(elastic: Table, plastic: np.ndarray, place: int, out: np.ndarray) -> None:
    """Fill what U_p of an element changes by with its slots of a state, shape (6, slots)."""
    _, kept = read_plastic(elastic, plastic, place)
    by_kept = np.empty((6, 6))
    squared = elastic.plastic_squared[place] == 1
    fill_root_slopes(kept, squared, np.empty(6, np.complex128), by_kept)
    count = elastic.plastic_first[place + 1] - elastic.plastic_first[place]
    at = elastic.plastic_read[place]
    for s in range(count):
        for i in range(6):
            out[i, s] = 0.0
            for k in range(6):
                out[i, s] += by_kept[i, k] * elastic.plastic_matrix[at + k * count + s]


@compiled
def _fill_changes(
    elastic: Table,
    place: int,
    step: float,
    stretch: Tensor,
    slopes: np.ndarray,
    strained: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill what K z' changes by with the six numbers of U_p, shape (6, 3 m).

    ``strained`` is z', ``slopes`` are the gradients g'.
    """
    element = elastic.plastic_element[place]
    first = elastic.element_first[element]
    count = elastic.element_first[element + 1] - first
    last = 2 if elastic.plastic_plane[place] >= 0.0 else 3
    gradient = np.zeros((3, 3))
    for b in range(count):
        for i in range(last):
            for j in range(3):
                gradient[i, j] += strained[3 * b + i] * slopes[b, j]
    change = np.empty(3 * count)
    back = np.empty((3, 3))
    unit = np.empty((3, 3))
    stress = np.empty((3, 3))
    turned = np.empty((3, 3))
    found = np.empty((3, 3))
    fill_matrix(inverse(stretch), back)
    find_stress(elastic, place, gradient, stress)
    for k in range(6):
        unit[:, :] = 0.0
        if k < 3:
            unit[k, k] = 1.0
        else:
            i = k - 3
            unit[i, (i + 1) % 3] = unit[(i + 1) % 3, i] = 1.0
        now = np.zeros((3, 3))
        rest = np.zeros((3, 3))
        for b in range(count):
            x = elastic.place_rest[first + b]
            for i in range(3):
                value = 0.0
                for j in range(3):
                    value -= step * unit[i, j] * x[j]
                change[3 * b + i] = value
                for j in range(3):
                    now[i, j] += value * slopes[b, j]
                    rest[i, j] += value * elastic.place_gradient[first + b, j]
        multiply(elastic, element, change, out[k])
        turned[:, :] = 0.0
        _add_product(unit, back, 1.0, turned)
        _add_product(gradient, turned, -1.0, now)
        find_stress(elastic, place, now, found)
        turned[:, :] = 0.0
        _add_product(back, unit, 1.0, turned)
        _add_product(stress, turned, -1.0, found)
        add_stress(found, slopes, 0, count, 1.0, out[k])
        find_stress(elastic, place, rest, found)
        add_stress(found, elastic.place_gradient, first, count, -1.0, out[k])


@compiled
def _add_elements(elastic: Table, work: Table, state: Table, step: float, first: int) -> None:
    """Fill columns, from row ``first``, with what elements do."""
    soft = state.soft
    width = soft.work.shape[1]
    r = soft.work[1]
    pad = np.empty((6, width))
    slopes = np.empty((width // 3, 3))
    changes = np.empty((6, width))
    moved = np.empty(3)
    for place in range(elastic.yielding):
        element = elastic.plastic_element[place]
        begin = elastic.element_first[element]
        count = elastic.element_first[element + 1] - begin
        slot = elastic.plastic_first[place]
        slots = elastic.plastic_first[place + 1] - slot
        _, stretch = plastic_stretch(elastic, state.plastic, place)
        by_slot = work.flow.stretch[place]
        _fill_stretch_slopes(elastic, state.plastic, place, by_slot)
        element_rotation(elastic, soft.position, element, soft.work)
        fill_strained(elastic, soft.position, work.velocity, element, step, r, pad)
        subtract_rest(elastic, element, step, stretch, pad[5])
        rest_gradients(elastic, element, stretch, slopes)
        _fill_changes(elastic, place, step, stretch, slopes, pad[5], changes)
        for a in range(count):
            row = elastic.particle_dof[elastic.place_particle[begin + a]]
            if row < 0:
                continue
            for k in range(6):
                turn_back(r, changes[k, 3 * a : 3 * a + 3], moved)
                for s in range(slots):
                    column = work.columns[first + elastic.plastic_slot[slot + s]]
                    for i in range(3):
                        column[row + i] += by_slot[k, s] * moved[i]


@compiled
def _fold_impulse(
    elastic: Table,
    bend: int,
    position: np.ndarray,
    plastic: np.ndarray,
    moved: np.ndarray,
    step: float,
    pad: tuple[np.ndarray, np.ndarray],
    out: np.ndarray,
) -> bool:
    """Fill −δt f + K y of what stays of a triangle's folds, all complex; False if nothing does."""
    work, local = pad
    element = elastic.bend_element[bend]
    first = elastic.element_first[element]
    place = elastic.place_particle[first : elastic.element_first[element + 1]]
    found, _, along = fold_terms(elastic, bend, position, plastic, place, work, local)
    if not found:
        return False
    normal = work[3]
    for v in range(place.size):
        push = fold_push(v, work, local)
        for i in range(3):
            out[3 * v + i] = -step * push * normal[i]
    for v in range(place.size):
        for w in range(v + 1):
            if not fold_block(v, w, along, work, local):
                continue
            for i in range(3):
                for j in range(3):
                    value = work[1, FOLD_BLOCK + 3 * i + j]
                    out[3 * v + i] += value * moved[3 * w + j]
                    if w < v:
                        out[3 * w + j] += value * moved[3 * v + i]
    return True


@compiled
def _add_bend(elastic: Table, bend: int, change: np.ndarray, column: np.ndarray) -> None:
    """Add the imaginary parts of a triangle's impulses to a column."""
    element = elastic.bend_element[bend]
    first = elastic.element_first[element]
    for v in range(elastic.element_first[element + 1] - first):
        row = elastic.particle_dof[elastic.place_particle[first + v]]
        if row >= 0:
            for i in range(3):
                column[row + i] += change[3 * v + i].imag / COMPLEX_STEP


@compiled
def _fold_columns(
    elastic: Table, work: Table, state: Table, step: float, first: int, by_position: bool
) -> None:
    """Add what folds that stay do to columns by positions, or from row ``first`` by what stays.

    Stiffnesses δt K are among those of elements, so that here y has −δt dx.
    """
    if elastic.bends == 0:
        return
    soft = state.soft
    width = soft.work.shape[1]
    position = soft.position.astype(np.complex128)
    plastic = state.plastic.astype(np.complex128)
    pad = (np.empty((4, width), np.complex128), np.empty(soft.work_points.shape, np.complex128))
    moved = np.zeros(width, np.complex128)
    change = np.empty(width, np.complex128)
    for bend in range(elastic.bends):
        element = elastic.bend_element[bend]
        begin = elastic.element_first[element]
        count = elastic.element_first[element + 1] - begin
        for v in range(count):
            p = elastic.place_particle[begin + v]
            dof = elastic.particle_dof[p]
            reach = step * (step + elastic.particle_damping[p])
            for i in range(3):
                moved[3 * v + i] = reach * work.velocity[dof + i] if dof >= 0 else 0.0
        if not by_position:
            for k in range(elastic.bend_fold.shape[1]):
                fold = elastic.bend_fold[bend, k]
                if fold < 0:
                    continue
                slot = elastic.fold_slot[fold]
                plastic[slot] += COMPLEX_STEP * 1j
                if _fold_impulse(elastic, bend, position, plastic, moved, step, pad, change):
                    _add_bend(elastic, bend, change, work.columns[first + slot])
                plastic[slot] = state.plastic[slot]
            continue
        if not _fold_impulse(elastic, bend, position, plastic, moved, step, pad, change):
            continue
        for v in range(count):
            p = elastic.place_particle[begin + v]
            dof = elastic.particle_dof[p]
            if dof < 0:
                continue
            for i in range(3):
                position[p, i] += COMPLEX_STEP * 1j
                moved[3 * v + i] -= step * COMPLEX_STEP * 1j
                _fold_impulse(elastic, bend, position, plastic, moved, step, pad, change)
                _add_bend(elastic, bend, change, work.columns[dof + i])
                position[p, i] = soft.position[p, i]
                moved[3 * v + i] += step * COMPLEX_STEP * 1j


@stage
def plastic_columns(world: Table, work: Table, step: float, what: int) -> int:
    """Fill columns by what stays at the beginning, or add to those by positions.

    The first but for what it does to tensions, the second what folds do. The current state must be
    that of the beginning, evaluated.
    """
    elastic, state = world.plant.elastic, world.current
    first = work.result.shape[0] - work.start.plastic.size
    if what == _BY_POSITION:
        _fold_columns(elastic, work, state, step, 0, True)
        return OK
    work.columns[first : work.result.shape[0]] = 0.0
    _add_elements(elastic, work, state, step, first)
    _fold_columns(elastic, work, state, step, first, False)
    fill_flow(world, work)
    return OK


@compiled
def add_plastic_columns(world: Table, work: Table, step: float, by_position: bool) -> None:
    """Do what `plastic_columns` does, where something yields."""
    if work.start.plastic.size > 0:
        what = _BY_POSITION if by_position else _BY_PLASTIC
        call_stage(work.plastic_columns, world, work, step, what)
