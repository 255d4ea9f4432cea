"""Bodies at rest, asleep and awake: ``python -m studies benchmark sleep``; see the README.

Three hundred boxes of which 95 % rest in columns while sixteen tumble in a tray that swings, these
sixteen alone, and a thousand boxes in columns, all at rest. `Icf` and MuJoCo (Newton, elliptic
cones) take the same steps, with sleep and without, in calls of a hundred steps, block by block in
turn, after all that can has come to rest. CPU times of the thread; medians, and medians of the
blocks' ratios.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import mujoco
import numpy as np

import asperity as asp
from studies.benchmarks.saved import Table

_STEP = 5e-3
_STEPS = 100  # of a block
_SEED = 3
_SIDE = 0.05  # half that of a box [m]
_TUMBLING = 16
_SLEEP = mujoco.mjtEnableBit.mjENBL_SLEEP
_NAMES = ("Icf", "Icf asleep", "Cenic", "Cenic asleep", "MuJoCo", "MuJoCo asleep")


def boxes_at_rest(count: int, tumbling: int) -> mujoco.MjModel:
    """Columns of five boxes each, and some boxes in a tray on a spring."""
    random = np.random.default_rng(_SEED)
    spec = mujoco.MjSpec()
    spec.option.timestep = _STEP
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.memory = 400 << 20
    box = mujoco.mjtGeom.mjGEOM_BOX
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    side = int(np.ceil((count / 5) ** 0.5))
    for number in range(count):
        column, level = divmod(number, 5)
        x, y = random.uniform(-0.005, 0.005, 2) + 0.3 * np.array(divmod(column, side))
        _add_box(spec, [x, y, 0.05 + 0.1 * level])
    if tumbling == 0:
        return spec.compile()
    tray = spec.worldbody.add_body(pos=[-2.0, 0.0, 0.3])
    # So heavy that the boxes do not stop it.
    tray.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[1.0, 0.0, 0.0], stiffness=4e5, ref=0.1)
    tray.add_geom(type=box, size=[0.3, 0.3, 0.02], mass=1e4)
    for sign in (-1.0, 1.0):
        tray.add_geom(type=box, size=[0.02, 0.3, 0.15], pos=[0.3 * sign, 0.0, 0.15], mass=0.0)
        tray.add_geom(type=box, size=[0.3, 0.02, 0.15], pos=[0.0, 0.3 * sign, 0.15], mass=0.0)
    for number in range(tumbling):
        x, y = 0.12 * (np.array(divmod(number, 4)) - 1.5) + random.uniform(-0.005, 0.005, 2)
        _add_box(spec, [x - 2.0, y, 0.4])
    return spec.compile()


def _add_box(spec: mujoco.MjSpec, place: list[float]) -> None:
    body = spec.worldbody.add_body(pos=[float(x) for x in place])
    body.add_freejoint()
    size = [_SIDE] * 3
    geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=size, density=1000.0)
    geom.friction[0] = 0.4


SCENES: dict[str, Callable[[], mujoco.MjModel]] = {
    "300 boxes, 284 at rest": lambda: boxes_at_rest(284, _TUMBLING),
    "the 16 that move": lambda: boxes_at_rest(0, _TUMBLING),
    "1000 boxes at rest": lambda: boxes_at_rest(1000, 0),
}


class _Ours:
    def __init__(self, model: mujoco.MjModel, integrator: asp.Integrator) -> None:
        self._sim = asp.Simulator(model, integrator=integrator)

    def advance(self, steps: int) -> None:
        self._sim.advance_to(self._sim.time + steps * _STEP)

    def asleep(self) -> int:
        return int(np.count_nonzero(self._sim.asleep))


class _MuJoCo:
    def __init__(self, model: mujoco.MjModel) -> None:
        self._model, self._data = model, mujoco.MjData(model)

    def advance(self, steps: int) -> None:
        mujoco.mj_step(self._model, self._data, nstep=steps)

    def asleep(self) -> int:
        return int(np.count_nonzero(self._data.tree_asleep >= 0))


def _runs(make: Callable[[], mujoco.MjModel], names: list[str]) -> dict[str, _Ours | _MuJoCo]:
    found: dict[str, _Ours | _MuJoCo] = {}
    for name in names:
        model, sleep = make(), name.endswith("asleep")
        if name.startswith("MuJoCo"):
            model.opt.enableflags |= int(_SLEEP) if sleep else 0
            found[name] = _MuJoCo(model)
        elif name.startswith("Cenic"):
            found[name] = _Ours(model, asp.Cenic(accuracy=1e-3, sleep=sleep))
        else:
            found[name] = _Ours(model, asp.Icf(time_step=_STEP, sleep=sleep))
    return found


def compare(
    make: Callable[[], mujoco.MjModel], names: list[str], start: float, blocks: int
) -> tuple[np.ndarray, list[int]]:
    """CPU times of a step [s], shape (blocks, names), and how many trees sleep at the end."""
    runs = _runs(make, names)
    for run in runs.values():
        run.advance(round(start / _STEP))
    times = np.zeros((blocks, len(names)))
    for block in range(blocks):
        order = range(len(names)) if block % 2 == 0 else range(len(names) - 1, -1, -1)
        for which in order:
            began = time.thread_time()
            runs[names[which]].advance(_STEPS)
            times[block, which] = (time.thread_time() - began) / _STEPS
    return times, [run.asleep() for run in runs.values()]


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", default=";".join(SCENES), help="names, with semicolons")
    parser.add_argument("--methods", default=",".join(_NAMES))
    parser.add_argument("--start", type=float, default=8.0, help="time after which is measured [s]")
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    options = parser.parse_args()
    names = options.methods.split(",")
    table = Table("scene", "method", "µs a step", "over awake", "asleep")
    for scene in options.scenes.split(";"):
        times, asleep = compare(SCENES[scene], names, options.start, options.blocks)
        for which, name in enumerate(names):
            awake = name.removesuffix(" asleep")
            ratio = ""
            if awake != name and awake in names:
                ratio = f"{np.median(times[:, which] / times[:, names.index(awake)]):.3f}"
            middle = 1e6 * np.median(times[:, which])
            table.add(scene, name, f"{middle:.1f}", ratio, asleep[which])
    if options.save:
        note = f"Medians of {options.blocks} blocks of {_STEPS} steps after {options.start:g} s."
        table.save("sleep", "Bodies at rest", note)


if __name__ == "__main__":
    main()
