"""Elements of deformable bodies: cells, tetrahedra, and triangles of cloth.

Cells are those of a grid of tetrahedra, or of an interpolated flex. Of the latter only the part
that is filled has energy (`asperity.soft.cells`).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.plant.model.cells import cell_edges, filled_cells
from asperity.plant.model.cloth import cloth_rigidity
from asperity.plant.model.flexes import (
    flex_elements,
    flex_particles,
    flex_vertices,
    in_frame,
    is_cloth,
    plane_poisson,
)
from asperity.plant.model.folds import Folds, folds_of_flex, yields_by_bending
from asperity.plant.model.plastic import Yielding, yielding_elements, yielding_triangles
from asperity.plant.model.shells import (
    is_shell,
    shell_bending,
    shell_membranes,
    shell_triangles,
)
from asperity.soft.bending import Bend, bending
from asperity.soft.cells import cell, mean_moduli
from asperity.soft.elements import (
    elasticity,
    group_tetrahedra,
    hexahedron,
    tetrahedron_stiffness,
    volumes,
)
from asperity.soft.faces import mean_stiffness, plane_moduli
from asperity.soft.membranes import plane_gradients

__all__ = ["SoftElements", "soft_elements"]

# Share of a cell's energy that is that of its tetrahedra, whose barrier keeps its corners from
# turning inside out. A beam of one layer of cells is half a percent stiffer for it. A cell that is
# filled in part has those of a full one, which hold nodes that hardly anything else does.
_CORNER_SHARE = 1e-3
# Vertices that a triangle's bending, and a cell of order 2, may have.
_WIDEST = 27
# Corners of six tetrahedra that a box is cut into, in units of its edges.
_CUT = [
    np.cumsum([[0, 0, 0], *np.eye(3, dtype=np.int64)[list(axes)]], axis=0)
    for axes in itertools.permutations(range(3))
]


class SoftElements(NamedTuple):
    """Elements, of which those of cells have further energy."""

    vertex: np.ndarray
    """Shape (n, m), −1 for corners that are not there."""
    gradient: np.ndarray
    """Shape (n, m, 3)."""
    size: np.ndarray
    """Volumes [m³] or areas [m²]."""
    share: np.ndarray
    """Of the material's moduli."""
    cell: np.ndarray
    """Elements that are cells, or triangles of cloth that bends."""
    cell_vertex: np.ndarray
    """Shape (., w)."""
    cell_corners: np.ndarray
    """8 or 27, or up to 12 of cloth."""
    cell_rest: np.ndarray
    """Of cloth, from the first corner [m], shape (., w, 3)."""
    cell_matrix: np.ndarray
    cell_flat: np.ndarray
    """1 of cloth that is flat at rest, whose stiffness is the same whichever way it is turned."""
    yielding: list[Yielding]
    shaped: list[list[int]]
    """Elements that have the shape at rest of each that yields, itself among them."""
    folds: list[Folds]
    """Of cloth that yields when it bends; its elements are cells here."""
    matrix: np.ndarray
    """What cells resist beyond their mean strain, shape (., 3 w, 3 w) [N/m]."""


def _tetrahedra(order: int) -> np.ndarray:
    """Nodes of a cell that are corners of tetrahedra, six for each box between nodes."""
    low = np.array(list(itertools.product(range(order), repeat=3)))
    at = np.concatenate([low[:, None] + path for path in _CUT])
    along = order + 1
    return np.asarray((at[..., 0] * along + at[..., 1]) * along + at[..., 2], np.int64)


