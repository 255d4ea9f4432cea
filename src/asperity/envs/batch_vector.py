"""Vector environments whose worlds are one batch: seeds, ends of episodes and infos."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from asperity.envs.actions import checked
from asperity.envs.pictures import Pictures
from asperity.errors import ArgumentError, Status
from asperity.worlds import Batch

__all__ = ["BatchVectorEnv", "Outcome", "put"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Infos = dict[str, Any]

# NumPy compares with numbers much faster than with members of enumerations.
_SUCCESS = int(Status.SUCCESS)


class Outcome(NamedTuple):
    """What a step has come to in every world, arrays of shape (n,).

    Attributes
    ----------
    reward : ndarray
    terminated, truncated : ndarray of bool
    infos : dict of str to ndarray
        Anything else, of every world.
    """

    reward: Floats
    terminated: Flags
    truncated: Flags
    infos: Infos


class BatchVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """Worlds of a `asperity.Batch`, whose steps one call of compiled code takes on all cores.

    Parameters
    ----------
    batch : Batch
    observations, actions : gymnasium.spaces.Box
        Spaces of one world.
    autoreset_mode : gymnasium.vector.AutoresetMode or str
        When a world begins anew after its episode. ``NEXT_STEP``: in the next step, in which it
        does nothing else. ``SAME_STEP``: in the same step, with ``infos["final_obs"]`` and
        ``infos["final_info"]`` of the last one. ``DISABLED``: when `reset` is called with
        ``options={"reset_mask": ...}``.
    pictures : Pictures
        Which `render` takes.
    """

    def __init__(
        self,
        batch: Batch,
        observations: gymnasium.spaces.Box,
        actions: gymnasium.spaces.Box,
        autoreset_mode: AutoresetMode | str,
        pictures: Pictures,
    ) -> None:
        self.batch, self.num_envs = batch, batch.count
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = observations, actions
        self.observation_space = batch_space(observations, self.num_envs)
        self.action_space = batch_space(actions, self.num_envs)
        self.render_mode = pictures.mode
        self._pictures = pictures
        self._action_shape = (self.num_envs, *actions.shape)
        self._random: list[np.random.Generator | None] = [None] * self.num_envs
        self._steps = np.zeros(self.num_envs, np.int64)
        self._over = np.ones(self.num_envs, bool)

    # -- of a task -----------------------------------------------------------------------------

    @abstractmethod
    def begin(self, worlds: NDArray[np.int64]) -> Infos:
        """Begin episodes in some worlds; returns arrays of all worlds that say how they begin."""

    @abstractmethod
    def move(self, action: Floats, idle: Flags) -> NDArray[np.int64]:
        """Take a step with actions, shape (n, ...); returns the status of every world.

        What worlds that are idle do is not looked at.
        """

    @abstractmethod
    def outcome(self, action: Floats, steps: NDArray[np.int64]) -> Outcome:
        """What the step has come to, after so many steps of an episode."""

    @abstractmethod
    def observation(self) -> NDArray[Any]:
        """Observations of all worlds, shape (n, ...)."""

    # -- of Gymnasium --------------------------------------------------------------------------

    def random(self, world: int) -> np.random.Generator:
        """The random numbers of a world, of its seed if it was given one."""
        found = self._random[world]
        if found is None:
            found, _ = gymnasium.utils.seeding.np_random()
            self._random[world] = found
        return found

    def _begin(self, worlds: NDArray[np.int64], infos: Infos) -> None:
        values = self.begin(worlds)
        self._steps[worlds] = 0
        self._over[worlds] = False
        put(infos, values, np.isin(np.arange(self.num_envs), worlds))

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[Any], Infos]:
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
        infos: Infos = {}
        self._begin(worlds, infos)
        return self.observation(), infos

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[Any], Floats, Flags, Flags, Infos]:
        """Take a step in all worlds.

        Raises
        ------
        ArgumentError
            If actions have another shape or are not finite, or an episode is over that has not
            begun anew. Nothing has then moved.
        """
        action = checked(actions, self._action_shape)
        fresh = self._over.copy()
        if fresh.any() and self.autoreset_mode != AutoresetMode.NEXT_STEP:
            raise ArgumentError(
                f"the episode of world {int(np.argmax(fresh))} is over or has not begun; call "
                "reset first (of single worlds with options={'reset_mask': ...})."
            )
        status = self.move(action, fresh)
        self._steps += 1
        found = self.outcome(action, self._steps)
        failed = status != _SUCCESS
        ended, cut = found.terminated & ~fresh, (found.truncated | failed) & ~fresh
        self._over = ended | cut
        last, over = self.observation(), self._over.copy()
        infos: Infos = {}
        if self.autoreset_mode != AutoresetMode.SAME_STEP or not over.any():
            _tell(infos, found, status, ~fresh)
            begun = np.flatnonzero(fresh)
        else:
            final: Infos = {}
            _tell(infos, found, status, ~over)
            _tell(final, found, status, over)
            observations = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(over):
                observations[i] = last[i]
            infos |= {"final_obs": observations, "_final_obs": over.copy()}
            infos |= {"final_info": final, "_final_info": over.copy()}
            begun = np.flatnonzero(over)
        if len(begun):
            self._begin(begun, infos)
            last = self.observation()
        return last, np.where(fresh, 0.0, found.reward), ended, cut, infos

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


def put(infos: Infos, values: Infos, known: Flags) -> None:
    """Add what is known of some worlds, as Gymnasium puts infos of environments together.

    Parameters
    ----------
    infos : dict
        What there is already.
    values : dict of str to ndarray
        Of all worlds.
    known : ndarray of bool, shape (n,)
        Of which worlds that is to be told.
    """
    if not known.any():
        return
    everything = known.all()
    for name, array in values.items():
        if everything:
            infos[name], infos[f"_{name}"] = array.copy(), known.copy()
            continue
        if name not in infos:
            nothing = None if array.dtype == object else 0
            infos[name] = np.full(array.shape, nothing, dtype=array.dtype)
            infos[f"_{name}"] = np.zeros(len(known), bool)
        infos[name][known] = array[known]
        infos[f"_{name}"] |= known


def _tell(infos: Infos, found: Outcome, status: NDArray[np.int64], known: Flags) -> None:
    """Add infos of a step, and why steps have failed."""
    put(infos, found.infos, known)
    failed = known & (status != _SUCCESS)
    if failed.any():
        messages = [Status(int(one)).message for one in status]
        put(infos, {"failure": np.array(messages, dtype=object)}, failed)
