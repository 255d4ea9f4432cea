"""The page: what verification loses without each mechanism, and what each one costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from studies.benchmarks.ablation.mechanisms import MECHANISMS, METHODS
from studies.benchmarks.ablation.results import NOTHING, RESULTS, Results
from studies.benchmarks.ablation.trial import GRADES, NEAR_BY, Trial
from studies.benchmarks.ablation.work_scenes import KINDS, WORK_SCENES
from studies.benchmarks.verification.methods import label
from studies.benchmarks.verification.page import unwrapped

__all__ = ["ALL_CASES", "PAGE", "changes", "write", "write_all_cases"]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "ablation.md"
ALL_CASES = RESULTS.with_suffix(".md")

_TITLES = {
    "cenic": "`Cenic`",
    "trapezoid": "`Cenic` with the trapezoid scheme",
    "icf": "`Icf`",
    "midas": "`Midas`",
}

INTRODUCTION = """\
# What each mechanism is good for

Each row shows what [verification](verification.md) loses without a mechanism that corrects the
papers' methods.

```sh title="from a checkout"
python -m studies benchmark ablation --mechanisms swings     # one row
```

Every case runs at {near_by} times each accuracy or time step. *Right* counts the runs within the
tolerance of their case, below as differences; two are chance. *Iterations* are Newton's, of all
cases, of the CENIC paper's clutter (`Midas`: cubes in columns), and of ten robots with random
controls.
*Worse* and *better* count the cases
whose median grade changes; **wrong** ones are wrong or stopped without it.
[All cases](../studies/benchmarks/results/ablation.md) has their names, convex solves, and what
replaces each mechanism.
"""

ALL_INTRODUCTION = """\
# Cases that each mechanism changes

