"""Derivatives at changes of mode: at the kink, and a nanometre or nanometre per second beside it.

There a step has two derivatives, one of each side. Column by column ours must be one of them,
whichever side the displacements of differences fall on. Several kinks at once, and methods that
evaluate displaced states as a whole: `test_one_sided.py`.
"""

from __future__ import annotations

from typing import Any

import derivative_models as models
import mujoco
import numpy as np
import pytest

import asperity as asp

_METHODS = {
    "icf": asp.Icf(time_step=1e-3, resolve_impacts=False),
    "tamsi": asp.Tamsi(time_step=1e-3, resolve_impacts=False),
}
_STIFFNESS = 1e4
# No dissipation: the impulse of a contact is δt k (−φ_0 − δt v_n)₊.
_CONTACT = asp.ContactParameters(stiffness=_STIFFNESS, dissipation=0.0, stiction_tolerance=1e-4)
_STEP = 1e-3
# Differences of this size are far from the kink, and near enough for the curvature of friction.
_SIZE = 1e-7

BALL = """<mujoco><option gravity="0 0 0"/><worldbody>
  <geom type="plane" size="5 5 .1" friction=".5"/>
  <body pos="0 0 .1"><freejoint/><geom type="sphere" size=".1" mass="1" friction=".5"/></body>
  </worldbody></mujoco>"""
SLIDER = """<mujoco><compiler autolimits="true"/><option gravity="0 0 0"/><worldbody>
  <body><joint name="x" type="slide" axis="1 0 0" range="-1 1"/><geom size=".1" mass="1"/></body>
  </worldbody><actuator><motor joint="x"/></actuator></mujoco>"""
SERVO = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body><joint name="x" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body>
  </worldbody><actuator><position joint="x" kp="100" kv="2" forcerange="-3 3"/></actuator>
  </mujoco>"""


def _sides(
    model: mujoco.MjModel, integrator: Any, data: mujoco.MjData, size: float = _SIZE
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A with B of `linearize`, and forward and backward differences."""
    differences = models.Differences(model, integrator, contact=_CONTACT)
    lin = asp.derivatives.linearize(model, data, integrator=integrator, contact=_CONTACT)
    ours = np.concatenate([lin.A, lin.B], axis=1)
    return ours, *differences.sides(data, size)


def _assert_one_of_both(
    ours: np.ndarray, ahead: np.ndarray, behind: np.ndarray, tolerance: float = 1e-5
) -> int:
    """Every column is one of both sides'; returns how many columns have a kink."""
    kinks = 0
    assert np.all(np.isfinite(ours))
    for index in range(ours.shape[1]):
        scale = max(1.0, float(np.abs(ours[:, index]).max()))
        errors = [np.abs(ours[:, index] - one[:, index]).max() / scale for one in (ahead, behind)]
        assert min(errors) < tolerance, (index, errors)
        apart = np.abs(ahead[:, index] - behind[:, index]).max() / scale
        kinks += int(apart > 1e-3)
    return kinks


@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
def test_a_contact_that_begins_or_ceases_to_push(method: str, off: float) -> None:
    """The gap at the step's end is zero: −φ_0 = δt v_n, deeper or faster pushes."""
    model = mujoco.MjModel.from_xml_string(BALL)
    data = mujoco.MjData(model)
    depth = 1e-4
    data.qpos[2] = 0.1 - depth + off
    data.qvel[2] = depth / _STEP
    kinks = _assert_one_of_both(*_sides(model, _METHODS[method], data))
    # Height and speed along the normal; beside the kink displacements of the speed are too small.
    assert kinks == (2 if off == 0.0 else 1)


