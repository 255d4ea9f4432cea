"""Contacts with edges and sides of geoms that a neighbour covers.

Floors, tables and shells are often made of several boxes or convex meshes. What slides over one of
them overlaps by a little, and meets the next one's side, which stops it; what rolls meets an edge
whose normal leans. Neither is part of the surface of the whole. A contact of a box or of a mesh is
left out if the same geom touches another one of the same body, or of bodies that are fixed to each
other, such that

- the other contact has the normal of a face of that one, and this contact's normal leans more;
- this one comes nowhere out of that face's plane: it is no wall, and no step;
- its surface at the contact lies on the other one, or in it.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_double, load_int, store_int
from asperity.plant.detection.collision import contact_address, contacts_found
from asperity.plant.detection.field_corners import EXCLUDED, hull_vertices
from asperity.plant.detection.geom_distance import BOX
from asperity.plant.plant_layouts import EVALUATED, PLANT, STATE

__all__ = ["find_shells", "has_shells", "leave_out_seams", "meets_level_neighbour"]

# Cosine of the angle of a face's normal to a contact's, from which the contact is with the face.
_UPRIGHT = 0.99
# Difference of the cosines of two normals from which one of them leans: a tenth of a degree.
_LEANS = 1.5e-6
# Over the smaller thickness of two geoms: how wide a gap may be, and how high a step.
_GAP = 1e-3
_STEP = 1e-5

_HULLS = (BOX, int(mujoco.mjtGeom.mjGEOM_MESH))
# Faces of hulls that are looked at: rounder ones do not lie beside each other.
_MOST_FACES = 200
# Parts by which normals and distances of triangles of one face differ: vertices have single
# precision.
_DIGITS = 5


class Shells(NamedTuple):
    """Convex geoms that may lie beside each other.

    Attributes
    ----------
    shell : numpy.ndarray
        Number of the shell that a geom is part of, −1 of others, shape (ngeom,). Boxes and hulls of
        one body, and of bodies without joints between them, are a shell, if they collide.
    corner_first : numpy.ndarray
        Number of each geom's first corner, shape (ngeom + 1,).
    corners : numpy.ndarray
        In the geom's frame [m], shape (n, 3).
    face_first : numpy.ndarray
        Number of each geom's first face, shape (ngeom + 1,).
    faces : numpy.ndarray
        Outward normals in the geom's frame, and distances from its origin [m], shape (m, 4).
    thickness : numpy.ndarray
        Smallest half side of the geom's bounding box [m], shape (ngeom,).
    """

    shell: np.ndarray
    corner_first: np.ndarray
    corners: np.ndarray
    face_first: np.ndarray
    faces: np.ndarray
    thickness: np.ndarray


def _faces_of_mesh(model: mujoco.MjModel, mesh: int) -> np.ndarray:
    """Planes of the faces of a mesh's hull, as in `Shells`."""
    start, graph = model.mesh_vertadr[mesh], model.mesh_graphadr[mesh]
    vertices = model.mesh_vert[start : start + model.mesh_vertnum[mesh]].astype(np.float64)
    # MuJoCo's graph: how many vertices and faces, two numbers of each vertex, its edges, faces.
    points, triangles = (int(n) for n in model.mesh_graph[graph : graph + 2])
    begin = graph + 2 + 3 * points + 3 * triangles
    a, b, c = vertices[model.mesh_graph[begin : begin + 3 * triangles].reshape(-1, 3)].swapaxes(
        0, 1
    )
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    whole = length > 0.0
    normal = normal[whole] / length[whole, None]
    faces = np.column_stack([normal, np.sum(normal * a[whole], axis=1)])
    scale = np.array([1.0, 1.0, 1.0, 1.0 / max(np.abs(vertices).max(), 1e-300)])
    _, kept = np.unique(np.round(faces * scale, _DIGITS), axis=0, return_index=True)
    return faces[kept]


