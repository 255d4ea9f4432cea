"""Trial states along a direction, and how far it is safe to go.

A trial state is safe if no vertex leaves its box on the straight way there, every pair of surfaces
keeps a tenth of its distance all along, and no joint comes nearer to a limit than that.
"""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.energy.turn_terms import share_to_turn_limits
from asperity.midas.engine_layout import HINGE
from asperity.midas.geometry.collision_time import KEPT, collision_free_time
from asperity.midas.geometry.stencil import candidate_stencil
from asperity.midas.lists.candidate_runs import move_of_run, wake
from asperity.midas.lists.stencils import sum_of_radii
from asperity.midas.lists.vertex_boxes import time_in_boxes
from asperity.midas.lists.vertex_parts import listed_parts
from asperity.midas.newton.arcs import follow_arcs
from asperity.midas.parts import PART, RUNS, count_parts, do_parts, least
from asperity.midas.pose.joint_coordinates import joint_coordinates
from asperity.midas.pose.link_kinematics import bound_of_move, place_links
from asperity.midas.soft.calls import TIME, ask_soft

__all__ = [
    "STRAIGHT",
    "TRIAL_KERNELS",
    "is_free",
    "is_straight",
    "largest_move",
    "largest_turn_of_links",
    "limits_leave",
    "place_trial",
    "safe_share",
    "try_share",
    "turns_away",
]


STRAIGHT = 3e-3
"""Change of a link's axes over an iteration whose square, a strain, is less than forces make."""

_LARGEST = 1.7976931348623157e308
# A hinge may turn by so much in one iteration [rad], so that it cannot get past a limit's far side.
_LARGEST_TURN = 1.0
_ATTEMPTS = 60
# Share of a distance that may be gone.
_ROOM = 1.0 - KEPT
# A hinge that has turned by so much since the step's beginning [rad] is carried off by its torque.
_TURNED_AWAY = 3.0


@compiled
def try_share(engine: Table, share: float) -> None:
    """Place the trial state at z + share · direction, or where arcs lead if they are followed."""
    for i in range(engine.poses.z_now.size):
        engine.poses.z_trial[i] = engine.poses.z_now[i] + share * engine.newton.direction[i]
    place_links(engine.links, engine.poses.z_trial, engine.poses.q_trial)
    if engine.newton.on_arcs == 1:
        follow_arcs(engine)
    _measure_trial_state(engine)


@compiled
def place_trial(engine: Table) -> None:
    """Place links and vertices of the trial state by its variables."""
    place_links(engine.links, engine.poses.z_trial, engine.poses.q_trial)
    _measure_trial_state(engine)


@compiled
def _measure_trial_state(engine: Table) -> None:
    """Place vertices and coordinates of joints of the trial state by its links."""
    do_parts(engine, engine.entries.place_trial_vertices, listed_parts(engine.vertices))
    joint_coordinates(
        engine, engine.poses.q_trial, engine.poses.z_trial, engine.joints.now, engine.joints.trial
    )
    _bound_moves(engine)


@compiled
def _bound_moves(engine: Table) -> None:
    """Bound how far points of every link are from now to the trial state [m]."""
    for link in range(engine.links.radius.size):
        engine.runs.link_move[link] = bound_of_move(
            engine.poses.q_now[link], engine.poses.q_trial[link], engine.links.radius[link]
        )


@compiled
def largest_move(links: Table, poses: Table) -> float:
    """Bound of how far any point of a link is from now to the trial state [m]."""
    largest = 0.0
    for link in range(links.radius.size):
        size = 0.0
        for i in range(4):
            square = 0.0
            for k in range(3):
                square += (poses.q_trial[link, i, k] - poses.q_now[link, i, k]) ** 2
            size += (1.0 if i == 0 else links.radius[link]) * math.sqrt(square)
        # Written so that NaN, which later links are not to replace, is not lost.
        if not size <= _LARGEST:
            return size
        largest = max(largest, size)
    return largest


@compiled
def largest_turn_of_links(links: Table, poses: Table) -> float:
    """Largest change of an axis of a link from now to the trial state."""
    largest = 0.0
    for link in range(links.radius.size):
        for i in range(1, 4):
            square = 0.0
            for k in range(3):
                square += (poses.q_trial[link, i, k] - poses.q_now[link, i, k]) ** 2
            largest = max(largest, square)
    return math.sqrt(largest)


@compiled
def is_straight(options: Table, newton: Table) -> bool:
    """Whether trial states nearer than the present one are on the straight way to it."""
    return options.linear == 1 and newton.on_arcs == 0


@compiled
def limits_leave(engine: Table) -> bool:
    """Whether limits of joints leave the whole way to the trial state."""
    return (
        _time_to_limits(engine.joints) == 1.0
        and share_to_turn_limits(
            engine.links, engine.turns, engine.poses.q_now, engine.poses.q_trial
        )
        == 1.0
    )


@compiled
def _largest_turn(joints: Table) -> float:
    largest = 0.0
    for joint in range(joints.link.size):
        largest = max(largest, abs(joints.trial[joint] - joints.now[joint]))
    return largest


