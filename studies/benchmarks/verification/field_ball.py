"""A ball with a pressure field on planes: the contact's law itself, without Asperity's code.

Pressures, dissipation and friction are integrated over the surface of equal pressure, a disc on a
rigid plane, and the ball's motion by scipy's Radau. What this says of rolling is the truth for
pressure fields, whose patches have a width: dissipation presses more in front than behind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FieldBall", "Plane"]

Array = NDArray[np.float64]

# Rings in the square of the radius, points on each: enough for eight digits of the moment.
_RINGS, _POINTS = 8, 24
# Of differences: places [m], velocities [m/s], angular velocities [rad/s]
_STEPS = (1e-10, 1e-7, 1e-6)
_TOLERANCES = {"rtol": 1e-7, "atol": 1e-10}


@dataclass(frozen=True)
class Plane:
    """A plane that the ball is above: point, normal, and the depth of its field [m], ∞ if rigid."""

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    depth: float = math.inf
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Angular velocity about the origin [rad/s]."""


@dataclass(frozen=True)
class FieldBall:
    """A homogeneous ball, and what it touches with."""

    radius: float
    mass: float
    friction: float
    gravity: tuple[float, float, float]
    planes: Sequence[Plane]
    modulus: float = 1e7
    dissipation: float = 10.0
    stiction_tolerance: float = 1e-4

    def on(self, plane: Plane, x: Array, v: Array, w: Array) -> tuple[Array, Array]:
        """Force and moment about the ball's centre."""
        r, up = self.radius, np.array(plane.normal)
        height = float(up @ (x - plane.point))
        if height >= r:
            return np.zeros(3), np.zeros(3)
        nodes, weights = np.polynomial.legendre.leggauss(_RINGS)
        rim = r * r - height * height
        square = np.repeat(0.5 * rim * (nodes + 1.0), _POINTS)
        # dA of the disc is ½ dρ² dφ
        area = np.repeat(0.25 * rim * weights * 2.0 * math.pi / _POINTS, _POINTS)
        angle = np.tile(2.0 * math.pi * np.arange(_POINTS) / _POINTS, _RINGS)
        side = np.cross(up, [1.0, 0.0, 0.0] if abs(up[0]) < 0.7 else [0.0, 1.0, 0.0])
        side /= np.linalg.norm(side)
        other = np.cross(up, side)
        # Depth z below the centre where 1 − √(ρ² + z²)/r = (z − height)/depth
        ratio = r / plane.depth
        far = r + ratio * height
        a, b, c = 1.0 - ratio**2, ratio * far, square - far * far
        z = np.full_like(square, height)
        if ratio > 0.0:
            z = -c / (2.0 * b) if abs(a) < 1e-12 else (np.sqrt(b * b - a * c) - b) / a
        arm = np.sqrt(square)[:, None] * (
            np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * other
        )
        arm = arm - z[:, None] * up
        distance = np.linalg.norm(arm, axis=1)
        pressure = self.modulus * np.maximum(1.0 - distance / r, 0.0)
        normal = np.tile(up, (len(arm), 1))  # on the ball
        if ratio > 0.0:
            normal = up / plane.depth - arm / (distance * r)[:, None]
            normal /= np.linalg.norm(normal, axis=1)[:, None]
            area = area / (normal @ up)
        slip = v + np.cross(w, arm) - np.cross(plane.spin, x + arm)
        closing = -np.einsum("ij,ij->i", slip, normal)
        force = area * pressure * np.maximum(1.0 + self.dissipation * closing, 0.0)
        slip = slip + closing[:, None] * normal
        speed = np.sqrt(np.sum(slip**2, axis=1) + self.stiction_tolerance**2)
        traction = force[:, None] * (normal - self.friction * slip / speed[:, None])
        return traction.sum(axis=0), np.cross(arm, traction).sum(axis=0)

    def after(self, duration: float, place: ArrayLike, v: ArrayLike, w: ArrayLike) -> Array:
        """Place, velocity and angular velocity in world axes after some time, shape (9,)."""
        from scipy.integrate import solve_ivp

        inertia = 0.4 * self.mass * self.radius**2

        def rate(_: float, y: Array) -> Array:
            force, moment = self.mass * np.array(self.gravity), np.zeros(3)
            for plane in self.planes:
                f, m = self.on(plane, y[:3], y[3:6], y[6:])
                force, moment = force + f, moment + m
            return np.concatenate([y[3:6], force / self.mass, moment / inertia])

        def jacobian(time: float, y: Array) -> Array:
            columns = []
            for i, step in enumerate(np.repeat(_STEPS, 3)):
                aside = np.zeros(9)
                aside[i] = step
                columns.append((rate(time, y + aside) - rate(time, y - aside)) / (2.0 * step))
            return np.column_stack(columns)

        start = np.concatenate([np.asarray(part, dtype=float) for part in (place, v, w)])
        solve: Callable[..., object] = solve_ivp
        found = solve(rate, (0.0, duration), start, method="Radau", jac=jacobian, **_TOLERANCES)
        return np.asarray(found.y[:, -1])  # type: ignore[attr-defined]
