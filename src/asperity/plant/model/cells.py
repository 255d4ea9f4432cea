"""Cells of interpolated flexes: their nodes, and what these have of the vertices between them.

A flex with ``dof="trilinear"`` or ``"quadratic"`` is in a box of equal cells. Those without a part
of its mesh have no stiffness. Nodes of all cells are counted along the last axis first.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.soft.cells import polynomials

__all__ = ["between_nodes", "cell_edges", "cell_matrices", "filled_cells", "interpolation"]


def _nodes(model: mujoco.MjModel, flex: int, cells: np.ndarray) -> np.ndarray:
    """Nodes of cells, by their places in the box, shape (n, nodes of a cell)."""
    order = int(model.flex_interp[flex])
    along = order * np.array(model.flex_cellnum[flex]) + 1
    local = np.stack(np.meshgrid(*(np.arange(order + 1),) * 3, indexing="ij"), -1).reshape(-1, 3)
    at = order * cells[:, None] + local
    return np.asarray((at[..., 0] * along[1] + at[..., 1]) * along[2] + at[..., 2], np.int64)


def cell_matrices(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Stiffness of all cells [N/m]; zero of those that are empty.

    The model keeps it with a minus.
    """
    side = 3 * (int(model.flex_interp[flex]) + 1) ** 3
    count, first = int(np.prod(model.flex_cellnum[flex])), int(model.flex_stiffnessadr[flex])
    found = -model.flex_stiffness[first : first + count * side * side]
    return np.asarray(found.reshape(count, side, side))


def filled_cells(model: mujoco.MjModel, flex: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of the cells that hold a flex, as counted within it, and their stiffnesses [N/m]."""
    places = np.argwhere(np.ones(tuple(model.flex_cellnum[flex]), bool))
    matrices = cell_matrices(model, flex)
    filled = np.any(matrices != 0.0, axis=(1, 2))
    return _nodes(model, flex, places[filled]), matrices[filled]


def cell_edges(places: np.ndarray) -> np.ndarray:
    """The three edges of a cell of nodes at these places [m], one a row."""
    along = round(len(places) ** (1.0 / 3.0))
    last = (along - 1) * np.array([along * along, along, 1])
    return np.asarray(places[last] - places[0])


def interpolation(model: mujoco.MjModel, flex: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of the cell that each vertex is in, as counted within the flex, and their weights."""
    first = int(model.flex_vertadr[flex])
    place = model.flex_vert0[first : first + int(model.flex_vertnum[flex])]
    cells = np.array(model.flex_cellnum[flex])
    at = np.clip(np.floor(place * cells).astype(np.int64), 0, cells - 1)
    values, _ = polynomials(int(model.flex_interp[flex]), place * cells - at)
    weights = np.einsum("ni,nj,nk->nijk", values[:, 0], values[:, 1], values[:, 2])
    return _nodes(model, flex, at), weights.reshape(len(place), -1)


def between_nodes(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where nodes of every vertex begin in a list of particles, that list, and their weights.

    Vertices of flexes that are not interpolated have none.
    """
    counts = np.zeros(model.nflexvert, np.int64)
    nodes, weights = [np.zeros(0, np.int64)], [np.zeros(0)]
    for flex in range(model.nflex):
        if model.flex_interp[flex] != 0:
            own, shares = interpolation(model, flex)
            first = int(model.flex_vertadr[flex])
            counts[first : first + len(own)] = own.shape[1]
            nodes.append(own.ravel() + model.nflexvert + int(model.flex_nodeadr[flex]))
            weights.append(shares.ravel())
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return starts, np.concatenate(nodes), np.concatenate(weights)
