"""Vector environments of Gymnasium as stable-baselines3's, without an environment per world."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from asperity.errors import ArgumentError, MissingExtra

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise MissingExtra(
        "Sb3VecEnv needs stable-baselines3, which is not installed; pip install 'asperity[train]'."
    ) from None

__all__ = ["Sb3VecEnv"]

Indices = int | Iterable[int] | None


class Sb3VecEnv(VecEnv):
    """Many worlds for stable-baselines3.

    Steps go to the vector environment as they are, all worlds at once. Rewards and lengths of
    episodes are in ``infos[i]["episode"]``, where stable-baselines3's logs look for them.

    Parameters
    ----------
    env : str or gymnasium.vector.VectorEnv
        The name of an environment, such as ``"asperity/PegInHole-v0"``, or vectors of environments
        that are reset in the same step, ``AutoresetMode.SAME_STEP``.
    num_envs : int
        Number of worlds, if ``env`` is a name.
    integrator, contact
        As for `with_asperity`, if ``env`` is the name of an environment of MuJoCo, such as
        ``"Ant-v5"``, which then steps with Asperity.
    **options
        Of the environment, if ``env`` is a name.

    Raises
    ------
    ArgumentError
        If the environment does not fit, or options are given beside a vector environment.
    """

    def __init__(self, env: str | VectorEnv[Any, Any, Any], num_envs: int = 1, **options: Any):
        if isinstance(env, str):
            env = _made(env, num_envs, options)
        elif not isinstance(env, VectorEnv):
            raise ArgumentError(
                f"env must be a name or a gymnasium VectorEnv, got {type(env).__name__}."
            )
        elif options or num_envs not in (1, env.num_envs):
            given = ", ".join(options) or f"num_envs={num_envs}"
            raise ArgumentError(
                f"{given} would have no effect: options apply only if env is a name. Give them to "
                "gymnasium.make_vec."
            )
        if env.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
            raise ArgumentError(
                "stable-baselines3 needs environments that are reset in the step in which an "
                "episode ends; make them with autoreset_mode=AutoresetMode.SAME_STEP."
            )
        self.env = env
        self._actions: NDArray[Any] | None = None
        self._sums = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, np.int64)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Begin an episode in all worlds, with the seeds and options given by `seed` and so on."""
        given = [options for options in self._options if options]
        if given and any(options != given[0] for options in self._options):
            raise ArgumentError("options of a reset must be the same for all worlds.")
        seeds: Any = list(self._seeds)  # of every world, which Gymnasium's types leave out
        observations, infos = self.env.reset(seed=seeds, options=dict(given[0]) if given else None)
        self.reset_infos = [self._info(infos, i) for i in range(self.num_envs)]
        self._sums[:] = 0.0
        self._lengths[:] = 0
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions of the next step."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Take the step."""
        assert self._actions is not None, "step_wait() needs a step_async() before it"
        observations, rewards, ended, cut, infos = self.env.step(self._actions)
        self._actions = None
        done = ended | cut
        self._sums += rewards
        self._lengths += 1
        own: list[dict[str, Any]] = []
        for i in range(self.num_envs):
            if not done[i]:
                own.append(self._info(infos, i))
                continue
            info = self._info(infos["final_info"], i)
            info["terminal_observation"] = infos["final_obs"][i]
            info["TimeLimit.truncated"] = bool(cut[i] and not ended[i])
            info["episode"] = {"r": float(self._sums[i]), "l": int(self._lengths[i])}
            self.reset_infos[i] = self._info(infos, i)
            self._sums[i], self._lengths[i] = 0.0, 0
            own.append(info)
        return observations, rewards.astype(np.float32), done, own

    def _info(self, infos: dict[str, Any], i: int) -> dict[str, Any]:
        """What a vector's infos say of one world."""
        found = {}
        for name, values in infos.items():
            if name.startswith("_") or name in ("final_obs", "final_info"):
                continue
            if f"_{name}" in infos and not infos[f"_{name}"][i]:
                continue
            found[name] = self._info(values, i) if isinstance(values, dict) else values[i]
        return found

    def _attribute(self, name: str) -> list[Any]:
        if hasattr(self.env, "get_attr"):
            return list(self.env.get_attr(name))
        return [getattr(self.env, name)] * self.num_envs

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of environments, or of what they are all parts of."""
        values = self._attribute(attr_name)
        return [values[i] for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of all worlds.

        Raises
        ------
        ArgumentError
            If they have none of their own and not all are meant.
        """
        chosen = list(self._get_indices(indices))
        if hasattr(self.env, "set_attr"):
            values = self._attribute(attr_name) if self.has_attr(attr_name) else [None] * len(self)
            for i in chosen:
                values[i] = value
            self.env.set_attr(attr_name, values)
        elif len(chosen) == self.num_envs:
            setattr(self.env, attr_name, value)
        else:
            raise ArgumentError(
                f"{attr_name} is the same in all worlds and cannot be set in some; omit indices."
            )

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of environments, or of what they are all parts of, once."""
        if hasattr(self.env, "call"):
            results = list(self.env.call(method_name, *method_args, **method_kwargs))
        else:
            result = getattr(self.env, method_name)(*method_args, **method_kwargs)
            results = [result] * self.num_envs
        return [results[i] for i in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Indices = None
    ) -> list[bool]:
        """Whether environments have a wrapper; `Monitor`'s work is done here."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor] * len(list(self._get_indices(indices)))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Pictures of all worlds."""
        images: Any = self.env.render()
        return [None] * self.num_envs if images is None else list(images)

    def close(self) -> None:
        """Free what the environments hold."""
        self.env.close()

    def __len__(self) -> int:
        return self.num_envs


def _made(name: str, num_envs: int, options: dict[str, Any]) -> VectorEnv[Any, Any, Any]:
    """Vector environment of that name, reset in the same step."""
    # Vector environments of others have ways of their own to be reset.
    if gymnasium.spec(name).namespace == "asperity":
        made: VectorEnv[Any, Any, Any] = gymnasium.make_vec(
            name,
            num_envs,
            "vector_entry_point",
            **{"autoreset_mode": AutoresetMode.SAME_STEP, **options},
        )
        return made
    asked: dict[str, Any] = {
        key: options.pop(key) for key in ("integrator", "contact") if key in options
    }
    # Changes environments and wraps none, which Gymnasium's types do not know.
    wrapper: Any = functools.partial(_stepping_with_asperity, asked)
    return gymnasium.make_vec(
        name,
        num_envs,
        "sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        wrappers=[wrapper],
        **options,
    )


def _stepping_with_asperity(
    asked: dict[str, Any], env: gymnasium.Env[Any, Any]
) -> gymnasium.Env[Any, Any]:
    """The environment, with Asperity's step if it has a model of MuJoCo."""
    if isinstance(getattr(env.unwrapped, "model", None), mujoco.MjModel):
        from asperity.envs.patched import with_asperity

        return with_asperity(env, **asked)
    if asked:
        raise ArgumentError(f"{env} has no model of MuJoCo; omit {' and '.join(asked)}.")
    return env
