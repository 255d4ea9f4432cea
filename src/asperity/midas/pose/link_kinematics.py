"""Links from variables, along the tree, by the change of variables of `engine_layout`."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from asperity.compiled import Table, compiled, compiled_loop
from asperity.midas.engine_layout import FREE, SLIDE
from asperity.midas.model.model_layout import SHAPES

__all__ = [
    "bound_of_move",
    "carry_axes",
    "copy_poses",
    "length_of_move",
    "link_jacobians",
    "move_listed",
    "move_vertices",
    "place_links",
    "place_vertex",
    "read_variables",
]


@compiled
def copy_poses(q: np.ndarray, out: np.ndarray) -> None:
    """Fill the coordinates of links with others."""
    for link in range(out.shape[0]):
        for i in range(4):
            for k in range(3):
                out[link, i, k] = q[link, i, k]


@compiled
def length_of_move(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """How far a link's origin [m] and its axes are from where they are in another pose."""
    straight = 0.0
    turned = 0.0
    for k in range(3):
        straight += (other[0, k] - one[0, k]) ** 2
        for i in range(1, 4):
            turned += (other[i, k] - one[i, k]) ** 2
    return math.sqrt(straight), math.sqrt(turned)


@compiled
def bound_of_move(one: np.ndarray, other: np.ndarray, radius: float) -> float:
    """Bound of how far apart a link's points, within a radius [m], are in two of its poses [m]."""
    straight, turned = length_of_move(one, other)
    return straight + radius * turned


@compiled
def place_links(links: Table, z: np.ndarray, q: np.ndarray) -> None:
    """Fill the links' coordinates, shape (n + 1, 4, 3); the world's are there already."""
    for link in range(links.parent.size):
        start = links.variable[link]
        if links.kind[link] == FREE:
            for i in range(4):
                for k in range(3):
                    q[link, i, k] = z[start + 3 * i + k]
            continue
        p = links.parent[link]
        for i in range(4):
            for k in range(3):
                value = 0.0
                for j in range(4):
                    value += links.transfer[link, i, j] * q[p, j, k]
                q[link, i, k] = value
        if links.kind[link] == SLIDE:
            s = z[start]
            for k in range(3):
                for j in range(3):
                    q[link, 0, k] += s * links.slide_direction[link, j] * q[p, 1 + j, k]
        else:
            for point in range((links.variable[link + 1] - start) // 3):
                for i in range(4):
                    for k in range(3):
                        q[link, i, k] += links.embedding[link, i, point] * z[start + 3 * point + k]


@compiled
def carry_axes(links: Table, link: int, q: np.ndarray) -> None:
    """Fill the axes of a link that turns with its parent."""
    p = links.parent[link]
    for i in range(1, 4):
        for k in range(3):
            q[link, i, k] = 0.0
            for j in range(1, 4):
                q[link, i, k] += links.transfer[link, i, j] * q[p, j, k]


@compiled
def read_variables(links: Table, link: int, q: np.ndarray, z: np.ndarray) -> None:
    """Fill the variables of a link whose coordinates are known, and which does not slide."""
    start = links.variable[link]
    count = (links.variable[link + 1] - start) // 3
    for vector in range(count):
        for k in range(3):
            value = 0.0
            for i in range(4):
                value += links.own_row[link, 4 - count + vector, i] * q[link, i, k]
            z[start + 3 * vector + k] = value


@compiled
def link_jacobians(links: Table, z: np.ndarray, q: np.ndarray, wanted: np.ndarray) -> None:
    """Fill ∂Q/∂z of the links that are wanted, with their ancestors, over variables that move them.

    Parameters
    ----------
    engine : Table
    z : array
    q : array, shape (n + 1, 4, 3)
    wanted : array of int, shape (n,)
        1 for those.
    """
    kind = links.kind
    chain = links.chain_start
    jacobian = links.jacobian
    for link in range(links.parent.size):
        if kind[link] == FREE or wanted[link] == 0:
            continue  # the identity, which nobody reads
        p = links.parent[link]
        s = z[links.variable[link]] if kind[link] == SLIDE else 0.0
        at = chain[link]
        if p < links.parent.size:
            for column in range(chain[p], chain[p + 1]):
                if kind[p] == FREE:
                    own = column - chain[p]
                    for i in range(4):
                        for k in range(3):
                            jacobian[at, i, k] = 0.0
                        jacobian[at, i, own % 3] = links.transfer[link, i, own // 3]
                    if own >= 3:
                        jacobian[at, 0, own % 3] += s * links.slide_direction[link, own // 3 - 1]
                else:
                    for k in range(3):
                        for i in range(4):
                            value = 0.0
                            for j in range(4):
                                value += links.transfer[link, i, j] * jacobian[column, j, k]
                            jacobian[at, i, k] = value
                        for j in range(3):
                            jacobian[at, 0, k] += (
                                s * links.slide_direction[link, j] * jacobian[column, 1 + j, k]
                            )
                at += 1
        for own in range(links.variable[link + 1] - links.variable[link]):
            for i in range(4):
                for k in range(3):
                    jacobian[at, i, k] = 0.0
            if kind[link] == SLIDE:
                for k in range(3):
                    for j in range(3):
                        jacobian[at, 0, k] += links.slide_direction[link, j] * q[p, 1 + j, k]
            else:
                for i in range(4):
                    jacobian[at, i, own % 3] = links.embedding[link, i, own // 3]
            at += 1


@compiled
def place_vertex(shapes: Table, vertex: int, q: np.ndarray, x: np.ndarray) -> None:
    """Fill the position of a vertex."""
    link = shapes.vertex_link[vertex]
    for k in range(3):
        x[vertex, k] = (
            q[link, 0, k]
            + shapes.vertex_rest[vertex, 1] * q[link, 1, k]
            + shapes.vertex_rest[vertex, 2] * q[link, 2, k]
            + shapes.vertex_rest[vertex, 3] * q[link, 3, k]
        )


@compiled_loop(types.void(SHAPES.type, types.float64[:, :, ::1], types.float64[:, ::1]))
def move_vertices(shapes: Table, q: np.ndarray, x: np.ndarray) -> None:
    """Fill the positions of the moving links' vertices, which come first in ``x``."""
    for vertex in range(shapes.moving_vertices):
        place_vertex(shapes, vertex, q, x)


@compiled
def move_listed(shapes: Table, vertices: Table, q: np.ndarray, x: np.ndarray) -> None:
    """Fill the positions of those that candidates have."""
    for i in range(vertices.listed_count):
        place_vertex(shapes, vertices.listed[i], q, x)
