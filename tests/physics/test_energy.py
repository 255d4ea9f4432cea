"""Energy: springs never gain any, and what schemes lose they lose at their order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from physics_models import Array, compile_mjcf, fixed, observed_orders, spring_mass, states
from scipy.linalg import expm

import asperity as asp

ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
STIFFNESS = 100.0
AMPLITUDE = 0.1  # half a joule
FREQUENCY = math.sqrt(STIFFNESS)  # of a kilogram


def _spring_energy(trajectory: asp.Trajectory) -> Array:
    return 0.5 * trajectory.qvel[:, 0] ** 2 + 0.5 * STIFFNESS * trajectory.qpos[:, 0] ** 2


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_a_spring_never_gains_energy(accuracy: float) -> None:
    run = states(spring_mass(), 10.0, asp.Cenic(accuracy=accuracy), qpos=[AMPLITUDE])
    energy = _spring_energy(run)
    assert energy[0] == pytest.approx(0.5, rel=1e-14)
    # No step gains, whatever the phase (`asperity.integrators.methods.springs`), but 3e-10 by the
    # truncation of series; what a convex solve may leave is a velocity error of its tolerance, which
    # changes the energy by at most √(2E) ε + ε²/2.
    tolerance = max(1e-3 * accuracy, 1e-8)
    slack = 2 * (np.sqrt(2 * energy[:-1]) * tolerance + 0.5 * tolerance**2)
    assert np.all(np.diff(energy) <= slack)
    assert energy.max() <= energy[0] * (1.0 + 1e-8)


@pytest.mark.parametrize(
    ("accuracy", "lost", "late"), [(1e-3, 1e-5, 2e-3), (1e-4, 1e-6, 1e-3), (1e-5, 1e-6, 1e-3)]
)
def test_a_resolved_spring_keeps_energy_and_time(accuracy: float, lost: float, late: float) -> None:
    """Implicit springs lose 0.52, 0.027 and 0.0013 in 16 periods, and run ahead by 0.9, 0.1, 0.012."""
    run = states(spring_mass(), 10.0, asp.Cenic(accuracy=accuracy), qpos=[AMPLITUDE])
    assert _spring_energy(run)[-1] > (1.0 - lost) * 0.5
    phase = np.unwrap(np.arctan2(-run.qvel[:, 0] / FREQUENCY, run.qpos[:, 0]))
    assert phase[-1] == pytest.approx(10.0 * FREQUENCY, abs=late)


@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e7])
@pytest.mark.parametrize("folded", [1.0, 20.0])
def test_springs_that_steps_do_not_resolve_calm_down(stiffness: float, folded: float) -> None:
    """At an accuracy that swings are small against, also where inertia was larger at first."""
    model = spring_mass()
    model.jnt_stiffness[0] = stiffness
    # The inverse inertia in the initial pose is this much smaller than the one in which it swings.
    model.dof_invweight0[0] /= folded
    run = states(model, 10.0, asp.Cenic(accuracy=1e-1), qpos=[0.01])
    energy = 0.5 * run.qvel[:, 0] ** 2 + 0.5 * stiffness * run.qpos[:, 0] ** 2
    assert np.all(np.diff(energy) <= 1e-8 * energy[0])
    assert energy[-1] < 1e-9 * energy[0]


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_step_doubling_dissipates_what_implicit_euler_does(accuracy: float) -> None:
    # |1/(1 − iωh)|² = 1/(1 + ω²h²) per implicit Euler step, two of h/2 per accepted step. A
    # solver's tolerance of 1e-8 is the only other error: below 1e-9 J it would show.
    integrator = asp.Cenic(accuracy=accuracy, error_estimate="step-doubling", tolerance_ratio=1e-12)
    run = states(spring_mass(), 1.0, integrator, qpos=[AMPLITUDE])
    energy = _spring_energy(run)
    half = 0.5 * FREQUENCY * np.diff(run.time)
    expected = energy[0] * np.cumprod((1 + half**2) ** -2)
    np.testing.assert_allclose(energy[1:], expected, rtol=1e-6)


def test_the_spring_loses_energy_in_proportion_to_the_step() -> None:
    # h ∝ accuracy^½ and the rate of loss ∝ h. A tenth of a second, so that the amplitude, on
    # which the step depends, is nearly the same in all runs.
    accuracies = np.array([1e-5, 1e-6, 1e-7, 1e-8])
    rates = []
    for accuracy in accuracies:
        integrator = asp.Cenic(accuracy=accuracy, error_estimate="step-doubling", max_step=1e-2)
        run = states(spring_mass(), 0.3, integrator, qpos=[AMPLITUDE])
        energy = _spring_energy(run)
        rates.append(math.log(energy[0] / energy[-1]))
    # 0.5 up to the dead band in which the controller keeps its step.
    np.testing.assert_allclose(observed_orders(accuracies, rates), 0.5, atol=0.05)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_trapezoid_conserves_a_spring_to_round_off(accuracy: float) -> None:
    integrator = asp.Cenic(accuracy=accuracy, error_estimate="trapezoid")
    run = states(spring_mass(), 10.0, integrator, qpos=[AMPLITUDE])
    # Round-off of a few thousand steps.
    np.testing.assert_allclose(_spring_energy(run), 0.5, rtol=1e-12)


def test_a_fixed_step_keeps_the_energy_of_a_spring_that_it_resolves() -> None:
    """That of symplectic Euler, ½ k x² + ½ m v² − ½ h k x v, is the same in all steps."""
    step = 0.01
    run = states(spring_mass(), 1.0, asp.Icf(time_step=step), qpos=[AMPLITUDE])
    x, v = run.qpos[:, 0], run.qvel[:, 0]
    kept = _spring_energy(run) - 0.5 * step * STIFFNESS * x * v
    np.testing.assert_allclose(kept, kept[0], rtol=1e-9)


def test_the_fixed_step_dissipates_what_implicit_euler_does() -> None:
    """Where a spring swings faster than the step, which explicit ones would not be stable in."""
    step = 2.0 / FREQUENCY
    run = states(spring_mass(), 20 * step, asp.Icf(time_step=step), qpos=[AMPLITUDE])
    decay = (1 + (step * FREQUENCY) ** 2) ** -np.arange(21.0)
    np.testing.assert_allclose(_spring_energy(run), _spring_energy(run)[0] * decay, rtol=1e-9)


@pytest.mark.parametrize(
    ("scheme", "order"), [("icf", 1.0), ("step-doubling", 1.0), ("trapezoid", 2.0)]
)
def test_a_damped_oscillator_has_the_analytic_solution(scheme: str, order: float) -> None:
    damping = 2.0
    model = spring_mass(STIFFNESS, damping)
    decay = 0.5 * damping
    omega = math.sqrt(STIFFNESS - decay**2)
    end = 1.0
    exact = AMPLITUDE * math.exp(-decay * end)
    exact *= math.cos(omega * end) + decay / omega * math.sin(omega * end)
    steps = [2e-3, 1e-3, 5e-4]
    errors = []
    for step in steps:
        run = states(model, end, fixed(scheme, step), qpos=[AMPLITUDE])
        errors.append(abs(run.qpos[-1, 0] - exact))
    np.testing.assert_allclose(observed_orders(steps, errors), order, atol=0.05)
    # The error of implicit Euler over this time is about t·ω²h/2 of the amplitude.
    assert errors[-1] < 0.5 * STIFFNESS * steps[-1] * AMPLITUDE


def _error_of_a_chain(
    accuracy: float,
    masses: Array,
    stiffness: Array,
    *,
    damping: Array | float = 0.0,
    gain: Array | float = 0.0,
    force: Array | float = 0.0,
    qvel: Array | float = 0.0,
) -> float:
    """Largest error of `Cenic` after .5 s, of sliders on each other with springs, dampers, servos.

    Servos oppose velocities with ``gain``. The motion is linear: its solution is an exponential.
    """
    n = len(masses)
    damping, gain, force, qvel = (np.broadcast_to(x, n) for x in (damping, gain, force, qvel))
    bodies = "".join(
        f"<body><joint name='j{i}' type='slide' stiffness='{stiffness[i]}' damping='{damping[i]}'/>"
        f"<geom size='.1' mass='{masses[i]}' contype='0'/>"
        for i in range(n)
    )
    servos = "".join(
        f"<general joint='j{i}' biastype='affine' biasprm='0 0 {-gain[i]}'/>"
        for i in range(n)
        if gain[i] > 0.0
    )
    model = compile_mjcf(
        bodies + n * "</body>",
        option="gravity='0 0 0'",
        sections=f"<actuator>{servos}</actuator>",
    )
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
    sim.data.qfrc_applied[:] = force
    sim.data.qvel[:] = qvel
    later = np.maximum.outer(np.arange(n), np.arange(n))
    inverse = np.linalg.inv(np.cumsum(masses[::-1])[::-1][later])
    rates = np.zeros((2 * n + 1, 2 * n + 1))
    rates[:n, n : 2 * n] = np.eye(n)
    rates[n : 2 * n, :n] = -inverse * stiffness
    rates[n : 2 * n, n : 2 * n] = -inverse * (damping + gain)
    rates[n : 2 * n, 2 * n] = inverse @ force
    assert sim.advance_to(0.5).success
    exact = expm(0.5 * rates) @ np.concatenate([np.zeros(n), qvel, [1.0]])
    return float(np.abs(sim.data.qpos - exact[:n]).max())


@pytest.mark.parametrize("opposed", ["damping", "gain"])
@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-5, 1e-6])
def test_what_creeps_on_a_spring_does_not_swing(opposed: str, accuracy: float) -> None:
    """Two masses on springs of some 10 Hz that dampers or servos let creep at .65 m/s."""
    force = np.array([1900.0, 2000.0])
    error = _error_of_a_chain(
        accuracy,
        np.full(2, 0.01),
        np.full(2, 30.0),
        force=force,
        qvel=force / 3000.0,
        **{opposed: 3000.0},
    )
    assert error < max(3.0 * accuracy, 1e-5)


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize(
    ("masses", "stiffness", "damping", "gain"),
    [
        ([0.77, 0.057, 0.043], [570.0, 0.0, 2e4], [170.0, 0.0, 380.0], [0.0, 0.0, 0.0]),
        ([0.05, 0.05, 0.01], [110.0, 0.0, 0.0], [0.0, 770.0, 0.0], [0.2, 410.0, 0.0]),
    ],
)
def test_energy_that_strong_dampers_take_is_not_given_back(
    accuracy: float,
    masses: list[float],
    stiffness: list[float],
    damping: list[float],
    gain: list[float],
) -> None:
    error = _error_of_a_chain(
        accuracy,
        np.array(masses),
        np.array(stiffness),
        damping=np.array(damping),
        gain=np.array(gain),
        force=3.0,
        qvel=1.0,
    )
    assert error < accuracy
