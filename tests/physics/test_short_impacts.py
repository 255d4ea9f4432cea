"""Impacts that are shorter than the steps around them: resolved where their rebound shows."""

from __future__ import annotations

import copy
import math

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, compile_mjcf, on_plane, states
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import asperity as asp
from asperity.contact.restitution import approach_speed, impact_energy, rebound_speed

# A kilogram on 1e5 N/m: an impact lasts 10 ms.
STIFFNESS = 1e5
BALL = "type='sphere' size='.1' mass='1'"


def _rebound(closing: float, dissipation: float) -> float:
    """By the integral of u/(1 + d u), solved with scipy."""
    if dissipation == 0.0:
        return closing

    def integral(u: float) -> float:
        return (u - math.log1p(dissipation * u) / dissipation) / dissipation

    most = (1.0 - 1e-13) / dissipation
    return float(brentq(lambda r: integral(closing) - integral(-r), 0.0, most, xtol=1e-15))


@pytest.mark.parametrize("dissipation", [0.0, 1e-4, 0.2, 1.0, 10.0])
@pytest.mark.parametrize("closing", [1e-3, 0.1, 1.0])
def test_what_is_conserved_gives_the_rebound(closing: float, dissipation: float) -> None:
    energy = impact_energy(closing, 0.0, STIFFNESS, dissipation, 0.0)
    assert approach_speed(energy, dissipation) == pytest.approx(closing, rel=1e-6)
    assert rebound_speed(energy, dissipation) == pytest.approx(
        _rebound(closing, dissipation), rel=1e-5
    )


@pytest.mark.parametrize("dissipation", [0.0, 0.4, 5.0])
def test_it_is_conserved_along_an_impact(dissipation: float) -> None:
    def rate(_: float, state: np.ndarray) -> list[float]:
        overlap, closing = state
        return [closing, -STIFFNESS * overlap * (1.0 + dissipation * closing)]

    run = solve_ivp(rate, (0.0, 0.009), [0.0, 1.0], rtol=1e-11, atol=1e-14, method="DOP853")
    energies = [
        impact_energy(closing, overlap, STIFFNESS, dissipation, 0.0) for overlap, closing in run.y.T
    ]
    assert np.ptp(energies) < 1e-8
    assert run.y[1, -1] < 0.0  # on its way out


def test_what_rests_or_parts_faster_than_the_law_has_no_rebound_before_it() -> None:
    overlap = GRAVITY / STIFFNESS
    assert impact_energy(0.0, overlap, STIFFNESS, 0.4, GRAVITY) < 0.0
    assert impact_energy(-0.2, 1e-3, STIFFNESS, 10.0, 0.0) < 0.0


# -- under error control -------------------------------------------------------------------------


def _speeds(setting: asp.Cenic | asp.Icf, dissipation: float, closing: float = 1.0) -> np.ndarray:
    """Speeds after a rebound, for impacts at several places in a step."""
    model = on_plane(BALL, option="gravity='0 0 0'")
    contact = asp.ContactParameters(stiffness=STIFFNESS, dissipation=dissipation)
    speeds = []
    for height in (0.2, 0.207, 0.213, 0.222, 0.229):
        run = states(
            model,
            0.3 / closing,
            setting,
            qpos=[0, 0, height, 1, 0, 0, 0],
            qvel=[0, 0, -closing, 0, 0, 0],
            contact=contact,
        )
        speeds.append(run.qvel[-1, 2])
    return np.array(speeds)


@pytest.mark.parametrize("scheme", ["extrapolation", "trapezoid"])
@pytest.mark.parametrize(
    ("dissipation", "shares"),
    [
        (0.0, (0.15, 0.025, 0.006)),
        (0.1, (0.15, 0.025, 0.006)),
        (0.4, (0.15, 0.025, 0.006)),
        (1.5, (0.2, 0.08, 0.015)),
        (4.0, (None, 0.1, 0.03)),
        (10.0, (None, None, 0.03)),  # 0.1 m/s, which do not show within 1e-3
    ],
)
def test_a_ball_rebounds_as_its_contact_law_says(
    scheme: str, dissipation: float, shares: tuple[float | None, ...]
) -> None:
    for accuracy, share in zip((1e-2, 1e-3, 1e-4), shares, strict=True):
        if share is not None:
            speeds = _speeds(asp.Cenic(accuracy=accuracy, error_estimate=scheme), dissipation)
            np.testing.assert_allclose(speeds, _rebound(1.0, dissipation), rtol=share)


