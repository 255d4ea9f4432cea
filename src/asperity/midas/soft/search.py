"""The broad phase of deformable bodies: which stencils may touch along the paths of vertices.

Every vertex gets a box that holds where it is, where it is expected, and some slack. While all
vertices stay in theirs, no pair of primitives comes within its activation distance but those that
are listed. Primitives of one flex have boxes beside its mean motion as well: a cloth that falls is
not near to itself for that. Boxes are sorted along one axis and swept (D. Baraff, Dynamic
simulation of non-penetrating rigid bodies, 1992, section 5.1); order is kept from list to list.
They are swept strip by strip of a second axis, without those that are apart from all that their
group may touch. Of what then remains, pairs are listed that can touch without leaving their boxes.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled, inlined
from asperity.midas.geometry.box_trees import apart
from asperity.midas.geometry.distances import separation
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_FACE, VERTEX_PLANE, Stencil
from asperity.midas.soft.soft_layout import SOFT_FULL

__all__ = ["approach", "are_in_boxes", "list_stencils"]

# Slack of boxes: in activation distances, and as a share of the longest path. With less, lists are
# renewed more often, which also forgets the forces that contacts are expected to bear.
_SLACK = 2.0
_SHARE = 0.1
# By how much wider another axis must be to become that of the sweep.
_WIDER = 2.0


@inlined
def approach(kind: int, v: np.ndarray, d: np.ndarray) -> float:
    """By how much vertices that move so far may bring the sides of a stencil nearer together."""
    if kind == VERTEX_PLANE:
        return float(d[v[0]])
    if kind == EDGE_EDGE:
        return float(max(d[v[0]], d[v[1]]) + max(d[v[2]], d[v[3]]))
    return float(d[v[0]] + max(d[v[1]], d[v[2]], d[v[3]]))


@compiled
def _mean(soft: Table, flex: int, x: np.ndarray, out: np.ndarray) -> None:
    first = soft.flex_first[flex]
    end = soft.flex_first[flex + 1]
    for k in range(3):
        total = 0.0
        for v in range(first, end):
            total += x[v, k]
        out[k] = total / (end - first)


@compiled
def are_in_boxes(soft: Table, x: np.ndarray) -> bool:
    """Whether the list holds at positions ``x``."""
    if soft.listed == 0:
        return False
    for v in range(x.shape[0]):
        for k in range(3):
            if not soft.box[v, 0, k] <= x[v, k] <= soft.box[v, 1, k]:
                return False
    mean = soft.slope[0]
    for flex in range(soft.flex_first.size - 1):
        _mean(soft, flex, x, mean)
        for v in range(soft.flex_first[flex], soft.flex_first[flex + 1]):
            for k in range(3):
                at = x[v, k] - mean[k]
                if not soft.own_box[v, 0, k] <= at <= soft.own_box[v, 1, k]:
                    return False
    return True


@inlined
def _hold_path(box: np.ndarray, k: int, one: float, other: float, slack: float) -> float:
    """Let a box hold two coordinates; returns the square of how far the first one may get."""
    box[0, k] = min(one, other) - slack
    box[1, k] = max(one, other) + slack
    return float((abs(other - one) + slack) ** 2)


@compiled
def _fill_boxes(soft: Table, one: np.ndarray, other: np.ndarray) -> None:
    longest = 0.0
    for v in range(one.shape[0]):
        for k in range(3):
            longest = max(longest, abs(other[v, k] - one[v, k]))
    slack = _SLACK * soft.activation + _SHARE * longest
    for v in range(one.shape[0]):
        square = 0.0
        for k in range(3):
            square += _hold_path(soft.box[v], k, one[v, k], other[v, k], slack)
        soft.reach[0, v] = math.sqrt(square)
    for flex in range(soft.flex_first.size - 1):
        mean = soft.own_mean[flex]
        _mean(soft, flex, one, mean[0])
        _mean(soft, flex, other, mean[1])
        for v in range(soft.flex_first[flex], soft.flex_first[flex + 1]):
            square = 0.0
            for k in range(3):
                a = one[v, k] - mean[0, k]
                square += _hold_path(soft.own_box[v], k, a, other[v, k] - mean[1, k], slack)
            soft.reach[1, v] = math.sqrt(square)


@compiled
def _hold(soft: Table, boxes: np.ndarray, primitive: np.ndarray, out: np.ndarray) -> None:
    """Fill the box of a primitive, with its radius and half of the activation distance."""
    margin = soft.vertex_radius[primitive[0]] + 0.5 * soft.activation
    for k in range(3):
        low = boxes[primitive[0], 0, k]
        high = boxes[primitive[0], 1, k]
        for corner in range(1, primitive.size):
            low = min(low, boxes[primitive[corner], 0, k])
            high = max(high, boxes[primitive[corner], 1, k])
        out[0, k] = low - margin
        out[1, k] = high + margin


@compiled
def _sort(box: np.ndarray, axis: int, order: np.ndarray) -> None:
    for a in range(1, order.size):
        item = order[a]
        low = box[item, 0, axis]
        b = a
        while b > 0 and box[order[b - 1], 0, axis] > low:
            order[b] = order[b - 1]
            b -= 1
        order[b] = item


@compiled
def _spread(soft: Table, axis: int) -> tuple[float, float]:
    """From where to where particles are spread along an axis."""
    low = soft.box[0, 0, axis]
    high = low
    for v in range(soft.particles):
        low = min(low, soft.box[v, 0, axis])
        high = max(high, soft.box[v, 0, axis])
    return low, high


@compiled
def _widest(soft: Table, but: int) -> int:
    """The axis along which particles are spread most, but for one."""
    best = -1
    widest = -1.0
    for k in range(3):
        low, high = _spread(soft, k)
        if k != but and not high - low <= widest:
            widest = high - low
            best = k
    return best


@compiled
def _sweep_axis(soft: Table) -> int:
    """The axis of the sweep: another one than before only if particles are spread far more there.

    Order along it is kept, and sorting anew costs more than it saves.
    """
    low, high = _spread(soft, soft.sweep_axis)
    axis = _widest(soft, -1)
    first, last = _spread(soft, axis)
    if last - first > _WIDER * (high - low):
        soft.sweep_axis = axis
    return soft.sweep_axis


@compiled
def _bound_groups(soft: Table) -> None:
    """Fill the boxes of groups."""
    for group in range(soft.group_box.shape[0]):
        for k in range(3):
            soft.group_box[group, 0, k] = math.inf
            soft.group_box[group, 1, k] = -math.inf
    for v in range(soft.vertex_group.size):
        own = soft.group_box[soft.vertex_group[v]]
        margin = soft.vertex_radius[v] + 0.5 * soft.activation
        for k in range(3):
            own[0, k] = min(own[0, k], soft.box[v, 0, k] - margin)
            own[1, k] = max(own[1, k], soft.box[v, 1, k] + margin)


@compiled
def _may_touch(soft: Table, group: int, box: np.ndarray) -> bool:
    """Whether the box of a primitive of a group meets any that it may touch."""
    for other in range(soft.group_box.shape[0]):
        if soft.group_pair[group, other] >= 0 and not apart(box, soft.group_box[other], 0.0):
            return True
    return False


@compiled
def _strip(at: float, low: float, width: float, strips: int) -> int:
    """The number of the strip that a coordinate is in, of those at the border beyond it."""
    place = (at - low) / width
    # Written so that NaN is in the first one.
    if not place > 0.0:
        return 0
    return int(place) if place < strips - 1.0 else strips - 1


@compiled
def _fill_strips(soft: Table, box: np.ndarray, order: np.ndarray, axis: int) -> int:
    """Deal out boxes, in their order, to the strips that they meet; returns how many there are.

    Boxes that touch nothing have −1 for their first strip.
    """
    low, high = _spread(soft, axis)
    kept = 0
    extent = 0.0
    for i in range(order.size):
        if soft.strip[i, 0] >= 0:
            kept += 1
            extent += box[i, 1, axis] - box[i, 0, axis]
    if kept == 0:
        return 0
    start = soft.strip_start
    # Boxes as wide as the mean are in two strips.
    strips = _strip((high - low) * kept, 0.0, extent, start.size - 1) + 1
    while True:
        width = max((high - low) / strips, 1e-300)
        for s in range(strips + 1):
            start[s] = 0
        for i in range(order.size):
            if soft.strip[i, 0] < 0:
                continue
            soft.strip[i, 0] = _strip(box[i, 0, axis], low, width, strips)
            soft.strip[i, 1] = _strip(box[i, 1, axis], low, width, strips)
            for s in range(soft.strip[i, 0], soft.strip[i, 1] + 1):
                start[s] += 1
        total = 0
        for s in range(strips + 1):
            count = start[s]
            start[s] = total
            total += count
        if total <= soft.strip_item.size:
            break
        strips //= 2
    for i in order:
        if soft.strip[i, 0] >= 0:
            for s in range(soft.strip[i, 0], soft.strip[i, 1] + 1):
                soft.strip_item[start[s]] = i
                start[s] += 1
    for back in range(strips):
        start[strips - back] = start[strips - back - 1]
    start[0] = 0
    return strips


@compiled
def _apart_in_flex(soft: Table, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two primitives of a flex are apart beside its mean motion."""
    a = soft.small[0]
    b = soft.small[1]
    _hold(soft, soft.own_box, one, a)
    _hold(soft, soft.own_box, other, b)
    return apart(a, b, 0.0)


