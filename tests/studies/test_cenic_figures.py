"""Figures of the CENIC paper."""

from __future__ import annotations

import numpy as np
import pytest

from asperity.errors import ArgumentError, MissingExtra
from asperity.integrators import Cenic, ImplicitEuler, RungeKutta3
from asperity.simulator import Simulator
from studies.experiments.cenic_baselines import cost_of
from studies.experiments.cenic_cases import CASES
from studies.experiments.cenic_conveyor import (
    FORCE,
    GRAVITY,
    MASS,
    STATIC_FRICTION,
    STICTION_TOLERANCE,
    ride,
)
from studies.experiments.cenic_energy import DURATION, energy_error, fixed_steps
from studies.experiments.cenic_gripper import grip
from studies.scenes.cenic_cases import contact_text
from studies.scenes.cenic_clutter import KINDS, OBJECTS, cenic_clutter

WEIGHT = MASS * GRAVITY


def test_energy_of_the_bouncing_ball_is_that_of_the_start() -> None:
    """A third-order method conserves it, so the account of the energies is right."""
    assert energy_error(RungeKutta3(time_step=1e-4), 2.0) < 5e-6


def test_step_doubling_loses_energy_in_proportion_to_the_step() -> None:
    steps = np.array([2e-4, 1e-4, 5e-5])
    errors = [energy_error(fixed_steps("step-doubling", h), 2.0) for h in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.15)


def test_trapezoid_conserves_what_step_doubling_loses() -> None:
    assert DURATION == 10.0
    trapezoid = energy_error(fixed_steps("trapezoid", 1e-3), 2.0)
    doubling = energy_error(fixed_steps("step-doubling", 1e-3), 2.0)
    assert trapezoid < 0.02 * doubling
    assert energy_error(fixed_steps("icf", 1e-3), 2.0) > 1.3 * doubling


def test_box_on_a_belt_breaks_loose_at_the_peak_of_friction() -> None:
    found = ride(Cenic(accuracy=1e-6), 1.2)
    slides = np.abs(found.velocity) > 100 * STICTION_TOLERANCE
    loose = float(found.time[np.argmax(slides)])
    # μ(s) f(s) of a ratio of one half has its peak at 0.98 of static friction.
    peak = 0.98 * STATIC_FRICTION * WEIGHT
    assert loose == pytest.approx(np.arcsin(peak / FORCE) / np.pi, abs=0.02)
    before = np.abs(found.friction[found.time < loose - 0.01])
    assert before.max() == pytest.approx(peak, rel=0.02)
    sliding = np.abs(found.friction[slides])
    # σ ends a quarter of a per cent below zero.
    assert np.median(sliding) == pytest.approx(0.5 * (1 - 0.0025) * WEIGHT, rel=1e-3)
    # What it gained while it slid, by momentum: ∫ f dt of force and friction.
    total = np.sum(FORCE * np.sin(np.pi * (found.time - 0.5e-3)) + found.friction) * 1e-3
    assert found.velocity[-1] == pytest.approx(total, abs=1e-9)


def test_cost_of_a_run_and_its_timeout() -> None:
    cost = cost_of("soft clutter", Cenic(accuracy=1e-1), duration=0.3, budget=60.0)
    assert cost.end == "finished"
    assert cost.time == pytest.approx(0.3)
    assert cost.steps > 3
    slow = ImplicitEuler(accuracy=1e-4, error_norm="state")
    late = cost_of("hard clutter", slow, duration=5.0, budget=1.0)
    assert late.end == "timeout"
    assert 0.0 < late.time < 5.0
    # An accuracy of positions alone lets an explicit method explode.
    explicit = RungeKutta3(accuracy=1e-1, error_norm="position")
    wrong = cost_of("hard clutter", explicit, duration=1.5, budget=60.0)
    assert wrong.end == "gained energy"


def test_a_peg_that_was_dropped_is_no_success() -> None:
    """Its judge looks at the result, not at the status."""
    held = cost_of("gripper held", Cenic(accuracy=1e-3), duration=1.0, budget=np.inf)
    assert held.end == "finished"
    case = CASES["gripper held"]
    sim = case.make(Cenic(accuracy=1e-3))
    judge = case.judge(sim)
    assert judge(sim) == ""
    # Beside the fingers it falls onto the table.
    sim.data.joint("peg").qpos[1] += 0.2
    assert sim.advance_to(1.0).success
    assert judge(sim) == "dropped the peg"


