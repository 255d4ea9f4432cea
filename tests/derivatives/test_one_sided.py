"""Where pieces of laws meet, a column is the derivative ahead along its coordinate.

So forward differences are what it must agree with, however many contacts are at their kinks at once
and on both sides of them, and whether contacts only move, are matched, or are polygons of pressure
fields. Backward differences are far off there, as every test asserts.
"""

from __future__ import annotations

from typing import Any

import derivative_models as models
import mujoco
import numpy as np
import pytest
from test_mode_changes import SERVO, SLIDER

import asperity as asp
from asperity.derivatives.tangent import StepState

_STEP = 1e-3
_METHODS: dict[str, Any] = {
    "icf": asp.Icf(time_step=_STEP),
    "tamsi": asp.Tamsi(time_step=_STEP),
    "sap": asp.Sap(time_step=_STEP),
    "midpoint": asp.Sap(time_step=_STEP, theta_scheme="midpoint"),
}
# How long contacts look ahead: those of SAP relax within a step by default.
_REACH = {"icf": _STEP, "tamsi": _STEP, "sap": 2.0 * _STEP, "midpoint": 2.0 * _STEP}
_DEPTH = 1e-4

# Without dissipation contacts push while −φ_0 > v_n times that time.
_POINTS = asp.ContactParameters(stiffness=1e4, dissipation=0.0, stiction_tolerance=1e-4)
_FIELDS = asp.ContactParameters(
    dissipation=0.0,
    stiction_tolerance=1e-4,
    geoms={"floor": asp.Material(surface="rigid"), "body": asp.Material(surface="compliant")},
    hydroelastic_modulus=1e7,
    resolution=0.07,
)
_FLOATING = """<mujoco><option gravity="0 0 0"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1" friction=".5"/>
  <body pos="0 0 .1"><freejoint/><geom name="body" {shape} mass="1" friction=".5"/></body>
  {more}</worldbody></mujoco>"""
_BALL = 'type="sphere" size=".1"'
_BOX = 'type="box" size=".1 .1 .1"'


def _floating(shape: str, more: str = "") -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(_FLOATING.format(shape=shape, more=more))
    return model, mujoco.MjData(model)


def _errors(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    integrator: Any,
    size: float,
    contact: asp.ContactParameters = _POINTS,
) -> tuple[np.ndarray, np.ndarray]:
    """Of every column of A and B against forward and backward differences."""
    lin = asp.derivatives.linearize(model, data, integrator=integrator, contact=contact)
    ours = np.concatenate([lin.A, lin.B], axis=1)
    assert np.all(np.isfinite(ours))
    sides = models.Differences(model, integrator, contact=contact).sides(data, size)
    scale = np.maximum(1.0, np.abs(ours).max(axis=0))
    ahead, behind = (np.abs(ours - side).max(axis=0) / scale for side in sides)
    return ahead, behind


def _first_speed(changes: Any, low: float, high: float) -> float:
    """The last number below which something does not change yet, to the last bit."""
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if changes(middle) else (middle, high)
    return low


@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("shape", [_BALL, _BOX])
def test_contacts_that_cease_to_push_are_followed_ahead(method: str, shape: str) -> None:
    """A ball, and a box with all four corners at their kinks: a tilt closes two and opens two."""
    model, data = _floating(shape)
    data.qpos[2] = 0.1 - _DEPTH
    data.qvel[2] = _DEPTH / _REACH[method]
    # Forward differences have an error of their own, by the stiction tolerance that they leave.
    size = 1e-8
    ahead, behind = _errors(model, data, _METHODS[method], size)
    assert ahead.max() < 2e-4
    closer, _ = _errors(model, data, _METHODS[method], 0.1 * size)
    assert closer.max() < 3e-5
    # Height and speed, and where corners have an arm or are between sticking and sliding, more.
    assert np.count_nonzero(behind > 1e-3) >= (6 if shape == _BOX else 2)


