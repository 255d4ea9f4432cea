"""Deformable bodies of a model: their particles and elements.

Particles are what moves: vertices, or the nodes between which those of an interpolated flex are.
They are numbered as all vertices of a model, and all nodes after these.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.plant.model.names import element

__all__ = [
    "flex_elements",
    "flex_name",
    "flex_particles",
    "flex_triangles",
    "flex_vertices",
    "frame_body",
    "free_particles",
    "in_frame",
    "is_cloth",
    "is_loose",
    "mean_edge",
    "moving_particles",
    "orientation",
    "particle_bodies",
    "particle_offsets",
    "particle_positions",
    "plane_poisson",
    "rest_positions",
    "resting_data",
    "surface_edges",
    "surface_faces",
]

# Of angles, and of lengths relatively, that are the same.
_SAME = 1e-6


def flex_name(model: mujoco.MjModel, flex: int) -> str:
    return element(model, mujoco.mjtObj.mjOBJ_FLEX, flex)


def flex_vertices(model: mujoco.MjModel, flex: int) -> slice:
    return slice(
        int(model.flex_vertadr[flex]), int(model.flex_vertadr[flex] + model.flex_vertnum[flex])
    )


def flex_particles(model: mujoco.MjModel, flex: int) -> slice:
    """Those of a flex among all particles."""
    if model.flex_interp[flex] == 0:
        return flex_vertices(model, flex)
    first = model.nflexvert + int(model.flex_nodeadr[flex])
    return slice(first, first + int(model.flex_nodenum[flex]))


def particle_bodies(model: mujoco.MjModel) -> np.ndarray:
    """Bodies of vertices and nodes; 0 of a vertex between nodes, which has none."""
    bodies = np.concatenate([model.flex_vertbodyid, model.flex_nodebodyid])
    return np.asarray(np.maximum(bodies, 0))


def particle_offsets(model: mujoco.MjModel) -> np.ndarray:
    """Positions of vertices and nodes in their bodies [m], shape (n, 3)."""
    return np.vstack([model.flex_vert.reshape(-1, 3), model.flex_node.reshape(-1, 3)])


def frame_body(model: mujoco.MjModel, flex: int) -> int:
    """The body in whose frame a flex is deformed: the one that most of its particles hang on.

    It stands for all that is welded to it, and is 0 for a flex in the world. A rigid flex has the
    body that all of them are on.
    """
    bodies = np.unique(particle_bodies(model)[flex_particles(model, flex)])
    if model.flex_rigid[flex]:
        return int(model.body_weldid[bodies[0]])
    above = model.body_weldid[model.body_parentid[bodies[model.body_weldid[bodies] != 0]]]
    return int(np.bincount(above, minlength=1).argmax())


def moving_particles(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Which particles are bodies that move in the flex's frame; others are fixed there."""
    bodies = particle_bodies(model)[flex_particles(model, flex)]
    frame = frame_body(model, flex)
    hang = model.body_weldid[model.body_parentid[bodies]] == frame
    return np.asarray(hang & ~np.isin(model.body_weldid[bodies], (0, frame)))


