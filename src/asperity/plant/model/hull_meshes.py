"""Meshes that collide as their convex hulls, which is not what they look like."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.plant.model.names import listed

__all__ = ["hull_notes"]

# Share of the hull that a mesh must fill to pass for convex: a rounded one is made of chords.
_CONVEX = 0.98


def hull_notes(model: mujoco.MjModel) -> tuple[str, ...]:
    """A sentence for every mesh that is not convex and collides as its hull."""
    collide = (np.asarray(model.geom_contype) | np.asarray(model.geom_conaffinity)) != 0
    is_mesh = np.asarray(model.geom_type) == int(mujoco.mjtGeom.mjGEOM_MESH)
    notes = []
    for mesh in np.unique(model.geom_dataid[is_mesh & collide]):
        share = _filled(model, int(mesh))
        if share >= _CONVEX:
            continue
        users = np.flatnonzero(is_mesh & collide & (model.geom_dataid == mesh))
        names = [model.geom(int(geom)).name or f"#{geom}" for geom in users]
        notes.append(
            f"Mesh {model.mesh(int(mesh)).name!r} collides as its convex hull, of which it fills "
            f"{100.0 * share:.0f} % (geoms {listed(names)}): split it into convex parts, or use "
            "Midas or a pressure field, which take the mesh as it is."
        )
    return tuple(notes)


def _filled(model: mujoco.MjModel, mesh: int) -> float:
    """Volume of a mesh over that of its hull; 1 of what has none."""
    from scipy.spatial import ConvexHull, QhullError  # slow to import, and most need it not

    vertices = np.asarray(_rows(model.mesh_vert, model.mesh_vertadr, model.mesh_vertnum, mesh))
    faces = np.asarray(_rows(model.mesh_face, model.mesh_faceadr, model.mesh_facenum, mesh))
    vertices = vertices.astype(np.float64)
    try:
        hull = ConvexHull(vertices)
    except QhullError:
        return 1.0  # flat
    corners = vertices[faces] - vertices.mean(axis=0)
    volume = np.einsum("ni,ni->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    return min(abs(float(volume)) / float(hull.volume), 1.0)


def _rows(array: np.ndarray, first: np.ndarray, count: np.ndarray, mesh: int) -> np.ndarray:
    return array[int(first[mesh]) : int(first[mesh]) + int(count[mesh])]