@pytest.mark.parametrize("method", ["icf", "tamsi", "sap"])
@pytest.mark.parametrize("off", [-1e-8, 1e-8])
def test_beside_its_kinks_a_box_has_the_derivative_of_its_own_side(method: str, off: float) -> None:
    """Displacements of the differences of evaluations straddle the kinks, a tilt both ways."""
    model, data = _floating(_BOX)
    data.qpos[2] = 0.1 - _DEPTH + off
    data.qvel[2] = _DEPTH / _REACH[method]
    # Less is below what SAP's criterion asks of a velocity.
    for errors in _errors(model, data, _METHODS[method], 1e-9):
        assert errors.max() < 2e-5


def test_a_stack_is_followed_ahead_with_eight_kinks() -> None:
    """A box on a box on the floor: neighbours' kinks depend on each other."""
    upper = '<body pos="0 0 .3"><freejoint/><geom type="box" size=".08 .08 .1" mass="2"/></body>'
    model, data = _floating(_BOX, upper)
    data.qpos[2] = 0.1 - _DEPTH
    data.qpos[9] = 0.3 - 2.0 * _DEPTH
    data.qvel[2] = _DEPTH / _STEP
    data.qvel[8] = 2.0 * _DEPTH / _STEP
    ahead, behind = _errors(model, data, _METHODS["icf"], 1e-9)
    assert ahead.max() < 1e-4
    assert np.count_nonzero(behind > 1e-3) >= 10


@pytest.mark.parametrize("method", ["icf", "tamsi", "sap"])
def test_directions_are_followed_as_they_are(method: str) -> None:
    """Along a direction that turns, lifts and speeds a box, not the sum of what each would do."""
    model, data = _floating(_BOX)
    data.qpos[2] = 0.1 - _DEPTH
    data.qvel[2] = _DEPTH / _REACH[method]
    differences = models.Differences(model, _METHODS[method], contact=_POINTS)
    random = np.random.default_rng(2)
    directions = random.normal(size=(12, 3)) * np.repeat([0.1, 1.0], 6)[:, None]
    state = StepState(0.0, data.qpos.copy(), data.qvel.copy(), data.act.copy())
    _, ours = differences.convex.along(state, _STEP, directions)
    base = differences.end(data, np.zeros(12))
    size = 1e-8
    for number, direction in enumerate(directions.T):
        moved = differences.end(data, size * direction)
        wanted = differences.difference(base, moved) / size
        np.testing.assert_allclose(ours[:, number], wanted, atol=1e-3 * np.abs(wanted).max())
    lin = asp.derivatives.linearize(model, data, integrator=_METHODS[method], contact=_POINTS)
    assert np.abs(lin.A @ directions - ours).max() > 1e-2 * np.abs(ours).max()


@pytest.mark.parametrize("shape", [_BALL, _BOX])
@pytest.mark.parametrize("method", ["icf", "sap"])
def test_pressure_fields_are_followed_ahead(method: str, shape: str) -> None:
    """At the speed at which the last polygons cease to push, all at once if they are flat."""
    model, data = _floating(shape)
    data.qpos[2] = 0.1 - 1e-3
    integrator = _METHODS[method]
    differences = models.Differences(model, integrator, contact=_FIELDS)

    def leaves(speed: float) -> bool:
        data.qvel[2] = speed
        differences.end(data, np.zeros(12))
        world = differences.simulator.session.world
        return not np.any(world.problem.iterate.gn[: world.current.contacts.count])

    data.qvel[2] = _first_speed(leaves, 0.0, 30.0)
    ahead, behind = _errors(model, data, integrator, 1e-8, _FIELDS)
    assert ahead.max() < 2e-4
    assert np.count_nonzero(behind > 1e-3) >= (4 if shape == _BOX else 2)


@pytest.mark.parametrize("shape", [_BALL, _BOX])
@pytest.mark.parametrize("off", [-1e-7, 0.0, 1e-7])
def test_a_contact_of_sap_between_sticking_and_sliding(shape: str, off: float) -> None:
    """The edge of the friction cone, where curvatures change from one number to another."""
    model, data = _floating(shape)
    integrator = asp.Sap(time_step=_STEP, gliding=True)
    data.qpos[2] = 0.1 - 1e-3

    def sticking(speed: float) -> float:
        data.qvel[0] = speed
        lin = asp.derivatives.linearize(model, data, integrator=integrator, contact=_POINTS)
        return float(lin.A[6, 6])

    first = sticking(1e-6)
    speed = _first_speed(lambda one: abs(sticking(one) - first) > 1e-3 * abs(first), 1e-6, 5.0)
    data.qvel[0] = speed + off
    # The slip itself is some 1e-5 m/s: small displacements do not get away from the kink, and large
    # ones are off by their share of it.
    errors = [_errors(model, data, integrator, size) for size in (1e-9, 1e-8, 1e-7, 1e-6)]
    assert np.min(errors, axis=(0, 1)).max() < 3e-4


