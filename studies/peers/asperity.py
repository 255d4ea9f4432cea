"""Asperity, through its public surface."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

import asperity as asp
from asperity.integrators import Integrator
from asperity.simulator import Recorder
from studies.benchmarks.verification.case import (
    Drive,
    Given,
    NotApplicable,
    Record,
    Simulate,
    World,
)
from studies.peers.engine import Counters, Floats
from studies.peers.limits import Deadline, Stopped

__all__ = ["AsperityEngine", "AsperitySimulate"]

ONE_FRICTION = (asp.Tamsi, asp.Midas)

FIELD_LENGTH = 0.01
"""Length [m] over which a world's stiffness [N/m] becomes a hydroelastic modulus [Pa], unless it
names one: 1e7 Pa where a world says 1e5 N/m, and as much harder where it wants hard contact."""


def _touching(model: mujoco.MjModel, qpos: ArrayLike) -> np.ndarray:
    """A configuration near another one in which geoms touch that overlap there.

    Worlds that begin at rest are in balance on the springs of contact in points.
    """
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    for _ in range(3):
        mujoco.mj_forward(model, data)
        overlapping = [c for c in data.contact if c.dist < 0.0]
        if not overlapping:
            break
        rows = np.zeros((len(overlapping), model.nv))
        sides = np.zeros((2, 3, model.nv))
        for row, contact in zip(rows, overlapping, strict=True):
            for side, geom in zip(sides, contact.geom, strict=True):
                mujoco.mj_jac(model, data, side, None, contact.pos, model.geom_bodyid[geom])
            row[:] = contact.frame[:3] @ (sides[1] - sides[0])
        apart = np.linalg.lstsq(rows, [-c.dist for c in overlapping], rcond=1e-9)[0]
        mujoco.mj_integratePos(model, data.qpos, apart, 1.0)
    return np.array(data.qpos)


class AsperityEngine:
    """A simulator; see `studies.peers.engine.Engine`.

    Parameters
    ----------
    model
        Anything that `asperity.Simulator` takes.
    integrator : Integrator
    **options
        Of `asperity.Simulator`.
    """

    def __init__(self, model: Any, integrator: Integrator, **options: Any) -> None:
        self.simulator = asp.Simulator(model, integrator=integrator, **options)

    def advance(self, time: float) -> None:
        """See `Engine`; a run that stops early is an error, not a fast run."""
        self.simulator.advance_to(time)

    def counters(self) -> Counters:
        """See `Engine`."""
        stats = self.simulator.stats
        return Counters(
            stats.steps,
            stats.rejections,
            stats.iterations,
            stats.factorizations,
            stats.line_search_evaluations,
        )

    def state(self) -> tuple[Floats, Floats]:
        """See `Engine`."""
        return self.simulator.data.qpos.copy(), self.simulator.data.qvel.copy()

    def overlap(self) -> float:
        """See `Engine`."""
        return float(np.max(-self.simulator.contacts.signed_distance, initial=0.0))

    def poses(self) -> tuple[Floats, Floats]:
        """Origins and rotations of all bodies."""
        return self.simulator.data.xpos, self.simulator.data.xmat


class AsperitySimulate(Simulate):
    """Simulates worlds with one of Asperity's integrators, in points or with pressure fields.

    Attributes
    ----------
    work
        Counts of `asperity.Statistics`, over all simulations.
    """

    def __init__(
        self,
        integrator: Integrator,
        deadline: Deadline | None = None,
        *,
        fields: bool = False,
        progress: Callable[[float], None] = lambda share: None,
    ) -> None:
        self.integrator = integrator
        self.deadline = deadline or Deadline(float("inf"))
        self.fields = fields
        self.progress = progress
        self.work: Counter[str] = Counter()
        self._made: tuple[tuple[World, float | None], Recorder] | None = None
        self._drive: Drive | None = None
        self._release: float | None = None

    def run(self, world: World, duration: float, given: Given) -> Record:
        if world.contact.dynamic_friction is not None and isinstance(self.integrator, ONE_FRICTION):
            raise NotApplicable("one coefficient of friction")
        if world.every_friction and (self.fields or not self.integrator.takes_every_friction):
            raise NotApplicable("no friction but that of sliding")
        if world.deformable and self.fields:
            raise NotApplicable("no pressure fields beside deformable bodies")

        self._drive, self._release = given.drive, given.release
        switched = given.drive is not None or given.release is not None
        simulator = self._simulator(world, given.period if switched else None)
        model, data = simulator.model, simulator.data
        if given.qpos is not None:
            data.qpos[:] = given.qpos
        if self.fields and world.contact.modulus is None:
            data.qpos[:] = _touching(model, data.qpos)
        if given.qvel is not None:
            data.qvel[:] = given.qvel
        for name, force in given.forces.items():
            data.body(name).xfrc_applied[:] = force
        simulator.start_record()

        def report_progress(now: asp.Simulator) -> None:
            self.deadline.check()
            self.progress(now.time / duration)

        try:
            report = simulator.advance_to(duration, progress=report_progress, on_failure="return")
        except (asp.ArgumentError, asp.ModelError) as refusal:  # what an engine cannot start from
            raise NotApplicable(str(refusal)) from refusal
        finally:
            self.work.update(vars(simulator.stats))
        if not report.success:
            raise Stopped(f"{report.status.name.lower()} at {simulator.time:.3g} s")
        self.deadline.check()
        fixed = self.integrator.time_step is not None
        stats = simulator.stats
        attempts = None if fixed else stats.steps + stats.rejections
        return Record(model, *simulator.record(), attempts)

    def _simulator(self, world: World, period: float | None) -> Recorder:
        """A simulator in the world's initial state, with controls of a period [s] if it has any.

        That of the last call, if it was of the same world: to make one takes as long as a second
        of a small world.
        """
        if self._made is not None and self._made[0] == (world, period):
            self._made[1].reset()
            return self._made[1]
        model = world.model()
        contact = asp.ContactParameters()
        if self.fields:
            if not np.any(model.geom_contype | model.geom_conaffinity):
                raise NotApplicable("nothing in it touches")
            contact = asp.ContactParameters(
                surface="compliant",
                hydroelastic_modulus=world.contact.modulus
                or world.contact.stiffness / FIELD_LENGTH,
            )

        def control(_: mujoco.MjModel, data: mujoco.MjData) -> None:
            if self._drive is not None:
                data.ctrl[:] = self._drive(float(data.time))
            if self._release is not None and data.time > self._release - 1e-9:
                data.eq_active[:] = 0

        try:
            with warnings.catch_warnings():
                # Free motion has nothing that could collide.
                warnings.simplefilter("ignore", asp.AsperityWarning)
                simulator = Recorder(
                    model,
                    integrator=self.integrator,
                    contact=contact,
                    control=None if period is None else control,
                    control_period=period,
                )
        except (asp.ArgumentError, asp.ModelError) as refusal:
            raise NotApplicable(str(refusal)) from refusal
        self._made = (world, period), simulator
        return simulator
