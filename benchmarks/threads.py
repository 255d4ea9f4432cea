"""One world on several threads: ``python -m benchmarks.threads``; see the README.

A hundred humanoids, a thousand boxes in columns, a thousand bodies in many small heaps and in one,
with `Icf` at the model's own time step; with ``--midas`` two hundred cubes, a tower and a bin of
meshes with `Midas`, and by their names in ``--scenes`` two robots with meshes, of
example-robot-data. Simulators with one thread and with several take the same
steps, block by block in turn, to the same bits, which is checked; the table shows medians of wall
times and of the blocks' ratios, so the machine must have nothing else to do.

``--estimate`` needs no quiet machine: one thread does all parts of all jobs, their CPU times are
taken, and a schedule in which each of so many threads takes the next part when it is done with one
says what would be saved. The rate is over that of a simulator with one thread, whose blocks are
taken in turn. What threads cost each other in the caches, and calls to them, is not in it.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numba
import numpy as np
from numba import carray, types

import asperity as asp
from asperity.compiled.calls import call_pp_status, call_pppn_status
from benchmarks import midas
from benchmarks.midas_robots import find_models
from benchmarks.robot_models import robot
from benchmarks.settling import bin_model, write_shapes

_STEPS = 10  # of a block
_SEED = 3
_SIDE = 0.05  # half that of a box, and the radius of a ball [m]
_MOST_PARTS = 4096


def _bodies(places: list[tuple[float, float, float]], balls: bool) -> mujoco.MjModel:
    """Boxes, or boxes and balls, at these places above a floor."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 5e-3
    spec.memory = 200 << 20
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    for number, place in enumerate(places):
        body = spec.worldbody.add_body(pos=list(place))
        body.add_freejoint()
        ball = balls and number % 2 == 0
        shape = mujoco.mjtGeom.mjGEOM_SPHERE if ball else mujoco.mjtGeom.mjGEOM_BOX
        body.add_geom(type=shape, size=[_SIDE] * 3, density=1000.0)
    return spec.compile()


def columns(count: int) -> mujoco.MjModel:
    """Columns of five boxes each."""
    random = np.random.default_rng(_SEED)
    side = int(np.ceil((count / 5) ** 0.5))
    places = []
    for number in range(count):
        column, level = divmod(number, 5)
        x, y = random.uniform(-0.005, 0.005, 2) + 0.3 * np.array(divmod(column, side))
        places.append((float(x), float(y), 0.052 + 0.104 * level))
    return _bodies(places, balls=False)


def heaps(count: int, each: int) -> mujoco.MjModel:
    """Heaps of so many bodies each, which fall from columns."""
    random = np.random.default_rng(_SEED)
    side = int(np.ceil((count / each) ** 0.5))
    wide = 1 if each <= 50 else 5
    places = []
    for number in range(count):
        heap, of_heap = divmod(number, each)
        level, place = divmod(of_heap, wide * wide)
        middle = (1.0 + 0.3 * wide) * np.array(divmod(heap, side))
        offset = 0.13 * (np.array(divmod(place, wide)) - 0.5 * (wide - 1))
        x, y = middle + offset + random.uniform(-0.01, 0.01, 2)
        places.append((float(x), float(y), 0.08 + 0.11 * level))
    return _bodies(places, balls=True)


def _xml(text: str) -> mujoco.MjModel:
    """A model with the time step that Midas takes."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep = midas.STEP
    return model


def _bin() -> mujoco.MjModel:
    """Forty bodies of meshes above a bin."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bin.xml"
        path.write_text(bin_model(write_shapes(Path(folder))))
        model, _ = asp.load_model(path)
    model.opt.timestep = midas.STEP
    return model


def _robot_with_meshes(name: str) -> mujoco.MjModel:
    """A robot of the packages that `benchmarks.midas_robots` finds."""
    path = next(path for found, path in find_models() if name in found)
    model, _ = asp.load_model(path)
    model.opt.timestep = midas.STEP
    return model


class Scene(NamedTuple):
    """A model, the time after which things have fallen [s], and who simulates it."""

    make: Callable[[], mujoco.MjModel]
    start: float
    integrator: Callable[..., asp.Integrator] = asp.Icf


