"""Derivatives by where inertias and geoms are, of bodies where MuJoCo takes frames for the same."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import Parameter, Transition, model_number

# A box whose three frames are one, and a pendulum whose geom has the frame of its inertia.
MODEL = """<mujoco><worldbody><geom type="plane" size="5 5 .1" friction=".3"/>
  <body name="box" simple="{simple}" pos="0 0 .099"><freejoint/>
    <geom type="box" size=".1 .1 .1" mass="1"/></body>
  <body name="bob" simple="false" pos="1 0 .5"><joint axis="1 1 0"/>
    <geom type="ellipsoid" pos=".1 0 0" euler="0 30 0" size=".05 .06 .07" mass="1"/></body>
  </worldbody></mujoco>"""


def _both(model: mujoco.MjModel, integrator: Any, parameter: Parameter) -> tuple[Any, Any]:
    """The derivative of two steps by a parameter, and central differences of trajectories."""
    data = mujoco.MjData(model)
    data.qvel[:6] = 1.0, 0.0, 0.0, 0.0, 0.3, 0.0
    transition = Transition(model, integrator=integrator, parameters=[parameter])
    start, controls = transition.state_of(data), np.zeros((2, 0))
    ours = transition.sensitivities(start, controls).by_parameter[-1, :, 0]
    value, size, ends = transition.values, 1e-6, []
    for sign in (1.0, -1.0):
        transition.set_parameters(value + sign * size)
        ends.append(transition.trajectory(start, controls)[-1])
    return ours, transition.difference(ends[1], ends[0]) / (2.0 * size)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=1e-3), asp.Sap(time_step=1e-3)])
@pytest.mark.parametrize(
    ("field", "index", "size"),
    [
        ("body_ipos", (1, 0), None),
        ("body_ipos", (1, 2), None),
        ("body_ipos", (2, 0), None),
        ("body_iquat", (2, 1), None),
        ("geom_pos", (1, 2), 3e-8),
    ],
)
def test_displacements_within_a_micrometre_count(
    integrator: Any, field: str, index: tuple[int, int], size: float | None
) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL.format(simple="false"))
    assert model.body_sameframe[1] == int(mujoco.mjtSameFrame.mjSAMEFRAME_BODY)
    ours, wanted = _both(model, integrator, model_number(model, field, index, size=size))
    largest = np.abs(wanted).max()
    assert largest > 1e-4
    np.testing.assert_allclose(ours, wanted, atol=1e-5 * largest)


@pytest.mark.parametrize("field", ["body_ipos", "body_iquat"])
def test_a_simple_body_has_no_other_inertial_frame(field: str) -> None:
    """Its mass matrix is diagonal, in MuJoCo's memory."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(simple="auto"))
    assert model.body_simple[1] == 1
    before = getattr(model, field).copy()
    with pytest.raises(asp.ModelError, match=r"'body_i.*Body 'box'.*simple=\"false\""):
        Transition(model, parameters=[model_number(model, field, (1, 1))])
    np.testing.assert_array_equal(getattr(model, field), before)
    # Of the other body, and the inertia of this one, they are there.
    for other, index in ((field, (2, 1)), ("body_inertia", (1, 1))):
        ours, wanted = _both(model, asp.Icf(), model_number(model, other, index))
        np.testing.assert_allclose(ours, wanted, atol=1e-5 * max(np.abs(wanted).max(), 1e-6))
