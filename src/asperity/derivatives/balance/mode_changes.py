"""Derivatives where pieces of laws meet: a contact that opens, slips or stops, a limit, a servo.

There a step has a derivative along every direction d, v'(x; d) = lim (v(x + ε d) − v(x))/ε, which
is not linear in d. A column is the one along its own coordinate. Close to the state on that side
the step is smooth, and its derivative there tends to it: so the step is solved at x + ε d, with ε
just large enough to tell the pieces apart, and differentiated there, along d alone. Whatever meets
at the state, contacts and rows are then on the pieces that result, all of them.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.displacement import begin_anew, displace, largest_change
from asperity.derivatives.balance.root_search import SETS_FULL
from asperity.derivatives.layout import CONTROL, DIRECTION
from asperity.derivatives.stages import call_stage, differentiate, stage
from asperity.integrators.world_layout import OK

__all__ = ["follow_one_side"]

# By how much positions, or else velocities at the step's end, are moved to tell pieces apart [m,
# rad; m/s, rad/s]. Differences of pressure fields need room beside the kink.
_APART = 1e-9
_APART_FIELDS = 1e-8
# Inputs that hardly move anything are displaced by no more.
_MOST = 1e-3


@compiled
def _begin_beside(world: Table, work: Table, along: bool, k: int, fastest: float) -> None:
    """Let a step begin at the state that a bit of column k leads to; ``directions`` has the column.

    ``fastest`` is the largest velocity at the end per unit of it.
    """
    start = work.start
    state = world.current
    nv = start.qvel.size
    inner = work.result.shape[0]
    size = min(_APART / max(fastest, 1e-300), _MOST)
    if along or k < inner:
        row = k if along else 0
        farthest = np.max(np.abs(work.directions[row, :nv]))
        if farthest > 0.0:
            size = (_APART_FIELDS if work.sets.patches == 1 else _APART) / farthest
        else:
            size = min(size, _MOST / largest_change(work, row))
        displace(world, work, DIRECTION, row, size)
    else:
        displace(world, work, CONTROL, k - inner, size)
    start.qpos[:] = state.qpos
    start.qvel[:] = state.qvel
    start.act[:] = state.act
    start.plastic[:] = state.plastic
    start.ctrl[:] = state.mj_ctrl
    begin_anew(world, work)


@stage
def follow_one_side(world: Table, work: Table, step: float, number: int) -> int:
    """Replace columns of ``result`` by derivatives along their own coordinates, or directions.

    After `asperity.derivatives.stages.differentiate` with this number, where there are kinks.
    Columns by parameters stay as they are; so does a column whose step has no solution, which is
    counted as unmatched.
    """
    start = work.start
    parameters = work.parameters
    root = work.root
    along = number < 0
    inner = work.result.shape[0]
    count = -number if along else number - parameters.displaced.shape[0]
    result = work.result.copy()
    qpos = start.qpos.copy()
    qvel = start.qvel.copy()
    act = start.act.copy()
    plastic = start.plastic.copy()
    ctrl = start.ctrl.copy()
    residual = root.residual
    one_sided = work.one_sided
    unmatched = work.unmatched
    code = OK
    for k in range(count):
        fastest = np.max(np.abs(result[start.qvel.size : 2 * start.qvel.size, k]))
        # By a coordinate of the state there is one direction.
        alone = not along and k < inner
        if alone:
            for i in range(inner):
                work.directions[0, i] = 1.0 if i == k else 0.0
        _begin_beside(world, work, along, k, fastest)
        code = call_stage(work.find_root, world, work, step, 0)
        if code == OK:
            code = differentiate(world, work, step, -1 if alone else number, along)
        start.qpos[:] = qpos
        start.qvel[:] = qvel
        start.act[:] = act
        start.plastic[:] = plastic
        start.ctrl[:] = ctrl
        if code > OK or code == SETS_FULL:
            # There is more than there is room for: all is done again when there is.
            break
        column = 0 if alone else k
        finite = code == OK
        code = OK
        for i in range(inner):
            finite = finite and np.isfinite(work.result[i, column])
        if not finite:
            unmatched += 1
            continue
        for i in range(inner):
            result[i, k] = work.result[i, column]
    work.result[:, :] = result
    root.residual = residual
    work.one_sided = one_sided
    work.unmatched = unmatched
    begin_anew(world, work)
    return code
