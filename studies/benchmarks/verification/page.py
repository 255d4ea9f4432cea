"""The page, which marks the methods that users choose, and the file of all numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from studies.benchmarks.verification.case import Case
from studies.benchmarks.verification.families import CASES, FAMILIES
from studies.benchmarks.verification.methods import COLUMNS, label
from studies.benchmarks.verification.results import RESULTS, Result

__all__ = [
    "ALL_METHODS",
    "PAGE",
    "cell",
    "grade",
    "number",
    "table_of",
    "unwrapped",
    "write",
    "write_page",
]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "verification.md"
ALL_METHODS = RESULTS.with_suffix(".md")

# An error of up to so many tolerances is "near": bold beyond it.
NEAR = 5.0

SHOWN = {
    "`Cenic`, 1e-3": "cenic@1e-3",
    "1e-4": "cenic@1e-4",
    "`Icf`, 1 ms": "icf@1e-3",
    "`Sap`": "sap@1e-3",
    "`Tamsi`": "tamsi@1e-3",
    "`Midas`, 10 ms": "midas@1e-2",
    "`Rosenbrock2`": "rosenbrock2@1e-3",
    "MuJoCo": "mujoco",
    "careful": "mujoco:careful",
    "Drake `cenic`": "drake:cenic@1e-3",
    "`sap`": "drake:sap@1e-3",
}
"""Columns of the table of families, and the methods that they are of."""

SUMMARY = (
    *SHOWN.values(),
    *(name for name in COLUMNS["Other engines"] if name.startswith(("mujoco:s", "mujoco:d"))),
    "rapier@1e-3",
    "motrixsim@1e-3",
)
"""Methods that the page counts; the file of all methods counts all."""

INTRODUCTION = """\
# Verification

This page counts what methods and engines get right in {cases} cases. Their outcome is known from
closed formulas, textbook equations, published tests and converged solutions.

```sh title="from a checkout"
python -m studies verify --jobs 2                    # all cases, and this page
python -m studies verify --cases 'gyro*,belt' --methods 'cenic@1e-5,icf@*' --no-output
```

[All numbers](../studies/benchmarks/results/verification.md) describes every case, derives its truth
and shows what each method finds. The cases are in `studies/benchmarks/verification/`.

"""

READING = """\
Numbers after a method are its accuracy or its time step. *Right* is within the tolerance of the
case, *near* is within five times that, and *wrong* is beyond. Seconds are wall time of all cases.

## By family

Cells are the cases that are right, of those that a method can take part in. Some cases need error
control, two coefficients of friction, or an element that an engine lacks.

{families}

## How the methods are set up

- **Asperity** has its defaults, with two exceptions. `midas` may move touching bodies apart at the
  start (`overlaps="separate"`). The accuracy of classical methods bounds velocities as well
  (`error_norm="state"`).
- **Contact** has the same stiffness, Hunt–Crossley dissipation and Coulomb friction everywhere. The
  dissipation of `sap` is linear, and `midas` keeps surfaces about a millimetre apart.
- **MuJoCo.** `mujoco` has its defaults: Euler, 2 ms, pyramidal cones, soft contact.
  `mujoco:careful` has 0.5 ms, elliptic cones, `impratio` 100, and RK4 or implicit, whichever is
  nearer to the truth. `mujoco:speculative` and `mujoco:discrete` use options of MuJoCo 4, also with
  the nearer setting. All get a `solref` of their own for elastic impacts. Deformable
  bodies get `discrete` instead of Euler and implicit.
- **Drake** gets contact points in the corners of boxes, because it finds one point between two flat
  faces.
- **`motrixsim` and `rapier`** load the models themselves, in single precision. What their loaders
  drop silently counts against them. Rapier is told where an impact is elastic.
"""

ALL_INTRODUCTION = """\
# Verification: all methods

[Verification](../../../docs/verification.md) explains the methods. This file describes every case
and shows what each method finds.