@compiled
def _append(
    soft: Table,
    shapes: Table,
    stencil: Stencil,
    pair: int,
    weight: float,
    threshold: float,
) -> bool:
    """Measure a stencil, and list it unless it is too far apart; False without room."""
    i = soft.count
    if i >= soft.kind.size:
        return False
    kind, i0, i1, i2, i3 = stencil
    vertex = soft.vertex[i]
    vertex[0] = i0
    vertex[1] = i1
    vertex[2] = i2
    vertex[3] = i3
    radius = soft.vertex_radius[i0]
    own = 0
    if kind != VERTEX_PLANE:
        radius += soft.vertex_radius[i2]
        own = 1 if soft.vertex_group[i0] == soft.vertex_group[i3] else 0
    square = separation(stencil, soft.now, shapes, radius, soft.coefficient[i], soft.arm[i])
    distance = math.sqrt(max(square, 0.0))
    if distance - approach(kind, vertex, soft.reach[own]) >= soft.activation:
        return True
    soft.square[i] = square
    soft.bound[i] = distance
    soft.asleep[i] = 0
    soft.kind[i] = kind
    soft.pair[i] = pair
    soft.radius[i] = radius
    soft.weight[i] = weight
    soft.threshold[i] = threshold
    soft.laid[i] = 0
    soft.count = i + 1
    return True


