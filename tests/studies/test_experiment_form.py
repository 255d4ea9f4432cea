"""Sweeps, measures and verdicts of an experiment."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from studies.experiments import Curve, Experiment, Panel
from studies.experiments.form import (
    Measured,
    Paper,
    Runs,
    about,
    at_least,
    at_most,
    finding,
    product,
    slope,
    twofold,
)


def power(exponent: int, x: float, progress) -> float:
    progress(1.0)
    return x**exponent


def measure(runs: Runs) -> Measured:
    for exponent, own in runs.by("exponent").items():
        found = slope(own.axis("x"), own.values())
        yield finding(f"slope {exponent}", found, "{:.2f}", about("1", 1.0, 0.1))
    rows = [(f"{key['x']:g}", y) for key, y in runs.where(exponent=2)]
    yield finding("squares", rows, "{}: {:.1f}", at_most("4", 4.0), join="; ")
    yield Panel("x", "y", runs.curves("{exponent} at {x:g}", lambda y: ([0.0], [y]), "o"))


SQUARES = Experiment(
    "toy-1",
    "",
    "",
    power,
    lambda full: product(exponent=(1, 2), x=(1.0, 2.0, 4.0) if full else (1.0, 2.0)),
    measure,
)


def test_a_sweep_is_simulated_and_measured() -> None:
    shares: list[float] = []
    found = SQUARES.compute(False, shares.append)
    assert [(one.quantity, one.ours, one.paper, one.verdict) for one in found.findings] == [
        ("slope 1", "1.00", "1", "yes"),
        ("slope 2", "2.00", "1", "no"),
        ("squares", "1: 1.0; 2: 4.0", "4", "yes"),
    ]
    assert found.findings[2].values == ("1", 1.0, "2", 4.0)
    assert all(a <= b for a, b in itertools.pairwise(shares))
    assert shares[-1] == 1.0
    (panel,) = found.panels
    assert [(one.label, one.style, list(one.y)) for one in panel.curves] == [
        ("1 at 1", "o", [1.0]),
        ("1 at 2", "o", [2.0]),
        ("2 at 1", "o", [1.0]),
        ("2 at 2", "o", [4.0]),
    ]
    assert SQUARES.compute(True).findings[2].ours == "1: 1.0; 2: 4.0; 4: 16.0"
    assert SQUARES.compute(True).findings[2].verdict == "no"


@pytest.mark.parametrize(
    ("paper", "values", "agrees"),
    [
        (Paper("high"), (3.0,), None),
        (about("3", 3.0, 0.5), (3.4, "words"), True),
        (about("3", 3.0, 0.5), (3.4, 3.6), False),
        (Paper("two", (1.0, 10.0), (2.0, 20.0)), (1.5, 15.0), True),
        (Paper("two", (1.0, 10.0), (2.0, 20.0)), (15.0, 1.5), False),
        (at_most("few", 5.0), (np.nan,), False),
        (at_most("few", 5.0), ("never",), False),
        (at_most("few", 5.0), (np.int64(4),), True),
        (at_least("many", 5.0), (4,), False),
        (twofold("4", 4.0), (7.9, 2.1), True),
        (twofold("4", 4.0), (8.1,), False),
    ],
)
def test_agreement_with_the_paper(paper: Paper, values: tuple, agrees: bool | None) -> None:
    assert paper.agrees(values) is agrees


def test_what_is_judged_need_not_be_what_is_shown() -> None:
    shown, few = (1.0, 9.0), at_most("few", 5.0)
    assert finding("all", shown, "{} to {}", few).verdict == "no"
    found = finding("first", shown, "{} to {}", few, judged=1.0)
    assert (found.ours, found.values, found.verdict) == ("1.0 to 9.0", shown, "yes")


def test_runs_that_experiments_share_are_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.experiments.registry._SHARED", {})
    done = []

    def simulate(x: int, progress) -> int:
        done.append(x)
        return x

    def nothing(runs: Runs) -> Measured:
        yield Panel("x", "y", [Curve("all", runs.axis("x"), runs.values())])

    sweep = [{"x": 1}, {"x": 2}]
    one, two = (
        Experiment(f"toy-{i}", "", "", simulate, lambda full: sweep, nothing, shared=True)
        for i in range(2)
    )
    one.compute(), two.compute()
    assert done == [1, 2]


def test_the_only_run_is_one() -> None:
    runs = Runs([({"x": 1}, "a"), ({"x": 2}, "b")])
    assert runs.where(x=2).one == "b"
    assert runs.results == ["a", "b"]
    with pytest.raises(ValueError, match="too many values"):
        _ = runs.one
