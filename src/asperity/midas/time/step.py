"""One time step of the engine, as a method for the fixed-step loop."""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method, call_pp_status, call_ppdpp
from asperity.integrators.methods.substeps import step_in_parts
from asperity.integrators.world_layout import NON_FINITE, NOT_CONVERGED, OK, compiled_method
from asperity.midas.energy.equality_terms import raise_multipliers, reach_bound
from asperity.midas.energy.friction_stencils import collect_friction, forget_friction
from asperity.midas.energy.friction_terms import friction_scale
from asperity.midas.energy.joint_terms import meets_limit
from asperity.midas.energy.turn_terms import meets_turn_limit
from asperity.midas.engine_layout import CUT, CUT_SHORT, DRAFT, MIDAS, STATE_NEEDED, WHOLE
from asperity.midas.pose.joint_coordinates import joint_coordinates
from asperity.midas.pose.link_kinematics import place_links
from asperity.midas.pose.poses import write_qpos, write_qvel
from asperity.midas.soft.calls import (
    CLOSE,
    CLOSED,
    FORGET_FRICTION,
    FREEZE,
    LEAVE_OPEN,
    STUCK,
    ask_soft,
)
from asperity.midas.time.activations import advance_activations
from asperity.midas.time.given_states import TRIAL_STEP, lower_where_parting
from asperity.midas.time.impacts import meets_impact
from asperity.midas.time.second_order import (
    forget_past,
    invent_past,
    is_smooth,
    may_look_back,
    moves_freely,
    put_off,
)
from asperity.midas.time.sleep import (
    everything_sleeps,
    let_sleep,
    stay_asleep,
    wake_touched_links,
)
from asperity.midas.time.step_end import finish_step
from asperity.midas.time.step_start import prepare_step

__all__ = ["HALVINGS", "divided_midas_method", "midas_method", "solve_step"]


# Change of friction's normal forces, relative to themselves, that calls for another solution.
_LAG_TOLERANCE = 0.1
_LAG_ITERATIONS = 60
# What a step of BDF2 returns where implicit Euler is to take its place.
_NOT_SMOOTH = -1
# What it returns where the solution that it would fall back upon was cut short.
_NO_SOLUTION = -2
# A step that does not converge is done in at most 2ⁿ parts. Links that meet at tens of rad/s may
# need parts of 20 µs, a 512th of a usual step.
HALVINGS = 10
# Gap of equality constraints that a step may leave [m or rad], and rounds to get there.
_GAP = 1e-11
_ROUNDS = 40


@compiled
def _keep_solution(poses: Table) -> None:
    """Remember the iterate as the last solution."""
    for i in range(poses.z_now.size):
        poses.z_solution[i] = poses.z_now[i]


@compiled
def _return_to_solution(engine: Table) -> int:
    """Set the iterate to the last solution; returns a code."""
    z = engine.poses.z_now
    for i in range(z.size):
        z[i] = engine.poses.z_solution[i]
    place_links(engine.links, z, engine.poses.q_now)
    joint_coordinates(engine, engine.poses.q_now, z, engine.joints.value, engine.joints.now)
    engine.boxes.longest_move = 0.0
    engine.soft.measured = 0
    return call_pp_status(engine.entries.rebuild, engine, CUT)


@compiled
def _close_gaps(engine: Table) -> int:
    """After a minimization, close what gaps equality constraints have; returns a code.

    Edges of flexes that do not get their lengths keep those of the last solution.
    """
    gap = math.inf
    engine.soft.strain = math.inf
    engine.soft.open = 0
    code = OK
    for _ in range(_ROUNDS):
        gap = raise_multipliers(engine, engine.poses.q_now, engine.joints.now, gap)
        edges = ask_soft(engine, CLOSE)
        if gap <= _GAP:
            if edges == CLOSED:
                return OK
            if edges == STUCK:
                break
            _keep_solution(engine.poses)
        code = call_pp_status(engine.entries.minimize, engine, 0)
        if code != OK:
            break
    if gap <= _GAP and code in (OK, NOT_CONVERGED, NON_FINITE):
        if code != OK:
            code = _return_to_solution(engine)
        if code == OK:
            engine.soft.open = ask_soft(engine, LEAVE_OPEN)
        return code
    if code in (OK, NOT_CONVERGED, NON_FINITE):
        engine.gaps.stuck = 1
    return NOT_CONVERGED if code == OK else code


