"""Rebounds from several contacts at once, which are one impact.

On n equal contacts that share an impact alike, a body is Hunt and Crossley's mass on a spring: it
parts with r from u, where G(−r) = G(u), whatever n and the stiffness are.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import compile_mjcf
from scipy.optimize import brentq

import asperity as asp
from asperity.contact.restitution import linear_restitution

FLOOR = "<geom name='floor' type='plane' size='3 3 1'/>"
DISSIPATION = 0.5
MAKERS = {
    "icf": lambda step: asp.Icf(time_step=step),
    "tamsi": lambda step: asp.Tamsi(time_step=step),
}


def _parts(met: float) -> float:
    """The speed of the rebound by Hunt and Crossley's law [m/s]."""

    def energy(speed: float) -> float:
        return (speed - math.log1p(DISSIPATION * speed) / DISSIPATION) / DISSIPATION

    return float(brentq(lambda r: energy(-r) - energy(met), 0.0, 0.999 / DISSIPATION))


def _body(geoms: str, height: float, euler: str = "0 0 0") -> mujoco.MjModel:
    return compile_mjcf(
        f"{FLOOR}<body pos='0 0 {height}' euler='{euler}'><freejoint/>{geoms}</body>",
        option="gravity='0 0 0'",
    )


def _level_rod() -> mujoco.MjModel:
    """A rod that lands on both tips: what each does to the other is opposite to its own motion."""
    tip = "<geom size='.02' pos='{} 0 0' mass='.001'/>"
    bar = "<geom type='capsule' size='.02' fromto='-.46 0 0 .46 0 0' contype='0' conaffinity='0'/>"
    return _body(bar + tip.format(-0.48) + tip.format(0.48), 0.0205)


def _flat_box() -> mujoco.MjModel:
    return _body("<geom type='box' size='.2 .15 .1' mass='2'/>", 0.1005)


def _robot_on_four_feet() -> mujoco.MjModel:
    """Four feet and a fan, with a joint that the impact does not turn."""
    foot = "<geom size='.03' pos='{} {} -.2' mass='.1'/>"
    feet = "".join(foot.format(x, y) for x in (-0.25, 0.25) for y in (-0.2, 0.2))
    trunk = "<geom type='box' size='.3 .1 .05' mass='3' contype='0' conaffinity='0'/>"
    fan = (
        "<body><joint axis='0 0 1'/>"
        "<geom type='cylinder' size='.1 .01' mass='.2' contype='0' conaffinity='0'/></body>"
    )
    return _body(trunk + feet + fan, 0.2305)


def _velocity(
    model: mujoco.MjModel, integrator: asp.Integrator, contact: asp.ContactParameters
) -> np.ndarray:
    """Velocities 30 ms after bodies came down with 1 m/s, half a millimetre above the floor."""
    data = mujoco.MjData(model)
    free = model.jnt_dofadr[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]
    data.qvel[free + 2] = -1.0
    sim = asp.Simulator(model, integrator=integrator, data=data, contact=contact)
    assert sim.advance_to(0.03).success
    return sim.data.qvel.copy()


@pytest.mark.parametrize("method", ["icf", "tamsi"])
@pytest.mark.parametrize("step", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize("make", [_level_rod, _flat_box, _robot_on_four_feet])
def test_a_body_that_lands_flat_rebounds_as_on_one_contact(make, step: float, method: str) -> None:
    contact = asp.ContactParameters(stiffness=1e6, dissipation=DISSIPATION)
    found = _velocity(make(), MAKERS[method](step), contact)
    expected = np.zeros(found.size)
    expected[2] = _parts(1.0)
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4])
@pytest.mark.parametrize("make", [_level_rod, _flat_box, _robot_on_four_feet])
def test_error_control_resolves_flat_landings(make, accuracy: float) -> None:
    """Speeds that impacts lose move bodies by less than the accuracy in 50 ms."""
    sim = asp.Simulator(
        make(),
        integrator=asp.Cenic(accuracy=accuracy),
        contact=asp.ContactParameters(stiffness=1e6, dissipation=DISSIPATION, friction=0.0),
    )
    sim.data.qvel[2] = -1.0
    sim.advance_to(0.05)
    assert sim.data.qvel[2] == pytest.approx(_parts(1.0), abs=accuracy / 0.05)


