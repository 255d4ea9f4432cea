"""Derivatives of steps in which round sides of free bodies turn on what they touch."""

from __future__ import annotations

import derivative_models as models
import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import Transition, body_mass, model_number
from asperity.integrators.integrator import Integrator

_TOP = """<mujoco><option timestep=".01"/>
  <custom><text name="asperity" data="stiffness=1e4 dissipation=1"/></custom>
  <worldbody><geom type="plane" size="5 5 .1"/>{other}
  <body name="top" pos="0 0 {height}"><freejoint/>
    <inertial pos=".01 0 -.02" mass=".5" diaginertia="4e-4 5e-4 6e-4"/>
    <geom {shape}/></body></worldbody></mujoco>"""
_SHAPES = {
    "sphere": ('size=".05"', 0.049),
    "capsule": (
        'type="capsule" size=".05 .06" euler="70 0 0"',
        0.049 + 0.06 * np.cos(np.deg2rad(70.0)),
    ),
    "ellipsoid": ('type="ellipsoid" size=".08 .06 .05"', 0.049),
    "cylinder": (
        'type="cylinder" size=".06 .01" euler="60 0 0"',
        0.06 * np.sin(np.pi / 3) + 0.01 * np.cos(np.pi / 3) - 0.001,
    ),
}
# A ball that it rolls on, which turns, too.
_BALL = (
    '<body pos=".02 .01 {}"><freejoint/><inertial pos=".02 0 .01" mass="1" '
    'diaginertia="2e-3 3e-3 3e-3"/><geom size=".05"/></body>'
)


@pytest.mark.parametrize(
    ("shape", "on_a_ball"), [*((shape, False) for shape in _SHAPES), ("sphere", True)]
)
@pytest.mark.parametrize(
    "integrator",
    [
        asp.Icf(time_step=0.005, resolve_impacts=False),
        asp.Sap(time_step=0.005, resolve_impacts=False),
        asp.Icf(time_step=0.005, friction_bound="lagged", resolve_impacts=False),
    ],
    ids=("Icf", "Sap", "lagged"),
)
def test_steps_agree_with_differences(integrator: Integrator, shape: str, on_a_ball: bool) -> None:
    """By the state, by the mass and by the centre of mass."""
    geom, height = _SHAPES[shape]
    model = mujoco.MjModel.from_xml_string(
        _TOP.format(
            shape=geom,
            height=height + (0.098 if on_a_ball else 0.0),
            other=_BALL.format(0.0495) if on_a_ball else "",
        )
    )
    top = model.body("top").id
    parameters = (
        body_mass(model, "top"),
        *(model_number(model, "body_ipos", (top, axis)) for axis in (0, 2)),
    )
    transition = Transition(model, integrator=integrator, parameters=parameters)
    data = mujoco.MjData(model)
    first = model.jnt_dofadr[model.body_jntadr[top]]
    data.qvel[first : first + 6] = 0.05, 0.02, 0.0, 4.0, -6.0, 20.0
    if on_a_ball:
        data.qvel[:6] = 0.02, 0.0, 0.0, 3.0, 5.0, 8.0
    state, control = transition.state_of(data), np.zeros(0)
    _, ours = transition.linearize(state, control)
    size = 1e-7
    by_state = models.central_differences(transition, state, control, size)
    np.testing.assert_allclose(ours.by_state, by_state, atol=1e-4 * np.abs(by_state).max())
    values = transition.values
    for index in range(len(parameters)):
        ends = []
        for sign in (-1.0, 1.0):
            transition.set_parameters(values + sign * size * (np.arange(len(values)) == index))
            ends.append(transition(state, control))
        wanted = transition.difference(*ends) / (2.0 * size)
        # Masses may change next to nothing: what differences have is round-off then.
        tolerance = max(2e-4 * np.abs(wanted).max(), 3e-8)
        np.testing.assert_allclose(ours.by_parameter[:, index], wanted, atol=tolerance)
