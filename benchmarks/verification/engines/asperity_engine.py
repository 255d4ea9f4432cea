"""Asperity, through its public surface."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import mujoco
from numpy.typing import ArrayLike

import asperity as asp
from asperity.integrators import Integrator
from asperity.simulator import Recorder
from benchmarks.verification.case import Drive, NotApplicable, Record, World
from benchmarks.verification.engines.limits import Deadline, Stopped

__all__ = ["AsperitySimulate"]


ONE_FRICTION = (asp.Sap, asp.Tamsi, asp.Midas)


class AsperitySimulate:
    """Simulates worlds with one of Asperity's integrators."""

    def __init__(self, integrator: Integrator, deadline: Deadline | None = None) -> None:
        self.integrator = integrator
        self.deadline = deadline or Deadline(float("inf"))

    def __call__(
        self,
        world: World,
        duration: float,
        *,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        drive: Drive | None = None,
        period: float = 0.02,
        forces: Mapping[str, Sequence[float]] | None = None,
    ) -> Record:
        if world.contact.dynamic_friction is not None and isinstance(self.integrator, ONE_FRICTION):
            raise NotApplicable("one coefficient of friction")

        def control(_: mujoco.MjModel, data: mujoco.MjData) -> None:
            assert drive is not None
            data.ctrl[:] = drive(float(data.time))

        try:
            with warnings.catch_warnings():
                # Free motion has nothing that could collide.
                warnings.simplefilter("ignore", asp.AsperityWarning)
                simulator = Recorder(
                    world.model(),
                    integrator=self.integrator,
                    control=None if drive is None else control,
                    control_period=period,
                )
        except asp.ModelError as refusal:
            raise NotApplicable(str(refusal)) from refusal
        data = simulator.data
        if qpos is not None:
            data.qpos[:] = qpos
        if qvel is not None:
            data.qvel[:] = qvel
        for name, force in (forces or {}).items():
            data.body(name).xfrc_applied[:] = force
        simulator.start_record()
        try:
            report = simulator.advance_to(duration, progress=lambda _: self.deadline.check())
        except asp.ModelError as refusal:  # what an engine cannot start from
            raise NotApplicable(str(refusal)) from refusal
        if not report.success:
            raise Stopped(f"{report.status.name.lower()} at {simulator.time:.3g} s")
        self.deadline.check()
        fixed = self.integrator.time_step is not None
        stats = simulator.stats
        attempts = None if fixed else stats.steps + stats.rejections
        return Record(simulator.model, *simulator.record(), attempts)
