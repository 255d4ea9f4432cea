"""Deformation gradients of elements, and their singular values."""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled

__all__ = ["deform", "diagonalize", "invert", "logarithm", "stretch"]

_MOST_SWEEPS = 20
# Square of a stretch below which an element is flat.
_FLAT = 1e-24


@compiled
def diagonalize(a: np.ndarray, v: np.ndarray) -> None:
    """Jacobi's method on a symmetric 3 × 3 matrix: values on its diagonal, vectors in columns."""
    for i in range(3):
        for j in range(3):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(_MOST_SWEEPS):
        off = abs(a[0, 1]) + abs(a[0, 2]) + abs(a[1, 2])
        if not off > 1e-17 * (abs(a[0, 0]) + abs(a[1, 1]) + abs(a[2, 2])):
            return
        for p in range(2):
            for q in range(p + 1, 3):
                if a[p, q] == 0.0:
                    continue
                theta = 0.5 * (a[q, q] - a[p, p]) / a[p, q]
                t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(3):
                    x = a[k, p]
                    y = a[k, q]
                    a[k, p] = c * x - s * y
                    a[k, q] = s * x + c * y
                for k in range(3):
                    x = a[p, k]
                    y = a[q, k]
                    a[p, k] = c * x - s * y
                    a[q, k] = s * x + c * y
                    x = v[k, p]
                    y = v[k, q]
                    v[k, p] = c * x - s * y
                    v[k, q] = s * x + c * y


@compiled
def deform(soft: Table, e: int, x: np.ndarray) -> int:
    """Fill F and FᵀF of an element, in ``small[0]`` and ``small[1]``; returns its dimension."""
    vertex = soft.element_vertex[e]
    g = soft.element_gradient[e]
    f = soft.small[0]
    c = soft.small[1]
    corners = soft.element_corners[e]
    m = soft.element_dimension[e]
    for i in range(3):
        for j in range(3):
            f[i, j] = 0.0
    for a in range(1, corners):
        for i in range(3):
            d = x[vertex[a], i] - x[vertex[0], i]
            for j in range(m):
                f[i, j] += d * g[a, j]
    for i in range(3):
        for j in range(3):
            c[i, j] = f[0, i] * f[0, j] + f[1, i] * f[1, j] + f[2, i] * f[2, j]
    if m == 2:
        c[2, 2] = 1.0
    return m


@compiled
def logarithm(f: np.ndarray, m: int) -> float:
    """ln J of a deformation gradient; minus infinity of what is flat or turned inside out."""
    x = f[1, 0] * f[2, 1] - f[2, 0] * f[1, 1]
    y = f[2, 0] * f[0, 1] - f[0, 0] * f[2, 1]
    z = f[0, 0] * f[1, 1] - f[1, 0] * f[0, 1]
    if m == 2:
        square = x * x + y * y + z * z
        return 0.5 * math.log(square) if square > _FLAT else -math.inf
    volume = x * f[0, 2] + y * f[1, 2] + z * f[2, 2]
    return math.log(volume) if volume > 0.0 else -math.inf


@compiled
def invert(f: np.ndarray, m: int, out: np.ndarray) -> None:
    """Fill F⁻ᵀ; a triangle's F gets its unit normal for a third column before.

    It must be neither flat nor turned inside out.
    """
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        out[k, 2] = f[i, 0] * f[j, 1] - f[j, 0] * f[i, 1]
    if m == 2:
        area = math.sqrt(out[0, 2] ** 2 + out[1, 2] ** 2 + out[2, 2] ** 2)
        for k in range(3):
            f[k, 2] = out[k, 2] / area
    inverse = 1.0 / (out[0, 2] * f[0, 2] + out[1, 2] * f[1, 2] + out[2, 2] * f[2, 2])
    for k in range(3):
        i = (k + 1) % 3
        j = (k + 2) % 3
        out[k, 0] = inverse * (f[i, 1] * f[j, 2] - f[j, 1] * f[i, 2])
        out[k, 1] = inverse * (f[i, 2] * f[j, 0] - f[j, 2] * f[i, 0])
        out[k, 2] *= inverse


@compiled
def stretch(soft: Table, m: int) -> tuple[float, float, float, float]:
    """Fill the singular vectors of F, whose FᵀF is lost, and return its singular values and ln J.

    ln J is minus infinity for an element that is flat or turned inside out. Right vectors are the
    columns of ``small[2]``, left ones those of ``small[3]``.
    """
    f = soft.small[0]
    c = soft.small[1]
    v = soft.small[2]
    u = soft.small[3]
    if logarithm(f, m) == -math.inf:
        return 1.0, 1.0, 1.0, -math.inf
    diagonalize(c, v)
    product = 1.0
    for k in range(m):
        if not c[k, k] > _FLAT:
            return 1.0, 1.0, 1.0, -math.inf
        size = math.sqrt(c[k, k])
        product *= size
        for i in range(3):
            u[i, k] = (f[i, 0] * v[0, k] + f[i, 1] * v[1, k] + f[i, 2] * v[2, k]) / size
    if m == 2:
        for i in range(3):
            i1 = (i + 1) % 3
            i2 = (i + 2) % 3
            u[i, 2] = u[i1, 0] * u[i2, 1] - u[i2, 0] * u[i1, 1]
    return math.sqrt(c[0, 0]), math.sqrt(c[1, 1]), math.sqrt(c[2, 2]), math.log(product)
