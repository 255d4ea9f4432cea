"""What keeps a triangle mesh from being the surface of a solid, and how that is mended.

Holes are closed by a fan of triangles to the mean of their edge. Closed parts of one mesh that run
through each other are united by the library ``manifold3d``; whether there are any is asked of
``ipctk``. Both are in the extra ``midas``.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface, edge_uses, is_closed, volume_integrals

__all__ = ["Defects", "closed_surface", "find_defects", "turned"]

# Vertices of united meshes that are so near to each other, relative to the mesh's size, are one.
_MERGED = 1e-6


class Defects(NamedTuple):
    """What is wrong with a mesh."""

    open: int
    """Edges of one triangle."""
    branching: int
    """Edges of more than two triangles."""
    disagreeing: int
    """Edges of two triangles that disagree on the outside."""
    inverted: bool
    """Whether it is closed and faces inwards."""
    crossing: bool
    """Whether triangles run through each other, as far as ``ipctk`` is there to tell."""

    @property
    def is_solid(self) -> bool:
        """Whether the mesh bounds a solid, or would if it were turned."""
        return not (self.open or self.branching or self.disagreeing or self.crossing)


def find_defects(surface: Surface) -> Defects:
    """Look for all that keeps a mesh from bounding a solid."""
    _, count, forward = edge_uses(surface.faces)
    closed = bool(np.all((count == 2) & (forward == 1)))
    return Defects(
        open=int(np.sum(count == 1)),
        branching=int(np.sum(count > 2)),
        disagreeing=int(np.sum((count == 2) & (forward != 1))),
        inverted=closed and volume_integrals(surface)[0] < 0.0,
        crossing=_crosses_itself(
            np.ascontiguousarray(surface.vertices).tobytes(),
            np.ascontiguousarray(surface.faces, dtype=np.int32).tobytes(),
        ),
    )


def turned(surface: Surface) -> Surface:
    """Turn the faces of a mesh to the other side."""
    return Surface(surface.vertices, np.ascontiguousarray(surface.faces[:, ::-1]))


def closed_surface(surface: Surface) -> Surface | None:
    """A mesh that bounds a solid, or None if that is not to be had from the given one."""
    found = _filled(surface)
    if found is None or not is_closed(found):
        return None
    if volume_integrals(found)[0] < 0.0:
        found = turned(found)
    if find_defects(found).crossing:
        found = _united(found)
    return found if found is not None and find_defects(found).is_solid else None


@functools.lru_cache(maxsize=256)
def _crosses_itself(vertices: bytes, faces: bytes) -> bool:
    if importlib.util.find_spec("ipctk") is None:
        return False
    import ipctk

    points = np.asfortranarray(np.frombuffer(vertices).reshape(-1, 3))
    triangles = np.asfortranarray(np.frombuffer(faces, dtype=np.int32).reshape(-1, 3))
    mesh = ipctk.CollisionMesh(points, ipctk.edges(triangles), triangles)
    return bool(ipctk.has_intersections(mesh, points))


def _filled(surface: Surface) -> Surface | None:
    """The mesh with a fan over every hole, or None where holes are no simple loops."""
    faces = surface.faces
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there = {(int(a), int(b)) for a, b in sides}
    if len(there) < len(sides):
        return None
    following: dict[int, int] = {}
    for a, b in there:
        if (b, a) not in there:
            if b in following:
                return None
            following[b] = a
    vertices: list[NDArray[np.float64]] = [surface.vertices]
    more = [faces]
    count = len(surface.vertices)
    while following:
        first, at = following.popitem()
        loop = [first]
        while at != first:
            loop.append(at)
            if at not in following:
                return None
            at = following.pop(at)
        ends = np.roll(loop, -1)
        if len(loop) == 3:
            more.append(np.array([loop]))
            continue
        vertices.append(surface.vertices[loop].mean(axis=0)[None])
        more.append(np.column_stack([loop, ends, np.full(len(loop), count)]))
        count += 1
    return Surface(np.concatenate(vertices), np.concatenate(more).astype(np.int64))


def _united(surface: Surface) -> Surface | None:
    """The union of the closed parts of a mesh, or None without ``manifold3d``."""
    if importlib.util.find_spec("manifold3d") is None:
        return None
    import manifold3d

    size = float(np.ptp(surface.vertices, axis=0).max())
    mesh = manifold3d.Mesh64(surface.vertices / size, surface.faces.astype(np.uint64))
    whole = manifold3d.Manifold(mesh)
    if whole.status() != manifold3d.Error.NoError:
        return None
    whole = manifold3d.Manifold.batch_boolean(whole.decompose(), manifold3d.OpType.Add)
    found = whole.simplify(_MERGED).to_mesh64()
    if len(found.tri_verts) == 0:
        return None
    vertices = size * np.asarray(found.vert_properties, dtype=np.float64)[:, :3]
    vertices, label = np.unique(vertices, axis=0, return_inverse=True)
    return Surface(vertices, label.reshape(-1)[np.asarray(found.tri_verts, dtype=np.int64)])
