"""Engines of the members of a team: the engine's own tables, but for space to work in."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table
from asperity.compiled.team import Team
from asperity.midas.engine_layout import MIDAS, WORK
from asperity.midas.lists.list_layout import CANDIDATES

__all__ = ["NOT_REMEMBERED", "EngineTeam"]

NOT_REMEMBERED = frozenset({"entries", "parts", "work", "soft"})
"""Tables with addresses, and what copies of an engine have of their own."""


class EngineTeam:
    """What the members of a team work with.

    Parameters
    ----------
    table : Table
        The engine's.
    team : Team
    """

    def __init__(self, table: Table, team: Team) -> None:
        self._members = [_member(table) for _ in range(team.threads)]
        self._searchers = [
            _member(table, candidates=Table(CANDIDATES, list_room=len(table.candidates.kind)))
            for _ in range(team.threads)
        ]
        parts = table.parts
        parts.members = np.array([one.address for one in self._members], np.int64)
        parts.searchers = np.array([one.address for one in self._searchers], np.int64)
        parts.team = team.table.address
        parts.keep(team)

    def set_lists(self, size: int) -> None:
        """Give every member room for as many candidates as the engine has."""
        for searcher in self._searchers:
            searcher.candidates.resize(list_room=size)


def _member(table: Table, **own: Table) -> Table:
    """An engine with the same tables, but for some of its own."""
    shared = {name: getattr(table, name) for name in MIDAS.fields}
    return Table(MIDAS, **{**shared, "work": Table(WORK, **table.work.sizes), **own})
