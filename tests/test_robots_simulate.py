"""Real robots fall or move under their controllers for five seconds of error-controlled time."""

from __future__ import annotations

import numpy as np
import pytest
from robots import ROBOTS, Robot

import asperity as asp

DURATION = 5.0
# No contact may get this deep [m]: what a limb of these robots is thick.
DEEPEST = 0.02
# Models that start with joints or bodies inside one another are pushed apart, which gives energy.
OVERLAPPING = {"fetch", "franka_kitchen", "shadow_hand_block", "adroit_hand_door"}


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_robots_fall_for_five_seconds(robot: Robot) -> None:
    model, _ = robot.load()
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
    sim.data.qpos[:] = robot.initial_qpos(model)
    energies = []
    deepest = 0.0
    for k in range(50):
        report = sim.advance_to(DURATION / 50 * (k + 1))
        assert report.success, report.message
        energies.append(sum(sim.energy()))
        deepest = max(deepest, -np.min(sim.contacts.signed_distance, initial=0.0))
    assert np.all(np.isfinite(sim.data.qpos))
    assert np.all(np.isfinite(sim.data.qvel))
    if robot.name in OVERLAPPING:
        return
    assert deepest < DEEPEST
    if model.nu == 0:
        # Nothing drives the robot, so it never has more mechanical energy than in the beginning.
        assert max(energies) < energies[0] + 1e-2 * (1.0 + abs(energies[0]))
