"""Nothing intersects and no limit is passed, whatever motors do: an independent check of every step."""

from __future__ import annotations

import numpy as np
import pytest
from random_scenes import SCENES, random_scene

import asperity as asp
from asperity.midas.verification import IntersectionTest

pytest.importorskip("ipctk", reason="ipctk, the independent check, is not installed")


def run(name: str, seed: int, steps: int) -> asp.Simulator:
    """Run with new random controls every five steps, checking every state."""
    xml, speed = random_scene(name, seed)
    # The peg has 0.6 mm of room on each side.
    distance = 1e-4 if name == "peg" else 1e-3
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=0.01, activation_distance=distance))
    rng = np.random.default_rng(seed)
    free = sim.model.jnt_type == 0
    for dof in sim.model.jnt_dofadr[free]:
        sim.data.qvel[dof : dof + 3] = rng.uniform(-speed, speed, 3)
        sim.data.qvel[dof + 3 : dof + 6] = rng.uniform(-5, 5, 3)
    intersect = IntersectionTest(sim.world.engine)
    limited = sim.model.jnt_limited.astype(bool)
    address = sim.model.jnt_qposadr[limited]
    low, high = sim.model.jnt_range[limited].T
    for step in range(steps):
        if step % 5 == 0:
            sim.data.ctrl[:] = rng.uniform(-1, 1, sim.model.nu)
        report = sim.step()
        assert report.success, f"{name}, seed {seed}, step {step}: {report.message}"
        assert not intersect(), f"{name}, seed {seed}, step {step}"
        assert np.all(sim.data.qpos[address] > low)
        assert np.all(sim.data.qpos[address] < high)
    assert sim.integrator.clearance(sim.world) > 0
    return sim


@pytest.mark.parametrize("name", SCENES)
def test_random_motors(name):
    run(name, 1, 150)
