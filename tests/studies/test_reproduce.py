"""``asperity reproduce`` and the list of experiments."""

from __future__ import annotations

import csv
import dataclasses
import re
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from rich.console import Console

import asperity.media
import studies.experiments
from asperity import ContactParameters
from asperity.cli import main
from asperity.cli.progress import shown_progress
from asperity.errors import ArgumentError, SimulationError
from studies.experiments import (
    Curve,
    Experiment,
    Film,
    Panel,
    experiments,
    kept,
    select,
)
from studies.experiments.form import Measured, Runs, finding

_DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "experiments.md"


def test_every_experiment_is_in_its_document(capsys) -> None:
    document = _DOCUMENT.read_text(encoding="utf-8")
    names = [experiment.name for experiment in experiments()]
    assert len(set(names)) == len(names)
    for name in names:
        assert f"`{name}`" in document
    assert main(["reproduce", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(f" {name} " in shown for name in names)
    assert main(["reproduce", "--list", "sap-figure-5"]) == 0
    shown = capsys.readouterr().out
    assert "sap-figure-5 " in shown
    (time,) = {one.cpu_s for one in kept.load() if one.experiment == "sap-figure-5"}
    assert f" {time} s" in shown
    assert "sap-figure-6" not in shown


def test_the_nightly_script_runs_what_takes_less_than_two_minutes() -> None:
    script = (_DOCUMENT.parents[1] / ".ci" / "nightly").read_text(encoding="utf-8")
    names = re.findall(r"'([a-z]+-[^' ]+)'", script)
    assert len(names) >= 5
    quick = {one.experiment for one in kept.load() if one.cpu_s and float(one.cpu_s) < 120.0}
    assert {one.name for one in select(names)} == quick  # an unknown name is an error


def test_selection() -> None:
    names = [experiment.name for experiment in select(["sap"])]
    assert names[:4] == ["sap-figure-5", "sap-figure-6", "sap-figure-7", "sap-figure-9"]
    assert select(["sap-*"]) == select(["sap"])
    assert [e.name for e in select(["sap-figure-7", "sap-figure-[57]"])] == [
        "sap-figure-7",
        "sap-figure-5",
    ]
    with pytest.raises(ArgumentError, match="'sap-figure-99'; there are cenic-dish-rack"):
        select(["sap-figure-5", "sap-figure-99"])


def test_smallest_experiment_end_to_end(tmp_path, capsys) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "folder"
    assert main(["reproduce", "sap-figure-5", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "28.3%" in shown
    assert "28 %" in shown
    with (out / "sap-figure-5.csv").open() as file:
        rows = list(csv.DictReader(file))
    midpoint = [float(row["y"]) for row in rows if row["curve"] == "midpoint"]
    assert len(midpoint) == 251
    np.testing.assert_allclose(midpoint, 1.0, rtol=1e-12)
    assert (out / "sap-figure-5.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_data_are_written(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["reproduce", "sap-figure-5", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert 'pip install "asperity[reproduce]"' in printed.err
    assert "symplectic" in printed.out
    assert [path.name for path in tmp_path.iterdir()] == ["sap-figure-5.csv"]


def made(name: str, error: BaseException | None = None, film: Film | None = None) -> Experiment:
    def simulate(full: bool, progress) -> bool:
        progress(0.5)
        if error is not None:
            raise error
        return full

    def measure(runs: Runs) -> Measured:
        yield finding("[m] of fullness", str(runs.one), paper="[1]")
        yield Panel("x", "y", [Curve("line", np.arange(3.0), np.arange(3.0))])
        if film is not None:
            yield film

    sweep = "made for this test", simulate, lambda full: [{"full": full}]
    return Experiment(name, "no paper", *sweep, measure)


@pytest.fixture
def fake(monkeypatch) -> dict[str, Experiment]:
    known: dict[str, Experiment] = {}
    monkeypatch.setattr(
        studies.experiments, "select", lambda names: tuple(known[name] for name in names)
    )
    return known


def test_failures_do_not_stop_the_others(fake, tmp_path, capsys) -> None:
    fake.update(a=made("a", SimulationError("it fell over.")), b=made("b"))
    assert main(["reproduce", "a", "b", "--full", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "a failed: it fell over." in printed.err
    assert "[m] of fullness" in printed.out
    assert "True" in printed.out
    assert (tmp_path / "b.csv").is_file()
    assert not (tmp_path / "a.csv").exists()


def test_video_of_what_has_one(fake, tmp_path, monkeypatch, capsys) -> None:
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    film = Film(model, np.arange(3.0), np.tile(model.qpos0, (3, 1)), "side")
    fake.update(still=made("still"), moving=made("moving", film=film))
    written = []

    def write(path, *arguments, **options):
        written.append((path, arguments, options))
        return path

    monkeypatch.setattr(asperity.media, "write_video", write)
    assert main(["reproduce", "moving", "--out", str(tmp_path)]) == 0
    assert written == []
    assert main(["reproduce", "moving", "--video", "--out", str(tmp_path)]) == 0
    assert written == [
        (
            tmp_path / "moving.mp4",
            (film.model, film.time, film.qpos),
            {"camera": "side", "contact": None},
        )
    ]
    assert "moving.mp4" in "".join(capsys.readouterr().out.split())
    assert main(["reproduce", "still", "--video", "--out", str(tmp_path)]) == 1
    assert "still has no video" in capsys.readouterr().err
    assert len(written) == 1
    assert (tmp_path / "still.csv").is_file()


def test_settings_of_those_that_have_them(fake, tmp_path, capsys) -> None:
    given = []

    def sweep(full: bool, **settings):
        given.append(settings)
        return [{"full": full}]

    a = dataclasses.replace(made("a"), sweep=sweep, settings=("seeds", "policies"))
    fake.update(a=a, b=made("b"))
    out = ["--out", str(tmp_path)]
    assert main(["reproduce", "a", "b", *out]) == 0
    assert main(["reproduce", "a", "--seeds", "2", "--policies", str(tmp_path), *out]) == 0
    assert given == [{}, {"seeds": 2, "policies": tmp_path}]
    # Before anything is done.
    assert main(["reproduce", "a", "b", "--seeds", "2", *out]) == 2
    error = "".join(capsys.readouterr().err.split())
    assert "bhasnoseedstochoose;midas-" in error
    assert "midas-figure-7" in error
    assert main(["reproduce", "a", "--iterations", "3", *out]) == 2
    assert main(["reproduce", "a", "--seeds", "0", *out]) == 2
    assert len(given) == 2


def test_progress_without_a_terminal(monkeypatch, capsys) -> None:
    """A line after a third of a minute, and then every minute."""
    now = [0.0]
    monkeypatch.setattr("asperity.cli.progress.clock.monotonic", lambda: now[0])
    with shown_progress("long", Console(stderr=True, width=200)) as show:
        for second in range(0, 201, 2):
            now[0] = float(second)
            show(second / 400.0)
        # What was there already does not make the rest any faster.
        show(0.9)
        now[0] = 260.0
        show(0.95)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        "long: 5 % after 20 s",
        "long: 20 % after 80 s",
        "long: 35 % after 2 min",
        "long: 50 % after 3 min",
        "long: 95 % after 4 min",
    ]
    assert [line.partition("about ")[2] for line in lines[:4]] == [
        *("6 min more.", "5 min more.", "4 min more.", "3 min more.")
    ]


def test_interrupt(fake, tmp_path, capsys) -> None:
    fake.update(a=made("a", KeyboardInterrupt()), b=made("b"))
    assert main(["reproduce", "a", "b", "--out", str(tmp_path)]) == 130
    assert "a was interrupted" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_bad_input(tmp_path, capsys) -> None:
    assert main(["reproduce"]) == 2
    assert "asperity reproduce --list" in capsys.readouterr().err
    assert main(["reproduce", "bowl"]) == 2
    assert "no experiment is called 'bowl'" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["reproduce", "sap-figure-5", "--out", str(tmp_path / "file")]) == 2
    assert "--out" in capsys.readouterr().err


def test_curves_must_have_as_many_values_as_places() -> None:
    with pytest.raises(ValueError, match="'bent'"):
        Curve("bent", np.zeros(2), np.zeros(3))


def test_video_of_an_experiment_with_a_film(tmp_path, monkeypatch) -> None:
    film = Film(
        mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>"),
        np.arange(2.0),
        np.zeros((2, 0)),
        contact=ContactParameters(surface="compliant"),
    )
    written = []

    def write(path, model, time, qpos, *, camera, contact) -> Path:
        written.append((model, contact))
        path.write_bytes(b"")
        return path

    monkeypatch.setattr("asperity.media.write_video", write)
    with_film = made("shown", film=film)
    assert with_film.run(tmp_path, video=True).files[-1] == tmp_path / "shown.mp4"
    assert written == [(film.model, film.contact)]
    # Nobody asked, or there is nothing to see.
    for outcome in (with_film.run(tmp_path), made("hidden").run(tmp_path, video=True)):
        assert not any(path.suffix == ".mp4" for path in outcome.files)
    assert len(written) == 1