def _group(model: mujoco.MjModel) -> np.ndarray:
    hulls = np.isin(model.geom_type, _HULLS)
    hulls &= (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    shell = np.where(hulls, model.body_weldid[model.geom_bodyid], -1).astype(np.int64)
    several = np.bincount(shell + 1, minlength=model.nbody + 1)[shell + 1] > 1
    return np.where(several, shell, -1)


def has_shells(model: mujoco.MjModel) -> bool:
    """Whether geoms may lie beside each other."""
    return bool((_group(model) >= 0).any())


def find_shells(model: mujoco.MjModel) -> Shells:
    """Find the geoms that may lie beside each other."""
    shell = _group(model)
    none = (np.empty((0, 3)), np.empty((0, 4)))
    corners, faces = [[one] * model.ngeom for one in none]
    signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
    normals = np.vstack([np.eye(3), -np.eye(3)])
    of_mesh: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for geom in np.flatnonzero(shell >= 0):
        mesh = int(model.geom_dataid[geom])
        if model.geom_type[geom] == BOX:
            size = model.geom_size[geom]
            corners[geom] = signs * size
            faces[geom] = np.column_stack([normals, np.tile(size, 2)])
            continue
        if model.mesh_graphadr[mesh] < 0:
            shell[geom] = -1
            continue
        if mesh not in of_mesh:
            of_mesh[mesh] = hull_vertices(model, mesh), _faces_of_mesh(model, mesh)
        corners[geom], faces[geom] = of_mesh[mesh]
        if len(faces[geom]) > _MOST_FACES:
            shell[geom] = -1
            corners[geom], faces[geom] = none
    first = [np.cumsum([0, *map(len, parts)]).astype(np.int64) for parts in (corners, faces)]
    return Shells(
        shell,
        first[0],
        np.concatenate([none[0], *corners]),
        first[1],
        np.concatenate([none[1], *faces]),
        model.geom_aabb[:, 3:].min(axis=1).astype(np.float64),
    )


@compiled
def _reach(plant: Table, state: Table, geom: int, x: float, y: float, z: float) -> float:
    """How far a geom of a shell comes along a direction."""
    shells = plant.shells
    turn, place = state.mj_geom_xmat[geom], state.mj_geom_xpos[geom]
    u = x * turn[0] + y * turn[3] + z * turn[6]
    v = x * turn[1] + y * turn[4] + z * turn[7]
    w = x * turn[2] + y * turn[5] + z * turn[8]
    reach = -np.inf
    for i in range(shells.corner_first[geom], shells.corner_first[geom + 1]):
        corner = shells.corners[i]
        reach = max(reach, u * corner[0] + v * corner[1] + w * corner[2])
    return reach + x * place[0] + y * place[1] + z * place[2]


@compiled
def _thinner(plant: Table, one: int, other: int) -> float:
    return min(plant.shells.thickness[one], plant.shells.thickness[other])


@compiled
def _is_level(
    plant: Table, state: Table, geom: int, other: int, x: float, y: float, z: float
) -> bool:
    """Whether a geom comes no farther along a direction than another one."""
    step = _STEP * _thinner(plant, geom, other)
    return _reach(plant, state, geom, x, y, z) <= _reach(plant, state, other, x, y, z) + step


@compiled
def _covers(
    plant: Table, state: Table, geom: int, gap: float, x: float, y: float, z: float
) -> bool:
    """Whether a point lies in a geom, or before one of its faces by no more than a gap."""
    shells = plant.shells
    turn, place = state.mj_geom_xmat[geom], state.mj_geom_xpos[geom]
    x, y, z = x - place[0], y - place[1], z - place[2]
    u = x * turn[0] + y * turn[3] + z * turn[6]
    v = x * turn[1] + y * turn[4] + z * turn[7]
    w = x * turn[2] + y * turn[5] + z * turn[8]
    for i in range(shells.face_first[geom], shells.face_first[geom + 1]):
        face = shells.faces[i]
        if u * face[0] + v * face[1] + w * face[2] > face[3] + gap:
            return False
    return True


@compiled
def _nearest_face(
    plant: Table, state: Table, geom: int, x: float, y: float, z: float
) -> tuple[float, float, float, float]:
    """Cosine of the angle to the normal of a geom's face that is nearest, and that normal."""
    shells = plant.shells
    turn = state.mj_geom_xmat[geom]
    u = x * turn[0] + y * turn[3] + z * turn[6]
    v = x * turn[1] + y * turn[4] + z * turn[7]
    w = x * turn[2] + y * turn[5] + z * turn[8]
    best = -1.0
    nearest = shells.face_first[geom]
    for i in range(nearest, shells.face_first[geom + 1]):
        face = shells.faces[i]
        along = u * face[0] + v * face[1] + w * face[2]
        if along > best:
            best = along
            nearest = i
    u, v, w = shells.faces[nearest, 0], shells.faces[nearest, 1], shells.faces[nearest, 2]
    return (
        best,
        turn[0] * u + turn[1] * v + turn[2] * w,
        turn[3] * u + turn[4] * v + turn[5] * w,
        turn[6] * u + turn[7] * v + turn[8] * w,
    )


@compiled
def _is_covered(
    plant: Table, state: Table, address: int, side: int, other: int, other_side: int
) -> bool:
    """Whether another contact says that a shell's geom is covered where this contact is.

    ``side`` and ``other_side`` are those of the shell's geoms in their contacts.
    """
    offsets = plant.offsets
    geom = load_int(address + offsets.contact_geom + 4 * side)
    neighbour = load_int(other + offsets.contact_geom + 4 * other_side)
    normal = address + offsets.contact_frame
    other_normal = other + offsets.contact_frame
    # Out of the shell.
    out = 1.0 - 2.0 * side
    other_out = 1.0 - 2.0 * other_side
    upright, x, y, z = _nearest_face(
        plant,
        state,
        neighbour,
        other_out * load_double(other_normal),
        other_out * load_double(other_normal + 8),
        other_out * load_double(other_normal + 16),
    )
    if upright < _UPRIGHT:
        return False
    along = x * load_double(normal) + y * load_double(normal + 8) + z * load_double(normal + 16)
    if out * along >= upright - _LEANS or not _is_level(plant, state, geom, neighbour, x, y, z):
        return False
    point = address + offsets.contact_pos
    # From midway to the geom's surface.
    ahead = -0.5 * out * load_double(address + offsets.contact_dist)
    return _covers(
        plant,
        state,
        neighbour,
        _GAP * _thinner(plant, geom, neighbour),
        load_double(point) + ahead * load_double(normal),
        load_double(point + 8) + ahead * load_double(normal + 8),
        load_double(point + 16) + ahead * load_double(normal + 16),
    )


@compiled
def _list_contacts(
    plant: Table, state: Table, listed: np.ndarray, last: np.ndarray, before: np.ndarray
) -> int:
    """List what geoms of shells touch; returns how many contacts that are.

    Sides of these contacts are numbered, two of each. ``last`` becomes each geom's last one that is
    of one which it touches, and ``before`` the one before it, or −1.
    """
    shell, offsets = plant.shells.shell, plant.offsets
    count = 0
    for index in range(listed.size):
        address = contact_address(plant, state, index)
        geoms = address + offsets.contact_geom
        one, other = load_int(geoms), load_int(geoms + 4)
        if one < 0 or other < 0 or (shell[one] < 0 and shell[other] < 0):
            continue
        listed[count] = address
        for side in range(2):
            if shell[one if side == 0 else other] >= 0:
                geom = other if side == 0 else one
                before[2 * count + side] = last[geom]
                last[geom] = 2 * count + side
        count += 1
    return count


@entry_point(types.int64(PLANT.type, STATE.type))
def leave_out_seams(plant: Table, state: Table) -> int:
    """Mark what is covered among the contacts that MuJoCo has found as excluded."""
    shell, offsets = plant.shells.shell, plant.offsets
    found = contacts_found(plant, state)
    listed = np.empty(found, np.int64)
    before = np.empty(2 * found, np.int64)
    last = np.full(shell.size, -1, np.int64)
    for k in range(_list_contacts(plant, state, listed, last, before)):
        geoms = listed[k] + offsets.contact_geom
        for side in range(2):
            geom = load_int(geoms + 4 * side)
            if shell[geom] < 0:
                continue
            at = last[load_int(geoms + 4 * (1 - side))]
            while at >= 0:
                other = listed[at // 2]
                neighbour = load_int(other + offsets.contact_geom + 4 * (at % 2))
                if (
                    neighbour != geom
                    and shell[neighbour] == shell[geom]
                    and _is_covered(plant, state, listed[k], side, other, at % 2)
                ):
                    store_int(listed[k] + offsets.contact_exclude, EXCLUDED)
                    break
                at = before[at]
    return EVALUATED


@compiled
def meets_level_neighbour(
    plant: Table, state: Table, contacts: Table, c: int, known: Table
) -> bool:
    """Whether one of a contact's geoms has come from a neighbour of the other, without a step.

    ``known`` are earlier contacts.
    """
    shell = plant.shells.shell
    for side in range(2):
        geom = contacts.geom[c, side]
        if geom >= shell.size or shell[geom] < 0:
            continue
        out = 1.0 - 2.0 * side
        x, y, z = out * contacts.frame[c, 6], out * contacts.frame[c, 7], out * contacts.frame[c, 8]
        for k in range(known.count):
            for other_side in range(2):
                neighbour = known.geom[k, other_side]
                if (
                    known.geom[k, 1 - other_side] == contacts.geom[c, 1 - side]
                    and neighbour < shell.size
                    and shell[neighbour] == shell[geom]
                    and _is_level(plant, state, geom, neighbour, x, y, z)
                ):
                    return True
    return False
