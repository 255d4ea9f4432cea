"""Derivatives of free bodies whose centre of mass is beside the origin of their joint's frame."""

from __future__ import annotations

import derivative_models as models
import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import Transition, body_mass, model_number
from asperity.integrators.integrator import Integrator

_BODY = """<mujoco><option timestep=".01"/><worldbody>{floor}
  <body name="club" pos="0 0 {height}"><freejoint/>
    <geom type="box" size=".1 .05 .02" pos="{beside} .03 0"/>{part}</body>{other}
  </worldbody></mujoco>"""
_PART = '<body pos="0 .1 .05" quat="1 .3 0 0"><geom type="sphere" size=".03" pos=".02 0 0"/></body>'
# With a joint elsewhere MuJoCo is asked for the forces of all.
_ARM = '<body pos="1 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>'


@pytest.mark.parametrize("other", ["", _ARM], ids=("alone", "beside a joint"))
@pytest.mark.parametrize("kind", ["flies", "is two bodies", "slides"])
@pytest.mark.parametrize(
    "integrator",
    [
        asp.Icf(time_step=0.01, resolve_impacts=False),
        asp.Sap(time_step=0.01, resolve_impacts=False),
        asp.Sap(time_step=0.01, theta_scheme="midpoint", resolve_impacts=False),
    ],
    ids=("Icf", "Sap", "Sap midpoint"),
)
def test_steps_agree_with_differences(integrator: Integrator, kind: str, other: str) -> None:
    """By the state, by masses, and by where the centre of mass is; backward, too."""
    slides = kind == "slides"
    model = mujoco.MjModel.from_xml_string(
        _BODY.format(
            floor='<geom type="plane" size="5 5 .1"/>' if slides else "",
            height=0.019 if slides else 1.0,
            beside=0.1,
            part=_PART if kind == "is two bodies" else "",
            other=other,
        )
    )
    parameters = (
        body_mass(model, "club"),
        *(model_number(model, "body_ipos", (1, axis)) for axis in (0, 2)),
        model_number(model, "body_inertia", (1, 2)),
    )
    transition = Transition(model, integrator=integrator, parameters=parameters)
    data = mujoco.MjData(model)
    data.qvel[:6] = 0.5, 0.2, -0.1, *((0.0, 0.0, 3.0) if slides else (3.0, 4.0, -2.0))
    data.qpos[3:7] = (1.0, 0.0, 0.0, 0.3) if slides else (1.0, 0.3, -0.2, 0.1)
    state, control = transition.state_of(data), np.zeros(0)
    _, ours = transition.linearize(state, control)
    size = 1e-6
    by_state = models.central_differences(transition, state, control, size)
    np.testing.assert_allclose(ours.by_state, by_state, atol=1e-4 * np.abs(by_state).max())
    values = transition.values
    for index in range(len(parameters)):
        ends = []
        for sign in (-1.0, 1.0):
            transition.set_parameters(values + sign * size * (np.arange(len(values)) == index))
            ends.append(transition(state, control))
        wanted = transition.difference(*ends) / (2.0 * size)
        largest = np.abs(wanted).max()
        assert largest > 1e-6
        np.testing.assert_allclose(ours.by_parameter[:, index], wanted, atol=2e-4 * largest)
    transition.set_parameters(values)
    weights = np.random.default_rng(0).normal(size=(2, transition.tangent_size))
    gradient = transition.gradient(state, np.zeros((1, 0)), weights)
    np.testing.assert_allclose(
        gradient.by_state, weights[1] @ ours.by_state + weights[0], atol=1e-9
    )
    np.testing.assert_allclose(gradient.by_parameter, weights[1] @ ours.by_parameter, rtol=1e-5)
