"""Derivatives by parameters where error control chooses the steps, whose sizes are frozen."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import derivative_models as models
import mujoco
import numpy as np
import pytest
from frozen_steps import decide, replay, take_over

import asperity as asp
from asperity.derivatives import (
    Parameter,
    Transition,
    body_mass,
    contact_parameter,
    model_number,
)
from asperity.derivatives.parameters.parameters import apply_parameters
from asperity.derivatives.step_derivative import StepDerivative
from asperity.derivatives.tangent import StepState

# A cart that is driven, its pole, and a box that slides and a ball that rolls on the floor.
CART = f"""<mujoco><option timestep=".001"/><worldbody>{models.FLOOR}
  <body name="cart" pos="0 0 .5"><joint name="x" type="slide" axis="1 0 0" damping=".1"/>
    <geom type="box" size=".1 .1 .05" mass="1" contype="0" conaffinity="0"/>
    <body name="pole"><joint name="a" axis="0 1 0" damping=".02" stiffness="3"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 .4" mass=".3"
            contype="0" conaffinity="0"/></body></body>
  <body name="ball" pos="1 0 .0999"><freejoint/><geom size=".1" mass="1" friction=".1"/></body>
  <body name="box" pos="2 0 .0999"><freejoint/>
    <geom type="box" size=".2 .15 .1" mass="2" friction=".1"/></body>
  </worldbody><actuator><motor joint="x"/></actuator></mujoco>"""

_CONTROLLED = {
    "cenic": asp.Cenic(),
    "lagged": asp.Cenic(friction_bound="lagged"),
    "doubling": asp.Cenic(error_estimate="step-doubling"),
    "sap": asp.Sap(accuracy=1e-3),
    "tamsi": asp.Tamsi(accuracy=1e-3),
}


def _parameters(model: mujoco.MjModel, key: str = "") -> list[Parameter]:
    # SAP's contacts dissipate by their relaxation time.
    dissipation = ("relaxation_time", 0.02) if key == "sap" else ("dissipation", 3.0)
    return [
        model_number(model, "geom_friction", (0, 0)),
        contact_parameter("stiffness", 2e4),
        contact_parameter(*dissipation),
        body_mass(model, "box"),
        model_number(model, "body_inertia", (model.body("pole").id, 1)),
        model_number(model, "actuator_gainprm", (0, 0)),
        model_number(model, "jnt_stiffness", model.joint("a").id),
        Parameter(
            "length of the pole",
            0.2,
            lambda target, value: target.body_ipos.__setitem__((2, 2), value),
            size=3e-8,
        ),
    ]


def _start(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[1], data.qvel[0], data.qvel[2] = 0.3, 0.2, 0.4
    data.qvel[6] = 4.0  # the ball slips
    data.qvel[8:11] = 1.0, 0.4, 0.0
    data.ctrl[:] = 0.7
    return data


def _packed(state: StepState) -> np.ndarray:
    return np.concatenate([state.qpos, state.qvel, state.act])


def _differences_of_replays(
    transition: Transition, data: mujoco.MjData, sizes: Any, relative: float
) -> np.ndarray:
    """Derivatives by parameters of the same steps, with the same sizes and modes."""
    model, values = transition.model, transition.values
    derivative = StepDerivative(
        asp.Simulator(
            *apply_parameters(model, transition.contact, transition.parameters, values)[:1],
            integrator=transition.integrator,
            contact=apply_parameters(model, transition.contact, transition.parameters, values)[1],
        )
    )
    take_over(derivative, data)
    start = StepState(0.0, data.qpos.copy(), data.qvel.copy(), data.act.copy())
    decisions = decide(derivative, start, sizes)
    columns = []
    for index in range(len(values)):
        ends = []
        size = relative * max(abs(values[index]), 1e-2)
        for sign in (1.0, -1.0):
            moved = values.copy()
            moved[index] += sign * size
            other, contact = apply_parameters(
                model, transition.contact, transition.parameters, moved
            )
            simulator = asp.Simulator(other, integrator=transition.integrator, contact=contact)
            one = StepDerivative(simulator)
            take_over(one, data)
            ends.append(_packed(replay(one, start, decisions)))
        columns.append(transition.difference(ends[1], ends[0]) / (2.0 * size))
    return np.array(columns).T


def _error(ours: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference, relative to the largest entry of a parameter's column."""
    scale = np.maximum(np.abs(wanted).max(axis=0, keepdims=True), 1e-12)
    return float(np.max(np.abs(ours - wanted) / scale))


@pytest.mark.parametrize("key", _CONTROLLED)
def test_they_agree_with_differences_of_the_same_steps(key: str) -> None:
    model = mujoco.MjModel.from_xml_string(CART)
    data = _start(model)
    transition = Transition(
        model, integrator=_CONTROLLED[key], parameters=_parameters(model, key), step=0.02
    )
    state = transition.state_of(data)
    end, tangent = transition.linearize(state, data.ctrl)
    assert tangent.method == "implicit"
    assert sum(tangent.steps) == pytest.approx(0.02)
    assert np.all(np.abs(tangent.by_parameter).max(axis=0) > 0.0)
    found = [
        _error(tangent.by_parameter, _differences_of_replays(transition, data, tangent.steps, one))
        for one in (1e-4, 1e-5, 1e-6)
    ]
    assert min(found) < 1e-5
    along = transition.sensitivities(state, data.ctrl[None])
    np.testing.assert_allclose(along.states[1], end, atol=1e-12)
    assert _error(along.by_parameter[1], tangent.by_parameter) < 1e-5


