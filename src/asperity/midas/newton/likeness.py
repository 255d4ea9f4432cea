"""How much a step of the iteration has changed what the Hessian and friction are made of."""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.midas.energy.friction_stencils import normal_force
from asperity.midas.energy.friction_terms import slip_change
from asperity.midas.energy.joint_terms import joint_slopes, motor_slopes

__all__ = ["change_of_forces", "is_alike"]

# Change of a contact's depth, of its slip, or of a joint's stiffness, relative to themselves, that
# changes the Hessian little.
_LITTLE = 0.1


@compiled
def _is_beyond(runs: Table, run: int) -> bool:
    """Whether nothing in a run touches, neither at the iterate nor at the trial state."""
    return min(runs.least[run], runs.trial[run]) >= runs.activation[run]


@compiled
def change_of_forces(engine: Table) -> float:
    """Sum of the changes of normal forces from the iterate to the trial state over their sum.

    Candidates must be measured at the trial state, and have no anchors.
    """
    change = 0.0
    total = 0.0
    for run in range(engine.runs.count):
        if _is_beyond(engine.runs, run):
            continue
        for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
            trial = engine.candidates.square[i]
            after = normal_force(engine, i, engine.vertices.trial)
            engine.candidates.square[i] = engine.runs.now_square[i]
            before = normal_force(engine, i, engine.vertices.now)
            engine.candidates.square[i] = trial
            change += abs(after - before)
            total += after
    return change / total if total > 0.0 else math.inf


@compiled
def is_alike(engine: Table, near: bool) -> bool:
    """Whether the Hessian is nearly the same at the trial state, where candidates are measured.

    Terms of ball and free joints are not looked at: with any, the answer is no. Nor are those of
    deformable bodies: with these it is whether the solution is ``near``.
    """
    if engine.soft.bodies != 0:
        return near
    if engine.turns.link.size > 0:
        return False
    for run in range(engine.runs.count):
        if _is_beyond(engine.runs, run):
            continue
        activation = engine.runs.activation[run]
        for i in range(engine.runs.begin[run], engine.runs.begin[run + 1]):
            before = math.sqrt(engine.runs.now_square[i])
            after = math.sqrt(engine.candidates.square[i])
            if min(before, after) < activation and abs(after - before) > _LITTLE * (
                activation - min(before, after)
            ):
                return False
    if slip_change(engine) > _LITTLE:
        return False
    for joint in range(engine.joints.now.size):
        _, _, before = joint_slopes(engine, joint, engine.joints.now[joint])
        _, _, after = joint_slopes(engine, joint, engine.joints.trial[joint])
        if abs(after - before) > _LITTLE * min(after, before):
            return False
    for motor in range(engine.motors.joint.size):
        joint = engine.motors.joint[motor]
        _, before = motor_slopes(engine.motors, engine.time, motor, engine.joints.now[joint])
        _, after = motor_slopes(engine.motors, engine.time, motor, engine.joints.trial[joint])
        if before != after:
            return False
    return True
