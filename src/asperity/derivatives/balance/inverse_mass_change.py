"""What the inverse mass that a contact feels changes by as its geoms move.

It is the mean of |u_e|²/M_ee over the contact's axes, summed over the degrees of freedom e before
each geom, with the velocity u_e of the contact point by e; of a free body M_ee is the diagonal of
its inertia in world axes (`asperity.plant.detection.collision.side_inverse_mass`).
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.rigid_terms import cross_motion, mass_diagonal_change

__all__ = ["add_point_velocity", "cross3", "inverse_mass_change"]


@compiled
def add_point_velocity(motion: np.ndarray, arm: np.ndarray, sign: float, out: np.ndarray) -> None:
    """Add what a motion is at the end of an arm."""
    out[0] += sign * (motion[3] + motion[1] * arm[2] - motion[2] * arm[1])
    out[1] += sign * (motion[4] + motion[2] * arm[0] - motion[0] * arm[2])
    out[2] += sign * (motion[5] + motion[0] * arm[1] - motion[1] * arm[0])


@compiled
def cross3(a: np.ndarray, b: np.ndarray, sign: float, out: np.ndarray) -> None:
    """``out[:3] += sign a × b``."""
    out[0] += sign * (a[1] * b[2] - a[2] * b[1])
    out[1] += sign * (a[2] * b[0] - a[0] * b[2])
    out[2] += sign * (a[0] * b[1] - a[1] * b[0])


@compiled
def _of_free_body(
    plant: Table,
    rigid: Table,
    state: Table,
    dof: int,
    axis: np.ndarray,
    moved: bool,
    arm: np.ndarray,
    shift: np.ndarray,
) -> float:
    """The change by a shift of the contact point and, if the body has moved, its axis."""
    first = plant.trees.start[plant.dofs.tree[dof]]
    inverse = state.mass_inverse_diagonal
    inertia = rigid.inertia[dof]
    square = arm[0] * arm[0] + arm[1] * arm[1] + arm[2] * arm[2]
    total = 0.0
    along = 0.0
    for a in range(3):
        along += arm[a] * (shift[a] - (axis[3 + a] if moved else 0.0))
    for a in range(3):
        moves = shift[a] - (axis[3 + a] if moved else 0.0)
        total += 2.0 * (along - arm[a] * moves) * inverse[first + a]
    if moved:
        # dI = [ω] I − I [ω]
        xy = 2.0 * axis[2] * inertia[3]
        xz = 2.0 * axis[1] * inertia[4]
        yz = 2.0 * axis[0] * inertia[5]
        total -= (square - arm[0] * arm[0]) * inverse[first] ** 2 * (xz - xy)
        total -= (square - arm[1] * arm[1]) * inverse[first + 1] ** 2 * (xy - yz)
        total -= (square - arm[2] * arm[2]) * inverse[first + 2] ** 2 * (yz - xz)
    return total


@compiled
def inverse_mass_change(
    plant: Table,
    work: Table,
    state: Table,
    j: int,
    dof: int,
    moved: bool,
    arm: np.ndarray,
    shift: np.ndarray,
    pad: np.ndarray,
) -> float:
    """One geom's part of the change by joint j.

    Parameters
    ----------
    plant, work, state : Table
    j : int
    dof : int
        The last degree of freedom before the geom.
    moved : bool
        Whether that is behind the joint.
    arm : numpy.ndarray
        From the tree's centre of mass to the contact point.
    shift : numpy.ndarray
        Begins with the motion of the contact point.
    pad : numpy.ndarray
        Room for four motions.
    """
    rigid = work.rigid
    cdof = state.cdof
    if plant.trees.spatial[plant.dofs.tree[dof]]:
        return _of_free_body(plant, rigid, state, dof, cdof[j], moved, arm, shift) / 3.0
    inverse = state.mass_inverse_diagonal
    first = rigid.joint_first[j]
    velocity = pad[0]
    change = pad[1]
    total = 0.0
    e = dof
    while e >= 0:
        for a in range(3):
            velocity[a] = 0.0
            change[a] = 0.0
        add_point_velocity(cdof[e], arm, 1.0, velocity)
        cross3(cdof[e], shift, 1.0, change)
        if moved and e >= first:
            cross_motion(cdof[j], cdof[e], pad[2])
            add_point_velocity(pad[2], arm, 1.0, change)
        square = 0.0
        product = 0.0
        for a in range(3):
            square += velocity[a] * velocity[a]
            product += velocity[a] * change[a]
        total += 2.0 * product * inverse[e]
        if e < first and j < rigid.subtree_end[e]:
            mass = mass_diagonal_change(rigid, cdof, j, e, pad[2:])
            total -= square * inverse[e] * inverse[e] * mass
        e = plant.dofs.parent[e]
    return total / 3.0
