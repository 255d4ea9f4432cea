"""What tables hold, for checkpoints and resets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from asperity.compiled import Table

__all__ = ["put_back", "remember"]


def remember(table: Table, *, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Sizes and numbers of a table, but for some fields."""
    values = {field: getattr(table, field) for field in table.layout.fields if field not in but}
    return {"sizes": dict(table.sizes), "values": {k: _copy(one) for k, one in values.items()}}


def _copy(value: Any) -> Any:
    if isinstance(value, Table):
        return remember(value)
    return np.copy(value) if isinstance(value, np.ndarray) else value


def put_back(table: Table, remembered: Mapping[str, Any]) -> None:
    """Give a table what `remember` has returned."""
    table.resize(**remembered["sizes"])
    for field, value in remembered["values"].items():
        own = getattr(table, field)
        if isinstance(own, Table):
            put_back(own, value)
        else:
            setattr(table, field, _copy(value))
