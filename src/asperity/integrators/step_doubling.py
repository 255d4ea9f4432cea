"""Step doubling: an error estimate for any method (CENIC V-A).

One step of size h and two of h/2 start from the same state; the two half steps are propagated, the
difference estimates their error. The full step and the first half step share one evaluation of the
model, which also survives a rejection. Warm starts are those of CENIC VI-A: the half step from the
mean of beginning and full step, the second half step from the full step.
"""

from __future__ import annotations

from asperity.compiled import compiled_method
from asperity.compiled.calls import call_method
from asperity.integrators.layout import END_VELOCITY, GEOM_SAMPLE, HAS_ERROR, HAS_GUESS, OK, WORLD
from asperity.integrators.stepping import position_difference
from asperity.plant.layouts import STATE

__all__ = ["ERROR_ORDER", "step_doubling_method"]

ERROR_ORDER = 2
"""Order in h of the estimate for a first-order method."""

_world = WORLD.get
_state = STATE.get


@compiled_method
def step_doubling_method(world, source, target, step):
    """Two half steps of ``base_method``, compared with one full step."""
    method = _world(world, "base_method")
    half = _world(world, "half")
    full = _world(world, "full")
    ints = _world(world, "ints")
    guess = _world(world, "guess")
    before = _state(source, "qvel")
    whole = _state(full, "qvel")
    ints[HAS_GUESS] = 0
    code = call_method(method, world, source, full, step)
    if code != OK:
        return code
    for i in range(guess.size):
        guess[i] = 0.5 * (before[i] + whole[i])
    ints[HAS_GUESS] = END_VELOCITY
    code = call_method(method, world, source, half, 0.5 * step)
    if code != OK:
        return code
    for i in range(guess.size):
        guess[i] = whole[i]
    ints[HAS_GUESS] = END_VELOCITY
    code = call_method(method, world, half, target, 0.5 * step)
    if code != OK:
        return code
    position_difference(_world(world, "plant"), full, target, _world(world, "error"))
    ints[HAS_ERROR] = 1
    ints[GEOM_SAMPLE] = half
    return OK
