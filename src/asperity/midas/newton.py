"""Newton's method on a step's incremental potential, bounded by continuous collision detection.

An iterate is accepted if the straight paths of all vertices from the last one keep every pair of
surfaces apart, no joint passes a limit, and the energy does not grow. So every iterate is free of
intersections, whatever happens to the ones after it (IPC, algorithm 1).
"""

from __future__ import annotations

import math

from numba import types

from asperity.compiled import compiled, entry_point
from asperity.compiled.calls import call_pp_status
from asperity.integrators.layout import NON_FINITE, NOT_CONVERGED, OK
from asperity.midas.candidates import box_vertices, find_candidates, time_in_boxes
from asperity.midas.collision_time import collision_free_time
from asperity.midas.contact_terms import contact_energy, measure_candidates
from asperity.midas.envelope import arrange, factorize, solve
from asperity.midas.friction_terms import friction_energy
from asperity.midas.joint_terms import joint_coordinates, joint_energy
from asperity.midas.kinematics import move_vertices, place_links
from asperity.midas.layouts import (
    ACTIVATION,
    CANDIDATES,
    FACTORIZATIONS,
    ITERATIONS_LEFT,
    LINE_SEARCHES,
    LINEAR,
    LONGEST_MOVE,
    MIDAS,
    REBUILDS,
    STEP,
    TOLERANCE,
)
from asperity.midas.link_terms import link_energy

__all__ = ["find_direction", "minimize", "rebuild"]

_midas = MIDAS.get

_LARGEST = 1.7976931348623157e308
# A hinge may turn by so much in one iteration [rad], so that it cannot get past a limit's far side.
_LARGEST_TURN = 1.0
_HALVINGS = 60
# Relative round-off of an energy, in which growth says nothing.
_ROUNDING = 1e-13


@compiled
def incremental_potential(engine, q, x, angle):
    """Incremental potential [J s²] at a state whose candidates have been measured."""
    contact = contact_energy(engine, x)
    if contact == math.inf:
        return math.inf
    return (
        link_energy(engine, q) + contact + friction_energy(engine, q) + joint_energy(engine, angle)
    )


@compiled
def _try(engine, share):
    """Place the trial state at z + share · direction."""
    z = _midas(engine, "z_now")
    direction = _midas(engine, "direction")
    trial = _midas(engine, "z_trial")
    for i in range(z.size):
        trial[i] = z[i] + share * direction[i]
    q = _midas(engine, "q_trial")
    x = _midas(engine, "vertex_trial")
    place_links(engine, trial, q)
    move_vertices(engine, q, x)
    joint_coordinates(engine, q, trial, _midas(engine, "joint_now"), _midas(engine, "joint_trial"))
    now = _midas(engine, "vertex_now")
    move = _midas(engine, "vertex_move")
    for vertex in range(_midas(engine, "moving_vertices")):
        for k in range(3):
            move[vertex, k] = x[vertex, k] - now[vertex, k]


@compiled
def _largest_move(engine):
    """Bound of how far any point of a link is from now to the trial state [m]."""
    now = _midas(engine, "q_now")
    trial = _midas(engine, "q_trial")
    radius = _midas(engine, "radius")
    largest = 0.0
    for link in range(radius.size):
        size = 0.0
        for i in range(4):
            square = 0.0
            for k in range(3):
                square += (trial[link, i, k] - now[link, i, k]) ** 2
            size += (1.0 if i == 0 else radius[link]) * math.sqrt(square)
        # Written so that NaN is not lost.
        if not size <= largest:
            largest = size
    return largest


@compiled
def _largest_turn(engine):
    now = _midas(engine, "joint_now")
    trial = _midas(engine, "joint_trial")
    largest = 0.0
    for joint in range(now.size):
        largest = max(largest, abs(trial[joint] - now[joint]))
    return largest


@compiled
def _time_to_limits(engine):
    """Share of the trial step that keeps a tenth of the way to every joint limit."""
    now = _midas(engine, "joint_now")
    trial = _midas(engine, "joint_trial")
    limit = _midas(engine, "joint_limit")
    time = 1.0
    for joint in range(now.size):
        move = trial[joint] - now[joint]
        room = 0.9 * (limit[joint, 1] - now[joint])
        if move > room:
            time = min(time, room / move)
        room = 0.9 * (limit[joint, 0] - now[joint])
        if move < room:
            time = min(time, room / move)
    return time


