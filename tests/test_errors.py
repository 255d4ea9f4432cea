"""Each class of error says what its user must change: an argument, a model or what is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import asperity as asp

BALL = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"


def test_a_bad_option_is_an_argument_error() -> None:
    with pytest.raises(asp.ArgumentError, match="accuracy must be a positive"):
        asp.Cenic(accuracy=-1.0)


def test_a_bad_state_is_an_argument_error() -> None:
    sim = asp.Simulator(BALL, integrator=asp.Icf(time_step=1e-3))
    sim.data.qvel[2] = float("nan")
    with pytest.raises(asp.ArgumentError, match=r"qvel\[2\]"):
        sim.step()


def test_a_bad_file_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(asp.ModelError, match=r"none\.xml.*check the path"):
        asp.load_model(tmp_path / "none.xml")


def test_a_bad_element_is_a_model_error() -> None:
    text = BALL.replace("size='.1'", "size='.1' margin='nan'")
    with pytest.raises(asp.ModelError):
        asp.Simulator(text)


def test_a_missing_package_is_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from asperity.media.web_scene import import_viser

    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(asp.MissingExtra, match=r"pip install \"asperity\[viz\]\""):
        import_viser("A test", "viz")


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (asp.ArgumentError, ValueError),
        (asp.ModelError, ValueError),
        (asp.MissingExtra, ImportError),
        (asp.SimulationError, RuntimeError),
    ],
)
def test_classes_are_those_that_python_would_raise(error: type, base: type) -> None:
    assert issubclass(error, asp.AsperityError)
    assert issubclass(error, base)


def test_a_name_in_a_model_is_a_fault_of_the_model() -> None:
    text = "<custom><text name='asperity:geom:cup' data='friction=1'/></custom><worldbody>"
    with pytest.raises(asp.ModelError, match="no geom is named 'cup'"):
        asp.Simulator(BALL.replace("<worldbody>", text))
    with pytest.raises(asp.ArgumentError, match="no geom is named 'cup'"):
        asp.Simulator(BALL, contact=asp.ContactParameters(geoms={"cup": asp.Material(friction=1)}))