@pytest.mark.parametrize("method", ["icf", "sap"])
@pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
def test_a_joint_right_at_its_limit_and_a_servo_at_its_range(method: str, off: float) -> None:
    """A limit is restored more slowly than it is approached; a servo's force ends at its range."""
    integrator = _METHODS[method]
    for text in (SLIDER, SERVO):
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        if text == SLIDER:
            data.qpos[0], data.qvel[0] = 1.0 + off, 0.1
        else:
            # The servo is implicit: its force is that of the end of the step.
            speed = 3.0 * _STEP
            data.ctrl[0] = (3.0 + 2.0 * speed) / 100.0 + _STEP * speed + off
        ahead, behind = _errors(model, data, integrator, 1e-8)
        assert np.minimum(ahead, behind).max() < 1e-6
        if off == 0.0:
            assert ahead.max() < 1e-6
            assert behind.max() > 1e-3


def test_a_kink_on_the_way_is_that_of_one_side() -> None:
    """The second of two steps is at the kink of a contact that a lift opens and a tilt closes.

    Its matrix is multiplied by that of the first step, and so on one piece as a whole.
    """
    model, data = _floating(_BALL.replace("/", "") + ' pos=".05 0 0"')
    integrator = _METHODS["icf"]
    data.qpos[2] = 0.1 - _DEPTH
    differences = models.Differences(model, integrator, contact=_POINTS)

    def ends(change: np.ndarray) -> tuple[Any, Any]:
        first = differences.end(data, change)
        middle = mujoco.MjData(model)
        middle.qpos[:], middle.qvel[:] = first[0], first[1]
        last = differences.end(middle, np.zeros(12))
        world = differences.simulator.session.world
        return last, world.problem.iterate.gn[: world.current.contacts.count].copy()

    def leaves(speed: float) -> bool:
        data.qvel[2] = speed
        return not np.any(ends(np.zeros(12))[1])

    data.qvel[2] = _first_speed(leaves, 0.0, 0.1)
    lin = asp.derivatives.linearize(
        model, data, integrator=integrator, contact=_POINTS, step=2 * _STEP
    )
    base, _ = ends(np.zeros(12))
    errors = np.zeros((2, 12))
    for number, size in enumerate((1e-8, -1e-8)):
        for column in range(12):
            change = np.zeros(12)
            change[column] = size
            wanted = differences.difference(base, ends(change)[0]) / size
            scale = max(1.0, np.abs(lin.A[:, column]).max())
            errors[number, column] = np.abs(lin.A[:, column] - wanted).max() / scale
    assert errors.min(axis=0).max() < 1e-4
    assert errors.max(axis=0).max() > 1e-2


def test_the_result_repeats_and_the_end_is_that_of_the_step() -> None:
    """What is solved beside the state leaves nothing behind."""
    model, data = _floating(_BOX)
    data.qpos[2] = 0.1 - _DEPTH
    data.qvel[2] = _DEPTH / _STEP
    integrator = _METHODS["icf"]
    first = asp.derivatives.linearize(model, data, integrator=integrator, contact=_POINTS)
    assert first.qvel[2] == pytest.approx(data.qvel[2], abs=1e-12)
    assert first.qpos[2] == pytest.approx(0.1, abs=1e-12)
    data.qpos[2] -= 1e-3
    asp.derivatives.linearize(model, data, integrator=integrator, contact=_POINTS)
    data.qpos[2] = 0.1 - _DEPTH
    second = asp.derivatives.linearize(model, data, integrator=integrator, contact=_POINTS)
    np.testing.assert_array_equal(first.A, second.A)
    np.testing.assert_array_equal(first.qvel, second.qvel)
