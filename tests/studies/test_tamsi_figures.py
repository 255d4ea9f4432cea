"""Figures of the TAMSI paper: Newton's method at a transition, and the shaken grasp."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp
from asperity.scenes.shaken_mug import GRIP, shaken_mug
from studies.experiments.tamsi_box import (
    AMPLITUDE,
    MASS,
    STICTION_TOLERANCE,
    TIME_STEP,
    WEIGHT,
    box_residual,
    newton_history,
    simulate_box,
)
from studies.experiments.tamsi_gripper import sampled_velocities, shake, velocity_errors


@pytest.mark.parametrize("velocity", [-0.3, -2e-4, -4e-5, 3e-5, 1e-3])
def test_derivative_of_the_residual(velocity: float) -> None:
    size = 1e-9
    ahead, _ = box_residual(velocity + size, 0.1, 2.0, TIME_STEP)
    behind, _ = box_residual(velocity - size, 0.1, 2.0, TIME_STEP)
    _, slope = box_residual(velocity, 0.1, 2.0, TIME_STEP)
    assert (ahead - behind) / (2 * size) == pytest.approx(slope, rel=1e-6)


def test_box_sticks_first_at_the_time_of_the_paper() -> None:
    time, velocity = simulate_box()
    # It slides at first, since the force is then larger than friction.
    assert velocity[1] == pytest.approx((AMPLITUDE * np.cos(0.02 * np.pi) - WEIGHT) / MASS * 0.01)
    sticks = np.abs(velocity) <= STICTION_TOLERANCE
    first = int(np.flatnonzero(~sticks[:-1] & sticks[1:])[0])
    assert time[first] == pytest.approx(0.16)
    before, force = velocity[first], AMPLITUDE * np.cos(2 * np.pi * time[first + 1])
    end, with_search = newton_history(before, force, TIME_STEP, transition_aware=True)
    assert with_search[-1] < 1e-12
    assert len(with_search) <= 4
    # In stiction the ramp carries the force and what stops the box.
    assert end == pytest.approx(
        STICTION_TOLERANCE * (force + MASS * before / TIME_STEP) / WEIGHT, rel=2e-3
    )
    last, without = newton_history(before, force, TIME_STEP, transition_aware=False)
    assert abs(last) > STICTION_TOLERANCE
    # It goes to and fro between two velocities.
    np.testing.assert_allclose(without[-1], without[-3], rtol=1e-9)
    assert without[-1] > 0.1


def test_time_steps_of_the_box_converge() -> None:
    fine = simulate_box(1e-4)[1][::100]
    errors = [
        np.abs(simulate_box(step)[1][:: round(0.01 / step)] - fine).max() for step in (1e-2, 1e-3)
    ]
    assert errors[1] < 0.2 * errors[0]


def test_grasp_starts_in_balance() -> None:
    sim = asp.Simulator(shaken_mug(sprung=True), integrator=asp.Tamsi(time_step=1e-4))
    sim.reset("start")
    assert sim.data.ctrl[1] == -GRIP
    assert sim.contacts.normal_force.sum() == pytest.approx(2 * GRIP, rel=1e-3)
    assert np.abs(sim.data.qacc).max() < 1.0
    assert sim.advance_to(0.25).success
    # Half a period: back up about as fast as it came down, for the mug has slipped at the turn.
    assert sim.data.qvel[0] == pytest.approx(-sim.model.key_qvel[0, 0], rel=3e-2)


def test_order_of_the_shaken_grasp() -> None:
    times = np.linspace(0.0, 0.1, 11)[1:]
    exact = sampled_velocities(2e-5, times)
    errors = np.array(
        [velocity_errors(sampled_velocities(h, times), exact) for h in (1e-3, 5e-4, 2.5e-4)]
    )
    orders = np.diff(np.log(errors), axis=0) / np.log(0.5)
    assert np.all(np.abs(orders - 1.0) < 0.25)


def test_tamsi_holds_the_mug() -> None:
    sim = shake(asp.Tamsi(time_step=3e-3))
    assert sim.advance_to(2.0).success
    # The load exceeds friction at the turns, where the mug slips by some micrometres and back.
    assert abs(sim.data.qpos[4] - sim.data.qpos[0]) < 2e-4
    assert sim.stats.substeps == 0
    assert sim.stats.iterations < 1.5 * sim.stats.steps
