"""Derivatives of trajectories and by parameters."""

from __future__ import annotations

import derivative_models as models
import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import (
    Parameter,
    Transition,
    body_mass,
    contact_parameter,
    model_number,
)

SLIDE = """<mujoco><option timestep=".001"/><worldbody>
  <geom type="plane" size="9 9 .1" friction=".2"/>
  <body name="box" pos="0 0 .0999"><freejoint/>
    <geom name="box" type="box" size=".2 .15 .1" mass="2" friction=".2"/></body>
  </worldbody></mujoco>"""

CART = f"""<mujoco><option timestep=".001"/><worldbody>{models.FLOOR}
  <body name="cart" pos="0 0 .1"><joint name="x" type="slide" axis="1 0 0" damping=".1"/>
    <geom type="box" size=".1 .1 .05" mass="1" contype="0" conaffinity="0"/>
    <body name="pole"><joint name="a" axis="0 1 0" damping=".02"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 .4" mass=".3"
            contype="0" conaffinity="0"/></body></body>
  <body name="ball" pos="1 0 .0999"><freejoint/><geom size=".1" mass="1"/></body>
  </worldbody><actuator><motor joint="x"/></actuator></mujoco>"""


def _difference(transition: Transition, ends: list[np.ndarray], size: float) -> np.ndarray:
    return transition.difference(ends[1], ends[0]) / (2.0 * size)


def test_a_thousand_steps_of_sliding_by_the_state_and_by_parameters() -> None:
    model = mujoco.MjModel.from_xml_string(SLIDE)
    data = mujoco.MjData(model)
    asp.step(model, data, 200, integrator=asp.Icf())  # at rest
    data.qvel[:] = 3.0, 0.5, 0.0, 0.0, 0.0, 0.6
    parameters = [model_number(model, "geom_friction", (0, 0)), body_mass(model, "box")]
    # MuJoCo takes the larger coefficient of two geoms.
    model.geom_friction[1, 0] = 0.0
    transition = Transition(model, parameters=parameters)
    start = transition.state_of(data)
    controls = np.zeros((1000, 0))
    found = transition.sensitivities(start, controls, by_state=True)
    along = transition.sensitivities(start, controls)
    # Entries are as large as 5, and differences along a direction resolve a millionth of that.
    np.testing.assert_allclose(along.by_parameter, found.by_parameter, rtol=1e-5, atol=1e-5)
    # It slides all the time.
    assert np.linalg.norm(found.states[-1][7:9]) > 0.5
    size = 1e-6
    for index in range(12):
        change = np.zeros(12)
        change[index] = size
        ends = [
            transition.trajectory(transition.displace(start, sign * change), controls)[-1]
            for sign in (1.0, -1.0)
        ]
        wanted = _difference(transition, ends, size)
        scale = max(np.abs(wanted).max(), 1.0)
        np.testing.assert_allclose(found.by_state[-1][:, index], wanted, atol=1e-5 * scale)
    # The friction coefficient decelerates, and the mass does not matter.
    by_friction = found.by_parameter[-1][:2, 0]
    direction = data.qvel[:2] / np.linalg.norm(data.qvel[:2])
    np.testing.assert_allclose(by_friction @ direction, -0.5 * 9.81, rtol=2e-3)
    values = transition.values
    ends = []
    for sign in (1.0, -1.0):
        transition.set_parameters(values + np.array([sign * 1e-6, 0.0]))
        ends.append(transition.trajectory(start, controls)[-1])
    wanted = _difference(transition, ends, 1e-6)
    np.testing.assert_allclose(found.by_parameter[-1][:, 0], wanted, atol=1e-4)


