"""One world on several threads: ``python -m studies benchmark threads``; see the README.

A hundred humanoids, a thousand boxes in columns, a thousand bodies in many small heaps and in one,
with `Icf` at the model's own time step; with ``--midas`` two hundred cubes, a tower and a bin of
meshes with `Midas`, and by their names in ``--scenes`` two robots with meshes, of
example-robot-data. Simulators with one thread and with several take the same
steps, block by block in turn, to the same bits, which is checked; the table shows medians of wall
times and of the blocks' ratios, so the machine must have nothing else to do.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp
from studies.benchmarks import midas
from studies.benchmarks.public_models.packages import find_models
from studies.benchmarks.robot_models import robot
from studies.benchmarks.saved import Table
from studies.benchmarks.settling import bin_model, write_shapes

_STEPS = 10  # of a block
_SEED = 3
_SIDE = 0.05  # half that of a box, and the radius of a ball [m]


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
    """A robot of the packages that `studies.benchmarks.public_models.packages` names."""
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


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", default=";".join(SCENES), help="names, with semicolons")
    parser.add_argument("--midas", action="store_true", help="those of Midas, without its robots")
    parser.add_argument("--threads", default="1,2", help="numbers, the first to compare with")
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    options = parser.parse_args()
    threads = [int(text) for text in options.threads.split(",")]
    table = Table("scene", "threads", "wall time of a step [ms]", "rate")
    for scene in MIDAS_SCENES if options.midas else options.scenes.split(";"):
        times = compare(scene, threads, options.blocks)
        for which, number in enumerate(threads):
            ratio = np.median(times[:, 0] / times[:, which])
            milliseconds = 1e3 * np.median(times[:, which])
            table.add(scene, number, f"{milliseconds:.2f}", f"{ratio:.2f}")
    if options.save:
        name = "threads_midas" if options.midas else "threads_world"
        note = "Medians, on a machine that should do nothing else; the rate is that of one thread."
        table.save(name, "Threads of one world", note)


if __name__ == "__main__":
    main()