def test_of_steps_whose_gyroscopic_forces_are_corrected() -> None:
    """A spinning body on a ball joint: its second half steps have other forces."""
    model = models.load("ball joint and free body")
    data = next(models.states(model, 1, seed=11))
    data.qvel[:] = np.linspace(-4.0, 6.0, model.nv)
    body = 1
    parameters = [
        body_mass(model, body),
        model_number(model, "body_inertia", (body, 0)),
        model_number(model, "body_ipos", (body, 0), size=3e-8),
        model_number(model, "body_inertia", (model.nbody - 1, 0)),
    ]
    transition = Transition(model, integrator=asp.Cenic(), parameters=parameters, step=0.05)
    state = transition.state_of(data)
    _, tangent = transition.linearize(state, data.ctrl)
    derivative = StepDerivative(asp.Simulator(model, integrator=asp.Cenic()))
    take_over(derivative, data)
    start = StepState(0.0, data.qpos.copy(), data.qvel.copy(), data.act.copy())
    assert any(
        decided.corrected is not None for _, decided in decide(derivative, start, tangent.steps)
    )
    found = [
        _error(tangent.by_parameter, _differences_of_replays(transition, data, tangent.steps, one))
        for one in (1e-4, 1e-5, 1e-6)
    ]
    assert min(found) < 1e-7


@pytest.mark.parametrize("key", ["cenic", "doubling"])
def test_the_adjoint_is_the_forward_one_backward(key: str) -> None:
    model = mujoco.MjModel.from_xml_string(CART)
    data = _start(model)
    transition = Transition(
        model, integrator=_CONTROLLED[key], parameters=_parameters(model), step=0.01
    )
    state = transition.state_of(data)
    controls = np.linspace(0.5, 1.0, 6)[:, None]
    forward = transition.sensitivities(state, controls, by_state=True)
    weights = np.random.default_rng(0).normal(size=(7, transition.tangent_size))
    backward = transition.gradient(state, controls, weights, states=forward.states)
    wanted = np.einsum("ns,nsp->p", weights, forward.by_parameter)
    np.testing.assert_allclose(backward.by_parameter, wanted, rtol=1e-9)


def test_they_converge_as_the_accuracy_tightens() -> None:
    """A box that slides to x = v t − μ g t²/2, and a pendulum by its mass at the end."""
    model = mujoco.MjModel.from_xml_string(CART)
    data = _start(model)
    errors = []
    reference: np.ndarray | None = None
    for accuracy in (1e-7, 1e-2, 1e-3, 1e-4, 1e-5):
        transition = Transition(
            model,
            integrator=asp.Cenic(accuracy=accuracy),
            parameters=_parameters(model)[4:],
            step=0.3,
        )
        _, tangent = transition.linearize(transition.state_of(data), data.ctrl)
        # The cart's and the pole's: impacts elsewhere do not reach them.
        rows = [0, 1, model.nv, model.nv + 1]
        if reference is None:
            reference = tangent.by_parameter[rows]
        else:
            errors.append(_error(tangent.by_parameter[rows], reference))
    assert all(later < 0.5 * before for before, later in itertools.pairwise(errors))
    assert errors[-1] < 1e-3


OTHERS = [
    asp.Cenic(error_estimate="trapezoid"),
    asp.Midas(time_step=0.01),
    asp.RungeKutta3(time_step=1e-4),
    asp.ImplicitEuler(time_step=1e-3),
]


@pytest.mark.parametrize("integrator", OTHERS)
def test_trajectories_have_the_parameters_that_were_set(integrator: Any) -> None:
    text = models.MODELS["double pendulum on the floor"].replace(models.FLOOR, "")
    model = mujoco.MjModel.from_xml_string(text)
    parameter = body_mass(model, 1)
    transition = Transition(model, integrator=integrator, parameters=[parameter])
    heavier = replace(parameter, value=1.5 * parameter.value)
    expected = Transition(model, integrator=integrator, parameters=[heavier])
    state, controls = transition.state_of(mujoco.MjData(model)), np.zeros((5, model.nu))
    states = transition.trajectory(state, controls)
    # Derivatives are of the same states, which depend on nothing that was before.
    along = transition.sensitivities(state, controls).states
    np.testing.assert_allclose(along, states, rtol=0.0, atol=1e-12)
    transition.set_parameters(np.array([heavier.value]))
    found = transition.trajectory(state, controls)
    np.testing.assert_allclose(found, expected.trajectory(state, controls), rtol=0.0, atol=1e-9)
    assert np.max(np.abs(found - states)) > 1e-6


@pytest.mark.parametrize("integrator", OTHERS)
def test_other_integrators_difference_whole_steps(integrator: Any) -> None:
    text = models.MODELS["double pendulum on the floor"].replace(models.FLOOR, "")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = 0.1, -0.2
    parameters = [body_mass(model, 1), model_number(model, "body_inertia", (2, 1))]
    length = integrator.time_step or 0.01
    transition = Transition(model, integrator=integrator, parameters=parameters, step=length)
    state = transition.state_of(data)
    _, tangent = transition.linearize(state, data.ctrl)
    assert tangent.method == "differences"
    columns = []
    for index, value in enumerate(transition.values):
        ends = []
        for sign in (1.0, -1.0):
            moved = transition.values
            moved[index] += sign * 1e-2 * value
            other, _ = apply_parameters(model, transition.contact, parameters, moved)
            simulator = asp.Simulator(other, integrator=integrator)
            simulator.data.qvel[:] = data.qvel
            assert simulator.advance_to(length).success
            ends.append(np.concatenate([simulator.data.qpos, simulator.data.qvel]))
        columns.append(transition.difference(ends[1], ends[0]) / (2e-2 * value))
    assert _error(tangent.by_parameter, np.array(columns).T) < 1e-3
    along = transition.sensitivities(state, np.tile(data.ctrl, (2, 1)))
    np.testing.assert_allclose(along.by_parameter[1], tangent.by_parameter, rtol=1e-12)