A plain number is within the tolerance of the case. An *italic* number is within five times that
tolerance. A **bold** number is wrong. “–” cannot take part, “>N s” was not finished after so much
wall time, “stopped” gave up. The equations of a textbook are solved by scipy, with the method and
tolerance named. Converged truths are those of TAMSI's and ICF's contact in steps of 10 µs. Their
friction differs below the stiction tolerance, so two numbers are named.

**Pressure fields.** `+fields` puts a field into every geom, on a rigid floor. The modulus is a
hundred times the stiffness per metre (10⁷ Pa for 10⁵ N/m). Bodies that overlap begin where they
touch; where flat faces begin in balance, the modulus keeps the balance. Truths are those of hard
bodies that touch in points, with one exception. A patch under a rolling ball has a width, and its
dissipation slows the ball down. There the truth is the law itself, integrated over the patch and in
time by an independent program (`studies/benchmarks/verification/field_ball.py`). Three differences
belong to the law, and all columns agree on them: a capsule rolls on a line, a top feels the
friction of its patch, and edges of dominoes meet with other normals. At loose accuracies a tall box
that just touches rocks by the accuracy, and topples early. Cases
without a truth for fields have no numbers there.
"""


def grade(case: Case, value: float | None, method: str = "") -> int:
    """0 right, 1 near, 2 wrong (None: what should have happened has not), of a method's truth."""
    if value is None:
        return 2
    error = abs(value - case.truth_for(method))
    return 0 if error <= case.tolerance else 1 if error <= NEAR * case.tolerance else 2


def number(case: Case, value: float) -> str:
    """A number as tables show it."""
    # A number far from the truth needs fewer digits than one near it.
    text = f"{value:.1e}" if abs(value) >= 1e5 else f"{value:{case.form}}"
    text = text if value else "0"
    return text.replace("-", "−")


def cell(case: Case, result: Result | None) -> str:
    """A result as tables show it: italic where it is near, bold where it is wrong."""
    if result is None:
        return ""
    if result.value is not None:
        text = number(case, result.value)
        return (text, f"*{text}*", f"**{text}**")[grade(case, result.value, result.method)]
    if result.status == "never":
        return "**never**"
    if result.status.startswith("not finished in"):
        return f">{result.status.removeprefix('not finished in ')}"
    return "–" if result.status.startswith("cannot") else "stopped"


def _table(
    cases: Sequence[Case],
    methods: Sequence[str],
    results: Mapping[tuple[str, str], Result],
) -> list[str]:
    present = [m for m in methods if any((case.name, m) in results for case in cases)]
    if not present:
        return []
    lines = [
        "| case | truth | " + " | ".join(label(m) for m in present) + " |",
        "|---|---|" + "---|" * len(present),
    ]
    for case in cases:
        cells = [cell(case, results.get((case.name, m))) for m in present]
        if not set(cells) - {"", "–"}:
            continue
        truth = f"{number(case, case.truth_for(present[0]))} ± {case.tolerance:.2g}"
        lines.append(f"| {case.name} | {truth} | " + " | ".join(cells) + " |")
    return [*lines, ""] if len(lines) > 2 else []


