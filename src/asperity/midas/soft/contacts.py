"""Contact of deformable bodies: candidates, their energy, how far they let go, and their terms."""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.midas.energy.potentials import (
    barrier,
    barrier_secant,
    barrier_slopes,
    differs,
    expected_ratio,
    ratio_of_force,
)
from asperity.midas.factor.outer_products import fill_square
from asperity.midas.geometry.collision_time import KEPT, collision_free_time
from asperity.midas.geometry.distances import mollifier, separation
from asperity.midas.geometry.stencil import EDGE_EDGE, Stencil
from asperity.midas.soft.search import approach, are_in_boxes, list_stencils
from asperity.midas.soft.sites import (
    add_site_blocks,
    add_site_gradients,
    add_site_sums,
    fill_sites,
)
from asperity.midas.soft.tilting import add_tilting, tilts, turning_slope

__all__ = [
    "add_contact_blocks",
    "add_contact_gradients",
    "contact_energy",
    "contact_force",
    "exact_square",
    "expect_present",
    "follow_contacts",
    "free_time",
    "measure_now",
    "place",
    "renew_list",
    "stencil_of",
    "touches",
]

# Candidates that a list may have before paths are cut to shorten it, what part of them is left
# then, and the least that is tried.
_MANY = 1 << 15
_CUT = 0.25
_LEAST_SHARE = 1e-3
# Force with which a contact to come is counted, over that which stops the mass of its vertices:
# what lies beside them pushes too. With 3 or 30 a cloth takes some more iterations.
_FIRM = 10.0


@compiled
def stencil_of(soft: Table, i: int) -> Stencil:
    """The stencil of a candidate."""
    v = soft.vertex[i]
    return Stencil(soft.kind[i], v[0], v[1], v[2], v[3])


@compiled
def place(soft: Table, q: np.ndarray, x: np.ndarray) -> None:
    """Fill the positions of all vertices."""
    for v in range(x.shape[0]):
        link = soft.vertex_link[v]
        for k in range(3):
            x[v, k] = soft.vertex_rest[v, 0] * q[link, 0, k] + (
                soft.vertex_rest[v, 1] * q[link, 1, k]
                + soft.vertex_rest[v, 2] * q[link, 2, k]
                + soft.vertex_rest[v, 3] * q[link, 3, k]
            )
    for i in range(soft.between.size):
        v = soft.between[i]
        for k in range(3):
            x[v, k] = 0.0
            for n in range(soft.node_first[v], soft.node_first[v + 1]):
                x[v, k] += soft.node_weight[n] * x[soft.node[n], k]


@compiled
def _find_moves(soft: Table, x: np.ndarray) -> None:
    """Fill how vertices have moved from the iterate, and how far."""
    for v in range(x.shape[0]):
        square = 0.0
        for k in range(3):
            soft.move[v, k] = x[v, k] - soft.now[v, k]
            square += soft.move[v, k] * soft.move[v, k]
        # What is not finite leaves room for nothing.
        soft.distance[v] = math.sqrt(square) if square >= 0.0 else math.inf


@inlined
def _approach(soft: Table, i: int) -> float:
    """By how much moves may bring the sides of a candidate nearer to each other."""
    return float(approach(soft.kind[i], soft.vertex[i], soft.distance))


@compiled
def exact_square(engine: Table, soft: Table, i: int) -> float:
    """Squared distance of a candidate at the iterate, which is measured unless that is done."""
    if soft.asleep[i] == 1:
        _measure(engine, soft, i)
    return float(soft.square[i])


@compiled
def _measure(engine: Table, soft: Table, i: int) -> None:
    soft.square[i] = separation(
        stencil_of(soft, i),
        soft.now,
        engine.shapes,
        soft.radius[i],
        soft.coefficient[i],
        soft.arm[i],
    )
    soft.bound[i] = math.sqrt(max(soft.square[i], 0.0))
    soft.asleep[i] = 0


