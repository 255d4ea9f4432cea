"""What methods do with states: evaluate them, move them, and tell them apart."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status, call_ppdpp, call_pppd
from asperity.integrators.world_layout import OK
from asperity.plant.plant_layouts import VALID

__all__ = [
    "advance_activations",
    "ensure_evaluated",
    "integrate_positions",
    "position_difference",
]


@compiled
def ensure_evaluated(world: Table, state: Table) -> int:
    """Evaluate a state unless its snapshot is valid."""
    if state.valid == VALID:
        return OK
    return call_pp_status(world.evaluate, world.plant, state)


@compiled
def integrate_positions(
    plant: Table, source: Table, target: Table, qvel: np.ndarray, step: float
) -> None:
    """``target.qpos = source.qpos ⊕ step · qvel``; the target's snapshot becomes invalid."""
    for i in range(source.qpos.size):
        target.qpos[i] = source.qpos[i]
    call_pppd(
        plant.integrate_positions,
        plant.model,
        target.qpos.ctypes.data,
        qvel.ctypes.data,
        step,
    )
    target.time = source.time + step
    target.valid = 0


@compiled
def advance_activations(plant: Table, source: Table, target: Table, step: float) -> None:
    """Advance the actuators' activations from the source's rates, as MuJoCo does."""
    for i in range(source.act.size):
        if plant.act_kind[i] == 1:
            value = source.act[i] + source.act_dot[i] * plant.act_time_constant[i] * (
                1.0 - np.exp(-step / plant.act_time_constant[i])
            )
        else:
            value = source.act[i] + step * source.act_dot[i]
        target.act[i] = min(max(value, plant.act_range[i, 0]), plant.act_range[i, 1])


@compiled
def position_difference(plant: Table, first: Table, second: Table, out: np.ndarray) -> None:
    """``out = second.qpos ⊖ first.qpos`` in the tangent space."""
    call_ppdpp(
        plant.differentiate_positions,
        plant.model,
        out.ctypes.data,
        1.0,
        first.qpos.ctypes.data,
        second.qpos.ctypes.data,
    )
