"""Cells of interpolated flexes: their nodes, and what these have of the vertices between them.

A flex with ``dof="trilinear"`` or ``"quadratic"`` is in a box of equal cells. Those without a part
of its mesh have no stiffness. Nodes of all cells are counted along the last axis first.

An equality of strain (``edge/equality="strain"``) keeps the shape of every cell. Here cells are as
stiff then as lets their own weight strain the box by a millionth. Shells may strain by 10⁻⁴: at a
millionth a free one, which turns at 10 rad/s, loses a sixth of its spin in a second, as faces are
stiff in the plane in which a step begins.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.plant.model.flexes import (
    flex_particles,
    in_frame,
    moving_particles,
    particle_positions,
    resting_data,
)
from asperity.plant.model.shells import inner_shares, is_shell
from asperity.soft.cells import cell_stiffness, polynomials
from asperity.soft.elements import elasticity

__all__ = [
    "between_nodes",
    "cell_edges",
    "cell_matrices",
    "filled_cells",
    "held_modulus",
    "holds_strain",
    "interpolation",
]

# Of a flex whose strain an equality holds, by its own weight, and of a shell.
_STRAIN, _OF_SHELLS = 1e-6, 1e-4
_GRAVITY = 9.81
_BY_STRAIN = 3


def holds_strain(model: mujoco.MjModel, flex: int) -> bool:
    """Whether equalities keep the shapes of a flex's cells."""
    return int(model.flex_edgeequality[flex]) == _BY_STRAIN


def _nodes(model: mujoco.MjModel, flex: int, cells: np.ndarray) -> np.ndarray:
    """Nodes of cells, by their places in the box, shape (n, nodes of a cell)."""
    order = abs(int(model.flex_interp[flex]))
    along = order * np.array(model.flex_cellnum[flex]) + 1
    local = np.stack(np.meshgrid(*(np.arange(order + 1),) * 3, indexing="ij"), -1).reshape(-1, 3)
    at = order * cells[:, None] + local
    return np.asarray((at[..., 0] * along[1] + at[..., 1]) * along[2] + at[..., 2], np.int64)


def cell_matrices(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Stiffness of all cells [N/m]; zero of those that are empty.

    The model keeps it with a minus, and something else where equalities hold the strain.
    """
    order = int(model.flex_interp[flex])
    side = 3 * (order + 1) ** 3
    count, first = int(np.prod(model.flex_cellnum[flex])), int(model.flex_stiffnessadr[flex])
    if holds_strain(model, flex):
        return np.tile(_held_stiffness(model, flex), (count, 1, 1))
    if first < 0:
        return np.zeros((count, side, side))
    found = -model.flex_stiffness[first : first + count * side * side]
    return np.asarray(found.reshape(count, side, side))


def held_modulus(model: mujoco.MjModel, flex: int) -> tuple[float, float]:
    """Young's modulus [Pa] of what equalities keep the shape of, and the side of its box [m]."""
    nodes = slice(
        int(model.flex_nodeadr[flex]), int(model.flex_nodeadr[flex] + model.flex_nodenum[flex])
    )
    bodies = model.flex_nodebodyid[nodes][moving_particles(model, flex)]
    weight = _GRAVITY * float(model.body_mass[bodies].sum())
    side = float(np.prod(np.ptp(model.flex_node0[nodes], axis=0))) ** (1.0 / 3.0)
    return weight / (_OF_SHELLS if is_shell(model, flex) else _STRAIN) / side**2, side


def _held_stiffness(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Of a cell whose shape equalities keep [N/m]."""
    at_rest = particle_positions(model, resting_data(model))[flex_particles(model, flex)]
    places = in_frame(model, flex, at_rest)
    edges = cell_edges(places[_nodes(model, flex, np.zeros((1, 3), np.int64))[0]])
    young, _ = held_modulus(model, flex)
    return cell_stiffness(edges, int(model.flex_interp[flex]), elasticity(0.0, 0.5 * young))


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
    """Nodes of the cell that each vertex is in, as counted within the flex, and their weights.

    A vertex of a shell is between all its nodes.
    """
    first = int(model.flex_vertadr[flex])
    place = model.flex_vert0[first : first + int(model.flex_vertnum[flex])]
    cells = np.array(model.flex_cellnum[flex])
    at = np.clip(np.floor(place * cells).astype(np.int64), 0, cells - 1)
    values, _ = polynomials(abs(int(model.flex_interp[flex])), place * cells - at)
    weights = np.einsum("ni,nj,nk->nijk", values[:, 0], values[:, 1], values[:, 2])
    nodes, weights = _nodes(model, flex, at), weights.reshape(len(place), -1)
    if not is_shell(model, flex):
        return nodes, weights
    shares = np.einsum("nk,nkb->nb", weights, inner_shares(model, flex)[nodes])
    return np.tile(np.arange(shares.shape[1]), (len(place), 1)), shares


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
            there = shares != 0.0 if is_shell(model, flex) else np.ones_like(shares, bool)
            counts[first : first + len(own)] = there.sum(axis=1)
            nodes.append(own[there] + model.nflexvert + int(model.flex_nodeadr[flex]))
            weights.append(shares[there])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return starts, np.concatenate(nodes), np.concatenate(weights)
