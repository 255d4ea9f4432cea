"""Tables with named columns, as NumPy arrays and for pandas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from asperity.errors import MissingExtra

__all__ = ["Columns", "data_frame"]


def data_frame(columns: Mapping[str, np.ndarray]) -> Any:
    """A ``pandas.DataFrame`` of columns.

    Raises
    ------
    MissingExtra
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas is not installed; pip install pandas.") from None
    return pandas.DataFrame(dict(columns))


class Columns(Mapping[str, np.ndarray]):
    """Columns of one length, by name: a mapping whose entries are attributes, too."""

    def __init__(self, columns: Mapping[str, np.ndarray]) -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"{type(self).__name__!r} has no column {name!r}")
        return self._columns[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        """Length of the columns."""
        return len(next(iter(self._columns.values())))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with these columns."""
        return data_frame(self)
