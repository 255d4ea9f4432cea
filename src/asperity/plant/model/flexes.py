"""Deformable bodies of a model: their particles, elements and elastic constants.

Particles are what moves: vertices, or the nodes between which those of an interpolated flex are.
They are numbered as all vertices of a model, and all nodes after these.

A model does not keep Young's modulus and Poisson's ratio; they are found from the forces that
MuJoCo finds for small displacements (`elastic_constants`).
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.cells import cell_edges, filled_cells
from asperity.plant.model.names import element
from asperity.soft.cells import mean_moduli
from asperity.soft.elements import elasticity, tetrahedron_stiffness, volumes
from asperity.soft.membranes import triangle_stiffness, triangles

__all__ = [
    "elastic_constants",
    "flex_elements",
    "flex_name",
    "flex_particles",
    "flex_triangles",
    "flex_vertices",
    "frame_body",
    "free_particles",
    "in_frame",
    "is_cloth",
    "mean_edge",
    "moving_particles",
    "orientation",
    "particle_bodies",
    "particle_offsets",
    "particle_positions",
    "plane_poisson",
    "rest_positions",
    "resting_data",
]

# Displacement for which forces are found, in units of the mean edge, and how far those of linear
# isotropic elasticity may differ from them: MuJoCo's own differ by 4e-11.
_DISPLACEMENT = 1e-7
_RESIDUAL = 1e-6


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

    It stands for all that is welded to it, and is 0 for a flex in the world.
    """
    bodies = np.unique(particle_bodies(model)[flex_particles(model, flex)])
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


def elastic_constants(model: mujoco.MjModel) -> np.ndarray:
    """Lamé's parameters λ and μ of all flexes, shape (nflex, 2): [Pa], of cloth [N/m].

    They are zero of ropes, and of cloth that only its edges hold.

    The odd part of MuJoCo's forces at random displacements is fitted by those of elements with
    λ or μ of one.

    Raises
    ------
    ModelError
        If they are not those of an isotropic material.
    """
    probe = copy.copy(model)
    probe.jnt_stiffness[:] = 0.0
    probe.jnt_stiffnesspoly[:] = 0.0
    probe.flex_bending[:] = 0.0
    probe.flex_edgestiffness[:] = 0.0
    probe.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_SPRING)
    data = resting_data(probe)
    rest = np.array(data.flexvert_xpos)
    size = max(float(np.mean(np.ptp(rest, axis=0))), 1e-300)
    displacement = _DISPLACEMENT * size * np.random.default_rng(0).normal(size=probe.nv)
    free = model.jnt_type[model.dof_jntid] == mujoco.mjtJoint.mjJNT_SLIDE
    displacement[~free] = 0.0
    force, moved = np.zeros((2, probe.nv)), np.zeros((2, *rest.shape))
    for side, sign in enumerate((1.0, -1.0)):
        data.qpos[:] = model.qpos0
        mujoco.mj_integratePos(probe, data.qpos, displacement, sign)
        data.qvel[:] = 0.0
        mujoco.mj_kinematics(probe, data)
        mujoco.mj_comPos(probe, data)
        mujoco.mj_flex(probe, data)
        mujoco.mj_fwdVelocity(probe, data)
        force[side], moved[side] = data.qfrc_spring, data.flexvert_xpos
    odd, change = 0.5 * (force[0] - force[1]), 0.5 * (moved[0] - moved[1])
    found = np.zeros((model.nflex, 2))
    held = (model.flex_dim > 1) & (model.flex_edgeequality == 0) & (model.flex_interp == 0)
    for flex in np.flatnonzero(held):
        found[flex] = _fitted(model, int(flex), rest, change, odd)
    for flex in np.flatnonzero(model.flex_interp):
        found[flex] = _fitted_to_cells(model, int(flex))
    return found


def _fitted(
    model: mujoco.MjModel, flex: int, rest: np.ndarray, change: np.ndarray, force: np.ndarray
) -> np.ndarray:
    vertices = flex_vertices(model, flex)
    elements = flex_elements(model, flex)
    volumetric = model.flex_dim[flex] == 3
    size, gradients = (volumes if volumetric else triangles)(rest[vertices], elements)
    stiffness = tetrahedron_stiffness if volumetric else triangle_stiffness
    u = change[vertices][elements].reshape(len(elements), -1, 1)
    bodies = model.flex_vertbodyid[vertices]
    moving = np.flatnonzero(moving_particles(model, flex))
    dofs = model.body_dofadr[bodies[moving]][:, None] + np.arange(3)
    turn = orientation(model, int(model.body_parentid[bodies[moving[0]]]))
    columns = []
    for matrix in (elasticity(1.0, 0.0), elasticity(0.0, 1.0)):
        forces = np.zeros((vertices.stop - vertices.start, 3))
        of_elements = -(stiffness(gradients, np.abs(size), matrix) @ u)
        np.add.at(forces, elements.ravel(), of_elements.reshape(-1, 3))
        columns.append((forces[moving] @ turn).ravel())
    basis, target = np.array(columns).T, force[dofs].ravel()
    return _solved(model, flex, basis, target)


def _fitted_to_cells(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Of an interpolated flex, by what its cells resist constant strains with."""
    at_rest = particle_positions(model, resting_data(model))[flex_particles(model, flex)]
    cells, matrices = filled_cells(model, flex)
    edges = cell_edges(in_frame(model, flex, at_rest)[cells[0]])
    order = int(model.flex_interp[flex])
    target = sum(mean_moduli(edges, order, one) for one in matrices)
    basis = np.array([elasticity(1.0, 0.0).ravel(), elasticity(0.0, 1.0).ravel()]).T
    box = len(cells) * abs(float(np.linalg.det(edges)))
    filled = _mesh_volume(rest_positions(model, flex), flex_elements(model, flex))
    return _solved(model, flex, basis, np.ravel(target)) / (filled if 0.0 < filled < box else box)


def _mesh_volume(positions: np.ndarray, elements: np.ndarray) -> float:
    """Volume of tetrahedra, or within triangles [m³]."""
    if elements.shape[1] == 4:
        return float(np.abs(volumes(positions, elements)[0]).sum())
    a, b, c = (positions[elements[:, k]] - positions.mean(axis=0) for k in range(3))
    return abs(float(np.einsum("ni,ni->", a, np.cross(b, c)))) / 6.0


def _solved(model: mujoco.MjModel, flex: int, basis: np.ndarray, target: np.ndarray) -> np.ndarray:
    """λ and μ, of which columns of ``basis`` are multiples that add up to ``target``."""
    found = np.linalg.lstsq(basis, target, rcond=None)[0]
    miss = np.linalg.norm(basis @ found - target)
    if not miss <= _RESIDUAL * np.linalg.norm(target) or not found[1] > 0.0:
        raise ModelError(
            f"{flex_name(model, flex)} is not isotropic, and only Young's modulus and Poisson's "
            "ratio are simulated; give it elasticity with young and poisson."
        )
    return np.asarray(found)
