"""Spellings from before version 1.0 are refused with those of today."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mujoco
import pytest

import asperity as asp
import asperity.loading
from asperity.cli import main
from asperity.renamed import MOVED

BALL = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body name="ball" pos="0 0 .1"><freejoint/><geom name="ball" size=".1"/></body>
</worldbody></mujoco>"""

PILE = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 .05"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
  <body pos=".01 0 .15"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
</worldbody></mujoco>"""

# Checkers of types know that options have gone.
ICF: Any = asp.Icf
derivatives: Any = asp.derivatives


def _ball() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(BALL)


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
            lambda: ICF(friction="lagged"),
            r"Icf no longer takes friction=.*write friction_bound=",
        ),
        (lambda: ICF(accuracy=1e-3), r"Icf no longer takes accuracy=.*write Cenic\(accuracy="),
        (lambda: asp.Sap(scheme="midpoint"), r"Sap no longer takes scheme=.*write theta_scheme="),
        (lambda: asp.Midas(scheme="bdf2"), r"Midas no longer takes scheme=.*write time_scheme="),
        (
            lambda: derivatives.linearize(_ball(), mujoco.MjData(_ball()), systems=()),
            r"linearize no longer takes systems=.*without external systems",
        ),
        (
            lambda: derivatives.Transition(_ball(), systems=()),
            r"Transition no longer takes systems=.*without external systems",
        ),
        *(
            (
                functools.partial(ICF, **{option: 1e-3}),
                rf"Icf no longer takes {option}=.*write Cenic\({option}=",
            )
            for option in ("max_step", "min_step", "error_norm", "velocity_weight")
        ),
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
    sim = asp.Simulator(BALL)
    with pytest.raises(AttributeError, match=rf"it is session\.{name} \(internal\) now"):
        getattr(sim, name)
    with pytest.raises(AttributeError, match=r"no attribute 'wrold'$"):
        sim.wrold  # type: ignore[attr-defined]  # noqa: B018


def test_what_is_missing_wrong_or_stopped_is_an_error_of_its_kind() -> None:
    """What code that catches the errors of before finds, docs/changes.md."""
    assert issubclass(asp.ArgumentError, ValueError)
    assert issubclass(asp.ModelError, ValueError)
    assert issubclass(asp.MissingExtra, ImportError)
    hasty = asp.Icf(time_step=0.01, max_iterations=1)
    sim = asp.Simulator(PILE, integrator=hasty)
    data = mujoco.MjData(sim.model)
    stops: tuple[Any, ...] = (
        functools.partial(sim.advance_to, 0.5),
        functools.partial(asp.simulate, PILE, (0.0, 0.5), integrator=hasty),
        functools.partial(asp.step, sim.model, data, 250, integrator=hasty),
    )
    for stop in stops:
        with pytest.raises(asp.SimulationError) as error:
            stop()
        assert error.value.status == asp.Status.NOT_CONVERGED
        report = stop(on_failure="return")
        assert getattr(report, "status", report) == asp.Status.NOT_CONVERGED


def test_what_nothing_calls_is_refused() -> None:
    with pytest.raises(asp.ArgumentError, match="control_period"):
        asp.Simulator(BALL, control_period=0.01)
    returns: Any = lambda model, data: 1.0  # noqa: E731
    sim = asp.Simulator(BALL, control=returns, control_period=0.01)
    with pytest.raises(asp.AsperityError, match="control"):
        sim.advance_to(0.02)


def test_contacts_give_one_after_the_other() -> None:
    sim = asp.Simulator(BALL)
    sim.advance_to(0.1)
    (contact,) = sim.contacts
    assert len(sim.contacts) == 1
    assert set(contact.geom) == {"ball", "floor"}
    assert "force" in sim.contacts.arrays()


def test_load_reports_have_both_names() -> None:
    assert asperity.loading.LoadReport is asp.LoadReport


def test_rooms_of_extras_say_how_they_are_imported() -> None:
    # A process of its own: other tests have imported them.
    code = "import asperity\nasperity.envs"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "has no attribute 'envs'; import asperity.envs first" in ended.stderr
