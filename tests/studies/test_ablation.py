"""Mechanisms that are switched off in copies of the package, and the page that shows the effect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from studies.benchmarks.ablation.mechanisms import MECHANISMS, METHODS, Mechanism
from studies.benchmarks.ablation.page import ALL_CASES, PAGE, changes, write, write_all_cases
from studies.benchmarks.ablation.results import NOTHING, load, save
from studies.benchmarks.ablation.trial import NEAR_BY, Trial
from studies.benchmarks.ablation.variant import PACKAGE, Body, Edit, Value, edited, make_variant
from studies.benchmarks.ablation.work_scenes import KINDS, WORK_SCENES
from studies.benchmarks.verification.families import CASES

SOURCE = '''"""A module."""

SHARE = 0.5


class Options:
    """Options."""

    scheme: str = "good"


def damp(speed: float) -> float:
    """Damp."""
    if speed > SHARE:
        return 0.5 * speed
    return speed
'''


def _results(source: str, *edits: Edit) -> tuple[float, str]:
    for edit in edits:
        source = edited(source, edit)
    names: dict[str, object] = {}
    exec(source, names)
    return names["damp"](1.0), names["Options"].scheme  # type: ignore[operator, attr-defined]


def test_edits_replace_bodies_constants_and_defaults() -> None:
    assert _results(SOURCE) == (0.5, "good")
    assert _results(SOURCE, Body("toy", "damp", "return speed")) == (1.0, "good")
    assert _results(SOURCE, Value("toy", "SHARE", "2.0")) == (1.0, "good")
    assert _results(SOURCE, Value("toy", "Options.scheme", "'bad'")) == (0.5, "bad")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Body("toy", "damps", "return 0.0"), "has no function 'damps'"),
        (Value("toy", "Options.schemes", "0"), "has no constant or field 'Options.schemes'"),
        (Value("toy", "SHARE", "0.5"), "changes nothing"),
    ],
)
def test_edits_of_what_is_not_there_are_refused(edit: Edit, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        edited(SOURCE, edit)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_every_mechanism_is_there_to_be_switched_off(mechanism: Mechanism) -> None:
    assert set(mechanism.methods) <= METHODS.keys()
    for edit in mechanism.off:
        file = PACKAGE.joinpath(*edit.module.split(".")).with_suffix(".py")
        edited(file.read_text(encoding="utf-8"), edit)


def test_a_variant_leaves_the_package_as_it_is(tmp_path: Path) -> None:
    edit = Body("integrators.methods.springs", "has_fast_springs", "return True")
    original = (PACKAGE / "integrators" / "methods" / "springs.py").read_text(encoding="utf-8")
    folder = make_variant([edit], tmp_path / "copy")
    copy = folder / PACKAGE.name / "integrators" / "methods" / "springs.py"
    assert copy.read_text(encoding="utf-8") == edited(original, edit)
    assert (PACKAGE / "integrators" / "methods" / "springs.py").read_text(
        encoding="utf-8"
    ) == original


def _trials(case: str, grades: tuple[int, int, int, int, int], solves: int) -> list[Trial]:
    return [
        Trial(case, "cenic", 1e-3, near_by, grade, 1.0, 10, 1, solves, 2 * solves)
        for near_by, grade in zip(NEAR_BY, grades, strict=True)
    ]


def test_a_case_changes_with_the_median_of_its_runs() -> None:
    before = _trials("steady", (0, 0, 0, 0, 0), 10) + _trials("lost", (0, 0, 1, 0, 1), 10)
    after = _trials("steady", (0, 2, 0, 1, 0), 10) + _trials("lost", (2, 1, 2, 0, 2), 10)
    found = changes(before, after)
    assert (found.worse, found.better, found.wrong) == ({"lost": ["0.001"]}, {}, {"lost"})
    assert found.names(found.worse) == "**lost**"
    back = changes(after, before)
    assert (back.worse, back.better, back.wrong) == ({}, {"lost": ["0.001"]}, set())
    # Where a case changes at some accuracies alone, they are named.
    coarse = [replace(trial, number=1e-2) for trial in before]
    some = changes(before + coarse, after + coarse)
    assert some.names(some.worse) == "**lost** (0.001)"
    # Cases that are near instead of right are worse, and not wrong.
    near = _trials("steady", (1, 1, 0, 1, 0), 10) + _trials("lost", (2, 2, 2, 2, 2), 10)
    assert changes(before, near).names(changes(before, near).worse) == "steady, **lost**"


def test_the_page_shows_what_was_lost_and_the_work(tmp_path: Path) -> None:
    base = _trials("lost", (0, 0, 0, 0, 0), 10)
    off = [replace(trial, grade=2, solves=12, iterations=10) for trial in base]
    path = tmp_path / "ablation.json"
    save(NOTHING, "cenic", base, path)
    assert save("spring-share", "cenic", off, path) == load(path)
    page = write(load(path), tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| nothing |  | 0, 5, 0 of 0 | 100 |  |  |  |  |" in page
    assert " | 0, −5, 0 | −50 % |  |  | 1, **1 wrong** | 0 |" in page
    named = write_all_cases(load(path), tmp_path / "all.md").read_text(encoding="utf-8")
    assert "| spring-share | **lost** |  | +20 % |" in named


def test_cases_that_are_run_again_leave_the_others(tmp_path: Path) -> None:
    path = tmp_path / "ablation.json"
    first, second = _trials("lost", (0,) * 5, 10), _trials("held", (0,) * 5, 20)
    save(NOTHING, "cenic", first, path)
    save(NOTHING, "cenic", second, path)
    again = [replace(trial, grade=1) for trial in first]
    assert save(NOTHING, "cenic", again, path)[NOTHING, "cenic"] == again + second


def test_scenes_without_an_outcome_count_work_alone(tmp_path: Path) -> None:
    case = _trials("lost", (0, 0, 0, 0, 0), 10)
    base = case + _trials("clutter-hard", (0,) * 5, 20) + _trials("ant", (0, 0, 0, 0, 3), 30)
    off = case + _trials("clutter-hard", (0,) * 5, 21) + _trials("ant", (0, 0, 0, 3, 0), 60)
    path = tmp_path / "ablation.json"
    save(NOTHING, "cenic", base, path)
    save("spring-share", "cenic", off, path)
    page = write(load(path), tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| 0, 5, 0 of 0 | 100 | 200 | 300 |  |  |" in page
    # A robot that has stopped is compared with nothing.
    assert "| 0, 0, 0 | 0 | +5 % | +100 % | 0 | 0 |" in page


def test_scenes_that_count_work_are_no_cases() -> None:
    names = [scene.name for scene in WORK_SCENES]
    assert len(set(names)) == len(names)
    assert not set(names) & CASES.keys()
    assert {scene.kind for scene in WORK_SCENES} == KINDS.keys()
    assert {method for scene in WORK_SCENES for method in scene.methods} <= METHODS.keys()


def test_the_pages_in_the_repository_are_those_of_the_results(tmp_path: Path) -> None:
    assert write(load(), tmp_path / "page.md").read_bytes() == PAGE.read_bytes()
    assert write_all_cases(load(), tmp_path / "all.md").read_bytes() == ALL_CASES.read_bytes()
