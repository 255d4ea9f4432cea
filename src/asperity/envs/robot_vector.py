"""Gymnasium's MuJoCo environments as many worlds of one batch."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from asperity.envs.array_task import ArrayTask
from asperity.envs.batch_vector import BatchVectorEnv, Outcome
from asperity.envs.patched import require_original, with_asperity
from asperity.envs.pictures import Pictures
from asperity.envs.robot_tasks import TASKS
from asperity.errors import ArgumentError
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.model_watch import ModelWatch
from asperity.simulator.checks import check_count
from asperity.worlds import Batch

__all__ = ["RobotVectorEnv", "make_robot"]

Floats = NDArray[np.float64]

# Wrappers that change nothing that a batch does not do as well.
_HARMLESS = (
    gymnasium.wrappers.OrderEnforcing,
    gymnasium.wrappers.PassiveEnvChecker,
    gymnasium.wrappers.TimeLimit,
)


class RobotVectorEnv(BatchVectorEnv):
    """Many worlds of an environment of MuJoCo, whose steps one call of compiled code takes.

    Model, controls and random starts are the environment's. Observations and rewards are functions
    of arrays. Those of Gymnasium's Ant, HalfCheetah, Hopper, Humanoid and Walker2d are here.

    Parameters
    ----------
    env : str or gymnasium.Env
        A name, such as ``"Ant-v5"``, or one on `gymnasium.envs.mujoco.MujocoEnv`, which becomes a
        part of this one.
    num_envs : int
        Number of worlds.
    task : ArrayTask, optional
        What is observed and rewarded, of other environments than these five.
    max_episode_steps : int, optional
        Steps after which an episode is truncated; those of the environment's name by default.
    autoreset_mode : gymnasium.vector.AutoresetMode or str
        When a world begins anew after its episode. ``NEXT_STEP``: in the next step, in which it
        does nothing else. ``SAME_STEP``: in the same step, with ``infos["final_obs"]`` and
        ``infos["final_info"]`` of the last one. ``DISABLED``: when `reset` is called with
        ``options={"reset_mask": ...}``.
    render_mode : {None, "rgb_array"}
    integrator, contact : optional
        As for `with_asperity`.
    threads : int, optional
        As many as there are cores by default.
    **options
        Of the environment, if it is a name.

    Raises
    ------
    ArgumentError, ModelError
        If the environment has a step of its own or wrappers that do something, if nothing says what
        it observes, if its resets write anything else than positions and velocities, or if its
        model cannot be simulated.
    """

    def __init__(
        self,
        env: str | gymnasium.Env[Any, Any],
        num_envs: int = 1,
        *,
        task: ArrayTask | None = None,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        integrator: Integrator | None = None,
        contact: ContactParameters | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        self._env = _plain(env, options)
        require_original(self._env)
        if max_episode_steps is None and self._env.spec is not None:
            max_episode_steps = self._env.spec.max_episode_steps
        self._most_steps = np.inf if max_episode_steps is None else max_episode_steps
        self._task = _task_of(self._env) if task is None else task
        _require_plain_resets(self._env)
        model = self._env.model
        batch = Batch(
            model,
            check_count("num_envs", num_envs),
            integrator=integrator,
            contact=contact,
            threads=threads,
        )
        spaces: tuple[Any, Any] = self._env.observation_space, self._env.action_space
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": round(1.0 / self._env.dt)}
        super().__init__(batch, *spaces, autoreset_mode, Pictures(render_mode, "track"))
        # It binds what it looks at.
        self._before = self._task.place(batch)
        seen = self.observation().shape[1:]
        if seen != self.single_observation_space.shape:
            raise ArgumentError(
                f"the task observes the shape {seen}, and the environment's observation space has "
                f"{self.single_observation_space.shape}; give it that space."
            )

    def begin(self, worlds: NDArray[np.int64]) -> dict[str, Any]:
        """New episodes in some worlds, from random starts of the environment."""
        env, starts = self._env, []
        for i in worlds.tolist():
            env.np_random = self.random(i)
            env.reset_model()
            starts.append((env.data.qpos.copy(), env.data.qvel.copy()))
        qpos, qvel = (np.array(part) for part in zip(*starts, strict=True))
        self.batch.reset(mask=worlds, qpos=qpos, qvel=qvel)
        return self._task.start(self.batch)

    def move(self, action: Floats, idle: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Hold controls for ``frame_skip`` of the model's time steps."""
        self.batch.ctrl[...] = action
        self._before = self._task.place(self.batch)
        return self.batch.advance(float(self.batch.model.opt.timestep), self._env.frame_skip)

    def outcome(self, action: Floats, steps: NDArray[np.int64]) -> Outcome:
        """What the task says, and the limit of steps."""
        found = self._task.outcome(self.batch, self._before, action)
        return found._replace(truncated=found.truncated | (steps >= self._most_steps))

    def observation(self) -> NDArray[Any]:
        """What the task observes, as the environment's space has it."""
        seen = self._task.observation(self.batch)
        return np.array(seen, self.single_observation_space.dtype)


def make_robot(env: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """One of Gymnasium's robots, which steps with Asperity (`with_asperity`)."""
    asked = {key: options.pop(key) for key in ("integrator", "contact") if key in options}
    return with_asperity(gymnasium.make(env, **options).unwrapped, **asked)


def _plain(env: str | gymnasium.Env[Any, Any], options: dict[str, Any]) -> MujocoEnv:
    """The environment below harmless wrappers.

    Raises
    ------
    ArgumentError
        If there is none, or options that would be ignored.
    """
    if isinstance(env, str):
        env = gymnasium.make(env, **options)
    elif options:
        raise ArgumentError(
            f"{', '.join(options)} has no effect on an environment that is made already; pass its "
            "name instead, or give the options to gymnasium.make."
        )
    while isinstance(env, gymnasium.Wrapper):
        if not isinstance(env, _HARMLESS):
            raise ArgumentError(
                f"{type(env).__name__} would have no effect on many worlds; wrap the vectors "
                "instead (gymnasium.wrappers.vector)."
            )
        env = env.env
    if not isinstance(env, MujocoEnv):
        raise ArgumentError(
            f"env must be a gymnasium.envs.mujoco.MujocoEnv or its name, got {env!r}."
        )
    return env


def _task_of(env: MujocoEnv) -> ArrayTask:
    kind = type(env)
    if kind.__name__ not in TASKS or not kind.__module__.endswith("_v5"):
        raise ArgumentError(
            f"{kind.__name__} of {kind.__module__} has no observation and reward as functions of "
            f"arrays; pass them as task=ArrayTask(...), or use one of {', '.join(TASKS)} of "
            "version 5."
        )
    return TASKS[kind.__name__](env)


def _require_plain_resets(env: MujocoEnv) -> None:
    """Refuse an environment whose resets write more than positions and velocities."""
    watch = ModelWatch(env.model)
    env.reset(seed=0)
    data = env.data
    others = (data.ctrl, data.act, data.qfrc_applied, data.xfrc_applied)
    if watch.changed() or any(np.any(one) for one in others) or env.model.nmocap:
        raise ArgumentError(
            f"resets of {type(env).__name__} write more than positions and velocities; step it "
            "with with_asperity."
        )