SCENES = {
    "100 humanoids": Scene(lambda: robot("100 humanoids").make(), 0.7),
    "1000 boxes in 200 columns": Scene(lambda: columns(1000), 0.3),
    "1000 bodies in 50 heaps": Scene(lambda: heaps(1000, 20), 1.0),
    "1000 bodies in one heap": Scene(lambda: heaps(1000, 1000), 1.2),
}
MIDAS_SCENES = {
    "200 cubes in 40 columns": Scene(lambda: _xml(midas.cubes(200, 40, 0.005)), 0.05, asp.Midas),
    "tower of 20 cubes": Scene(lambda: _xml(midas.cubes(20)), 0.05, asp.Midas),
    "40 bodies of meshes in a bin": Scene(_bin, 0.6, asp.Midas),
}
ROBOT_SCENES = {
    name: Scene(lambda name=name: _robot_with_meshes(name), 0.05, asp.Midas)
    for name in ("talos_full_v2.urdf", "g1_29dof_rev_1_0.urdf")
}
ALL_SCENES = SCENES | MIDAS_SCENES | ROBOT_SCENES


def _simulator(scene: Scene, model: mujoco.MjModel, threads: int) -> asp.Simulator:
    integrator = scene.integrator(time_step=float(model.opt.timestep))
    # Nobody reads what follows from the state: ``data`` is only written to.
    data = mujoco.MjData(model)
    simulator = asp.Simulator(
        model, integrator=integrator, data=data, threads=threads, publish="lazy"
    )
    simulator.advance_to(scene.start)
    return simulator


def _advance(simulator: asp.Simulator, ctrl: np.ndarray) -> float:
    """Take a block of steps; returns wall time [s]."""
    simulator.session.data.ctrl[:] = ctrl
    end = simulator.time + _STEPS * simulator.model.opt.timestep
    started = time.perf_counter()
    simulator.advance_to(end)
    return time.perf_counter() - started


def compare(scene: str, threads: list[int], blocks: int) -> np.ndarray:
    """Median wall times of a step [s] for each number of threads."""
    model = ALL_SCENES[scene].make()
    random = np.random.default_rng(_SEED)
    simulators = [_simulator(ALL_SCENES[scene], model, number) for number in threads]
    times = np.zeros((blocks, len(threads)))
    for block in range(blocks):
        ctrl = random.uniform(-0.5, 0.5, model.nu)
        order = range(len(threads)) if block % 2 == 0 else reversed(range(len(threads)))
        for which in order:
            times[block, which] = _advance(simulators[which], ctrl) / _STEPS
    states = {one.data.qpos.tobytes() + one.data.qvel.tobytes() for one in simulators}
    assert len(states) == 1, "results depend on the number of threads"
    return times


class Schedule:
    """Does the jobs of a simulator's team in one thread, and tells what several would take.

    Parameters
    ----------
    simulator : Simulator
        With a team, which must not outlive this.
    """

    def __init__(self, simulator: asp.Simulator) -> None:
        assert simulator.session.team is not None
        library = ctypes.CDLL(None)
        clock = int(ctypes.cast(library.clock_gettime, ctypes.c_void_p).value or 0)
        # CPU time of all parts, of the schedule, and of the clock [s]; jobs, parts
        self._numbers = np.zeros(5)
        self._memory = np.zeros(2 + 64, np.int64)
        self._entry = _scheduled_share(
            clock,
            int(self._memory.ctypes.data),
            int(self._numbers.ctypes.data),
            simulator.threads,
        )
        simulator.session.team.table.share = self._entry.address

    def clear(self) -> None:
        self._numbers[:] = 0.0

    @property
    def saved(self) -> float:
        """Time that the threads would have saved [s], with that which the clock has taken."""
        return float(self._numbers[0] - self._numbers[1] + self._numbers[4])

    @property
    def counts(self) -> tuple[int, int]:
        """Jobs and parts."""
        return int(self._numbers[2]), int(self._numbers[3])


