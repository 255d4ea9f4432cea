"""Boxes that vertices stay in while a list of candidates holds.

Links move along affine paths, from ``path_begin`` to ``path_end``, of which a list counts with a
share, ``link_path``. Every vertex has a box about its own path. Boxes are made of vertices that are
asked for; whether all vertices stay in theirs is asked of the boxes of a shape's tree first, which
answer for all that they hold, and of single vertices only where those cannot say.
"""

from __future__ import annotations

import math

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.atomics import atomic_load, atomic_store
from asperity.midas.geometry.box_trees import KINDS, leaf_begin
from asperity.midas.lists.candidate_runs import SLACK
from asperity.midas.lists.link_pair_paths import measure_link_pairs
from asperity.midas.lists.link_pair_times import time_of_link_pairs
from asperity.midas.pose.link_kinematics import copy_poses
from asperity.midas.pose.link_pair_poses import box_on_path, half_extent, longest_path

__all__ = [
    "SOME_LISTED",
    "are_kept",
    "box_vertex",
    "holds_present",
    "measure_paths",
    "time_in_boxes",
    "vertex_slack",
]

# Length of paths, slack included, up to which a list serves later steps, in activation distances.
_KEPT = 1.0
# What of a list may serve later steps: nothing (0), all of it, or links that keep their paths.
ALL_LISTED = 1
SOME_LISTED = 2
_LARGEST = 1.7976931348623157e308


@compiled
def _fill_paths(engine: Table) -> None:
    """Fill the links' whole paths, and bounds of their lengths by the corners of shapes' boxes."""
    boxes = engine.boxes
    world = engine.links.parent.size
    for link in range(world):
        boxes.path_length[link] = 0.0
        for i in range(4):
            for k in range(3):
                boxes.link_path[link, i, k] = (
                    boxes.path_end[link, i, k] - boxes.path_begin[link, i, k]
                )
    for shape in range(engine.shapes.radius.size):
        link = engine.shapes.vertex_link[engine.shapes.vertex_start[shape]]
        if link == world:
            break
        box = engine.box_trees.box[engine.box_trees.node[KINDS * shape] + 1]
        boxes.path_length[link] = max(
            boxes.path_length[link], longest_path(boxes.link_path[link], box)
        )


@compiled
def measure_paths(engine: Table, some_keep: bool) -> None:
    """Choose boxes for the links' paths, of each no more than the longest.

    ``some_keep`` says that some pairs of links keep their paths and candidates.
    """
    boxes = engine.boxes
    least = SLACK * engine.options.activation
    boxes.least_slack = least
    boxes.boxed_widening = boxes.widening
    _fill_paths(engine)
    measure_link_pairs(engine, some_keep)
    longest = 0.0
    for link in range(engine.links.parent.size):
        length = boxes.path_length[link]
        if length > boxes.longest_move:
            share = boxes.longest_move / length
            length = boxes.longest_move
            for i in range(4):
                for k in range(3):
                    boxes.link_path[link, i, k] *= share
        longest = max(longest, length + least + boxes.widening * length)
    # Larger boxes would go on holding candidates that are none any more.
    kept = longest <= _KEPT * engine.options.activation and engine.relative.any == 0
    boxes.listed = ALL_LISTED if kept else SOME_LISTED


@compiled
def _make_box(shapes: Table, boxes: Table, vertex: int) -> None:
    """Make the box of a vertex that moves."""
    link = shapes.vertex_link[vertex]
    begin = boxes.path_begin[link]
    whole = boxes.link_path[link]
    rest = shapes.vertex_rest[vertex]
    start = boxes.start[vertex]
    path = boxes.path[vertex]
    square = 0.0
    for k in range(3):
        start[k] = (
            begin[0, k] + rest[1] * begin[1, k] + rest[2] * begin[2, k] + rest[3] * begin[3, k]
        )
        path[k] = (
            whole[0, k] + rest[1] * whole[1, k] + rest[2] * whole[2, k] + rest[3] * whole[3, k]
        )
        square += path[k] * path[k]
    length = math.sqrt(square)
    slack = boxes.least_slack + boxes.boxed_widening * length
    for k in range(3):
        boxes.low[vertex, k] = start[k] + min(path[k], 0.0) - slack
        boxes.high[vertex, k] = start[k] + max(path[k], 0.0) + slack
    boxes.reach[vertex] = length + 1.7320508075688772 * slack


@compiled
def box_vertex(shapes: Table, boxes: Table, vertex: int) -> None:
    """Make the box of a vertex, unless it has one or does not move."""
    stamp = boxes.stamp.ctypes.data + 8 * vertex
    if atomic_load(stamp) != boxes.list_number and vertex < shapes.moving_vertices:
        _make_box(shapes, boxes, vertex)
        # After the box: two threads may make it at once, with the same numbers.
        atomic_store(stamp, boxes.list_number)


@compiled
def vertex_slack(shapes: Table, boxes: Table, vertex: int) -> float:
    """Half the width [m] of a vertex's box about its path; zero of one that does not move."""
    if vertex >= shapes.moving_vertices:
        return 0.0
    box_vertex(shapes, boxes, vertex)
    square = 0.0
    for k in range(3):
        square += boxes.path[vertex, k] ** 2
    return boxes.least_slack + boxes.boxed_widening * math.sqrt(square)


