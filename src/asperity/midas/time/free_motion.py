"""Where a link goes if nothing acts on it, and with which velocity.

Its centre of mass goes straight on, and it turns with a constant angular momentum L about it,

    ω = (tr(S) 1 − S)⁻¹ L,    S = ∫ρ r rᵀ dV in world axes.

In the coordinates Q a turning link has to be held together by the orthogonality energy, and a
scheme that lets material points go straight on within a step finds a shorter way for them, a chord:
it loses spin, and what rolls seems to slip. Counted from the free motion, a step leaves both alone.

A link on a ball joint or a hinge that is fixed in the world turns about that, likewise: its rows
are then all four, with the position of the centre of mass from the joint, and about a hinge there
is nothing but what L has along the axis.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import compiled
from asperity.midas.pose.matrices import cofactors

__all__ = ["along", "angular_momentum", "angular_velocity", "free_motion", "spin", "turn"]

# Rotation of a part of a step [rad]; of the Runge–Kutta method of fourth order, 1e-9 of it.
_PART = 0.05
# Rotation within a step [rad] beyond which a link goes straight on, as its points would: Newton's
# method leads from one orientation to another on a straight line, which after half a turn would
# pass through no orientation at all.
_MOST = 2.5
# Rotation below which going straight on is as good.
_LEAST = 1e-9


@compiled
def _solve(s: np.ndarray, l0: float, l1: float, l2: float, rate: np.ndarray) -> bool:
    """Fill ω of an angular momentum L with second moments S; returns whether there is one."""
    trace = s[0, 0] + s[1, 1] + s[2, 2]
    inertia = np.empty((3, 3))
    inverse = np.empty((3, 3))
    for i in range(3):
        for k in range(3):
            inertia[i, k] = (trace if i == k else 0.0) - s[i, k]
    determinant = cofactors(inertia, inverse)
    if not determinant > 1e-12 * inertia[0, 0] * inertia[1, 1] * inertia[2, 2]:
        return False
    for k in range(3):
        rate[k] = (inverse[k, 0] * l0 + inverse[k, 1] * l1 + inverse[k, 2] * l2) / determinant
    return True


@compiled
def _second_moments(mass: np.ndarray, turn: np.ndarray, s: np.ndarray) -> None:
    """Fill S = A M Aᵀ, with A the rotation from the present orientation ``turn``."""
    for i in range(3):
        for k in range(3):
            value = 0.0
            for m in range(3):
                for n in range(3):
                    value += turn[i, m] * mass[m, n] * turn[k, n]
            s[i, k] = value


@compiled
def _rotate(angle: np.ndarray, turn: np.ndarray, out: np.ndarray) -> None:
    """Fill exp([ρ]) R, where ρ = ``angle``, of three or four columns."""
    size = math.sqrt(angle[0] ** 2 + angle[1] ** 2 + angle[2] ** 2)
    one = math.sin(size) / size if size > 1e-8 else 1.0 - size * size / 6.0
    two = (1.0 - math.cos(size)) / (size * size) if size > 1e-4 else 0.5 - size * size / 24.0
    for c in range(turn.shape[1]):
        x = turn[0, c]
        y = turn[1, c]
        z = turn[2, c]
        cx = angle[1] * z - angle[2] * y
        cy = angle[2] * x - angle[0] * z
        cz = angle[0] * y - angle[1] * x
        out[0, c] = x + one * cx + two * (angle[1] * cz - angle[2] * cy)
        out[1, c] = y + one * cy + two * (angle[2] * cx - angle[0] * cz)
        out[2, c] = z + one * cz + two * (angle[0] * cy - angle[1] * cx)


@compiled
def along(axis: np.ndarray, q: np.ndarray, vector: np.ndarray) -> float:
    """Product of a vector with an axis in rest coordinates."""
    total = 0.0
    for i in range(3):
        for k in range(3):
            total += axis[i] * q[1 + i, k] * vector[k]
    return total


@compiled
def angular_momentum(
    mass: np.ndarray, q: np.ndarray, v: np.ndarray, first: int, out: np.ndarray
) -> None:
    """Fill the angular momentum Σ M_ij aᵢ × vⱼ over rows of Q and v from the first that counts."""
    for k in range(3):
        out[k] = 0.0
    for i in range(first, 4):
        for j in range(first, 4):
            m = mass[i, j]
            if m != 0.0:
                out[0] += m * (q[i, 1] * v[j, 2] - q[i, 2] * v[j, 1])
                out[1] += m * (q[i, 2] * v[j, 0] - q[i, 0] * v[j, 2])
                out[2] += m * (q[i, 0] * v[j, 1] - q[i, 1] * v[j, 0])


@compiled
def angular_velocity(
    mass: np.ndarray,
    q: np.ndarray,
    first: int,
    axis: np.ndarray,
    momentum: np.ndarray,
    s: np.ndarray,
    rate: np.ndarray,
) -> bool:
    """Fill S and the ω that has an angular momentum; returns whether there is one.

    Parameters
    ----------
    mass : array, shape (4, 4)
    q : array, shape (4, 3)
        Coordinates of a link.
    first : int
        The first row that counts: 1, or 0 of a link that turns about a joint, from where its centre
        of mass is measured.
    axis : array, shape (3,)
        Unit vector that it turns about, or zero if it may turn about any.
    momentum : array, shape (3,)
    s, rate : arrays, shapes (3, 3) and (3,)
        Outputs.
    """
    for a in range(3):
        for b in range(3):
            s[a, b] = 0.0
    for i in range(first, 4):
        for j in range(first, 4):
            m = mass[i, j]
            if m != 0.0:
                for a in range(3):
                    for b in range(3):
                        s[a, b] += m * q[i, a] * q[j, b]
    if axis[0] == 0.0 and axis[1] == 0.0 and axis[2] == 0.0:
        return _solve(s, momentum[0], momentum[1], momentum[2], rate)
    inertia = s[0, 0] + s[1, 1] + s[2, 2]
    along = 0.0
    for a in range(3):
        along += axis[a] * momentum[a]
        for b in range(3):
            inertia -= axis[a] * s[a, b] * axis[b]
    if not inertia > 0.0:
        return False
    for k in range(3):
        rate[k] = along / inertia * axis[k]
    return True


@compiled
def spin(rate: np.ndarray, q: np.ndarray, first: int, v: np.ndarray) -> None:
    """Let a link turn: fill the rows ω × aᵢ of its rate, from the first that counts."""
    for i in range(first, 4):
        v[i, 0] = rate[1] * q[i, 2] - rate[2] * q[i, 1]
        v[i, 1] = rate[2] * q[i, 0] - rate[0] * q[i, 2]
        v[i, 2] = rate[0] * q[i, 1] - rate[1] * q[i, 0]


@compiled
def turn(angle: np.ndarray, q: np.ndarray, first: int) -> None:
    """Turn a link's rows, from the first that counts, by a rotation vector."""
    rows = np.zeros((3, 4))
    moved = np.empty((3, 4))
    for i in range(first, 4):
        for k in range(3):
            rows[k, i] = q[i, k]
    _rotate(angle, rows, moved)
    for i in range(first, 4):
        for k in range(3):
            q[i, k] = moved[k, i]