@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("speed", [-0.2, 0.0])
@pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
def test_a_ball_that_touches_the_floor_is_in_contact_or_in_the_air(
    method: str, speed: float, off: float
) -> None:
    """Contacts are found where geoms touch or overlap at the beginning: there a step jumps.

    Differences across a jump are no derivative, so each side is known by the other of its kind: in
    the air nothing acts, and in contact the impulse is that of a spring.
    """
    model = mujoco.MjModel.from_xml_string(BALL)
    data = mujoco.MjData(model)
    data.qpos[2], data.qvel[2] = 0.1 + off, speed
    lin = asp.derivatives.linearize(model, data, integrator=_METHODS[method], contact=_CONTACT)
    pushes = off < 0.0 or (off == 0.0 and speed < 0.0)
    compliant = _STEP * _STEP * _STIFFNESS if pushes else 0.0
    slowed = 1.0 / (1.0 + compliant)
    height = -compliant / _STEP * slowed
    np.testing.assert_allclose(lin.A[8, 8], slowed, rtol=1e-6)
    np.testing.assert_allclose(lin.A[8, 2], height, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(lin.A[2, 8], _STEP * slowed, rtol=1e-6)
    np.testing.assert_allclose(lin.A[2, 2], 1.0 + _STEP * height, rtol=1e-6)


@pytest.mark.parametrize("method", [*_METHODS, "parabolic"])
@pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
def test_a_contact_between_sticking_and_slipping(method: str, off: float) -> None:
    """TAMSI's friction has a kink at its stiction tolerance, that of ICF bends there."""
    model = mujoco.MjModel.from_xml_string(BALL)
    integrator = _METHODS.get(method, asp.Tamsi(time_step=_STEP, friction_law="parabolic"))
    data = mujoco.MjData(model)
    depth = 1e-3
    tolerance = 1e-4
    data.qpos[2] = 0.1 - depth
    # A slip at the step's end of just the tolerance: sliding, it follows the speed one to one.
    arm = 0.1 - 0.5 * depth
    data.qvel[0] = 0.1
    for _ in range(3):
        end = asp.derivatives.linearize(model, data, integrator=integrator, contact=_CONTACT).qvel
        data.qvel[0] += tolerance - (end[0] - arm * end[4])
    data.qvel[0] += off
    # Friction bends within the tolerance: one-sided differences are off by their share of it.
    sides = _sides(model, integrator, data, size=1e-8)
    kinks = _assert_one_of_both(*sides, tolerance=5e-4)
    if method == "tamsi":
        assert kinks > 0


@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
def test_a_joint_that_reaches_its_limit(method: str, off: float) -> None:
    """The limit begins to push at the speed that would just reach it at the end of the step."""
    model = mujoco.MjModel.from_xml_string(SLIDER)
    data = mujoco.MjData(model)
    integrator = _METHODS[method]
    gap = 1e-3
    data.qpos[0] = 1.0 - gap
    # The row's reach is a little longer than the step: find the speed at which it begins to push.
    low, high = 0.0, 2.0 * gap / _STEP
    for _ in range(60):
        data.qvel[0] = 0.5 * (low + high)
        end = asp.derivatives.linearize(model, data, integrator=integrator).qvel[0]
        low, high = (data.qvel[0], high) if end == data.qvel[0] else (low, data.qvel[0])
    data.qvel[0] = low + off
    kinks = _assert_one_of_both(*_sides(model, integrator, data))
    # Position, velocity and control; beside the kink displacements of the control are too small.
    assert kinks >= 2


@pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
def test_a_servo_that_reaches_its_force_range(off: float) -> None:
    model = mujoco.MjModel.from_xml_string(SERVO)
    data = mujoco.MjData(model)
    integrator = _METHODS["icf"]
    # The servo is implicit: its force is that of the end of the step, q_0 + δt v, where v has it.
    speed = _STEP * 3.0
    data.ctrl[0] = (3.0 + 2.0 * speed) / 100.0 + _STEP * speed + off
    kinks = _assert_one_of_both(*_sides(model, integrator, data))
    assert kinks == 3


def test_a_cylinder_that_stands_flat_turns_alike_about_every_axis() -> None:
    """MuJoCo's three points run around the rim as it tilts; here they stay on the cylinder.

    The whole step jumps where they do, by what three points differ from three others, so that
    differences are of some use only where the tilt is larger than that, and small enough.
    """
    model = mujoco.MjModel.from_xml_string(
        BALL.replace('gravity="0 0 0"', "").replace(
            'type="sphere" size=".1"', 'type="cylinder" size=".05 .1"'
        )
    )
    data = mujoco.MjData(model)
    integrator = _METHODS["icf"]
    asp.step(model, data, 300, integrator=integrator, contact=_CONTACT)
    lin = asp.derivatives.linearize(model, data, integrator=integrator, contact=_CONTACT)
    assert lin.unmatched > 0
    tilt = lin.A[9:11, 3:5]
    np.testing.assert_allclose(tilt, tilt[0, 0] * np.eye(2), atol=1e-4 * abs(tilt[0, 0]))
    differences = models.Differences(model, integrator, contact=_CONTACT)
    ahead, behind = differences.sides(data, 1e-6)
    assert models.error(lin.A, 0.5 * (ahead + behind)) < 1e-3
