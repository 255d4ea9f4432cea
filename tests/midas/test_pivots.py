"""What turns about a joint that is fixed in the world keeps its spin, however fast."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

G = 9.81


def energy(sim: asp.Simulator) -> float:
    data = mujoco.MjData(sim.model)
    data.qpos[:], data.qvel[:] = sim.data.qpos, sim.data.qvel
    mujoco.mj_forward(sim.model, data)
    mujoco.mj_energyPos(sim.model, data)
    mujoco.mj_energyVel(sim.model, data)
    return float(data.energy.sum())


LOPSIDED = """<mujoco><option gravity="0 0 {gravity}"/><worldbody><body pos=".1 .2 .3">
  <joint type="{joint}" axis=".3 .5 1" pos=".02 0 .01"/>
  <geom type="box" size=".03 .05 .1" pos=".04 .02 .05" euler="20 30 0" mass="1"/></body>
  </worldbody></mujoco>"""


@pytest.mark.parametrize("scheme", ["bdf2", "implicit-euler"])
@pytest.mark.parametrize(
    ("joint", "speed"), [("hinge", 2.0), ("hinge", 150.0), ("ball", 2.0), ("ball", 90.0)]
)
def test_without_forces_energy_stays(joint, speed, scheme):
    """Up to a radian and a half a step, about a joint that is not at the centre of mass."""
    xml = LOPSIDED.format(gravity=0, joint=joint)
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=0.01, time_scheme=scheme))
    sim.data.qvel[:] = speed * np.array([1.0] if joint == "hinge" else [0.6, -0.5, 0.8])
    before = energy(sim)
    report = sim.advance_to(1.0)
    assert report.success
    assert energy(sim) == pytest.approx(before, rel=1e-6)
    assert report.stats.iterations < 5 * report.stats.steps
    if joint == "hinge":
        assert sim.data.qpos[0] == pytest.approx(speed, rel=1e-6)


SPIN, RADIUS, MASS, ARM, TILT = 200.0, 0.05, 0.5, 0.1, np.pi / 3


def test_a_gyroscope_precesses_as_a_heavy_top_does():
    """Two radians in every step; the equations of the symmetric top (Goldstein, 5.7)."""
    xml = f"""<mujoco><worldbody><body><joint type="ball"/><geom type="cylinder"
      size="{RADIUS} .005" pos="0 0 {ARM}" mass="{MASS}"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=0.01))
    sim.data.qpos[:] = [np.cos(TILT / 2), 0.0, np.sin(TILT / 2), 0.0]
    sim.data.qvel[:] = [0.0, 0.0, SPIN]
    before = energy(sim)
    report = sim.advance_to(0.5)
    assert report.success
    assert report.stats.iterations < 5 * report.stats.steps
    axial = 0.5 * MASS * RADIUS**2
    across = MASS * (RADIUS**2 / 4 + 0.01**2 / 12 + ARM**2)

    def rate(_, state):
        theta, speed, _ = state
        p_psi = axial * SPIN
        turn = p_psi * (np.cos(TILT) - np.cos(theta)) / (across * np.sin(theta) ** 2)
        force = across * turn**2 * np.sin(theta) * np.cos(theta)
        force += (MASS * G * ARM - p_psi * turn) * np.sin(theta)
        return [speed, force / across, turn]

    truth = solve_ivp(rate, (0.0, 0.5), [TILT, 0.0, 0.0], rtol=1e-10, atol=1e-10).y[:, -1]
    axis = np.zeros(3)
    mujoco.mju_rotVecQuat(axis, np.array([0.0, 0.0, 1.0]), sim.data.qpos)
    assert np.arctan2(axis[1], axis[0]) == pytest.approx(truth[2], abs=np.radians(0.5))
    assert np.arccos(axis[2]) == pytest.approx(truth[0], abs=np.radians(1.0))
    assert energy(sim) == pytest.approx(before, rel=2e-3)


@pytest.mark.parametrize("joint", ["hinge", "ball"])
def test_under_gravity_it_is_of_second_order(joint):
    """Errors of a lopsided pendulum, against MuJoCo's Runge–Kutta method in short steps."""
    xml = LOPSIDED.format(gravity=-G, joint=joint)
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qvel[:] = [3.0] if joint == "hinge" else [3.0, 1.0, 8.0]
    start = data.qvel.copy()
    while data.time < 0.5 - 1e-9:
        mujoco.mj_step(model, data)
    errors = []
    for step in (5e-3, 2.5e-3):
        sim = asp.Simulator(xml, integrator=asp.Midas(time_step=step))
        sim.data.qvel[:] = start
        assert sim.advance_to(0.5).success
        errors.append(np.abs(sim.data.qpos - data.qpos).max())
    assert errors[0] < 0.01
    assert errors[1] < 0.4 * errors[0]


def test_what_it_carries_acts_on_it():
    """A double pendulum on a ball joint, without gravity: energy, and momentum about the joint."""
    xml = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="ball"/>
      <geom type="box" size=".05 .04 .15" pos="0 0 -.15" mass="1"/><body pos="0 0 -.3">
      <joint axis="0 1 0"/><geom type="box" size=".05 .04 .1" pos=".02 0 -.1" mass=".5"/>
      </body></body></worldbody></mujoco>"""

    def momentum(sim: asp.Simulator) -> np.ndarray:
        data = mujoco.MjData(sim.model)
        data.qpos[:], data.qvel[:] = sim.data.qpos, sim.data.qvel
        mujoco.mj_forward(sim.model, data)
        mujoco.mj_subtreeVel(sim.model, data)
        of_all = data.subtree_angmom[0]
        return of_all + np.cross(data.subtree_com[0], 1.5 * data.subtree_linvel[0])

    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=1e-3))
    sim.data.qvel[:] = [2.0, -1.0, 3.0, 4.0]
    before, then = energy(sim), momentum(sim)
    assert sim.advance_to(1.0).success
    assert energy(sim) == pytest.approx(before, rel=1e-3)
    np.testing.assert_allclose(momentum(sim), then, atol=2e-3 * np.linalg.norm(then))
