"""Round sides of free bodies in fixed steps, which turn on what they touch.

Contact is that of the beginning of a step. Over it the point that is touched moves, and so does
what turns about the centre of mass (`asperity.plant.detection.turning_contacts`).
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from scipy.optimize import brentq

import asperity as asp
from asperity.integrators.integrator import Integrator

GRAVITY = 9.81
_FIXED: tuple[Integrator, ...] = (
    asp.Icf(time_step=0.002),
    asp.Sap(time_step=0.002),
    asp.Tamsi(time_step=0.002),
)


def _name(integrator: Integrator) -> str:
    return type(integrator).__name__


@pytest.mark.parametrize("integrator", _FIXED, ids=_name)
def test_a_loaded_ball_turns_on_its_overlap(integrator: Integrator) -> None:
    """Without friction, N = m (g + c ω² cos ωt) where the centre of mass is c below the middle.

    Its moment hardly slows the ball down, whose middle stays at r − N/k.
    """
    mass, beside, spin, stiffness, radius = 0.5, 0.005, 40.0, 1e5, 0.05
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><custom><text name="asperity" data="stiffness={stiffness} dissipation=.1"/>
        </custom><worldbody><geom type="plane" size="9 9 1" friction="0 0 0"/>
        <body><freejoint/><inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/>
        <geom size="{radius}" pos="0 0 {beside}" friction="0 0 0"/></body></worldbody></mujoco>"""
    )

    def height(time: float) -> float:
        force = mass * (GRAVITY + beside * spin * spin * math.cos(spin * time))
        return radius - force / stiffness

    simulator = asp.Simulator(model, integrator=integrator)
    simulator.data.qpos[2] = height(0.0) - beside
    simulator.data.qvel[3] = spin
    errors = []
    for k in range(1, 200):
        time = 0.005 * k
        simulator.advance_to(time)
        middle = simulator.data.qpos[2] + beside * math.cos(spin * time)
        errors.append(middle - height(time))
    # The gap changes by turning by ½ δt² ω² c, 16 µm; Sap also takes time to relax.
    assert np.sqrt(np.mean(np.square(errors[40:]))) < 7e-6


def _steady_disk(lean: float, radius: float) -> float:
    """Rate at which the lowest point of a thin disk goes round whose centre rests [rad/s].

    The contact is at rest and the spin about the disk's axis, as seen from outside, is nothing:
    ω is along the diameter through the contact. The torque of N = m g turns the angular momentum
    m r² ω/4 about the vertical.
    """

    def unbalanced(rate: float) -> float:
        spin = rate * math.sin(lean)
        return GRAVITY * radius * math.cos(lean) - 0.25 * radius**2 * spin * rate * math.cos(lean)

    return float(brentq(unbalanced, 1.0, 1000.0))


@pytest.mark.parametrize("integrator", _FIXED, ids=_name)
def test_a_disk_keeps_its_lean(integrator: Integrator) -> None:
    """Euler's disk, whose lowest point runs round its rim, has no dissipation without slip."""
    lean, radius, mass, stiffness = math.radians(15.0), 0.05, 0.3, 1e6
    rate = _steady_disk(lean, radius)
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><custom><text name="asperity" data="stiffness={stiffness} dissipation=0"/>
        </custom><worldbody><geom type="plane" size="9 9 1" friction="1 0 0"/>
        <body><freejoint/><inertial pos="0 0 0" mass="{mass}" diaginertia="{0.25 * mass * radius**2}
        {0.25 * mass * radius**2} {0.5 * mass * radius**2}"/>
        <geom type="cylinder" size="{radius} 1e-5" friction="1 0 0"/></body></worldbody></mujoco>"""
    )
    simulator = asp.Simulator(model, integrator=integrator)
    half = 0.5 * lean
    simulator.data.qpos[2:] = (
        radius * math.sin(lean) - mass * GRAVITY / stiffness,
        math.cos(half),
        0.0,
        math.sin(half),
        0.0,
    )
    # Along the diameter that leans, in the disk's own axes.
    simulator.data.qvel[3] = rate * math.sin(lean)
    simulator.advance_to(1.0)
    _, _, _, _, x, y, _ = simulator.data.qpos
    leans = math.degrees(math.acos(1.0 - 2.0 * (x * x + y * y)))
    assert abs(leans - 15.0) < 0.3
