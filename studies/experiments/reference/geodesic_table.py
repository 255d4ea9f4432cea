"""Memory of the geodesic interior-point method (`geodesic_kernel`)."""

from __future__ import annotations

from asperity.compiled import Layout, Table, compiled

__all__ = ["GEODESIC", "HALF", "LARGEST", "NO_UPPER_LIMIT", "limits_of_row"]

NO_UPPER_LIMIT = 1e15
"""Velocity [m/s or rad/s] beyond which a row's upper limit stands for none."""

HALF = 0.7071067811865476
"""√½."""

LARGEST = 1.7976931348623157e308
"""Above which a number is not finite."""

GEODESIC = Layout(
    "geodesic interior-point method",
    # per contact, sorted by island
    # w: tangential part, determinant (w itself where there is no friction)
    point="f8[contacts, 3]",
    frame="f8[contacts, 5]",  # λ_1, λ_2, λ_3, t
    offset="f8[contacts, 3]",  # d at κ = 0, in the frame of w
    slope="f8[contacts, 3]",  # dd/dκ
    # per row: lower and upper limit
    row_point="f8[rows, 2]",
    row_offset="f8[rows, 2]",
    row_slope="f8[rows, 2]",
    # u = first + κ second, as long as the problem's vectors
    first="f8[vector]",
    second="f8[vector]",
    # out
    velocity="f8[vector]",
    impulse="f8[contacts, 3]",
    row_impulse="f8[rows, 2]",  # of the lower and of the upper limit; of an equality, the first
    # largest m [J], iterations allowed, 1 for a warm start
    complementarity="f8",
    max_iterations="i8",
    warm="i8",
    iterations="i8",  # out: of all islands,
    longest_iterations="i8",  # and of the one that took most
)


@compiled
def limits_of_row(law: Table, i: int) -> tuple[float, float, bool]:
    """(v̂ of the lower limit in terms of u, v̂ of the upper one in terms of −u, has an upper one)."""
    target = law.row_target[i]
    upper = law.row_upper[i]
    shift = law.row_lower[i] / law.row_gain[i]
    return target - shift, shift - upper, upper < NO_UPPER_LIMIT
