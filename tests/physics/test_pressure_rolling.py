"""What rolls, strikes and comes close within a step, with pressure fields."""

from __future__ import annotations

import math

import numpy as np
import pytest
from physics_models import GRAVITY

import asperity as asp
from asperity.contact.restitution import impact_energy, rebound_speed

RADIUS, MODULUS = 0.1, 1e7
BALL = f"<body pos='0 0 {RADIUS}'><freejoint/><geom size='{RADIUS}' mass='1'/></body>"
GROUND = "<geom type='plane' size='9 9 1'/>"


def fields(
    worldbody: str, integrator: asp.Integrator, dissipation: float, **options: object
) -> asp.Simulator:
    return asp.Simulator(
        f"<mujoco><option gravity='0 0 {-GRAVITY}'/><worldbody>{worldbody}</worldbody></mujoco>",
        integrator=integrator,
        contact=asp.ContactParameters(
            surface="compliant",
            hydroelastic_modulus=MODULUS,
            dissipation=dissipation,
            relaxation_time=0.0,
            **options,  # type: ignore[arg-type]
        ),
    )


# π E δ² carries a kilogram.
DEPTH = math.sqrt(GRAVITY / (math.pi * MODULUS))

METHODS = (
    asp.Icf(time_step=1e-2),
    asp.Icf(time_step=1e-3),
    asp.Icf(time_step=1e-2, friction_bound="similar"),
    asp.Sap(time_step=1e-2),
    asp.Tamsi(time_step=1e-2),
    asp.Cenic(accuracy=1e-3),
    asp.Cenic(accuracy=1e-3, error_estimate="trapezoid"),
    asp.ImplicitEuler(accuracy=1e-5),
)


def rolled(integrator: asp.Integrator, dissipation: float, turn: float = 0.0) -> float:
    """Speed, after half a second, of a ball that begins with 1 m/s, rolling."""
    sim = fields(GROUND + BALL, integrator, dissipation, friction=0.5)
    sim.data.qpos[2] = RADIUS - DEPTH
    along = np.array([math.cos(turn), math.sin(turn), 0.0])
    sim.data.qvel[:3] = along
    sim.data.qvel[3:] = np.array([-along[1], along[0], 0.0]) / RADIUS
    assert sim.advance_to(0.5).success
    return float(along @ sim.data.qvel[:3])


def rolling_speed() -> float:
    """What is left when the ball rolls on a radius that is smaller by its depth."""
    share = RADIUS / (RADIUS - DEPTH)
    return (1.0 + 0.4 * share) / (1.0 + 0.4 * share**2)


@pytest.mark.parametrize("integrator", METHODS, ids=lambda i: f"{type(i).__name__}")
def test_a_ball_rolls_on_without_dissipation_whatever_the_step(integrator: asp.Integrator) -> None:
    assert rolled(integrator, 0.0, 0.3) == pytest.approx(rolling_speed(), rel=1e-3)


@pytest.mark.parametrize(
    "integrator", [*METHODS[:2], asp.Cenic(accuracy=1e-4)], ids=["10 ms", "1 ms", "1e-4"]
)
def test_dissipation_in_a_patch_resists_rolling(integrator: asp.Integrator) -> None:
    # The moment of p (1 + d ω x), p a paraboloid over a disc of the radius a = √(2 r δ): d ω F a²/6.
    rate = 5.0 / 7.0 * GRAVITY * DEPTH / (3.0 * RADIUS)
    dissipation = 2.0
    lost = rolling_speed() - rolled(integrator, dissipation)
    assert lost == pytest.approx(1.0 - math.exp(-0.5 * dissipation * rate), rel=0.06)


def test_a_ball_that_turns_on_the_spot_is_not_pushed_aside() -> None:
    sim = fields(GROUND + BALL, asp.Icf(time_step=1e-2), 0.0, friction=0.0)
    sim.data.qpos[2] = RADIUS - DEPTH
    sim.data.qvel[3:] = [0.0, 20.0, 5.0]
    sim.advance_to(0.2)
    assert np.abs(sim.data.qvel[:3]).max() < 1e-4
    assert sim.data.qvel[3:] == pytest.approx([0.0, 20.0, 5.0], abs=1e-9)


