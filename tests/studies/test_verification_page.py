"""The command that makes the verification page: its names, what it keeps, what it writes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studies.benchmarks.verification import runner
from studies.benchmarks.verification.__main__ import main
from studies.benchmarks.verification.case import Case, NotApplicable, Simulate
from studies.benchmarks.verification.families import CASES, FAMILIES
from studies.benchmarks.verification.field_ball import FieldBall, Plane
from studies.benchmarks.verification.methods import COLUMNS, Method, evaluate, label, resolve
from studies.benchmarks.verification.page import ALL_METHODS, PAGE, grade, write, write_page
from studies.benchmarks.verification.results import Result, load, save
from studies.peers.limits import Deadline, OutOfTime, Stopped


def _case(found: dict[int, float | Exception]) -> Case:
    """A case in which each way of a method finds a number or fails."""

    def measure(simulate: Simulate) -> float:
        outcome = found[simulate]  # type: ignore[index]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return Case("toy", "A toy.", "a number", 1.0, "Made up.", 0.1, measure)


def _method(ways: int) -> Method:
    return Method("toy", tuple(lambda deadline, i=i: i for i in range(ways)))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("found", "value", "status"),
    [
        ({0: 1.5}, 1.5, "ok"),
        ({0: 3.0, 1: 0.8}, 0.8, "ok"),
        ({0: OutOfTime(), 1: 7.0}, 7.0, "ok"),
        ({0: float("inf")}, None, "never"),
        ({0: float("nan"), 1: 2.0}, 2.0, "ok"),
        ({0: OutOfTime()}, None, "not finished in 3 s"),
        ({0: NotApplicable("its steps are fixed")}, None, "cannot: its steps are fixed"),
        ({0: Stopped("non_finite at 1 s")}, None, "stopped: non_finite at 1 s"),
    ],
)
def test_the_way_nearest_to_the_truth_counts_and_failures_have_reasons(
    found: dict[int, float | Exception], value: float | None, status: str
) -> None:
    assert evaluate(_case(found), _method(len(found)), 3.0) == (value, status)


def test_grades_follow_the_tolerance() -> None:
    case = _case({})
    assert [grade(case, v) for v in (1.0, 1.09, 0.89, 1.49, 0.4, None)] == [0, 0, 1, 1, 2, 2]


def test_names_of_methods() -> None:
    assert label("cenic@1e-3") == "cenic 1e-3"
    assert label("icf@1e-2") == "icf 10 ms"
    assert label("mujoco:careful") == "mujoco:careful"
    assert len(resolve("mujoco:careful").ways) == 2
    assert resolve("tamsi@1e-5").name == "tamsi@1e-5"
    for name in ("cenic", "euler@1e-3", "cenic@fast"):
        with pytest.raises(ValueError, match=name.partition("@")[0]):
            resolve(name)


def _results(value: float | None, status: str = "ok") -> list[Result]:
    return [Result("projectile", "cenic@1e-3", value, status, 0.5, "asperity 0.1.0")]


def test_results_of_a_part_replace_their_like_and_leave_the_others(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    other = Result("trot", "mujoco", 2.0, "ok", 1.0, "mujoco-core 4.0.1")
    save([*_results(1.0), other], path)
    kept = save(_results(None, "not finished in 10 s"), path)
    assert kept == load(path)
    assert kept["trot", "mujoco"] == other
    assert kept["projectile", "cenic@1e-3"].status == "not finished in 10 s"
    assert len(json.loads(path.read_text(encoding="utf-8"))) == 2


def test_the_page_marks_what_is_wrong_and_says_why_runs_stopped(tmp_path: Path) -> None:
    truth = CASES["projectile"].truth
    rows = {
        "cenic@1e-2": (truth + 1.0, "ok"),
        "cenic@1e-3": (truth + 0.02, "ok"),
        "cenic@1e-4": (truth, "ok"),
        "icf@1e-2": (None, "not finished in 10 s"),
        "icf@1e-3": (None, "stopped: non_finite at 0.3 s"),
        "midas@1e-2": (None, "cannot: it is a toy"),
        "sap@1e-2": (None, "never"),
    }
    results = {
        ("projectile", name): Result("projectile", name, value, status, 1.0, "asperity 0.1.0")
        for name, (value, status) in rows.items()
    }
    text = write(results, tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| −0.905 ± 0.005 | **0.095** | *−0.885* | −0.905 |" in text
    assert "| >10 s | stopped | **never** | – |" in text
    assert "- projectile, icf 1 ms: stopped: non_finite at 0.3 s" in text
    assert "- sap 10 ms: projectile." in text
    assert "- icf 1 ms: projectile (stopped)." in text
    assert all(f"**{name}.** {case.what}" in text for name, case in CASES.items())
    assert "| cenic 1e-2 | 1 | 0 | 0 | 1 | 0 | 1 |" in text
    text = write_page(results, tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| cenic 1e-3 | 1 | 0 | 1 | 0 | 0 | 1 |" in text
    assert "| icf 1 ms | 1 | 0 | 0 | 0 | 1 | 1 |" in text
    # Of one case: near at 1e-3, right at 1e-4, stopped, no results, and one that cannot take part.
    assert "| Smooth motion | 0/1 | 1/1 | 0/1 | – | – | – | – |" in text


def test_the_pages_in_the_repository_have_every_case_and_column() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| {family} |" in page for family in FAMILIES)
    text = ALL_METHODS.read_text(encoding="utf-8")
    assert all(f"| {name} |" in text for name in CASES)
    assert all(f" {label(name)} |" in text for names in COLUMNS.values() for name in names)


def test_the_command_runs_a_case_and_writes_what_it_found(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    results, page = tmp_path / "kept.json", tmp_path / "page.md"
    files = ["--results", str(results), "--output", str(page)]
    main(["--cases", "projec*", "--methods", "icf@1e-3,mujoco", *files])
    kept = load(results)
    assert set(kept) == {("projectile", "icf@1e-3"), ("projectile", "mujoco")}
    assert all(row.status == "ok" for row in kept.values())
    assert kept["projectile", "icf@1e-3"].value == pytest.approx(
        CASES["projectile"].truth, abs=0.01
    )
    assert "mujoco" in page.read_text(encoding="utf-8")
    assert "[2/2] projectile" in capfd.readouterr().err


def test_a_job_that_ends_its_process_or_blocks_it_leaves_the_worker_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = runner._Worker()
    monkeypatch.setattr(runner, "PATIENCE", 60.0)
    assert worker(("projectile", "mujoco", 10.0)).status == "ok"
    assert worker._process is not None
    worker._process.kill()
    assert worker(("projectile", "mujoco", 10.0)).status == "failed: it ended the program"
    monkeypatch.setattr(runner, "PATIENCE", 0.0)
    assert worker(("projectile", "mujoco", 1e-9)).status == "not finished in 1e-09 s"
    assert worker._process is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "perpetuum"], "perpetuum"),
        (["--methods", "verlet@1e-3"], "verlet@1e-3"),
    ],
)
def test_unknown_names_end_the_command_before_anything_runs(
    arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit, match=message):
        main(arguments)


def test_a_deadline_passes() -> None:
    with pytest.raises(OutOfTime):
        Deadline(0.0).check()
    Deadline(60.0).check()


def test_pressure_fields_are_graded_by_their_own_truth(tmp_path: Path) -> None:
    case = replace(_case({}), truth=1.0, field_truth=2.0)
    assert [grade(case, 2.0, m) for m in ("cenic@1e-3", "cenic+fields@1e-3")] == [2, 0]
    rows = [
        Result("slip-to-roll", name, 1.2684, "ok", 1.0, "asperity 0.1.0")
        for name in ("cenic@1e-3", "cenic+fields@1e-3")
    ]
    results = {(row.case, row.method): row for row in rows}
    text = write(results, tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| slip-to-roll | 1.429 ± 0.01 | **1.268** |" in text
    assert "| slip-to-roll | 1.268 ± 0.01 | 1.268 |" in text
    assert "- slip-to-roll with fields: 1.268." in text


def test_what_rolls_on_fields_is_told_by_integrals() -> None:
    """Of a ball on a rigid plane: its force, and what resists rolling, d ω F r δ/3."""
    radius, modulus, dissipation, depth, speed = 0.1, 1e7, 10.0, 1e-4, 2.0
    plane = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    ball = FieldBall(radius, 1.0, 0.0, (0.0, 0.0, 0.0), [plane], modulus, dissipation)
    spin = np.array([0.0, speed / radius, 0.0])
    place, velocity = np.array([0.0, 0.0, radius - depth]), np.array([speed, 0.0, 0.0])
    force, moment = ball.on(plane, place, velocity, spin)
    low = radius - depth
    exact = math.pi * 2 * modulus * ((radius**2 - low**2) / 2 - (radius**3 - low**3) / 3 / radius)
    assert force[2] == pytest.approx(exact, rel=1e-9)
    resists = dissipation * spin[1] * exact * radius * depth / 3.0
    assert moment[1] == pytest.approx(-resists, rel=2e-3)
    # A soft plane as deep as the ball's radius takes as much of the overlap as the ball, about.
    soft = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), depth=radius)
    half, _ = ball.on(soft, place, 0.0 * velocity, 0.0 * spin)
    assert half[2] == pytest.approx(0.5 * exact, rel=2e-3)
