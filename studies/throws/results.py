"""What the study of throws has found, kept as JSON so that engines can be measured one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from studies.benchmarks.verification.case import Array
from studies.throws.engines import ENGINES

__all__ = ["RESULTS", "Outcome", "read", "versions", "write"]

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "throws.json"


@dataclass(frozen=True, eq=False)
class Outcome:
    """One engine on throws that its search has not seen.

    Attributes
    ----------
    engine
        Its name in `ENGINES`.
    values
        Parameters that the search has found.
    loss
        What it has minimised: errors of position [widths] and rotation [rad], added.
    untuned, tuned
        Errors of every throw before and after the search [widths, rad], shape (throws, 2).
    floor
        Errors that a right engine would make, from the noise of the capture, shape (throws, 2).
    seconds
        Wall time of all of it.
    versions
        Of the engine.
    """

    engine: str
    values: list[float]
    loss: float
    untuned: Array
    tuned: Array
    floor: Array
    seconds: float
    versions: str

    def summary(self) -> str:
        """One line."""
        mean = self.tuned.mean(axis=0)
        return (
            f"{self.engine}: {mean[0]:.3f} widths, {np.degrees(mean[1]):.1f}°, "
            f"parameters {', '.join(f'{value:.3g}' for value in self.values)}"
        )


def versions(engine: str) -> str:
    """Of an engine, as its package says."""
    package = {
        "mujoco": "mujoco-core",
        "drake": "drake",
        "rapier": "rapier3d",
        "motrixsim": "motrixsim",
    }.get(ENGINES[engine].method.partition(":")[0].partition("@")[0], "asperity")
    return f"{package} {version(package)}"


def read(path: Path = RESULTS) -> dict[str, Outcome]:
    """All that is kept, by engine, in the order of `ENGINES`."""
    if not path.exists():
        return {}
    rows = {row["engine"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    for row in rows.values():
        row.update({key: np.array(row[key]) for key in ("untuned", "tuned", "floor")})
    return {name: Outcome(**rows[name]) for name in ENGINES if name in rows}


def write(found: Sequence[Outcome], path: Path = RESULTS) -> Mapping[str, Outcome]:
    """Put results in the place of older ones of the same engine; returns all."""
    kept = read(path) | {outcome.engine: outcome for outcome in found}
    lines = []
    for name in ENGINES:
        if name in kept:
            row = asdict(kept[name])
            for key, value in row.items():
                if isinstance(value, np.ndarray):
                    row[key] = np.round(value, 4).tolist()
            row["values"] = [float(f"{value:.6g}") for value in row["values"]]
            row["loss"], row["seconds"] = round(row["loss"], 4), round(row["seconds"])
            lines.append(json.dumps(row))
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    return read(path)
