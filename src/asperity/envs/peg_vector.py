"""Many worlds of the peg's task, advanced together by `asperity.Batch`."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from asperity.envs.batch_vector import BatchVectorEnv, Outcome
from asperity.envs.peg_in_hole import PegInHoleEnv, gripped_state, make_spaces, varied_pegs
from asperity.envs.peg_task import PegTask
from asperity.envs.peg_variation import PegVariation
from asperity.envs.pictures import Pictures
from asperity.integrators import Integrator
from asperity.simulator import Simulator
from asperity.simulator.checks import check_count
from asperity.worlds import Batch

__all__ = ["PegInHoleVectorEnv"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class PegInHoleVectorEnv(BatchVectorEnv):
    """Many worlds of `PegInHoleEnv`, whose steps one call of compiled code takes on all cores.

    Each does what an environment of its own would do, to the bit: the vector environment that
    ``gymnasium.make_vec("asperity/PegInHole-v0", num_envs=64)`` makes.

    Parameters
    ----------
    num_envs : int
        Number of worlds.
    autoreset_mode : gymnasium.vector.AutoresetMode or str
        When a world begins anew after its episode: see `RobotVectorEnv`.
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

    metadata = PegInHoleEnv.metadata

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
        pictures = Pictures(render_mode)
        model = self.task.scene.model()
        integrator = integrator or self.task.integrator(variation)
        self._gripped = gripped_state(Simulator(model, integrator=integrator), self.task)
        batch = Batch(
            model, check_count("num_envs", num_envs), integrator=integrator, threads=threads
        )
        super().__init__(batch, *make_spaces(), autoreset_mode, pictures)
        self._pegs = varied_pegs(variation, self.task)
        names = () if variation is None else variation.model_fields
        self._fields = {name: batch.vary(name) for name in names}
        self._peg, _ = self.task.addresses(model)
        self._before = self._positions()

    def _positions(self) -> Floats:
        return np.array(self.batch.qpos[:, self._peg : self._peg + 3])

    def begin(self, worlds: NDArray[np.int64]) -> dict[str, Any]:
        """New episodes in some worlds; returns the numbers in which they differ."""
        starts, drawn = [], []
        for i in worlds.tolist():
            random = self.random(i)
            starts.append(self.task.start(random))
            if self._pegs is not None:
                drawn.append(self._pegs.variation.draw(random))
                mine = {name: values[i] for name, values in self._fields.items()}
                self._pegs.write(drawn[-1], mine.__getitem__)
        tilt = np.array([numbers.get("tilt", 0.0) for numbers in drawn]) if drawn else 0.0
        qpos = self.task.moved(self.batch.model, self._gripped, np.array(starts), tilt)
        self.batch.reset(mask=worlds, qpos=qpos)
        infos = {}
        for name in drawn[0] if drawn else ():
            infos[name] = np.zeros(self.num_envs)
            infos[name][worlds] = [numbers[name] for numbers in drawn]
        return infos

    def move(self, action: Floats, idle: Flags) -> NDArray[np.int64]:
        """Move all grippers with their velocities for one control period."""
        control = np.tile(self.task.scene.grip(), (self.num_envs, 1))
        control[:, :3] = self.task.controls(action)
        control[idle, :3] = 0.0
        self.batch.ctrl = control
        self._before = self._positions()
        return self.batch.advance(self.task.control_period)

    def outcome(self, action: Floats, steps: NDArray[np.int64]) -> Outcome:
        """How far the pegs have come."""
        found = self.task.outcome(self._before, self._positions(), steps)
        infos = {"is_success": found.success}
        return Outcome(found.reward, found.success, found.out_of_time, infos)

    def observation(self) -> NDArray[np.float32]:
        """Positions of the pegs [m], shape (n, 3)."""
        return self._positions().astype(np.float32)
