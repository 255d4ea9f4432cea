"""One time step of the engine, as a method for the fixed-step loop."""

from __future__ import annotations

import math

from asperity.compiled import compiled, compiled_method
from asperity.compiled.calls import call_pp_status, call_ppdpp
from asperity.convex.problem import FACTORIZATIONS as SOLVER_FACTORIZATIONS
from asperity.convex.problem import ITERATIONS as SOLVER_ITERATIONS
from asperity.convex.problem import (
    LINE_SEARCH_EVALUATIONS,
    LONGEST_ITERATIONS,
    PROBLEM,
)
from asperity.convex.problem import SOLVES as SOLVER_SOLVES
from asperity.integrators.layout import NOT_CONVERGED, OK, WORLD
from asperity.midas.candidates import SLACK
from asperity.midas.equality_terms import (
    keep_multipliers,
    raise_multipliers,
)
from asperity.midas.friction_terms import collect_friction, friction_scale
from asperity.midas.joint_coordinates import joint_coordinates
from asperity.midas.joint_terms import motor_forces
from asperity.midas.kinematics import move_vertices, place_links
from asperity.midas.layouts import (
    ACTIVATION,
    CANDIDATES,
    CLEARANCE,
    FACTORIZATIONS,
    FALLBACKS,
    FRICTION_PAIRS,
    FRICTIONLESS,
    HAS_HISTORY,
    ITERATIONS,
    ITERATIONS_LEFT,
    LAST_STEP,
    LINE_SEARCHES,
    LONGEST_MOVE,
    MAX_ITERATIONS,
    MAX_LAGS,
    MIDAS,
    SOLVES,
    STEP,
)
from asperity.midas.poses import write_qpos
from asperity.midas.step_start import prepare_step
from asperity.plant.layouts import PLANT, STATE

__all__ = ["midas_method", "solve_step"]

_midas = MIDAS.get
_world = WORLD.get
_plant = PLANT.get
_state = STATE.get
_problem = PROBLEM.get

# Change of friction's normal forces, relative to themselves, that calls for another solution.
_LAG_TOLERANCE = 0.1
_LAG_ITERATIONS = 60
# Gap of equality constraints that a step may leave [m or rad], and rounds to get there.
_GAP = 1e-11
_ROUNDS = 40


@compiled
def _finish(engine, h):
    """Make the iterate the present state."""
    step = _midas(engine, "reals")[STEP]
    z = _midas(engine, "z")
    z_now = _midas(engine, "z_now")
    for i in range(z.size):
        z[i] = z_now[i]
    q = _midas(engine, "q")
    v = _midas(engine, "v")
    q_before = _midas(engine, "q_before")
    v_before = _midas(engine, "v_before")
    q_now = _midas(engine, "q_now")
    slip = _midas(engine, "q_slip")
    for link in range(q.shape[0] - 1):
        for i in range(4):
            for k in range(3):
                q_before[link, i, k] = q[link, i, k]
                v_before[link, i, k] = v[link, i, k]
                q[link, i, k] = q_now[link, i, k]
                v[link, i, k] = (q_now[link, i, k] - slip[link, i, k]) / step
    joint = _midas(engine, "joint")
    before = _midas(engine, "joint_before")
    now = _midas(engine, "joint_now")
    start = _midas(engine, "joint_start")
    rate = _midas(engine, "joint_rate")
    rate_before = _midas(engine, "joint_rate_before")
    for i in range(joint.size):
        before[i] = joint[i]
        rate_before[i] = rate[i]
        joint[i] = now[i]
        rate[i] = (now[i] - start[i]) / step
    reals = _midas(engine, "reals")
    reals[LAST_STEP] = h
    _midas(engine, "ints")[HAS_HISTORY] = 1
    motor_forces(engine, now)
    keep_multipliers(engine)
    smallest = math.inf
    square = _midas(engine, "now_square")
    for i in range(_midas(engine, "ints")[CANDIDATES]):
        smallest = min(smallest, square[i])
    # Beyond the boxes' slack there may be others that were never looked at.
    smallest = min(math.sqrt(smallest), (1.0 + SLACK) * reals[ACTIVATION])
    reals[CLEARANCE] = min(reals[CLEARANCE], smallest)


@compiled
def _close_gaps(engine):
    """After a minimization, close what gaps equality constraints have; returns a code."""
    q = _midas(engine, "q_now")
    angle = _midas(engine, "joint_now")
    gap = math.inf
    for _ in range(_ROUNDS):
        gap = raise_multipliers(engine, q, angle, gap)
        if gap <= _GAP:
            return OK
        code = call_pp_status(_midas(engine, "minimize"), engine, 0)
        if code != OK:
            return code
    return NOT_CONVERGED


@compiled
def _solve(engine, limit):
    """Minimize from the iterate in at most ``limit`` iterations; returns a code."""
    ints = _midas(engine, "ints")
    ints[SOLVES] += 1
    ints[ITERATIONS_LEFT] = limit
    code = call_pp_status(_midas(engine, "minimize"), engine, 0)
    if code == OK:
        code = _close_gaps(engine)
    ints[ITERATIONS] += limit - ints[ITERATIONS_LEFT]
    if code == OK:
        z = _midas(engine, "z_now")
        solution = _midas(engine, "z_solution")
        for i in range(z.size):
            solution[i] = z[i]
    return code


