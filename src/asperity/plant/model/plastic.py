"""Elements of flexes that yield, and where MuJoCo keeps by how much they have.

`mjData.plastic` has, of every tetrahedron of a mesh, what has been added to the squares of its six
edges e, eᵀ (C_p − 1) e, and of every cell of an interpolated flex U_p − 1, with whole shears, in
the order xx, yy, zz, xy, zx, yz. The tetrahedra of a cell of a grid, which is one element here,
have the same C_p. Triangles of cloth have what has been added to the squares of three edges.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.plant.model.cells import cell_edges, cell_matrices, filled_cells
from asperity.plant.model.flexes import (
    flex_elements,
    flex_particles,
    in_frame,
    particle_positions,
    resting_data,
)
from asperity.soft.elements import Element, group_tetrahedra
from asperity.soft.membranes import triangle_axes

__all__ = [
    "Yielding",
    "fill_plasticity",
    "is_plastic",
    "plastic_size",
    "yielding_elements",
    "yielding_triangles",
]

# Edges of tetrahedra in the order of MuJoCo.
_EDGES = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [0, 3], [1, 3]])
_SIDES = np.array([[1, 2], [2, 0], [0, 1]])
# In `flex_plasticmode`.
_STRETCH = 2
# xx, yy, zz, xy, yz, zx of a tensor in a cell's slots.
_OF_CELLS = np.diag([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])[[0, 1, 2, 3, 5, 4]]


class Yielding(NamedTuple):
    """An element that yields."""

    element: int
    slots: np.ndarray
    """Where `mjData.plastic` has its numbers."""
    numbers: np.ndarray
    """What a tensor's xx, yy, zz, xy, yz and zx are there, shape (slots, 6)."""
    squared: bool
    """Whether the tensor is C_p − 1, and not U_p − 1."""
    limit: float
    """ε_y."""
    tetrahedra: list[int]
    """That it is cut into, as counted within the flex; of a cell with nodes, none."""
    poisson: float
    """Of triangles; −1 of volumes."""
    length: np.ndarray
    """By which an element is longer per unit of a slot [m], shape (slots,)."""


def is_plastic(model: mujoco.MjModel, flex: int) -> bool:
    """Whether a flex yields; ropes keep other things in `mjData.plastic`."""
    return bool(model.flex_dim[flex] > 1 and model.flex_plasticadr[flex] >= 0)


def plastic_size(model: mujoco.MjModel) -> int:
    """Numbers of `mjData.plastic` that are a part of the state: none, or all of them."""
    plastic = any(is_plastic(model, flex) for flex in range(model.nflex))
    return int(model.nplastic) if plastic else 0


def yielding_elements(
    model: mujoco.MjModel, flex: int, first: int, positions: np.ndarray
) -> list[Yielding]:
    """What yields of a volume, whose elements are counted from ``first`` on.

    Positions at rest are those of its vertices, in the axes of its tensors.
    """
    if not is_plastic(model, flex):
        return []
    address, limit = int(model.flex_plasticadr[flex]), float(model.flex_yield[flex, 0])
    if model.flex_interp[flex] != 0:
        at_rest = particle_positions(model, resting_data(model))[flex_particles(model, flex)]
        places = in_frame(model, flex, at_rest)
        cells, _ = filled_cells(model, flex)
        numbers = np.flatnonzero(np.any(cell_matrices(model, flex) != 0.0, axis=(1, 2)))
        return [
            Yielding(
                first + k,
                address + 6 * number + np.arange(6),
                _OF_CELLS,
                False,
                limit,
                [],
                -1.0,
                np.full(6, np.linalg.norm(cell_edges(places[nodes]), axis=1).mean()),
            )
            for k, (nodes, number) in enumerate(zip(cells, numbers.tolist(), strict=True))
        ]
    tetrahedra = flex_elements(model, flex)
    boxes, alone = group_tetrahedra(positions, tetrahedra)
    found = {tuple(sorted(one)): number for number, one in enumerate(tetrahedra.tolist())}
    groups = [
        [found[four] for four in itertools.combinations(sorted(cell), 4) if four in found]
        for cell in boxes
    ]
    groups += [[number] for number in alone.tolist()]
    out = []
    for k, group in enumerate(groups):
        ends = positions[tetrahedra[group][:, _EDGES].reshape(-1, 2)]
        x, y, z = (ends[:, 1] - ends[:, 0]).T
        numbers = np.stack([x * x, y * y, z * z, 2 * x * y, 2 * y * z, 2 * z * x], axis=1)
        slots = address + 6 * np.array(group)[:, None] + np.arange(6)
        length = np.sqrt(x * x + y * y + z * z)
        out.append(
            Yielding(first + k, slots.ravel(), numbers, True, limit, group, -1.0, 0.5 / length)
        )
    return out