@compiled
def _solve(engine: Table, limit: int) -> int:
    """Minimize from the iterate in at most ``limit`` iterations; returns a code."""
    engine.counts.solves += 1
    engine.gaps.stuck = 0
    engine.newton.iterations_left = limit
    code = call_pp_status(engine.entries.minimize, engine, 0)
    if code == OK:
        code = _close_gaps(engine)
    engine.counts.iterations += limit - engine.newton.iterations_left
    if code == OK:
        _keep_solution(engine.poses)
    return code


@compiled
def _solve_lags(engine: Table, h: float, second: bool, draft: bool) -> int:
    """Solve a prepared step, with friction by normal forces of the solution before; returns a code.

    With ``draft`` the first solution may be cut short where it has made contacts.
    """
    fallback = False
    frictionless = False
    is_short = False
    for lag in range(engine.options.max_lags):
        before = friction_scale(engine.friction) + engine.soft.friction
        limit = engine.options.max_iterations
        engine.time.draft = DRAFT if draft and lag == 0 and engine.options.max_lags > 1 else WHOLE
        engine.time.may_be_rough = 1 if second and lag == 0 else 0
        code = _solve(engine, limit if lag == 0 else min(limit, _LAG_ITERATIONS))
        failed = code == NOT_CONVERGED
        if second and lag == 0 and (failed or not is_smooth(engine, engine.poses.q_now, h)):
            return _NOT_SMOOTH
        if failed and lag > 0:
            if lag == 1 and is_short:
                return _NO_SOLUTION
            fallback = True
            code = _return_to_solution(engine)
            break
        is_short = engine.time.draft == CUT_SHORT
        frictionless = False
        if failed and before > 0.0 and engine.gaps.stuck == 0:
            code = prepare_step(engine, h, second)
            if code == OK:
                forget_friction(engine.friction, engine.schedule)
                ask_soft(engine, FORGET_FRICTION)
                engine.time.draft = WHOLE
                before = 0.0
                code = _solve(engine, limit)
                fallback = True
                frictionless = True
        if code != OK or lag + 1 == engine.options.max_lags:
            break
        collect_friction(engine, 1)
        ask_soft(engine, FREEZE)
        after = friction_scale(engine.friction) + engine.soft.friction
        if not is_short and abs(after - before) <= _LAG_TOLERANCE * max(after, before):
            break
    if code == OK:
        engine.counts.fallbacks += 1 if fallback else 0
        engine.counts.frictionless += 1 if frictionless else 0
    return code


@compiled
def _solve_with_friction(engine: Table, h: float, second: bool) -> int:
    """Solve for the state after h [s], without making it the present one; returns a code.

    Friction's normal forces are those of the step's beginning, then those of the solution. Where
    friction of an impact would turn a body by radians within the step, Newton's method may not get
    there: then the solution before stands, or, if it was the first, one without friction.
    """
    code = OK
    for attempt in range(2):
        code = prepare_step(engine, h, second)
        if code == OK:
            code = _solve_lags(engine, h, second, attempt == 0 and engine.soft.bodies == 0)
        if code != _NO_SOLUTION:
            break
    return code


@compiled
def _solve_awake(engine: Table, h: float, second: bool) -> int:
    """The same, once more whenever that wakes what sleeps."""
    code = _solve_with_friction(engine, h, second)
    while code in (OK, NOT_CONVERGED, NON_FINITE, _NOT_SMOOTH) and wake_touched_links(engine):
        code = _solve_with_friction(engine, h, second)
    return code


@compiled
def _solve_first(engine: Table, h: float) -> int:
    """A step without a past, by two solutions; returns a code, or that it is none for BDF2."""
    code = _solve_awake(engine, h, False)
    if code != OK:
        return code
    if not moves_freely(engine):
        # An impact must not be taken for an acceleration.
        finish_step(engine, h, False)
        return OK
    invent_past(engine, h)
    code = _solve_awake(engine, h, True)
    if code != OK:
        forget_past(engine.time)
        return _NOT_SMOOTH
    finish_step(engine, h, True)
    return OK


