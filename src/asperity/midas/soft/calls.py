"""What deformable bodies are asked for, which is nothing in models without any."""

from __future__ import annotations

from asperity.compiled import Table, compiled
from asperity.compiled.calls import call_pp_status
from asperity.integrators.world_layout import OK

__all__ = [
    "ARRANGE",
    "BEGIN",
    "BLOCKS",
    "CLOSE",
    "CLOSED",
    "END",
    "ENERGY",
    "EXPECT_PRESENT",
    "FOLLOW",
    "FORGET_FRICTION",
    "FREEZE",
    "GRADIENTS",
    "LEAVE_OPEN",
    "LOWER",
    "STUCK",
    "TIME",
    "TOUCH",
    "TURN",
    "WAITING",
    "ask_soft",
]

# Tasks of `asperity.midas.soft.hooks`, in the order of a step. Begin one; make room in the factor;
# add to the gradients of links, then to the Hessian in the variables; find the energy, and for how
# much of ``soft.time`` surfaces stay apart.
BEGIN, ARRANGE, GRADIENTS, BLOCKS, ENERGY, TIME = range(6)
# Move friction's duals, freeze it at the iterate, or let there be none; measure a step's end.
TURN, FREEZE, FORGET_FRICTION, END = range(6, 10)
# Expect of contacts what they bear at the iterate, or what a direction has counted with, for which
# 1 is returned if they do not bear it at the trial state.
EXPECT_PRESENT, FOLLOW = range(10, 12)
# Lower activation distances of a given state.
LOWER = 12
# Raise multipliers of edges that equalities hold; forget them where edges stay open, for which 1 is
# returned.
CLOSE, LEAVE_OPEN = range(13, 15)
# Say by 1 that something touches a deformable body at the iterate.
TOUCH = 15
# What `CLOSE` returns: edges have their lengths, which is OK; another minimization may help; or it
# will not.
CLOSED, WAITING, STUCK = range(3)


@compiled
def ask_soft(engine: Table, task: int) -> int:
    """Do a task with deformable bodies, if there are any; returns a code."""
    if engine.soft.bodies == 0:
        return OK
    return call_pp_status(engine.entries.do_soft, engine, task)
