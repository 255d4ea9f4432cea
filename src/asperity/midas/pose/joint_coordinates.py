"""Coordinates of hinge and slide joints, with their derivatives by the variables.

A slide's coordinate is a variable. A hinge's is the signed angle between a direction u of the child
and a direction n of the parent across the axis, θ = atan2(s, c) with s = u·b, c = u·n and b the
axis × n (docs/equations.md, ‘Joints’), unwrapped from step to step.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.linearized_coordinates import linearized_coordinates
from asperity.midas.energy.tendon_terms import tendon_coordinates
from asperity.midas.engine_layout import FREE, SLIDE

__all__ = [
    "add_angle_blocks",
    "add_angle_gradient",
    "joint_coordinates",
    "joint_gradients",
]


@compiled
def _directions(links: Table, joints: Table, joint: int, q: np.ndarray, out: np.ndarray) -> None:
    """Fill u, n and b of a hinge, shape (3, 3)."""
    child = joints.link[joint]
    p = links.parent[child]
    for row in range(3):
        link = child if row == 0 else p
        for k in range(3):
            out[row, k] = 0.0
            for i in range(3):
                out[row, k] += joints.frame[joint, row, i] * q[link, 1 + i, k]


@compiled
def _sine_cosine(d: np.ndarray) -> tuple[float, float]:
    sine = d[0, 0] * d[2, 0] + d[0, 1] * d[2, 1] + d[0, 2] * d[2, 2]
    cosine = d[0, 0] * d[1, 0] + d[0, 1] * d[1, 1] + d[0, 2] * d[1, 2]
    return sine, cosine


@compiled
def joint_coordinates(
    engine: Table, q: np.ndarray, z: np.ndarray, near: np.ndarray, out: np.ndarray
) -> None:
    """Fill coordinates relative to the reference pose, angles within π of those in ``near``."""
    for joint in range(engine.joints.link.size):
        if engine.links.kind[engine.joints.link[joint]] == SLIDE:
            out[joint] = z[engine.links.variable[engine.joints.link[joint]]]
            continue
        _directions(engine.links, engine.joints, joint, q, engine.work.directions)
        sine, cosine = _sine_cosine(engine.work.directions)
        angle = math.atan2(sine, cosine)
        turns = math.floor((near[joint] - angle) / (2.0 * math.pi) + 0.5)
        out[joint] = angle + 2.0 * math.pi * turns
    tendon_coordinates(engine.joints, out)
    linearized_coordinates(engine.joints, z, out)


@compiled
def _angle_slopes(engine: Table, joint: int, q: np.ndarray, g: np.ndarray) -> tuple[float, float]:
    """Fill ∂θ/∂u, ∂θ/∂n and ∂θ/∂b of a hinge, shape (3, 3), and its directions; returns s and c."""
    d = engine.work.directions
    _directions(engine.links, engine.joints, joint, q, d)
    sine, cosine = _sine_cosine(d)
    square = sine * sine + cosine * cosine
    for k in range(3):
        g[0, k] = (cosine * d[2, k] - sine * d[1, k]) / square
        g[1, k] = -sine * d[0, k] / square
        g[2, k] = cosine * d[0, k] / square
    return sine, cosine


@compiled
def joint_gradients(engine: Table, q: np.ndarray) -> None:
    """Fill ∂θ/∂z of joints that act on others' coordinates, over the variables that move each."""
    links = engine.links
    g = engine.work.angle_slope
    chain = links.chain_start
    for joint in range(engine.joints.link.size):
        if engine.joints.crossed[joint] == 0:
            continue
        child = engine.joints.link[joint]
        p = links.parent[child]
        size = chain[child + 1] - chain[child]
        out = engine.joints.gradient[joint]
        if links.kind[child] == SLIDE:
            for column in range(size - 1):
                out[column] = 0.0
            out[size - 1] = 1.0
            continue
        _angle_slopes(engine, joint, q, g)
        frame = engine.joints.frame[joint]
        ancestors = chain[p + 1] - chain[p] if p < links.kind.size else 0
        for column in range(size):
            total = 0.0
            for i in range(3):
                for k in range(3):
                    total += g[0, k] * frame[0, i] * links.jacobian[chain[child] + column, 1 + i, k]
                    if column >= ancestors:
                        continue
                    if links.kind[p] == FREE:  # its coordinates are its variables
                        turned = 1.0 if column == 3 * (1 + i) + k else 0.0
                    else:
                        turned = links.jacobian[chain[p] + column, 1 + i, k]
                    total += (g[1, k] * frame[1, i] + g[2, k] * frame[2, i]) * turned
            out[column] = total


