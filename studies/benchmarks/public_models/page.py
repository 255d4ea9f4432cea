"""The page on public models: how they end under every integrator, and why.

The page is its own record: of methods that were not run again it keeps what it says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from studies.benchmarks.public_models.trial import INTEGRATORS

__all__ = ["CLASSES", "Summary", "ignored", "page", "read_page", "renewed", "summary"]

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
_SHARE = "run, of those without flex [%]"
_COLUMNS = ("run on", "files", *CLASSES, _SHARE)
_IGNORED = "ignored or approximated, of models that begin to run"
# What notes say of what a model asks for and does not get, or not as it is.
_UNHEARD = re.compile(
    r"ignore|not enforced|does not read|contacts rigid|dropped|without limits|start awake|no part",
    re.I,
)
_ALL = "all"


@dataclass(frozen=True)
class Summary:
    """What the page says of one method."""

    cells: tuple[str, ...]
    """Of its row in the first table."""
    ignored: dict[str, int] = field(default_factory=dict)
    """How many models have a note, by what is ignored."""
    packages: dict[str, str] = field(default_factory=dict)
    """How many of a package's models run."""
    reasons: list[tuple[str, str, str]] = field(default_factory=list)
    """Models that do not run, their class, and why."""


def _kind(found: Mapping[str, Any]) -> str:
    return str(found["class"]).partition(":")[0]


def _why(found: Mapping[str, Any]) -> str:
    # What is to be done about it follows.
    message = found.get("message", "").partition(";")[0].rstrip(".") + "."
    message = message.replace("\n", " ").replace("|", "/")
    # Folders are those of whoever has installed the packages.
    message = re.sub(r"(^|\s)/\S*/", r"\1", message)
    return message + (" MuJoCo's own steps diverge." if found.get("diverges") else "")


def ignored(notes: Iterable[Sequence[str]]) -> Counter[str]:
    """How many models have a note that something is ignored, by the note's first clause."""
    return Counter(
        kind
        for one in notes
        for kind in {re.split("[:;]", note)[0].strip(".") for note in one}
        if _UNHEARD.search(kind)
    )


def summary(results: Mapping[str, dict[str, Any]]) -> Summary:
    """What the page says of a method.

    Parameters
    ----------
    results : dict of str to dict
        What is known of every model, by name. Files that are no models are left out.
    """
    models = {name: one for name, one in results.items() if one["class"] != "does not load"}
    counts = Counter(_kind(one) for one in models.values())
    rigid = [_kind(one) for one in models.values() if not one.get("flexes")]
    share = 100.0 * rigid.count("runs") / max(len(rigid), 1)
    days = sorted({str(one["run on"]) for one in models.values()})
    packages: dict[str, list[str]] = {}
    for name, one in models.items():
        packages.setdefault(name.split("/")[0], []).append(_kind(one))
    return Summary(
        cells=(
            ", ".join(days),
            str(len(models)),
            *(str(counts[kind]) for kind in CLASSES),
            f"{share:.1f}",
        ),
        ignored=ignored(one.get("notes", ()) for one in models.values()),
        packages={
            package: f"{kinds.count('runs')} of {len(kinds)}" for package, kinds in packages.items()
        },
        reasons=[
            (name, one["class"], _why(one))
            for name, one in models.items()
            if one["class"] != "runs"
        ],
    )


def renewed(known: Summary, results: Mapping[str, dict[str, Any]]) -> Summary:
    """What the page says after models that it names were run again.

    Parameters
    ----------
    known : Summary
    results : dict of str to dict
        What is known now of models that are among the ``reasons``, by name.
    """
    cells = dict(zip(_COLUMNS, known.cells, strict=True))
    counts = Counter({kind: int(cells[kind]) for kind in CLASSES})
    packages = {name: [int(n) for n in cell.split(" of ")] for name, cell in known.packages.items()}
    kinds = {name: kind for name, kind, _ in known.reasons}
    reasons = {name: (name, kind, why) for name, kind, why in known.reasons}
    rigid = 0
    for name, found in results.items():
        counts[kinds[name].partition(":")[0]] -= 1
        counts[_kind(found)] += 1
        reasons[name] = (name, found["class"], _why(found))
        if _kind(found) == "runs":
            del reasons[name]
            packages[name.split("/")[0]][0] += 1
            rigid += not found.get("flexes")
    days = sorted({*cells["run on"].split(", "), *(str(one["run on"]) for one in results.values())})
    # Of all files, as few have flexes.
    share = float(cells[_SHARE]) + 100.0 * rigid / int(cells["files"])
    return replace(
        known,
        cells=(
            ", ".join(days),
            cells["files"],
            *(str(counts[kind]) for kind in CLASSES),
            f"{share:.1f}",
        ),
        packages={name: f"{runs} of {files}" for name, (runs, files) in packages.items()},
        reasons=list(reasons.values()),
    )


def read_page(rows: Sequence[Mapping[str, str]]) -> dict[str, Summary]:
    """What a page says of every method, from the rows of its tables."""
    tables = {n: [row for row in rows if row["table"] == n] for n in "1234"}
    return {
        row["method"]: Summary(
            cells=tuple(row[column] for column in _COLUMNS),
            ignored={
                one[_IGNORED]: int(one[row["method"]])
                for one in tables["2"]
                if one[_IGNORED] != _ALL and one[row["method"]] != "0"
            },
            packages={
                one["package"]: one[row["method"]]
                for one in tables["3"]
                if one[row["method"]] != "0 of 0"
            },
            reasons=[
                (one["model"], one["class"], one["why"])
                for one in tables["4"]
                if row["method"] in one["methods"].split(", ")
            ],
        )
        for row in tables["1"]
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return [lines[0], "|---" * len(head) + "|", *lines[1:], ""]


def page(summaries: Mapping[str, Summary]) -> list[str]:
    """The tables of the page, in Markdown.

    Parameters
    ----------
    summaries : dict of str to Summary
        By method.
    """
    methods = {name: summaries[name] for name in INTEGRATORS if name in summaries}
    kinds = Counter[str]()
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for method, one in methods.items():
        kinds.update(one.ignored)
        # Methods that say the same stand together.
        for reason in one.reasons:
            reasons.setdefault(reason, []).append(method)
    packages = sorted({package for one in methods.values() for package in one.packages})
    unheard = [
        (kind, *(str(one.ignored.get(kind, 0)) for one in methods.values()))
        for kind, _ in kinds.most_common()
    ]
    totals = (_ALL, *(str(sum(one.ignored.values())) for one in methods.values()))
    lines = [
        *_table(("method", *_COLUMNS), [(name, *one.cells) for name, one in methods.items()]),
        *_table((_IGNORED, *methods), [*unheard, totals]),
        *_table(
            ("package", *methods),
            [
                (package, *(one.packages.get(package, "0 of 0") for one in methods.values()))
                for package in packages
            ],
        ),
        *_table(
            ("model", "methods", "class", "why"),
            [
                (name, ", ".join(same), kind, why)
                for (name, kind, why), same in sorted(reasons.items())
            ],
        ),
    ]
    return lines[:-1]
