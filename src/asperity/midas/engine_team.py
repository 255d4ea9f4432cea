"""What the members of a team work with: tables like the engine's, with space of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from asperity.compiled import Table
from asperity.compiled.team import Team
from asperity.midas.box_trees import LEAF, STACK
from asperity.midas.contact_schedule import SCHEDULE_SIZE
from asperity.midas.engine_layout import MIDAS
from asperity.midas.entry_points import ENTRY_POINTS
from asperity.midas.round_planes import FEW
from asperity.midas.stencils import FEW as FEW_PAIRS

__all__ = ["NOT_REMEMBERED", "EngineTeam", "list_fields", "run_fields", "work_fields"]

# The first of the fields that members do not share, and of those that are theirs in a search.
_OWN, _OWN_OF_SEARCH = "relative_work", "candidate_kind"


def work_fields() -> dict[str, Any]:
    """Arrays that kernels work in."""
    return {
        "relative_work": np.zeros((16, 3)),
        "relative_axes": np.zeros((3, 9)),
        "relative_gap": np.zeros((3, 3)),
        "relative_move": np.zeros((4, 3)),
        "relative_normal": np.zeros(3),
        "pair_axes": np.zeros((6, 10)),
        "node_stack": np.zeros((STACK, 2), np.int64),
        "leaf_item": np.zeros(LEAF, np.int64),
        "leaf_box": np.zeros((LEAF + 1, 4, 3)),
        "leaf_corner": np.zeros((LEAF, 3, 2, 3)),
        "chosen": np.zeros((2, FEW_PAIRS), np.int64),
        "chosen_box": np.zeros((2, FEW_PAIRS + 1, 2, 3)),
        "region": np.zeros((2, 3)),
        "deviation": np.zeros((4, 3)),
        "box_work": np.zeros((4, 3)),
        "side_weight": np.zeros((2, 4)),
        "mollifier_slope": np.zeros((2, 3)),
        "slip": np.zeros(3),
        "corner": np.zeros((7, 3)),
        "directions": np.zeros((3, 3)),
        "block_work": np.zeros((3, 12, 12)),
        "angle_slope": np.zeros((3, 3)),
        "angle_work": np.zeros((9, 9)),
        "inertia_work": np.zeros((16, 3)),
        "moments_work": np.zeros((3, 3)),
        "round_work": np.zeros((8, 4)),
    }


def list_fields(size: int) -> dict[str, Any]:
    """A list of candidates, with room for one more to look at."""
    return {
        "candidate_kind": np.zeros(size, np.int64),
        "candidate_vertex": np.zeros((size + 1, 4), np.int64),
        "candidate_pair": np.zeros(size, np.int64),
        "candidate_weight": np.zeros(size),
        "candidate_threshold": np.zeros(size),
        "candidate_square": np.zeros(size),
        "candidate_coefficient": np.zeros((size + 1, 6)),
        "candidate_arm": np.zeros((size + 1, 3)),
        "candidate_anchor": np.zeros(size),
    }


def run_fields(size: int, rims: int) -> dict[str, Any]:
    """Runs, and friction's stencils, of a list of so many candidates, of which so many are rims."""
    stencils = size + FEW * rims
    return {
        **{
            name: np.zeros(size, np.int64)
            for name in ("run_state", "run_known", "run_anchored", "run_part", "run_order")
        },
        **{
            name: np.zeros(size)
            for name in ("now_square", "run_activation", "run_least", "run_trial", "friction_bound")
        },
        **{
            name: np.zeros(stencils, np.int64)
            for name in ("friction_pair", "friction_part", "friction_order")
        },
        "kept_kind": np.zeros(size, np.int64),
        "kept_vertex": np.zeros((size, 4), np.int64),
        "kept_weight": np.zeros(size),
        "kept_threshold": np.zeros(size),
        "run_begin": np.zeros(size + 1, np.int64),
        "run_link": np.zeros((size, 2), np.int64),
        "run_schedule": np.zeros(SCHEDULE_SIZE + 1, np.int64),
        "friction_schedule": np.zeros(SCHEDULE_SIZE + 1, np.int64),
        "friction_force": np.zeros(stencils),
        "rebound_friction": np.zeros(stencils),
        "friction_link": np.zeros((stencils, 2), np.int64),
        "friction_weight": np.zeros((stencils, 2, 4)),
        "friction_frame": np.zeros((stencils, 2, 3)),
        "friction_dual": np.zeros((stencils, 2)),
    }


NOT_REMEMBERED = frozenset(
    {*ENTRY_POINTS, *work_fields(), "team", "part_task", "shared_words", "search_words"}
    | {"member_table", "search_table"}
)
"""Fields with addresses, and what copies of an engine have of their own."""


class EngineTeam:
    """Tables for the members of a team.

    Parameters
    ----------
    table : Table
        The engine's.
    team : Team
    """

    def __init__(self, table: Table, team: Team) -> None:
        self._team = team
        self._members = [Table(MIDAS, **work_fields()) for _ in range(team.threads)]
        self._searchers = [Table(MIDAS, **work_fields()) for _ in range(team.threads)]
        table.member_table = np.array([one.address for one in self._members], np.int64)
        table.search_table = np.array([one.address for one in self._searchers], np.int64)
        table.shared_words = MIDAS.fields[_OWN].slot
        table.search_words = MIDAS.fields[_OWN_OF_SEARCH].slot
        table.team = team.table.address
        self.set_lists(len(table.candidate_kind))

    def set_lists(self, size: int) -> None:
        """Give every member room for as many candidates as the engine has."""
        for searcher in self._searchers:
            for name, values in list_fields(size).items():
                setattr(searcher, name, values)
