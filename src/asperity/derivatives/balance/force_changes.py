"""What the impulse of one contact changes by as the velocities there do, with either side's motion.

The law's slopes are turned into world axes once, as a matrix of three rows and columns, or of six,
for the moment and the relative spin too, with torsional or rolling friction. The velocities at a
contact change with its point and normal, and with the axis S by which one of its sides is
displaced.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.derivatives.balance.inverse_mass_change import add_point_velocity

__all__ = ["add_force_change", "impulse_in_world", "stiffness_in_world"]


@compiled
def _add_skew(vector: np.ndarray, sign: float, row: int, first: int, out: np.ndarray) -> None:
    """Add the matrix of ``sign · vector ×`` to three columns of three rows."""
    for a in range(3):
        one, two = (a + 1) % 3, (a + 2) % 3
        out[row + a, first + one] -= sign * vector[two]
        out[row + a, first + two] += sign * vector[one]


@compiled
def impulse_in_world(impulse: np.ndarray, axes: np.ndarray, out: np.ndarray) -> None:
    """Fill the force, and the moment if ``out`` has six places, from components along axes."""
    for a in range(out.size):
        out[a] = 0.0
        first = 3 * (a // 3)
        for k in range(first, first + 3):
            out[a] += impulse[k] * axes[k, a - first]


@compiled
def stiffness_in_world(slopes: np.ndarray, axes: np.ndarray, sign: float, out: np.ndarray) -> None:
    """``out = sign Tᵀ slopes T``: change of force and moment with the velocities, in world axes."""
    for a in range(len(out)):
        row = 3 * (a // 3)
        for b in range(len(out)):
            column = 3 * (b // 3)
            out[a, b] = 0.0
            for k in range(row, row + 3):
                for m in range(column, column + 3):
                    out[a, b] += sign * axes[k, a - row] * slopes[k, m] * axes[m, b - column]


@compiled
def _add_multiple(a: np.ndarray, b: np.ndarray, columns: int, first: int, out: np.ndarray) -> None:
    """Add A B, of so many columns of B, to columns of ``out`` from the first one on."""
    for i in range(len(a)):
        for k in range(len(a)):
            factor = a[i, k]
            for j in range(columns):
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
    """Add what force, and moment, change by as velocities at the contact, and the spin, do.

    ``by_change``, (3 or 6, 7), by (point, normal, distance), and ``by_axis``, (2, 3 or 6,
    arguments), of each side by S and, from argument ``own`` on, by S × V. ``pad`` is room, (3, 6,
    12).
    """
    normal = frame[6:9]
    velocity = pad[0, 0, :3]
    spin = pad[0, 1, :3]
    _relative_velocity(motion, dofs, arms, velocity, spin)
    spins = len(stiffness) == 6
    rate, turned = pad[1], pad[2]
    rate[:] = 0.0
    _add_skew(spin, 1.0, 0, 0, rate)
    # Of a normal that changes by dn, the axes turn by n × dn: u × (n × dn) = (u·dn) n − (u·n) dn
    for part in range(2 if spins else 1):
        u = velocity if part == 0 else spin
        along = u[0] * normal[0] + u[1] * normal[1] + u[2] * normal[2]
        for a in range(3):
            for b in range(3):
                rate[3 * part + a, 3 + b] = normal[a] * u[b] - (along if a == b else 0.0)
    _add_multiple(stiffness, rate, 6, 0, by_change)
    for side in range(2):
        if dofs[side] < 0:
            continue
        sign = 1.0 if side == 1 else -1.0
        arm = arms[side]
        spatial = motion[dofs[side]]
        along = arm[0] * spatial[0] + arm[1] * spatial[1] + arm[2] * spatial[2]
        # What S × V is at the contact point, (ω_S × arm + v_S) of it, and ω_S, by S.
        rate[:] = 0.0
        turned[:] = 0.0
        for a in range(3):
            for b in range(3):
                rate[a, b] = sign * spatial[a] * arm[b]
            rate[a, a] -= sign * along
            turned[a, 3 + a] = -sign
        _add_skew(spatial[3:6], -sign, 0, 0, rate)
        _add_skew(spatial[0:3], -sign, 0, 3, rate)
        _add_skew(arm, sign, 0, 0, turned)
        if spins:
            _add_skew(spatial[0:3], -sign, 3, 0, rate)
            for a in range(3):
                turned[3 + a, a] = -sign
        _add_multiple(stiffness, rate, 6, 0, by_axis[side])
        _add_multiple(stiffness, turned, 6, own, by_axis[side])
