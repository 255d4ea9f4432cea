"""The suction element: its force, its potential, and a gripper that lifts a box."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from system_models import compile_mjcf

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

CUP = "<geom name='cup' type='sphere' size='1e-4' pos='0 0 0.5' contype='0' conaffinity='0'/>"
BALL = "<body name='ball' pos='0 0 {z}'><freejoint/><geom name='ball' size='0.1' mass='2'/></body>"
FORCE, REACH = 50.0, 0.04


def _ball(z: float, gravity: float = 0.0) -> mujoco.MjModel:
    return compile_mjcf(CUP + BALL.format(z=z), option=f"gravity='0 0 -{gravity}'")


@pytest.mark.parametrize(
    ("distance", "expected"), [(0.01, 37.5), (0.03, 12.5), (0.041, 0.0), (-0.005, 50.0)]
)
def test_the_force_falls_linearly_to_the_end_of_the_reach(distance: float, expected: float) -> None:
    suction = asp.systems.Suction("cup", force=FORCE, reach=REACH)
    sim = asp.Simulator(_ball(0.4 - distance), systems=[suction])
    np.testing.assert_allclose(
        sim.system_output(suction), [0, 0, expected, 0, 0, 0], rtol=1e-6, atol=1e-9
    )
    suction.strength = 0.5
    sim.advance_to(1e-6)
    assert sim.system_output(suction)[2] == pytest.approx(expected / 2, rel=1e-3)


def test_a_pulled_ball_arrives_with_the_energy_of_the_potential() -> None:
    suction = asp.systems.Suction("cup", force=FORCE, reach=REACH)
    sim = asp.Simulator(
        _ball(0.38, gravity=9.81), integrator=asp.Cenic(accuracy=1e-7), systems=[suction]
    )
    start = sim.data.qpos[2]
    # The ball weighs 20 N and is pulled with 25 N at first.
    assert sim.advance_to(0.06).success
    assert 0.385 < sim.data.qpos[2] < 0.4
    rise = sim.data.qpos[2] - start
    far, near = 0.4 - start, 0.4 - sim.data.qpos[2]
    work = FORCE / (2 * REACH) * ((REACH - near) ** 2 - (REACH - far) ** 2)
    kinetic = 0.5 * 2.0 * sim.data.qvel[2] ** 2
    assert kinetic == pytest.approx(work - 2.0 * 9.81 * rise, rel=1e-2)


GRIPPER = """
<body name='base' pos='0 0 0.5'>
  <joint name='lift' type='slide' axis='0 0 1' damping='0.1'/>
  <geom type='box' size='0.05 0.04 0.01' mass='1' contype='0' conaffinity='0'/>
  {cups}
</body>
<body name='box' pos='0 0 0.465'>
  <freejoint/><geom name='box' type='box' size='0.08 0.06 0.01' mass='0.4' friction='1'/>
</body>
<geom name='floor' type='plane' size='0 0 1'/>
"""


def _gripper() -> mujoco.MjModel:
    cups = ""
    for i, x in enumerate((-0.03, 0.0, 0.03)):
        for j, y in enumerate((-0.02, 0.02)):
            cups += (
                f"<body pos='{x} {y} -0.02'><joint type='slide' axis='0 0 1' stiffness='200' "
                f"damping='1' range='-0.005 0.01' limited='true'/>"
                f"<geom type='cylinder' size='0.008 0.004' mass='0.005' friction='1'/></body>"
                f"<geom name='source{2 * i + j}' size='1e-4' pos='{x} {y} -0.01' "
                "contype='0' conaffinity='0' mass='0'/>"
            )
    return compile_mjcf(GRIPPER.format(cups=cups))


def test_a_gripper_of_six_cups_lifts_a_box() -> None:
    model = _gripper()
    suction = asp.systems.Suction([f"source{i}" for i in range(6)], force=10.0, reach=REACH)
    hold = asp.systems.PdController("lift", kp=2e3, kd=200.0)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3), systems=[suction, hold])
    # Forces between gripper and box cancel.
    efforts = sim.system_output(suction)
    box = model.joint(model.body("box").jntadr[0]).dofadr[0]
    assert efforts[box + 2] > 10.0
    assert efforts[0] == pytest.approx(-efforts[box + 2], rel=1e-9)
    assert sim.advance_to(0.3).success
    hold.target[:] = 0.2
    assert sim.advance_to(1.3).success
    base, carried = sim.data.body("base").xpos[2], sim.data.body("box").xpos[2]
    assert base == pytest.approx(0.7, abs=0.02)
    # Pressed against the cups, and not through them.
    assert 0.02 < base - carried < 0.05
    assert sim.contacts.signed_distance.min() > -1e-3
    suction.strength = 0.0
    assert sim.advance_to(2.3).success
    assert sim.data.body("box").xpos[2] == pytest.approx(0.01, abs=1e-3)


def test_suction_that_cannot_be_is_refused() -> None:
    with pytest.raises(asp.ArgumentError, match="reach must be positive and finite, got -1"):
        asp.systems.Suction("cup", force=1.0, reach=-1.0)
    with pytest.raises(asp.ArgumentError, match="at least one source"):
        asp.systems.Suction([], force=1.0, reach=1.0)
    with pytest.raises(asp.ArgumentError, match="geom 'lip' does not exist; the model has 'cup'"):
        asp.Simulator(_ball(0.3), systems=[asp.systems.Suction("lip", force=1.0, reach=1.0)])
    with pytest.raises(asp.ArgumentError, match="nothing to pull"):
        asp.Simulator(_ball(0.3), systems=[asp.systems.Suction("ball", force=1.0, reach=1.0)])
    model = compile_mjcf(
        "<geom name='pad' type='box' size='.1 .1 .1'/>" + BALL.format(z=1.0),
    )
    with pytest.raises(asp.ArgumentError, match="source 'pad' must be a sphere"):
        asp.Simulator(model, systems=[asp.systems.Suction("pad", force=1.0, reach=1.0)])
