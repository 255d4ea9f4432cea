"""Links from variables, along the tree; `asperity.midas.layouts` has the change of variables."""

from __future__ import annotations

from asperity.compiled import compiled
from asperity.midas.layouts import FREE, MIDAS, SLIDE

__all__ = ["link_jacobians", "move_vertices", "place_links", "reduce_gradient"]

_midas = MIDAS.get


@compiled
def place_links(engine, z, q):
    """Fill the links' coordinates, shape (n + 1, 4, 3); the world's are there already."""
    parent = _midas(engine, "link_parent")
    kind = _midas(engine, "link_kind")
    first = _midas(engine, "link_variable")
    transfer = _midas(engine, "transfer")
    direction = _midas(engine, "slide_direction")
    embedding = _midas(engine, "embedding")
    for link in range(parent.size):
        start = first[link]
        if kind[link] == FREE:
            for i in range(4):
                for k in range(3):
                    q[link, i, k] = z[start + 3 * i + k]
            continue
        p = parent[link]
        for i in range(4):
            for k in range(3):
                value = 0.0
                for j in range(4):
                    value += transfer[link, i, j] * q[p, j, k]
                q[link, i, k] = value
        if kind[link] == SLIDE:
            s = z[start]
            for k in range(3):
                for j in range(3):
                    q[link, 0, k] += s * direction[link, j] * q[p, 1 + j, k]
        else:
            for point in range((first[link + 1] - start) // 3):
                for i in range(4):
                    for k in range(3):
                        q[link, i, k] += embedding[link, i, point] * z[start + 3 * point + k]


@compiled
def link_jacobians(engine, z, q):
    """Fill ∂Q/∂z of every link over the variables that move it."""
    parent = _midas(engine, "link_parent")
    kind = _midas(engine, "link_kind")
    first = _midas(engine, "link_variable")
    transfer = _midas(engine, "transfer")
    direction = _midas(engine, "slide_direction")
    embedding = _midas(engine, "embedding")
    chain = _midas(engine, "chain_start")
    jacobian = _midas(engine, "jacobian")
    for link in range(parent.size):
        if kind[link] == FREE:
            continue  # the identity, which nobody reads
        p = parent[link]
        s = z[first[link]] if kind[link] == SLIDE else 0.0
        at = chain[link]
        if p < parent.size:
            for column in range(chain[p], chain[p + 1]):
                if kind[p] == FREE:
                    own = column - chain[p]
                    for i in range(4):
                        for k in range(3):
                            jacobian[at, i, k] = 0.0
                        jacobian[at, i, own % 3] = transfer[link, i, own // 3]
                    if own >= 3:
                        jacobian[at, 0, own % 3] += s * direction[link, own // 3 - 1]
                else:
                    for k in range(3):
                        for i in range(4):
                            value = 0.0
                            for j in range(4):
                                value += transfer[link, i, j] * jacobian[column, j, k]
                            jacobian[at, i, k] = value
                        for j in range(3):
                            jacobian[at, 0, k] += (
                                s * direction[link, j] * jacobian[column, 1 + j, k]
                            )
                at += 1
        for own in range(first[link + 1] - first[link]):
            for i in range(4):
                for k in range(3):
                    jacobian[at, i, k] = 0.0
            if kind[link] == SLIDE:
                for k in range(3):
                    for j in range(3):
                        jacobian[at, 0, k] += direction[link, j] * q[p, 1 + j, k]
            else:
                for i in range(4):
                    jacobian[at, i, own % 3] = embedding[link, i, own // 3]
            at += 1


@compiled
def reduce_gradient(engine, gradient):
    """Add the links' gradients to that of the variables."""
    kind = _midas(engine, "link_kind")
    chain = _midas(engine, "chain_start")
    variable = _midas(engine, "chain_variable")
    jacobian = _midas(engine, "jacobian")
    source = _midas(engine, "link_gradient")
    for link in range(kind.size):
        if kind[link] == FREE:
            start = variable[chain[link]]
            for i in range(4):
                for k in range(3):
                    gradient[start + 3 * i + k] += source[link, i, k]
            continue
        for column in range(chain[link], chain[link + 1]):
            value = 0.0
            for i in range(4):
                for k in range(3):
                    value += jacobian[column, i, k] * source[link, i, k]
            gradient[variable[column]] += value


@compiled
def move_vertices(engine, q, x):
    """Fill the positions of the moving links' vertices, which come first in ``x``."""
    rest = _midas(engine, "vertex_rest")
    owner = _midas(engine, "vertex_link")
    world = q.shape[0] - 1
    for vertex in range(owner.size):
        link = owner[vertex]
        if link == world:
            break
        for k in range(3):
            x[vertex, k] = (
                q[link, 0, k]
                + rest[vertex, 1] * q[link, 1, k]
                + rest[vertex, 2] * q[link, 2, k]
                + rest[vertex, 3] * q[link, 3, k]
            )
