"""What begins abruptly under error control: constraints that velocities violate, and short stops."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

ACCURACIES = (1e-2, 1e-3, 1e-5)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_a_hook_takes_the_momentum_that_its_impulse_takes(accuracy: float) -> None:
    """About the hook L = m v l stays: the bar spins with ω = m v l/(I + m l²) from then on.

    The rest of its energy is lost, and is not to be given back.
    """
    bar = mujoco.MjModel.from_xml_string(
        """<mujoco><option gravity="0 0 0"/><worldbody><site name="hook" pos="-.5 0 0"/><body>
        <freejoint/><site name="end" pos="-.5 0 0"/>
        <geom type="box" size=".5 .1 .1" mass="1" contype="0" conaffinity="0"/></body></worldbody>
        <equality><connect site1="hook" site2="end"/></equality></mujoco>"""
    )
    sim = asp.Simulator(bar, integrator=asp.Cenic(accuracy=accuracy))
    sim.data.qvel[2] = 1.0
    sim.advance_to(0.2)
    inertia = (0.5**2 + 0.1**2) / 3.0
    assert -sim.data.qvel[4] == pytest.approx(0.5 / (inertia + 0.5**2), rel=1e-3)


@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize("spin", [0.0, 0.5])
def test_a_limit_that_takes_a_joint_back_leaves_others_alone(spin: float, accuracy: float) -> None:
    """A damper of 1 N s/m brakes the other, of 1 kg, to v e^(−t).

    What a joint lacks of its limit decays with a time of 0.1 s.
    """
    screw = mujoco.MjModel.from_xml_string(
        """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody><body>
        <joint axis="1 0 0" limited="true" range="0.1 1"/><geom size=".1" mass="1"/>
        <body><joint type="slide" axis="1 0 0" damping="1"/><geom size=".1" mass="1"/></body>
        </body></worldbody></mujoco>"""
    )
    sim = asp.Simulator(screw, integrator=asp.Cenic(accuracy=accuracy))
    sim.data.qvel[:] = spin, 0.4
    sim.advance_to(0.2)
    assert sim.data.qpos[0] == pytest.approx(0.1 * (1.0 - np.exp(-2.0)), abs=4e-3)
    assert sim.data.qvel[1] == pytest.approx(0.4 * np.exp(-0.2), rel=1e-3)


@pytest.mark.parametrize("accuracy", [1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("speed", [0.01, 0.03, 0.06, 0.2])
def test_dry_friction_lets_things_slide_as_far_as_they_do(speed: float, accuracy: float) -> None:
    """They stop after m v²/2f, in 2 to 40 ms."""
    slide = mujoco.MjModel.from_xml_string(
        """<mujoco><option gravity="0 0 0"/><worldbody><body>
        <joint type="slide" axis="1 0 0" frictionloss="5"/><geom size=".1" mass="1"/></body>
        </worldbody></mujoco>"""
    )
    sim = asp.Simulator(slide, integrator=asp.Cenic(accuracy=accuracy))
    sim.data.qvel[0] = speed
    sim.advance_to(0.1)
    assert np.abs(sim.data.qpos[0] - speed**2 / 10.0) < accuracy
