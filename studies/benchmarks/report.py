"""Medians, ratios and the two files a benchmark leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from studies.benchmarks.measure import Job, Measurement
from studies.benchmarks.saved import RESULTS, machine, save_rows


@dataclass(frozen=True)
class Row:
    """All repeats of one job, which may differ in the seed of the initial state."""

    job: Job
    repeats: tuple[Measurement, ...]

    @property
    def status(self) -> str:
        """``ok``, or why the first failed repeat failed and how many did."""
        failed = [r.status for r in self.repeats if not r.ok]
        if not failed:
            return "ok"
        return f"{failed[0]} ({len(failed)} of {len(self.repeats)})"

    def median(self, value: Callable[[Measurement], float | None]) -> float | None:
        """Median over the repeats that finished; None unless all of them did."""
        values = [value(r) for r in self.repeats if r.ok]
        known = [v for v in values if v is not None]
        return median(known) if known and len(known) == len(self.repeats) else None

    @property
    def cpu(self) -> float | None:
        """CPU seconds per simulated second."""
        total = self.median(lambda r: r.cpu_time)
        return None if total is None else total / self.job.duration

    @property
    def wall(self) -> float | None:
        """Wall seconds per simulated second."""
        total = self.median(lambda r: r.wall_time)
        return None if total is None else total / self.job.duration

    @property
    def spread(self) -> float | None:
        """(Largest − smallest) / median of the CPU times, over seeds too if these vary."""
        times = [r.cpu_time for r in self.repeats if r.ok]
        return (max(times) - min(times)) / median(times) if times else None


def ratio(row: Row, rows: Sequence[Row]) -> float | None:
    """Asperity's CPU time over this peer's: the same scene and step or accuracy, the same run.

    The median of the ratios of single rounds, in which both had the same initial state. None where
    either of them failed, and for Asperity's own rows.
    """
    if row.job.engine == "asperity" or row.cpu is None:
        return None
    for other in rows:
        same = (other.job.scene, other.job.resolution) == (row.job.scene, row.job.resolution)
        if other.job.engine == "asperity" and same and other.cpu is not None:
            pairs = zip(other.repeats, row.repeats, strict=True)
            return median(ours.cpu_time / theirs.cpu_time for ours, theirs in pairs)
    return None


def _cells(row: Row, rows: Sequence[Row]) -> dict[str, str | float | int | None]:
    def count(name: str) -> float | None:
        return row.median(lambda r: getattr(r.counters, name))

    return {
        "scene": row.job.scene,
        "setting": row.job.resolution,
        "method": row.job.label,
        "worlds": row.job.worlds,
        "duration_s": row.job.duration,
        "repeats": len(row.repeats),
        "cpu_s_per_s": row.cpu,
        "wall_s_per_s": row.wall,
        "spread": row.spread,
        "asperity_over_this": ratio(row, rows),
        "steps": count("steps"),
        "rejections": count("rejections"),
        "iterations": count("iterations"),
        "factorizations": count("factorizations"),
        "line_search_evaluations": count("line_search_evaluations"),
        "penetration_m": row.median(lambda r: r.penetration),
        "own_penetration_m": row.median(lambda r: r.own_penetration),
        "mean_height_m": row.median(lambda r: r.mean_height),
        "lowest_centre_m": row.median(lambda r: r.lowest_centre),
        "kinetic_energy_j": row.median(lambda r: r.kinetic_energy),
        "cpu_s_rounds": " ".join(f"{r.cpu_time:.4g}" for r in row.repeats),
        "status": row.status,
    }


# Column of the table for people: heading, key of `_cells`, factor, format.
COLUMNS: tuple[tuple[str, str, float, str], ...] = (
    ("CPU s / s", "cpu_s_per_s", 1.0, ".4g"),
    ("Asperity / this", "asperity_over_this", 1.0, ".2f"),
    ("steps", "steps", 1.0, ".0f"),
    ("rejected", "rejections", 1.0, ".0f"),
    ("iterations", "iterations", 1.0, ".0f"),
    ("overlap [mm]", "penetration_m", 1e3, ".3g"),
    ("lowest centre [m]", "lowest_centre_m", 1.0, ".3f"),
    ("mean height [m]", "mean_height_m", 1.0, ".3f"),
    ("kinetic energy [J]", "kinetic_energy_j", 1.0, ".2g"),
)


def table(rows: Sequence[Row]) -> str:
    """Markdown tables, one per scene."""
    parts = []
    for scene in dict.fromkeys(row.job.scene for row in rows):
        mine = [row for row in rows if row.job.scene == scene]
        head = ["setting", "method", *(column[0] for column in COLUMNS), "status"]
        lines = [f"### {scene}, {mine[0].job.duration:g} s", ""]
        lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in mine:
            cells = _cells(row, rows)
            texts = [str(cells["setting"]), str(cells["method"])]
            for _, key, factor, form in COLUMNS:
                value = cells[key]
                texts.append(
                    format(factor * value, form) if isinstance(value, (int, float)) else "–"
                )
            texts.append(row.status.replace("|", "/"))
            lines.append("| " + " | ".join(texts) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def write(
    name: str, title: str, notes: str, rows: Sequence[Row], folder: Path = RESULTS, extra: str = ""
) -> Path:
    """Write ``<name>.md`` for people and ``<name>.csv`` with every column; return the former.

    Parameters
    ----------
    name
        Stem of both files.
    title, notes
        Heading and what to know when reading the numbers.
    rows
        In the order in which to show them.
    folder
        Where to.
    extra
        Markdown to put above the tables.
    """
    folder.mkdir(parents=True, exist_ok=True)
    repeats = max(len(row.repeats) for row in rows)
    body = [f"# {title}", machine(), f"Medians of {repeats} interleaved rounds. {notes}"]
    if extra:
        body.append(extra)
    path = folder / f"{name}.md"
    path.write_text("\n\n".join([*body, table(rows)]) + "\n")
    save_rows(folder / f"{name}.csv", (_cells(row, rows) for row in rows))
    return path