@compiled
def _pair_of(soft: Table, one: int, other: int) -> int:
    return soft.group_pair[soft.vertex_group[one], soft.vertex_group[other]]


@compiled
def _list_faces(soft: Table, shapes: Table, axis: int, strip: int, begin: int, end: int) -> bool:
    """List vertices and faces of a strip that may touch; False without room."""
    points = soft.point.size
    box = soft.item_box
    item = soft.strip_item
    for a in range(begin, end):
        i = item[a]
        high = box[i, 1, axis]
        for b in range(a + 1, end):
            j = item[b]
            if box[j, 0, axis] > high:
                break
            if (i < points) == (j < points) or max(soft.strip[i, 0], soft.strip[j, 0]) != strip:
                continue
            at = soft.point[min(i, j)]
            face = soft.face[max(i, j) - points]
            pair = _pair_of(soft, at, face[0])
            if pair < 0 or apart(box[i], box[j], 0.0):
                continue
            if at == face[0] or at == face[1] or at == face[2]:
                continue
            if soft.vertex_group[at] == soft.vertex_group[face[0]] and _apart_in_flex(
                soft, soft.point[min(i, j) : min(i, j) + 1], face
            ):
                continue
            weight = 0.25 * soft.vertex_area[at]
            stencil = Stencil(VERTEX_FACE, at, face[0], face[1], face[2])
            if not _append(soft, shapes, stencil, pair, weight, 0.0):
                return False
    return True


