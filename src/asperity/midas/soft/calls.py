"""Calls of the entry points of deformable bodies, which do nothing for models without any."""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.integrators.world_layout import OK

__all__ = [
    "add_soft_blocks",
    "add_soft_gradients",
    "anticipate_soft",
    "arrange_soft",
    "begin_soft",
    "collect_soft_friction",
    "end_soft",
    "forget_soft_anchors",
    "forget_soft_friction",
    "soft_share",
    "turn_soft_friction",
    "with_soft_energy",
]


@compiled
def begin_soft(engine: Table) -> int:
    """Set up a step; returns a code."""
    if engine.soft.bodies == 0:
        return OK
    return call_pp_status(engine.entries.soft_begin, engine, 0)


@compiled
def with_soft_energy(engine: Table, energy: float, at_trial: int) -> float:
    """An energy with that of deformable bodies."""
    if engine.soft.bodies != 0:
        call_pp_status(engine.entries.soft_energy, engine, at_trial)
        energy += engine.soft.energy
    return energy


@compiled
def arrange_soft(engine: Table) -> int:
    """Make room in the factor; returns a code."""
    if engine.soft.bodies == 0:
        return OK
    return call_pp_status(engine.entries.soft_arrange, engine, 0)


@compiled
def add_soft_gradients(engine: Table) -> None:
    """Add to the gradients of links."""
    if engine.soft.bodies != 0:
        call_pp_status(engine.entries.soft_gradients, engine, 0)


@compiled
def add_soft_blocks(engine: Table) -> None:
    """Add to the gradient and the Hessian in the variables."""
    if engine.soft.bodies != 0:
        call_pp_status(engine.entries.soft_blocks, engine, 0)


@compiled
def soft_share(engine: Table, time: float) -> float:
    """Share of the way to the trial state, at most ``time``, that keeps surfaces apart."""
    if engine.soft.bodies != 0:
        engine.soft.time = time
        call_pp_status(engine.entries.soft_time, engine, 0)
        time = engine.soft.time
    return time


@compiled
def collect_soft_friction(engine: Table) -> None:
    """Freeze friction at the iterate."""
    if engine.soft.bodies != 0:
        call_pp_status(engine.entries.soft_friction, engine, 0)


@compiled
def forget_soft_friction(engine: Table) -> None:
    """Let there be no friction."""
    if engine.soft.bodies != 0:
        call_pp_status(engine.entries.soft_friction, engine, 1)


@compiled
def turn_soft_friction(engine: Table, share: float) -> None:
    """Move friction's duals by a share of what the direction gives."""
    if engine.soft.bodies != 0:
        engine.soft.share = share
        call_pp_status(engine.entries.soft_turn, engine, 0)


@compiled
def anticipate_soft(engine: Table) -> bool:
    """Choose where barriers are linearized; whether that is new."""
    if engine.soft.bodies == 0:
        return False
    return call_pp_status(engine.entries.soft_anticipate, engine, 0) == 1


@compiled
def forget_soft_anchors(engine: Table) -> None:
    """Let all barriers be linearized where they are."""
    if engine.soft.bodies != 0:
        call_pp_status(engine.entries.soft_forget, engine, 0)


@compiled
def end_soft(engine: Table) -> None:
    """Measure the state at a step's end."""
    if engine.soft.bodies != 0:
        call_pp_status(engine.entries.soft_end, engine, 0)
