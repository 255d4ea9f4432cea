"""The page on public models: how they end under every integrator, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

__all__ = ["CLASSES", "page"]

CLASSES = (
    "runs",
    "refused",
    "slow",
    "exception",
    "not converged",
    "not finite",
    "intersecting",
)
"""How a model may end; refusals say what was met."""

Results = Mapping[str, Mapping[str, dict[str, Any]]]
"""What is known of every model, by integrator and by name."""


def _kind(found: Mapping[str, Any]) -> str:
    return str(found["class"]).partition(":")[0]


def _models(results: Results) -> Results:
    """Without files that are no models."""
    return {
        method: {name: one for name, one in found.items() if one["class"] != "does not load"}
        for method, found in results.items()
    }


def _methods(results: Results) -> list[str]:
    lines = [
        "| method | files | " + " | ".join(CLASSES) + " | run, of those without flex [%] |",
        "|---" * (len(CLASSES) + 3) + "|",
    ]
    for method, found in results.items():
        counts = Counter(_kind(one) for one in found.values())
        rigid = [_kind(one) for one in found.values() if not one.get("flexes")]
        share = 100.0 * rigid.count("runs") / max(len(rigid), 1)
        cells = " | ".join(str(counts[kind]) for kind in CLASSES)
        lines.append(f"| {method} | {len(found)} | {cells} | {share:.1f} |")
    return lines


def _packages(results: Results) -> list[str]:
    names = sorted({name.split("/")[0] for found in results.values() for name in found})
    lines = [
        "| package | " + " | ".join(results) + " |",
        "|---" * (len(results) + 1) + "|",
    ]
    for package in names:
        cells = []
        for found in results.values():
            own = [_kind(one) for name, one in found.items() if name.split("/")[0] == package]
            cells.append(f"{own.count('runs')} of {len(own)}")
        lines.append(f"| {package} | {' | '.join(cells)} |")
    return lines


def _notes(results: Results) -> list[str]:
    """How many models have a note, by its first clause, those on what is ignored first."""
    counts = {
        method: Counter(
            kind
            for one in found.values()
            for kind in {note.partition(":")[0].strip(".") for note in one.get("notes", ())}
            if "ignore" in kind
        )
        for method, found in results.items()
    }
    kinds = Counter[str]()
    for found in counts.values():
        kinds += found
    lines = [
        "| ignored, of models that begin to run | " + " | ".join(results) + " |",
        "|---" * (len(results) + 1) + "|",
    ]
    for kind, _ in kinds.most_common():
        cells = " | ".join(str(found[kind]) for found in counts.values())
        lines.append(f"| {kind} | {cells} |")
    totals = " | ".join(str(found.total()) for found in counts.values())
    return [*lines, f"| all | {totals} |"]


def _reasons(results: Results) -> list[str]:
    """Models that do not run, and why; methods that say the same together."""
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for method, found in results.items():
        for name, one in found.items():
            if one["class"] != "runs":
                # What is to be done about it follows.
                message = one.get("message", "").partition(";")[0].rstrip(".") + "."
                message = message.replace("\n", " ").replace("|", "/")
                # Folders are those of whoever has installed the packages.
                message = re.sub(r"(^|\s)/\S*/", r"\1", message)
                if one.get("diverges"):
                    message += " MuJoCo's own steps diverge."
                reasons.setdefault((name, one["class"], message), []).append(method)
    lines = ["| model | methods | | why |", "|---|---|---|---|"]
    for (name, kind, message), methods in sorted(reasons.items()):
        lines.append(f"| {name} | {', '.join(methods)} | {kind} | {message} |")
    return lines


def page(results: Results) -> list[str]:
    """The tables of the page, in Markdown.

    Parameters
    ----------
    results : dict of str to dict
        What is known of every model, by integrator and by name.
    """
    models = _models(results)
    lines: list[str] = []
    for table in (_methods, _notes, _packages, _reasons):
        lines += [*table(models), ""]
    return lines[:-1]
