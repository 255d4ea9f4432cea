"""The table of Midas beside MuJoCo and Bullet says what was measured."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from studies.benchmarks.midas import CASES, Case, Result, deepest_overlap, pile, run_midas, write
from studies.experiments.engines import run_mujoco


def test_tables(tmp_path) -> None:
    ours = Result("pile", "Midas, 10 ms", "SUCCESS", 0.12, -950.0, 2.0, 1.2, 0.6, 1.5)
    theirs = Result("pile", "MuJoCo, 2 ms", "", 0.03, 1234.5)
    alone = Result("fine pile", "Midas, 10 ms", "SUCCESS", 1.0, -990.0, 2.0, 10.0, 5.0)
    write([ours, theirs, alone], tmp_path, 3)
    lines = (tmp_path / "midas.md").read_text(encoding="utf-8").splitlines()
    assert "| pile | SUCCESS | 2.00 | 1.20 | 0.60 | 1.5 | 950 µm |" in lines
    assert "| fine pile | SUCCESS | 2.00 | 10.00 | 5.00 |  | 990 µm |" in lines
    assert "| pile | 0.12, 0 µm | 0.03, 1.23e+03 µm |" in lines
    assert not any(line.startswith("| fine pile | 1") for line in lines)
    assert any("RTX 5090" in line for line in lines)
    with (tmp_path / "midas.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["engine"] for row in rows] == ["Midas, 10 ms", "MuJoCo, 2 ms", "Midas, 10 ms"]
    assert np.isnan(float(rows[1]["ms_per_step"]))


def test_a_case_runs() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    case = Case("two cubes", pile(2))
    status, iterations, factorizations, _, distance = run_midas(case)
    assert status == "SUCCESS"
    assert iterations > 0.0
    assert factorizations > 0.0
    assert 9e-4 < distance < 1.01e-3
    run = run_mujoco(case.task)
    # The cubes fall 1.5 mm, which soft contacts do not stop at once.
    assert 1e-4 < deepest_overlap(case.task, run) < 5e-3
    assert run.time[-1] == pytest.approx(case.task.duration)
