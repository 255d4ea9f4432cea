"""Tendons that couple more than two kinematic trees, against exact solutions and other engines."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore:.*Nothing can collide")

MASSES = np.array([1.0, 2.0, 4.0])
COEFFICIENTS = np.array([1.0, 2.0, -1.0])
GRAVITY = np.full(3, -9.81)

METHODS = {
    "icf": asp.Icf(time_step=1e-3),
    "sap": asp.Sap(time_step=1e-3),
    "tamsi": asp.Tamsi(time_step=1e-3),
    "cenic": asp.Cenic(accuracy=1e-5),
}

each_method = pytest.mark.parametrize("method", METHODS)


def slides(tendon: str = "", sections: str = "") -> mujoco.MjModel:
    """Three weights on rails, and a fixed tendon over all of them."""
    bodies = "".join(
        f"<body pos='{k} 0 0'><joint name='{k}' type='slide' axis='0 0 1'/>"
        f"<geom size='0.1' mass='{mass}' contype='0' conaffinity='0'/></body>"
        for k, mass in enumerate(MASSES)
    )
    joints = "".join(f"<joint joint='{k}' coef='{c}'/>" for k, c in enumerate(COEFFICIENTS))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{bodies}</worldbody>"
        f"<tendon><fixed name='t' {tendon}>{joints}</fixed></tendon>{sections}</mujoco>"
    )


def moved(model: mujoco.MjModel, method: str, duration: float) -> mujoco.MjData:
    simulator = asp.Simulator(model, integrator=METHODS[method])
    simulator.advance_to(duration)
    return simulator.data


@each_method
def test_constant_length(method: str) -> None:
    model = slides(sections="<equality><tendon tendon1='t'/></equality>")
    inverse = COEFFICIENTS / MASSES
    tension = -(COEFFICIENTS @ GRAVITY) / (COEFFICIENTS @ inverse)
    data = moved(model, method, 0.2)
    np.testing.assert_allclose(data.qvel, 0.2 * (GRAVITY + inverse * tension), rtol=1e-4)
    assert abs(COEFFICIENTS @ data.qpos) < 1e-5


@each_method
def test_friction(method: str) -> None:
    """Dry friction of a tendon that slips, while its length falls from the beginning on."""
    model = slides("frictionloss='3'")
    force = COEFFICIENTS * 3.0 / MASSES  # against the length's rate, which is negative
    data = moved(model, method, 0.2)
    np.testing.assert_allclose(data.qvel, 0.2 * (GRAVITY + force), rtol=2e-3)


@each_method
def test_friction_that_holds(method: str) -> None:
    """A tendon whose friction is enough does not move at all; its joints do, with each other."""
    model = slides("frictionloss='100'")
    inverse = COEFFICIENTS / MASSES
    tension = -(COEFFICIENTS @ GRAVITY) / (COEFFICIENTS @ inverse)
    data = moved(model, method, 0.2)
    np.testing.assert_allclose(data.qvel, 0.2 * (GRAVITY + inverse * tension), rtol=2e-3)


@each_method
def test_motor(method: str) -> None:
    model = slides(sections="<actuator><motor tendon='t'/></actuator>")
    simulator = asp.Simulator(model, integrator=METHODS[method])
    simulator.data.ctrl[0] = 5.0
    simulator.advance_to(0.2)
    expected = 0.2 * (GRAVITY + COEFFICIENTS * 5.0 / MASSES)
    np.testing.assert_allclose(simulator.data.qvel, expected, rtol=1e-9)


@each_method
def test_limit(method: str) -> None:
    """Weights fall until the tendon's limit stops them: as one, without rebound."""
    model = slides("range='-0.5 9'")
    data = moved(model, method, 0.5)
    assert COEFFICIENTS @ data.qpos == pytest.approx(-0.5, abs=0.02)
    assert abs(COEFFICIENTS @ data.qvel) < 0.05
    # Momentum of those directions that the tendon does not pull in.
    along = np.array([[2.0, -1.0, 0.0], [1.0, 0.0, 1.0]])
    fallen = along @ (MASSES * GRAVITY) * 0.5
    np.testing.assert_allclose(along @ (MASSES * data.qvel), fallen, rtol=1e-5, atol=1e-9)


ROPE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="a" pos="0 0 1"><freejoint/><geom size="0.1" mass="1"/><site name="a"/></body>
    <body name="x" pos="3 3 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
    <body name="b" pos="1 0 1.2"><freejoint/><geom size="0.1" mass="2"/><site name="b"/></body>
    <body name="c" pos="2 0 1">
      <freejoint/><geom size="0.1" mass="4"/><site name="c" pos="0 0 0.1"/>
    </body>
  </worldbody>
  <tendon>
    <spatial stiffness="200" damping="1" springlength="1.5">
      <site site="a"/><site site="b"/><site site="c"/>
    </spatial>
  </tendon>