def test_cylinder_comes_to_rest_on_its_side() -> None:
    # Nothing stops it from rolling; whether it does is left to errors, since all is symmetric.
    for integrator in (Cenic(accuracy=1e-5), ImplicitEuler(accuracy=1e-3, error_norm="state")):
        sim = CASES["cylinder points"].make(integrator)
        start = sim.data.geom_xpos[1].copy()
        np.testing.assert_allclose(start, [0.0, 0.0, 0.5])
        assert sim.model.body("cylinder").mass[0] == pytest.approx(6.283, abs=1e-3)
        assert sim.advance_to(1.0).success
        assert sim.data.geom_xpos[1, 2] == pytest.approx(0.15, abs=1e-4)
        # It slid until friction had stopped it: 1 m/s, while it was on the table.
        assert 0.2 < sim.data.geom_xpos[1, 1] < 0.6
        assert np.linalg.norm(sim.data.qvel) < 2e-3


def test_full_state_norm_of_cenic_follows_velocities() -> None:
    """It takes steps so much smaller that velocities in clutter are good to the accuracy, too."""
    steps = {}
    for norm in ("position", "state"):
        sim = Simulator(cenic_clutter("soft"), integrator=Cenic(accuracy=1e-2, error_norm=norm))
        assert sim.advance_to(0.5).success
        steps[norm] = sim.stats.steps
    assert steps["state"] > 2 * steps["position"]
    with pytest.raises(ArgumentError, match="error_norm 'energy' is unknown"):
        Cenic(error_norm="energy")


def test_cylinder_of_fields_lies_on_its_polygon() -> None:
    """As in points it slides and stops; its 32 sides are inside of the cylinder."""
    ends = {}
    for case in ("cylinder", "cylinder points"):
        sim = CASES[case].make(Cenic(accuracy=1e-4))
        assert sim.advance_to(1.5).success
        ends[case] = sim.data.geom_xpos[1].copy()
    apothem = 0.1 * np.cos(np.pi / 32)
    assert 0.05 + apothem - 5e-4 < ends["cylinder"][2] < 0.15 + 1e-9
    assert ends["cylinder"][1] == pytest.approx(ends["cylinder points"][1], abs=0.1)


def test_grip_of_the_falling_fingers_is_their_field() -> None:
    """Force of a patch: modulus times overlap over both depths, times the area."""
    found = grip(Cenic(accuracy=1e-4), duration=0.15)
    # Two boxes of half a centimetre's depth each: E δ / (2 ℓ) on fingers 1 cm high, across a peg
    # that leans by 10°.
    pressure = 1e7 * 1e-5 / (2 * 5e-3)
    area = 0.01 * 0.01 / np.cos(np.radians(10.0))
    assert found.force[2:].mean() == pytest.approx(pressure * area, rel=0.03)
    # A grip that holds: with twice the friction.
    held = grip(Cenic(accuracy=1e-3), variant={"friction": 1.0}, duration=0.5)
    assert held.held
    assert held.slip < 0.01


def test_contact_of_the_cases_is_refused_if_unknown() -> None:
    with pytest.raises(ValueError, match="'spheres'"):
        contact_text("spheres")
    assert "friction=1.0" in contact_text("points", friction=1.0).split()


@pytest.mark.assets
def test_panda_is_the_same_with_its_controller_in_the_dynamics() -> None:
    try:
        sims = [
            CASES["panda points"].make(integrator)
            for integrator in (Cenic(accuracy=1e-4), ImplicitEuler(accuracy=1e-4))
        ]
    except MissingExtra as error:
        pytest.skip(str(error))
    for sim in sims:
        assert sim.advance_to(0.4).success
    # The fingers' grip on the box included.
    np.testing.assert_allclose(sims[0].data.qpos, sims[1].data.qpos, atol=5e-3)
    assert abs(sims[0].data.qpos[7] - 0.035) > 3e-3


@pytest.mark.parametrize("kind", KINDS)
def test_clutter_settles_at_its_stiffness(kind: str) -> None:
    sim = Simulator(cenic_clutter(kind), integrator=Cenic(accuracy=1e-2))
    assert sim.model.nbody == OBJECTS + 1
    assert sim.advance_to(3.0).success
    heights = sim.data.qpos.reshape(-1, 7)[:, 2]
    depth = 0.05 - heights
    load = sim.contacts.normal_force.sum()
    assert load >= sim.model.body_mass.sum() * 9.81 * 0.9
    lone = sim.model.body_mass[1:] * 9.81 / (1e3 if kind == "soft" else 1e5)
    # Those that carry nothing and touch only the ground.
    assert np.median(depth / lone) == pytest.approx(1.0 if kind == "soft" else 0.5, abs=0.5)
    with pytest.raises(ValueError, match="kind"):
        cenic_clutter("medium")
