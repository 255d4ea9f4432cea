"""Files of results as records: rows of a CSV file, or of the tables of a Markdown file."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = [
    "RESULTS",
    "Number",
    "Record",
    "Where",
    "find",
    "find_one",
    "records",
    "rows_of_markdown",
]

STUDIES = Path(__file__).resolve().parents[1]
RESULTS = STUDIES / "benchmarks" / "results"


class Number(float):
    """A number of a file, with two more forms: ``s2`` (significant digits) and ``1e3*FORM``."""

    def __format__(self, form: str) -> str:
        factor, star, form = form.rpartition("*")
        value = float(self) * (float(factor) if star else 1.0)
        if form.startswith("s"):
            digits = int(form[1:])
            rounded = float(f"{value:.{digits - 1}e}")
            size = math.floor(math.log10(abs(rounded))) if rounded else 0
            form = f".{max(digits - 1 - size, 0)}f"
            value = rounded
        text = format(value, form)
        shown = text.removeprefix("-")
        negative = shown != text and shown.strip("0.") != ""
        return f"−{shown}" if negative else shown


Record = Mapping[str, "Number | str"]
"""The columns of a row by name; numbers are `Number`."""

Where = Mapping[str, "str | tuple[str, ...]"]
"""The values that columns must have, as the file writes them: one, or one of several."""


def _read(text: str) -> Number | str:
    try:
        return Number(text)
    except ValueError:
        return text


def _rows_of_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows_of_markdown(path: Path) -> list[dict[str, str]]:
    """Rows of all tables, with the ``table``'s number, from 1.

    The second column of a name is ``NAME 2``, and so on.
    """
    rows: list[dict[str, str]] = []
    head: list[str] = []
    tables = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            head = []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not head:
            tables += 1
            for name in cells:
                count = sum(one == name or one.startswith(f"{name} ") for one in head)
                head.append(f"{name} {count + 1}" if name in head else name)
        elif not set(line) <= set("|-: "):
            rows.append({"table": str(tables), **dict(zip(head, cells, strict=True))})
    return rows


@cache
def _raw(file: str) -> tuple[dict[str, str], ...]:
    path = RESULTS / file
    return tuple(rows_of_markdown(path) if path.suffix == ".md" else _rows_of_csv(path))


def _matches(row: Mapping[str, str], where: Where) -> bool:
    return all(
        row.get(name) in ((wanted,) if isinstance(wanted, str) else wanted)
        for name, wanted in where.items()
    )


def records(file: str) -> list[Record]:
    """All rows of a file of results.

    Parameters
    ----------
    file : str
        Name of a CSV or Markdown file in ``studies/benchmarks/results``.
    """
    return find(file, {})


def find(file: str, where: Where) -> list[Record]:
    """The rows whose columns have the values that ``where`` names."""
    return [
        {name: _read(text) for name, text in row.items()}
        for row in _raw(file)
        if _matches(row, where)
    ]


def find_one(file: str, where: Where) -> Record:
    """The one row whose columns have these values.

    Raises
    ------
    ValueError
        If there is none, or more than one.
    """
    found = find(file, where)
    if len(found) != 1:
        raise ValueError(f"{file} has {len(found)} rows with {dict(where)}; one is wanted.")
    return found[0]
