"""Parameters whose derivatives need no other simulation, against differences of whole steps."""

from __future__ import annotations

from typing import Any

import derivative_models as models
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import Transition, body_mass, contact_parameter, model_number
from asperity.derivatives.layout import CONTACT_PARAMETER, INERTIAL_PARAMETER

_NAMES = [
    "sliding box",
    "ball",
    "double pendulum on the floor",
    "two boxes",
    "ball joint and free body",
    "quadruped",
]
_INTEGRATORS = {
    "icf": asp.Icf(time_step=1e-3),
    "spinning": asp.Icf(time_step=1e-2),
    "lagged": asp.Icf(time_step=1e-3, friction_bound="lagged"),
    "tamsi": asp.Tamsi(time_step=1e-3),
}


def _differences(transition: Transition, data: Any, relative: float) -> np.ndarray:
    """Central differences of the transition by its parameters, each end solved to round-off."""
    state, values = transition.state_of(data), transition.values
    columns = []
    for index, value in enumerate(values):
        size = relative * max(abs(value), 1e-2)
        ends = []
        for sign in (1.0, -1.0):
            moved = values.copy()
            moved[index] += sign * size
            transition.set_parameters(moved)
            ends.append(transition(state, data.ctrl))
        columns.append(transition.difference(ends[1], ends[0]) / (2.0 * size))
    transition.set_parameters(values)
    return np.array(columns).T


@pytest.mark.parametrize("key", _INTEGRATORS)
@pytest.mark.parametrize("name", _NAMES)
def test_they_agree_with_differences(name: str, key: str) -> None:
    model = models.load(name)
    body = model.nbody - 1
    parameters = [
        model_number(model, "geom_friction", (0, 0)),
        contact_parameter("stiffness", 3e4),
        contact_parameter("dissipation", 2.0),
        contact_parameter("stiction_tolerance", 1e-3),
        body_mass(model, body),
        model_number(model, "body_inertia", (body, 1)),
    ]
    if body > 1:
        parameters.append(body_mass(model, 1))
    if name in ("double pendulum on the floor", "quadruped"):
        # MuJoCo lets no centre of mass leave the joint of a body that is free.
        parameters += [model_number(model, "body_ipos", (body, k), size=1e-7) for k in (0, 2)]
    kinds = [CONTACT_PARAMETER] * 4 + [INERTIAL_PARAMETER] * (len(parameters) - 4)
    transition = Transition(model, integrator=_INTEGRATORS[key], parameters=parameters)
    for data in models.states(model, 3, 21):
        _, tangent = transition.linearize(transition.state_of(data), data.ctrl)
        displaced = transition._step.displaced()
        assert list(displaced._direct.kinds) == kinds  # type: ignore[union-attr]
        least = np.full(len(parameters), np.inf)
        for relative in (1e-3, 1e-4, 1e-5):
            wanted = _differences(transition, data, relative)
            # What changes a motion by less is lost in the round-off of differences.
            scale = np.maximum(np.abs(wanted).max(axis=0), 1e-5)
            error = np.abs(tangent.by_parameter - wanted).max(axis=0) / scale
            least = np.minimum(least, error)
        assert np.all(least < 1e-5)
