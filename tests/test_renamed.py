"""Spellings from before version 1.0 are refused with those of today."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import asperity as asp
from asperity.cli import main
from asperity.renamed import MOVED


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: asp.Cenic(scheme="trapezoid"),
            r"Cenic no longer takes scheme=.*write error_estimate=",
        ),
        (
            lambda: asp.Cenic(friction="lagged"),
            r"Cenic no longer takes friction=.*write friction_bound=",
        ),
        (
            lambda: asp.Icf(friction="lagged"),
            r"Icf no longer takes friction=.*write friction_bound=",
        ),
        (lambda: asp.Icf(accuracy=1e-3), r"Icf no longer takes accuracy=.*write Cenic\(accuracy="),
        (lambda: asp.Sap(scheme="midpoint"), r"Sap no longer takes scheme=.*write theta_scheme="),
        (lambda: asp.Midas(scheme="bdf2"), r"Midas no longer takes scheme=.*write time_scheme="),
    ],
)
def test_old_options_are_refused_with_the_new_ones(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(asp.ArgumentError, match=message):
        make()


def test_editors_see_the_options_of_today() -> None:
    names = inspect.signature(asp.Cenic).parameters
    assert "error_estimate" in names
    assert "scheme" not in names


@pytest.mark.parametrize("option", ["--scheme", "--integrator-friction"])
def test_old_options_of_commands_are_refused_with_the_new_ones(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "scene.xml", option, "lagged"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{option} is no longer an option" in said


def test_names_that_moved_say_where_they_are() -> None:
    for name, room in MOVED.items():
        with pytest.raises(AttributeError, match=rf"asperity\.{room}\.{name} now"):
            getattr(asp, name)
        assert name in getattr(asp, room).__all__


def test_the_root_has_about_thirty_names() -> None:
    assert len(asp.__all__) <= 34
    assert {"Integrator", "LoadReport"} <= set(asp.__all__)


@pytest.mark.parametrize("name", ["world", "plant", "method", "coupling"])
def test_what_a_simulator_is_made_of_is_internal(name: str) -> None:
    body = "<body><freejoint/><geom size='.1'/></body>"
    sim = asp.Simulator(f"<mujoco><worldbody>{body}<geom size='.1'/></worldbody></mujoco>")
    with pytest.raises(AttributeError, match=rf"it is session\.{name} \(internal\) now"):
        getattr(sim, name)
    with pytest.raises(AttributeError, match=r"no attribute 'wrold'$"):
        sim.wrold  # type: ignore[attr-defined]  # noqa: B018
