"""Sensors of limits, by statics: what rests on a limit is carried by it."""

from __future__ import annotations

import math

import mujoco
import pytest

import asperity as asp

G = 9.81
ROD = "<geom type='capsule' size='.02' fromto='0 0 0 .3 0 0' mass='.5'/>"
LOAD = "<geom size='.05' mass='2'/>"


def _settled(body: str, sensors: str, more: str = "") -> mujoco.MjData:
    sim = asp.Simulator(
        f"<mujoco><compiler angle='radian'/><option gravity='0 0 -{G}'/>"
        f"<default><geom contype='0' conaffinity='0'/></default>"
        f"<worldbody><site name='hook' pos='0 0 2'/>{body}</worldbody>{more}"
        f"<sensor>{sensors}</sensor></mujoco>",
        integrator=asp.Midas(time_step=5e-3),
    )
    sim.advance_to(4.0)
    return sim.data


@pytest.mark.parametrize(("low", "high"), [(-1.0, 0.5), (-0.2, 0.3)])
def test_a_hinge_on_its_limit(low: float, high: float) -> None:
    joint = f"<joint name='j' axis='0 1 0' damping='.05' range='{low} {high}'/>"
    sensors = "".join(f"<jointlimit{end} joint='j'/>" for end in ("pos", "vel", "frc"))
    data = _settled(f"<body pos='0 0 1'>{joint}{ROD}</body>", sensors)
    gap, rate, force = data.sensordata
    assert 0.0 < gap == pytest.approx(high - data.qpos[0], abs=1e-12)
    assert rate == pytest.approx(-data.qvel[0], abs=1e-12)
    assert force == pytest.approx(0.5 * G * 0.15 * math.cos(data.qpos[0]), rel=1e-4)


def test_a_limit_that_does_not_act_has_no_force() -> None:
    joint = "<joint name='j' axis='0 1 0' damping='.5' range='-3 3'/>"
    sensors = "".join(f"<jointlimit{end} joint='j'/>" for end in ("pos", "vel", "frc"))
    data = _settled(f"<body pos='0 0 1'>{joint}{ROD}</body>", sensors)
    assert list(data.sensordata) == [0.0, 0.0, 0.0]


def test_a_ball_joint_on_its_limit() -> None:
    joint = "<joint name='j' type='ball' damping='.05' range='0 .4'/>"
    data = _settled(f"<body pos='0 0 1'>{joint}{ROD}</body>", "<jointlimitfrc joint='j'/>")
    angle = 2.0 * math.acos(data.qpos[0])
    assert angle == pytest.approx(0.4, abs=0.01)
    assert data.sensordata[0] == pytest.approx(0.5 * G * 0.15 * math.cos(angle), rel=1e-3)


def test_a_weight_on_the_limit_of_a_fixed_tendon() -> None:
    body = f"<body pos='0 0 1'><joint name='j' type='slide' axis='0 0 1' damping='9'/>{LOAD}</body>"
    tendon = "<tendon><fixed name='t' range='-.1 .1'><joint joint='j' coef='.5'/></fixed></tendon>"
    data = _settled(body, "<tendonlimitfrc tendon='t'/>", tendon)
    assert data.sensordata[0] == pytest.approx(2.0 * G / 0.5, rel=1e-4)


def test_a_weight_on_a_rope() -> None:
    body = (
        "<body pos='0 0 1'><joint type='slide' axis='0 0 1' damping='9'/>"
        f"{LOAD}<site name='eye'/></body>"
    )
    tendon = (
        "<tendon><spatial name='t' limited='true' range='0 1.2'><site site='hook'/>"
        "<site site='eye'/></spatial></tendon>"
    )
    data = _settled(body, "<tendonlimitfrc tendon='t'/><tendonlimitpos tendon='t'/>", tendon)
    assert data.sensordata[0] == pytest.approx(2.0 * G, rel=1e-3)
    assert data.sensordata[1] == pytest.approx(1.2 - data.ten_length[0], abs=1e-12)


def test_a_cutoff_bounds_the_force() -> None:
    joint = "<joint name='j' axis='0 1 0' damping='.05' range='-1 .5'/>"
    body = f"<body pos='0 0 1'>{joint}{ROD}</body>"
    assert _settled(body, "<jointlimitfrc joint='j' cutoff='.2'/>").sensordata[0] == 0.2
