"""Vectors and quaternions as tuples, which live in registers."""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled, inlined

__all__ = [
    "Quaternion",
    "Vector",
    "between",
    "cross",
    "dot",
    "plus",
    "quaternion_at",
    "rotation",
    "times",
    "turned",
    "turned_back",
    "unit_quaternion",
    "unit_vector",
    "vector_at",
]

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@inlined
def vector_at(values: np.ndarray, start: int) -> Vector:
    """Three numbers of an array."""
    return values[start], values[start + 1], values[start + 2]


@inlined
def unit_vector(k: int) -> Vector:
    """Axis k, or nothing if there is no such axis."""
    return 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0


@inlined
def between(a: np.ndarray, i: int, b: np.ndarray, j: int) -> Vector:
    """Row i of an array less row j of another, both of shape (n, 3) or wider."""
    return a[i, 0] - b[j, 0], a[i, 1] - b[j, 1], a[i, 2] - b[j, 2]


@inlined
def quaternion_at(rows: np.ndarray, i: int) -> Quaternion:
    """A row of an array, shape (n, 4)."""
    return rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]


@inlined
def unit_quaternion(values: np.ndarray, at: int) -> Quaternion:
    """Four numbers of an array, normalised; the identity if they are 0, as MuJoCo takes them."""
    w, x, y, z = values[at], values[at + 1], values[at + 2], values[at + 3]
    length = np.sqrt(w * w + x * x + y * y + z * z)
    if not length > 0.0:
        return 1.0, 0.0, 0.0, 0.0
    return w / length, x / length, y / length, z / length


@inlined
def cross(a: Vector, b: Vector) -> Vector:
    """The cross product a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def dot(a: Vector, b: Vector) -> float:
    """The scalar product a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def plus(a: Vector, b: Vector, scale: float) -> Vector:
    """The sum a + scale b."""
    return a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]


@inlined
def times(p: Quaternion, q: Quaternion) -> Quaternion:
    """The rotation q, then p."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@inlined
def rotation(spin: Vector, time: float) -> Quaternion:
    """What an angular velocity turns by in a time."""
    rate = np.sqrt(spin[0] * spin[0] + spin[1] * spin[1] + spin[2] * spin[2])
    half = 0.5 * rate * time
    share = np.sin(half) / rate if rate > 0.0 else 0.0
    return np.cos(half), share * spin[0], share * spin[1], share * spin[2]


@inlined
def turned(q: Quaternion, v: Vector) -> Vector:
    """A vector turned by a unit quaternion."""
    u = (q[1], q[2], q[3])
    t = cross(u, v)
    return plus(plus(v, t, 2.0 * q[0]), cross(u, t), 2.0)


@compiled
def turned_back(q: Quaternion, v: Vector) -> Vector:
    """A vector turned by the inverse of a unit quaternion."""
    return turned((q[0], -q[1], -q[2], -q[3]), v)
