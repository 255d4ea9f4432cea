"""Sensors, pressure fields, convergence with the accuracy, and states without any luck."""

from __future__ import annotations

import derivative_models as models
import mujoco
import numpy as np
import pytest

import asperity as asp

SENSORS = """<mujoco><option timestep=".002"/><worldbody>
  <body pos="0 0 1"><joint name="a" axis="0 1 0" damping=".3"/><geom size=".1" pos=".2 0 0"/>
    <site name="s" pos=".3 0 0"/>
    <body pos=".4 0 0"><joint name="b" axis="1 1 0"/><geom size=".05" pos=".1 .1 0"/></body></body>
  </worldbody><actuator><motor joint="a" gear="2"/></actuator>
  <sensor><jointpos joint="a"/><jointvel joint="b"/><framepos objtype="site" objname="s"/>
    <velocimeter site="s"/><actuatorfrc actuator="a"/><accelerometer site="s"/></sensor>
  </mujoco>""".replace('<motor joint="a"', '<motor name="a" joint="a"')


def test_sensors_are_mujoco_s_where_there_is_no_contact() -> None:
    model = mujoco.MjModel.from_xml_string(SENSORS)
    # An implicit damper would make another acceleration of Asperity's step.
    model.dof_damping[:] = 0.0
    data = mujoco.MjData(model)
    data.qvel[:], data.ctrl[:] = (0.7, -0.4), 0.3
    by_state = np.zeros((model.nsensordata, 2 * model.nv))
    by_control = np.zeros((model.nsensordata, model.nu))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, None, None, by_state, by_control)
    lin = asp.derivatives.linearize(model, data, integrator=asp.Icf(time_step=0.002))
    np.testing.assert_allclose(lin.C, by_state, atol=1e-6)
    np.testing.assert_allclose(lin.D, by_control, atol=1e-6)
    without = asp.derivatives.linearize(
        model, data, integrator=asp.Icf(time_step=0.002), sensors=False
    )
    assert without.C.shape == (0, 2 * model.nv)
    np.testing.assert_array_equal(without.A, lin.A)


KINEMATIC = """<mujoco><option timestep=".002"><flag energy="enable"/></option><worldbody>
  <geom type="plane" size="3 3 1"/>
  <body name="free" pos="-.5 0 .11"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/></body>
  <body name="arm" pos="0 0 1"><joint name="ball" type="ball"/>
    <geom name="upper" size=".1" pos=".2 0 0"/><site name="s" pos=".3 0 0" euler="10 20 30"/>
    <site name="zone" size=".5"/><camera name="c" pos="0 -1 0" xyaxes="1 0 0 0 0 1" resolution="9 9"/>
    <body name="fore" pos=".4 0 0"><joint name="b" axis="1 1 0" ref=".1"/>
      <geom name="lower" size=".05" pos=".1 .1 0"/><site name="tip" pos=".1 .2 0"/></body></body>
  <site name="hook" pos=".5 0 1.5"/></worldbody>
  <tendon><spatial name="t"><site site="hook"/><site site="tip"/></spatial></tendon>
  <actuator><motor name="m" tendon="t"/></actuator>
  <sensor><jointpos joint="b"/><jointvel joint="b"/><ballquat joint="ball"/><ballangvel joint="ball"/>
    <tendonpos tendon="t"/><tendonvel tendon="t"/><actuatorpos actuator="m"/>
    <actuatorvel actuator="m"/><framepos objtype="site" objname="tip" reftype="body" refname="free"/>
    <framequat objtype="body" objname="fore"/><framexaxis objtype="geom" objname="box"/>
    <framelinvel objtype="site" objname="tip" reftype="site" refname="s"/>
    <frameangvel objtype="body" objname="fore"/><gyro site="s"/><velocimeter site="tip"/>
    <magnetometer site="s"/><rangefinder site="s"/><camprojection site="tip" camera="c"/>
    <subtreecom body="arm"/><subtreelinvel body="arm"/><subtreeangmom body="arm"/>
    <distance geom1="box" geom2="lower" cutoff="9"/><insidesite site="zone" objtype="site" objname="tip"/>
    <e_potential/><e_kinetic/><clock/></sensor></mujoco>"""


