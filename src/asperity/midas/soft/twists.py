"""Twist of rods: that of `asperity.soft.twists`, whose edges move by finite steps.

The angle of an edge is a variable z of its own, of a link that slides. Within a step its material
is led from t⁰, where the edge began, by the smallest rotation to t, and turned by Δz. With the area
∠A(a, b, c) of a triangle of unit vectors, and κ(a, b) = 2 a × b/(1 + a · b), a bend is twisted by

    m = m⁰ + Δz_1 − Δz_0 + ∠A(t_0⁰, t_1⁰, t_1) + ∠A(t_0⁰, t_1, t_0),
    ∂m/∂d_0 = (κ(t_0, t_1) + κ(t_0⁰, t_0))/2|d_0|,    ∂m/∂d_1 = (κ(t_0, t_1) − κ(t_1⁰, t_1))/2|d_1|

and its energy is ½ k m² + ½ c/h (m − m*)², m* being what its rate counts from
(`asperity.midas.soft.past`). The Hessian leaves out second derivatives of m. At the end of a step z
becomes the angle that `qpos` counts, which differs by ∠A(t, T, t⁰), and so do those of its past.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.factor.blocks import add_entry
from asperity.midas.soft.sites import add_gradient, add_vertex_block, is_fixed
from asperity.soft.twists import (
    along_edge,
    axis_of,
    half_bend,
    turned,
    twist_slopes,
    within_half_a_turn,
)

__all__ = ["add_twist_terms", "begin_twists", "count_turns", "count_twists", "twist_energy"]


@compiled
def begin_twists(engine: Table, soft: Table) -> None:
    """Find by how much bends are twisted at the step's beginning."""
    for twist in range(soft.twist_stiffness.size):
        particles = soft.twist_particle[twist]
        u, v = twist_slopes(soft.start, particles, soft.twist_slope)
        m = turned(v, u, axis_of(soft.twist_axis, twist))
        for side in range(2):
            link = soft.twist_link[twist, side]
            if link >= 0:
                joint = engine.links.joint[link]
                angle = engine.joints.reference[joint] + engine.joints.value[joint]
                m += angle if side == 0 else -angle
        soft.twist_start[twist] = within_half_a_turn(m)


@compiled
def _measure(engine: Table, soft: Table, twist: int, x: np.ndarray, angle: np.ndarray) -> float:
    """m at positions and joints' coordinates; fills ∂m/∂x of three vertices."""
    vertex = soft.twist_particle[twist]
    slope = soft.twist_slope
    u, v = twist_slopes(x, vertex, slope)
    first, _ = along_edge(soft.start, vertex[0], vertex[1])
    last, _ = along_edge(soft.start, vertex[1], vertex[2])
    m = soft.twist_start[twist] + turned(first, last, v) + turned(first, v, u)
    for side in range(2):
        link = soft.twist_link[twist, side]
        if link >= 0:
            at = engine.links.joint[link]
            m += (1.0 - 2.0 * side) * (angle[at] - engine.joints.value[at])
    for side in range(2):
        _, inverse = along_edge(x, vertex[side], vertex[side + 1])
        led = half_bend(first, u) if side == 0 else half_bend(last, v)
        scale = inverse if side == 0 else -inverse
        for k in range(3):
            slope[3 * side + k] -= scale * led[k]
            slope[3 * side + 3 + k] += scale * led[k]
    return m


@compiled
def count_twists(
    engine: Table, soft: Table, x: np.ndarray, angle: np.ndarray, weight: float
) -> None:
    """Add twists at positions and joints' coordinates to what their rates count from."""
    for twist in range(soft.twist_stiffness.size):
        if soft.twist_damping[twist] > 0.0:
            soft.twist_past[twist] += weight * _measure(engine, soft, twist, x, angle)


@compiled
def twist_energy(engine: Table, soft: Table, x: np.ndarray, angle: np.ndarray) -> float:
    """Energy of twist at positions and joints' coordinates, with what damping takes [J]."""
    total = 0.0
    for twist in range(soft.twist_stiffness.size):
        m = _measure(engine, soft, twist, x, angle)
        change = m - soft.twist_past[twist]
        rate = soft.twist_damping[twist] / engine.time.step
        total += 0.5 * (soft.twist_stiffness[twist] * m * m + rate * change * change)
    return total


@compiled
def _add_blocks(engine: Table, soft: Table, twist: int, scale: float) -> None:
    """Add a multiple of ∇m ∇mᵀ."""
    vertex = soft.twist_particle[twist]
    slope = soft.twist_slope
    block = soft.small[0]
    for a in range(3):
        if is_fixed(engine, soft, vertex[a]):
            continue
        for b in range(a + 1):
            for k in range(3):
                for n in range(3):
                    block[k, n] = scale * slope[3 * a + k] * slope[3 * b + n]
            add_vertex_block(engine, soft, vertex[a], vertex[b], block)
    after = soft.twist_link[twist, 0]
    for side in range(2):
        link = soft.twist_link[twist, side]
        if link < 0:
            continue
        own = engine.links.variable[link]
        sign = (1.0 - 2.0 * side) * scale
        add_entry(engine.factor, own, own, scale)
        if side == 1 and after >= 0:
            add_entry(engine.factor, own, engine.links.variable[after], -scale)
        for a in range(3):
            if is_fixed(engine, soft, vertex[a]):
                continue
            at = soft.vertex_variable[vertex[a]]
            for k in range(3):
                add_entry(engine.factor, own, at + k, sign * slope[3 * a + k])


@compiled
def add_twist_terms(engine: Table, soft: Table, whole: bool) -> None:
    """Add gradients, and with ``whole`` the Hessian."""
    h = engine.time.step
    for twist in range(soft.twist_stiffness.size):
        m = _measure(engine, soft, twist, soft.now, engine.joints.now)
        stiffness = soft.twist_stiffness[twist]
        rate = soft.twist_damping[twist] / h
        torque = h * h * (stiffness * m + rate * (m - soft.twist_past[twist]))
        for side in range(2):
            link = soft.twist_link[twist, side]
            if link >= 0:
                at = engine.links.variable[link]
                engine.newton.gradient[at] += (1.0 - 2.0 * side) * torque
        for a in range(3):
            if is_fixed(engine, soft, soft.twist_particle[twist, a]):
                continue
            for k in range(3):
                soft.slope_work[0, k] = torque * soft.twist_slope[3 * a + k]
            add_gradient(engine, soft, soft.twist_particle[twist, a], soft.slope_work[0])
        if whole:
            _add_blocks(engine, soft, twist, h * h * (stiffness + rate))


@compiled
def count_turns(engine: Table, soft: Table) -> None:
    """Count angles of edges at a step's end from the rods' directions at rest again."""
    links = engine.links
    for place in range(soft.turning_link.size):
        a = soft.turning_particle[place, 0]
        b = soft.turning_particle[place, 1]
        before, _ = along_edge(soft.start, a, b)
        after, _ = along_edge(soft.now, a, b)
        more = turned(after, axis_of(soft.turning_axis, place), before)
        link = soft.turning_link[place]
        engine.poses.z[links.variable[link]] += more
        for angle in (engine.joints.value, engine.joints.before, engine.joints.older):
            angle[links.joint[link]] += more
        for q in (engine.poses.q, engine.poses.q_before, engine.poses.q_older):
            for k in range(3):
                q[link, 0, k] += more * links.slide_direction[link, k]