@compiled
def _time_to_collision(engine, time):
    """Share of the trial step, at most ``time``, that keeps a tenth of every distance."""
    kind = _midas(engine, "candidate_kind")
    vertex = _midas(engine, "candidate_vertex")
    square = _midas(engine, "now_square")
    planes = _midas(engine, "plane")
    x = _midas(engine, "vertex_now")
    p = _midas(engine, "vertex_move")
    c = _midas(engine, "side_weight")[0]
    t = _midas(engine, "slip")
    corner = _midas(engine, "corner")
    for i in range(_midas(engine, "ints")[CANDIDATES]):
        v = vertex[i]
        time = collision_free_time(
            kind[i], v[0], v[1], v[2], v[3], x, p, planes, square[i], time, c, t, corner
        )
    return time


@compiled
def _safe_share(engine):
    """Bring the trial state to the largest safe share of the direction; returns share and cut.

    ``cut`` tells whether the vertices' boxes were what stopped it. Where joints make the links'
    coordinates a non-linear function of the variables, the straight way to the end of a shorter
    step is another one, and is looked at again.
    """
    linear = _midas(engine, "ints")[LINEAR] == 1
    x = _midas(engine, "vertex_now")
    p = _midas(engine, "vertex_move")
    share = 1.0
    cut = False
    for attempt in range(_HALVINGS):
        time = _time_to_limits(engine)
        turn = _largest_turn(engine)
        if turn * time > _LARGEST_TURN:
            time = _LARGEST_TURN / turn
        boxed = time_in_boxes(engine, x, p)
        cut = boxed < time
        time = _time_to_collision(engine, min(time, boxed))
        if time == 1.0:
            return share, cut
        # Where paths bend, an end on a bound may be a little beyond it when looked at again.
        share *= time if attempt == 0 else 0.9 * time
        if not share > 0.0:
            return 0.0, cut
        _try(engine, share)
        if linear:
            return share, cut
    return 0.0, cut


@compiled
def _accept(engine):
    """Make the trial state the present one."""
    z = _midas(engine, "z_now")
    z_trial = _midas(engine, "z_trial")
    for i in range(z.size):
        z[i] = z_trial[i]
    q = _midas(engine, "q_now")
    q_trial = _midas(engine, "q_trial")
    for link in range(q.shape[0] - 1):
        for i in range(4):
            for k in range(3):
                q[link, i, k] = q_trial[link, i, k]
    x = _midas(engine, "vertex_now")
    x_trial = _midas(engine, "vertex_trial")
    for vertex in range(_midas(engine, "moving_vertices")):
        for k in range(3):
            x[vertex, k] = x_trial[vertex, k]
    angle = _midas(engine, "joint_now")
    angle_trial = _midas(engine, "joint_trial")
    for joint in range(angle.size):
        angle[joint] = angle_trial[joint]


@compiled
def _remember_squares(engine):
    square = _midas(engine, "candidate_square")
    now = _midas(engine, "now_square")
    for i in range(_midas(engine, "ints")[CANDIDATES]):
        now[i] = square[i]


@entry_point(types.int64(types.int64, types.int64))
def rebuild(engine, keep_slots):
    """List candidates along ``vertex_move`` anew and lay out the Hessian; returns a code.

    With ``keep_slots`` Hessian blocks in use stay in use: friction's outlive a list.
    """
    x = _midas(engine, "vertex_now")
    longest = _midas(engine, "reals")[LONGEST_MOVE]
    box_vertices(engine, x, _midas(engine, "vertex_move"), longest)
    code = find_candidates(engine, x, keep_slots == 1)
    if code == 0:
        code = arrange(engine)
    if code == 0:
        _remember_squares(engine)
    _midas(engine, "ints")[REBUILDS] += 1
    return code