def test_sensors_of_positions_and_velocities_take_no_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo's differences, of all its kinematic sensors, beside a contact."""
    model = mujoco.MjModel.from_xml_string(KINEMATIC)
    data = mujoco.MjData(model)
    data.qpos[7:11] = 0.9, 0.1, -0.3, 0.2
    data.qpos[7:11] /= np.linalg.norm(data.qpos[7:11])
    data.qpos[11] = 0.4
    data.qvel[:] = np.linspace(-0.5, 0.7, model.nv)
    by_state = np.zeros((model.nsensordata, 2 * model.nv))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, None, None, by_state, None)
    integrator = asp.Icf(time_step=0.002)
    steps: list[float] = []
    advance = asp.Simulator.advance_to
    monkeypatch.setattr(
        asp.Simulator,
        "advance_to",
        lambda self, time, **options: steps.append(time) or advance(self, time, **options),
    )
    lin = asp.derivatives.linearize(model, data, integrator=integrator)
    kinetic = model.sensor_adr[model.sensor_type == mujoco.mjtSensor.mjSENS_E_KINETIC][0]
    others = np.arange(model.nsensordata) != kinetic
    np.testing.assert_allclose(lin.C[others], by_state[others], atol=1e-5)
    # MuJoCo keeps the kinetic energy of the state that was displaced.
    mujoco.mj_forward(model, data)
    momentum = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, momentum, data.qvel)
    np.testing.assert_allclose(lin.C[kinetic, model.nv :], momentum, atol=1e-6)
    assert lin.D.shape == (model.nsensordata, 1)
    assert not lin.D.any()
    assert len(steps) < model.nv


