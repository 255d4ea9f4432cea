"""Derivatives of what extrapolated steps add to swings (`asperity.integrators.methods.swings`)."""

from __future__ import annotations

import numpy as np

from asperity.derivatives.tangent import StepState
from asperity.integrators.methods.extrapolation import Swings
from asperity.integrators.methods.swings import (
    LARGEST_SWING,
    SLOW_SWING,
    THIRD_ORDER,
    swing_factors,
)

__all__ = ["Point", "added_to_swings"]

Point = tuple[StepState, np.ndarray]
"""A state, and what it changes by with whatever is varied."""
_Change = tuple[np.ndarray, np.ndarray]
"""Numbers of every dof, and what they change by."""

# Displacement of complex steps.
_TINY = 1e-30j


def _total(*terms: tuple[float | np.ndarray, _Change]) -> _Change:
    """A sum of vectors, each times a number or a matrix."""
    parts = [[f @ x if np.ndim(f) else f * x for x in one] for f, one in terms]
    return np.sum([part[0] for part in parts], axis=0), np.sum([part[1] for part in parts], axis=0)


def _product(one: _Change, two: _Change) -> _Change:
    """The product of two numbers of every dof, with its changes."""
    return one[0] * two[0], one[1] * two[0][:, None] + one[0][:, None] * two[1]


def _quotient(one: _Change, two: _Change) -> _Change:
    """The quotient of two numbers of every dof, with its changes."""
    value = one[0] / two[0]
    return value, (one[1] - value[:, None] * two[1]) / two[0][:, None]


def _swing_factors(g: _Change, p: _Change, where: np.ndarray) -> list[_Change]:
    """The four factors of `swing_factors`, 0 elsewhere, with their changes by complex steps."""
    values = [np.where(where, one[0], other) for one, other in ((g, 0.1), (p, 0.0))]
    found = [(factor * where, np.zeros_like(g[1])) for factor in swing_factors.py_func(*values)]
    for k, number in enumerate((g, p)):
        beside = [value + _TINY * (i == k) for i, value in enumerate(values)]
        for one, factor in zip(found, swing_factors.py_func(*beside), strict=True):
            one[1][:] += (where * factor.imag / _TINY.imag)[:, None] * number[1]
    return found


def _resolved(g: _Change, p: _Change) -> _Change:
    """What is left of a correction for how fast the motion is, with its changes."""
    size = p[0] + np.abs(g[0])
    beyond = np.clip(size / LARGEST_SWING - 1.0, 0.0, 1.0)
    slope = -6.0 * beyond * (1.0 - beyond) / LARGEST_SWING
    changes = p[1] + np.sign(g[0])[:, None] * g[1]
    return 1.0 - beyond**2 * (3.0 - 2.0 * beyond), slope[:, None] * changes


def added_to_swings(
    points: tuple[Point, Point, Point],
    full: Point,
    swings: Swings,
    masses: tuple[np.ndarray, np.ndarray],
) -> tuple[_Change, _Change]:
    """What is added of u to velocities, and to positions over the step, each with its changes.

    Parameters
    ----------
    points : tuple
        Beginning, middle, and end of the half steps.
    full : tuple
        The end of the whole step.
    swings : Swings
    masses : tuple of numpy.ndarray
        The mass matrix half way, and that without the momenta of islands that float.

    Notes
    -----
    Products of vectors are those of a degree of freedom's island.
    """
    nv = len(swings.turning)
    together = swings.together()
    springs = np.diag(swings.springs)
    whole_mass, mass = masses

    def product(one: _Change, two: _Change, matrix: np.ndarray = mass) -> _Change:
        change = one[1] * (matrix @ two[0])[:, None] + two[1] * (matrix @ one[0])[:, None]
        return together @ (one[0] * (matrix @ two[0])), together @ change

    before, first, last = ((s.qvel, changes[nv : 2 * nv]) for s, changes in points)
    whole = full[0].qvel, full[1][nv : 2 * nv]
    pulled = np.linalg.solve(whole_mass, 2.0 * springs)
    change = _total((1.0, last), (pulled, first), (-1.0, whole), (-2.0 * pulled, whole))
    u = _total((swings.matrix, change))
    # Beside springs, as u: without what is solved for.
    sprung = together @ swings.springs > 0.0
    unopposed = np.where(sprung[:, None], swings.matrix, np.eye(nv))
    last = _total((unopposed, last))
    late = _total((springs, last))
    square, energy = product(u, u), product(first, first)
    known = (square[0] > 0.0) & (energy[0] > 0.0)
    square = np.where(known, square[0], 1.0), square[1]
    energy = np.where(known, energy[0], 1.0), energy[1]
    one = np.eye(nv)
    p = _quotient(product(u, u, springs), square)
    g = _quotient(_total((-1.0, product(u, first)), (-1.0, product(first, late, one))), energy)
    swing = _total((1.0, _product(g, first)), (1.0, _product(p, last)))
    early = np.maximum(g[0], 0.0), np.where(g[0][:, None] > 0.0, g[1], 0.0)

    def opposed(one: _Change, two: _Change) -> _Change:
        """The product with S."""
        return _total(
            (1.0, _product(early, product(one, two))),
            (1.0, product(one, two, springs)),
        )

    along, size = opposed(u, swing), _product(opposed(u, u), opposed(swing, swing))
    swinging = known & (along[0] < 0.0) & (size[0] > 0.0) & (p[0] + g[0] >= SLOW_SWING)
    size = np.where(swinging, size[0], 1.0), size[1]
    cosine = _quotient(_product(along, along), size)
    cosine = swinging * cosine[0], swinging[:, None] * cosine[1]
    speed, speed_kick, travel, travel_kick = _swing_factors(g, p, swinging)
    kick = _quotient(product(u, _total((unopposed, whole), (-unopposed, before))), square)
    third = _quotient(product(u, late, one), square)
    third = THIRD_ORDER - 1.0 - third[0], np.negative(third[1])
    rest = np.where(known, 1.0, 0.0) - cosine[0], np.negative(cosine[1])
    share = _resolved(g, p)
    share = swings.turning * share[0], swings.turning[:, None] * share[1]
    faster = _total((1.0, speed), (1.0, _product(speed_kick, kick)))
    moved = _total((1.0, travel), (1.0, _product(travel_kick, kick)))
    moved = _total((1.0, _product(cosine, moved)), (1.0, _product(rest, third)))
    return (
        _product(_product(share, _product(cosine, faster)), u),
        _product(_product(share, moved), u),
    )