@compiled
def _rate_at(
    s: np.ndarray, momentum: np.ndarray, turn: np.ndarray, work: np.ndarray, rate: np.ndarray
) -> None:
    """Fill ω at an orientation, of a link with the angular momentum L."""
    _second_moments(s, turn, work)
    _solve(work, momentum[0], momentum[1], momentum[2], rate)


@compiled
def _pull_back(
    s: np.ndarray,
    momentum: np.ndarray,
    angle: np.ndarray,
    turn: np.ndarray,
    work: np.ndarray,
    moved: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill dρ/dt of R = exp([ρ]) R₀ at ρ = ``angle``: ω − ½ ρ × ω + ¹⁄₁₂ ρ × (ρ × ω)."""
    _rotate(angle, turn, moved)
    _rate_at(s, momentum, moved, work, out)
    x = out[0]
    y = out[1]
    z = out[2]
    cx = angle[1] * z - angle[2] * y
    cy = angle[2] * x - angle[0] * z
    cz = angle[0] * y - angle[1] * x
    out[0] = x - 0.5 * cx + (angle[1] * cz - angle[2] * cy) / 12.0
    out[1] = y - 0.5 * cy + (angle[2] * cx - angle[0] * cz) / 12.0
    out[2] = z - 0.5 * cz + (angle[0] * cy - angle[1] * cx) / 12.0


@compiled
def _turn_for(
    s: np.ndarray, rate: np.ndarray, time: float, has_axis: bool, turn: np.ndarray
) -> None:
    """Fill the rotation R of a free link after a time; ``rate`` is ω, at last that of the end.

    The Munthe-Kaas form of Runge and Kutta's method: R stays a rotation.
    """
    momentum = np.empty(3)
    trace = s[0, 0] + s[1, 1] + s[2, 2]
    for i in range(3):
        momentum[i] = trace * rate[i]
        for k in range(3):
            momentum[i] -= s[i, k] * rate[k]
            turn[i, k] = 1.0 if i == k else 0.0
    speed = math.sqrt(rate[0] ** 2 + rate[1] ** 2 + rate[2] ** 2)
    angle = np.empty(3)
    moved = np.empty((3, 3))
    uneven = 0.0
    for i in range(3):
        for k in range(3):
            uneven = max(uneven, abs(s[i, k] - (trace / 3.0 if i == k else 0.0)))
    steady = has_axis or uneven <= 1e-9 * trace
    parts = 1 if steady else 1 + int(speed * abs(time) / _PART)
    part = time / parts
    slopes = np.empty((4, 3))
    work = np.empty((3, 3))
    for _ in range(parts):
        if steady:
            for i in range(3):
                angle[i] = part * rate[i]
        else:
            for stage in range(4):
                share = 0.0 if stage == 0 else (part if stage == 3 else 0.5 * part)
                for i in range(3):
                    angle[i] = share * slopes[stage - 1, i] if stage > 0 else 0.0
                _pull_back(s, momentum, angle, turn, work, moved, slopes[stage])
            for i in range(3):
                angle[i] = (
                    part
                    / 6.0
                    * (slopes[0, i] + 2.0 * slopes[1, i] + 2.0 * slopes[2, i] + slopes[3, i])
                )
        _rotate(angle, turn, moved)
        for i in range(3):
            for k in range(3):
                turn[i, k] = moved[i, k]
    if not steady:
        _rate_at(s, momentum, turn, work, rate)


@compiled
def free_motion(
    mass: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    first: int,
    axis: np.ndarray,
    time: float,
    q_free: np.ndarray,
    v_free: np.ndarray,
) -> bool:
    """Fill coordinates and their rate after a time [s], which may be negative.

    Returns whether the link turns as a rigid body. One that hardly does, has no mass or turns too
    far goes straight on with all its points.

    Parameters
    ----------
    mass : array, shape (4, 4)
        ∫ρ[1, x̄]ᵀ[1, x̄]dV, with the origin at the centre of mass.
    q, v : arrays, shape (4, 3)
        Coordinates now, and their rate.
    first, axis : int and array, shape (3,)
        As in `angular_velocity`.
    time : float
    q_free, v_free : arrays, shape (4, 3)
        Outputs.
    """
    speed = 0.0
    for i in range(4):
        for k in range(3):
            q_free[i, k] = q[i, k] + time * v[i, k]
            v_free[i, k] = v[i, k]
            if i > 0:
                speed += v[i, k] * v[i, k]
    if mass[0, 0] == 0.0 or speed * time * time <= _LEAST**2:
        return False
    s = np.empty((3, 3))
    rate = np.empty(3)
    momentum = np.empty(3)
    angular_momentum(mass, q, v, first, momentum)
    if not angular_velocity(mass, q, first, axis, momentum, s, rate):
        return False
    size = rate[0] ** 2 + rate[1] ** 2 + rate[2] ** 2
    if not size * time * time <= _MOST**2:
        return False
    rotation = np.empty((3, 3))
    has_axis = axis[0] != 0.0 or axis[1] != 0.0 or axis[2] != 0.0
    _turn_for(s, rate, time, has_axis, rotation)
    for i in range(first, 4):
        for k in range(3):
            q_free[i, k] = (
                rotation[k, 0] * q[i, 0] + rotation[k, 1] * q[i, 1] + rotation[k, 2] * q[i, 2]
            )
    spin(rate, q_free, first, v_free)
    return True