@compiled
def _return_to_solution(engine):
    """Set the iterate to the last solution; returns a code."""
    z = _midas(engine, "z_now")
    solution = _midas(engine, "z_solution")
    for i in range(z.size):
        z[i] = solution[i]
    q = _midas(engine, "q_now")
    place_links(engine, z, q)
    move_vertices(engine, q, _midas(engine, "vertex_now"))
    joint = _midas(engine, "joint_now")
    joint_coordinates(engine, q, z, _midas(engine, "joint"), joint)
    move = _midas(engine, "vertex_move")
    for vertex in range(_midas(engine, "moving_vertices")):
        for k in range(3):
            move[vertex, k] = 0.0
    _midas(engine, "reals")[LONGEST_MOVE] = 0.0
    return call_pp_status(_midas(engine, "rebuild"), engine, 1)


@compiled
def solve_step(engine, h):
    """Advance the engine's state by h [s]; returns a code, and unless it is OK changes nothing.

    Friction's normal forces are those of the step's beginning, then those of the solution. Where
    friction of an impact would turn a body by radians within the step, Newton's method may not get
    there: then the solution before stands, or, if it was the first, one without friction.
    """
    ints = _midas(engine, "ints")
    code = prepare_step(engine, h)
    if code != OK:
        return code
    fallback = False
    frictionless = False
    for lag in range(ints[MAX_LAGS]):
        before = friction_scale(engine)
        limit = ints[MAX_ITERATIONS]
        code = _solve(engine, limit if lag == 0 else min(limit, _LAG_ITERATIONS))
        if code == NOT_CONVERGED and lag > 0:
            fallback = True
            code = _return_to_solution(engine)
            break
        frictionless = False
        if code == NOT_CONVERGED and before > 0.0:
            code = prepare_step(engine, h)
            if code == OK:
                ints[FRICTION_PAIRS] = 0
                before = 0.0
                code = _solve(engine, limit)
                fallback = True
                frictionless = True
        if code != OK or lag + 1 == ints[MAX_LAGS]:
            break
        collect_friction(engine, _midas(engine, "vertex_now"))
        after = friction_scale(engine)
        if abs(after - before) <= _LAG_TOLERANCE * max(after, before):
            break
    if code == OK:
        ints[FALLBACKS] += 1 if fallback else 0
        ints[FRICTIONLESS] += 1 if frictionless else 0
        _finish(engine, h)
    return code


@compiled
def _count(engine, problem):
    """Move the engine's counters into the statistics that every integrator keeps."""
    ints = _midas(engine, "ints")
    statistics = _problem(problem, "statistics")
    statistics[SOLVER_SOLVES] += ints[SOLVES]
    statistics[SOLVER_ITERATIONS] += ints[ITERATIONS]
    statistics[LONGEST_ITERATIONS] += ints[ITERATIONS]
    statistics[SOLVER_FACTORIZATIONS] += ints[FACTORIZATIONS]
    statistics[LINE_SEARCH_EVALUATIONS] += ints[LINE_SEARCHES]
    ints[SOLVES] = 0
    ints[ITERATIONS] = 0
    ints[FACTORIZATIONS] = 0
    ints[LINE_SEARCHES] = 0


@compiled_method
def midas_method(world, source, target, h):
    """Advance the engine's state, which must be that of ``source``, by h [s] into ``target``."""
    engine = _world(world, "engine")
    plant = _world(world, "plant")
    code = solve_step(engine, h)
    _count(engine, _world(world, "problem"))
    if code != OK:
        return code
    before = _state(source, "qpos")
    qpos = _state(target, "qpos")
    qvel = _state(target, "qvel")
    for i in range(qpos.size):
        qpos[i] = before[i]
    write_qpos(engine, qpos)
    call_ppdpp(
        _plant(plant, "differentiate_positions"),
        _plant(plant, "model"),
        qvel.ctypes.data,
        h,
        before.ctypes.data,
        qpos.ctypes.data,
    )
    # Of BDF2, whose velocity is (3Q_{n+1} − 4Q_n + Q_{n−1})/2h, the same of these differences.
    second = _midas(engine, "reals")[STEP] < 0.9 * h
    shift = _midas(engine, "shift")
    for i in range(qvel.size):
        mean = qvel[i]
        if second:
            qvel[i] = 1.5 * mean - 0.5 * shift[i]
        shift[i] = mean
    act = _state(source, "act")
    new_act = _state(target, "act")
    for i in range(act.size):
        new_act[i] = act[i]
    mine = _midas(engine, "qpos")
    for i in range(qpos.size):
        mine[i] = qpos[i]
    rate = _midas(engine, "qvel")
    rate_before = _midas(engine, "qvel_before")
    for i in range(qvel.size):
        rate_before[i] = rate[i]
        rate[i] = qvel[i]
    return OK
