"""Lists of candidates along the links' paths, when they are made and how long the paths are."""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status
from asperity.midas.engine_layout import CANDIDATES_FULL, CUT, MIDAS, STARTED
from asperity.midas.lists.candidate_runs import measure_candidates
from asperity.midas.lists.candidates import find_candidates
from asperity.midas.lists.link_pair_times import keep_link_pairs
from asperity.midas.lists.shared_lists import keep_candidates
from asperity.midas.lists.vertex_boxes import SOME_LISTED, measure_paths
from asperity.midas.lists.vertex_parts import listed_parts
from asperity.midas.model.coupled_links import couple_links
from asperity.midas.newton.trial import try_share
from asperity.midas.parts import do_parts
from asperity.midas.pose.link_kinematics import copy_poses

__all__ = ["rebuild", "shorten_boxes", "widen_boxes"]

# Boxes of paths longer than so many activation distances hold more candidates than they save
# rebuilds; small activation distances count as this one [m].
_FIRST, _LONGEST = 8.0, 64.0
_REACH = 5e-4
# Candidates that a list may have before paths are cut to shorten it.
_MANY = 1 << 14


@entry_point(types.int64(MIDAS.type, types.int64))
def rebuild(engine: Table, reason: int) -> int:
    """List candidates along the links' paths anew, with the Hessian's blocks; returns a code.

    At a step's beginning (`STARTED`) paths lead to where inertia does, or to a prediction
    (`PREDICTED`), which is the trial state. Later (`CUT`) they lead to the trial state as well, and
    Hessian blocks in use stay in use: friction's outlive a list.
    """
    boxes = engine.boxes
    poses = engine.poses
    copy_poses(poses.q if reason == STARTED else poses.q_now, boxes.path_begin)
    if reason == STARTED:
        copy_poses(poses.q_target, poses.q_trial)
    copy_poses(poses.q_trial, boxes.path_end)
    some_keep = boxes.listed == SOME_LISTED and keep_link_pairs(engine)
    kept = keep_candidates(engine) if some_keep else 0
    while True:
        measure_paths(engine, some_keep)
        code = find_candidates(engine, kept, reason == CUT)
        # Shorter paths before longer lists, as long as it is the paths that make them long.
        if not (
            code == CANDIDATES_FULL
            and engine.candidates.kind.size >= _MANY
            and boxes.longest_move > engine.options.activation
        ):
            break
        most = _LONGEST * max(engine.options.activation, _REACH)
        boxes.longest_move = min(0.25 * boxes.longest_move, most)
        boxes.widening *= 0.5
    do_parts(engine, engine.entries.place_start_vertices, listed_parts(engine.vertices))
    if engine.relative.any == 1:
        measure_candidates(engine)
    if code == 0:
        code = couple_links(engine)
    if code != 0:
        boxes.listed = 0
    engine.counts.rebuilds += 1
    return code


@compiled
def widen_boxes(engine: Table) -> int:
    """List candidates in larger boxes, for paths that theirs have cut; returns a code."""
    most = _LONGEST * max(engine.options.activation, _REACH)
    engine.boxes.longest_move = min(2.0 * engine.boxes.longest_move, most)
    # The next direction will be another one.
    engine.boxes.widening = 0.3
    # Boxes along the last direction, whose end is not reached yet.
    try_share(engine, 1.0)
    return call_pp_status(engine.entries.rebuild, engine, CUT)


@compiled
def shorten_boxes(options: Table, boxes: Table) -> None:
    """Let boxes be short again, as they are at the beginning of a minimization."""
    boxes.longest_move = _FIRST * max(options.activation, _REACH)
