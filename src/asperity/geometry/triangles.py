"""Nearest points of triangles."""

from __future__ import annotations

from asperity.compiled import compiled

__all__ = ["nearest_weights"]


@compiled
def nearest_weights(uu: float, uv: float, vv: float, uw: float, vw: float) -> tuple[float, float]:
    """Weights of u and v in the point of a triangle that is nearest to a point w.

    The triangle's edges u and v and the point w are seen from one corner, by their inner products.
    The nearest point lies at a corner, on an edge or inside, as the signs of projections onto the
    edges tell (Ericson, Real-Time Collision Detection, 5.1.5).
    """
    d3 = uw - uu
    d4 = vw - uv
    d5 = uw - uv
    d6 = vw - vv
    of_corner = d3 * d6 - d5 * d4
    of_u = d5 * vw - uw * d6
    of_v = uw * d4 - d3 * vw
    if uw <= 0.0 and vw <= 0.0:
        return 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 1.0, 0.0
    if of_v <= 0.0 and uw >= 0.0 and d3 <= 0.0:
        return uw / (uw - d3), 0.0
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 1.0
    if of_u <= 0.0 and vw >= 0.0 and d6 <= 0.0:
        return 0.0, vw / (vw - d6)
    if of_corner <= 0.0 and d4 >= d3 and d5 >= d6:
        v = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 1.0 - v, v
    scale = 1.0 / (of_corner + of_u + of_v)
    return of_u * scale, of_v * scale
