"""Robots against ``mj_step``: ``python -m studies benchmark robots``; see the README.

Both simulate the same model with the same random controls at the model's own time step, in calls of
200, 10 and 1 steps, between which the controls change. Blocks of both follow each other, each from
the state that Asperity has reached, so that both simulate the same motion on the same machine; the
table shows medians of times and of the blocks' ratios. ``--publish lazy`` leaves to those who
read it what follows from the state, which nobody does here. ``--search`` lets MuJoCo search for the
pairs of geoms that are near itself, as it does in ``mj_step``. ``--rest`` lets both simulate a
robot without controls until it lies or stands, and tells how deep its contacts are and how fast
they slip. ``--drake`` compares with Drake's discrete plant with SAP instead, of the robots that
Drake's own parser reads; it leaves out springs of joints, so that only blocks begin alike.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence

import mujoco
import numpy as np

import asperity as asp
from studies.benchmarks.robot_models import ROBOTS, RobotModel, robot
from studies.benchmarks.saved import Table
from studies.experiments.entry_times import EntryTimes

CALLS = (200, 10, 1)
_BLOCK = 200  # steps
_LARGE = 500  # degrees of freedom from which blocks are shorter
_LARGE_BLOCK = 20
_FALL = 0.7  # simulated before anything is timed: robots have reached the floor [s]
_LIFE = 6  # blocks after which the robot begins anew
_SEED = 7
_PROFILED = 3  # blocks that are profiled at once
_VIGOUR = 0.5  # part of the range of controls that is used
_SETTLING = 4.0  # simulated before contacts are looked at [s]
_LOOKED_AT = 0.5  # time over which they are [s]


def _controls(model: mujoco.MjModel, random: np.random.Generator) -> np.ndarray:
    low, high = np.full(model.nu, -1.0), np.full(model.nu, 1.0)
    limited = model.actuator_ctrllimited.astype(bool)
    if len(limited) == model.nu:
        low[limited], high[limited] = model.actuator_ctrlrange[limited].T
    middle, reach = 0.5 * (low + high), 0.5 * _VIGOUR * (high - low)
    return random.uniform(middle - reach, middle + reach)


class Pair:
    """One model in Asperity and in MuJoCo."""

    def __init__(
        self,
        model: mujoco.MjModel,
        integrator: asp.Integrator,
        publish: str = "eager",
        search: bool = False,
    ) -> None:
        self.model = model
        self.sim = asp.Simulator(model, integrator=integrator, publish=publish)
        if search:
            self.sim.session.plant.table.list_pairs = 0
        self.data = mujoco.MjData(model)
        self.random = np.random.default_rng(_SEED)
        self.step = float(model.opt.timestep)
        self.times: EntryTimes | None = None
        self.restart()

    def restart(self) -> None:
        """Begin anew, and simulate until the robot has reached the floor."""
        self.sim.reset()
        self.sim.data.ctrl[:] = _controls(self.model, self.random)
        self.sim.advance_to(_FALL)

    def follow(self) -> None:
        """Let MuJoCo begin where Asperity is."""
        for name in ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "qacc_warmstart"):
            getattr(self.data, name)[:] = getattr(self.sim.data, name)
        mujoco.mj_forward(self.model, self.data)

    def time(self, controls: Sequence[np.ndarray], steps: int, ours: bool) -> float:
        """CPU time of a block [s]: others may use the machine, too."""
        model, sim, step = self.model, self.sim, self.step
        data = sim.data if ours else self.data
        started = time.thread_time()
        if ours:
            for ctrl in controls:
                data.ctrl[:] = ctrl
                sim.advance_to(data.time + steps * step)
        else:
            for ctrl in controls:
                data.ctrl[:] = ctrl
                mujoco.mj_step(model, data, nstep=steps)
        return time.thread_time() - started


def compare(pair: Pair, steps: int, blocks: int) -> tuple[float, float, float]:
    """Times of a step in calls of so many [s], MuJoCo's and ours, and the median ratio."""
    block = max(steps, _LARGE_BLOCK if pair.model.nv >= _LARGE else _BLOCK)
    calls = block // steps
    times = []
    for turn in range(blocks):
        if turn % _LIFE == 0:
            pair.restart()
        controls = [_controls(pair.model, pair.random) for _ in range(calls)]
        pair.follow()
        pair.sim.data.ctrl[:] = controls[0]
        mine = theirs = 0.0
        for ours in (turn % 2 == 0, turn % 2 == 1):
            if ours:
                mine = pair.time(controls, steps, True)
            else:
                theirs = pair.time(controls, steps, False)
        times.append((theirs, mine, mine / theirs))
    theirs, mine, ratio = np.median(times, axis=0)
    return theirs / block, mine / block, ratio


