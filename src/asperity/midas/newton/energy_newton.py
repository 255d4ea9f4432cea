"""Newton's method on a step's incremental potential, bounded by continuous collision detection.

An iterate is accepted if the straight paths of all vertices from the last one keep every pair of
surfaces apart, no joint passes a limit, and the energy falls below the larger of its last two
values. So every iterate is free of intersections, whatever happens to the ones after it (IPC,
algorithm 1). That the energy may grow once (Grippo, Lampariello and Lucidi, SIAM J. Numer. Anal.
23, 1986, with a memory of one) saves up to 28 % of the iterations of piles in steps of 1 ms. A beam
that a gripper inserts takes 7 % more. A longer memory gains no more.
"""

from __future__ import annotations

import math

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pp_status
from asperity.integrators.world_layout import NON_FINITE, NOT_CONVERGED, OK
from asperity.midas.energy.expected_forces import expect_present, expects_present, follow_contacts
from asperity.midas.energy.friction_terms import turn_friction
from asperity.midas.energy.joint_terms import turn_joints
from asperity.midas.engine_layout import CUT_SHORT, DRAFT, MIDAS
from asperity.midas.lists.candidate_lists import shorten_boxes, widen_boxes
from asperity.midas.lists.candidate_runs import (
    accept_runs,
    measure_now,
    measure_trial,
)
from asperity.midas.lists.vertex_parts import listed_parts
from asperity.midas.newton.anticipation import anticipate, forget_anchors
from asperity.midas.newton.directions import (
    choose_direction,
    slope_along,
    solve_again,
)
from asperity.midas.newton.incremental_potential import energy_rounding, incremental_potential
from asperity.midas.newton.likeness import change_of_forces, is_alike
from asperity.midas.newton.trial import (
    STRAIGHT,
    is_free,
    is_straight,
    largest_move,
    largest_turn_of_links,
    limits_leave,
    safe_share,
    try_share,
    turns_away,
)
from asperity.midas.parts import do_parts
from asperity.midas.pose.link_kinematics import copy_poses
from asperity.midas.time.prediction import predict_turns
from asperity.midas.time.second_order import is_smooth, moves_freely

__all__ = ["minimize"]


_LARGEST = 1.7976931348623157e308
_HALVINGS = 60
# Share of the slope that a step must gain (Armijo): without it two states could alternate.
_DECREASE = 1e-4
# Steps up to so many tolerances may be the last if round-off hides what they gain.
_NEAR = 100.0
# Directions found anew, for contacts that the one before would make, until the first is taken. Each
# costs as much as an iteration, and later ones need it less.
_FORESIGHT = 12
# Change of a link's axes whose square is no strain of anything.
_LEAST_ARC = 1e-5
# Halvings after which such a direction is given up.
_FEW_HALVINGS = 4
# Size of a step over that of the one whose Hessian was indefinite, below which it may be no longer;
# and over the whole one before, above which what is left out keeps the iteration from converging.
_SMALLER = 0.1
_SLOW = 0.5
# Size of a step over that of the largest, from which velocities are known well enough to tell an
# impact.
_KNOWN_RATE = 0.1
# Relative change of normal forces with which they are known well enough, of a solution that is
# asked for nothing else. It has no friction in contacts that it has just made: as it goes on,
# nothing holds bodies that push each other aside.
_DRAFT = 0.1
# Steps with an old factor, the share that each must leave of the one before, that below the
# tolerance, and the share of the tolerance that is enough.
_CHORDS = 4
_SHRINKS = 0.1
_HALVES = 0.5
_CERTAIN = 0.02

# How a look ahead ends: contacts known, or changing still; no direction; an impact that the step
# shall not meet with.
_KNOWN, _CHANGING, _LOST, _ROUGH = range(4)


@compiled
def _turn_duals(engine: Table, share: float) -> None:
    """Let what friction's Hessian is made of follow the direction, of contacts and of joints."""
    turn_friction(engine, share)
    turn_joints(engine.joints, engine.options.joint_stiction * engine.time.step, share)


@compiled
def _accept(engine: Table) -> None:
    """Make the trial state, whose candidates have been measured, the present one."""
    poses = engine.poses
    for i in range(poses.z_now.size):
        poses.z_now[i] = poses.z_trial[i]
    copy_poses(poses.q_trial, poses.q_now)
    do_parts(engine, engine.entries.place_now_vertices, listed_parts(engine.vertices))
    for joint in range(engine.joints.now.size):
        engine.joints.now[joint] = engine.joints.trial[joint]
    accept_runs(engine.runs, engine.candidates)
    engine.soft.measured = 0


@compiled
def _bound(energy: float, previous: float) -> float:
    """Energy that the next iterate must stay below, of the present one and the one before."""
    return max(energy, previous)