def free_particles(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Which particles move along three axes of the flex's frame.

    Others that move have one axis or two (``dof="radial"`` or ``"2d"``).
    """
    bodies = particle_bodies(model)[flex_particles(model, flex)]
    return np.asarray(moving_particles(model, flex) & (model.body_jntnum[bodies] == 3))


def is_cloth(model: mujoco.MjModel, flex: int) -> bool:
    """Whether a flex resists along and across its triangles, and is no surface of a volume."""
    return bool(model.flex_dim[flex] == 2 and model.flex_interp[flex] == 0)


def is_loose(model: mujoco.MjModel, flex: int) -> bool:
    """Whether nothing holds vertices together along the edges between them."""
    first = int(model.flex_stiffnessadr[flex])
    return not (
        model.flex_interp[flex] != 0
        or model.flex_edgeequality[flex]
        or model.flex_edgestiffness[flex] > 0.0
        or (model.flex_dim[flex] == 1 and model.flex_bendingadr[flex] >= 0)
        or (first >= 0 and model.flex_stiffness[first] != 0.0)
    )


def flex_elements(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Vertices of the elements, as counted within the flex."""
    first, corners = int(model.flex_elemdataadr[flex]), int(model.flex_dim[flex]) + 1
    found = model.flex_elem[first : first + corners * int(model.flex_elemnum[flex])]
    return found.reshape(-1, corners).astype(np.int64)


def flex_triangles(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Triangles of the surface of a flex, or of cloth, shape (n, 3).

    Those of a rope have no area: the second and third corners are one, as of capsules.
    """
    if model.flex_dim[flex] == 1:
        return np.take(flex_elements(model, flex), [0, 1, 1], axis=1)
    if model.flex_dim[flex] == 2:
        return flex_elements(model, flex)
    first = int(model.flex_shelldataadr[flex])
    return np.asarray(model.flex_shell[first : first + 3 * int(model.flex_shellnum[flex])]).reshape(
        -1, 3
    )


def surface_faces(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where every element's faces begin, their vertices, and the elements that they are of.

    Faces of volumes are counterclockwise where they are seen from outside. Ropes have none.
    """
    counts, corners, owners = [0], [np.zeros((0, 3), np.int64)], [np.zeros(0, np.int64)]
    for flex in range(model.nflex):
        count = np.zeros(model.flex_elemnum[flex], np.int64)
        if model.flex_dim[flex] > 1 and not model.flex_rigid[flex]:
            elements = flex_elements(model, flex)
            faces = flex_triangles(model, flex).astype(np.int64)
            owner = np.arange(len(elements))
            if model.flex_dim[flex] == 3:
                faces, owner = _outwards(faces, elements, rest_positions(model, flex))
            corners.append(faces)
            owners.append(owner)
            count = np.bincount(owner, minlength=len(count))
        counts.extend(count.tolist())
    return np.cumsum(counts), np.concatenate(corners), np.concatenate(owners)


def surface_edges(
    model: mujoco.MjModel,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where every element's edges of faces begin, their vertices, and the two faces beside them.

    An edge belongs to the element of its first face. The border of cloth has the second face −1.
    The last array has 1 for diagonals of flat quadrilaterals of volumes.
    """
    first, faces, owners = surface_faces(model)
    counts = np.zeros(len(first), np.int64)
    edges: list[tuple[int, int]] = []
    sides: list[list[int]] = []
    diagonal: list[bool] = []
    for flex in range(model.nflex):
        known: dict[frozenset[int], list[int]] = {}
        start = int(model.flex_elemadr[flex])
        of_flex = range(first[start], first[start + int(model.flex_elemnum[flex])])
        for face in of_flex:
            for ends in zip(faces[face], np.roll(faces[face], 1), strict=True):
                known.setdefault(frozenset(ends), [*map(int, ends)]).append(face)
        positions = rest_positions(model, flex)
        for one, other, *beside in known.values():
            volume = model.flex_dim[flex] == 3
            diagonal.append(volume and _is_diagonal(positions, faces[beside], one, other))
            counts[start + owners[beside[0]] + 1] += 1
            edges.append((one, other))
            sides.append([*beside, -1][:2])
    return (
        np.cumsum(counts),
        np.array(edges, np.int64).reshape(-1, 2),
        np.array(sides, np.int64).reshape(-1, 2),
        np.array(diagonal, np.int64),
    )


def _is_diagonal(positions: np.ndarray, faces: np.ndarray, one: int, other: int) -> bool:
    """Whether two faces are in one plane, and the edge between them is longer than the others."""
    corners = positions[faces]
    sides = corners - np.roll(corners, 1, axis=1)
    normals = np.cross(sides[:, 0], sides[:, 1])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    lengths = np.sort(np.linalg.norm(sides, axis=2), axis=1)
    length = np.linalg.norm(positions[one] - positions[other])
    return bool(
        len(faces) == 2
        and np.linalg.norm(np.cross(*normals)) < _SAME
        and np.all(lengths[:, 2] <= length * (1.0 + _SAME))
        and np.all(lengths[:, 1] < length * (1.0 - _SAME))
    )


def _outwards(
    faces: np.ndarray, elements: np.ndarray, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Turn faces of tetrahedra so that they look outwards, and find the tetrahedra."""
    opposite = {
        frozenset(np.delete(element, k).tolist()): (number, int(element[k]))
        for number, element in enumerate(elements)
        for k in range(4)
    }
    owner, inner = np.array([opposite[frozenset(face)] for face in faces.tolist()]).T
    a, b, c, inside = (positions[v] for v in (*faces.T, inner))
    turned = np.einsum("fi,fi->f", np.cross(b - a, c - a), inside - a) > 0.0
    faces = np.where(turned[:, None], faces[:, [0, 2, 1]], faces)
    order = np.argsort(owner, kind="stable")
    return faces[order], owner[order]


def resting_data(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_flex(model, data)
    return data


def orientation(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Of a body at rest, as a matrix."""
    return np.array(resting_data(model).xmat[body]).reshape(3, 3)


def rest_positions(model: mujoco.MjModel, flex: int) -> np.ndarray:
    return np.array(resting_data(model).flexvert_xpos[flex_vertices(model, flex)])


def particle_positions(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Positions of vertices and nodes [m], shape (n, 3), where `mj_flex` was called."""
    bodies = model.flex_nodebodyid
    turned = np.einsum("nij,nj->ni", data.xmat[bodies].reshape(-1, 3, 3), model.flex_node)
    return np.vstack([data.flexvert_xpos, data.xpos[bodies] + turned])


def in_frame(model: mujoco.MjModel, flex: int, positions: np.ndarray) -> np.ndarray:
    """Positions in the axes of the bodies that its particles are."""
    bodies = particle_bodies(model)[flex_particles(model, flex)]
    body = int(bodies[moving_particles(model, flex)][0])
    return np.asarray(positions @ orientation(model, int(model.body_parentid[body])))


def plane_poisson(constants: np.ndarray) -> float:
    """Poisson's ratio of λ and μ of plane stress; 0 of cloth that they do not hold."""
    first, shear = constants
    return float(first / (first + 2.0 * shear)) if shear > 0.0 else 0.0


def mean_edge(model: mujoco.MjModel, flex: int) -> float:
    """Mean length of the edges on the surface of a flex, or of those of a rope [m]."""
    if model.flex_dim[flex] == 1:
        ends = rest_positions(model, flex)[flex_elements(model, flex)]
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())
    corner = rest_positions(model, flex)[flex_triangles(model, flex)]
    return float(np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=-1).mean())