def test_schemes_of_first_order_resolve_impacts_too() -> None:
    for setting in (
        asp.Cenic(accuracy=1e-3, error_estimate="step-doubling"),
        asp.Tamsi(accuracy=1e-3),
    ):
        np.testing.assert_allclose(_speeds(setting, 0.4), _rebound(1.0, 0.4), rtol=0.03)


def test_without_it_the_rebound_is_swallowed_and_nothing_counted() -> None:
    setting = asp.Cenic(accuracy=1e-3, resolve_impacts=False)
    assert np.all(_speeds(setting, 0.4) < 0.1)
    sim = asp.Simulator(on_plane(BALL, position="0 0 .5"), integrator=setting)
    sim.advance_to(0.5)
    assert sim.stats.impact_rejections == 0


def test_a_collision_off_centre_parts_at_a_right_angle() -> None:
    """Equal elastic balls without friction, one at rest."""
    ball = "<body pos='{} {} 0'><freejoint/><geom size='.1' mass='1'/></body>"
    model = compile_mjcf(ball.format(0, 0) + ball.format(0.4, 0.1), option="gravity='0 0 0'")
    contact = asp.ContactParameters(stiffness=STIFFNESS, dissipation=0.0, friction=0.0)
    for accuracy, degrees in ((1e-2, 2.0), (1e-3, 1.0), (1e-4, 0.1)):
        setting = asp.Cenic(accuracy=accuracy)
        run = states(model, 0.5, setting, qvel=[2.0] + 11 * [0.0], contact=contact)
        first, second = run.qvel[-1, :2], run.qvel[-1, 6:8]
        cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
        assert math.degrees(math.acos(cosine)) == pytest.approx(90.0, abs=degrees)


def _box(position: str) -> mujoco.MjModel:
    return on_plane("type='box' size='.1 .1 .1' mass='1'", position=position)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4])
def test_what_rests_or_rolls_takes_the_same_steps(accuracy: float) -> None:
    rolling = {"qpos": [0, 0, 0.1, 1, 0, 0, 0], "qvel": [1, 0, 0, 0, 10, 0]}
    for model, start in ((_box("0 0 .1"), {}), (on_plane(BALL, position="0 0 .1"), rolling)):
        taken = [
            states(model, 1.0, asp.Cenic(accuracy=accuracy, resolve_impacts=on), **start).time
            for on in (True, False)
        ]
        np.testing.assert_array_equal(*taken)


def test_a_rebound_that_does_not_show_is_left_alone() -> None:
    """With d = 100 s/m nothing parts faster than 1 cm/s, which gravity stops within 5 µm."""
    contact = asp.ContactParameters(stiffness=STIFFNESS, dissipation=100.0)
    sim = asp.Simulator(
        on_plane(BALL, position="0 0 .5"), integrator=asp.Cenic(accuracy=1e-4), contact=contact
    )
    assert sim.advance_to(1.0).success
    assert sim.stats.impact_rejections == 0


def test_refusals_are_counted_kept_by_copies_and_forgotten_by_a_reset() -> None:
    contact = asp.ContactParameters(stiffness=STIFFNESS, dissipation=0.0)
    sim = asp.Simulator(on_plane(BALL, position="0 0 .5"), contact=contact)
    report = sim.advance_to(0.5)
    refused = report.stats.impact_rejections
    assert 0 < refused <= report.stats.rejections
    twin = copy.deepcopy(sim)
    assert twin.stats.impact_rejections == refused
    for one in (sim, twin):
        one.advance_to(1.5)
    np.testing.assert_array_equal(sim.data.qpos, twin.data.qpos)
    assert twin.stats.impact_rejections == sim.stats.impact_rejections > refused
    sim.reset()
    assert sim.stats.impact_rejections == 0


def test_the_smallest_step_is_taken_whatever_an_impact_needs() -> None:
    contact = asp.ContactParameters(stiffness=STIFFNESS, dissipation=0.0)
    # Errors of velocity in the impact are larger than the accuracy at that smallest step.
    setting = asp.Cenic(accuracy=1e-2, min_step=0.01, max_step=0.05, velocity_weight=0.0)
    run = states(on_plane(BALL, position="0 0 .2"), 1.0, setting, contact=contact)
    # But for the first one, a tenth of the largest, and the last one.
    assert np.diff(run.time)[1:-1].min() > 0.0099
