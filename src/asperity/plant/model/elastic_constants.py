"""Elastic constants of deformable bodies.

A model does not keep Young's modulus and Poisson's ratio; they are found from the forces that
MuJoCo finds for small displacements, or from the stiffness of cells.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.cells import cell_edges, filled_cells, held_modulus, holds_strain
from asperity.plant.model.flexes import (
    flex_elements,
    flex_name,
    flex_particles,
    flex_vertices,
    in_frame,
    is_loose,
    moving_particles,
    orientation,
    particle_positions,
    rest_positions,
    resting_data,
)
from asperity.plant.model.shells import is_shell, shell_moduli
from asperity.soft.cells import mean_moduli
from asperity.soft.elements import elasticity, tetrahedron_stiffness, volumes
from asperity.soft.faces import plane_moduli
from asperity.soft.membranes import triangle_stiffness, triangles

__all__ = ["elastic_constants"]

# Displacement for which forces are found, in units of the mean edge, and how far those of linear
# isotropic elasticity may differ from them: MuJoCo's own differ by 4e-11.
_DISPLACEMENT = 1e-7
_RESIDUAL = 1e-6


def elastic_constants(model: mujoco.MjModel) -> np.ndarray:
    """Lamé's parameters λ and μ of all flexes, shape (nflex, 2): [Pa], of cloth and shells [N/m].

    They are zero of ropes, and of what only its edges hold, or nothing.

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
    held &= model.flex_rigid == 0
    for flex in np.flatnonzero(held).tolist():
        if not is_loose(model, flex):
            found[flex] = _fitted(model, flex, rest, change, odd)
    for flex in np.flatnonzero(model.flex_interp).tolist():
        fitted = _fitted_to_faces if is_shell(model, flex) else _fitted_to_cells
        found[flex] = fitted(model, flex)
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


def _fitted_to_faces(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Of a shell of cells, by what its faces resist constant strains with [N/m]."""
    if holds_strain(model, flex):
        young, side = held_modulus(model, flex)
        return np.array([0.0, 0.5 * young * side])
    target, area = shell_moduli(model, flex)
    basis = np.array([plane_moduli(1.0, 0.0).ravel(), plane_moduli(0.0, 1.0).ravel()]).T
    return _solved(model, flex, basis, target.ravel()) / area


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
