"""Limits of the sum of what actuators exert on a joint or a tendon."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from arm_models import TENDON, arm, by_asperity, by_mujoco
from physics_models import GRAVITY, compile_mjcf

import asperity as asp


@pytest.mark.parametrize(
    ("actuator", "control", "force"),
    [
        ("motor", 0.0, 4.0),
        ("position kp='20'", 1.0, 4.0),
        ("position kp='20'", -1.0, -4.0),
        # The compensation alone is beyond the limit by more than the servo can exert.
        ("position kp='20' forcerange='-2 2'", -1.0, 4.0),
        ("position kp='20' gear='-2'", 1.0, -4.0),
    ],
)
def test_gravity_compensation_through_an_actuator_obeys_its_limit(
    actuator: str, control: float, force: float
) -> None:
    # actuatorgravcomp: the compensation counts as actuator force, limited to 4 N of 9.81 N.
    model = compile_mjcf(
        "<body gravcomp='1'><joint name='z' type='slide' axis='0 0 1' actuatorgravcomp='true' "
        "actuatorfrclimited='true' actuatorfrcrange='-4 4'/><geom size='0.1' mass='1'/></body>",
        sections=f"<actuator><{actuator} joint='z'/></actuator>",
    )
    for setting in (asp.Icf(time_step=0.01), asp.Midas(time_step=0.01)):
        data = by_asperity(model, setting, [control], 0.1)
        assert data.qvel[0] == pytest.approx(0.1 * (force - GRAVITY), rel=1e-6)
        assert data.qfrc_actuator[0] == pytest.approx(force, rel=1e-6)


@pytest.mark.parametrize("setting", [asp.Icf(time_step=0.01), asp.Midas(time_step=0.01)])
@pytest.mark.parametrize(
    ("joint", "actuator", "flags"),
    [
        ("actuatorgravcomp='true'", "motor", "actuation='disable'"),
        ("actuatorgravcomp='true'", "", ""),
        ("", "", "spring='disable' damper='disable'"),
    ],
    ids=["actuation disabled", "no actuators", "passive forces disabled"],
)
def test_what_compensates_gravity_is_switched_off_with_it(
    joint: str, actuator: str, flags: str, setting: asp.Integrator
) -> None:
    model = compile_mjcf(
        "<body gravcomp='1'><joint name='z' type='slide' axis='0 0 1' "
        f"{joint}/><geom size='0.1' mass='1'/></body>",
        option=f"><flag {flags}/></option><option",
        sections=f"<actuator><{actuator} joint='z'/></actuator>" if actuator else "",
    )
    data = by_asperity(model, setting, [0.0] * model.nu, 0.1)
    assert data.qvel[0] == pytest.approx(-0.1 * GRAVITY, rel=1e-6)
    assert data.qfrc_actuator[0] == 0.0


@pytest.mark.parametrize(
    ("actuators", "ctrl", "extra"),
    [
        (
            "<position joint='a' kp='60' kv='1'/><motor joint='a'/>",
            [1.0, 0.5],
            {"a": "actuatorfrclimited='true' actuatorfrcrange='-2 3'"},
        ),
        (
            "<position joint='a' kp='60' kv='1'/><motor tendon='t'/>",
            [1.0, -0.8],
            {"a": "actuatorfrclimited='true' actuatorfrcrange='-2 3'", "sections": TENDON},
        ),
        (
            "<motor tendon='t'/><motor tendon='t'/>",
            [1.0, 0.5],
            {"sections": TENDON.replace("name='t'", "name='t' actuatorfrcrange='-1 0.3'")},
        ),
        (
            "<motor tendon='t' gear='-3'/>",
            [0.5],
            {"sections": TENDON.replace("name='t'", "name='t' actuatorfrcrange='-1 0.3'")},
        ),
    ],
    ids=["two on a joint", "joint and tendon", "two on a tendon", "a gear on a tendon"],
)
def test_limits_of_joints_and_tendons_hold_under_midas(
    actuators: str, ctrl: list[float], extra: dict[str, str]
) -> None:
    model = arm(actuators, **extra)
    expected = by_mujoco(model, ctrl, 0.4)
    data = by_asperity(model, asp.Midas(time_step=1e-3), ctrl, 0.4)
    np.testing.assert_allclose(data.qpos, expected.qpos, atol=3e-3)


@pytest.mark.parametrize(
    ("setting", "error"), [(asp.Icf(time_step=1e-3), 0.1), (asp.Cenic(accuracy=1e-3), 5e-3)]
)
def test_a_stiff_servo_on_a_tendon_is_stable_at_a_joint_s_limit(
    setting: asp.Integrator, error: float
) -> None:
    """What the limited joint does not get stays implicit on the other one."""
    model = arm(
        "<position tendon='t' kp='2000' kv='40'/>",
        a="actuatorfrclimited='true' actuatorfrcrange='-9 9' armature='0.01'",
        b="damping='0.1'",
        sections=TENDON,
    )
    expected = by_mujoco(model, [-0.3], 0.2)
    assert np.abs(expected.qpos).max() > 0.3
    data = by_asperity(model, setting, [-0.3], 0.2)
    np.testing.assert_allclose(data.qpos, expected.qpos, atol=error)


@pytest.mark.parametrize("setting", [asp.Icf(time_step=1e-3), asp.Midas(time_step=1e-3)])
def test_a_joint_s_limit_leaves_the_forces_of_its_actuators(setting: asp.Integrator) -> None:
    model = arm("<position joint='a' kp='60' kv='1'/>", a="actuatorfrcrange='-2 3'")
    data = by_asperity(model, setting, [1.0], 0.05)
    expected = mujoco.MjData(model)
    expected.qpos[:], expected.qvel[:], expected.ctrl[:] = data.qpos, data.qvel, data.ctrl
    mujoco.mj_forward(model, expected)
    assert expected.actuator_force[0] > 30.0
    assert data.actuator_force[0] == pytest.approx(expected.actuator_force[0], rel=1e-3)
    assert data.qfrc_actuator[0] == pytest.approx(3.0)