@compiled
def _take_step(engine: Table, h: float) -> int:
    """Advance the engine's state by h [s]; returns a code, and unless it is OK changes nothing."""
    if engine.time.given == 1:
        engine.time.given = 0
        # What sleeps is not to be thrown apart when it wakes.
        sleeping = engine.time.sleeping
        engine.time.sleeping = 0
        if _solve_with_friction(engine, max(h, TRIAL_STEP), False) == OK:
            lower_where_parting(engine)
        engine.time.sleeping = sleeping
    if engine.options.second_order == 1 and engine.time.has_history == 0:
        code = _solve_first(engine, h)
        if code != _NOT_SMOOTH:
            return code
    second = may_look_back(engine.options, engine.time, h)
    code = _solve_awake(engine, h, second)
    if (
        code == OK
        and second
        and (meets_impact(engine, h) or meets_limit(engine.joints) or meets_turn_limit(engine))
    ):
        code = _NOT_SMOOTH
    if code == _NOT_SMOOTH:
        put_off(engine.time)
        second = False
        code = _solve_awake(engine, h, second)
    if code == OK:
        finish_step(engine, h, second)
    return code


@compiled
def solve_step(engine: Table, h: float) -> int:
    """Advance the engine's state by h [s]; returns a code, and unless it is OK changes nothing.

    Equality constraints that something holds against yield, until it does so no more.
    """
    code = _take_step(engine, h)
    if code != OK and engine.gaps.stuck == 1 and engine.gaps.yields == 0:
        engine.gaps.yields = 1
        code = _take_step(engine, h)
    if code == OK and engine.gaps.yields == 1 and reach_bound(engine) == 0:
        engine.gaps.yields = 0
    if code == OK and (engine.gaps.yields == 1 or engine.soft.open == 1):
        engine.counts.yielding += 1
    return code


@compiled_method
def midas_method(world: Table, source: Table, target: Table, h: float) -> int:
    """Advance the engine's state, which must be that of ``source``, by h [s] into ``target``."""
    engine = MIDAS.at(world.memory)
    plant = world.plant
    advance_activations(engine.motors, source.act, target.act, h)
    copy_numbers(source.plastic, engine.soft.plastic)
    let_sleep(engine, world)
    qpos = target.qpos
    qvel = target.qvel
    copy_numbers(source.qpos, qpos)
    copy_numbers(source.qvel, qvel)
    if everything_sleeps(engine):
        return OK
    code = solve_step(engine, h)
    if code != OK:
        return code
    copy_numbers(engine.soft.plastic, target.plastic)
    write_qpos(engine, qpos)
    call_ppdpp(
        plant.mujoco.differentiate_positions,
        plant.model,
        qvel.ctypes.data,
        h,
        source.qpos.ctypes.data,
        qpos.ctypes.data,
    )
    # Of BDF2, whose velocity is (3Q_{n+1} − 4Q_n + Q_{n−1})/2h, the same of these differences.
    one = engine.time.past_weight[0]
    two = engine.time.past_weight[1]
    whole = h / engine.time.step
    for i in range(qvel.size):
        mean = qvel[i]
        qvel[i] = whole * (
            mean - (one + two) * engine.poses.shift[i] - two * engine.poses.shift_older[i]
        )
        engine.poses.shift_older[i] = engine.poses.shift[i]
        engine.poses.shift[i] = mean
    if engine.time.rebounded == 1:
        for i in range(engine.joints.dof.size):
            qvel[engine.joints.dof[i]] = engine.joints.rate[i]
    write_qvel(engine.links, engine.poses, qvel)
    stay_asleep(engine, world, source, target)
    for i in range(qpos.size):
        engine.poses.qpos[i] = qpos[i]
    for i in range(qvel.size):
        engine.poses.qvel_before[i] = engine.poses.qvel[i]
        engine.poses.qvel[i] = qvel[i]
    return OK


@compiled_method
def divided_midas_method(world: Table, source: Table, target: Table, h: float) -> int:
    """Take a step of Midas, in parts if it does not converge.

    Parts that are done move the engine on. Therefore ``STATE_NEEDED`` is returned before the first
    of them: the method keeps the engine's state, and puts it back unless all parts succeed.
    """
    time = MIDAS.at(world.memory).time
    if time.kept == 0:
        code = call_method(world.base_method, world, source, target, h)
        return STATE_NEEDED if code in (NOT_CONVERGED, NON_FINITE) else code
    code = step_in_parts(world, source, target, h, HALVINGS)
    if code == OK:
        time.kept = 0
    return code
