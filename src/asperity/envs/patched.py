"""Gymnasium's MuJoCo environments with Asperity's step in place of MuJoCo's.

What is replaced is the call of ``mj_step``: models, observations, rewards and resets stay those of
the environment.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import gymnasium
import mujoco
from gymnasium.envs.mujoco import MujocoEnv
from numpy.typing import ArrayLike

from asperity.errors import ArgumentError
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator import step

__all__ = ["require_original", "with_asperity"]

E = TypeVar("E", bound="gymnasium.Env[Any, Any] | gymnasium.vector.VectorEnv[Any, Any, Any]")

# In the dictionary of an environment that was given Asperity's step: the options that it has.
_OPTIONS = "_asperity_options"


def with_asperity(
    env: E,
    *,
    integrator: Integrator | None = None,
    contact: ContactParameters | None = None,
) -> E:
    """Let an environment step with Asperity.

    Parameters
    ----------
    env : gymnasium.Env or gymnasium.vector.SyncVectorEnv
        On `gymnasium.envs.mujoco.MujocoEnv` (such as Ant, Humanoid, the Adroit hands) or
        ``gymnasium_robotics``' ``MujocoRobotEnv`` (Fetch, the Shadow hands), or one that steps one
        of these (the mazes, the kitchen), wrapped or not. Of a ``SyncVectorEnv``, all are changed.
        Elsewhere it serves as a wrapper:
        ``gymnasium.make_vec("Ant-v5", 8, "async", wrappers=[with_asperity])``.
    integrator : Integrator, optional
        ``Cenic()`` by default. A step of the environment takes ``frame_skip`` times the model's
        ``timestep``, whatever steps the integrator takes in it.
    contact : ContactParameters, optional
        As for `asperity.Simulator`.

    Returns
    -------
    gymnasium.Env
        The same one.

    Raises
    ------
    ArgumentError, ModelError
        If the environment does not step a MuJoCo model in one of these ways, if another program has
        replaced its step, or if its model cannot be simulated. Nothing has then changed.

    Notes
    -----
    Episodes are reproducible: a reset writes a state, from which Asperity starts anew. Copies and
    pickles are made as the environment makes them, most of them anew from their arguments, and step
    with Asperity, too. A step that fails raises `asperity.SimulationError`.
    """
    worlds = _worlds(env)
    stepped = [_stepped(world) for world in worlds]
    for one in stepped:
        require_original(one)
    for one in stepped:
        # Whatever cannot be simulated is refused here, and nothing moves.
        step(one.model, one.data, 0, integrator=integrator, contact=contact)
    for world, one in zip(worlds, stepped, strict=True):
        _patch(one, integrator, contact)
        if world is not one:
            _replace_class(world, {}, integrator, contact)
    return env


def _worlds(env: Any) -> list[Any]:
    """The environments below all wrappers."""
    if isinstance(env, gymnasium.vector.VectorEnv):
        vector = env.unwrapped
        if not isinstance(vector, gymnasium.vector.SyncVectorEnv):
            raise ArgumentError(
                f"with_asperity cannot reach the environments of {type(vector).__name__}; give "
                "wrappers=[with_asperity] to gymnasium.make_vec instead."
            )
        return [world for one in vector.envs for world in _worlds(one)]
    if not isinstance(env, gymnasium.Env):
        raise ArgumentError(f"env must be an environment of gymnasium, got {type(env).__name__}.")
    return [env.unwrapped]


def _stepped(world: Any) -> Any:
    """The environment with the model: a maze and a kitchen keep one, which they step."""
    if isinstance(world, MujocoEnv):
        return world
    kept = [one.unwrapped for one in vars(world).values() if isinstance(one, gymnasium.Env)]
    return kept[0] if len(kept) == 1 and isinstance(kept[0], MujocoEnv) else world


def _robot_class() -> type | None:
    """``MujocoRobotEnv``; None if nobody has imported it, and nobody has such an environment."""
    module = sys.modules.get("gymnasium_robotics.envs.robot_env")
    found: type | None = getattr(module, "MujocoRobotEnv", None)
    return found


def require_original(world: Any) -> None:
    """Raise if the step of an environment is not the one that its base class has."""
    name, robot = type(world).__name__, _robot_class()
    if _OPTIONS in vars(world):
        raise ArgumentError(f"{name} steps with Asperity already; make another one.")
    if isinstance(world, MujocoEnv):
        methods: tuple[str, ...] = ("_step_mujoco_simulation", "do_simulation")
        base: type = MujocoEnv
    elif robot is not None and isinstance(world, robot):
        methods, base = ("_mujoco_step",), robot
        if vars(world).get("_mujoco") is not mujoco:
            raise ArgumentError(
                f"another wrapper has replaced the module 'mujoco' of {name}; leave it out."
            )
    else:
        raise ArgumentError(
            f"{name} is neither a gymnasium.envs.mujoco.MujocoEnv nor a MujocoRobotEnv of "
            "gymnasium_robotics; call asperity.step where it calls mujoco.mj_step."
        )
    for method in methods:
        if method in vars(world) or getattr(type(world), method) is not getattr(base, method):
            raise ArgumentError(
                f"{name} has a {method} of its own, which with_asperity does not replace; call "
                "asperity.step in it."
            )


def _patch(world: Any, integrator: Integrator | None, contact: ContactParameters | None) -> None:
    def advance(model: mujoco.MjModel, data: mujoco.MjData, nstep: int = 1) -> None:
        step(model, data, nstep, integrator=integrator, contact=contact)

    members: dict[str, Any] = {}
    if isinstance(world, MujocoEnv):

        def step_mujoco_simulation(self: Any, ctrl: ArrayLike, n_frames: int) -> None:
            self.data.ctrl[:] = ctrl
            advance(self.model, self.data, n_frames)
            mujoco.mj_rnePostConstraint(self.model, self.data)

        members["_step_mujoco_simulation"] = step_mujoco_simulation
    else:
        # Some of these call mj_step when they are reset, too.
        world._mujoco = _Mujoco(advance)
    _replace_class(world, members, integrator, contact)


def _replace_class(
    world: Any,
    members: dict[str, Any],
    integrator: Integrator | None,
    contact: ContactParameters | None,
) -> None:
    """Give an environment a class of its own, since what is written into it is lost in copies."""
    original = type(world)

    def reduce(self: Any, protocol: Any) -> tuple[Any, ...]:
        return _again, (original, _as_before(self, original, protocol), integrator, contact)

    vars(world)[_OPTIONS] = (integrator, contact)
    own = {"__reduce_ex__": reduce, "__module__": original.__module__}
    world.__class__ = type(original.__name__, (original,), members | own)


class _Mujoco:
    """The module ``mujoco`` with another ``mj_step``."""

    def __init__(self, advance: Callable[..., None]) -> None:
        self.mj_step = advance

    def __getattr__(self, name: str) -> Any:
        return getattr(mujoco, name)


def _as_before(world: Any, original: Any, protocol: Any) -> tuple[Any, ...]:
    """What its class would pickle, without what was written into it."""
    reduced = original.__reduce_ex__(world, max(2, int(protocol)))
    function, arguments, state = (*reduced, None)[:3]
    arguments = tuple(original if value is type(world) else value for value in arguments)
    if isinstance(state, dict):
        state = {name: value for name, value in state.items() if name != _OPTIONS}
        if isinstance(state.get("_mujoco"), _Mujoco):
            del state["_mujoco"]
    return function, arguments, state


def _again(
    original: type,
    reduced: tuple[Any, ...],
    integrator: Integrator | None,
    contact: ContactParameters | None,
) -> Any:
    """An environment made as `_as_before` says, with Asperity's step."""
    function, arguments, state = reduced
    world = function(*arguments)
    restore = getattr(world, "__setstate__", None)
    if restore is not None:
        restore(state)
    elif state:
        vars(world).update(state)
    robot = _robot_class()
    if robot is not None and isinstance(world, robot):
        vars(world)["_mujoco"] = mujoco
    return with_asperity(world, integrator=integrator, contact=contact)