@compiled
def _set_deviation(
    boxes: Table, link: int, q: np.ndarray, ahead: np.ndarray, time: float, out: np.ndarray
) -> None:
    """Fill how far a link is from where its path begins, a part of the way from ``q``."""
    for i in range(4):
        for k in range(3):
            here = q[link, i, k]
            out[i, k] = here + time * (ahead[link, i, k] - here) - boxes.path_begin[link, i, k]


@compiled
def _is_inside(
    boxes: Table, box_trees: Table, link: int, at: int, deviation: np.ndarray, less: float
) -> bool:
    """Whether all vertices of a node of a link stay in their boxes for sure.

    With ``less`` in boxes whose slack is smaller by so much.
    """
    box = box_trees.box[at]
    whole = boxes.link_path[link]
    farthest = 0.0
    known = 0.0
    square = 0.0
    for k in range(3):
        gone, gone_half, path, path_half = box_on_path(deviation, whole, box, k)
        short_half = 0.0
        for j in range(3):
            short_half += half_extent(box, j) * abs(deviation[1 + j, k] - whole[1 + j, k])
        over = min(gone + gone_half, gone - path + short_half)
        under = min(-gone + gone_half, path - gone + short_half)
        farthest = max(farthest, over, under)
        known += gone + gone_half
        square += max(abs(path) - path_half, 0.0) ** 2
    # Minima and maxima may lose NaN.
    if not abs(known) <= _LARGEST:
        return False
    return farthest <= boxes.least_slack + boxes.boxed_widening * math.sqrt(square) - less


@compiled
def _time_of_vertex(
    shapes: Table,
    boxes: Table,
    vertex: int,
    q: np.ndarray,
    ahead: np.ndarray,
    time: float,
    less: float,
) -> float:
    """Largest time τ ≤ ``time`` for which a vertex on its way stays in its box."""
    box_vertex(shapes, boxes, vertex)
    link = shapes.vertex_link[vertex]
    rest = shapes.vertex_rest[vertex]
    for k in range(3):
        x = q[link, 0, k]
        p = ahead[link, 0, k]
        for j in range(1, 4):
            x += rest[j] * q[link, j, k]
            p += rest[j] * ahead[link, j, k]
        p -= x
        low = boxes.low[vertex, k] + less
        high = boxes.high[vertex, k] - less
        end = x + time * p
        if end > high:
            time = max((high - x) / p, 0.0) if x < high else 0.0
        elif end < low:
            time = max((low - x) / p, 0.0) if x > low else 0.0
        elif not low <= end <= high:
            time = 0.0  # NaN is nowhere
    return time


@compiled
def _time_in_boxes(engine: Table, q: np.ndarray, ahead: np.ndarray, less: float) -> float:
    """Largest time τ ≤ 1 for which all vertices stay in their boxes."""
    world = engine.links.parent.size
    stack = engine.work.node_stack[:, 0]
    deviation = engine.work.deviation
    time = 1.0
    for shape in range(engine.shapes.radius.size):
        link = engine.shapes.vertex_link[engine.shapes.vertex_start[shape]]
        if link == world:
            break
        if engine.boxes.shape_boxed[shape] == 0:
            continue
        tree = KINDS * shape
        leaf = 1 << engine.box_trees.depth[tree]
        _set_deviation(engine.boxes, link, q, ahead, time, deviation)
        stack[0] = 1
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = stack[waiting]
            at = engine.box_trees.node[tree] + node
            if _is_inside(engine.boxes, engine.box_trees, link, at, deviation, less):
                continue
            if node < leaf:
                stack[waiting] = 2 * node + 1
                stack[waiting + 1] = 2 * node
                waiting += 2
                continue
            before = time
            end = leaf_begin(engine.box_trees, tree, node + 1)
            for i in range(leaf_begin(engine.box_trees, tree, node), end):
                time = _time_of_vertex(
                    engine.shapes, engine.boxes, engine.box_trees.item[i], q, ahead, time, less
                )
            if time < before:
                _set_deviation(engine.boxes, link, q, ahead, time, deviation)
    return time


@compiled
def time_in_boxes(engine: Table) -> float:
    """Largest time τ ≤ 1 for which the way to the trial state is what candidates are listed for."""
    time = _time_in_boxes(engine, engine.poses.q_now, engine.poses.q_trial, 0.0)
    return min(time, time_of_link_pairs(engine)) if engine.relative.any == 1 else time


@compiled
def holds_present(engine: Table) -> bool:
    """Whether candidates are listed for the present state, which becomes the iterate."""
    copy_poses(engine.poses.q, engine.poses.q_now)
    copy_poses(engine.poses.q, engine.poses.q_trial)
    return engine.boxes.listed != 0 and time_in_boxes(engine) == 1.0


@compiled
def are_kept(engine: Table, q: np.ndarray, ahead: np.ndarray) -> bool:
    """Whether the way from links' coordinates to others leaves half of the slack: boxes hold."""
    if engine.boxes.listed != ALL_LISTED:
        return False
    less = 0.5 * engine.boxes.least_slack
    return (
        _time_in_boxes(engine, q, q, less) == 1.0 and _time_in_boxes(engine, q, ahead, less) == 1.0
    )