def compare_drake(pair: Pair, entry: RobotModel, steps: int, blocks: int) -> tuple[float, ...]:
    """Times of a step of Drake's plant and of ours [s], and the median ratio."""
    from studies.peers.drake_robot import DrakeRobot

    drake = DrakeRobot(entry.source(), pair.model, entry.prefixes)
    block = max(steps, _LARGE_BLOCK if pair.model.nv >= _LARGE else _BLOCK)
    times = []
    for turn in range(blocks):
        if turn % _LIFE == 0:
            pair.restart()
        controls = [_controls(pair.model, pair.random) for _ in range(block // steps)]
        forces = []
        for ctrl in controls:
            pair.follow()
            pair.data.ctrl[:] = ctrl
            mujoco.mj_fwdActuation(pair.model, pair.data)
            forces.append(pair.data.qfrc_actuator.copy())
        pair.sim.data.ctrl[:] = controls[0]
        drake.follow(pair.sim.data)
        mine = theirs = 0.0
        for ours in (turn % 2 == 0, turn % 2 == 1):
            if ours:
                mine = pair.time(controls, steps, True)
            else:
                started = time.thread_time()
                for force in forces:
                    drake.force(force)
                    drake.advance(steps)
                theirs = time.thread_time() - started
        times.append((theirs, mine, mine / theirs))
    theirs, mine, ratio = np.median(times, axis=0)
    return theirs / block, mine / block, ratio


def _slip(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[float, float]:
    """Deepest overlap [m] of contacts that push, and their mean slip, weighted by force [m/s]."""
    wrench, jacobian = np.zeros(6), np.zeros((2, 3, model.nv))
    depth = slip = force = 0.0
    for number in range(data.ncon):
        contact = data.contact[number]
        mujoco.mj_contactForce(model, data, number, wrench)
        if wrench[0] <= 0.0:
            continue
        for side, geom in enumerate((contact.geom1, contact.geom2)):
            body = model.geom_bodyid[geom]
            mujoco.mj_jac(model, data, jacobian[side], None, contact.pos, body)
        velocity = contact.frame.reshape(3, 3) @ ((jacobian[1] - jacobian[0]) @ data.qvel)
        depth = max(depth, -contact.dist)
        slip += wrench[0] * float(np.hypot(velocity[1], velocity[2]))
        force += wrench[0]
    return depth, slip / force if force > 0.0 else np.nan


def rest(model: mujoco.MjModel, integrator: asp.Integrator) -> list[tuple[float, float]]:
    """Deepest overlap [m] and median slip [m/s] of a robot at rest, MuJoCo's and ours."""
    found = []
    for ours in (False, True):
        data = mujoco.MjData(model)
        seen = []
        for until in np.arange(_SETTLING, _SETTLING + _LOOKED_AT, 0.05):
            steps = round((until - data.time) / model.opt.timestep)
            if ours:
                asp.step(model, data, steps, integrator=integrator)
            else:
                mujoco.mj_step(model, data, nstep=steps)
            seen.append(_slip(model, data))
        depths, slips = zip(*seen, strict=True)
        found.append((max(depths), float(np.median(slips))))
    return found


def profile(pair: Pair, steps: int, blocks: int) -> dict[str, float]:
    """Least time of a step by part in equal blocks [s]; it includes that of the time stamps."""
    if pair.times is None:
        pair.times = EntryTimes(pair.sim)
    least: dict[str, float] = {}
    block = max(steps, _LARGE_BLOCK if pair.model.nv >= _LARGE else _BLOCK)
    calls = _PROFILED * block // steps
    for _ in range(blocks):
        pair.random = np.random.default_rng(_SEED)
        pair.restart()
        controls = [_controls(pair.model, pair.random) for _ in range(calls)]
        pair.times.install()
        pair.time(controls, steps, True)
        for name, value in pair.times.read().items():
            least[name] = min(least.get(name, np.inf), value / (calls * steps))
    return least


def _load(entry: RobotModel) -> mujoco.MjModel | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return entry.make()
        except FileNotFoundError:
            print(f"{entry.name}: needs the package {entry.package}", file=sys.stderr)
            return None


def _each(names: Sequence[str], report: Callable[[RobotModel, mujoco.MjModel], None]) -> None:
    for entry in [robot(name) for name in names] if names else ROBOTS:
        model = _load(entry)
        if model is not None:
            try:
                report(entry, model)
            except (asp.AsperityError, RuntimeError) as error:
                reason = str(error).partition("\n")[0].rpartition("error: ")[2]
                print(f"| {entry.name} | {reason} |", flush=True)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", default="", help="names, with semicolons between them")
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--calls", default="200,10,1")
    parser.add_argument("--accuracy", type=float, help="error control instead of fixed steps")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--search", action="store_true", help="without lists of near pairs")
    parser.add_argument("--publish", choices=("eager", "lazy"), default="eager")
    parser.add_argument("--rest", action="store_true")
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    parser.add_argument("--drake", action="store_true")
    options = parser.parse_args()
    names = [name for name in options.robots.split(";") if name]
    calls = [int(text) for text in options.calls.split(",")]

    def integrator(model: mujoco.MjModel) -> asp.Integrator:
        if options.accuracy is not None:
            return asp.Cenic(accuracy=options.accuracy)
        return asp.Icf(time_step=float(model.opt.timestep))

    def times(entry: RobotModel, model: mujoco.MjModel) -> None:
        pair = Pair(model, integrator(model), options.publish, options.search)
        cells = [entry.name, str(model.nv)]
        for steps in calls:
            if options.drake:
                theirs, mine, ratio = compare_drake(pair, entry, steps, options.blocks)
            else:
                theirs, mine, ratio = compare(pair, steps, options.blocks)
            cells += [f"{1e6 * theirs:.0f}", f"{1e6 * mine:.0f}", f"{ratio:.2f}"]
        table.add(*cells)

    def at_rest(entry: RobotModel, model: mujoco.MjModel) -> None:
        cells = [entry.name]
        for depth, slip in rest(model, integrator(model)):
            cells += [f"{1e3 * depth:.2g}", f"{1e3 * slip:.2g}" if slip == slip else "–"]
        table.add(*cells)

    def parts(entry: RobotModel, model: mujoco.MjModel) -> None:
        pair = Pair(model, integrator(model), options.publish, options.search)
        for steps in calls:
            times = profile(pair, steps, options.blocks)
            stats = pair.sim.stats
            print(f"\n{entry.name}, calls of {steps}: {1e6 * sum(times.values()):.1f} µs per step")
            print(
                f"  per step: {stats.iterations / stats.steps:.2f} iterations, "
                f"{stats.factorizations / stats.steps:.2f} factorizations, "
                f"{stats.line_search_evaluations / stats.steps:.2f} line search evaluations"
            )
            for name, value in sorted(times.items(), key=lambda item: -item[1]):
                print(f"  {name:22s} {1e6 * value:8.1f}", flush=True)

    if options.profile:
        _each(names, parts)
        return
    if options.rest:
        name, title = "robots_rest", "Robots at rest"
        note = "Deepest overlap and slip of contacts, weighted by force, after 4 s."
        head = ["model", "mj_step, overlap [mm]", "slip [mm/s]", "asperity, overlap", "slip"]
    else:
        other = "Drake" if options.drake else "mj_step"
        name = "robots_drake" if options.drake else "robots"
        title = f"Robots against {'Drake' if options.drake else '`mj_step`'}"
        note = (
            "CPU times of a step [µs] by steps in a call: medians of "
            f"{options.blocks} blocks, and of the ratios of paired blocks."
        )
        head = ["model", "nv"]
        for n in calls:
            head += [f"{other}, {n} a call", "asperity", "ratio"]
    table = Table(*head)
    _each(names, at_rest if options.rest else times)
    if options.save:
        table.save(name, title, note)


if __name__ == "__main__":
    main()