@compiled
def _list_edges(soft: Table, shapes: Table, axis: int, strip: int, begin: int, end: int) -> bool:
    """List pairs of edges of a strip that may touch; False without room."""
    box = soft.side_box
    item = soft.strip_item
    for a in range(begin, end):
        i = item[a]
        one = soft.edge[i]
        high = box[i, 1, axis]
        for b in range(a + 1, end):
            j = item[b]
            if box[j, 0, axis] > high:
                break
            if max(soft.strip[i, 0], soft.strip[j, 0]) != strip:
                continue
            other = soft.edge[j]
            pair = _pair_of(soft, one[0], other[0])
            if pair < 0 or apart(box[i], box[j], 0.0):
                continue
            if one[0] == other[0] or one[0] == other[1] or one[1] == other[0] or one[1] == other[1]:
                continue
            if soft.vertex_group[one[0]] == soft.vertex_group[other[0]] and _apart_in_flex(
                soft, one, other
            ):
                continue
            weight = 0.25 * (soft.edge_area[i] + soft.edge_area[j])
            stencil = Stencil(EDGE_EDGE, one[0], one[1], other[0], other[1])
            threshold = 1e-3 * soft.edge_square[i] * soft.edge_square[j]
            if not _append(soft, shapes, stencil, pair, weight, threshold):
                return False
    return True


@compiled
def _list_planes(soft: Table, shapes: Table) -> bool:
    """List vertices and half-spaces that may touch; False without room."""
    planes = shapes.plane
    for i in range(soft.point.size):
        v = soft.point[i]
        if v >= soft.particles:
            continue
        # Half-spaces below faces of bodies follow those of the model.
        for p in range(soft.plane_pair.shape[1]):
            pair = soft.plane_pair[soft.vertex_group[v], p]
            if pair < 0:
                continue
            height = -planes[p, 3] - soft.vertex_radius[v]
            for k in range(3):
                n = planes[p, k]
                height += n * (soft.box[v, 0, k] if n > 0.0 else soft.box[v, 1, k])
            stencil = Stencil(VERTEX_PLANE, v, v, v, p)
            if height < soft.activation and not _append(
                soft, shapes, stencil, pair, soft.vertex_area[v], 0.0
            ):
                return False
    return True


@compiled
def list_stencils(soft: Table, shapes: Table, ahead: np.ndarray) -> int:
    """List and measure what may touch while vertices go from where they are; returns a code."""
    _fill_boxes(soft, soft.now, ahead)
    soft.count = 0
    soft.listed = 0
    _bound_groups(soft)
    axis = _sweep_axis(soft)
    across = _widest(soft, axis)
    start = soft.strip_start
    points = soft.point.size
    for i in range(soft.item_order.size):
        own = soft.point[i : i + 1] if i < points else soft.face[i - points]
        _hold(soft, soft.box, own, soft.item_box[i])
        touches = _may_touch(soft, soft.vertex_group[own[0]], soft.item_box[i])
        soft.strip[i, 0] = 0 if touches else -1
    _sort(soft.item_box, axis, soft.item_order)
    room = True
    for s in range(_fill_strips(soft, soft.item_box, soft.item_order, across)):
        room = room and _list_faces(soft, shapes, axis, s, start[s], start[s + 1])
    for i in range(soft.side_order.size):
        _hold(soft, soft.box, soft.edge[i], soft.side_box[i])
        touches = _may_touch(soft, soft.vertex_group[soft.edge[i, 0]], soft.side_box[i])
        soft.strip[i, 0] = 0 if touches else -1
    _sort(soft.side_box, axis, soft.side_order)
    for s in range(_fill_strips(soft, soft.side_box, soft.side_order, across)):
        room = room and _list_edges(soft, shapes, axis, s, start[s], start[s + 1])
    if not (room and _list_planes(soft, shapes)):
        soft.count = 0
        return SOFT_FULL
    soft.listed = 1
    return 0
