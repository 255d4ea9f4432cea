"""Each class of error says what its user must change: an argument, a model or what is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import mujoco
import numpy as np
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


# One iteration is too few for it.
PILE = """
<mujoco><worldbody><geom type='plane' size='1 1 1'/>
  <body pos='0 0 .05'><freejoint/><geom type='box' size='.05 .05 .05'/></body>
  <body pos='.01 0 .15'><freejoint/><geom type='box' size='.05 .05 .05'/></body>
</worldbody></mujoco>
"""
HASTY = asp.Icf(time_step=0.01, max_iterations=1)


def test_a_simulation_that_stops_raises_unless_it_is_told_to_return() -> None:
    sim, other = asp.Simulator(PILE, integrator=HASTY), asp.Simulator(PILE, integrator=HASTY)
    report = other.advance_to(0.5, on_failure="return")
    assert report.status == asp.Status.NOT_CONVERGED
    with pytest.raises(
        asp.SimulationError, match=r"stopped at .* s .NOT_CONVERGED.*time step"
    ) as it:
        sim.advance_to(0.5)
    assert (it.value.status, it.value.time) == (report.status, report.time)
    np.testing.assert_array_equal(sim.data.qpos, other.data.qpos)
    with pytest.raises(asp.SimulationError):
        sim.step()
    assert sim.step(on_failure="return").status == report.status


def test_simulate_keeps_the_trajectory_of_a_failure() -> None:
    run = asp.simulate(PILE, (0.0, 0.5), integrator=HASTY, on_failure="return")
    with pytest.raises(asp.SimulationError) as caught:
        asp.simulate(PILE, (0.0, 0.5), integrator=HASTY)
    np.testing.assert_array_equal(caught.value.trajectory.qpos, run.qpos)
    assert run.status == caught.value.status == asp.Status.NOT_CONVERGED


def test_the_drop_in_step_raises_or_returns_the_status() -> None:
    model, _ = asp.load_model(PILE)
    model.opt.timestep = 0.01
    data = mujoco.MjData(model)
    with pytest.raises(asp.SimulationError):
        asp.step(model, data, 50, integrator=HASTY)
    status = asp.step(model, data, 50, integrator=HASTY, on_failure="return")
    assert status == asp.Status.NOT_CONVERGED
    model.opt.gravity[:] = 0.0
    assert asp.step(model, mujoco.MjData(model), integrator=asp.Icf(time_step=0.01)) == 0


@pytest.mark.parametrize("wrong", ["ignore", None, True])
def test_on_failure_is_one_of_two_words(wrong: object) -> None:
    sim = asp.Simulator(BALL)
    with pytest.raises(asp.ArgumentError, match="on_failure must be 'raise' or 'return'"):
        sim.advance_to(0.1, on_failure=wrong)  # type: ignore[arg-type]


def test_success_means_the_same_for_all() -> None:
    assert [status for status in asp.Status if status.success] == [
        asp.Status.SUCCESS,
        asp.Status.EVENT,
    ]