</mujoco>
"""


def test_elastic_rope_through_three_bodies() -> None:
    """Against the classical Runge-Kutta method of MuJoCo, before anything falls to the floor."""
    model = mujoco.MjModel.from_xml_string(ROPE)
    simulator = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-6))
    simulator.advance_to(0.3)
    reference = mujoco.MjModel.from_xml_string(ROPE)
    reference.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    reference.opt.timestep = 1e-4
    data = mujoco.MjData(reference)
    for _ in range(3000):
        mujoco.mj_step(reference, data)
    flying = np.r_[0:7, 14:28]
    np.testing.assert_allclose(simulator.data.qpos[flying], data.qpos[flying], atol=2e-5)
    # The box that lies between them in the order of bodies goes on lying.
    np.testing.assert_allclose(simulator.data.qpos[7:10], [3, 3, 0.1], atol=1e-3)


PILE = "".join(
    f"<body name='b{k}' pos='{0.02 * k} 0 {0.1 + 0.21 * k}'><freejoint/>"
    f"<geom type='box' size='0.1 0.1 0.1'/><site name='s{k}'/></body>"
    for k in range(4)
)


@each_method
def test_a_tendon_that_only_measures_changes_nothing(method: str) -> None:
    """Bodies that share a tree move as bodies with trees of their own."""
    states = []
    for tendon in ("", "<spatial><site site='s0'/><site site='s2'/><site site='s3'/></spatial>"):
        model = mujoco.MjModel.from_xml_string(
            f"<mujoco><worldbody><geom type='plane' size='5 5 0.1'/>{PILE}</worldbody>"
            f"<tendon>{tendon}</tendon></mujoco>"
        )
        # Impacts tell the steps of error control apart, which are not the same.
        accurate = asp.Cenic(accuracy=1e-7)
        # One tree and several are solved on different ways, which agree within the tolerances.
        # What a rebound changes may cost no energy of an island, which a tree of all makes larger.
        tight = asp.Icf(time_step=1e-3, friction_tolerance=1e-4, resolve_impacts=False)
        own = {
            "cenic": accurate,
            "icf": tight,
            "sap": asp.Sap(time_step=1e-3, resolve_impacts=False),
        }
        integrator = own.get(method, METHODS[method])
        simulator = asp.Simulator(model, integrator=integrator)
        simulator.data.qvel[18] = 0.5
        simulator.advance_to(0.25)
        assert simulator.data.ncon > 8
        states.append(np.concatenate([simulator.data.qpos, simulator.data.qvel]))
    np.testing.assert_allclose(states[1], states[0], atol=2e-4 if method == "cenic" else 1e-6)


def test_many_worlds_and_derivatives() -> None:
    model = slides(sections="<actuator><motor tendon='t'/></actuator>")
    batch = asp.Batch(model, 2, integrator=asp.Icf(time_step=1e-3))
    batch.ctrl[1] = 5.0
    batch.step(100)
    expected = 0.1 * (GRAVITY + COEFFICIENTS * 5.0 / MASSES)
    np.testing.assert_allclose(batch.qvel[1], expected, rtol=1e-9)
    simulator = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    derivative = asp.derivatives.linearize(
        model, simulator.data, integrator=asp.Icf(time_step=1e-3)
    )
    np.testing.assert_allclose(derivative.B[3:, 0], 1e-3 * COEFFICIENTS / MASSES, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_a_taut_rope_s_force_is_published_where_mujoco_has_no_row() -> None:
    """A weight hangs on a tendon's limit, which counts as reached a little before it is."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><site name='hook'/><body pos='0 0 -1'><joint type='slide' axis='0 0 1'/>"
        "<geom size='.03' mass='2'/><site name='weight'/></body></worldbody>"
        "<tendon><spatial limited='true' range='0 1'><site site='hook'/><site site='weight'/>"
        "</spatial></tendon></mujoco>"
    )
    for start in (0.0, 1e-5):
        sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
        sim.data.qpos[0] = start
        assert sim.advance_to(1.0).success
        assert sim.data.qfrc_constraint[0] == pytest.approx(2 * 9.81, rel=1e-3)


@each_method
@pytest.mark.parametrize("branches", [False, True], ids=["trees", "branches"])
def test_armature_between_bodies_that_do_not_carry_each_other_is_refused(
    method: str, branches: bool
) -> None:
    """MuJoCo's inertia has no place for what couples them, and energy would not be kept."""
    model = slides("armature='1'")
    if branches:
        spec = mujoco.MjSpec()
        robot = spec.worldbody.add_body(name="robot")
        robot.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
        robot.add_geom(size=[0.1, 0, 0])
        fingers = mujoco.MjSpec.from_string(
            "<mujoco><worldbody><body name='f'><joint name='f' type='slide'/><geom size='.1'/></body>"
            "<body name='g'><joint name='g' type='slide'/><geom size='.1'/></body></worldbody><tendon>"
            "<fixed name='t' armature='1'><joint joint='f' coef='1'/><joint joint='g' coef='1'/>"
            "</fixed></tendon></mujoco>"
        )
        spec.attach(fingers, frame=robot.add_frame(), prefix="")
        model = spec.compile()
    with pytest.raises(asp.ModelError, match=r"Tendon 't' has armature.*take Midas"):
        moved(model, method, 0.1)
    asp.Simulator(model, integrator=asp.Midas(time_step=0.01)).advance_to(0.02)