@pytest.mark.parametrize("step", [1e-3, 1e-2])
@pytest.mark.parametrize(("make", "springs"), [(_level_rod, 2), (_flat_box, 4)])
def test_sap_knows_that_contacts_share_a_mass(make, springs: int, step: float) -> None:
    """Linear dissipation depends on how stiff all contacts are together, ω² = n k/m."""
    time, stiffness = 1e-4, 1e6
    model = make()
    damping = 0.5 * time * math.sqrt(springs * stiffness / model.body_subtreemass[1])
    contact = asp.ContactParameters(stiffness=stiffness, relaxation_time=time)
    found = _velocity(model, asp.Sap(time_step=step), contact)
    expected = np.zeros(found.size)
    expected[2] = linear_restitution(damping)
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_a_box_that_lands_on_its_edge_turns(step: float) -> None:
    """By the inertia of the edge, 1/m + a²/I, without friction. Its ends push each other down."""
    contact = asp.ContactParameters(stiffness=1e6, dissipation=DISSIPATION, friction=0.0)
    half, angle = (0.15, 0.2), math.radians(30.0)
    lowest = half[0] * math.sin(angle) + half[1] * math.cos(angle)
    model = _body("<geom type='box' size='.15 .6 .2' mass='2'/>", lowest + 5e-4, "0 30 0")
    found = _velocity(model, asp.Icf(time_step=step), contact)
    mass, inertia = model.body_mass[1], model.body_inertia[1, 1]
    arm = half[0] * math.cos(angle) - half[1] * math.sin(angle)
    impulse = (1.0 + _parts(1.0)) / (1.0 / mass + arm * arm / inertia)
    expected = np.array([0.0, 0.0, impulse / mass - 1.0, 0.0, -impulse * arm / inertia, 0.0])
    np.testing.assert_allclose(found, expected, atol=0.01 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["icf", "tamsi"])
@pytest.mark.parametrize("step", [1e-3, 5e-3, 1e-2])
def test_a_body_carries_its_load_through_an_impact(method: str, step: float) -> None:
    """A load on a far stiffer contact is one body with what bears it: together they part with r."""
    model = compile_mjcf(
        FLOOR + "<body pos='0 0 .1005'><freejoint/>"
        "<geom name='box' type='box' size='.1 .1 .1' mass='1'/></body>"
        "<body pos='0 0 .25049999'><freejoint/>"
        "<geom name='load' type='box' size='.05 .05 .05' mass='.5'/></body>",
        option="gravity='0 0 0'",
    )
    stiff = asp.Material(stiffness=1e8, dissipation=DISSIPATION)
    contact = asp.ContactParameters(
        stiffness=1e6, dissipation=DISSIPATION, pairs={("box", "load"): stiff}
    )
    found = _velocity(model, MAKERS[method](step), contact)
    momentum = model.body_mass[1] * found[2] + model.body_mass[2] * found[8]
    assert momentum / model.body_mass[1:].sum() == pytest.approx(_parts(1.0), abs=0.02)


@pytest.mark.parametrize("method", ["icf", "tamsi"])
@pytest.mark.parametrize("step", [1e-3, 2e-3])
@pytest.mark.parametrize("drop", [0.02, 0.03, 0.04])
def test_friction_of_a_flat_landing_does_not_turn_the_body(
    drop: float, step: float, method: str
) -> None:
    """A box that lands on a slope and slides on loses μ times what the floor gives it.

    All corners slide the same way, so friction is μ times the normal impulse, which is m g t cos β
    once the box lies: v = g t (sin β − μ cos β).
    """
    slope, friction, time = math.atan(0.15), 0.1, 0.6
    along, across = 9.81 * math.sin(slope), 9.81 * math.cos(slope)
    model = compile_mjcf(
        f"{FLOOR}<body pos='0 0 {0.05 + drop}'><freejoint/>"
        "<geom type='box' size='.08 .08 .05' mass='1'/></body>",
        option=f"gravity='{along} 0 {-across}'",
    )
    contact = asp.ContactParameters(friction=friction)
    sim = asp.Simulator(model, integrator=MAKERS[method](step), contact=contact)
    sim.advance_to(time)
    assert sim.data.qvel[0] == pytest.approx((along - friction * across) * time, rel=3e-3)
