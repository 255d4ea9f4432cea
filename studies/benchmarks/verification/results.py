"""What runs have found, kept as JSON so that parts can be run again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["RESULTS", "Result", "load", "save"]

RESULTS = Path(__file__).resolve().parents[1] / "results" / "verification.json"


@dataclass(frozen=True)
class Result:
    """What one method found in one case.

    Attributes
    ----------
    value
        None where there is none; ``status`` then says why.
    status
        ``ok``, ``never``, ``not finished in N s``, ``cannot: …`` or ``stopped: …``.
    seconds
        Wall time of the whole case.
    versions
        Of the engine and of what it stands on.
    """

    case: str
    method: str
    value: float | None
    status: str
    seconds: float
    versions: str


def load(path: Path = RESULTS) -> dict[tuple[str, str], Result]:
    """All that is kept, by case and method."""
    if not path.exists():
        return {}
    rows = [Result(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    return {(row.case, row.method): row for row in rows}


def save(results: list[Result], path: Path = RESULTS) -> dict[tuple[str, str], Result]:
    """Put results in the place of older ones of the same case and method; returns all."""
    kept = load(path)
    kept.update({(row.case, row.method): row for row in results})
    rows = sorted((asdict(row) for row in kept.values()), key=lambda r: (r["case"], r["method"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    new = path.with_suffix(".partial")
    new.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    new.replace(path)
    return kept