@pytest.mark.parametrize("every", [1, 7])
def test_the_adjoint_agrees_with_differences_by_controls(every: int) -> None:
    model = mujoco.MjModel.from_xml_string(CART)
    data = mujoco.MjData(model)
    data.qpos[1], data.qvel[2] = 0.3, 0.4
    data.qvel[6] = 4.0  # the ball slips
    parameters = [
        model_number(model, "actuator_gainprm", (0, 0)),
        model_number(model, "dof_damping", 1),
        body_mass(model, "pole"),
        Parameter(
            "height of the hinge",
            0.0,
            lambda target, value: target.body_pos.__setitem__((2, 2), value),
            size=3e-8,
        ),
    ]
    transition = Transition(model, parameters=parameters)
    start = transition.state_of(data)
    random = np.random.default_rng(0)
    controls = random.normal(size=(50, 1))
    weights = random.normal(size=(51, transition.tangent_size))

    states = transition.trajectory(start, controls)

    def loss() -> float:
        run = transition.trajectory(start, controls)
        pairs = zip(weights, states, run, strict=True)
        return float(sum(w @ transition.difference(a, b) for w, a, b in pairs))

    found = transition.gradient(start, controls, weights, checkpoint_every=every)
    for index in (0, 10, 49):
        before = controls[index, 0]
        values = []
        for sign in (1.0, -1.0):
            controls[index, 0] = before + sign * 1e-4
            values.append(loss())
        controls[index, 0] = before
        wanted = (values[0] - values[1]) / 2e-4
        assert found.by_control[index, 0] == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    values_before = transition.values
    for index in range(len(parameters)):
        values = []
        for sign in (1.0, -1.0):
            moved = values_before.copy()
            moved[index] += sign * 1e-5
            transition.set_parameters(moved)
            values.append(loss())
        transition.set_parameters(values_before)
        wanted = (values[0] - values[1]) / 2e-5
        assert found.by_parameter[index] == pytest.approx(wanted, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("integrator", [asp.Icf(), asp.Tamsi(), asp.Sap(time_step=2e-3)])
def test_contact_parameters(integrator: asp.Icf | asp.Tamsi | asp.Sap) -> None:
    """A ball at rest is as deep as its weight says: δ = mg/k."""
    model = models.load("ball")
    data = mujoco.MjData(model)
    parameters = [contact_parameter("stiffness", 1e4), body_mass(model, 1)]
    transition = Transition(model, integrator=integrator, parameters=parameters)
    data.qpos[2] = 0.1 - 9.81e-4
    found = transition.sensitivities(transition.state_of(data), np.zeros((400, 0)))
    height = found.states[-1][2]
    assert height == pytest.approx(0.1 - 9.81e-4, abs=1e-6)
    depth = 0.1 - height
    assert found.by_parameter[-1][2, 0] == pytest.approx(depth / 1e4, rel=1e-2)
    assert found.by_parameter[-1][2, 1] == pytest.approx(-depth, rel=1e-2)


GRIP = """<mujoco><worldbody>
<body pos="-.0999 0 0"><joint name="left" type="slide" axis="1 0 0"/>
 <geom type="box" size=".05 .05 .05" mass=".2" contype="2" friction=".5"/></body>
<body pos=".0999 0 0"><joint name="right" type="slide" axis="-1 0 0"/>
 <geom type="box" size=".05 .05 .05" mass=".2" contype="2" friction=".5"/></body>
<body><joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/>
 <geom type="box" size=".05 .02 .02" mass="1" conaffinity="2" friction=".5"/></body>
</worldbody><actuator><motor joint="left"/><motor joint="right"/></actuator></mujoco>"""


@pytest.mark.parametrize("relaxation", [None, 0.0, 2e-3])
@pytest.mark.parametrize("gliding", [False, True])
def test_a_grip_holds_by_its_friction_and_one_that_glides_opens(
    relaxation: float | None, gliding: bool
) -> None:
    """The speed of what slips out of a grip: dv/du = 2 μ T/m, and less where bodies glide.

    Contacts that glide move apart, so that each finger of mass m_f moves outwards at μ v_t (h + τ)/T,
    whose momentum the grip gives, not the friction (docs/integrators/sap.md).
    """
    step, count, friction, finger = 2e-3, 40, 0.5, 0.2
    model = mujoco.MjModel.from_xml_string(GRIP)
    if relaxation is None:
        integrator, late = asp.Icf(time_step=step, resolve_impacts=False), 0.0
        contact = asp.ContactParameters()
    else:
        integrator = asp.Sap(time_step=step, resolve_impacts=False, gliding=gliding)
        late = step + relaxation if gliding else 0.0
        contact = asp.ContactParameters(relaxation_time=relaxation)
    transition = Transition(model, integrator=integrator, contact=contact)
    forces = np.full((count, 2), 9.0)
    start = transition.trajectory(transition.state_of(mujoco.MjData(model)), forces)[-1]
    by_states = np.zeros((count + 1, transition.tangent_size))
    by_states[-1, model.nv + 2] = 1.0
    found = transition.gradient(start, forces, by_states).by_control.sum()
    per_force = 2.0 * friction  # over the mass of 1 kg
    wanted = per_force * (count * step - 2.0 * friction**2 * finger * late * per_force)
    assert found == pytest.approx(wanted, rel=1e-4)
    ends = [transition.trajectory(start, forces + sign)[-1] for sign in (-1e-4, 1e-4)]
    assert found == pytest.approx((ends[1] - ends[0])[model.nq + 2] / 2e-4, rel=1e-6)


def test_error_controlled_trajectories() -> None:
    model = models.load("capsule on a ramp")
    data = next(models.states(model, 1, seed=3))
    transition = Transition(model, integrator=asp.Cenic(), step=0.01)
    start = transition.state_of(data)
    states = transition.sensitivities(start, np.zeros((5, 0)), by_state=True)
    lin = asp.derivatives.linearize(model, data, integrator=asp.Cenic(), step=0.01)
    np.testing.assert_allclose(states.by_state[1], lin.A, rtol=1e-6, atol=1e-7)


def test_what_is_not_supported_is_named() -> None:
    model = models.load("ball")
    friction = model_number(model, "geom_friction", (1, 0))
    with pytest.raises(asp.ArgumentError, match="same name"):
        Transition(model, parameters=[friction, friction])
    with pytest.raises(asp.ArgumentError, match="no array 'geom_frictions'"):
        model_number(model, "geom_frictions", 0)
    with pytest.raises(asp.ArgumentError, match="no entry"):
        model_number(model, "geom_friction", (9, 0))
    with pytest.raises(asp.ArgumentError, match="no body 'robot'"):
        body_mass(model, "robot")
    with pytest.raises(asp.ArgumentError, match="contact_field 'hardness'"):
        contact_parameter("hardness", 1.0)
    transition = Transition(model)
    with pytest.raises(asp.ArgumentError, match=r"shape \(13,\)"):
        transition(np.zeros(12), np.zeros(0))
    with pytest.raises(asp.ArgumentError, match="not finite"):
        transition(np.full(13, np.nan), np.zeros(0))
    with pytest.raises(asp.ArgumentError, match=r"controls must have the shape \(n, 0\)"):
        transition.trajectory(transition.state_of(mujoco.MjData(model)), np.zeros((3, 2)))