@compiled
def _descend(engine: Table, before: float, rounding: float, slope: float, share: float) -> float:
    """Halve the trial step until the energy falls enough below ``before``; returns it, or NaN."""
    for _ in range(_HALVINGS if engine.newton.anchored == 0 else _FEW_HALVINGS):
        engine.counts.line_searches += 1
        engine.newton.taken_share = share
        measure_trial(engine)
        energy = incremental_potential(engine, 1)
        if energy <= before + _DECREASE * share * slope + rounding:
            return energy
        # Too small a change to be seen in the energy: the direction is downhill.
        if abs(share * slope) <= rounding and energy < math.inf:
            return energy
        if (
            engine.newton.on_arcs == 0
            and largest_turn_of_links(engine.links, engine.poses) > _LEAST_ARC
        ):
            # What it has grown by may be the strain of links that were turned.
            engine.newton.on_arcs = 1
        else:
            share *= 0.5
        try_share(engine, share)
        # The straight way to a nearer end is another one if the model is not linear.
        while (
            not is_straight(engine.options, engine.newton) and not is_free(engine) and share > 0.0
        ):
            share *= 0.5
            try_share(engine, share)
    return math.nan


@compiled
def _look_ahead(engine: Table) -> int:
    """Replace the direction by one that counts with the contacts it makes.

    Returns how that ended: `_KNOWN` ...
    """
    for _ in range(_FORESIGHT):
        if not anticipate(engine):
            return _KNOWN
        if engine.newton.iterations_left <= 0:
            return _CHANGING
        engine.newton.iterations_left -= 1
        _turn_duals(engine, 1.0)
        if choose_direction(engine) != 0:
            return _LOST
        try_share(engine, 1.0)
        if engine.time.may_be_rough == 1 and not is_smooth(
            engine, engine.poses.q_trial, engine.time.last_step
        ):
            return _ROUGH
    return _CHANGING


@compiled
def _begin(engine: Table) -> float:
    """Measure the present state's candidates; returns its energy."""
    shorten_boxes(engine.options, engine.boxes)
    engine.newton.nearly_rigid = 0
    engine.newton.curved = 1
    forget_anchors(engine)
    measure_now(engine)
    expect_present(engine)
    return incremental_potential(engine, 0)


@compiled
def _energy_ahead(engine: Table, energy: float) -> float:
    """Energy of a predicted state, the trial one; NaN if the way is not free or it is no lower."""
    if not is_free(engine):
        return math.nan
    measure_trial(engine)
    lower = incremental_potential(engine, 1)
    if lower < energy:
        return lower
    measure_now(engine)
    return math.nan


@compiled
def _take_prediction(engine: Table, energy: float) -> float:
    """Go to a predicted state if the way is free and its energy lower; returns the energy.

    Friction's duals stay zero: those of the prediction, at which everything slides, would say that
    friction holds nothing.
    """
    engine.time.has_prediction = 0
    if not limits_leave(engine):
        return energy
    lower = _energy_ahead(engine, energy)
    if math.isnan(lower) and predict_turns(engine):
        lower = _energy_ahead(engine, energy)
    if math.isnan(lower):
        return energy
    _accept(engine)
    engine.newton.nearly_rigid = 1
    return lower


@compiled
def _failure(factor: Table, soft: Table) -> int:
    """Code of a direction that there is none of."""
    if soft.code != 0:
        return soft.code
    return factor.code if factor.code != 0 else NON_FINITE


@compiled
def _is_small(size: float, tolerance: float, slope: float, rounding: float) -> bool:
    """Whether a step is below the tolerance, or near to it and too small to be seen in the energy.

    Parameters are the step's size and its tolerance [m], the energy's slope along it and rounding.
    """
    return size <= tolerance or (size <= _NEAR * tolerance and -slope <= rounding)


@compiled
def _ends(engine: Table, size: float, tolerance: float) -> bool:
    """Go on with the factor of the last direction, and say whether that ends the iteration.

    After a short step, of this size, the Hessian is nearly what it was, and the gradient shows what
    is left. The iterate goes on while that shrinks fast, or halves below the tolerance.
    """
    for _ in range(_CHORDS):
        engine.newton.only_slopes = 1
        call_pp_status(engine.entries.assemble, engine, 0)
        engine.newton.only_slopes = 0
        solve_again(engine)
        try_share(engine, 1.0)
        before = size
        size = largest_move(engine.links, engine.poses)
        if not size <= max(_SHRINKS * before, _HALVES * min(before, tolerance)):
            return before <= tolerance
        share, _ = safe_share(engine)
        if share < 1.0:
            return before <= tolerance
        _take_last_step(engine)
        if size <= _CERTAIN * tolerance:
            return True
    return size <= tolerance


