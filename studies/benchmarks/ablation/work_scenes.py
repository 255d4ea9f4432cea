"""Scenes without a known outcome, which count work alone: the paper's clutter, piles and robots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np

import asperity as asp
from studies.benchmarks.midas import cubes
from studies.benchmarks.robot_models import robot
from studies.benchmarks.scene import build_mjcf, scene_from_name

__all__ = ["KINDS", "WORK_SCENES", "WorkScene"]

KINDS = {"clutter": "in clutter", "robots": "of robots"}
"""Kinds of scenes, with the heads of their columns."""

_CONVEX = ("cenic", "icf")
_CLUTTER_TIME = 5.0
_PILE_TIME = 0.3
_HOLDS = 10  # of random controls
_HOLD = 0.05  # [s]
_SEEDS = (0, 1, 2, 3, 4)
_VIGOUR = 0.5  # part of the range of controls that is used
_SPREAD = 0.1  # standard deviation of initial velocities [m/s, rad/s]


@dataclass(frozen=True)
class WorkScene:
    """A scene, from several initial states.

    Attributes
    ----------
    name, kind
        What it is called, and one of `KINDS`.
    methods
        Those that it is run with.
    seeds
        Of the initial states and controls.
    run
        Simulates it from the state of a seed; returns the simulator, and whether it has finished.
    """

    name: str
    kind: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    run: Callable[[int, asp.Integrator], tuple[asp.Simulator, bool]]


def _settle(
    model: mujoco.MjModel | str, duration: float, integrator: asp.Integrator
) -> tuple[asp.Simulator, bool]:
    simulator = asp.Simulator(model, integrator=integrator)
    return simulator, simulator.advance_to(duration, on_failure="return").success


def _clutter(name: str, seed: int, integrator: asp.Integrator) -> tuple[asp.Simulator, bool]:
    return _settle(build_mjcf(scene_from_name(name, seed)), _CLUTTER_TIME, integrator)


def _pile(
    count: int, columns: int, seed: int, integrator: asp.Integrator
) -> tuple[asp.Simulator, bool]:
    """Cubes that stand the less straight on one another the greater the seed."""
    return _settle(cubes(count, columns, 1e-3 * seed), _PILE_TIME, integrator)


def _robot(name: str, seed: int, integrator: asp.Integrator) -> tuple[asp.Simulator, bool]:
    """A robot that falls or stands, with random controls."""
    model = robot(name).make()
    random = np.random.default_rng(seed)
    simulator = asp.Simulator(model, integrator=integrator)
    simulator.data.qvel[:] = _SPREAD * random.normal(size=model.nv)
    low, high = np.full(model.nu, -1.0), np.full(model.nu, 1.0)
    limited = model.actuator_ctrllimited.astype(bool)
    low[limited], high[limited] = model.actuator_ctrlrange[limited].T
    middle, reach = 0.5 * (low + high), 0.5 * _VIGOUR * (high - low)
    for hold in range(1, _HOLDS + 1):
        simulator.data.ctrl[:] = random.uniform(middle - reach, middle + reach)
        if not simulator.advance_to(_HOLD * hold, on_failure="return").success:
            return simulator, False
    return simulator, True


WORK_SCENES = (
    *(
        WorkScene(name, "clutter", _CONVEX, (41, 42, 43, 44, 45), partial(_clutter, name))
        for name in ("clutter-hard", "clutter-soft")
    ),
    *(
        WorkScene(name, "clutter", ("midas",), _SEEDS, partial(_pile, count, columns))
        for name, count, columns in (("tower-of-20-cubes", 20, 1), ("50-cubes", 50, 10))
    ),
    *(
        WorkScene(name, "robots", (*_CONVEX, "midas"), _SEEDS, partial(_robot, name))
        for name in (
            "humanoid",
            "quadruped",
            "walker",
            "ant",
            "shadow hand, block",
            "adroit hand, door",
            "fetch",
            "g1",
            "go2",
            "talos",
        )
    ),
)
"""The first two are the CENIC paper's. Robots need ``dm_control``, and the extra ``[assets]``."""
