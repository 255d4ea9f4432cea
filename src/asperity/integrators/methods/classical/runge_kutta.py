"""The explicit Runge–Kutta method of order three with an embedded one of order two.

    k_1 = f(x_0),   k_2 = f(x_0 + ½ h k_1),   k_3 = f(x_0 − h k_1 + 2 h k_2)
    x = x_0 + h (k_1 + 4 k_2 + k_3)/6,        x̂ = x_0 + h k_2

Kutta's third-order rule, and the midpoint rule as its reference: the pair of Drake's RungeKutta3.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.integrators.methods.classical.stage_layout import CLASSICAL
from asperity.integrators.methods.classical.stages import evaluate_stage, place
from asperity.integrators.methods.motion import position_difference
from asperity.integrators.world_layout import OK, compiled_method

__all__ = ["runge_kutta_3_method"]


@compiled
def _combine(classical: Table, source: Table, a: float, b: float, c: float) -> None:
    """``x_0 + a k_1 + b k_2 + c k_3`` into displacement, velocity, activation, system state."""
    rate = classical.rate
    out = classical.displacement
    for i in range(out.size):
        out[i] = a * rate[0, i] + b * rate[1, i] + c * rate[2, i]
    rate = classical.acceleration_of
    out = classical.velocity
    start = source.qvel
    for i in range(out.size):
        out[i] = start[i] + a * rate[0, i] + b * rate[1, i] + c * rate[2, i]
    rate = classical.activation_rate
    out = classical.activation
    start = source.act
    for i in range(out.size):
        out[i] = start[i] + a * rate[0, i] + b * rate[1, i] + c * rate[2, i]
    rate = classical.system_rate
    out = classical.system_state
    start = source.system_state
    for i in range(out.size):
        out[i] = start[i] + a * rate[0, i] + b * rate[1, i] + c * rate[2, i]


@compiled_method
def runge_kutta_3_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step, with the midpoint rule's result in the state ``full``."""
    classical = CLASSICAL.at(world.memory)
    half = world.half
    full = world.full
    for i in range(classical.displacement.size):
        classical.displacement[i] = 0.0
    code = evaluate_stage(world, source, 0)
    if code != OK:
        return code
    _combine(classical, source, 0.5 * step, 0.0, 0.0)
    place(world, source, half, 0.5 * step)
    code = evaluate_stage(world, half, 1)
    if code != OK:
        return code
    _combine(classical, source, -step, 2.0 * step, 0.0)
    place(world, source, full, step)
    code = evaluate_stage(world, full, 2)
    if code != OK:
        return code
    _combine(classical, source, step / 6.0, step * (4.0 / 6.0), step / 6.0)
    place(world, source, target, step)
    _combine(classical, source, 0.0, step, 0.0)
    place(world, source, full, step)
    position_difference(world.plant, full, target, world.result.error)
    world.result.error_order = 3
    # The contacts and poses there are still those of the third stage.
    world.result.sample = full.address
    return OK
