"""Smaller steps for methods whose solver may not converge.

A step that does not converge is divided into halves, again and again if need be, down to h/2ⁿ.
After a part has succeeded the size doubles again, as soon as the part ends where a longer one may
begin. Unlike the sub-steps of Drake's TAMSI, every part evaluates the model anew.
"""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_method
from asperity.integrators.methods.method import WrappingMethod
from asperity.integrators.world_layout import (
    NON_FINITE,
    NOT_CONVERGED,
    OK,
    compiled_method,
)

__all__ = ["HALVINGS", "Substeps", "step_in_parts", "substep_method"]

HALVINGS = 20
"""n: a step is divided into at most 2ⁿ parts."""


@compiled
def _copy(source: Table, target: Table) -> None:
    copy_numbers(source.qpos, target.qpos)
    copy_numbers(source.qvel, target.qvel)
    copy_numbers(source.act, target.act)
    copy_numbers(source.system_state, target.system_state)
    copy_numbers(source.plastic, target.plastic)
    target.time = source.time
    target.valid = 0


@compiled
def step_in_parts(world: Table, source: Table, target: Table, step: float, halvings: int) -> int:
    """One step of ``base_method``, which did not converge whole, in at most 2ⁿ parts.

    Parts alternate between the states ``half`` and ``full``.
    """
    method = world.base_method
    begin = source
    end = world.half
    other = world.full
    # In units of the smallest part, so that all of them add up to the step.
    whole = 1 << halvings
    smallest = step / whole
    done = 0
    size = whole // 2
    while done < whole:
        world.guess_kind = 0
        code = call_method(method, world, begin, end, size * smallest)
        if code in (NOT_CONVERGED, NON_FINITE):
            size //= 2
            if size == 0:
                return code
            continue
        if code != OK:
            return code
        world.substeps += 1
        done += size
        begin = end
        end = other
        other = begin
        if size < whole // 2 and done % (2 * size) == 0:
            size *= 2
    _copy(begin, target)
    target.time = source.time + step
    world.result.error_order = 0
    world.result.sample = 0
    return OK


@compiled_method
def substep_method(world: Table, source: Table, target: Table, step: float) -> int:
    """One step of ``base_method``, in parts if it does not converge."""
    code = call_method(world.base_method, world, source, target, step)
    if code not in (NOT_CONVERGED, NON_FINITE):
        return code
    return step_in_parts(world, source, target, step, HALVINGS)


class Substeps(WrappingMethod):
    """A method whose steps are done in parts where they do not converge whole."""

    kernel = substep_method
