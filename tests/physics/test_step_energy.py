"""Extrapolated steps of what nothing touches leave the energy that they should."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import states
from scipy.integrate import solve_ivp

import asperity as asp
from asperity.plant.tree_energy import energy_of_trees
from studies.benchmarks.verification import mechanisms

pytestmark = pytest.mark.filterwarnings("ignore:.*Nothing can collide")

SPRUNG = """<mujoco><option gravity="1 2 -9.81"/><worldbody>
<body pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .05" pos=".02 0 .01"/>
  <body pos=".2 0 0"><joint name="a" axis="0 1 .3" stiffness="3 4 5" springref="20" armature=".1"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 .1 0"/></body></body>
<body pos="1 0 1"><joint name="b" type="slide" axis="0 1 1" stiffness="20 0 900"/>
  <geom size=".05"/>
  <body pos="0 .3 0"><joint name="c" axis="1 0 0"/><geom type="box" size=".1 .02 .05" pos=".1 0 0"/>
  </body></body>
</worldbody><tendon>
<fixed stiffness="7 -2 30" springlength=".1 .3"><joint joint="b" coef="2"/><joint joint="c" coef="-.5"/>
</fixed></tendon><actuator><motor joint="c" gear="3" armature=".05"/></actuator></mujoco>"""


def test_energies_of_trees_are_mujoco_s() -> None:
    """With springs that stiffen, tendons with slack, armature and gravity in any direction.

    Armature is of a joint and of an actuator.
    """
    model = mujoco.MjModel.from_xml_string(SPRUNG)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    plant = asp.Simulator(model, integrator=asp.Cenic()).session.plant
    state = asp.Simulator(model, integrator=asp.Cenic()).session.world.current.table
    assert plant.table.springs.known.tolist() == [1, 1]
    rng = np.random.default_rng(2)
    data = mujoco.MjData(model)
    out = np.zeros(2)
    for _ in range(20):
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 0.5)
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        energy_of_trees(plant.table, state, np.ones(2, np.int64), data.qpos, data.qvel, out)
        assert out.sum() == pytest.approx(data.energy.sum(), rel=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        '<body><joint type="ball" stiffness="1"/><geom size=".1" pos=".1 0 0"/></body>',
        '<body gravcomp="1"><joint/><geom size=".1" pos=".1 0 0"/></body>',
        '<body><joint name="j"/><geom size=".1" pos=".1 0 0"/></body></worldbody><tendon>'
        '<fixed name="t"><joint joint="j" coef="1"/></fixed></tendon><actuator>'
        '<motor tendon="t" armature=".1"/></actuator><worldbody>',
    ],
)
def test_energy_that_is_not_known_is_not_balanced(model: str) -> None:
    xml = f"<mujoco><worldbody>{model}</worldbody></mujoco>"
    plant = asp.Simulator(mujoco.MjModel.from_xml_string(xml)).session.plant
    assert plant.table.springs.known.tolist() == [0]


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3])
def test_a_closed_loop_keeps_its_energy(accuracy: float) -> None:
    """Extrapolation alone changes it within 5 s by half a joule at 1e-2."""
    model = mechanisms.four_bar().model()
    run = states(model, 5.0, asp.Cenic(accuracy=accuracy), qvel=mechanisms.four_bar_start())
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    data = mujoco.MjData(model)
    found = []
    for qpos, qvel in zip(run.qpos, run.qvel, strict=True):
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
        found.append(data.energy.sum())
    assert np.ptp(found) < 0.05


DRIVEN = """<mujoco><worldbody><body>
<joint name="hinge" axis="0 1 0" damping=".3" stiffness="2"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -1" mass="1"/></body></worldbody>
<actuator><motor joint="hinge"/></actuator></mujoco>"""


def test_work_of_motors_and_dampers_counts() -> None:
    """A pendulum with a spring and a damper, driven by a constant torque, beside its equation."""
    model = mujoco.MjModel.from_xml_string(DRIVEN)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
    sim.data.ctrl[0] = 3.0
    sim.data.qpos[0] = 1.0
    sim.advance_to(4.0)
    inertia = float(sim.data.M[0])

    def rate(_: float, y: np.ndarray) -> list[float]:
        torque = 3.0 - 0.3 * y[1] - 2.0 * y[0] - 9.81 * 0.5 * math.sin(y[0])
        return [y[1], torque / inertia]

    truth = solve_ivp(rate, (0.0, 4.0), [1.0, 0.0], rtol=1e-10, atol=1e-10).y[:, -1]
    assert sim.data.qpos[0] == pytest.approx(truth[0], abs=5e-4)
    assert sim.data.qvel[0] == pytest.approx(truth[1], abs=5e-3)


def test_a_damped_swing_loses_what_its_damper_takes() -> None:
    """Ten periods with a damping ratio of 0.02; extrapolation alone leaves a fifth of it."""
    xml = (
        '<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="slide" stiffness="100" '
        'damping=".4"/><geom size=".05" mass="1"/></body></worldbody></mujoco>'
    )
    run = states(mujoco.MjModel.from_xml_string(xml), 6.3, asp.Cenic(accuracy=1e-2), qpos=[0.05])
    late = run.time > 5.5
    energy = 0.5 * run.qvel[late, 0] ** 2 + 50.0 * run.qpos[late, 0] ** 2
    amplitude = np.sqrt(energy / 50.0)
    np.testing.assert_allclose(amplitude, 0.05 * np.exp(-0.2 * run.time[late]), rtol=0.08)


ARMED = """<mujoco><worldbody>
<body pos="0 0 1"><joint name="a" axis="0 1 0" {hinge}/>
  <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass=".5"/>
  <body pos=".3 0 0"><joint name="b" axis="0 1 0"/>
    <geom type="capsule" size=".02" fromto="0 0 0 .2 0 0" mass=".3"/></body></body>
<body pos="1 0 1"><joint name="free" type="free" {free}/>
  <geom type="box" size=".1 .2 .05" pos=".02 0 .01" mass=".1"/></body>
</worldbody><actuator><motor joint="a" gear="2" {motor}/><motor joint="free" {other}/></actuator>
</mujoco>"""


@pytest.mark.parametrize("setting", [asp.Cenic(), asp.Icf(time_step=1e-3), asp.Sap(time_step=1e-3)])
def test_armature_of_an_actuator_is_that_of_its_joint(setting: asp.Integrator) -> None:
    """By the squared gear; MuJoCo has the same mass matrix for both."""
    ends = []
    for parts in (
        {"hinge": 'armature=".4"', "free": 'armature=".05"'},
        {"motor": 'armature=".1"', "other": 'armature=".05"'},
    ):
        model = ARMED.format(**dict.fromkeys(("hinge", "free", "motor", "other"), "") | parts)
        sim = asp.Simulator(model, integrator=setting)
        sim.data.qvel[2:] = [0.1, 0.2, 0.3, 3.0, 2.0, 1.0]
        sim.advance_to(0.3)
        ends.append([*sim.data.qpos, *sim.data.qvel])
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-12)
