"""Smoothing bounds contact, whatever model and contact parameters say."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import Smoothing, Transition, contact_parameter

MODEL = """<mujoco><option timestep=".001"/>
  <custom>
    <text name="asperity" data="stiction_tolerance=1e-4"/>
    <text name="asperity:geom:ball" data="stiffness=5e4"/>
  </custom>
  <worldbody><geom name="floor" type="plane" size="5 5 .1" friction=".5"/>
  <body pos="0 0 .1"><freejoint/><geom name="ball" size=".1" mass="1" friction=".5"/></body>
  </worldbody></mujoco>"""


@pytest.mark.parametrize("stiffness", [1e3, 1e6])
def test_a_ball_rests_as_deep_as_the_softer_of_both(stiffness: float) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    transition = Transition(model, smoothing=Smoothing(stiffness=stiffness))
    depth = 9.81 / min(5e4, stiffness)
    data = mujoco.MjData(model)
    data.qpos[2] = 0.1 - depth
    states = transition.trajectory(transition.state_of(data), np.zeros((300, 0)))
    assert 0.1 - states[-1, 2] == pytest.approx(depth, rel=1e-3)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-2])
def test_a_slope_of_friction_is_that_of_the_larger_tolerance(tolerance: float) -> None:
    """Below the tolerance friction is a damper of μ n/v_s: what slips slowly decays with it."""
    model = mujoco.MjModel.from_xml_string(MODEL.replace("<freejoint/>", _SLIDES))
    transition = Transition(model, smoothing=Smoothing(stiction_tolerance=tolerance))
    data = mujoco.MjData(model)
    depth = 9.81 / 5e4
    data.qpos[1] = -depth
    slip = 1e-7
    data.qvel[0] = slip
    end = transition(transition.state_of(data), np.zeros(0))
    rate = 1e-3 * 0.5 * 9.81 / max(tolerance, 1e-4)
    assert end[2] == pytest.approx(slip / (1.0 + rate), rel=2e-3)


_SLIDES = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>'


@pytest.mark.parametrize("integrator", [asp.Icf(resolve_impacts=False), asp.ImplicitEuler()])
def test_what_is_not_smoothed_stays_as_it_is(integrator: asp.Integrator) -> None:
    model = mujoco.MjModel.from_xml_string(
        MODEL.replace("stiction_tolerance=1e-4", "dissipation=10").replace("<freejoint/>", _SLIDES)
    )
    ends = []
    for smoothing in (None, Smoothing(), Smoothing(stiction_tolerance=1e-9, stiffness=1e9)):
        transition = Transition(model, integrator=integrator, smoothing=smoothing, step=1e-3)
        data = mujoco.MjData(model)
        data.qpos[1], data.qvel[0] = -9.81 / 5e4, 1e-5
        ends.append(transition(transition.state_of(data), np.zeros(0)))
    np.testing.assert_array_equal(ends[1], ends[0])
    np.testing.assert_array_equal(ends[2], ends[0])


def test_what_an_integrator_does_not_read_is_refused() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    sap = asp.Sap(time_step=1e-3, slip_regularization=1e-3, resolve_impacts=False, gliding=True)
    for options, said in (
        ({"smoothing": Smoothing(stiction_tolerance=1e-2)}, "smoothing .*stiction_tolerance"),
        ({"parameters": [contact_parameter("dissipation", 2.0)]}, "'dissipation' has no effect"),
    ):
        with pytest.raises(asp.ArgumentError, match=f"{said}.*omit it"):
            Transition(model, integrator=sap, **options)
    Transition(model, integrator=sap, smoothing=Smoothing(stiffness=1e3))


def test_what_is_no_smoothing_is_refused() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    with pytest.raises(asp.ArgumentError, match="stiffness must be positive"):
        Smoothing(stiffness=-1.0)
    with pytest.raises(asp.ArgumentError, match="smoothing bounds the parameter 'stiffness'"):
        Transition(
            model,
            parameters=[contact_parameter("stiffness", 1e4)],
            smoothing=Smoothing(stiffness=1e3),
        )
