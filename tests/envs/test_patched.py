"""Gymnasium's environments with Asperity's step: reproducible, copied, and refused where it must."""

from __future__ import annotations

import copy
import functools
import pickle
import sys
import types
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp

gym = pytest.importorskip("gymnasium", reason="needs gymnasium, of the [rl] or [assets] extra")
pytest.importorskip("gymnasium.envs.mujoco.mujoco_rendering", reason="needs the package mujoco")
robotics = pytest.importorskip("gymnasium_robotics", reason="needs the [assets] extra")

from gymnasium.envs.mujoco import MujocoEnv  # noqa: E402
from gymnasium_robotics.envs.robot_env import MujocoRobotEnv  # noqa: E402

from asperity.envs import mend_robotics, with_asperity  # noqa: E402

gym.register_envs(robotics)

MUJOCO = ("Ant-v5", "Humanoid-v5", "Pusher-v5", "AdroitHandDoor-v1", "AdroitHandPen-v1")
ROBOTS = ("FetchPush-v4", "HandReach-v3", "HandManipulateBlock-v1")
# Which step an environment of their own.
KEEPERS = ("AntMaze_UMaze-v5", "PointMaze_UMaze-v3", "FrankaKitchen-v1")


@pytest.fixture(autouse=True)
def mended(monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnasium_robotics.utils import mujoco_utils

    monkeypatch.setattr(mujoco_utils, "mujoco", mujoco_utils.mujoco)  # put back afterwards
    mend_robotics()


def observed(env: Any, steps: int = 5, seed: int = 3) -> np.ndarray:
    """Observations of an episode with random actions, from a reset on."""
    random = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    found = [observation]
    space = env.action_space
    for _ in range(steps):
        action = random.uniform(-1, 1, space.shape) * np.minimum(space.high, 1.0)
        found.append(env.step(action.astype(space.dtype))[0])
    return np.array([one["observation"] if isinstance(one, dict) else one for one in found])


@pytest.mark.parametrize("name", MUJOCO + ROBOTS + KEEPERS)
def test_episodes_and_copies_are_reproducible(name: str) -> None:
    plain = observed(gym.make(name))
    env = gym.make(name)
    assert with_asperity(env, integrator=asp.Icf(time_step=2e-3)) is env
    first = observed(env)
    assert not np.array_equal(first, plain)  # it is another engine
    np.testing.assert_array_equal(observed(env), first)
    np.testing.assert_array_equal(observed(copy.deepcopy(env)), first)
    np.testing.assert_array_equal(observed(pickle.loads(pickle.dumps(env))), first)
    # A copy of a copy, too, and it is what it was to those who ask for its class.
    again = copy.deepcopy(pickle.loads(pickle.dumps(env)))
    np.testing.assert_array_equal(observed(again), first)
    assert isinstance(again.unwrapped, type(gym.make(name).unwrapped))


def test_only_what_is_broken_is_mended() -> None:
    """Twice is once, and nobody else sees another module."""
    from gymnasium_robotics.envs import robot_env
    from gymnasium_robotics.utils import mujoco_utils

    before = mujoco_utils.mujoco
    mend_robotics()
    assert mujoco_utils.mujoco is before
    assert sys.modules["mujoco"] is mujoco
    assert robot_env.MujocoRobotEnv is MujocoRobotEnv
    hinge = np.int32(int(mujoco.mjtJoint.mjJNT_HINGE))
    assert hinge in (mujoco_utils.mujoco.mjtJoint.mjJNT_HINGE,)


def test_its_step_is_asperitys() -> None:
    integrator = asp.Icf(time_step=2e-3)
    contact = asp.ContactParameters(stiffness=2e4)
    env = with_asperity(gym.make("Ant-v5"), integrator=integrator, contact=contact)
    base = env.unwrapped
    env.reset(seed=1)
    model, data = copy.copy(base.model), copy.copy(base.data)
    action = env.action_space.sample()
    env.step(action)
    data.ctrl[:] = action
    asp.step(model, data, base.frame_skip, integrator=integrator, contact=contact)
    np.testing.assert_array_equal(base.data.qpos, data.qpos)
    np.testing.assert_array_equal(base.data.qvel, data.qvel)
    mujoco.mj_rnePostConstraint(model, data)
    np.testing.assert_array_equal(base.data.cfrc_ext, data.cfrc_ext)


class Slider(MujocoEnv):
    """A user's own environment, which knows nothing of copies: a cart."""

    metadata = {"render_modes": [], "render_fps": 50}  # noqa: RUF012
    XML = (
        '<mujoco><option timestep="0.01"/><worldbody><body><joint name="x" type="slide" '
        'axis="1 0 0"/><geom size="0.1" mass="2"/></body></worldbody>'
        '<actuator><motor joint="x" ctrlrange="-1 1"/></actuator></mujoco>'
    )

    def __init__(self, path: str, xml: str = XML) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(xml)
        super().__init__(path, 2, gym.spaces.Box(-np.inf, np.inf, (2,)))

    def step(self, action: np.ndarray) -> Any:
        self.do_simulation(action, self.frame_skip)
        return self.state_vector(), 0.0, False, False, {}

    def reset_model(self) -> np.ndarray:
        self.set_state(np.zeros(1), np.zeros(1))
        return self.state_vector()


def test_a_cart_moves_as_newton_says(tmp_path) -> None:
    env = with_asperity(Slider(str(tmp_path / "cart.xml")))
    env.reset()
    for k in range(1, 6):
        state = env.step(np.array([0.5]))[0]
        np.testing.assert_allclose(state[1], 0.5 / 2.0 * 0.02 * k, rtol=1e-9)


def test_environments_that_are_not_made_anew_keep_their_state_in_copies(tmp_path) -> None:
    env = Slider(str(tmp_path / "cart.xml"))
    env.mujoco_renderer = None  # which nobody can copy
    with_asperity(env)
    env.reset()
    env.step(np.array([0.5]))
    other = copy.deepcopy(env)
    expected = env.step(np.array([-1.0]))[0]
    np.testing.assert_array_equal(other.step(np.array([-1.0]))[0], expected)
    assert other.data is not env.data


def test_vectors_of_environments() -> None:
    vector = with_asperity(gym.make_vec("Ant-v5", 2, "sync"))
    single = with_asperity(gym.make("Ant-v5"))
    observations, _ = vector.reset(seed=4)
    np.testing.assert_array_equal(observations[0], single.reset(seed=4)[0])
    actions = np.full((2, 8), 0.3, np.float32)
    found = vector.step(actions)[0]
    np.testing.assert_array_equal(found[0], single.step(actions[0])[0])
    wrapped = gym.make_vec(
        "Ant-v5",
        2,
        "async",
        vector_kwargs={"daemon": False},
        wrappers=[functools.partial(with_asperity, integrator=asp.Cenic())],
    )
    try:
        wrapped.reset(seed=4)
        np.testing.assert_array_equal(wrapped.step(actions)[0], found)
        with pytest.raises(
            asp.ArgumentError,
            match="cannot reach the environments of AsyncVectorEnv; give wrappers",
        ):
            with_asperity(wrapped)
    finally:
        wrapped.close()


@pytest.fixture
def ant() -> Iterator[Any]:
    env = gym.make("Ant-v5")
    yield env
    env.close()


def test_a_step_that_was_replaced_already(ant: Any) -> None:
    ant.unwrapped._step_mujoco_simulation = lambda ctrl, frames: None
    with pytest.raises(asp.ArgumentError, match="AntEnv has a _step_mujoco_simulation of its own"):
        with_asperity(ant)
    del ant.unwrapped._step_mujoco_simulation
    with_asperity(ant)
    with pytest.raises(asp.ArgumentError, match="AntEnv steps with Asperity already"):
        with_asperity(ant)
    with pytest.raises(asp.ArgumentError, match="steps with Asperity already"):
        with_asperity(copy.deepcopy(ant))

    hand = gym.make("HandReach-v3")
    hand.unwrapped._mujoco = types.SimpleNamespace()
    with pytest.raises(
        asp.ArgumentError, match="replaced the module 'mujoco' of MujocoHandReachEnv"
    ):
        with_asperity(hand)
    assert isinstance(hand.unwrapped, MujocoRobotEnv)


def test_a_class_with_its_own_step(tmp_path) -> None:
    class Own(Slider):
        def _step_mujoco_simulation(self, ctrl: np.ndarray, n_frames: int) -> None: ...

    with pytest.raises(asp.ArgumentError, match=r"Own has a .* of its own"):
        with_asperity(Own(str(tmp_path / "cart.xml")))


def test_what_cannot_be_stepped(tmp_path, ant: Any) -> None:
    with pytest.raises(asp.ArgumentError, match="CartPoleEnv is neither"):
        with_asperity(gym.make("CartPole-v1"))
    with pytest.raises(asp.ArgumentError, match="must be an environment of gymnasium, got str"):
        with_asperity("Ant-v5")  # type: ignore[type-var]
    with pytest.raises(asp.ArgumentError, match="integrator must be"):
        with_asperity(ant, integrator="cenic")  # type: ignore[arg-type]
    # Nothing has changed: it steps as before.
    plain = observed(gym.make("Ant-v5"))
    np.testing.assert_array_equal(observed(ant), plain)
    xml = Slider.XML.replace(
        "</worldbody>",
        '<flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01"/>'
        "</worldbody>",
    )
    with pytest.raises(asp.ModelError, match="Flex 'cloth'"):
        with_asperity(Slider(str(tmp_path / "cloth.xml"), xml), integrator=asp.Sap())
