"""What the members of a team work with: tables like the engine's, with space of their own."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table
from asperity.compiled.team import Team
from asperity.midas.engine_layout import MIDAS
from asperity.midas.entry_points import ENTRY_POINTS

__all__ = ["NOT_REMEMBERED", "EngineTeam"]

# The first of the fields that members do not share, and of those that are theirs in a search.
_OWN, _OWN_OF_SEARCH = "relative_work", "candidate_kind"


NOT_REMEMBERED = frozenset(
    {*ENTRY_POINTS, "team", "part_task", "shared_words", "search_words"}
    | {"member_table", "search_table"}
    | {name for name, field in MIDAS.fields.items() if field.slot >= MIDAS.fields[_OWN].slot}
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
        self._members = [Table(MIDAS) for _ in range(team.threads)]
        self._searchers = [Table(MIDAS) for _ in range(team.threads)]
        table.member_table = np.array([one.address for one in self._members], np.int64)
        table.search_table = np.array([one.address for one in self._searchers], np.int64)
        table.shared_words = MIDAS.fields[_OWN].slot
        table.search_words = MIDAS.fields[_OWN_OF_SEARCH].slot
        table.team = team.table.address
        self.set_lists(len(table.candidate_kind))

    def set_lists(self, size: int) -> None:
        """Give every member room for as many candidates as the engine has."""
        for searcher in self._searchers:
            searcher.resize(list_room=size)
