"""How deep bodies overlap, from poses alone: the same measure for every engine."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface
from asperity.plant.model.geom_surfaces import geom_surface

__all__ = ["Overlap", "OverlapMeter", "inside", "surface_distance"]

Floats = NDArray[np.float64]

# Distance below which a point counts as on the surface [m]: poses are rounded to rigid ones.
_ON = 1e-7
# Most pieces of an edge in the grid, for large walls.
_FINEST = 80


class Overlap(NamedTuple):
    """The deepest overlap of one pose."""

    depth: float
    """[m], 0 if nothing overlaps."""
    geoms: tuple[str, str]
    """Between which geoms."""


class OverlapMeter:
    """Depths of overlap of a model's geoms.

    The depth of two geoms is the largest distance from a surface of those points of the other's
    surface that are inside. Points are the vertices and a grid on the triangles, so that it is
    exact where flat faces overlap and else low by the grid's spacing at most. Geoms of one body, of
    parent and child, and of two bodies that cannot move are not compared.

    Parameters
    ----------
    model : mujoco.MjModel
        With the true shapes: planes, primitive geoms and closed meshes.
    spacing : float
        Of the grid [m], or an 80th of a triangle's edge if that is more.
    """

    def __init__(self, model: mujoco.MjModel, spacing: float = 2.5e-3) -> None:
        self._model = model
        self._surfaces: dict[int, Surface] = {}
        self._points: dict[int, Floats] = {}
        self._planes: list[int] = []
        for geom in range(model.ngeom):
            if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
                self._planes.append(geom)
                continue
            local = geom_surface(model, geom, segments=32, hulls=False)
            turn = _matrix(model.geom_quat[geom])
            vertices = local.vertices @ turn.T + model.geom_pos[geom]
            self._surfaces[geom] = Surface(vertices, local.faces)
            self._points[geom] = _grid(self._surfaces[geom], spacing)
        self._centre = {g: s.vertices.mean(axis=0) for g, s in self._surfaces.items()}
        self._radius = {
            g: float(np.linalg.norm(s.vertices - self._centre[g], axis=1).max())
            for g, s in self._surfaces.items()
        }
        solids = list(self._surfaces)
        self._pairs = [
            (a, b) for i, a in enumerate(solids) for b in solids[i + 1 :] if self._apart(a, b)
        ]

    def _apart(self, a: int, b: int) -> bool:
        """Whether two geoms ought not to overlap."""
        model = self._model
        one, other = int(model.geom_bodyid[a]), int(model.geom_bodyid[b])
        fixed = model.body_weldid[one] == model.body_weldid[other]
        related = model.body_parentid[one] == other or model.body_parentid[other] == one
        return not fixed and not (related and one and other)

    def measure(self, position: Floats, rotation: Floats) -> Overlap:
        """The deepest overlap of bodies at poses of shapes (nbody, 3) and (nbody, 3, 3)."""
        model = self._model
        body = model.geom_bodyid
        deepest = (0.0, -1, -1)
        for plane in self._planes:
            turn = rotation[body[plane]] @ _matrix(model.geom_quat[plane])
            offset = position[body[plane]] + rotation[body[plane]] @ model.geom_pos[plane]
            for geom, surface in self._surfaces.items():
                if model.body_weldid[body[geom]] != 0:
                    place = surface.vertices @ rotation[body[geom]].T + position[body[geom]]
                    depth = -float(np.min((place - offset) @ turn[:, 2]))
                    deepest = max(deepest, (depth, plane, geom))
        centre = {
            g: rotation[body[g]] @ self._centre[g] + position[body[g]] for g in self._surfaces
        }
        for a, b in self._pairs:
            if math.dist(centre[a], centre[b]) > self._radius[a] + self._radius[b]:
                continue
            for one, other in ((a, b), (b, a)):
                # In the frame of the other's body, where its surface does not move.
                turn = rotation[body[other]]
                points = self._points[one] @ (rotation[body[one]].T @ turn)
                points += (position[body[one]] - position[body[other]]) @ turn
                depth = _deepest_point(points, self._surfaces[other])
                deepest = max(deepest, (depth, one, other))
        depth, one, other = deepest
        if depth <= _ON:
            return Overlap(0.0, ("", ""))
        return Overlap(depth, (_name(model, one), _name(model, other)))


def _deepest_point(points: Floats, surface: Surface) -> float:
    low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    near = points[np.all((points > low) & (points < high), axis=1)]
    if len(near) == 0:
        return 0.0
    within = near[inside(near, surface)]
    return float(surface_distance(within, surface).max()) if len(within) else 0.0


def inside(points: Floats, surface: Surface) -> NDArray[np.bool_]:
    """Whether points are inside a closed surface, by the solid angle that it fills.

    Solid angles of triangles after van Oosterom and Strackee, "The solid angle of a plane
    triangle", IEEE Transactions on Biomedical Engineering 30 (1983).
    """
    out = np.zeros(len(points), dtype=bool)
    for chunk in _chunks(len(points), len(surface.faces)):
        a, b, c = (
            surface.vertices[surface.faces[:, k]][None] - points[chunk, None] for k in range(3)
        )
        la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
        volume = np.einsum("pti,pti->pt", a, np.cross(b, c))
        dot = la * lb * lc + np.einsum("pti,pti->pt", a, b) * lc
        dot += np.einsum("pti,pti->pt", b, c) * la + np.einsum("pti,pti->pt", c, a) * lb
        out[chunk] = np.sum(np.arctan2(volume, dot), axis=1) > np.pi
    return out


def surface_distance(points: Floats, surface: Surface) -> Floats:
    """Distance of points to a surface [m], shape (n,)."""
    out = np.zeros(len(points))
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    sides = [(a, b), (b, c), (c, a)]
    for chunk in _chunks(len(points), len(surface.faces)):
        x = points[chunk, None]
        nearest = np.full((x.shape[0], len(a)), np.inf)
        over = np.ones_like(nearest, dtype=bool)
        for p, q in sides:
            edge, to = q - p, x - p
            share = np.clip(np.einsum("pti,ti->pt", to, edge) / np.sum(edge**2, axis=1), 0.0, 1.0)
            apart = np.linalg.norm(to - share[:, :, None] * edge, axis=2)
            nearest = np.minimum(nearest, apart)
            over &= np.einsum("pti,ti->pt", to, np.cross(normal, edge)) >= 0.0
        height = np.abs(np.einsum("pti,ti->pt", x - a, normal))
        out[chunk] = np.where(over, height, nearest).min(axis=1)
    return out


def _chunks(points: int, faces: int) -> list[slice]:
    size = max(1, 100_000 // max(faces, 1))
    return [slice(i, i + size) for i in range(0, points, size)]


def _grid(surface: Surface, spacing: float) -> Floats:
    """Vertices, and points on edges and in triangles so far apart [m], or an 80th of an edge."""
    points = [surface.vertices]
    for triangle in surface.vertices[surface.faces]:
        sides = np.linalg.norm(triangle - np.roll(triangle, -1, axis=0), axis=1)
        # From the corner opposite the longest side, along the other two.
        a, b, c = np.roll(triangle, -((int(np.argmax(sides)) + 2) % 3), axis=0)
        counts = [
            min(max(1, int(np.ceil(np.linalg.norm(x - a) / spacing))), _FINEST) for x in (b, c)
        ]
        u, v = (k.ravel() for k in np.meshgrid(*(np.linspace(0.0, 1.0, n + 1) for n in counts)))
        keep = u + v <= 1.0
        points.append(a + np.outer(u[keep], b - a) + np.outer(v[keep], c - a))
        w = np.linspace(0.0, 1.0, counts[0] + counts[1] + 1)[:, None]
        points.append(b + w * (c - b))
    return np.unique(np.round(np.concatenate(points), 9), axis=0)


def _matrix(quat: Floats) -> Floats:
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, quat)
    return out.reshape(3, 3)


def _name(model: mujoco.MjModel, geom: int) -> str:
    name: str = model.geom(geom).name
    return name or f"geom {geom}"
