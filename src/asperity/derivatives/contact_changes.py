"""What the forces of point contacts change by in a step, in closed form.

The impulse γ of a contact depends on its distance φ and on its velocities at the beginning and the
end of the step (`asperity.derivatives.balance.law_slopes`), and its force is F = Tᵀ γ/h. A
displacement moves the point p, the normal n and φ (`asperity.derivatives.balance.contact_motion`).
The axes T turn by ψ = n × dn, and the relative velocity u = u_2(p) − u_1(p) changes with all of it,
at the step's end also with the velocity itself:

    dγ = ∂γ/∂v d(T u) + ∂γ/∂v_0 d(T u_0) + ∂γ/∂φ dφ,    dF = (Tᵀ dγ + ψ × Tᵀ γ)/h.

With torsional or rolling friction the relative spin has likewise a moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.derivatives.frame_motion import cross_all, frame_of, velocity_of
from asperity.derivatives.tangent import Tangent

__all__ = ["ContactChanges", "contact_changes"]

_BODY = int(mujoco.mjtObj.mjOBJ_BODY)


@dataclass(frozen=True, slots=True)
class ContactChanges:
    """Forces of n contacts on their second bodies, in the world, with derivatives."""

    bodies: np.ndarray
    """Shape (n, 2)."""
    point: np.ndarray
    """[m], shape (n, 3)."""
    normal: np.ndarray
    """From the first body to the second, shape (n, 3)."""
    force: np.ndarray
    """[N], shape (n, 3)."""
    moment: np.ndarray
    """Of torsional and rolling friction, beside that of the force [N m], shape (n, 3)."""
    push: np.ndarray
    """The normal component of the force [N], shape (n,)."""
    point_change: np.ndarray
    """By positions, shape (n, 3, nv)."""
    force_change: np.ndarray
    """By positions, velocities, activations and controls, shape (n, 3, 2nv+na+nu)."""
    moment_change: np.ndarray
    """Likewise."""
    push_change: np.ndarray
    """Likewise, shape (n, 2nv+na+nu)."""


class _Sides(NamedTuple):
    """How the bodies on one side of contacts move, about their centres of mass."""

    centre: np.ndarray  # (n, 3)
    moves: np.ndarray  # (n, 3, nv)
    turns: np.ndarray


def contact_changes(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    work: Table,
    order: np.ndarray,
    scales: np.ndarray,
    tangent: Tangent,
) -> ContactChanges:
    """Forces of all contacts of a step that has been differentiated.

    Parameters
    ----------
    model : mujoco.MjModel
    data : mujoco.MjData
        With kinematics and velocities of bodies at the step's beginning, as they are afterwards.
    work : Table
        Of the derivative, in whose laws friction does not depend on inverse masses.
    order : ndarray
        Contact of every response.
    scales : ndarray
        Of slips about the axes of contacts, by which these are multiplied, shape (n, 3).
    tangent : Tangent
        The step.
    """
    nv, step = model.nv, tangent.steps[0]
    motion, laws = work.motion, work.laws
    by_all = np.hstack([tangent.by_state[nv : 2 * nv], tangent.by_control[nv : 2 * nv]])
    bodies = model.geom_bodyid[np.asarray(work.sets.contact_geom)[order]]
    point = np.asarray(work.sets.contact_point)[order]
    axes = np.asarray(motion.contact_frame)[order].reshape(-1, 3, 3)
    origin = np.asarray(motion.contact_origin)[order]
    # With the world, so that there is one if there are no contacts.
    moving = np.unique(np.append(bodies, 0))
    place = np.searchsorted(moving, bodies)
    frames = [frame_of(model, data, _BODY, int(body)) for body in moving]
    known = _Sides(
        np.array([frame.point for frame in frames]),
        np.array([frame.moves for frame in frames]),
        np.array([frame.turns for frame in frames]),
    )
    one, other = (_Sides(*(part[place[:, side]] for part in known)) for side in range(2))

    axes_of_all = np.zeros(laws.blocks[: len(order)].shape)
    axes_of_all[:, :3, :3] = axes
    turns = axes_of_all.shape[1] > 3
    if turns:
        axes_of_all[:, 3:, 3:] = scales[:, :, None] * axes

    def with_turns(linear: np.ndarray, angular: np.ndarray) -> np.ndarray:
        return np.concatenate([linear, angular], axis=1) if turns else linear

    def moves_of(side: _Sides, where: np.ndarray) -> np.ndarray:
        return side.moves + cross_all(side.turns, where - side.centre)

    relative = np.concatenate(
        [other.turns - one.turns, moves_of(other, origin) - moves_of(one, origin)], axis=1
    )
    change = np.asarray(motion.relative)[order] @ relative
    normal = axes[:, 2]
    point_change = moves_of(one, point) + change[:, :3]
    turn = -cross_all(cross_all(one.turns, normal) + change[:, 3:6], normal)

    def slip() -> np.ndarray:
        """What velocities along contacts' axes change by with positions, (n, components, nv)."""
        found = [velocity_of(model, data, frame) for frame in frames]
        total, velocity = np.zeros_like(point_change), np.zeros_like(point)
        turning, spin = np.zeros_like(point_change), np.zeros_like(point)
        for side, sign in ((0, -1.0), (1, 1.0)):
            arm = point - known.centre[place[:, side]]
            linear, angular, by_linear, by_angular = (
                np.array([getattr(speed, name) for speed in found])[place[:, side]]
                for name in ("linear", "angular", "linear_change", "angular_change")
            )
            velocity += sign * (linear + np.cross(angular, arm))
            carried = point_change - known.moves[place[:, side]]
            total += sign * (by_linear + cross_all(by_angular, arm) - cross_all(carried, angular))
            spin += sign * angular
            turning += sign * by_angular
        # (ψ × t) · u = −t · (ψ × u)
        total -= cross_all(turn, velocity)
        turning -= cross_all(turn, spin)
        return np.asarray(axes_of_all @ with_turns(total, turning))

    start = slip()
    speed = data.qvel.copy()
    data.qvel[:] = tangent.end.qvel
    mujoco.mj_comVel(model, data)
    end = slip()
    data.qvel[:] = speed
    mujoco.mj_comVel(model, data)

    count = len(order)
    linear = moves_of(other, point) - moves_of(one, point)
    moves = axes_of_all @ with_turns(linear, other.turns - one.turns)
    by_end = moves @ by_all
    by_end[:, :, :nv] += end
    impulse_change = -np.asarray(laws.blocks[:count]) @ by_end
    by_start = np.asarray(laws.by_start[:count]).transpose(0, 2, 1)
    impulse_change[:, :, : 2 * nv] += by_start @ np.concatenate([start, moves], axis=2)
    impulse_change[:, :, :nv] += np.asarray(laws.by_distance[:count])[:, :, None] * change[:, 6:]
    impulse = np.array(laws.side_impulse[0, :count])
    inverse = axes_of_all.transpose(0, 2, 1)
    wrench = (inverse @ impulse[:, :, None])[:, :, 0] / step
    wrench_change = inverse @ impulse_change / step
    force, force_change = wrench[:, :3], wrench_change[:, :3]
    moment, moment_change = np.zeros_like(force), np.zeros_like(force_change)
    if turns:
        moment, moment_change = wrench[:, 3:], wrench_change[:, 3:]
    for part, part_change in ((force, force_change), (moment, moment_change)):
        part_change[:, :, :nv] += cross_all(turn, part)
    return ContactChanges(
        *(bodies, point, normal, force, moment, impulse[:, 2] / step),
        *(point_change, force_change, moment_change, impulse_change[:, 2] / step),
    )