@compiled
def measure_now(engine: Table, soft: Table) -> None:
    """Place vertices and measure candidates at the iterate, if that is not done.

    Those that cannot have come near since they were measured sleep: of them only a bound is known.
    """
    if engine.soft.measured == 1:
        return
    place(soft, engine.poses.q_now, soft.trial)
    _find_moves(soft, soft.trial)
    for v in range(soft.now.shape[0]):
        for k in range(3):
            soft.now[v, k] = soft.trial[v, k]
    for i in range(soft.count):
        soft.bound[i] -= _approach(soft, i)
        # Written so that NaN is measured.
        if soft.bound[i] > soft.pair_activation[soft.pair[i]] and soft.final[i] == 1.0:
            soft.square[i] = soft.bound[i] * soft.bound[i]
            soft.asleep[i] = 1
        else:
            _measure(engine, soft, i)
    engine.soft.measured = 1


@compiled
def touches(soft: Table) -> bool:
    """Whether any candidate pushes at the iterate, where they must be measured."""
    found = False
    for i in range(soft.count):
        found = found or soft.square[i] < soft.pair_activation[soft.pair[i]] ** 2
    return found


@compiled
def expect_present(soft: Table) -> None:
    """Expect of contacts what they bear at the iterate."""
    for i in range(soft.count):
        ratio = math.sqrt(soft.square[i]) / soft.pair_activation[soft.pair[i]]
        soft.final[i] = min(ratio, 1.0)


@compiled
def renew_list(engine: Table, soft: Table, ahead: np.ndarray) -> float:
    """List candidates anew if vertices leave their boxes on the way to ``ahead``.

    Returns what part of the way has boxes, 0 if the list must grow first. A long way of a poor
    direction would make too many candidates: a shorter one gets boxes then, and ``ahead`` is its
    end. Vertices must be placed at the iterate.
    """
    if are_in_boxes(soft, soft.now) and are_in_boxes(soft, ahead):
        return 1.0
    share = 1.0
    code = list_stencils(soft, engine.shapes, ahead)
    while code != 0 and soft.kind.size >= _MANY and share > _LEAST_SHARE:
        share *= _CUT
        for v in range(ahead.shape[0]):
            for k in range(3):
                ahead[v, k] = soft.now[v, k] + _CUT * (ahead[v, k] - soft.now[v, k])
        code = list_stencils(soft, engine.shapes, ahead)
    if code != 0:
        engine.soft.measured = 0
        engine.soft.code = code
        return 0.0
    expect_present(soft)
    return share


@compiled
def _has_room(soft: Table, i: int, time: float) -> bool:
    """Whether a candidate keeps a tenth of its distance until a time, by how far vertices move."""
    room = (1.0 - KEPT) * math.sqrt(max(soft.square[i], 0.0))
    return soft.square[i] > 0.0 and _approach(soft, i) * time <= room


@compiled
def free_time(engine: Table, soft: Table, time: float) -> float:
    """Share of the way to the trial state, at most ``time``, that keeps a tenth of distances."""
    measure_now(engine, soft)
    place(soft, engine.poses.q_trial, soft.trial)
    share = renew_list(engine, soft, soft.trial)
    if share < 1.0:
        place(soft, engine.poses.q_trial, soft.trial)
        time = min(time, share)
    if share == 0.0:
        return 0.0
    _find_moves(soft, soft.trial)
    for i in range(soft.count):
        if _has_room(soft, i, time):
            continue
        square = exact_square(engine, soft, i)
        if not square > 0.0:
            return 0.0
        if _has_room(soft, i, time):
            continue
        time = collision_free_time(
            stencil_of(soft, i),
            soft.now,
            soft.move,
            engine.shapes,
            soft.radius[i],
            square,
            time,
            engine.work,
        )
    return time


