"""Deformable bodies in many worlds: each does what a simulator of its own does."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from midas_models import cloth
from rope_models import EQUALITY, line, rope
from soft_models import compile_soft, cube

import asperity as asp

FLOOR = "<geom type='plane' size='1 1 0.1'/>"
MODELS = {
    "rope": lambda: rope(line(11, 0.5), EQUALITY + "<pin id='0'/>"),
    "cloth": lambda: compile_soft(cloth(0.3, count=6, young=1e6)),
    "cube": lambda: compile_soft(FLOOR + cube()),
    "pad": lambda: compile_soft(
        f"{FLOOR}<body name='b'><freejoint/><geom type='box' size='.02 .02 .01' pos='0 0 .14'/>"
        + cube().replace("<contact", "<pin gridrange='0 0 2 2 2 2'/><contact")
        + "</body>"
    ),
}


def _simulated(model: mujoco.MjModel, integrator: asp.Integrator, velocity: np.ndarray) -> bytes:
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[:] = velocity
    for time in (0.1, 0.2):
        sim.advance_to(time)
    return bytes(sim.data.qpos.tobytes())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("integrator", [asp.Icf(time_step=5e-3), asp.Cenic()], ids=("icf", "cenic"))
def test_worlds_are_simulators(name: str, integrator: asp.Integrator) -> None:
    """Again after a reset, too: what a tension was before does not count in another state."""
    model = MODELS[name]()
    batch = asp.Batch(model, 3, integrator=integrator)
    velocity = np.random.default_rng(0).normal(scale=0.1, size=(3, model.nv))
    expected = [_simulated(model, integrator, one) for one in velocity]
    for _ in range(2):
        batch.qvel[:] = velocity
        for _ in range(2):
            batch.advance(0.1)
        assert [row.tobytes() for row in batch.qpos] == expected
        batch.reset()


def test_stiffnesses_vary() -> None:
    model = rope(line(11, 0.5), "<edge stiffness='2e3'/><pin id='0'/>")
    batch = asp.Batch(model, 2, integrator=asp.Icf(time_step=5e-3))
    batch.vary("flex_edgestiffness")[1] *= 2.0
    batch.advance(0.1)
    for world in range(2):
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=5e-3))
        sim.advance_to(0.1)
        assert np.array_equal(batch.qpos[world], sim.data.qpos)
        model.flex_edgestiffness[:] *= 2.0


def test_rollouts() -> None:
    model = MODELS["rope"]()
    velocity = np.random.default_rng(0).normal(scale=0.1, size=(2, model.nv))
    start = np.concatenate([np.zeros((2, 1)), np.tile(model.qpos0, (2, 1)), velocity], axis=1)
    integrator = asp.Icf(time_step=model.opt.timestep)
    states, _ = asp.rollout(model, start, nstep=5, integrator=integrator)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[:] = velocity[1]
    sim.advance_to(5 * model.opt.timestep)
    assert states[1, -1, 1 : 1 + model.nq] == pytest.approx(sim.data.qpos, abs=1e-14)


def test_worlds_in_midas() -> None:
    model = compile_soft(cloth(0.3, count=4))
    batch = asp.Batch(model, 2, integrator=asp.Midas(time_step=0.01))
    batch.advance(0.1)
    assert np.array_equal(batch.qpos[0], batch.qpos[1])
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=0.01))
    sim.advance_to(0.1)
    assert np.array_equal(batch.qpos[0], sim.data.qpos)
