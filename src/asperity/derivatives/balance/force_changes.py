"""What the force of one contact changes by as the velocities there do, with either side's motion.

The law's slopes are turned into world axes once, as a 3 × 3 matrix. The velocities at a contact
change with its point and normal, and with the axis S by which one of its sides is displaced.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.derivatives.balance.inverse_mass_change import add_point_velocity

__all__ = ["add_force_change", "stiffness_in_world"]


@compiled
def _add_skew(vector: np.ndarray, sign: float, first: int, out: np.ndarray) -> None:
    """Add the matrix of ``sign · vector ×`` to three columns of three rows."""
    out[0, first + 1] -= sign * vector[2]
    out[0, first + 2] += sign * vector[1]
    out[1, first] += sign * vector[2]
    out[1, first + 2] -= sign * vector[0]
    out[2, first] -= sign * vector[1]
    out[2, first + 1] += sign * vector[0]


@compiled
def stiffness_in_world(slopes: np.ndarray, frame: np.ndarray, sign: float, out: np.ndarray) -> None:
    """``out = sign Tᵀ slopes T``: change of the force with the velocity, in world axes."""
    for a in range(3):
        for b in range(3):
            out[a, b] = 0.0
            for k in range(3):
                for m in range(3):
                    out[a, b] += sign * frame[3 * k + a] * slopes[k, m] * frame[3 * m + b]


@compiled
def _add_multiple(a: np.ndarray, b: np.ndarray, first: int, out: np.ndarray) -> None:
    """Add A B to columns of ``out`` from the first one on; A is 3 × 3."""
    for i in range(3):
        for k in range(3):
            factor = a[i, k]
            for j in range(b.shape[1]):
                out[i, first + j] += factor * b[k, j]


@compiled
def _relative_velocity(
    motion: np.ndarray,
    dofs: tuple[int, int],
    arms: np.ndarray,
    velocity: np.ndarray,
    spin: np.ndarray,
) -> None:
    """Fill the velocity of side 1 against side 0 at a contact, and their relative spin."""
    for a in range(3):
        velocity[a] = 0.0
        spin[a] = 0.0
    for side in range(2):
        if dofs[side] >= 0:
            sign = 1.0 if side == 1 else -1.0
            add_point_velocity(motion[dofs[side]], arms[side], sign, velocity)
            for a in range(3):
                spin[a] += sign * motion[dofs[side], a]


@compiled
def add_force_change(
    stiffness: np.ndarray,
    motion: np.ndarray,
    dofs: tuple[int, int],
    arms: np.ndarray,
    frame: np.ndarray,
    own: int,
    pad: np.ndarray,
    by_change: np.ndarray,
    by_axis: np.ndarray,
) -> None:
    """Add what the force changes by as velocities at the contact do.

    ``by_change``, (3, 7), by (point, normal, distance), and ``by_axis``, (2, 3, arguments), of each
    side by S and, from argument ``own`` on, by S × V. ``pad`` is room.
    """
    normal = frame[6:9]
    velocity = pad[0, 0]
    spin = pad[0, 1]
    _relative_velocity(motion, dofs, arms, velocity, spin)
    # Of a normal that changes by dn, the axes turn by n × dn.
    turn = pad[1, :, 0:3]
    moved = pad[2, :, 0:3]
    turned = pad[3, :, 0:3]
    for a in range(3):
        for b in range(3):
            turn[a, b] = 0.0
            moved[a, b] = 0.0
            turned[a, b] = 0.0
    _add_skew(normal, 1.0, 0, turn)
    _add_skew(velocity, 1.0, 0, moved)
    _add_multiple(moved, turn, 0, turned)
    _add_multiple(stiffness, turned, 3, by_change)
    for a in range(3):
        for b in range(3):
            moved[a, b] = 0.0
    _add_skew(spin, 1.0, 0, moved)
    _add_multiple(stiffness, moved, 0, by_change)
    rate = pad[2]
    for side in range(2):
        if dofs[side] < 0:
            continue
        sign = 1.0 if side == 1 else -1.0
        arm = arms[side]
        spatial = motion[dofs[side]]
        along = arm[0] * spatial[0] + arm[1] * spatial[1] + arm[2] * spatial[2]
        # What S × V is at the contact point: (ω_S × arm + v_S) of it, by S.
        for a in range(3):
            for b in range(6):
                rate[a, b] = 0.0
            for b in range(3):
                rate[a, b] = sign * spatial[a] * arm[b]
            rate[a, a] -= sign * along
        _add_skew(spatial[3:6], -sign, 0, rate)
        _add_skew(spatial[0:3], -sign, 3, rate)
        _add_multiple(stiffness, rate, 0, by_axis[side])
        for a in range(3):
            for b in range(6):
                rate[a, b] = 0.0
            rate[a, 3 + a] = -sign
        _add_skew(arm, sign, 0, rate)
        _add_multiple(stiffness, rate, own, by_axis[side])
