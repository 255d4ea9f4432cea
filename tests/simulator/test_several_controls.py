"""Actuators with several controls: each control has a name wherever users meet it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from rich.console import Console

import asperity as asp
from asperity.cli.control_options import control_values
from asperity.cli.inventory import inventory
from asperity.plant.model.names import control_names
from asperity.plant.plant import Plant
from asperity.simulator.trajectory_columns import columns_of
from asperity.viewer.live_view import View

NAMES = ["push", "turn[0]", "turn[1]", "turn[2]", ""]
ARM = """
<mujoco><option gravity="0 0 0"/><compiler autolimits="true"/><worldbody>
  <body name="head"><joint name="neck" type="ball"/><geom size=".1" mass="1"/></body>
  <body name="cart" pos="1 0 0"><joint name="x" type="slide"/><geom size=".1" mass="1"/></body>
</worldbody><actuator>
  <motor name="push" joint="x"/><orientation name="turn" joint="neck" kp="1" dampratio="1"/>
  <motor joint="x" ctrlrange="-2 3"/>
</actuator></mujoco>"""


@pytest.fixture
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ARM)


def test_controls_have_the_names_of_their_actuators(model: mujoco.MjModel) -> None:
    assert control_names(model) == NAMES
    assert model.nu == len(NAMES)


def test_a_trajectory_has_a_column_for_each(model: mujoco.MjModel) -> None:
    run = asp.simulate(model, (0.0, 0.02), ctrl=np.arange(5.0))
    columns = columns_of(model, run)["ctrl"]
    assert list(columns) == [f"ctrl:{name or 4}" for name in NAMES]
    assert [values[-1] for values in columns.values()] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_the_command_line_sets_one_by_its_name(model: mujoco.MjModel) -> None:
    values = control_values(model, "turn[1]=0.5, push=2", np.zeros(5))
    assert values.tolist() == [2.0, 0.0, 0.5, 0.0, 0.0]
    with pytest.raises(asp.ArgumentError, match=r"there are: push, turn\[0\]"):
        control_values(model, "turn=1", np.zeros(5))
    with pytest.raises(asp.ArgumentError, match="the model has 5 controls"):
        control_values(model, "1,2", np.zeros(5))


def test_a_control_that_is_no_number_is_named(model: mujoco.MjModel) -> None:
    sim = asp.Simulator(model)
    sim.data.ctrl[2] = np.nan
    with pytest.raises(asp.ArgumentError, match=r"data\.ctrl\[2\] \(actuator 'turn\[1\]'\)"):
        sim.step()


def test_the_live_view_has_a_slider_for_each(model: mujoco.MjModel) -> None:
    pytest.importorskip("viser")
    view = View(asp.Simulator(model), port=0)
    try:
        sliders = view.panel.sliders
        assert [slider.label for slider in sliders] == [*NAMES[:4], "control 4"]
        assert (sliders[4].min, sliders[4].max) == (-2.0, 3.0)
    finally:
        view.close()


def test_actuators_are_counted_and_not_controls(model: mujoco.MjModel) -> None:
    console = Console(width=200)
    with console.capture() as text:
        console.print(*inventory(Plant(model, asp.ContactParameters(), evaluated=False)))
    line = next(line for line in text.get().splitlines() if "actuators" in line)
    assert line.split()[-1] == "3"