@compiled
def add_angle_gradient(
    engine: Table, joint: int, q: np.ndarray, slope: float, out: np.ndarray
) -> None:
    """Add ψ′ ∂θ/∂Q of a hinge to gradients of its two links; nothing for a slide."""
    child = engine.joints.link[joint]
    if slope == 0.0 or engine.links.kind[child] == SLIDE:
        return
    p = engine.links.parent[child]
    g = engine.work.angle_slope
    _angle_slopes(engine, joint, q, g)
    frame = engine.joints.frame[joint]
    for i in range(3):
        for k in range(3):
            out[child, 1 + i, k] += slope * g[0, k] * frame[0, i]
            if p < out.shape[0]:
                out[p, 1 + i, k] += slope * (g[1, k] * frame[1, i] + g[2, k] * frame[2, i])


@compiled
def _angle_hessian(engine: Table, joint: int, q: np.ndarray, out: np.ndarray) -> None:
    """Fill the Hessian of ψ(θ) in u, n and b, shape (9, 9)."""
    g = engine.work.angle_slope
    d = engine.work.directions
    slope = engine.joints.slope[joint] if engine.newton.curved == 1 else 0.0
    sine, cosine = _angle_slopes(engine, joint, q, g)
    square = sine * sine + cosine * cosine
    by_ss = slope * -2.0 * sine * cosine / (square * square)
    by_sc = slope * (sine * sine - cosine * cosine) / (square * square)
    for a in range(9):
        row = g[a // 3]
        k = a % 3
        s_a = d[2, k] if a < 3 else (0.0 if a < 6 else d[0, k])
        c_a = d[1, k] if a < 3 else (d[0, k] if a < 6 else 0.0)
        for b in range(9):
            m = b % 3
            value = engine.joints.stiffening[joint] * row[k] * g[b // 3, m]
            if slope != 0.0:
                s_b = d[2, m] if b < 3 else (0.0 if b < 6 else d[0, m])
                c_b = d[1, m] if b < 3 else (d[0, m] if b < 6 else 0.0)
                value += by_ss * (s_a * s_b - c_a * c_b) + by_sc * (s_a * c_b + c_a * s_b)
            out[a, b] = value
    # s is bilinear in u and b, and c in u and n.
    for k in range(3):
        out[k, 3 + k] -= slope * sine / square
        out[3 + k, k] -= slope * sine / square
        out[k, 6 + k] += slope * cosine / square
        out[6 + k, k] += slope * cosine / square


@compiled
def add_angle_blocks(engine: Table, joint: int, q: np.ndarray, cross: np.ndarray) -> None:
    """Add the Hessian of a hinge's ψ(θ) to blocks of its two links; nothing for a slide.

    That between the parent's coordinates, in rows, and the link's is added to ``cross``, shape
    (12, 12). Only with ``curved`` there is the part of ψ′, which may be indefinite.
    """
    child = engine.joints.link[joint]
    if engine.links.kind[child] == SLIDE or (
        engine.joints.stiffening[joint] == 0.0
        and (engine.newton.curved == 0 or engine.joints.slope[joint] == 0.0)
    ):
        return
    p = engine.links.parent[child]
    frame = engine.joints.frame[joint]
    h = engine.work.angle_work
    _angle_hessian(engine, joint, q, h)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for m in range(3):
                    engine.hessian.link_block[child, 3 + 3 * i + k, 3 + 3 * j + m] += (
                        frame[0, i] * frame[0, j] * h[k, m]
                    )
    if p == engine.links.kind.size:
        return
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for m in range(3):
                    own = 0.0
                    between = 0.0
                    for a in range(1, 3):
                        between += frame[a, i] * frame[0, j] * h[3 * a + k, m]
                        for b in range(1, 3):
                            own += frame[a, i] * frame[b, j] * h[3 * a + k, 3 * b + m]
                    engine.hessian.link_block[p, 3 + 3 * i + k, 3 + 3 * j + m] += own
                    cross[3 + 3 * i + k, 3 + 3 * j + m] += between