@compiled
def _meets_impact(engine: Table) -> bool:
    """Whether a step of BDF2 meets an impact, by an iterate that is near its end.

    Where equalities are to be closed by further minimizations, this one's end says little.
    """
    return (
        engine.time.may_be_rough == 1
        and engine.gaps.active.size == 0
        and not moves_freely(engine)
        and not is_smooth(engine, engine.poses.q_now, engine.time.last_step)
    )


@compiled
def _take_last_step(engine: Table) -> None:
    """Go the whole way once more.

    It costs no more iterations and squares what is left of the error: forces of a stiff barrier
    need it.
    """
    measure_trial(engine)
    _turn_duals(engine, 1.0)
    _accept(engine)


@entry_point(types.int64(MIDAS.type, types.int64))
def minimize(engine: Table, _unused: int) -> int:
    """Minimize the incremental potential from the present state; returns a code.

    The candidates must be those of the present state. The state is left where the method stopped,
    free of intersections in any case. A hinge that turns away has no minimum.
    """
    newton = engine.newton
    tolerance = engine.options.tolerance * engine.time.step
    foresight = True
    met = False
    indefinite = math.inf
    last = math.inf
    longest = 0.0
    energy = _begin(engine)
    previous = -math.inf
    if engine.time.has_prediction == 1:
        energy = _take_prediction(engine, energy)
    while True:
        if choose_direction(engine) != 0:
            return _failure(engine.factor, engine.soft)
        newton.on_arcs = 0
        try_share(engine, 1.0)
        if foresight and largest_turn_of_links(engine.links, engine.poses) < STRAIGHT:
            foreseen = _look_ahead(engine)
            if foreseen == _LOST:
                return _failure(engine.factor, engine.soft)
            if foreseen == _ROUGH:
                return NOT_CONVERGED
        foresight = False
        size = largest_move(engine.links, engine.poses)
        longest = max(longest, size)
        if not size <= _LARGEST:
            return NON_FINITE
        # A new list forgets anchors, but not that the direction was found with them.
        ahead = newton.anchored > 0
        share, cut = safe_share(engine)
        if cut:
            code = widen_boxes(engine)
            if code != 0:
                return code
            share, cut = safe_share(engine)
        if engine.soft.code != 0:
            return engine.soft.code
        slope = slope_along(newton)
        rounding = energy_rounding(engine, energy)
        small = _is_small(size, tolerance, slope, rounding)
        if small and ahead:
            # The last direction is Newton's own.
            forget_anchors(engine)
            continue
        if small and not expects_present(engine):
            # So does the last direction.
            expect_present(engine)
            continue
        if small:
            if share == 1.0:
                _take_last_step(engine)
            return OK
        if newton.iterations_left <= 0:
            return NOT_CONVERGED
        newton.iterations_left -= 1
        reached = math.nan
        if share > 0.0:
            reached = _descend(engine, _bound(energy, previous), rounding, slope, share)
            if engine.soft.code != 0:
                return engine.soft.code
        if abs(reached) <= _LARGEST:
            previous = energy
            energy = reached
            met = met or ahead
            whole = newton.taken_share == 1.0 and not ahead
            newtons = whole and expects_present(engine)
            settled = (
                newtons
                and met
                and engine.time.draft == DRAFT
                and change_of_forces(engine) <= _DRAFT
            )
            alike = newtons and is_alike(engine, size <= _NEAR * tolerance)
            rigid = (
                newton.on_arcs == 1 or largest_turn_of_links(engine.links, engine.poses) < STRAIGHT
            )
            newton.nearly_rigid = 1 if whole and rigid else 0
            _turn_duals(engine, newton.taken_share)
            follow_contacts(engine)
            _accept(engine)
            forget_anchors(engine)
            if newton.curved == 0:
                if indefinite == math.inf:
                    indefinite = size
                elif whole and (size <= _SMALLER * indefinite or size > _SLOW * last):
                    newton.curved = 1
                    indefinite = math.inf
            last = size if whole else math.inf
            if turns_away(engine.links, engine.joints):
                return NOT_CONVERGED
            if whole and size <= _KNOWN_RATE * longest and _meets_impact(engine):
                return NOT_CONVERGED
            if settled:
                engine.time.draft = CUT_SHORT
                return OK
            if alike:
                if _ends(engine, size, tolerance):
                    return OK
                energy = incremental_potential(engine, 0)
        elif ahead:
            forget_anchors(engine)
            measure_now(engine)
            continue
        elif not expects_present(engine):
            measure_now(engine)
            expect_present(engine)
            continue
        elif share > 0.0:
            # No shorter step is better: this is as near as round-off lets us.
            measure_now(engine)
            return OK if size <= _NEAR * tolerance else NOT_CONVERGED
        elif not cut:
            return NOT_CONVERGED
