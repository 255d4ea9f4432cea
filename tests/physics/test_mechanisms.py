"""Closed loops, couplings and welds under load, against the closed formulas of mechanisms."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import compile_mjcf

import asperity as asp

SETTINGS = [
    pytest.param(asp.Sap(time_step=1e-3), id="sap"),
    pytest.param(asp.Icf(time_step=1e-3), id="icf"),
    pytest.param(asp.Cenic(accuracy=1e-4), id="cenic"),
]

GROUND, CRANK, COUPLER, ROCKER = 0.4, 0.1, 0.35, 0.3


def _rocker_angle(crank: np.ndarray) -> np.ndarray:
    """Angle of the rocker of the four-bar linkage (open branch), by intersecting two circles."""
    tip = CRANK * np.array([np.cos(crank), np.sin(crank)])
    apart = np.array([[GROUND], [0.0]]) - tip
    distance = np.hypot(*apart)
    along = (COUPLER**2 - ROCKER**2 + distance**2) / (2 * distance)
    height = np.sqrt(COUPLER**2 - along**2)
    direction = apart / distance
    pin = tip + along * direction + height * np.array([-direction[1], direction[0]])
    return np.arctan2(pin[1], pin[0] - GROUND)


def _four_bar() -> mujoco.MjModel:
    rocker = float(_rocker_angle(np.zeros(1))[0])
    pin = np.array([GROUND + ROCKER * np.cos(rocker), ROCKER * np.sin(rocker)])
    coupler = float(np.arctan2(pin[1], pin[0] - CRANK))
    rod = "<geom type='capsule' size='0.01' fromto='0 0 0 {} 0 0' contype='0' conaffinity='0'/>"
    return compile_mjcf(
        f"<body><joint name='crank' axis='0 0 1'/>{rod.format(CRANK)}"
        f"<body name='coupler' pos='{CRANK} 0 0' euler='0 0 {np.degrees(coupler)}'>"
        f"<joint name='knee' axis='0 0 1'/>{rod.format(COUPLER)}</body></body>"
        f"<body name='rocker' pos='{GROUND} 0 0' euler='0 0 {np.degrees(rocker)}'>"
        f"<joint name='rocker' axis='0 0 1'/>{rod.format(ROCKER)}</body>",
        option="gravity='0 0 0'",
        sections=f"<equality><connect body1='coupler' body2='rocker' anchor='{COUPLER} 0 0'/>"
        "</equality><actuator><velocity joint='crank' kv='50'/></actuator>",
    )


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_driven_four_bar_linkage_follows_its_closed_formula(setting: asp.Sap) -> None:
    sim = asp.Simulator(_four_bar(), integrator=setting)
    start = float(_rocker_angle(np.zeros(1))[0])
    sim.data.ctrl[0] = 2 * np.pi
    angles = []
    for time in np.linspace(0.05, 1.5, 30):
        assert sim.advance_to(float(time)).success
        angles.append((sim.data.joint("crank").qpos[0], sim.data.joint("rocker").qpos[0]))
        # The loop stays closed in MuJoCo's own measure.
        assert np.abs(sim.data.efc_pos[:3]).max() < 2e-4
    crank, rocker = np.array(angles).T
    assert crank[-1] > 1.4 * 2 * np.pi
    np.testing.assert_allclose(rocker + start, _rocker_angle(crank), atol=2e-3)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("ratio", [-2.0, 0.5, 3.0])
@pytest.mark.parametrize("setting", SETTINGS)
def test_geared_wheels_turn_as_one_inertia(setting: asp.Sap, ratio: float) -> None:
    wheel = (
        "<body pos='{0} 0 0'><joint name='j{0}' axis='0 0 1'/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='0.01 0.01 {1}'/></body>"
    )
    model = compile_mjcf(
        wheel.format(0, 0.02) + wheel.format(1, 0.005),
        sections="<equality><joint joint1='j1' joint2='j0' "
        f"polycoef='0 {ratio} 0 0 0'/></equality>",
    )
    sim = asp.Simulator(model, integrator=setting)
    sim.data.qfrc_applied[0] = 0.3
    assert sim.advance_to(0.5).success
    acceleration = 0.3 / (0.02 + ratio**2 * 0.005)
    np.testing.assert_allclose(sim.data.qvel, acceleration * 0.5 * np.array([1, ratio]), rtol=1e-3)
    assert sim.data.qpos[1] == pytest.approx(ratio * sim.data.qpos[0], abs=1e-4)
    # The coupling carries what accelerates the second wheel.
    force = sim.data.qfrc_constraint[1]
    assert force == pytest.approx(0.005 * sim.data.qacc[1], rel=1e-4)
    # (a long step also restores the gap that the one before has left)
    assert force == pytest.approx(0.005 * ratio * acceleration, rel=3e-3)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_weld_carries_force_and_moment(setting: asp.Sap) -> None:
    box = "<geom type='box' size='0.1 0.1 0.1' mass='{}' contype='0' conaffinity='0'/>"
    model = compile_mjcf(
        f"<body name='a'><freejoint/>{box.format(3)}</body>"
        f"<body name='b' pos='0.5 0 0'><freejoint/>{box.format(1)}</body>",
        option="gravity='0 0 0'",
        sections="<equality><weld body1='a' body2='b'/></equality>",
    )
    sim = asp.Simulator(model, integrator=setting)
    inertia = 0.02 / 3.0  # of b; a has three times that
    # Pure torque on b about the common centre: the pair turns as one body.
    sim.data.xfrc_applied[2] = 0, 0, 0, 0, 0, 0.4
    assert sim.advance_to(0.2).success
    total = 4 * inertia + 0.75 * 0.5**2
    np.testing.assert_allclose(sim.data.qvel[[5, 11]], 0.4 / total * 0.2, rtol=2e-3)
    # The weld turns and accelerates a: m r α across, I α about its centre.
    spin = 0.4 / total
    assert sim.data.qfrc_constraint[5] == pytest.approx(3 * inertia * spin, rel=1e-2)
    assert np.hypot(*sim.data.qfrc_constraint[:2]) == pytest.approx(3 * 0.125 * spin, rel=1e-2)
    a, b = sim.data.body("a"), sim.data.body("b")
    np.testing.assert_allclose(a.xmat.reshape(3, 3).T @ (b.xpos - a.xpos), [0.5, 0, 0], atol=1e-5)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4])
def test_an_arm_that_is_tied_to_what_it_cannot_reach_comes_to_rest(accuracy: float) -> None:
    """Stretched, no joint moves its tip towards the goal: what pulls must not grow without bounds."""
    rod = (
        "<joint axis='0 1 0' damping='20'/><geom type='capsule' size='.03' fromto='0 0 0 .4 0 0' "
        "mass='2' contype='0' conaffinity='0'/>"
    )
    model = compile_mjcf(
        "<body><joint type='slide' axis='0 0 1' damping='1e6' limited='true' range='.04 1'/>"
        "<geom size='.05' mass='20' contype='0' conaffinity='0'/>"
        f"<body>{rod}<body name='fore' pos='.4 0 0'>{rod}</body></body></body>",
        sections="<equality><connect body1='fore' anchor='.4 0 0'/></equality>",
    )
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
    assert sim.advance_to(1.0).success
    # 44,000 to 92,000 without a bound, in steps of 10 µs. At 1e-2 the joints tremble within the
    # accuracy, which steps resolve because errors of velocity count.
    assert sim.stats.solves < (30_000 if accuracy == 1e-2 else 10_000)
    # Straight, from 40 mm above the point that its 0.8 m reached, but for its own weight.
    angle = math.asin(sim.data.qpos[0] / 0.8)
    assert sim.data.qpos[0] == pytest.approx(0.04, abs=2e-4)
    np.testing.assert_allclose(sim.data.qpos[1:], [angle, 0.0], atol=max(accuracy, 2e-3))


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("accuracy", [1e-2, 1e-3])
@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_what_hangs_by_equalities_is_at_rest(kind: str, accuracy: float) -> None:
    """A chain of bodies: it neither moves nor sags by more than a tenth of a millimetre."""
    bodies = "".join(
        f"<body name='{name}' pos='0 0 {z}'><freejoint/>"
        "<geom size='.02' mass='.1' contype='0' conaffinity='0'/></body>"
        for name, z in (("a", 1.0), ("b", 0.9), ("c", 0.8))
    )
    anchor = " anchor='0 0 .05'" if kind == "connect" else ""
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{bodies}</worldbody><equality>"
        f"<{kind} body1='a'{anchor}/><{kind} body1='b' body2='a'{anchor}/>"
        f"<{kind} body1='c' body2='b'{anchor}/></equality></mujoco>"
    )
    run = asp.simulate(model, (0.0, 3.0), integrator=asp.Cenic(accuracy=accuracy))
    late = run.time > 1.0
    assert np.max(np.abs(run.qvel[late][:-1])) < 1e-6
    assert np.max(np.abs(run.qpos[late][:, 2::7] - [1.0, 0.9, 0.8])) < 1e-4
