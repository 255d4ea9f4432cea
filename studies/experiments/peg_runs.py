"""The peg's task in all engines: worlds, tests of policies, and the states at their ends."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from asperity.envs import PegInHoleEnv, PegInHoleVectorEnv, PegVariation
from asperity.envs.peg_in_hole import PegEnv
from studies.experiments.engines import BULLET, BULLETS, MIDAS, MUJOCO, RANDOMIZED, has_bullet
from studies.experiments.peg_check import PegCheck
from studies.experiments.peg_engines import (
    BULLET_BEST,
    BULLET_FINE,
    BULLET_MESH,
    BULLET_PIECES,
    BulletPegEnv,
    MujocoPegEnv,
)
from studies.experiments.peg_training import Episodes, MakeEnv, run_episodes, vector_of
from studies.experiments.runs import Progress

__all__ = ["ENGINES", "SOURCES", "Ending", "endings", "test_policy", "tried_in", "usable", "worlds"]

Floats = NDArray[np.float64]

_AT_ONCE = 20  # episodes of a test
_FIRST_SEED = 5000  # of the tests after training

ENGINES: dict[str, Callable[..., PegEnv]] = {
    MIDAS: PegInHoleEnv,
    BULLET: functools.partial(BulletPegEnv, BULLET_MESH),
    **{
        name: functools.partial(BulletPegEnv, settings)
        for name, settings in zip(BULLETS, (BULLET_PIECES, BULLET_FINE, BULLET_BEST), strict=True)
    },
    MUJOCO: MujocoPegEnv,
}
"""Single environments; options are those of the task."""

_VARIATION = PegVariation(
    friction=(0.05, 0.2), mass=(0.5, 2.0), margin=(1e-4, 5e-4), tilt=(-0.02, 0.02)
)
SOURCES: dict[str, Callable[..., PegEnv]] = {
    **ENGINES,
    RANDOMIZED: functools.partial(PegInHoleEnv, variation=_VARIATION),
}
"""What policies are trained in: an engine, or Midas with pegs that differ between episodes."""


def tried_in(source: str) -> str:
    """The engine in which policies are tested that were trained there."""
    return MIDAS if source == RANDOMIZED else source


class Ending(NamedTuple):
    """State in which an episode has ended."""

    qpos: Floats
    """As in the models of the task, shape (nq,)."""
    success: bool
    intersects: bool | None
    """Whether ``ipctk`` finds an intersection of peg and container; None without it."""
    path: Floats
    """Positions at the ends of the steps, shape (steps, nq)."""


def usable(names: Sequence[str]) -> list[str]:
    """The named engines that are installed."""
    return [name for name in names if has_bullet() or not name.startswith("Bullet")]


def worlds(engine: str, margin: float, **options: Any) -> MakeEnv:
    """Many worlds of an engine, reset in the step in which an episode ends."""
    if engine in (MIDAS, RANDOMIZED):
        if engine == RANDOMIZED:
            options = {"variation": _VARIATION, **options}
        return lambda count: PegInHoleVectorEnv(
            count, autoreset_mode=AutoresetMode.SAME_STEP, margin=margin, **options
        )
    return vector_of(functools.partial(ENGINES[engine], margin=margin, **options))


def test_policy(
    agent: Any, engine: str, margin: float, count: int, progress: Progress, **options: Any
) -> Episodes:
    """Episodes of a policy from random starts, the same for all engines."""
    env = worlds(engine, margin, **options)(_AT_ONCE)
    found: list[Episodes] = []
    try:
        for first in range(0, count, _AT_ONCE):
            seeds = range(_FIRST_SEED + first, _FIRST_SEED + first + _AT_ONCE)
            found.append(run_episodes(agent, env, seeds))
            progress(min(1.0, (first + _AT_ONCE) / count))
    finally:
        env.close()
    parts = ((e.reward, e.success, e.position) for e in found)
    return Episodes(*(np.concatenate(part)[:count] for part in zip(*parts, strict=True)))


def endings(
    agent: Any, engine: str, margin: float, count: int, progress: Progress = lambda share: None
) -> list[Ending]:
    """States in which a policy's episodes end, checked for intersections."""
    from studies.experiments.engines import has_ipctk

    env = ENGINES[engine](margin=margin)
    check = PegCheck(env.task.scene, within=engine != MIDAS) if has_ipctk() else None
    model = env.task.scene.model()
    at, _ = env.task.addresses(model)
    found = []
    for k in range(count):
        observation, _ = env.reset(seed=_FIRST_SEED + k)
        over, success, path = False, False, [env.positions()]
        while not over:
            action, _ = agent.predict(observation, deterministic=True)
            observation, _, success, cut, _ = env.step(action)
            path.append(env.positions())
            over = success or cut
        qpos = path[-1]
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, qpos[at + 3 : at + 7])
        hit = None if check is None else check(qpos[at : at + 3], turn.reshape(3, 3))
        found.append(Ending(qpos, success, hit, np.array(path)))
        progress((k + 1) / count)
    env.close()
    return found