@compiled
def contact_energy(engine: Table, soft: Table, x: np.ndarray, at_trial: int) -> float:
    """Barriers at the iterate or the trial state ``x`` [J]; infinite where surfaces touch."""
    total = 0.0
    last = soft.kind.size
    if at_trial == 1:
        _find_moves(soft, x)
    for i in range(soft.count):
        activation = soft.pair_activation[soft.pair[i]]
        square = soft.square[i]
        if at_trial == 1:
            if math.sqrt(max(square, 0.0)) - _approach(soft, i) >= activation:
                continue
            square = separation(
                stencil_of(soft, i),
                x,
                engine.shapes,
                soft.radius[i],
                soft.coefficient[last],
                soft.arm[last],
            )
        if square >= activation * activation:
            continue
        value = soft.weight[i] * barrier(square, activation)
        if soft.kind[i] == EDGE_EDGE and value < math.inf:
            value *= mollifier(stencil_of(soft, i), x, soft.threshold[i], soft.slope)
        total += value
    return total * engine.options.barrier_stiffness


@compiled
def contact_force(engine: Table, soft: Table, i: int) -> float:
    """Normal force of a candidate measured at the iterate [N]."""
    activation = soft.pair_activation[soft.pair[i]]
    square = soft.square[i]
    if square >= activation * activation or square <= 0.0:
        return 0.0
    slope, _ = barrier_slopes(square, activation)
    force = -engine.options.barrier_stiffness * soft.weight[i] * slope
    if soft.kind[i] == EDGE_EDGE:
        force *= mollifier(stencil_of(soft, i), soft.now, soft.threshold[i], soft.slope)
    return force


@inlined
def _pushes(soft: Table, i: int) -> bool:
    """Whether a candidate's barrier is met at the iterate, or expected to be."""
    activation = soft.pair_activation[soft.pair[i]]
    return bool(soft.square[i] < activation * activation or soft.final[i] < 1.0)


@compiled
def _tangent(engine: Table, soft: Table, i: int) -> tuple[float, float, float]:
    """Slope and curvature of the barrier of a candidate that pushes, and its force in the end.

    The slope is that at the iterate. What contacts resist across their normals goes by the force
    that is expected: the one at hand may be many times it, or nothing yet.
    """
    activation = soft.pair_activation[soft.pair[i]]
    h = engine.time.step
    s = engine.options.barrier_stiffness * h * h * soft.weight[i]
    if soft.kind[i] == EDGE_EDGE:
        s *= mollifier(stencil_of(soft, i), soft.now, soft.threshold[i], soft.slope)
    slope, curvature = barrier_secant(soft.square[i], activation, soft.final[i])
    end, _ = barrier_slopes(soft.final[i] * soft.final[i], 1.0)
    return s * slope, s * curvature, -s * end


@compiled
def _add_to_link(engine: Table, soft: Table, v: int, scale: float, slope: np.ndarray) -> None:
    """Add to the gradient of a vertex's link."""
    gradient = engine.newton.link_gradient
    link = soft.vertex_link[v]
    if link >= gradient.shape[0]:
        return
    for j in range(4):
        for k in range(3):
            gradient[link, j, k] += scale * slope[k] * soft.vertex_rest[v, j]


