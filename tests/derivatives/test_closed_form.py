"""Columns of rigid bodies in closed form, against differences of smooth forces and contacts."""

from __future__ import annotations

import derivative_models as models
import numpy as np
import pytest
from frozen_steps import take_over

import asperity as asp
from asperity.derivatives import Transition
from asperity.derivatives.step_derivative import StepDerivative


def _derivative(name: str, step: float = 1e-3) -> StepDerivative:
    # Differences are of 1e-6 m/s, which is to be little beside the stiction tolerance.
    contact = asp.ContactParameters(stiction_tolerance=1e-4)
    integrator = asp.Icf(time_step=step)
    return StepDerivative(asp.Simulator(models.load(name), integrator=integrator, contact=contact))


@pytest.mark.parametrize("step", [1e-3, 1e-2])
@pytest.mark.parametrize(
    "name",
    [
        "capsule on a ramp",
        "double pendulum on the floor",
        "arm at its limits",
        "two boxes",
        "servo with activation",
        "ball joint and free body",
        "quadruped",
    ],
)
def test_they_agree_with_differences_of_displaced_states(name: str, step: float) -> None:
    """In the longer steps gyroscopic forces are those of the middle, and laws know masses."""
    derivative = _derivative(name, step)
    model = derivative.simulator.model
    assert derivative.convex is not None
    work = derivative.convex._work
    for data in models.states(model, 3, 13):
        take_over(derivative, data)
        closed = derivative.over(None)
        assert work.rigid.applies == 1
        work.rigid.applies = 0
        displaced = derivative.over(None)
        work.rigid.applies = 1
        assert models.error(closed.by_state, displaced.by_state) < 1e-6
        np.testing.assert_array_equal(closed.by_control, displaced.by_control)


def test_what_is_more_than_rigid_bodies_is_displaced() -> None:
    derivative = _derivative("four-bar linkage")
    assert derivative.convex is not None
    take_over(derivative, next(models.states(derivative.simulator.model, 1, 1)))
    derivative.over(None)
    assert derivative.convex._work.rigid.applies == 0


def test_a_fluid_that_comes_later_is_heard() -> None:
    derivative = _derivative("ball")
    model = derivative.simulator.model
    assert derivative.convex is not None
    data = next(models.states(model, 1, 1))
    take_over(derivative, data)
    before = derivative.over(None)
    assert derivative.convex._work.rigid.applies == 1
    model.opt.density = 1e5
    take_over(derivative, data)
    after = derivative.over(None)
    assert derivative.convex._work.rigid.applies == 0
    # It brakes.
    assert after.by_state[6, 6] < before.by_state[6, 6]


def test_trajectories_in_compiled_code_are_steps_one_by_one() -> None:
    model = models.load("quadruped")
    data = next(models.states(model, 1, 3))
    transition = Transition(model, integrator=asp.Icf(time_step=1e-3))
    controls = 0.1 * np.random.default_rng(1).normal(size=(20, model.nu))
    states = transition.trajectory(transition.state_of(data), controls)
    for before, control, after in zip(states[:-1], controls, states[1:], strict=True):
        np.testing.assert_allclose(transition(before, control), after, rtol=0.0, atol=1e-10)
