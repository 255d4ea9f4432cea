"""The potentials once more, in plain NumPy and from their formulas, to compare the kernels with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from convex_problems import Case

from asperity.contact.constraint_set import EQUALITY, FRICTION, LIMIT

WIDTH = 10.0


def friction_coefficient(static: float, dynamic: float, s: float) -> float:
    """μ(s) for the slip s in stiction tolerances."""

    def f(x: float) -> float:
        return x / np.sqrt(x * x + 1.0)

    return (static - dynamic) * 0.5 * (1.0 - f(abs(s) - WIDTH) / f(WIDTH)) + dynamic


class LaggedContact:
    """One contact's potential for a step that starts with contact velocity ``before``."""

    def __init__(self, case: Case, c: int, before: np.ndarray, step: float) -> None:
        t = case.contacts
        self.step = step
        self.k = t.stiffness[c]
        self.d = t.dissipation[c]
        self.elastic = -self.k * t.signed_distance[c]
        tolerance = t.stiction_tolerance[c]
        mu = friction_coefficient(
            t.static_friction[c], t.dynamic_friction[c], np.hypot(*before[:2]) / tolerance
        )
        lagged = step * max(self.elastic, 0.0) * max(1.0 - self.d * before[2], 0.0)
        self.friction = mu * lagged
        self.epsilon = tolerance
        limits = [np.inf]
        if self.k > 0:
            limits.append(self.elastic / (step * self.k))
        if self.d > 0:
            limits.append(1.0 / self.d)
        self.cutoff = min(limits) if self.k > 0 else 0.0

    def antiderivative(self, v: float) -> float:
        """N, whose derivative is the normal impulse."""
        v = min(v, self.cutoff)
        change = -self.step * self.k * v
        return self.step * (
            v * (self.elastic + 0.5 * change)
            - 0.5 * self.d * v * v * (self.elastic + 2.0 / 3.0 * change)
        )

    def cost(self, v: np.ndarray) -> float:
        """ℓ, zero at rest without contact."""
        norm = np.sqrt(v[0] ** 2 + v[1] ** 2 + self.epsilon**2) - self.epsilon
        normal = self.antiderivative(self.cutoff) - self.antiderivative(v[2])
        return float(self.friction * norm + normal)

    def impulse(self, v: np.ndarray) -> np.ndarray:
        """γ = −∂ℓ/∂v."""
        spring = max(self.elastic - self.step * self.k * v[2], 0.0)
        normal = self.step * spring * max(1.0 - self.d * v[2], 0.0)
        tangential = -self.friction * v[:2] / np.sqrt(v[0] ** 2 + v[1] ** 2 + self.epsilon**2)
        return np.array([*tangential, normal])

    def curvature(self, v: np.ndarray) -> np.ndarray:
        """∂²ℓ/∂v²."""
        out = np.zeros((3, 3))
        norm = np.sqrt(v[0] ** 2 + v[1] ** 2 + self.epsilon**2)
        t = v[:2] / norm
        out[:2, :2] = self.friction / norm * (np.eye(2) - np.outer(t, t))
        spring = self.elastic - self.step * self.k * v[2]
        damper = 1.0 - self.d * v[2]
        if spring > 0 and damper > 0:
            out[2, 2] = self.step * (self.k * self.step * damper + self.d * spring)
        return out


