"""Links from variables, along the tree, by the change of variables of `engine_layout`."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.engine_layout import FREE, SLIDE

__all__ = [
    "link_jacobians",
    "move_listed",
    "move_vertices",
    "place_links",
    "place_vertex",
    "reduce_gradient",
]


@compiled
def place_links(engine: Table, z: np.ndarray, q: np.ndarray) -> None:
    """Fill the links' coordinates, shape (n + 1, 4, 3); the world's are there already."""
    for link in range(engine.link_parent.size):
        start = engine.link_variable[link]
        if engine.link_kind[link] == FREE:
            for i in range(4):
                for k in range(3):
                    q[link, i, k] = z[start + 3 * i + k]
            continue
        p = engine.link_parent[link]
        for i in range(4):
            for k in range(3):
                value = 0.0
                for j in range(4):
                    value += engine.transfer[link, i, j] * q[p, j, k]
                q[link, i, k] = value
        if engine.link_kind[link] == SLIDE:
            s = z[start]
            for k in range(3):
                for j in range(3):
                    q[link, 0, k] += s * engine.slide_direction[link, j] * q[p, 1 + j, k]
        else:
            for point in range((engine.link_variable[link + 1] - start) // 3):
                for i in range(4):
                    for k in range(3):
                        q[link, i, k] += engine.embedding[link, i, point] * z[start + 3 * point + k]


@compiled
def link_jacobians(engine: Table, z: np.ndarray, q: np.ndarray, wanted: np.ndarray) -> None:
    """Fill ∂Q/∂z of the links that are wanted, with their ancestors, over variables that move them.

    Parameters
    ----------
    engine : Table
    z : array
    q : array, shape (n + 1, 4, 3)
    wanted : array of int, shape (n,)
        1 for those.
    """
    kind = engine.link_kind
    chain = engine.chain_start
    jacobian = engine.jacobian
    for link in range(engine.link_parent.size):
        if kind[link] == FREE or wanted[link] == 0:
            continue  # the identity, which nobody reads
        p = engine.link_parent[link]
        s = z[engine.link_variable[link]] if kind[link] == SLIDE else 0.0
        at = chain[link]
        if p < engine.link_parent.size:
            for column in range(chain[p], chain[p + 1]):
                if kind[p] == FREE:
                    own = column - chain[p]
                    for i in range(4):
                        for k in range(3):
                            jacobian[at, i, k] = 0.0
                        jacobian[at, i, own % 3] = engine.transfer[link, i, own // 3]
                    if own >= 3:
                        jacobian[at, 0, own % 3] += s * engine.slide_direction[link, own // 3 - 1]
                else:
                    for k in range(3):
                        for i in range(4):
                            value = 0.0
                            for j in range(4):
                                value += engine.transfer[link, i, j] * jacobian[column, j, k]
                            jacobian[at, i, k] = value
                        for j in range(3):
                            jacobian[at, 0, k] += (
                                s * engine.slide_direction[link, j] * jacobian[column, 1 + j, k]
                            )
                at += 1
        for own in range(engine.link_variable[link + 1] - engine.link_variable[link]):
            for i in range(4):
                for k in range(3):
                    jacobian[at, i, k] = 0.0
            if kind[link] == SLIDE:
                for k in range(3):
                    for j in range(3):
                        jacobian[at, 0, k] += engine.slide_direction[link, j] * q[p, 1 + j, k]
            else:
                for i in range(4):
                    jacobian[at, i, own % 3] = engine.embedding[link, i, own // 3]
            at += 1


@compiled
def reduce_gradient(engine: Table, gradient: np.ndarray) -> None:
    """Add the links' gradients to that of the variables."""
    for link in range(engine.link_kind.size):
        if engine.link_kind[link] == FREE:
            start = engine.chain_variable[engine.chain_start[link]]
            for i in range(4):
                for k in range(3):
                    gradient[start + 3 * i + k] += engine.link_gradient[link, i, k]
            continue
        for column in range(engine.chain_start[link], engine.chain_start[link + 1]):
            value = 0.0
            for i in range(4):
                for k in range(3):
                    value += engine.jacobian[column, i, k] * engine.link_gradient[link, i, k]
            gradient[engine.chain_variable[column]] += value


@compiled
def place_vertex(engine: Table, vertex: int, q: np.ndarray, x: np.ndarray) -> None:
    """Fill the position of a vertex."""
    link = engine.vertex_link[vertex]
    for k in range(3):
        x[vertex, k] = (
            q[link, 0, k]
            + engine.vertex_rest[vertex, 1] * q[link, 1, k]
            + engine.vertex_rest[vertex, 2] * q[link, 2, k]
            + engine.vertex_rest[vertex, 3] * q[link, 3, k]
        )


@compiled
def move_vertices(engine: Table, q: np.ndarray, x: np.ndarray) -> None:
    """Fill the positions of the moving links' vertices, which come first in ``x``."""
    for vertex in range(engine.moving_vertices):
        place_vertex(engine, vertex, q, x)


@compiled
def move_listed(engine: Table, q: np.ndarray, x: np.ndarray) -> None:
    """Fill the positions of those that candidates have."""
    for i in range(engine.listed_vertices):
        place_vertex(engine, engine.listed_vertex[i], q, x)
