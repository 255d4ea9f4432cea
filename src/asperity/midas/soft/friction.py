"""Friction of deformable bodies: stencils that are frozen over a solution.

It is the lagged, smoothed law of `asperity.midas.energy.friction_terms`, for sites in place of two
links.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.midas.energy.friction_stencils import tangents
from asperity.midas.energy.friction_terms import friction_stiffness, turn_dual
from asperity.midas.energy.potentials import friction
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_PLANE
from asperity.midas.soft.contacts import contact_force
from asperity.midas.soft.sites import (
    add_site_blocks,
    add_site_gradients,
    add_site_sums,
    fill_sites,
)

__all__ = [
    "add_friction_blocks",
    "add_friction_gradients",
    "collect_friction",
    "freeze",
    "friction_energy",
    "slip_of",
    "turn_friction",
]


@compiled
def _to_surface(soft: Table, i: int, s: int, q: np.ndarray) -> None:
    """Move y of a rigid site from the core of a round shape to its surface."""
    arm = soft.arm[i]
    length = math.sqrt(arm[0] * arm[0] + arm[1] * arm[1] + arm[2] * arm[2])
    first = 2 if soft.kind[i] == EDGE_EDGE else 1
    for site in range(soft.sites[s]):
        if soft.site_variable[s, site] >= 0:
            continue
        link = soft.site_link[s, site]
        for side in range(1 if soft.kind[i] == VERTEX_PLANE else 2):
            v = soft.vertex[i, 0 if side == 0 else first]
            if soft.vertex_link[v] != link or v < soft.particles:
                continue
            share = -soft.vertex_radius[v] / length
            for j in range(1, 4):
                for k in range(3):
                    soft.site_weight[s, site, j] += share * arm[k] * q[link, j, k]


@compiled
def freeze(engine: Table, soft: Table, i: int, s: int, q: np.ndarray, bound: float) -> None:
    """Make a stencil of a candidate, which bears a force of ``bound`` [N], with links at ``q``."""
    fill_sites(engine, soft, i, s)
    _to_surface(soft, i, s, q)
    tangents(soft.arm[i], soft.rub_frame[s])
    soft.rub_force[s] = bound
    soft.rub_stiction[s] = soft.pair_stiction[soft.pair[i]]
    soft.rub_dual[s, 0] = 0.0
    soft.rub_dual[s, 1] = 0.0


@compiled
def collect_friction(engine: Table, soft: Table, now: int) -> None:
    """Freeze friction at the iterate's candidates, which are measured; as that of links."""
    lead = engine.poses.q_now if now == 1 else engine.poses.q_target
    stencils = 0
    total = 0.0
    for i in range(soft.count):
        mu = soft.pair_friction[soft.pair[i]]
        bound = mu * contact_force(engine, soft, i) if mu > 0.0 else 0.0
        if bound <= 0.0:
            continue
        freeze(engine, soft, i, stencils, lead, bound)
        total += bound
        stencils += 1
    soft.stencils = stencils
    soft.rub_laid = 0
    engine.soft.friction = total


@compiled
def slip_of(engine: Table, soft: Table, s: int, q: np.ndarray) -> tuple[float, float]:
    """Slip of a stencil from the start of the step, along its tangents [m]."""
    one = 0.0
    other = 0.0
    frame = soft.rub_frame[s]
    for site in range(soft.sites[s]):
        link = soft.site_link[s, site]
        rows = 1 if soft.site_variable[s, site] >= 0 else 4
        for j in range(rows):
            w = soft.site_weight[s, site, j]
            for k in range(3):
                move = w * (q[link, j, k] - engine.poses.q_slip[link, j, k])
                one += move * frame[0, k]
                other += move * frame[1, k]
    return one, other


@compiled
def friction_energy(engine: Table, soft: Table, q: np.ndarray) -> float:
    """Energy of friction [J]."""
    total = 0.0
    for s in range(soft.stencils):
        one, other = slip_of(engine, soft, s, q)
        width = soft.rub_stiction[s] * engine.time.step
        total += soft.rub_force[s] * friction(math.sqrt(one * one + other * other), width)
    return total


@compiled
def turn_friction(engine: Table, soft: Table, share: float) -> None:
    """Move the duals by a share of what the direction gives; as that of links."""
    for s in range(soft.stencils):
        e0, e1 = slip_of(engine, soft, s, engine.poses.q_trial)
        u0, u1 = slip_of(engine, soft, s, engine.poses.q_now)
        d0 = (e0 - u0) / share
        d1 = (e1 - u1) / share
        width = soft.rub_stiction[s] * engine.time.step
        turn_dual(soft.rub_dual[s], u0, u1, d0, d1, width, share)


@compiled
def _stiffness(engine: Table, soft: Table, s: int, h: np.ndarray) -> tuple[float, float]:
    """Fill the upper triangle of a stencil's Hessian; returns its force along the tangents."""
    step = engine.time.step
    u0, u1 = slip_of(engine, soft, s, engine.poses.q_now)
    width = soft.rub_stiction[s] * step
    scale = step * step * soft.rub_force[s]
    return friction_stiffness(scale, u0, u1, width, soft.rub_dual[s], soft.rub_frame[s], h)


@compiled
def add_friction_gradients(engine: Table, soft: Table) -> None:
    """Add gradients of links, and blocks of rigid links with themselves."""
    whole = engine.newton.only_slopes == 0
    h = soft.upper
    for s in range(soft.stencils):
        one, other = _stiffness(engine, soft, s, h)
        p = soft.rub_frame[s, 0]
        o = soft.rub_frame[s, 1]
        add_site_gradients(
            engine,
            soft,
            s,
            one * p[0] + other * o[0],
            one * p[1] + other * o[1],
            one * p[2] + other * o[2],
        )
        if whole:
            add_site_sums(engine, soft, s, h)


@compiled
def add_friction_blocks(engine: Table, soft: Table) -> None:
    """Add blocks of vertices with each other and with rigid links."""
    h = soft.upper
    for s in range(soft.stencils):
        _stiffness(engine, soft, s, h)
        add_site_blocks(engine, soft, s, h)
