"""A cylinder on the ground that a spring ties to a wall (SAP VI-B, figure 4)."""

from __future__ import annotations

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Contact, World

__all__ = [
    "GRAVITY",
    "LET_GO",
    "MASS",
    "RADIUS",
    "SPRING_STIFFNESS",
    "START",
    "STIFFNESS",
    "TIME_STEP",
    "angular_frequency",
    "spring_cylinder",
    "static_penetration",
]

RADIUS = 0.05  # [m]
MASS = 0.5  # [kg]
SPRING_STIFFNESS = 100.0  # [N/m]
STIFFNESS = 1e4  # of the contact [N/m]
RELAXATION_TIME = 0.02  # [s]
START = 0.1  # displacement from the spring's rest at which the cylinder is let go [m]
TIME_STEP = 0.02  # [s]: about 22 steps per oscillation without friction and 27 with it


def static_penetration() -> float:
    """Penetration [m] of the cylinder at rest."""
    return MASS * GRAVITY / STIFFNESS


def angular_frequency(friction: float) -> float:
    """Angular frequency [rad/s] of the oscillation, with ideal rolling if there is friction.

    Contact acts midway through the overlap of depth φ, so that the cylinder rolls on a radius of
    R − φ/2 and its effective mass is m + I/(R − φ/2)², nearly the paper's m + I/R².
    """
    mass = MASS
    if friction > 0.0:
        mass += 0.5 * MASS * RADIUS**2 / (RADIUS - 0.5 * static_penetration()) ** 2
    return float(np.sqrt(SPRING_STIFFNESS / mass))


LET_GO = (START, -static_penetration(), 0.0)
"""Configuration in which the cylinder is let go [m, m, rad]: it rests on the ground."""


def spring_cylinder(friction: float = 1.0) -> World:
    """A cylinder that moves in a plane and may turn, let go at rest 0.1 m from the spring's rest.

    The stored text of the paper has lost its numbers. These give about 22 and 27 steps per period
    without and with friction at a time step of 20 ms, as the paper says, and symplectic Euler's
    band of 28 % (ω δt = 0.283). The cylinder starts at its static penetration, so that nothing
    moves vertically.

    Parameters
    ----------
    friction : float
        Coefficient of friction.

    Returns
    -------
    World
        With three joints, ``x``, ``z`` and ``turn``; ``qpos`` is zero where the spring is at
        rest and the cylinder just touches the ground; it is let go at `LET_GO`.
        Contact has 10⁴ N/m and a relaxation time of 20 ms, in one point: an invisible sphere
        collides in the cylinder's place, since motion is in the plane.
    """
    inertia = 0.5 * MASS * RADIUS**2
    document = f"""
<mujoco model='spring and cylinder'>
  <option timestep='{TIME_STEP}' gravity='0 0 -{GRAVITY}' cone='elliptic'/>
  <custom><text name='asperity' data='stiffness={STIFFNESS:g} friction={friction}
    relaxation_time={RELAXATION_TIME}'/></custom>
  <worldbody>
    <geom name='ground' type='plane' size='1 1 0.1'/>
    <geom name='wall' type='box' size='0.01 0.1 0.1' pos='-0.4 0 0.1' contype='0' conaffinity='0'/>
    <body name='cylinder' pos='0 0 {RADIUS}'>
      <joint name='x' type='slide' axis='1 0 0' stiffness='{SPRING_STIFFNESS}'/>
      <joint name='z' type='slide' axis='0 0 1'/>
      <joint name='turn' type='hinge' axis='0 1 0'/>
      <inertial pos='0 0 0' mass='{MASS}' diaginertia='{inertia} {inertia} {inertia}'/>
      <geom name='cylinder' type='cylinder' size='{RADIUS} 0.05' zaxis='0 1 0' contype='0'
        conaffinity='0'/>
      <geom name='rim' type='sphere' size='{RADIUS}' rgba='1 1 1 0'/>
    </body>
  </worldbody>
</mujoco>
"""
    return World("", Contact(STIFFNESS, friction=friction), document=document)
