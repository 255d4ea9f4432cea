"""``asperity/PegInHole-v0``: a gripper learns to put a peg into a hole without any intersection."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import gymnasium
import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.envs.actions import checked
from asperity.envs.peg_task import PegTask
from asperity.envs.peg_variation import PegVariation, VariedPegs
from asperity.envs.pictures import Pictures
from asperity.errors import ArgumentError, SimulationError
from asperity.integrators import Integrator
from asperity.simulator import Simulator

__all__ = [
    "CLOSING",
    "NO_NUMBERS",
    "PegEnv",
    "PegInHoleEnv",
    "gripped_state",
    "make_spaces",
    "varied_pegs",
]

Floats = NDArray[np.float64]

# For the jaws to close [s].
CLOSING = 0.1
NO_NUMBERS: Mapping[str, float] = MappingProxyType({})


def gripped_state(simulator: Simulator, task: PegTask) -> Floats:
    """Positions once the jaws have closed, shape (nq,); the simulator is left there.

    Raises
    ------
    SimulationError
        If the simulation fails.
    """
    simulator.data.ctrl[:] = task.scene.grip()
    report = simulator.advance_to(simulator.time + CLOSING, on_failure="return")
    if not report.success:
        raise SimulationError(f"the jaws did not close: {report.message}")
    return np.array(simulator.data.qpos)


def varied_pegs(variation: PegVariation | None, task: PegTask) -> VariedPegs | None:
    """What writes the numbers of a variation, if there is one.

    Raises
    ------
    ArgumentError
        If it is none, or a margin of it is not possible.
    """
    if variation is None:
        return None
    if not isinstance(variation, PegVariation):
        raise ArgumentError(f"variation must be a PegVariation, got {variation!r}.")
    return VariedPegs(variation, task.scene)


def make_spaces() -> tuple[Any, Any]:
    """Spaces of observations and of actions."""
    return (
        gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32),
        gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32),
    )


class PegEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """The task with any engine, which subclasses have.

    Parameters
    ----------
    task : PegTask
    """

    metadata = {"render_modes": [], "render_fps": 33}  # noqa: RUF012
    render_mode: str | None = None

    def __init__(self, task: PegTask) -> None:
        self.task = task
        self.observation_space, self.action_space = make_spaces()
        self._steps = 0

    def draw(self) -> dict[str, float]:
        """Numbers in which an episode differs from others, of engines that have such."""
        return {}

    @abstractmethod
    def place(self, offset: Floats, numbers: Mapping[str, float] = NO_NUMBERS) -> None:
        """Begin anew, hand and peg so far from the gripped state [m], shape (3,)."""

    @abstractmethod
    def advance(self, control: Floats) -> str:
        """Move for a control period with these controls; why it failed, if it did."""

    @abstractmethod
    def position(self) -> Floats:
        """Of the peg's middle [m], shape (3,)."""

    @abstractmethod
    def positions(self) -> Floats:
        """Of everything, as in ``qpos`` of the scene's model, shape (nq,)."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode at a random start."""
        super().reset(seed=seed)
        offset = self.task.start(self.np_random)
        numbers = self.draw()
        self.place(offset, numbers)
        self._steps = 0
        return self.position().astype(np.float32), dict(numbers)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Move the gripper with a velocity for one control period."""
        task = self.task
        control = task.scene.grip()
        control[:3] = task.controls(checked(action, (3,)))
        before = self.position()
        failure = self.advance(control)
        self._steps += 1
        after = self.position()
        found = task.outcome(before, after, np.array(self._steps))
        info: dict[str, Any] = {"is_success": bool(found.success)}
        if failure:
            info["failure"] = failure
        over = bool(found.out_of_time) or bool(failure)
        return after.astype(np.float32), float(found.reward), bool(found.success), over, info


class PegInHoleEnv(PegEnv):
    """A parallel gripper puts a cylinder into a container with a funnel (Midas, section V).

    **Actions** are velocities of the gripper along x, y and z, in units of ``max_speed``.

    **Observations** are the position of the peg's middle in the world [m]. The hole's axis is the z
    axis, and its bottom is at z = 0. The peg is in when its middle is at 40 mm.

    **Rewards** are the downward velocity of the peg in units of ``max_speed``; outside of the
    funnel's rim any vertical velocity counts against the agent. When the peg has reached its depth,
    there is ``bonus * (1 - t / max_steps)`` besides, which is the more the fewer steps it took.

    **An episode** starts with the peg gripped, at a random place above the funnel, where nothing
    intersects. It terminates when the peg is in. It is truncated after ``max_steps`` steps, or if
    the simulation fails. ``info["is_success"]`` says whether the peg is in, and
    ``info["failure"]``, if there, why the simulation failed.

    The paper gives sizes, speeds and weights of the reward neither in its text nor otherwise; ours
    are the defaults of `asperity.scenes.peg_in_hole.PegScene` and
    `asperity.envs.peg_task.PegTask`.

    Parameters
    ----------
    render_mode : {None, "rgb_array"}
        Pictures need the extra ``viz``.
    integrator : Integrator, optional
        ``Midas(time_step=0.01, time_scheme="implicit-euler", activation_distance=0.1 * margin)``,
        the paper's scheme, by default, for which the scene is made: others take meshes for their
        convex hulls, which close the hole.
    variation : PegVariation, optional
        What differs from episode to episode; ``info`` of `reset` has the episode's numbers.
    **options
        Those of `asperity.envs.peg_task.PegTask`, such as ``margin=1e-4``.

    Raises
    ------
    ArgumentError
        If an option is not possible.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 33}  # noqa: RUF012

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        integrator: Integrator | None = None,
        variation: PegVariation | None = None,
        **options: Any,
    ) -> None:
        super().__init__(PegTask(**options))
        self.render_mode = render_mode
        self._pictures = Pictures(render_mode)
        self._pegs = varied_pegs(variation, self.task)
        self.simulator = Simulator(
            self.task.scene.model(), integrator=integrator or self.task.integrator(variation)
        )
        self._gripped = gripped_state(self.simulator, self.task)
        self._peg, _ = self.task.addresses(self.simulator.model)

    def draw(self) -> dict[str, float]:
        return {} if self._pegs is None else self._pegs.variation.draw(self.np_random)

    def place(self, offset: Floats, numbers: Mapping[str, float] = NO_NUMBERS) -> None:
        simulator, model = self.simulator, self.simulator.model
        if self._pegs is not None:
            self._pegs.write(numbers, lambda name: getattr(model, name))
            # What follows from masses.
            mujoco.mj_setConst(model, mujoco.MjData(model))
        simulator.reset()
        tilt = numbers.get("tilt", 0.0)
        simulator.data.qpos[:] = self.task.moved(model, self._gripped, offset, tilt)

    def advance(self, control: Floats) -> str:
        simulator = self.simulator
        simulator.data.ctrl[:] = control
        end = simulator.time + self.task.control_period
        report = simulator.advance_to(end, on_failure="return")
        return "" if report.success else report.message

    def position(self) -> Floats:
        return np.array(self.simulator.data.qpos[self._peg : self._peg + 3])

    def positions(self) -> Floats:
        return np.array(self.simulator.data.qpos)

    def render(self) -> Any:
        """A picture of the present state, shape (480, 480, 3), with ``"rgb_array"``.

        Raises
        ------
        MediaError
            If OpenGL is missing.
        """
        return self._pictures.take(self.simulator.model, self.simulator.data)

    def close(self) -> None:
        """Free the renderer."""
        self._pictures.close()