@entry_point(types.int64(types.int64, types.int64))
def find_direction(engine, _unused):
    """Fill the direction from the assembled gradient and Hessian; returns 0, or 1 if that fails."""
    gradient = _midas(engine, "gradient")
    direction = _midas(engine, "direction")
    right = _midas(engine, "right")
    row = _midas(engine, "variable_row")
    values = _midas(engine, "factor")
    start = _midas(engine, "row_start")
    # Massless links between the joints of a body may leave a variable without stiffness.
    for i in range(gradient.size):
        at = start[i + 1] - 1
        values[at] += 1e-13 * values[at]
    _midas(engine, "ints")[FACTORIZATIONS] += 1
    if factorize(engine) != 0:
        return 1
    for i in range(gradient.size):
        right[row[i]] = -gradient[i]
    solve(engine, right)
    for i in range(gradient.size):
        direction[i] = right[row[i]]
    return 0


@compiled
def _is_free(engine):
    """Whether the straight paths to the trial state stay in the boxes and free of collisions."""
    x = _midas(engine, "vertex_now")
    p = _midas(engine, "vertex_move")
    return time_in_boxes(engine, x, p) == 1.0 and _time_to_collision(engine, 1.0) == 1.0


@compiled
def _descend(engine, before, share, linear):
    """Halve the trial step until the energy does not grow; returns the energy, or NaN."""
    ints = _midas(engine, "ints")
    gradient = _midas(engine, "gradient")
    direction = _midas(engine, "direction")
    slope = 0.0
    for i in range(gradient.size):
        slope += gradient[i] * direction[i]
    q = _midas(engine, "q_trial")
    x = _midas(engine, "vertex_trial")
    angle = _midas(engine, "joint_trial")
    for _ in range(_HALVINGS):
        ints[LINE_SEARCHES] += 1
        measure_candidates(engine, x)
        energy = incremental_potential(engine, q, x, angle)
        if energy <= before + _ROUNDING * abs(before):
            return energy
        # Too small a change to be seen in the energy: the direction is downhill.
        if abs(share * slope) <= _ROUNDING * abs(before) and energy < math.inf:
            return energy
        share *= 0.5
        _try(engine, share)
        # The straight way to a nearer end is another one if the model is not linear.
        while not linear and not _is_free(engine) and share > 0.0:
            share *= 0.5
            _try(engine, share)
    return math.nan


@entry_point(types.int64(types.int64, types.int64))
def minimize(engine, _unused):
    """Minimize the incremental potential from the present state; returns a code.

    The candidates must be those of the present state. The state is left where the method stopped,
    free of intersections in any case.
    """
    ints = _midas(engine, "ints")
    reals = _midas(engine, "reals")
    q = _midas(engine, "q_now")
    x = _midas(engine, "vertex_now")
    angle = _midas(engine, "joint_now")
    linear = ints[LINEAR] == 1
    tolerance = reals[TOLERANCE] * reals[STEP]
    reals[LONGEST_MOVE] = 4.0 * reals[ACTIVATION]
    measure_candidates(engine, x)
    _remember_squares(engine)
    energy = incremental_potential(engine, q, x, angle)
    while True:
        call_pp_status(_midas(engine, "assemble"), engine, 1)
        if call_pp_status(_midas(engine, "find_direction"), engine, 0) != 0:
            call_pp_status(_midas(engine, "assemble"), engine, 0)
            if call_pp_status(_midas(engine, "find_direction"), engine, 0) != 0:
                return NON_FINITE
        _try(engine, 1.0)
        size = _largest_move(engine)
        if not size <= _LARGEST:
            return NON_FINITE
        share, cut = _safe_share(engine)
        if size <= tolerance:
            # The last step costs no more iterations and squares what is left of the error: forces
            # of a stiff barrier need it.
            if share == 1.0:
                measure_candidates(engine, _midas(engine, "vertex_trial"))
                _accept(engine)
                _remember_squares(engine)
            return OK
        if ints[ITERATIONS_LEFT] <= 0:
            return NOT_CONVERGED
        ints[ITERATIONS_LEFT] -= 1
        if share > 0.0:
            lower = _descend(engine, energy, share, linear)
            if not abs(lower) <= _LARGEST:
                # No shorter step is better: this is as near as round-off lets us.
                return OK if size <= 100.0 * tolerance else NOT_CONVERGED
            energy = lower
            _accept(engine)
            _remember_squares(engine)
        elif not cut:
            return NOT_CONVERGED
        if cut:
            reals[LONGEST_MOVE] *= 2.0
            # Boxes along the last direction, whose end is not reached yet.
            _try(engine, 1.0)
            code = call_pp_status(_midas(engine, "rebuild"), engine, 1)
            if code != 0:
                return code