@compiled
def turns_away(links: Table, joints: Table) -> bool:
    """Whether a hinge has turned by nearly half a turn since the step's beginning.

    Inertia resists by no more than that of a link turned over, so that a torque τ > I/h² has no
    potential with a minimum: it winds its joint up without end. Shorter steps have one.
    """
    for joint in range(joints.link.size):
        if (
            abs(joints.now[joint] - joints.value[joint]) > _TURNED_AWAY
            and links.kind[joints.link[joint]] == HINGE
        ):
            return True
    return False


@compiled
def _time_to_limits(joints: Table) -> float:
    """Share of the trial step that keeps a tenth of the way to every joint limit."""
    now = joints.now
    time = 1.0
    for joint in range(now.size):
        move = joints.trial[joint] - now[joint]
        room = 0.9 * (joints.limit[joint, 1] - now[joint])
        if move > room:
            time = min(time, room / move)
        room = 0.9 * (joints.limit[joint, 0] - now[joint])
        if move < room:
            time = min(time, room / move)
    return time


@compiled
def _time_to_touch(engine: Table, run: int, time: float) -> float:
    """Share of the trial step, at most ``time``, that keeps a tenth of a run's distances."""
    pair = engine.candidates.pair[engine.runs.begin[run]]
    for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
        stencil = candidate_stencil(engine.candidates, i)
        time = collision_free_time(
            stencil,
            engine.vertices.now,
            engine.vertices.move,
            engine.shapes,
            sum_of_radii(engine.shapes, engine.pairs, pair, stencil),
            engine.runs.now_square[i],
            time,
            engine.work,
        )
    return time


@compiled
def _has_room(runs: Table, run: int, time: float) -> bool:
    """Whether nothing of a run can come too near until a time, as far as is known."""
    return move_of_run(runs, run) * time <= _ROOM * runs.least[run]


@compiled
def _time_of_run(engine: Table, run: int, time: float) -> float:
    """Time of impact of a run that may be asleep."""
    if engine.runs.known[run] == 0:
        wake(engine, run)
    return time if _has_room(engine.runs, run, time) else _time_to_touch(engine, run, time)


@entry_point(PART)
def touch_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Find how long some runs keep a tenth of their distances, if less than is known of others."""
    time = engine.newton.known_time
    for run in range(part * RUNS, min((part + 1) * RUNS, engine.runs.count)):
        if not _has_room(engine.runs, run, time):
            time = _time_of_run(engine, run, time)
    engine.parts.value[part] = time
    return 0


@compiled
def _time_to_collision(engine: Table, time: float) -> float:
    """Share of the trial step, at most ``time``, that keeps a tenth of every distance.

    The run that moves farthest beside its distance comes first: the others then have little to do.
    """
    first = -1
    largest = 0.0
    for run in range(engine.runs.count):
        if not _has_room(engine.runs, run, time):
            ratio = move_of_run(engine.runs, run) / engine.runs.least[run]
            # Written so that NaN, of a distance that is 0, is not lost.
            if first < 0 or not ratio <= largest:
                largest = ratio
                first = run
    if first < 0:
        return time
    engine.newton.known_time = _time_of_run(engine, first, time)
    parts = count_parts(engine.runs.count, RUNS)
    do_parts(engine, engine.entries.touch_part, parts)
    return least(engine, parts, engine.newton.known_time)


@compiled
def _time_of_soft(engine: Table, time: float) -> float:
    """Share of the trial step, at most ``time``, that keeps deformable bodies' distances."""
    engine.soft.time = time
    ask_soft(engine, TIME)
    return engine.soft.time


@compiled
def safe_share(engine: Table) -> tuple[float, bool]:
    """Bring the trial state to the largest safe share of the direction.

    Returns the share, and whether the vertices' boxes cut it. Where joints make the links'
    coordinates a non-linear function of the variables, the straight way to the end of a shorter
    step is another one, and is looked at again.
    """
    linear = is_straight(engine.options, engine.newton)
    share = 1.0
    cut = False
    for attempt in range(_ATTEMPTS):
        time = _time_to_limits(engine.joints)
        time = min(
            time,
            share_to_turn_limits(
                engine.links, engine.turns, engine.poses.q_now, engine.poses.q_trial
            ),
        )
        turn = _largest_turn(engine.joints)
        if turn * time > _LARGEST_TURN:
            time = _LARGEST_TURN / turn
        boxed = time_in_boxes(engine)
        cut = cut or boxed < time
        time = _time_to_collision(engine, min(time, boxed))
        time = _time_of_soft(engine, time)
        if time == 1.0:
            return share, cut
        # Where paths bend, an end on a bound may be a little beyond it when looked at again.
        share *= time if attempt == 0 else 0.9 * time
        if not share > 0.0:
            return 0.0, cut
        try_share(engine, share)
        if linear:
            return share, cut
    return 0.0, cut


@compiled
def is_free(engine: Table) -> bool:
    """Whether the straight paths to the trial state stay in the boxes and free of collisions."""
    return (
        time_in_boxes(engine) == 1.0
        and _time_to_collision(engine, 1.0) == 1.0
        and _time_of_soft(engine, 1.0) == 1.0
    )


TRIAL_KERNELS = (touch_part,)