def test_a_ball_rolls_over_another_as_their_line_of_centres_turns() -> None:
    # Without friction nothing but the force along the line of centres acts on either.
    balls = (
        "<body><freejoint/><geom size='.1' mass='1'/></body>"
        "<body pos='.199 0 0'><freejoint/><geom size='.1' mass='1'/></body>"
    )
    sim = asp.Simulator(
        f"<mujoco><option gravity='0 0 0'/><worldbody>{balls}</worldbody></mujoco>",
        integrator=asp.Icf(time_step=1e-3),
        contact=asp.ContactParameters(surface="compliant", dissipation=0.0, friction=0.0),
    )
    sim.data.qvel[:] = [0, 0.5, 0, 3, 4, 5, 0, -0.5, 0, -2, 7, 1]
    spins = sim.data.qvel.reshape(2, 6)[:, 3:].copy()
    sim.advance_to(0.05)
    velocity = sim.data.qvel.reshape(2, 6)
    assert velocity[:, 3:] == pytest.approx(spins, abs=1e-3)
    assert velocity[:, :3].sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)


SHAPES = {
    "ball": ("size='.05'", 0.05, "1 0 0 0", 2.0),
    "box on a face": ("type='box' size='.05 .05 .05'", 0.05, "1 0 0 0", 1.0),
    "box on an edge": (
        "type='box' size='.05 .05 .05'",
        0.05 * math.sqrt(2.0),
        f"{math.cos(math.pi / 8)} {math.sin(math.pi / 8)} 0 0",
        2.0,
    ),
    "cylinder on its side": (
        "type='cylinder' size='.05 .05'",
        0.05,
        f"{math.sqrt(0.5)} {math.sqrt(0.5)} 0 0",
        1.5,
    ),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_force_of_a_shape_grows_with_a_power_of_its_depth(name: str) -> None:
    shape, height, turn, power = SHAPES[name]
    body = f"<body pos='0 0 {height - 5e-4}' quat='{turn}'><freejoint/><geom {shape}/></body>"
    sim = fields(GROUND + body, asp.Icf(time_step=1e-9), 0.0, resolution=1e-3)
    sim.advance_to(1e-9)
    contacts = sim.session.world.current.contacts
    found = contacts.growth[: contacts.count]
    assert contacts.count > 0
    assert found == pytest.approx(np.full(contacts.count, power), rel=0.05)


@pytest.mark.parametrize("dissipation", [0.0, 0.4, 2.0])
def test_an_impact_on_a_field_is_resolved_where_its_rebound_shows(dissipation: float) -> None:
    expected = rebound_speed(impact_energy(1.0, 0.0, 1.0, dissipation, 0.0), dissipation)
    for height in (0.21, 0.233):
        sim = fields(GROUND + BALL, asp.Cenic(accuracy=1e-3), dissipation)
        sim.model.opt.gravity[:] = 0.0
        sim.data.qpos[2] = height
        sim.data.qvel[2] = -1.0
        assert sim.advance_to(0.3).success
        assert sim.data.qvel[2] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("speed", [0.2, 1.0, 3.0])
def test_fixed_steps_feel_what_has_come_close_at_the_next_step(speed: float) -> None:
    # A box 1 mm above the ground: the first step knows no contact, and goes on as if nothing were
    # there; the second throws it out, no faster than dissipation lets it.
    step = 0.01
    body = "<body pos='0 0 .051'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>"
    sim = fields(GROUND + body, asp.Icf(time_step=step), 10.0)
    sim.data.qvel[2] = -speed
    free = -speed - GRAVITY * step
    sim.step()
    assert sim.data.qvel[2] == pytest.approx(free, rel=1e-12)
    assert len(sim.contacts.patch) == 0
    deepest = 1e-3 + step * free
    assert sim.data.qpos[2] - 0.05 == pytest.approx(deepest, rel=1e-9)
    sim.step()
    assert sim.data.qpos[2] - 0.05 > deepest
    assert 0.0 <= sim.data.qvel[2] <= 0.1 + GRAVITY * step
    sim.advance_to(1.0)
    assert sim.data.qpos[2] - 0.05 == pytest.approx(-GRAVITY * 0.05 / (MODULUS * 0.01), rel=1e-3)


@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_friction_of_an_impact_in_a_fixed_step_is_that_of_its_normal_impulse(step: float) -> None:
    # Light, so that what the beginning of the step would press is a hundred times what it does.
    body = "<body pos='0 0 .06'><freejoint/><geom size='.05' mass='.01'/></body>"
    sim = fields(GROUND + body, asp.Icf(time_step=step), 10.0, friction=0.2)
    sim.model.opt.gravity[:] = 0.0
    for height in (0.051, 0.0625, 0.07):
        sim.reset()
        sim.data.qpos[2] = height
        sim.data.qvel[:] = [6.0, 0.0, -0.3, 0.0, 0.0, 0.0]
        sim.advance_to(0.3)
        lost, gained = 6.0 - sim.data.qvel[0], sim.data.qvel[2] + 0.3
        assert lost == pytest.approx(0.2 * gained, rel=0.02)
        assert sim.stats.fallbacks == 0
