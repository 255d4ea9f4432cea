"""Error control with norms that Asperity does not offer, to compare them with the one it does.

The convex steps are Asperity's own; around them this module does step doubling and error control in
Python (`asperity.integrators.methods.step_doubling` and `asperity.integrators.steppings` are their
compiled equals), so that any norm can be tried, and so that forces may depend on time: a drive is
evaluated at the beginning of every step and half step. Work is counted, not timed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

import asperity as asp
from asperity.compiled import compiled
from asperity.integrators.methods.convex_step import velocities_at
from asperity.integrators.methods.icf import icf_method
from asperity.integrators.methods.motion import ensure_evaluated
from asperity.integrators.steppings.controlled_steps import next_step_size
from asperity.integrators.steppings.missed_contacts import (
    passed_before_sample,
    step_without_missed_contacts,
)
from asperity.integrators.world_layout import NON_FINITE, NOT_CONVERGED, OK
from asperity.plant.trees import velocity_to_solver

__all__ = ["NORMS", "Norm", "Outcome", "run"]


_METHOD = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_double
)

OPEN, STICK, SLIP = 0, 1, 2

Drive = Callable[[float], np.ndarray]


@dataclass(frozen=True)
class Norm:
    """What counts as the error of a step.

    Attributes
    ----------
    velocity_weight
        w: errors of velocity count as w·δt·|Δv|.
    slip_weight
        The same for the slip velocity of contacts that touch, and for nothing else.
    reference_time
        T [s]: the error of position counts as e·T/δt (error per unit step); 0: per step.
    extrapolated
        Continue with 2·x_half − x_full where the full and the half steps agree about which contacts
        are open, stick and slip.
    always
        The same without asking the contacts.
    """

    velocity_weight: float = 0.0
    slip_weight: float = 0.0
    reference_time: float = 0.0
    extrapolated: bool = False
    always: bool = False


NORMS = {
    "position": Norm(),
    "velocity 0.1": Norm(velocity_weight=0.1),
    "velocity 0.3": Norm(velocity_weight=0.3),
    "velocity 1": Norm(velocity_weight=1.0),
    "velocity 3": Norm(velocity_weight=3.0),
    "slip 1": Norm(slip_weight=1.0),
    "unit step 0.1 s": Norm(reference_time=0.1),
    "unit step 1 s": Norm(reference_time=1.0),
    "extrapolated": Norm(extrapolated=True),
    "extrapolated, velocity 1": Norm(extrapolated=True, velocity_weight=1.0),
    "extrapolated always": Norm(extrapolated=True, always=True),
}


@dataclass
class Outcome:
    """Where a run ended and what it cost."""

    model: mujoco.MjModel
    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    steps: int = 0
    rejections: int = 0
    iterations: int = 0
    extrapolations: int = 0
    status: str = "ok"


@compiled
def _slip_error(world, difference):
    """Largest error of slip velocity among contacts that touch, at the half state [m/s]."""
    problem = world.problem
    half = world.half
    velocity_to_solver(world.plant, half.cdof, difference, problem.velocity)
    count, _ = velocities_at(problem, half, problem.velocity)
    contacts = half.contacts
    largest = 0.0
    for i in range(count):
        c = problem.graph.contact[i]
        if contacts.signed_distance[c] < 0.0:
            x = problem.v1[i] - contacts.surface_velocity[c, 0]
            y = problem.v2[i] - contacts.surface_velocity[c, 1]
            largest = max(largest, np.sqrt(x * x + y * y))
    return largest


@compiled
def _modes(world, state, out):
    """What every contact of a state does at the end of the step that was just solved."""
    problem = world.problem
    count, _ = velocities_at(problem, state, problem.velocity)
    for i in range(count):
        if not problem.vn[i] < problem.law.cutoff[i]:
            out[problem.graph.contact[i]] = OPEN
        elif problem.v1[i] ** 2 + problem.v2[i] ** 2 < problem.law.soft_slip_square[i]:
            out[problem.graph.contact[i]] = STICK
        else:
            out[problem.graph.contact[i]] = SLIP


class _Steps:
    """Steps of one simulation."""

    def __init__(self, model, integrator, contact, qpos, qvel, drive):
        self.sim = asp.Simulator(model, integrator=integrator, contact=contact)
        data = self.sim.data
        if qpos is not None:
            data.qpos[:] = qpos
        if qvel is not None:
            data.qvel[:] = qvel
        if drive is not None:
            data.ctrl[:] = drive(0.0)
        self.sim.take_over()
        self.world = self.sim.world
        self.world.problem.iterations = 0
        self.drive = drive
        self.method = _METHOD(icf_method.address)

    def icf(self, source, target, step, guess=None):
        world = self.world
        if self.drive is not None:
            # Controls live in the MjData in which a state is evaluated.
            source.data.ctrl[:] = self.drive(source.table.time)
            if source is self.world.current:
                self.sim._shadow = np.empty(0)
        while True:
            if guess is None:
                world.table.guess_kind = 0
            else:
                world.table.guess[:] = guess
                world.table.guess_kind = 1
            code = self.method(
                world.table.address, source.table.address, target.table.address, step
            )
            if code == OK or not world.grow(code):
                return code

    def modes(self, state):
        count = state.contacts.count
        out = np.zeros(count, np.int64)
        _modes(self.world.table, state.table, out)
        return state.contacts.geom[:count].copy(), out

    def attempt(self, step, norm):
        """One full and two half steps; returns the error, NaN if a solve failed."""
        world = self.world
        source, full, half, target = world.current, world.full, world.half, world.following
        code = self.icf(source, full, step)
        if code in (NOT_CONVERGED, NON_FINITE):
            return np.inf, False
        whole = full.table.qvel.copy()
        geoms, first = self.modes(source) if norm.extrapolated else (None, None)
        mean = 0.5 * (source.table.qvel + whole)
        code = code or self.icf(source, half, 0.5 * step, mean)
        if code in (NOT_CONVERGED, NON_FINITE):
            return np.inf, False
        agree = norm.extrapolated and np.array_equal(first, self.modes(source)[1])
        code = code or self.icf(half, target, 0.5 * step, whole)
        if code in (NOT_CONVERGED, NON_FINITE):
            return np.inf, False
        if code != OK:
            raise RuntimeError(f"a step failed with code {code}")
        if agree:
            later, second = self.modes(half)
            # A contact that appears or vanishes counts only if it carries something.
            now = sorted((*map(int, g), int(m)) for g, m in zip(geoms, first, strict=True) if m)
            then = sorted((*map(int, g), int(m)) for g, m in zip(later, second, strict=True) if m)
            agree = now == then
        table = target.table
        if not (np.all(np.isfinite(table.qpos)) and np.all(np.isfinite(table.qvel))):
            return np.inf, False
        difference = np.empty(len(whole))
        mujoco.mj_differentiatePos(self.sim.model, difference, 1.0, full.table.qpos, table.qpos)
        change = table.qvel - whole
        error = float(np.max(np.abs(difference)))
        if norm.reference_time:
            error *= norm.reference_time / step
        if norm.velocity_weight:
            error = max(error, norm.velocity_weight * step * float(np.max(np.abs(change))))
        if norm.slip_weight:
            slip = float(_slip_error(world.table, change))
            error = max(error, norm.slip_weight * step * slip)
        self.correction = difference, change
        return error, agree or norm.always

    def extrapolate(self):
        table = self.world.following.table
        difference, change = self.correction
        qpos = np.array(table.qpos)
        mujoco.mj_integratePos(self.sim.model, qpos, difference, 1.0)
        table.qpos[:] = qpos
        table.qvel[:] += change

    def accept(self, time, step, accuracy):
        """Make the step final unless it has missed a contact; returns the step to try instead."""
        world = self.world
        table = world.table
        table.result.sample = world.half.table.address
        if passed_before_sample(table):
            return 0.5 * step
        now, new = world.current.table, world.following.table
        before = [*(getattr(now, name).copy() for name in ("qpos", "qvel", "act")), now.time]
        now.qpos[:] = new.qpos
        now.qvel[:] = new.qvel
        now.act[:] = new.act
        now.time = time
        now.valid = 0
        while True:
            code = ensure_evaluated(table, now)
            if code == OK or not world.grow(code):
                break
        if code != OK:
            raise RuntimeError(f"an evaluation failed with code {code}")
        shorter = step_without_missed_contacts(table, step, accuracy)
        if shorter != step:
            now.qpos[:], now.qvel[:], now.act[:], now.time = before
            now.valid = 0
        return shorter


def run(
    model: str,
    duration: float,
    accuracy: float,
    norm: Norm,
    *,
    max_step: float = 0.1,
    contact: asp.ContactParameters | None = None,
    qpos: np.ndarray | None = None,
    qvel: np.ndarray | None = None,
    drive: Drive | None = None,
    switches: tuple[float, ...] = (),
    max_attempts: int = 10**6,
) -> Outcome:
    """Simulate a scene under error control; ``switches`` are times [s] that a step must not cross.

    The remaining arguments are those of `asperity.simulate` and of `benchmarks.accuracy_scenes`.
    """
    integrator = asp.Cenic(accuracy=accuracy, max_step=max_step, scheme="step-doubling")
    steps = _Steps(model, integrator, contact, qpos, qvel, drive)
    table = steps.world.current.table
    times, positions, velocities = [0.0], [table.qpos.copy()], [table.qvel.copy()]
    outcome = Outcome(steps.sim.model, *(np.empty(0),) * 3)
    order = 1 if norm.reference_time else 2
    following = 0.1 * max_step
    status = "ok"
    stops = sorted({*(s for s in switches if 0 < s < duration), duration})
    for end in stops:
        while table.time < end and status == "ok":
            ideal = min(following, max_step)
            remaining = end - table.time
            h, time = ideal, table.time + ideal
            if remaining <= 1.001 * ideal:
                h, time = remaining, end
            error, agree = steps.attempt(h, norm)
            new = next_step_size(h, error, accuracy, order)
            shorter = 0.0
            if error <= accuracy:
                if norm.extrapolated and agree:
                    steps.extrapolate()
                    outcome.extrapolations += 1
                shorter = steps.accept(time, h, accuracy)
            if shorter == h:
                outcome.steps += 1
                times.append(time)
                positions.append(table.qpos.copy())
                velocities.append(table.qvel.copy())
                if not h < 0.95 * ideal or new > ideal:
                    following = min(new, max_step)
            else:
                outcome.rejections += 1
                following = shorter or new
                if h < 1e-12:
                    status = "step too small"
            if outcome.steps + outcome.rejections >= max_attempts:
                status = "too much work"
    outcome.status = status
    outcome.iterations = int(steps.world.problem.iterations)
    outcome.time = np.array(times)
    outcome.qpos = np.array(positions)
    outcome.qvel = np.array(velocities)
    return outcome
