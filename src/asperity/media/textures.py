"""Images on meshes, for viewers that show them."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.geometry.surfaces import Surface
from asperity.media.appearance import base_color, two_dimensional_texture
from asperity.media.display_meshes import smooth_vertices, solid_faces

__all__ = ["TexturedSurface", "textured_surface"]

Floats = NDArray[np.float64]


class TexturedSurface(NamedTuple):
    """A mesh with an image on it; vertices are doubled wherever normal or image has a seam.

    Attributes
    ----------
    vertices, normals : ndarray, shape (n, 3)
        Positions [m] and unit normals.
    faces : ndarray, shape (m, 3)
        Triangles.
    coordinates : ndarray, shape (n, 2)
        Places in the image, from its left and its upper edge, 1 for its whole width or height;
        beyond that it repeats.
    image : ndarray, shape (height, width, 3)
        Colours from 0 to 1.
    color : ndarray, shape (4,)
        What the image is multiplied by, and opacity.
    """

    vertices: Floats
    normals: Floats
    faces: NDArray[np.int64]
    coordinates: Floats
    image: Floats
    color: Floats


def textured_surface(model: mujoco.MjModel, geom: int) -> TexturedSurface | None:
    """Mesh of a geom in its frame with the image of its material, or None without one.

    Only meshes that say where their vertices lie in the image have one; the other shapes, which
    MuJoCo wraps by rules of its own, get the image's mean colour elsewhere.
    """
    mesh, material = int(model.geom_dataid[geom]), int(model.geom_matid[geom])
    if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH or mesh < 0 or material < 0:
        return None
    first_coordinate = int(model.mesh_texcoordadr[mesh])
    image = two_dimensional_texture(model, material)
    if first_coordinate < 0 or image is None:
        return None
    place = slice(
        int(model.mesh_faceadr[mesh]), int(model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
    )
    first = int(model.mesh_vertadr[mesh])
    vertices, label = np.unique(
        model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])].astype(np.float64),
        axis=0,
        return_inverse=True,
    )
    whole = Surface(vertices, label.reshape(-1)[model.mesh_face[place]])
    faces, normal, solid = solid_faces(whole)
    if not len(faces):
        return None
    number, smooth = smooth_vertices(faces, normal)
    mean = np.zeros((number, 3))
    np.add.at(mean, smooth.ravel(), np.repeat(normal, 3, axis=0))
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    # A corner is a vertex with one normal at a place in the image; equal ones are one vertex here.
    corners = np.stack(
        [faces.ravel(), smooth.ravel(), model.mesh_facetexcoord[place][solid].ravel()], axis=1
    )
    unique, index = np.unique(corners, axis=0, return_inverse=True)
    vertex, of_normal, coordinate = unique.T
    return TexturedSurface(
        vertices[vertex],
        mean[of_normal],
        index.reshape(-1, 3).astype(np.int64),
        model.mesh_texcoord[first_coordinate + coordinate] * _repeats(model, geom, material),
        image,
        base_color(model, geom),
    )


def _repeats(model: mujoco.MjModel, geom: int, material: int) -> Floats:
    """How often the image repeats along both axes, as in MuJoCo's renderer (measured there)."""
    repeat = np.array(model.mat_texrepeat[material], dtype=np.float64)
    return repeat * model.geom_size[geom, :2] if model.mat_texuniform[material] else repeat
