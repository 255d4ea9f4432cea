"""The benchmark of TAMSI: Drake's plant is the scene that Asperity simulates."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pydrake")

import asperity as asp
from studies.benchmarks.tamsi import asperity_engine, drake_engine, measure, slip, write


def test_both_engines_converge_to_the_same_slip() -> None:
    """Through two phases of slip and stick, the first as long as half a period."""
    for end in (0.25, 0.5):
        found = []
        for step in (2e-4, 1e-4):
            engine = asperity_engine(asp.Tamsi(time_step=step, friction_law="parabolic"))
            engine.advance(end)
            found.append(slip(engine))
        limit = 2.0 * found[1] - found[0]
        drake = drake_engine(1e-4)
        drake.advance(end)
        assert abs(limit) > 1e-3
        assert slip(drake) == pytest.approx(limit, abs=1e-4)


def test_a_measurement_and_its_table(tmp_path: Path) -> None:
    results = measure(3e-3, 1, 0.1)
    assert [r.method.split()[0] for r in results] == ["drake", *["asperity"] * 6]
    assert results[0].ratio_to_drake == 1.0
    assert all(r.cpu_per_second > 0.0 for r in results)
    assert results[1].ratio_to_tamsi == 1.0
    text = write(results, tmp_path, 1, 0.1).read_text()
    assert text.count("| 3 ms |") == 7
    assert len((tmp_path / "tamsi.csv").read_text().splitlines()) == 8