def _scheduled_share(clock: int, memory: int, numbers: int, threads: int) -> Any:
    """Stand in for `asperity.compiled.team.share`."""
    thread_time = int(time.CLOCK_THREAD_CPUTIME_ID)
    from asperity.compiled.team import TEAM

    @numba.njit
    def now() -> float:
        call_pp_status(clock, thread_time, memory)
        read = carray(_pointer(memory), 2, np.int64)
        return read[0] + 1e-9 * read[1]

    @numba.cfunc(types.int64(types.int64, types.int64, types.int64, types.int64))
    def entry(team: int, task: int, context: int, parts: int) -> int:
        out = carray(_real_pointer(numbers), 5, np.float64)
        free = carray(_real_pointer(memory + 16), 64, np.float64)
        for thread in range(threads):
            free[thread] = 0.0
        code = 0
        table = TEAM.at(team)
        # A look at the clock belongs to a part.
        before = now()
        clock_time = now() - before
        started = now()
        clock_time = min(clock_time, started - before - clock_time)
        out[4] += 3.0 * clock_time
        first_part = parts if table.own >= 0 else parts - 1
        for place in range(first_part, -1, -1):
            part = table.own if place == parts else place
            code = max(code, call_pppn_status(task, context, part, 0, 0))
            ended = now()
            spent = max(ended - started - clock_time, 0.0)
            started = ended
            out[4] += clock_time
            # The first thread does what is its own, and the next part whoever is done first.
            first = 0
            if place < parts:
                for thread in range(1, threads):
                    if free[thread] < free[first]:
                        first = thread
            free[first] += spent
            out[0] += spent
        table.own = -1
        last = 0.0
        for thread in range(threads):
            last = max(last, free[thread])
        out[1] += last
        out[2] += 1
        out[3] += parts
        return code

    return entry


def _make_pointer(kind: Any) -> Any:
    from llvmlite import ir

    low = ir.IntType(64) if kind == types.int64 else ir.DoubleType()

    @numba.extending.intrinsic
    def pointer(_context: Any, address: Any) -> Any:
        def codegen(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], low.as_pointer())

        return types.CPointer(kind)(types.int64), codegen

    return pointer


_pointer = _make_pointer(types.int64)
_real_pointer = _make_pointer(types.float64)


def estimate(scene: str, threads: int, blocks: int) -> tuple[float, float, float, list[float]]:
    """CPU time of a step [s], what would be left of it, their ratio, and jobs and parts."""
    model = ALL_SCENES[scene].make()
    random = np.random.default_rng(_SEED)
    simulators = [_simulator(ALL_SCENES[scene], model, number) for number in (1, threads)]
    schedule = Schedule(simulators[1])
    times, counts = [], []
    for block in range(blocks + 1):
        ctrl = random.uniform(-0.5, 0.5, model.nu)
        schedule.clear()
        spent = [0.0, 0.0]
        for which in (0, 1) if block % 2 == 0 else (1, 0):
            started = time.thread_time()
            _advance(simulators[which], ctrl)
            spent[which] = time.thread_time() - started
        if block > 0:
            times.append((*spent, spent[1] - schedule.saved))
            counts.append(schedule.counts)
    alone, _, left = np.array(times).T / _STEPS
    return (
        float(np.median(alone)),
        float(np.median(left)),
        float(np.median(alone / left)),
        list(np.median(counts, axis=0) / _STEPS),
    )


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", default=";".join(SCENES), help="names, with semicolons")
    parser.add_argument("--midas", action="store_true", help="those of Midas, without its robots")
    parser.add_argument("--threads", default="1,2", help="numbers, the first to compare with")
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--estimate", action="store_true")
    options = parser.parse_args()
    threads = [int(text) for text in options.threads.split(",")]
    if options.estimate:
        print("| scene | threads | CPU time of a step [ms] | left | rate | jobs, parts a step |")
        print("|---|---|---|---|---|---|")
    else:
        print("| scene | threads | wall time of a step [ms] | rate |\n|---|---|---|---|")
    for scene in MIDAS_SCENES if options.midas else options.scenes.split(";"):
        if options.estimate:
            for number in threads[1:]:
                alone, left, rate, counts = estimate(scene, number, options.blocks)
                print(
                    f"| {scene} | {number} | {1e3 * alone:.2f} | {1e3 * left:.2f} | {rate:.2f} "
                    f"| {counts[0]:.0f}, {counts[1]:.0f} |",
                    flush=True,
                )
            continue
        times = compare(scene, threads, options.blocks)
        for which, number in enumerate(threads):
            ratio = np.median(times[:, 0] / times[:, which])
            print(
                f"| {scene} | {number} | {1e3 * np.median(times[:, which]):.2f} | {ratio:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