def _summary(results: Mapping[tuple[str, str], Result], methods: Sequence[str]) -> list[str]:
    """How many cases each of these methods finds."""
    lines = [
        "## Summary",
        "",
        "| method | cases | right | near | wrong | stopped or not finished | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in methods:
        mine = [r for r in results.values() if r.method == method and r.case in CASES]
        mine = [r for r in mine if not r.status.startswith("cannot")]
        if not mine:
            continue
        grades = [
            grade(CASES[r.case], r.value, r.method) for r in mine if r.status in ("ok", "never")
        ]
        counts = [grades.count(level) for level in range(3)]
        lines.append(
            f"| {label(method)} | {len(mine)} | {counts[0]} | {counts[1]} | {counts[2]} | "
            f"{len(mine) - len(grades)} | {sum(r.seconds for r in mine):.0f} |"
        )
    return [*lines, ""]


def _wrong(results: Mapping[tuple[str, str], Result]) -> list[str]:
    """Names of the cases in which each method is wrong or gives up."""
    lines = ["## What each method gets wrong", ""]
    for method in (name for names in COLUMNS.values() for name in names):
        found = []
        for name, case in CASES.items():
            result = results.get((name, method))
            if result is None or result.status.startswith("cannot"):
                continue
            if result.status not in ("ok", "never"):
                found.append(f"{name} ({cell(case, result)})")
            elif grade(case, result.value, method) == 2:
                found.append(name)
        if found:
            lines.append(f"- {label(method)}: {', '.join(found)}.")
    return [*lines, ""]


def _failures(cases: Sequence[Case], results: Mapping[tuple[str, str], Result]) -> list[str]:
    """Why methods stopped or failed; reasons for not taking part are few and said once."""
    known = {name for names in COLUMNS.values() for name in names}
    lines = [
        f"- {case.name}, {label(result.method)}: {result.status}"
        for case in cases
        for (name, _), result in sorted(results.items())
        if name == case.name
        and result.method in known
        and result.status.startswith(("stopped", "failed"))
    ]
    return [*lines, ""] if lines else []


def table_of(results: Mapping[tuple[str, str], Result], methods: Sequence[str]) -> str:
    """One table of results, whatever methods they are of."""
    return "\n".join(_table(tuple(CASES.values()), methods, results))


def unwrapped(text: str) -> str:
    """A paragraph, or an item of a list, is a line: Markdown that wraps by itself."""
    return "\n\n".join(
        part if part.startswith("```") else re.sub(r"\n(?!- ) *", " ", part)
        for part in text.strip().split("\n\n")
    )


def _made_with(results: Mapping[tuple[str, str], Result]) -> str:
    versions = sorted({part for r in results.values() for part in r.versions.split(", ") if part})
    return f"Made with {', '.join(versions)}."


def _families(results: Mapping[tuple[str, str], Result]) -> list[str]:
    """How many cases of each family are right, of those that a method can take part in."""
    lines = [
        "| family | " + " | ".join(SHOWN) + " |",
        "|---" * (len(SHOWN) + 1) + "|",
    ]
    for family, cases in FAMILIES.items():
        cells = []
        for method in SHOWN.values():
            mine = [(case, results.get((case.name, method))) for case in cases]
            took = [
                (case, result)
                for case, result in mine
                if result is not None and not result.status.startswith("cannot")
            ]
            right = sum(
                result.status == "ok" and grade(case, result.value, method) == 0
                for case, result in took
            )
            cells.append(f"{right}/{len(took)}" if took else "–")
        lines.append(f"| {family} | " + " | ".join(cells) + " |")
    return lines


def write_page(results: Mapping[tuple[str, str], Result], path: Path = PAGE) -> Path:
    """Write the page."""
    lines = [unwrapped(INTRODUCTION.format(cases=len(CASES))), "", *_summary(results, SUMMARY)]
    reading = unwrapped(READING).replace("{families}", "\n".join(_families(results)))
    lines += [reading, "", _made_with(results)]
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return path


def write(results: Mapping[tuple[str, str], Result], path: Path = ALL_METHODS) -> Path:
    """Write the file of all methods."""
    every = [name for names in COLUMNS.values() for name in names]
    lines = [unwrapped(ALL_INTRODUCTION), "", _made_with(results), "", *_summary(results, every)]
    for family, cases in FAMILIES.items():
        lines += [f"## {family}", ""]
        lines += [
            f"- **{case.name}.** {case.what} Measured: {case.quantity}. Truth: {case.source}"
            for case in cases
        ]
        lines.append("")
        fields = [
            f"- {case.name} with fields: {number(case, case.field_truth)}. {case.field_source}"
            for case in cases
            if case.field_truth is not None
        ]
        lines += [*fields, ""] if fields else []
        for title, methods in COLUMNS.items():
            table = _table(cases, methods, results)
            if table:
                lines += [f"**{title}**", "", *table]
        lines += _failures(cases, results)
    lines += _wrong(results)
    path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return path