[What each mechanism is good for](../../../docs/ablation.md) explains the runs. **Bold** cases are
wrong or stopped without the mechanism. Numbers in parentheses say at which accuracies or time
steps, if not at all of them. *Solves* are convex solves of all cases, of clutter and of robots.
"""

_KIND_OF = {scene.name: scene.kind for scene in WORK_SCENES}

Key = tuple[str, float]


def _grades(trials: Sequence[Trial]) -> dict[Key, int]:
    """Median grade of every case at every accuracy."""
    found: dict[Key, list[int]] = defaultdict(list)
    for trial in trials:
        if trial.case not in _KIND_OF:
            found[trial.case, trial.number].append(trial.grade)
    return {key: int(median(grades)) for key, grades in found.items()}


@dataclass(frozen=True)
class Changes:
    """Cases whose median grade a change alters, with the numbers at which it does.

    Parameters
    ----------
    worse, better : dict
        Of cases by name: the accuracies or time steps, as text.
    wrong : set
        The cases that are wrong or stopped after the change, and were not before.
    settings : int
        How many accuracies or time steps there are.
    """

    worse: dict[str, list[str]]
    better: dict[str, list[str]]
    wrong: set[str]
    settings: int

    def names(self, cases: dict[str, list[str]]) -> str:
        """The names of cases; bold where they are wrong."""
        shown = []
        for case, numbers in cases.items():
            mark = "**" if case in self.wrong else ""
            where = "" if len(numbers) == self.settings else f" ({', '.join(numbers)})"
            shown.append(f"{mark}{case}{mark}{where}")
        return ", ".join(shown)


def changes(before: Sequence[Trial], after: Sequence[Trial]) -> Changes:
    """Cases that are worse after a change, and those that are better."""
    old, new = _grades(before), _grades(after)
    worse: dict[str, list[str]] = defaultdict(list)
    better: dict[str, list[str]] = defaultdict(list)
    wrong: set[str] = set()
    for (case, number), grade in new.items():
        if grade > old[case, number]:
            worse[case].append(f"{number:g}")
            if grade >= GRADES.index("wrong"):
                wrong.add(case)
        elif grade < old[case, number]:
            better[case].append(f"{number:g}")
    return Changes(worse, better, wrong, len({number for _, number in new}))


def _of_kind(trials: Sequence[Trial], kind: str | None) -> list[Trial]:
    """Trials of scenes of one kind; of None those of cases with a known outcome."""
    return [trial for trial in trials if _KIND_OF.get(trial.case) == kind]


_HEADS = ("iterations", *KINDS.values())
"""Of the columns of work."""


def _right(trials: Sequence[Trial], number: float) -> int:
    """Runs at an accuracy or time step that are right."""
    return sum(t.grade == 0 for t in _of_kind(trials, None) if t.number == number)


def _gained(trials: Sequence[Trial], base: Sequence[Trial], number: float) -> str:
    """How many more runs are right than of the same cases before."""
    cases = {t.case for t in trials}
    gained = _right(trials, number) - _right([t for t in base if t.case in cases], number)
    return f"{gained:+d}".replace("-", "−") if gained else "0"


def _relative(trials: Sequence[Trial], base: Sequence[Trial], field: str) -> str:
    """Change of some work, over the runs that both have finished [%]; nothing if there are none."""
    stopped = GRADES.index("stopped")
    both = {(t.case, t.number, t.near_by): getattr(t, field) for t in trials if t.grade != stopped}
    mine = total = 0
    for trial in base:
        key = (trial.case, trial.number, trial.near_by)
        if trial.grade != stopped and key in both:
            mine += both[key]
            total += getattr(trial, field)
    if not total:
        return ""
    change = round(100.0 * (mine / total - 1.0))
    return f"{change:+d} %".replace("-", "−") if change else "0"


def _work(trials: Sequence[Trial], base: Sequence[Trial], field: str, absolute: bool) -> list[str]:
    """Some work of cases and of each kind of scenes, or its changes."""
    cells = []
    for kind in (None, *KINDS):
        mine, before = _of_kind(trials, kind), _of_kind(base, kind)
        number = f"{sum(getattr(trial, field) for trial in mine):,}" if mine else ""
        cells.append(number if absolute else _relative(mine, before, field))
    return cells


def _table(method: str, results: Results) -> list[str]:
    base = results.get((NOTHING, method))
    if not base or not any((m.name, method) in results for m in MECHANISMS):
        return []
    numbers = METHODS[method]
    settings = ", ".join(label(f"{method}@{n:g}").split(" ", 1)[1] for n in numbers)
    head = [
        "without",
        "what it does",
        f"right, {settings}",
        *_HEADS,
        "worse",
        "better",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    purposes = {NOTHING: ""} | {m.name: m.purpose for m in MECHANISMS if method in m.methods}
    for name, purpose in purposes.items():
        trials = results.get((name, method))
        if not trials:
            continue
        if name == NOTHING:
            cells = [", ".join(str(_right(trials, n)) for n in numbers)]
            cells[0] += f" of {sum(t.number == numbers[0] for t in _of_kind(trials, None))}"
        else:
            cells = [", ".join(_gained(trials, base, n) for n in numbers)]
        cells += _work(trials, base, "iterations", name == NOTHING)
        if name == NOTHING:
            cells += ["", ""]
        else:
            changed = changes(base, trials)
            wrong = f", **{len(changed.wrong)} wrong**" if changed.wrong else ""
            cells += [f"{len(changed.worse)}{wrong}", f"{len(changed.better)}"]
        lines.append(f"| {name} | {purpose} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def write(results: Results, path: Path = PAGE) -> Path:
    """Write the page."""
    near_by = ", ".join(f"{share:g}" for share in NEAR_BY)
    lines = [unwrapped(INTRODUCTION.replace("{near_by}", near_by)), ""]
    for method in METHODS:
        table = _table(method, results)
        if table:
            lines += [f"## {_TITLES[method]}", "", *table]
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return path


def write_all_cases(results: Results, path: Path = ALL_CASES) -> Path:
    """Write the names of the cases that each mechanism changes."""
    lines = [unwrapped(ALL_INTRODUCTION), "", "| mechanism | without it |", "|---|---|"]
    lines += [f"| {m.name} | {m.replaces} |" for m in MECHANISMS]
    lines.append("")
    for method in METHODS:
        base = results.get((NOTHING, method))
        rows = []
        for name in (m.name for m in MECHANISMS):
            trials = results.get((name, method))
            if base and trials:
                changed = changes(base, trials)
                cells = [changed.names(changed.worse), changed.names(changed.better)]
                cells.append("; ".join(filter(None, _work(trials, base, "solves", False))))
                rows.append(f"| {name} | {' | '.join(cells)} |")
        if rows:
            lines += [f"## {_TITLES[method]}", "", "| without | worse | better | solves |"]
            lines += ["|---|---|---|---|", *rows, ""]
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return path
