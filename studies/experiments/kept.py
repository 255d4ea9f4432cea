"""The findings of the experiments that are kept, for ``docs/experiments.md``.

``asperity reproduce NAME --keep`` replaces those of its experiment in ``results.csv``.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

__all__ = ["RESULTS", "Kept", "load", "save"]

RESULTS = Path(__file__).with_name("results.csv")


@dataclass(frozen=True)
class Kept:
    """One finding.

    Parameters
    ----------
    experiment : str
        Such as ``sap-figure-5``.
    measured, ours, paper : str
        What was measured, the value found, and what the paper says.
    date : str
        When it was measured, as ``2026-11-25``.
    version : str
        Of Asperity.
    cpu_s : str
        CPU time of the whole experiment [s], to two digits.
    agrees : str
        ``yes`` or ``no``, as `Finding.verdict`.
    """

    experiment: str
    measured: str
    ours: str
    paper: str
    date: str
    version: str
    cpu_s: str = ""
    agrees: str = ""


def load(path: Path = RESULTS) -> list[Kept]:
    """All findings that are kept, in the order of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Kept(**row) for row in csv.DictReader(file)]


def save(found: Sequence[Kept], path: Path = RESULTS) -> None:
    """Put findings in the place of older ones of the same experiments."""
    names = {one.experiment for one in found}
    rows = load(path) if path.exists() else []
    at = next((i for i, row in enumerate(rows) if row.experiment in names), len(rows))
    before = [row for row in rows[:at] if row.experiment not in names]
    after = [row for row in rows[at:] if row.experiment not in names]
    with path.open("w", encoding="utf-8", newline="") as file:
        head = [field.name for field in fields(Kept)]
        writer = csv.DictWriter(file, head, lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, (*before, *found, *after)))
