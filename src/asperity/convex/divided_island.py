"""A divided island, which several threads solve in phases.

A phase does the same for all of its items, which are shared out among threads: chunks of contacts,
blocks of trees, or parts of the elimination tree (`asperity.convex.divided_phases`). Sums run over
all chunks in a fixed order.
"""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import call_pppn_status
from asperity.compiled.team import TEAM
from asperity.convex.divided_layout import TREE_BLOCK
from asperity.convex.problem import PROBLEM

__all__ = [
    "ADD_PAIRS",
    "ALONG",
    "BACKWARD",
    "COST",
    "DISAGREEMENT",
    "EVALUATE",
    "FACTORIZE",
    "FILL_AND_FACTORIZE",
    "FORWARD",
    "GRADIENT",
    "PREPARE",
    "SETTLE",
    "STEP",
    "SUM_PAIRS",
    "block_sum",
    "chunk_sum",
    "in_order",
    "is_divided",
    "only_pairs",
    "share_items",
    "share_phase",
    "tree_blocks",
]

(
    EVALUATE,
    GRADIENT,
    SUM_PAIRS,
    ADD_PAIRS,
    FACTORIZE,
    FILL_AND_FACTORIZE,
    FORWARD,
    BACKWARD,
    PREPARE,
    ALONG,
    COST,
    STEP,
    DISAGREEMENT,
    SETTLE,
) = range(14)

# Parts of a phase per thread, which may be late.
_PARTS = 4


@compiled
def is_divided(at_hand: Table) -> bool:
    """Whether the island at hand is divided."""
    return at_hand.last_part > at_hand.first_part


@compiled
def only_pairs(graph: Table, at_hand: Table) -> bool:
    """Whether the island has nothing but contacts of free bodies."""
    island = graph.component[graph.ntree + graph.island_tree[at_hand.first_tree]]
    return graph.divided.island_mixed[island] == 0 and at_hand.first_row == at_hand.last_row


@compiled
def tree_blocks(at_hand: Table) -> int:
    """Blocks of the island's trees."""
    return (at_hand.last_tree - at_hand.first_tree + TREE_BLOCK - 1) // TREE_BLOCK


@compiled
def share_phase(problem: Table, phase: int, items: int) -> int:
    """Do a phase for all of its items, in any order; returns the largest code."""
    # By address: nothing of it is to make the solves of small islands longer.
    return call_pppn_status(problem.entries.share_phase, problem, phase, items, 0)


@compiled
def in_order(problem: Table, phase: int, items: int) -> int:
    """Do a phase whose items are begun one by one, from the first to the last."""
    division = problem.division
    division.phase = phase
    division.phase_items = items
    division.phase_parts = items
    if division.team == 0:
        division.phase_parts = 1
        return call_pppn_status(problem.entries.do_phase, problem, 0, 0, 0)
    team = TEAM.at(division.team)
    return call_pppn_status(team.share, team, problem.entries.do_phase, problem, items)


@entry_point(types.int64(PROBLEM.type, types.int64, types.int64, types.int64))
def share_items(problem: Table, phase: int, items: int, _unused: int) -> int:
    """Do `share_phase`."""
    division = problem.division
    division.phase = phase
    division.phase_items = items
    if division.team == 0:
        division.phase_parts = 1
        return call_pppn_status(problem.entries.do_phase, problem, 0, 0, 0)
    team = TEAM.at(division.team)
    parts = min(items, _PARTS * team.threads)
    division.phase_parts = parts
    return call_pppn_status(team.share, team, problem.entries.do_phase, problem, parts)


@compiled
def chunk_sum(division: Table, at_hand: Table, which: int) -> float:
    """The sum over all chunks of the island.

    They have the cost of impulses (0), slope and curvature (1, 2) and the cost (3) where a line
    search has looked last, and what a law's numbers and their disagreement amount to (4, 5).
    """
    total = 0.0
    for chunk in range(at_hand.first_chunk, at_hand.last_chunk):
        total += division.chunk_sum[chunk, which]
    return total


@compiled
def block_sum(division: Table, at_hand: Table, which: int) -> float:
    """The sum over all blocks of the island's trees, of the gradient g and the direction p.

    They have g·p (0), ‖D⁻¹ p‖² (1), p·(A v − r) (2) and p·A p (3), and where ``begun`` is 1, since
    nothing but pairs of free bodies adds to the gradient, ‖D g‖² (4).
    """
    total = 0.0
    for block in range(tree_blocks(at_hand)):
        total += division.block_sum[block, which]
    return total