def yielding_triangles(
    model: mujoco.MjModel, flex: int, first: int, positions: np.ndarray, poisson: float
) -> list[Yielding]:
    """What yields of cloth, whose triangles are elements from ``first`` on.

    Tensors are those in the planes of the triangles, along `triangle_axes`.
    """
    if not is_plastic(model, flex) or not model.flex_plasticmode[flex] & _STRETCH:
        return []
    faces = flex_elements(model, flex)
    axes = triangle_axes(positions, faces)
    ends = positions[faces[:, _SIDES]]
    x, y, _ = np.einsum("tij,tkj->itk", axes, ends[:, :, 1] - ends[:, :, 0])
    zero = np.zeros_like(x)
    numbers = np.stack([x * x, y * y, zero, 2 * x * y, zero, zero], axis=2)
    address, limit = int(model.flex_plasticadr[flex]), float(model.flex_yield[flex, 0])
    return [
        Yielding(
            first + k,
            address + 3 * k + np.arange(3),
            numbers[k],
            True,
            limit,
            [],
            poisson,
            0.5 / np.hypot(x[k], y[k]),
        )
        for k in range(len(faces))
    ]


def fill_plasticity(
    table: Table, size: int, yielding: list[Yielding], elements: list[Element] | None = None
) -> None:
    """Fill a table's lists of what yields, where states have so many numbers.

    ``elements`` are all of a table, unless it has no need of their moduli.
    """
    places: dict[bytes, int] = {}
    matrices: list[np.ndarray] = []

    def place_of(matrix: np.ndarray) -> int:
        key = matrix.tobytes()
        if key not in places:
            places[key] = sum(one.size for one in matrices)
            matrices.append(matrix.ravel())
        return places[key]

    table.yielding = len(yielding)
    table.plastic_element = np.array([one.element for one in yielding], np.int64)
    table.plastic_limit = np.array([one.limit for one in yielding])
    table.plastic_squared = np.array([one.squared for one in yielding], np.int64)
    moduli = [_moduli(elements[one.element]) for one in yielding] if elements else []
    table.plastic_moduli = np.array(moduli).reshape(-1, 2)
    table.plastic_plane = np.array([one.poisson for one in yielding])
    table.plastic_first = np.cumsum([0, *(len(one.slots) for one in yielding)]).astype(np.int64)
    table.plastic_slot = np.concatenate(
        [np.zeros(0, np.int64), *(one.slots for one in yielding)]
    ).astype(np.int64)
    table.plastic_read = np.array(
        [place_of(np.linalg.pinv(one.numbers)) for one in yielding], np.int64
    )
    table.plastic_write = np.array([place_of(one.numbers) for one in yielding], np.int64)
    table.plastic_matrix = np.concatenate([np.zeros(0), *matrices])
    table.plastic_length = np.zeros(size)
    for one in yielding:
        table.plastic_length[one.slots] = one.length


def _moduli(element: Element) -> tuple[float, float]:
    """V λ and V μ of an element, by what it resists strains along x, y and in their plane with."""
    x, y, _ = element.rest.T
    zero = np.zeros_like(x)
    modes = [(x, zero, zero), (zero, y, zero), (0.5 * y, 0.5 * x, zero)]
    one, other, shear = (np.stack(mode, axis=1).ravel() for mode in modes)
    return float(one @ element.stiffness @ other), float(shear @ element.stiffness @ shear)
