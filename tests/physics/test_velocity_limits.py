"""Limits of joints' velocities: against the exact motion, in every integrator."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from tests.every_integrator import INTEGRATORS

INERTIA, LIMIT, TORQUE = 0.02, 1.5, 0.3
ACCELERATION = TORQUE / INERTIA
REACHED = LIMIT / ACCELERATION  # 0.1 s

# What is left of a speed beyond the limit, w/R of a near-rigid row with β = 0.1.
BRAKED = 1.0 / (1.0 + (20.0 * np.pi) ** 2 * (1.0 + 0.1 / np.pi))

FLYWHEEL = f"""
<mujoco>
  <option gravity="0 0 0"/>
  <custom><text name="asperity:joint:axle" data="velocity_limit={LIMIT}"/></custom>
  <worldbody>
    <body>
      <joint name="axle" axis="0 0 1" RANGE/>
      <inertial pos="0 0 0" mass="1" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
    </body>
  </worldbody>
</mujoco>
"""
FREE = FLYWHEEL.replace("RANGE", "")


def spun(text: str, integrator: asp.Integrator, torque: float, duration: float) -> asp.Simulator:
    sim = asp.Simulator(text, integrator=integrator)
    sim.data.qfrc_applied[0] = torque
    sim.advance_to(duration)
    return sim


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", sorted(INTEGRATORS))
def test_a_torque_drives_a_joint_to_its_limit_and_holds_it_there(name: str, sign: float) -> None:
    before = spun(FREE, INTEGRATORS[name], sign * TORQUE, 0.9 * REACHED)
    np.testing.assert_allclose(before.data.qvel[0], sign * 0.9 * LIMIT, rtol=1e-3)
    sim = spun(FREE, INTEGRATORS[name], sign * TORQUE, 0.5)
    # A fixed step leaves the 4000th part of what it would gain, error control its accuracy.
    assert sign * sim.data.qvel[0] == pytest.approx(LIMIT, rel=6e-4)
    # First-order steps gain the speed half a step too early or too late.
    exact = LIMIT * (0.5 - 0.5 * REACHED)
    assert sign * sim.data.qpos[0] == pytest.approx(exact, rel=1e-2)
    # Without the torque it coasts, not braked.
    sim.data.qfrc_applied[0] = 0.0
    sim.advance_to(0.6)
    assert sign * sim.data.qvel[0] == pytest.approx(LIMIT, rel=6e-4)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_midas_leaves_as_much_of_a_limit_as_icf() -> None:
    step = 5e-3
    midas = asp.Midas(time_step=step, time_scheme="implicit-euler")
    over = [
        spun(FREE, one, TORQUE, 0.3).data.qvel[0] - LIMIT
        for one in (midas, asp.Icf(time_step=step))
    ]
    assert over[0] == pytest.approx(over[1], rel=1e-3)
    assert 0.0 < over[1] < 3e-4 * ACCELERATION * step


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("name", ["Cenic", "Icf", "Sap, midpoint", "Tamsi", "Midas"])
def test_what_begins_too_fast_is_braked_at_once(name: str) -> None:
    sim = asp.Simulator(FREE, integrator=INTEGRATORS[name])
    sim.data.qvel[0] = 4.0 * LIMIT
    sim.advance_to(0.05)
    # Midas has links that give way and spring back.
    assert sim.data.qvel[0] == pytest.approx(LIMIT, rel=2e-3)
    assert sim.data.qpos[0] == pytest.approx(0.05 * LIMIT, abs=3.1 * 5e-3 * LIMIT)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("name", ["Cenic", "Icf", "Sap, midpoint", "Tamsi", "Midas"])
def test_a_joint_with_both_limits_keeps_both(name: str) -> None:
    text = FLYWHEEL.replace("RANGE", 'range="-20 20"')
    sim = spun(text, INTEGRATORS[name], TORQUE, 0.2)
    assert sim.data.qvel[0] == pytest.approx(LIMIT, rel=2e-4)
    sim.advance_to(1.0)
    assert sim.data.qvel[0] == pytest.approx(0.0, abs=1e-3)
    assert sim.data.qpos[0] == pytest.approx(np.radians(20.0), abs=1.1e-2)


def test_limits_follow_an_attached_robot() -> None:
    scene = mujoco.MjSpec()
    for prefix in ("left_", "right_"):
        frame = scene.worldbody.add_frame()
        scene.attach(mujoco.MjSpec.from_string(FREE), prefix=prefix, frame=frame)
    model = scene.compile()
    data = mujoco.MjData(model)
    sim = asp.Simulator(model, data=data, integrator=asp.Icf(time_step=5e-3))
    data.qfrc_applied[:] = TORQUE, -TORQUE
    sim.advance_to(0.2)
    np.testing.assert_allclose(data.qvel, [LIMIT, -LIMIT], rtol=2e-4)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_limits_are_switched_off_with_those_of_joints() -> None:
    text = FREE.replace("<option ", "<option ><flag limit='disable'/></option><option ")
    sim = spun(text, asp.Icf(time_step=5e-3), TORQUE, 0.2)
    assert sim.data.qvel[0] == pytest.approx(2.0 * LIMIT, rel=1e-3)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("asperity:joint:axis", "axis"),
        ("velocity_limit=-1", "'velocity_limit=-1'"),
        ("velocity_limit=fast", "'velocity_limit=fast'"),
        ("speed=1", "'speed=1'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_texts_that_say_something_else_are_refused(given: str, named: str) -> None:
    right = "asperity:joint:axle" if given.startswith("asperity") else f"velocity_limit={LIMIT}"
    with pytest.raises(asp.ModelError, match=named):
        asp.Simulator(FREE.replace(right, given), integrator=asp.Icf(time_step=5e-3))


@pytest.mark.parametrize("range_", ["", 'range="-20 20"'])
@pytest.mark.parametrize(("speed", "left"), [(0.5 * LIMIT, 1.0), (2.0 * LIMIT, BRAKED)])
def test_derivatives_of_a_step_are_those_of_the_near_rigid_spring(
    range_: str, speed: float, left: float
) -> None:
    """Beyond the limit v⁺ = v̂ + (v − v̂)/(1 + w/R), and q⁺ = q + δt v⁺."""
    model, _ = asp.load_model(FLYWHEEL.replace("RANGE", range_))
    data = mujoco.MjData(model)
    data.qvel[0] = speed
    lin = asp.derivatives.linearize(model, data, integrator=asp.Icf(time_step=5e-3))
    assert lin.method == "implicit"
    np.testing.assert_allclose(lin.A, [[1.0, 5e-3 * left], [0.0, left]], rtol=1e-5, atol=1e-9)