def test_a_ball_on_a_pressure_field() -> None:
    """Against the whole step, whose contact polygons change with every displacement."""
    model = models.load("ball")
    contact = asp.ContactParameters(
        surface="compliant", hydroelastic_modulus=1e6, dissipation=1.0, stiction_tolerance=1e-4
    )
    integrator = asp.Icf(time_step=1e-3)
    data = mujoco.MjData(model)
    data.qpos[2] = 0.095
    data.qvel[0], data.qvel[4] = 0.3, 1.0
    lin = asp.derivatives.linearize(model, data, integrator=integrator, contact=contact)
    assert lin.method == "implicit"
    simulator = asp.Simulator(
        model,
        integrator=asp.Icf(
            time_step=1e-3, tolerance=1e-13, friction_tolerance=1e-11, friction_passes=200
        ),
        contact=contact,
    )

    def speed(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        simulator.data.qpos[:], simulator.data.qvel[:] = qpos, qvel
        simulator.take_over()
        assert simulator.step().success
        return simulator.data.qvel.copy()

    size = 1e-6
    for index in range(12):
        change = np.zeros(12)
        change[index] = size
        ends = []
        for sign in (1.0, -1.0):
            qpos = data.qpos.copy()
            mujoco.mj_integratePos(model, qpos, sign * change[:6], 1.0)
            ends.append(speed(qpos, data.qvel + sign * change[6:]))
        wanted = (ends[0] - ends[1]) / (2.0 * size)
        scale = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(lin.A[6:, index], wanted, atol=1e-4 * scale)


def test_the_derivative_converges_as_accuracy_tightens() -> None:
    """A double pendulum that touches the floor and swings on, over 100 ms."""
    model = models.load("double pendulum on the floor")
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (-0.9, 0.4), (1.0, -2.0)
    span = 0.1
    exact = asp.derivatives.linearize(model, data, integrator=asp.Cenic(accuracy=1e-8), step=span).A
    errors = [
        np.linalg.norm(
            asp.derivatives.linearize(
                model, data, integrator=asp.Cenic(accuracy=accuracy), step=span
            ).A
            - exact
        )
        for accuracy in (1e-3, 1e-4, 1e-5, 1e-6)
    ]
    assert errors[-1] < 1e-3 * np.linalg.norm(exact)
    assert errors[-1] < 0.1 * errors[0]


@pytest.mark.parametrize("name", ["two boxes", "quadruped", "arm at its limits"])
def test_it_is_always_finite(name: str) -> None:
    """At states between which contacts open and close, most of them violent."""
    model = models.load(name)
    random = np.random.default_rng(0)
    sap = asp.Sap(time_step=5e-3, resolve_impacts=False)
    for integrator in (asp.Icf(), asp.Tamsi(), sap):
        data = mujoco.MjData(model)
        data.qvel[:] = 3.0 * random.normal(size=model.nv)
        for _ in range(25):
            lin = asp.derivatives.linearize(model, data, integrator=integrator)
            assert np.all(np.isfinite(lin.A))
            assert np.all(np.isfinite(lin.B))
            data.ctrl[:] = random.normal(size=model.nu)
            asp.step(model, data, 5, integrator=asp.Icf())


@pytest.mark.filterwarnings("ignore:.*displacements:asperity.AsperityWarning")
@pytest.mark.parametrize("joint", ["hinge", "ball"])
def test_capsules_whose_ends_share_a_joint_push_without_a_moment(joint: str) -> None:
    """The contact's normal is arbitrary, and turns with the smallest displacement."""
    found = []
    for excluded in ("", "<contact><exclude body1='world' body2='link'/></contact>"):
        model = mujoco.MjModel.from_xml_string(f"""
            <mujoco>
              <worldbody>
                <geom type="capsule" fromto="0 0 1 0 .3 1" size=".02"/>
                <body name="link" pos="0 0 1"><joint type="{joint}" axis="0 .6 .8"/>
                  <geom type="capsule" fromto="0 0 0 .3 .05 -.1" size=".02"/></body>
              </worldbody>
              {excluded}
            </mujoco>""")
        data = mujoco.MjData(model)
        data.qvel[:] = 1.3
        mujoco.mj_forward(model, data)
        assert (data.ncon > 0) == (excluded == "")
        integrator = asp.Icf(time_step=2e-3, resolve_impacts=False)
        found.append(asp.derivatives.linearize(model, data, integrator=integrator).A)
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


SLEEPER = """<mujoco><option><flag sleep="{flag}"/></option><worldbody>
  <geom type="plane" size="5 5 1" pos="0 0 -2"/>
  <body pos="0 0 .1" sleep="init"><freejoint/><geom name="ball" size=".1"/>
    <site name="s" pos=".05 0 0"/><body pos=".2 0 0"><joint axis="0 1 0"/><geom size=".05"/></body>
  </body></worldbody>
  <sensor><framepos objtype="site" objname="s"/><velocimeter site="s"/><accelerometer site="s"/>
  <force site="s"/></sensor></mujoco>"""


@pytest.mark.parametrize(
    "integrator",
    [
        asp.Icf(time_step=1e-3),
        asp.Cenic(accuracy=1e-3),
        asp.Sap(time_step=1e-3),
        asp.Midas(time_step=1e-3),
    ],
    ids=["icf", "cenic", "sap", "midas"],
)
def test_what_starts_asleep_has_the_derivatives_of_what_is_awake(
    integrator: asp.Integrator,
) -> None:
    found = []
    for flag in ("enable", "disable"):
        model = mujoco.MjModel.from_xml_string(SLEEPER.format(flag=flag))
        data = mujoco.MjData(model)
        data.qvel[:] = 0.1 * np.arange(model.nv)
        linear = asp.derivatives.linearize(model, data, integrator=integrator)
        transition = asp.derivatives.Transition(
            model,
            integrator=integrator,
            parameters=[asp.derivatives.contact_parameter("friction", 0.3)],
            step=1e-3,
        )
        forward = transition.sensitivities(transition.state_of(data), np.zeros((2, 0)))
        found.append((linear.A, linear.C, forward.states, forward.by_state))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.abs(found[0][0]).max() > 0.9