@compiled
def _add_mollified(engine: Table, soft: Table, i: int) -> None:
    """Add the part of the gradient that the mollifier's change gives."""
    activation = soft.pair_activation[soft.pair[i]]
    if soft.kind[i] != EDGE_EDGE or soft.square[i] >= activation * activation:
        return
    factor = mollifier(stencil_of(soft, i), soft.now, soft.threshold[i], soft.slope)
    if factor == 1.0:
        return
    h = engine.time.step
    value = engine.options.barrier_stiffness * h * h * soft.weight[i]
    value *= barrier(soft.square[i], activation)
    for corner in range(4):
        v = soft.vertex[i, corner]
        sign = -value if corner % 2 == 0 else value
        if soft.node_first[v] == soft.node_first[v + 1]:
            _add_to_link(engine, soft, v, sign, soft.slope[corner // 2])
        for n in range(soft.node_first[v], soft.node_first[v + 1]):
            weight = sign * soft.node_weight[n]
            _add_to_link(engine, soft, soft.node[n], weight, soft.slope[corner // 2])


@compiled
def _fill_hessian(
    engine: Table, soft: Table, i: int, curvature: float, push: float, h: np.ndarray
) -> None:
    """Fill the Hessian in the vector between the closest points, by its upper triangle."""
    across = turning_slope(engine, soft, i, push)
    fill_square((curvature - across) / soft.square[i], soft.arm[i], h)
    h[0] += across
    h[3] += across
    h[5] += across


@compiled
def add_contact_gradients(engine: Table, soft: Table) -> None:
    """Add gradients of links, and blocks of rigid links with themselves."""
    whole = engine.newton.only_slopes == 0
    h = soft.upper
    spare = soft.kind.size
    for i in range(soft.count):
        if not _pushes(soft, i):
            continue
        slope, curvature, push = _tangent(engine, soft, i)
        _add_mollified(engine, soft, i)
        fill_sites(engine, soft, i, spare)
        scale = slope / math.sqrt(soft.square[i])
        arm = soft.arm[i]
        add_site_gradients(engine, soft, spare, scale * arm[0], scale * arm[1], scale * arm[2])
        if whole:
            _fill_hessian(engine, soft, i, curvature, push, h)
            add_site_sums(engine, soft, spare, h)


@compiled
def add_contact_blocks(engine: Table, soft: Table) -> None:
    """Add blocks of vertices with each other and with rigid links."""
    h = soft.upper
    spare = soft.kind.size
    for i in range(soft.count):
        if not _pushes(soft, i):
            continue
        _, curvature, push = _tangent(engine, soft, i)
        fill_sites(engine, soft, i, spare)
        _fill_hessian(engine, soft, i, curvature, push, h)
        add_site_blocks(engine, soft, spare, h)
        if push > 0.0 and tilts(soft, i):
            add_tilting(engine, soft, i, push)


@compiled
def _move_along(soft: Table, i: int) -> float:
    """How much farther apart a candidate is at the end of vertices' moves, times its distance."""
    move = 0.0
    for corner in range(4):
        c = soft.coefficient[i, corner]
        v = soft.vertex[i, corner] if c != 0.0 else 0
        for k in range(3):
            move += c * soft.move[v, k] * soft.arm[i, k]
    return move


@compiled
def _first_ratio(engine: Table, soft: Table, i: int, depth: float) -> float:
    """D/d̂ at which a barrier stops what a direction leads into it, by a share of d̂."""
    spare = soft.kind.size
    light = 0.0
    for site in range(fill_sites(engine, soft, i, spare)):
        mass = engine.links.mass[soft.site_link[spare, site], 0, 0]
        if mass > 0.0:
            light += soft.site_weight[spare, site, 0] ** 2 / mass
    if depth <= 0.0 or light == 0.0:
        return 1.0
    h = engine.time.step
    most = light * engine.options.barrier_stiffness * h * h * soft.weight[i]
    return float(ratio_of_force(_FIRM * depth * soft.pair_activation[soft.pair[i]] / most))


@compiled
def follow_contacts(engine: Table, soft: Table) -> bool:
    """Expect what the direction has counted with; True if the trial state bears other forces.

    Candidates must be measured at the iterate. To the trial state leads ``taken_share`` of the
    direction.
    """
    _find_moves(soft, soft.trial)
    share = engine.newton.taken_share
    unlike = False
    for i in range(soft.count):
        activation = soft.pair_activation[soft.pair[i]]
        distance = math.sqrt(soft.square[i])
        final = soft.final[i]
        if final == 1.0 and distance - _approach(soft, i) / share >= activation:
            continue
        distance = math.sqrt(exact_square(engine, soft, i))
        ratio = distance / activation
        move = _move_along(soft, i) / (distance * activation)
        trial = min(max(ratio + move, 0.1 * ratio), 1.0)
        after = ratio + move / share
        # The direction says nothing of the force of a contact that it did not know.
        soft.final[i] = (
            _first_ratio(engine, soft, i, 1.0 - after)
            if ratio >= 1.0 and final == 1.0
            else expected_ratio(final, ratio, after)
        )
        unlike = unlike or differs(soft.final[i], trial)
    return unlike