class Row:
    """One row's potential for a step that starts with row velocity ``before``."""

    def __init__(self, case: Case, r: int, before: float, step: float) -> None:
        t = case.rows
        self.kind = t.kind[r]
        self.step = step
        self.lower, self.upper = t.lower[r], t.upper[r]
        self.loss = t.upper[r]
        self.epsilon = t.lower[r]
        if self.kind in (EQUALITY, LIMIT):
            stiff = max(step, 1e-4)
            tau = 0.1 * stiff / np.pi
            c = t.position[r]
            self.target = -c / (step + tau)
            if self.kind == EQUALITY:
                slow = max(abs(c) / 0.02, 0.1)
                self.target = float(np.clip(self.target, -slow, slow))
            else:
                self.highest = t.upper[r] / (step + tau)
                self.middle = 0.0  # impulse between the limits
                period = max(2 * (step + tau), 0.1)
                pull = 4 * step / (period**2 * t.inverse_mass[r])
                if c < 0.0:
                    self.target = -c / period
                    self.middle += pull * c
                if t.upper[r] < 0.0:
                    self.highest = t.upper[r] / period
                    self.middle -= pull * t.upper[r]
                fastest = t.lower[r]
                self.target = min(max(self.target, -fastest), fastest)
                self.highest = min(max(self.highest, -fastest), fastest)
            # Period β δt_e and relaxation time τ, spread over δt and δt + τ.
            stiffness = (2.0 * np.pi / (0.1 * stiff)) ** 2 / t.inverse_mass[r]
            self.gain = stiffness * step * (step + tau)
        elif self.kind != FRICTION:
            self.c = step * t.proportional[r] + t.derivative[r]
            self.b = t.force[r] + (t.derivative[r] * before if self.c > 0 else 0.0)

    def _beyond(self, u: float) -> np.ndarray:
        """How much slower and how much faster than the limits allow a row moves, shape (2,)."""
        play = self.middle / self.gain
        return np.maximum([self.target - play - u, u + play - self.highest], 0.0)

    def cost(self, u: float) -> float:
        """ℓ, up to a constant."""
        if self.kind == EQUALITY:
            return float(0.5 * self.gain * (self.target - u) ** 2)
        if self.kind == LIMIT:
            return float(0.5 * self.gain * np.sum(self._beyond(u) ** 2) - self.middle * u)
        if self.kind == FRICTION:
            return float(self.step * self.loss * (np.hypot(u, self.epsilon) - self.epsilon))
        if self.c <= 0:
            return float(-self.step * np.clip(self.b, self.lower, self.upper) * u)
        y = self.b - self.c * u
        clamped = np.clip(y, self.lower, self.upper)
        return float(self.step * clamped * (y - 0.5 * clamped) / self.c)

    def impulse(self, u: float) -> float:
        """γ = −dℓ/du."""
        if self.kind == EQUALITY:
            return float(self.gain * (self.target - u))
        if self.kind == LIMIT:
            return float(self.middle + self.gain * (self._beyond(u) @ [1.0, -1.0]))
        if self.kind == FRICTION:
            return float(-self.step * self.loss * u / np.hypot(u, self.epsilon))
        return float(self.step * np.clip(self.b - max(self.c, 0.0) * u, self.lower, self.upper))

    def curvature(self, u: float) -> float:
        """d²ℓ/du²."""
        if self.kind == EQUALITY:
            return float(self.gain)
        if self.kind == LIMIT:
            return float(self.gain * np.count_nonzero(self._beyond(u)))
        if self.kind == FRICTION:
            return float(self.step * self.loss * self.epsilon**2 / np.hypot(u, self.epsilon) ** 3)
        inside = self.lower < self.b - self.c * u < self.upper
        return float(self.step * self.c if self.c > 0 and inside else 0.0)


def reference_objective(
    case: Case, before: np.ndarray, step: float
) -> tuple[
    Callable[[np.ndarray], float],
    Callable[[np.ndarray], np.ndarray],
    Callable[[np.ndarray], np.ndarray],
]:
    """Value, gradient and Hessian of the whole cost for a step from the velocity ``before``."""
    matrix = case.dense_matrix()
    rhs = case.problem.smooth.rhs.copy()
    jc = case.dense_contact_jacobian()
    jr = case.dense_row_jacobian()
    bias = np.zeros((case.ncontact, 3))
    bias[:, :2] = case.contacts.surface_velocity[: case.ncontact]
    contacts = [
        LaggedContact(case, i, jc[i] @ before + bias[i], step) for i in range(case.ncontact)
    ]
    rows = [Row(case, i, float(jr[i] @ before), step) for i in range(case.nrow)]

    def value(v: np.ndarray) -> float:
        total = 0.5 * v @ matrix @ v - rhs @ v
        total += sum(one.cost(jc[i] @ v + bias[i]) for i, one in enumerate(contacts))
        return float(total + sum(one.cost(jr[i] @ v) for i, one in enumerate(rows)))

    def gradient(v: np.ndarray) -> np.ndarray:
        out = matrix @ v - rhs
        for i, one in enumerate(contacts):
            out -= jc[i].T @ one.impulse(jc[i] @ v + bias[i])
        for i, row in enumerate(rows):
            out -= jr[i] * row.impulse(jr[i] @ v)
        return out

    def hessian(v: np.ndarray) -> np.ndarray:
        out = matrix.copy()
        for i, one in enumerate(contacts):
            out += jc[i].T @ one.curvature(jc[i] @ v + bias[i]) @ jc[i]
        for i, row in enumerate(rows):
            out += row.curvature(jr[i] @ v) * np.outer(jr[i], jr[i])
        return out

    return value, gradient, hessian
