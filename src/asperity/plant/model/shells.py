"""Shells of cells: interpolated flexes of which only the faces of the box resist.

A flex with ``dof="trilinear"`` or ``"quadratic"`` and ``elastic2d`` is hollow: the outer faces of
its cells are a shell with a thickness, which stretches, bends or both. Nodes on these faces move.
Others have no mass; they are where faces, edges and corners of the box place them (W. J. Gordon,
C. A. Hall, Construction of curvilinear co-ordinate systems, Int. J. Numer. Methods Eng. 7, 1973):
with I_a the linear interpolation along the axis a between the two faces across it, at

    (I_x + I_y + I_z − I_x I_y − I_y I_z − I_z I_x + I_x I_y I_z) x.

MuJoCo keeps the stiffness of faces in their planes, and of their edges

    E = ½ k |n_A − n_B − R (n_A − n_B)_0|²,    k = D ℓ/h,

with normals of both faces at the middle of the edge of length ℓ, and the mean h of what they
measure across it. D is read from there. Bending is that of cloth here, of the triangles between
nodes (`asperity.soft.bending`), as normals at the middles of edges do not see a face's twist.

An equality of strain keeps lengths along faces, by stiffness as in cells (`held_modulus`). MuJoCo's
keeps every face plane, too, so that nothing but hinges between faces bends; here faces do.
"""

from __future__ import annotations

import itertools

import mujoco
import numpy as np

from asperity.plant.model.flexes import flex_particles, in_frame, particle_positions, resting_data
from asperity.soft.bending import Bend, bending
from asperity.soft.elements import Element
from asperity.soft.faces import face, face_triangles, plane_moduli

__all__ = [
    "inner_shares",
    "is_shell",
    "shell_bending",
    "shell_faces",
    "shell_membranes",
    "shell_moduli",
    "shell_rigidity",
    "shell_triangles",
]


def is_shell(model: mujoco.MjModel, flex: int) -> bool:
    return bool(model.flex_interp[flex] < 0)


def _counts(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Nodes of all cells along the three axes."""
    order = abs(int(model.flex_interp[flex]))
    return np.asarray(order * np.array(model.flex_cellnum[flex]) + 1)


def shell_faces(model: mujoco.MjModel, flex: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of all faces, as counted within the flex, and the axes along and across them.

    Shapes (n, (order + 1)²) and (n, 3); in MuJoCo's order, by two sides of each axis.
    """
    order = abs(int(model.flex_interp[flex]))
    cells, along = np.array(model.flex_cellnum[flex]), _counts(model, flex)
    number = np.arange(np.prod(along)).reshape(along)
    nodes, axes = [], []
    for normal in range(3):
        one, two = (normal + 1) % 3, (normal + 2) % 3
        for side in (0, -1):
            layer = np.moveaxis(number, (one, two, normal), (0, 1, 2))[..., side]
            for i, j in itertools.product(range(cells[one]), range(cells[two])):
                part = layer[order * i : order * (i + 1) + 1, order * j : order * (j + 1) + 1]
                nodes.append(part.ravel())
                axes.append((one, two, normal))
    return np.array(nodes, np.int64), np.array(axes, np.int64)


def inner_shares(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """What nodes on the faces have of all nodes' places, shape (nodes, nodes)."""
    along = _counts(model, flex)
    size = int(np.prod(along))
    shares = np.eye(size)
    if np.any(along < 3):
        return shares
    field = shares.reshape(*along, size)

    def between(values: np.ndarray, axis: int) -> np.ndarray:
        share = np.linspace(0.0, 1.0, along[axis]).reshape(np.where(np.arange(4) == axis, -1, 1))
        ends = np.take(values, [0], axis), np.take(values, [-1], axis)
        return np.asarray((1.0 - share) * ends[0] + share * ends[1])

    x, y, z = (between(field, axis) for axis in range(3))
    xy, yz, zx = between(x, 1), between(y, 2), between(z, 0)
    blended = x + y + z - xy - yz - zx + between(xy, 2)
    inside = (slice(1, -1),) * 3
    field[inside] = blended[inside]
    return shares


def _places(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Nodes at rest in the axes of their bodies [m]."""
    at_rest = particle_positions(model, resting_data(model))[flex_particles(model, flex)]
    return in_frame(model, flex, at_rest)


def shell_moduli(model: mujoco.MjModel, flex: int) -> tuple[np.ndarray, float]:
    """What faces resist constant strains in their planes with, Σ A C [N m], and their area Σ A."""
    nodes, axes = shell_faces(model, flex)
    places, first = _places(model, flex), int(model.flex_stiffnessadr[flex])
    side = 3 * nodes.shape[1]
    total, area = np.zeros((3, 3)), 0.0
    if first < 0:
        return total, area
    whole = -model.flex_stiffness[first : first + len(nodes) * side * side]
    for own, turn, stiffness in zip(nodes, axes, whole.reshape(-1, side, side), strict=True):
        at = places[own]
        one, two, _ = turn
        modes = np.zeros((len(own), 3, 3))
        modes[:, one, 0], modes[:, two, 1] = at[:, one], at[:, two]
        modes[:, one, 2], modes[:, two, 2] = 0.5 * at[:, two], 0.5 * at[:, one]
        strained = modes.reshape(side, 3)
        total += strained.T @ stiffness @ strained
        area += abs(float(np.prod((at[-1] - at[0])[[one, two]])))
    return total, area


def shell_rigidity(model: mujoco.MjModel, flex: int) -> float:
    """D [N m] of a shell, by what MuJoCo has for one of its edges; 0 if it does not bend."""
    first = int(model.flex_bendingadr[flex])
    if first < 0 or not model.flex_bending[first] > 0.0:
        return 0.0
    edge = model.flex_bending[first + 1 : first + 11]
    nodes, _ = shell_faces(model, flex)
    places = _places(model, flex)
    one, two = (nodes[int(number)] for number in edge[:2])
    length = float(np.ptp(places[np.intersect1d(one, two)], axis=0).max())
    areas = [np.prod(np.sort(np.ptp(places[own], axis=0))[1:]) for own in (one, two)]
    return float(edge[6] * 0.5 * (areas[0] + areas[1]) / length**2)


def shell_membranes(model: mujoco.MjModel, flex: int, constants: np.ndarray) -> list[Element]:
    """Faces with λ and μ of plane stress [N/m], each in axes along and across it."""
    places, moduli = _places(model, flex), plane_moduli(*constants)
    order = abs(int(model.flex_interp[flex]))
    return [
        face(tuple(own.tolist()), places[own][:, turn], order, moduli)
        for own, turn in zip(*shell_faces(model, flex), strict=True)
    ]


def shell_triangles(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Nodes of triangles that bend, of one face after the other, shape (n, 3)."""
    nodes, _ = shell_faces(model, flex)
    return nodes[:, face_triangles(abs(int(model.flex_interp[flex])))].reshape(-1, 3)


def shell_bending(model: mujoco.MjModel, flex: int, poisson: float) -> list[Bend]:
    """Of the triangles of a shell; none if it does not resist bending."""
    rigidity = shell_rigidity(model, flex)
    if rigidity == 0.0:
        return []
    return bending(_places(model, flex), shell_triangles(model, flex), rigidity, poisson)
