"""Coordinates of hinge and slide joints, with their derivatives by the variables.

A slide's coordinate is a variable. A hinge's is the signed angle between a direction u of the child
and a direction n of the parent across the axis, θ = atan2(s, c) with s = u·b, c = u·n and b the
axis × n (docs/equations.md, ‘Joints’), unwrapped from step to step.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.engine_layout import FREE, SLIDE
from asperity.midas.linearized_terms import linearized_coordinates
from asperity.midas.tendon_terms import tendon_coordinates

__all__ = [
    "add_angle_gradient",
    "joint_coordinates",
    "joint_curvature",
    "joint_gradients",
]


@compiled
def _directions(engine: Table, joint: int, q: np.ndarray, out: np.ndarray) -> None:
    """Fill u, n and b of a hinge, shape (3, 3)."""
    child = engine.joint_link[joint]
    p = engine.link_parent[child]
    for row in range(3):
        link = child if row == 0 else p
        for k in range(3):
            out[row, k] = 0.0
            for i in range(3):
                out[row, k] += engine.joint_frame[joint, row, i] * q[link, 1 + i, k]


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
    for joint in range(engine.joint_link.size):
        if engine.link_kind[engine.joint_link[joint]] == SLIDE:
            out[joint] = z[engine.link_variable[engine.joint_link[joint]]]
            continue
        _directions(engine, joint, q, engine.directions)
        sine, cosine = _sine_cosine(engine.directions)
        angle = math.atan2(sine, cosine)
        turns = math.floor((near[joint] - angle) / (2.0 * math.pi) + 0.5)
        out[joint] = angle + 2.0 * math.pi * turns
    tendon_coordinates(engine, out)
    linearized_coordinates(engine, z, out)


@compiled
def _by_variables(engine: Table, joint: int, parts: np.ndarray) -> None:
    """Fill ∂u/∂z, ∂n/∂z and ∂b/∂z over the variables that move the joint's link, shape (9, ·)."""
    child = engine.joint_link[joint]
    p = engine.link_parent[child]
    chain = engine.chain_start
    ancestors = 0
    if p < engine.link_kind.size:
        ancestors = chain[p + 1] - chain[p]
    for column in range(chain[child + 1] - chain[child]):
        at = chain[child] + column
        for k in range(3):
            u = 0.0
            n = 0.0
            b = 0.0
            for i in range(3):
                u += engine.joint_frame[joint, 0, i] * engine.jacobian[at, 1 + i, k]
                if column < ancestors:
                    if engine.link_kind[p] == FREE:  # its coordinates are its variables
                        turned = 1.0 if column == 3 * (1 + i) + k else 0.0
                    else:
                        turned = engine.jacobian[chain[p] + column, 1 + i, k]
                    n += engine.joint_frame[joint, 1, i] * turned
                    b += engine.joint_frame[joint, 2, i] * turned
            parts[k, column] = u
            parts[3 + k, column] = n
            parts[6 + k, column] = b


@compiled
def joint_gradients(engine: Table, q: np.ndarray) -> None:
    """Fill ∂θ/∂z of every joint over the variables that move its link, and what it is made of."""
    d = engine.directions
    for joint in range(engine.joint_link.size):
        child = engine.joint_link[joint]
        size = engine.chain_start[child + 1] - engine.chain_start[child]
        if engine.link_kind[child] == SLIDE:
            for column in range(size - 1):
                engine.joint_gradient[joint, column] = 0.0
            engine.joint_gradient[joint, size - 1] = 1.0
            continue
        _directions(engine, joint, q, d)
        sine, cosine = _sine_cosine(d)
        engine.joint_values[joint, 0] = sine
        engine.joint_values[joint, 1] = cosine
        _by_variables(engine, joint, engine.joint_parts[joint])
        part = engine.joint_parts[joint]
        square = sine * sine + cosine * cosine
        for column in range(size):
            by_s = 0.0
            by_c = 0.0
            for k in range(3):
                by_s += d[2, k] * part[k, column] + d[0, k] * part[6 + k, column]
                by_c += d[1, k] * part[k, column] + d[0, k] * part[3 + k, column]
            engine.joint_sine[joint, column] = by_s
            engine.joint_cosine[joint, column] = by_c
            engine.joint_gradient[joint, column] = (cosine * by_s - sine * by_c) / square


@compiled
def add_angle_gradient(
    engine: Table, joint: int, q: np.ndarray, slope: float, out: np.ndarray
) -> None:
    """Add ψ′ ∂θ/∂Q of a hinge to gradients of its two links; nothing for a slide."""
    child = engine.joint_link[joint]
    if engine.link_kind[child] == SLIDE:
        return
    p = engine.link_parent[child]
    d = engine.directions
    _directions(engine, joint, q, d)
    sine, cosine = _sine_cosine(d)
    square = sine * sine + cosine * cosine
    for k in range(3):
        by_u = slope * (cosine * d[2, k] - sine * d[1, k]) / square
        by_n = -slope * sine * d[0, k] / square
        by_b = slope * cosine * d[0, k] / square
        for i in range(3):
            out[child, 1 + i, k] += by_u * engine.joint_frame[joint, 0, i]
            if p < out.shape[0]:
                out[p, 1 + i, k] += (
                    by_n * engine.joint_frame[joint, 1, i] + by_b * engine.joint_frame[joint, 2, i]
                )


@compiled
def joint_curvature(engine: Table, joint: int, a: int, b: int) -> float:
    """∂²θ/∂z_a∂z_b for two columns of a hinge's chain, after `joint_gradients`."""
    part = engine.joint_parts[joint]
    s_z = engine.joint_sine[joint]
    c_z = engine.joint_cosine[joint]
    sine = engine.joint_values[joint, 0]
    cosine = engine.joint_values[joint, 1]
    square = sine * sine + cosine * cosine
    by_ss = -2.0 * sine * cosine / (square * square)
    by_sc = (sine * sine - cosine * cosine) / (square * square)
    total = by_ss * (s_z[a] * s_z[b] - c_z[a] * c_z[b]) + by_sc * (
        s_z[a] * c_z[b] + c_z[a] * s_z[b]
    )
    bilinear_s = 0.0
    bilinear_c = 0.0
    for k in range(3):
        bilinear_s += part[k, a] * part[6 + k, b] + part[6 + k, a] * part[k, b]
        bilinear_c += part[k, a] * part[3 + k, b] + part[3 + k, a] * part[k, b]
    return total + (cosine * bilinear_s - sine * bilinear_c) / square
