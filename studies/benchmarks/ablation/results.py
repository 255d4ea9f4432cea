"""What trials have found, kept as JSON so that parts can be run again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from studies.benchmarks.ablation.trial import Trial

__all__ = ["NOTHING", "RESULTS", "Results", "load", "save"]

RESULTS = Path(__file__).resolve().parents[1] / "results" / "ablation.json"

NOTHING = "nothing"
"""What is switched off in the runs that all others are compared with."""

Results = Mapping[tuple[str, str], Sequence[Trial]]
"""Trials by what was switched off, and method."""

_FIELDS = tuple(Trial.__dataclass_fields__)


def _key(trial: Trial) -> tuple[str, float, float]:
    return trial.case, trial.number, trial.near_by


def load(path: Path = RESULTS) -> dict[tuple[str, str], list[Trial]]:
    """All that is kept."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {
        (block["without"], block["method"]): [
            Trial(**dict(zip(_FIELDS, row, strict=True))) for row in block["trials"]
        ]
        for block in kept
    }


def save(
    without: str, method: str, trials: Sequence[Trial], path: Path = RESULTS
) -> dict[tuple[str, str], list[Trial]]:
    """Put trials in the place of older ones of the same cases and settings; returns all."""
    kept = load(path)
    every = {_key(trial): trial for trial in (*kept.get((without, method), ()), *trials)}
    kept[without, method] = list(every.values())
    blocks = []
    for (name, of), found in sorted(kept.items()):
        rows = ",\n".join("  " + json.dumps(list(asdict(trial).values())) for trial in found)
        head = f' {{"without": {json.dumps(name)}, "method": {json.dumps(of)}, "trials": ['
        blocks.append(f"{head}\n{rows}\n ]}}")
    new = path.with_suffix(".partial")
    new.write_text("[\n" + ",\n".join(blocks) + "\n]\n", encoding="utf-8")
    new.replace(path)
    return kept
