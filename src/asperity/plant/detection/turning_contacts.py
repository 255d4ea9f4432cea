"""What steps add to the velocities of round contacts because free bodies turn within them.

A step works with the contact point where it begins. The centre of mass of a free body moves
straight in it, but what is around that turns, and a round side is touched elsewhere as it does.
With the angular velocity ω, the arm p from the centre of mass, and the outward normal u, the
contact point moves about the centre of mass by

    p′ = ω × p − H (ω × u)

where H, the second derivative of the body's support function, has the radii of curvature of the
side as its eigenvalues: 0 for the rim of a disk across the rim. The mean velocity of what touches,
by which the gap changes and friction slips, then is that of the beginning plus ½ δt ω × p′. Without
it the disk of Euler loses its energy within seconds, and the gap of a ball that spins about a
centre of mass beside its own is wrong by ½ δt² ω² p.

Corners and faces have nothing added: a step does not know when a corner leaves the ground, and for
a face the other side counts. Patches of pressure fields have nothing added either: their points
move through the bodies. Schemes of second order around a step do without it.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.rotations import Vector, between, cross, dot, plus, vector_at

__all__ = ["fill_turning_velocities", "is_turning"]

_SPHERE = int(mujoco.mjtGeom.mjGEOM_SPHERE)
_CAPSULE = int(mujoco.mjtGeom.mjGEOM_CAPSULE)
_ELLIPSOID = int(mujoco.mjtGeom.mjGEOM_ELLIPSOID)
_CYLINDER = int(mujoco.mjtGeom.mjGEOM_CYLINDER)

_ZERO = (0.0, 0.0, 0.0)

# Sine of the lean below which a cylinder stands on its face.
_FLAT = 1e-2
# Distance of a sphere's middle from the centre of mass, over its radius, that is none.
_CENTRED = 1e-9


@compiled
def _times_curvature(plant: Table, state: Table, geom: int, out: Vector, vector: Vector) -> Vector:
    """H times a tangent vector, with the outward normal where a geom is touched."""
    kind = plant.geoms.kind[geom]
    size = plant.geoms.size[geom]
    matrix = state.mj_geom_xmat[geom]
    if kind == _CAPSULE:
        return plus(_ZERO, vector, size[0])
    if kind == _CYLINDER:
        tangent = cross((matrix[2], matrix[5], matrix[8]), out)
        scale = dot(tangent, tangent) ** -1.5
        return plus(_ZERO, tangent, scale * size[0] * dot(tangent, vector))
    # Of an ellipsoid: h = √(uᵀ S u) has the gradient S u / h, with squares of half axes in S.
    square, gradient, curved = 0.0, _ZERO, _ZERO
    for k in range(3):
        axis = (matrix[k], matrix[3 + k], matrix[6 + k])
        weight = size[k] * size[k]
        along = weight * dot(axis, out)
        square += along * dot(axis, out)
        gradient = plus(gradient, axis, along)
        curved = plus(curved, axis, weight * dot(axis, vector))
    curved = plus(curved, gradient, -dot(gradient, vector) / square)
    return plus(_ZERO, curved, 1.0 / np.sqrt(square))


@compiled
def _stands(state: Table, geom: int, out: Vector) -> bool:
    """Whether a cylinder is touched at a face."""
    matrix = state.mj_geom_xmat[geom]
    tangent = cross((matrix[2], matrix[5], matrix[8]), out)
    return bool(dot(tangent, tangent) < _FLAT * _FLAT)


@compiled
def _side_velocity(plant: Table, state: Table, c: int, side: int, step: float) -> Vector:
    """½ δt ω × p′ of one side of a contact, where that is small; otherwise less."""
    contacts = state.contacts
    link = contacts.link[c, side]
    geom = contacts.geom[c, side]
    if link < 0 or geom >= plant.ngeom or contacts.patch[c] >= 0:
        return _ZERO
    tree = contacts.link_tree[link]
    kind = plant.geoms.kind[geom]
    if plant.trees.spatial[tree] == 0 or kind not in (_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER):
        return _ZERO
    spin = vector_at(state.velocity, plant.trees.start[tree])
    if kind == _SPHERE:
        # Its contact point moves as its middle does, which is the centre of mass of most balls.
        root = plant.bodies.reference[plant.geoms.body[geom]]
        middle = between(state.mj_geom_xpos, geom, state.mj_subtree_com, root)
        if dot(middle, middle) < (_CENTRED * plant.geoms.size[geom, 0]) ** 2:
            return _ZERO
        moves = cross(spin, middle)
    else:
        out = plus(_ZERO, vector_at(contacts.frame[c], 6), -1.0 if side == 1 else 1.0)
        if kind == _CYLINDER and _stands(state, geom, out):
            return _ZERO
        arm = vector_at(contacts.arm_b[c] if side == 1 else contacts.arm_a[c], 0)
        bend = _times_curvature(plant, state, geom, out, cross(spin, out))
        moves = plus(cross(spin, arm), bend, -1.0)
    # What turns at a rate of θ/δt moves by a mean of (1 − cos θ)/θ² δt times its acceleration.
    size = plant.geoms.size[geom]
    reach = max(size[0], size[1], size[2])
    angle = step * np.sqrt(dot(spin, spin) + dot(moves, moves) / (reach * reach))
    share = 0.5 if angle < 1e-3 else (1.0 - np.cos(angle)) / (angle * angle)
    return plus(_ZERO, cross(spin, moves), share * step)


@compiled
def fill_turning_velocities(plant: Table, state: Table, step: float) -> None:
    """Fill ``turning_velocity`` of all contacts for a step [s] from this state, or for none."""
    contacts = state.contacts
    for c in range(contacts.count):
        velocity = _side_velocity(plant, state, c, 1, step)
        velocity = plus(velocity, _side_velocity(plant, state, c, 0, step), -1.0)
        for a in range(3):
            axis = vector_at(contacts.frame[c], 3 * a)
            contacts.turning_velocity[c, a] = dot(axis, velocity)


@compiled
def is_turning(contacts: Table) -> bool:
    """Whether a contact has a ``turning_velocity``."""
    turning = contacts.turning_velocity
    for c in range(contacts.count):
        if turning[c, 0] != 0.0 or turning[c, 1] != 0.0 or turning[c, 2] != 0.0:
            return True
    return False
