"""Elements of deformable bodies: cells of grids, tetrahedra, and triangles of cloth."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from asperity.plant.model.flexes import flex_elements, flex_vertices
from asperity.soft.elements import (
    elasticity,
    group_tetrahedra,
    hexahedron,
    tetrahedron_stiffness,
    volumes,
)
from asperity.soft.membranes import plane_gradients

__all__ = ["SoftElements", "soft_elements"]

# Share of a cell's energy that is that of its tetrahedra, whose barrier keeps its corners from
# turning inside out. A beam of one layer of cells is half a percent stiffer for it.
_CORNER_SHARE = 1e-3


class SoftElements(NamedTuple):
    """Elements, of which those of cells have further energy."""

    vertex: np.ndarray
    """Shape (n, 8), −1 for corners that are not there."""
    gradient: np.ndarray
    """Shape (n, 8, 3)."""
    size: np.ndarray
    """Volumes [m³] or areas [m²]."""
    share: np.ndarray
    """Of the material's moduli."""
    cell: np.ndarray
    """Elements that are cells."""
    cell_matrix: np.ndarray
    matrix: np.ndarray
    """What cells resist beyond their mean strain, shape (., 24, 24) [N/m]."""


def soft_elements(
    model: mujoco.MjModel, at_rest: np.ndarray, constants: np.ndarray
) -> SoftElements:
    """Elements of all flexes.

    Parameters
    ----------
    model : mujoco.MjModel
    at_rest : array, shape (nflexvert, 3)
        Positions [m].
    constants : array, shape (nflex, 2)
        Lamé's parameters.
    """
    vertex, gradient = [np.zeros((0, 8), np.int64)], [np.zeros((0, 8, 3))]
    size, share = [np.zeros(0)], [np.zeros(0)]
    cells: list[int] = []
    cell_matrix: list[int] = []
    matrices: dict[bytes, int] = {}
    matrix: list[np.ndarray] = []

    def add(corners: np.ndarray, g: np.ndarray, extent: np.ndarray, part: np.ndarray) -> None:
        count, width = corners.shape
        vertex.append(np.full((count, 8), -1, np.int64))
        vertex[-1][:, :width] = corners
        gradient.append(np.zeros((count, 8, 3)))
        gradient[-1][:, :width, : g.shape[2]] = g
        size.append(extent)
        share.append(part)

    for flex in range(model.nflex):
        vertices = flex_vertices(model, flex)
        if not constants[flex, 1] > 0.0:
            # Its edges hold it.
            continue
        x, own = at_rest[vertices], flex_elements(model, flex)
        if model.flex_dim[flex] == 2:
            area, g = plane_gradients(x, own)
            add(own + vertices.start, g, area, np.ones(len(own)))
            continue
        grid, rest = group_tetrahedra(x, own)
        signed, g = volumes(x, own)
        part = np.full(len(own), _CORNER_SHARE)
        part[rest] = 1.0
        add(own + vertices.start, g, np.abs(signed), part)
        moduli = elasticity(*constants[flex])
        for corners in grid:
            found = hexahedron(corners, x[list(corners)], moduli)
            edges = x[[corners[4], corners[2], corners[1]]] - x[corners[0]]
            volume = abs(float(np.linalg.det(edges)))
            mean = tetrahedron_stiffness(found.gradient[None], np.array([volume]), moduli)[0]
            more = (1.0 - _CORNER_SHARE) * (found.stiffness - mean)
            key = np.round(more / np.abs(more).max(), 9).tobytes()
            key += np.float64(f"{np.abs(more).max():.9e}").tobytes()
            if key not in matrices:
                matrices[key] = len(matrix)
                matrix.append(more)
            cells.append(sum(map(len, size)))
            cell_matrix.append(matrices[key])
            add(
                np.array([corners]) + vertices.start,
                found.gradient[None],
                np.array([volume]),
                np.array([1.0 - _CORNER_SHARE]),
            )
    return SoftElements(
        np.concatenate(vertex),
        np.concatenate(gradient),
        np.concatenate(size),
        np.concatenate(share),
        np.array(cells, np.int64),
        np.array(cell_matrix, np.int64),
        np.array(matrix, dtype=np.float64).reshape(-1, 24, 24),
    )