def soft_elements(
    model: mujoco.MjModel, at_rest: np.ndarray, constants: np.ndarray
) -> SoftElements:
    """Elements of all flexes.

    Parameters
    ----------
    model : mujoco.MjModel
    at_rest : array, shape (n, 3)
        Positions of vertices and nodes [m].
    constants : array, shape (nflex, 2)
        Lamé's parameters.
    """
    most = 27 if np.any(np.abs(model.flex_interp) == 2) else 8
    vertex, gradient = [np.zeros((0, most), np.int64)], [np.zeros((0, most, 3))]
    size, share = [np.zeros(0)], [np.zeros(0)]
    cells: list[int] = []
    cell_vertex, cell_rest = [np.zeros((0, _WIDEST), np.int64)], [np.zeros((0, _WIDEST, 3))]
    cell_corners: list[int] = []
    cell_matrix: list[int] = []
    cell_flat: list[bool] = []
    yielding: list[Yielding] = []
    shaped: list[list[int]] = []
    folds: list[Folds] = []
    matrices: dict[bytes, int] = {}
    matrix: list[np.ndarray] = []

    def add(corners: np.ndarray, g: np.ndarray, extent: np.ndarray, part: np.ndarray) -> None:
        count, width = corners.shape
        vertex.append(np.full((count, most), -1, np.int64))
        vertex[-1][:, :width] = corners
        gradient.append(np.zeros((count, most, 3)))
        gradient[-1][:, :width, : g.shape[2]] = g
        size.append(extent)
        share.append(part)

    def add_cell(
        element: int,
        corners: np.ndarray,
        places: np.ndarray,
        stiffness: np.ndarray,
        flat: bool = False,
    ) -> None:
        cells.append(element)
        cell_flat.append(flat)
        cell_corners.append(len(corners))
        cell_vertex.append(np.full((1, _WIDEST), corners[0]))
        cell_vertex[-1][0, : len(corners)] = corners
        cell_rest.append(np.zeros((1, _WIDEST, 3)))
        cell_rest[-1][0, : len(corners)] = places
        whole = np.zeros((3 * _WIDEST, 3 * _WIDEST))
        whole[: len(stiffness), : len(stiffness)] = stiffness
        scale = np.abs(whole).max()
        key = np.round(whole / scale, 9).tobytes() + np.float64(f"{scale:.9e}").tobytes()
        if key not in matrices:
            matrices[key] = len(matrix)
            matrix.append(whole)
        cell_matrix.append(matrices[key])

    def add_bends(first: int, start: int, found: list[Bend]) -> None:
        for bend in found:
            corners, places = bend.vertices + start, bend.rest - bend.rest[0]
            add_cell(first + bend.triangle, corners, places, bend.stiffness, bend.flat)

    for flex in range(model.nflex):
        vertices = flex_vertices(model, flex)
        x, own = at_rest[vertices], flex_elements(model, flex)
        if is_shell(model, flex):
            nodes = flex_particles(model, flex)
            first = sum(map(len, size))
            triangles = shell_triangles(model, flex)
            area, g = plane_gradients(at_rest[nodes], triangles)
            share_of_each = np.full(len(triangles), _CORNER_SHARE)
            add(triangles + nodes.start, g, area, share_of_each)
            add_bends(
                first, nodes.start, shell_bending(model, flex, plane_poisson(constants[flex]))
            )
            moduli = plane_moduli(*constants[flex])
            for membrane in shell_membranes(model, flex, constants[flex]):
                corners = np.array(membrane.vertices) + nodes.start
                extent = float(np.prod(np.ptp(membrane.rest, axis=0)[:2]))
                mean = extent * mean_stiffness(membrane.gradient, moduli)
                more = (1.0 - _CORNER_SHARE) * (membrane.stiffness - mean)
                add_cell(sum(map(len, size)), corners, np.zeros_like(membrane.rest), more)
                g = membrane.gradient[None, :, :2]
                add(corners[None], g, np.array([extent]), np.array([1.0 - _CORNER_SHARE]))
            continue
        if is_cloth(model, flex):
            rigidity = cloth_rigidity(model, flex, x)
            first, poisson = sum(map(len, size)), plane_poisson(constants[flex])
            if constants[flex, 1] > 0.0:
                yields = yielding_triangles(model, flex, first, x, poisson)
                yielding += yields
                shaped += [[one.element] for one in yields]
            if rigidity > 0.0:
                bends = bending(x, own, rigidity, poisson)
                if yields_by_bending(model, flex):
                    folds.append(folds_of_flex(model, flex, len(cells), constants[flex]))
                add_bends(first, vertices.start, bends)
            # Where edges hold it, triangles only say how what bends has turned.
            if constants[flex, 1] > 0.0 or rigidity > 0.0:
                area, g = plane_gradients(x, own)
                add(own + vertices.start, g, area, np.ones(len(own)))
            continue
        if not constants[flex, 1] > 0.0:
            continue
        if model.flex_interp[flex] != 0:
            nodes = flex_particles(model, flex)
            places = in_frame(model, flex, at_rest[nodes])
            first = sum(map(len, size))
            each = 1 + 6 * int(model.flex_interp[flex]) ** 3
            for one in yielding_elements(model, flex, 0, x):
                begin = first + each * one.element
                yielding.append(one._replace(element=begin))
                shaped.append(list(range(begin, begin + each)))
            for one, stiffness in zip(*filled_cells(model, flex), strict=True):
                order = int(model.flex_interp[flex])
                edges = cell_edges(places[one])
                found = cell(tuple(one), places[one], edges, order, stiffness)
                moduli = mean_moduli(edges, order, found.stiffness)
                volume = float(moduli[3, 3] / constants[flex, 1])
                mean = tetrahedron_stiffness(found.gradient[None], np.ones(1), moduli)[0]
                own = one + nodes.start
                more = (1.0 - _CORNER_SHARE) * (found.stiffness - mean)
                add_cell(sum(map(len, size)), own, np.zeros((len(one), 3)), more)
                add(
                    own[None],
                    found.gradient[None],
                    np.array([volume]),
                    np.array([1.0 - _CORNER_SHARE]),
                )
                corners = _tetrahedra(order)
                signed, g = volumes(places[one], corners)
                share_of_each = np.full(len(corners), _CORNER_SHARE)
                add(own[corners], g, np.abs(signed), share_of_each)
            continue
        grid, rest = group_tetrahedra(x, own)
        signed, g = volumes(x, own)
        part = np.full(len(own), _CORNER_SHARE)
        part[rest] = 1.0
        first = sum(map(len, size))
        for one in yielding_elements(model, flex, first + len(own), x):
            inside = [first + number for number in one.tetrahedra]
            main = one.element if len(inside) > 1 else inside[0]
            yielding.append(one._replace(element=main))
            shaped.append(list(dict.fromkeys([main, *inside])))
        add(own + vertices.start, g, np.abs(signed), part)
        moduli = elasticity(*constants[flex])
        for corners in grid:
            found = hexahedron(corners, x[list(corners)], moduli)
            edges = x[[corners[4], corners[2], corners[1]]] - x[corners[0]]
            volume = abs(float(np.linalg.det(edges)))
            mean = tetrahedron_stiffness(found.gradient[None], np.array([volume]), moduli)[0]
            more = (1.0 - _CORNER_SHARE) * (found.stiffness - mean)
            place = np.array(corners) + vertices.start
            add_cell(sum(map(len, size)), place, np.zeros((8, 3)), more)
            add(
                place[None],
                found.gradient[None],
                np.array([volume]),
                np.array([1.0 - _CORNER_SHARE]),
            )
    width = max(cell_corners, default=0)
    side = 3 * width
    return SoftElements(
        np.concatenate(vertex),
        np.concatenate(gradient),
        np.concatenate(size),
        np.concatenate(share),
        np.array(cells, np.int64),
        np.concatenate(cell_vertex)[:, :width].copy(),
        np.array(cell_corners, np.int64),
        np.concatenate(cell_rest)[:, :width].copy(),
        np.array(cell_matrix, np.int64),
        np.array(cell_flat, np.int64),
        yielding,
        shaped,
        folds,
        np.array([one[:side, :side] for one in matrix]).reshape(len(matrix), side, side),
    )
