"""Random models with many features at once: MuJoCo's motion, and no leaps in contact."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from random_models import random_model

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

_TIME = 0.05
_MAKERS: dict[str, Callable[[float], asp.Integrator]] = {
    "cenic": lambda step: asp.Cenic(accuracy=1e-3 * step),
    "icf": lambda step: asp.Icf(time_step=step),
    "midas": lambda step: asp.Midas(time_step=step),
}


def _start(model: mujoco.MjModel, data: mujoco.MjData, seed: int) -> None:
    random = np.random.default_rng(seed)
    data.qvel[:] = random.normal(size=model.nv)
    data.ctrl[:] = random.uniform(0.0, 1.0, model.nu)


def _by_mujoco(text: str, seed: int, step: float) -> np.ndarray:
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
    data = mujoco.MjData(model)
    _start(model, data, seed)
    mujoco.mj_step(model, data, nstep=round(_TIME / step))
    return data.qpos.copy()


def _difference(model: mujoco.MjModel, first: np.ndarray, second: np.ndarray) -> float:
    way = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, way, 1.0, first, second)
    return float(np.abs(way).max())


@pytest.mark.parametrize("key", _MAKERS)
@pytest.mark.parametrize("seed", range(24))
def test_smooth_motion_is_that_of_mujoco(seed: int, key: str) -> None:
    """The error is small, or that of first order."""
    text = random_model(seed, contact=False)
    truth = _by_mujoco(text, seed, 5e-5)
    model = mujoco.MjModel.from_xml_string(text)
    assert _difference(model, _by_mujoco(text, seed, 1e-4), truth) < 1e-6
    errors = []
    for step in (1e-3, 5e-4):
        sim = asp.Simulator(model, integrator=_MAKERS[key](step))
        _start(model, sim.data, seed)
        sim.advance_to(_TIME)
        errors.append(_difference(model, truth, sim.data.qpos))
    assert errors[1] < max(2e-5, 0.6 * errors[0])


@pytest.mark.parametrize("seed", range(24))
def test_positions_in_contact_go_no_farther_than_speeds_allow(seed: int) -> None:
    model = mujoco.MjModel.from_xml_string(random_model(seed, contact=True))
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    _start(model, sim.data, seed)
    for _ in range(300):
        before, speed = sim.data.qpos.copy(), np.abs(sim.data.qvel).max()
        sim.step()
        fastest = max(speed, np.abs(sim.data.qvel).max(), 0.3)
        if sim.time > 0.02:  # until what overlaps at first is apart
            assert _difference(model, before, sim.data.qpos) < 2.0 * fastest * 1e-3
