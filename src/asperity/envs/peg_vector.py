"""Many worlds of the peg's task, advanced together by `asperity.Batch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from asperity.envs.actions import checked
from asperity.envs.peg_in_hole import PegInHoleEnv, gripped_state, make_spaces, varied_pegs
from asperity.envs.peg_task import PegTask
from asperity.envs.peg_variation import PegVariation
from asperity.envs.pictures import Pictures
from asperity.errors import ArgumentError, Status
from asperity.integrators import Integrator
from asperity.simulator import Simulator
from asperity.worlds import Batch

__all__ = ["PegInHoleVectorEnv"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Positions = NDArray[np.float32]


class PegInHoleVectorEnv(VectorEnv[Positions, Positions, NDArray[Any]]):
    """Many worlds of `PegInHoleEnv`, whose steps one call of compiled code takes on all cores.

    Each does what an environment of its own would do, to the bit: the vector environment that
    ``gymnasium.make_vec("asperity/PegInHole-v0", num_envs=64)`` makes.

    Parameters
    ----------
    num_envs : int
        Number of worlds.
    autoreset_mode : gymnasium.vector.AutoresetMode or str
        When a world begins anew after its episode. ``NEXT_STEP``: in the next step, in which it
        does nothing else. ``SAME_STEP``: in the same step, with ``infos["final_obs"]`` and
        ``infos["final_info"]`` of the last one. ``DISABLED``: when `reset` is called with
        ``options={"reset_mask": ...}``.
    render_mode : {None, "rgb_array"}
    integrator : Integrator, optional
        As for `PegInHoleEnv`.
    threads : int, optional
        As many as there are cores by default.
    variation : PegVariation, optional
        What differs from episode to episode, by `asperity.Batch.vary`; ``infos`` of `reset` have
        the numbers of the worlds that begin.
    **options
        Those of `asperity.envs.peg_task.PegTask`.

    Raises
    ------
    ArgumentError
        If an option is not possible.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        integrator: Integrator | None = None,
        threads: int | None = None,
        variation: PegVariation | None = None,
        **options: Any,
    ) -> None:
        self.task = PegTask(**options)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**PegInHoleEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self._pictures = Pictures(render_mode)
        model = self.task.scene.model()
        integrator = integrator or self.task.integrator(variation)
        self._gripped = gripped_state(Simulator(model, integrator=integrator), self.task)
        self.batch = Batch(model, num_envs, integrator=integrator, threads=threads)
        self._pegs = varied_pegs(variation, self.task)
        names = () if variation is None else variation.model_fields
        self._fields = {name: self.batch.vary(name) for name in names}
        self._peg, _ = self.task.addresses(model)
        self.num_envs = self.batch.count
        self.single_observation_space, self.single_action_space = make_spaces()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._random: list[np.random.Generator | None] = [None] * self.num_envs
        self._steps = np.zeros(self.num_envs, np.int64)
        self._over = np.ones(self.num_envs, bool)

    def _positions(self) -> Floats:
        return np.array(self.batch.qpos[:, self._peg : self._peg + 3])

    def _begin(self, worlds: NDArray[np.int64]) -> dict[str, Any]:
        """New episodes in some worlds; returns the numbers in which they differ."""
        if len(worlds) == 0:
            return {}
        starts, drawn = [], []
        for i in worlds:
            random = self._random[i]
            if random is None:
                random, _ = gymnasium.utils.seeding.np_random()
                self._random[i] = random
            starts.append(self.task.start(random))
            if self._pegs is not None:
                drawn.append(self._pegs.variation.draw(random))
                mine = {name: values[i] for name, values in self._fields.items()}
                self._pegs.write(drawn[-1], mine.__getitem__)
        tilt = np.array([numbers.get("tilt", 0.0) for numbers in drawn]) if drawn else 0.0
        qpos = self.task.moved(self.batch.model, self._gripped, np.array(starts), tilt)
        self.batch.reset(mask=worlds, qpos=qpos)
        self._steps[worlds] = 0
        self._over[worlds] = False
        return self._numbers(drawn, worlds)

    def _numbers(self, drawn: list[dict[str, float]], worlds: NDArray[np.int64]) -> dict[str, Any]:
        """Numbers of episodes, as Gymnasium puts those of single environments together."""
        infos: dict[str, Any] = {}
        for name in drawn[0] if drawn else ():
            infos[name] = np.zeros(self.num_envs)
            infos[name][worlds] = [numbers[name] for numbers in drawn]
            infos[f"_{name}"] = np.isin(np.arange(self.num_envs), worlds)
        return infos

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Positions, dict[str, Any]]:
        """Begin episodes at random starts.

        Parameters
        ----------
        seed : int or sequence of int, optional
            Of the first world, whose successors count on, or of each.
        options : dict, optional
            ``"reset_mask"``: which worlds, truth values of shape (num_envs,); all by default.

        Raises
        ------
        ArgumentError
            If the number of seeds or the mask does not fit.
        """
        count = self.num_envs
        if seed is None:
            seeds: Sequence[int | None] = [None] * count
        elif isinstance(seed, int | np.integer):
            seeds = [int(seed) + i for i in range(count)]
        else:
            seeds = list(seed)
        if len(seeds) != count:
            raise ArgumentError(f"there must be {count} seeds, one per world, got {len(seeds)}.")
        mask = np.asarray((options or {}).get("reset_mask", np.ones(count, bool)))
        if mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
            raise ArgumentError(
                f"reset_mask must be truth values of shape ({count},), one of them true at least, "
                f"got {mask!r}."
            )
        worlds = np.flatnonzero(mask)
        for i in worlds.tolist():
            if seeds[i] is not None:
                self._random[i], _ = gymnasium.utils.seeding.np_random(seeds[i])
        infos = self._begin(worlds)
        return self._positions().astype(np.float32), infos

    def step(self, actions: Positions) -> tuple[Positions, Floats, Flags, Flags, dict[str, Any]]:
        """Move all grippers with their velocities for one control period.

        Raises
        ------
        ArgumentError
            If actions have another shape or are not finite, or an episode is over that has not
            begun anew. Nothing has then moved.
        """
        task, batch = self.task, self.batch
        action = checked(actions, (self.num_envs, 3))
        fresh = self._over.copy()
        if np.any(fresh) and self.autoreset_mode != AutoresetMode.NEXT_STEP:
            raise ArgumentError(
                f"the episode of world {int(np.argmax(fresh))} is over or has not begun; call "
                "reset first (of single worlds with options={'reset_mask': ...})."
            )
        control = np.tile(task.scene.grip(), (self.num_envs, 1))
        control[:, :3] = task.controls(action)
        control[fresh, :3] = 0.0
        batch.ctrl = control
        before = self._positions()
        status = batch.advance(task.control_period)
        self._steps += 1
        after = self._positions()
        found = task.outcome(before, after, self._steps)
        failed = status != Status.SUCCESS
        ended, cut = found.success & ~fresh, (found.out_of_time | failed) & ~fresh
        reward = np.where(fresh, 0.0, found.reward)
        info = _infos(found.success, status, ~fresh)
        self._over = ended | cut
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            info |= self._begin(np.flatnonzero(fresh))
        elif self.autoreset_mode == AutoresetMode.SAME_STEP and np.any(self._over):
            over = self._over.copy()
            last = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(over):
                last[i] = after[i].astype(np.float32)
            final = _infos(found.success, status, over)
            info = _infos(found.success, status, ~over)
            info |= {"final_obs": last, "_final_obs": over.copy()}
            info |= {"final_info": final, "_final_info": over.copy()}
            info |= self._begin(np.flatnonzero(over))
        return self._positions().astype(np.float32), reward, ended, cut, info

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Pictures of all worlds.

        Raises
        ------
        MediaError
            If OpenGL is missing.
        """
        if self.render_mode is None:
            return None
        model, taken = self.batch.model, []
        for i in range(self.num_envs):
            picture = self._pictures.take(model, self.batch.data(i))
            assert picture is not None
            taken.append(picture)
        return tuple(taken)

    def close_extras(self, **kwargs: Any) -> None:
        """Free the renderer."""
        self._pictures.close()


def _infos(success: Flags, status: NDArray[Any], known: Flags) -> dict[str, Any]:
    """What single environments say, of some worlds, as Gymnasium puts it together."""
    if not np.any(known):
        return {}
    found: dict[str, Any] = {"is_success": success & known, "_is_success": known.copy()}
    failed = known & (status != Status.SUCCESS)
    if np.any(failed):
        why = np.full(len(status), None, dtype=object)
        for i in np.flatnonzero(failed):
            why[i] = Status(int(status[i])).message
        found |= {"failure": why, "_failure": failed}
    return found
