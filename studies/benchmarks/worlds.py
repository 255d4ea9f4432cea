"""Many worlds against MuJoCo's: ``python -m studies benchmark worlds``; see the README.

A quadruped, a humanoid and an arm with cubes, hundreds of each on two threads, with random controls
that change at every step. ``asp.Batch`` is compared with ``mujoco.rollout`` and ``mujoco.batch`` in
calls of one step, from Python, and ``asp.rollout`` with ``mujoco.rollout`` in calls of many. Blocks
of all follow each other, each from the states that Asperity has reached; the table shows medians of
CPU times, of all threads, and of the blocks' ratios: others may use the machine, too. Memory and
construction are measured in processes of their own.

MuJoCo runs with Euler and with RK4. Gymnasium's quadruped and humanoid ask for RK4, which evaluates
the model four times a step.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from mujoco import batch as mujoco_batch
from mujoco import rollout as mujoco_rollout

import asperity as asp
from studies.benchmarks.robot_models import robot
from studies.benchmarks.saved import Table
from studies.scenes.robot_files import example_robot, load_robot

_WORLDS = 256
_STEPS = 20  # of a block
_FALL = 0.5  # simulated before anything is timed: robots have reached the floor [s]
_LIFE = 6  # blocks after which worlds begin anew
_SEED = 7
_VIGOUR = 0.5  # part of the range of controls that is used
_FULL = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
INTEGRATORS = {
    "Euler": int(mujoco.mjtIntegrator.mjINT_EULER),
    "RK4": int(mujoco.mjtIntegrator.mjINT_RK4),
}
"""MuJoCo's, by name."""

_ARM_START = (0.0, -0.4, 0.0, -2.2, 0.0, 1.9, 0.8, 0.03, 0.03)
_CUBE = 0.03  # half a side [m]


def _arm_with_cubes() -> mujoco.MjModel:
    """A Franka arm with position servos over nine cubes on a table."""
    spec = load_robot(
        example_robot("panda_description/urdf/panda.urdf"),
        floating_base=False,
        exclude_overlaps=True,
    )
    world = spec.worldbody
    world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0], pos=[0.0, 0.0, -0.01])
    for i in range(9):
        place = [0.5 + 0.07 * (i % 3), 0.08 * (i // 3 - 1), _CUBE - 0.01]
        body = world.add_body(name=f"cube {i}", pos=place)
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[_CUBE] * 3, mass=0.1)
    for number, joint in enumerate([one for one in spec.joints if one.name.startswith("panda")]):
        actuator = spec.add_actuator(name=joint.name, target=joint.name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        stiffness, damping = (300.0, 30.0) if number < 7 else (500.0, 20.0)
        actuator.gainprm[0] = stiffness
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.biasprm[1], actuator.biasprm[2] = -stiffness, -damping
        low, high = joint.range
        actuator.ctrllimited = True
        actuator.ctrlrange = [low, high]
    model = spec.compile()
    model.qpos0[: len(_ARM_START)] = _ARM_START
    return model


MODELS: dict[str, Callable[[], mujoco.MjModel]] = {
    "quadruped (ant)": robot("ant").make,
    "humanoid": lambda: mujoco.MjModel.from_xml_path(
        str(Path(_assets("gymnasium")) / "envs/mujoco/assets/humanoid.xml")
    ),
    "arm with nine cubes": _arm_with_cubes,
}


def _assets(module: str) -> str:
    return os.path.dirname(str(__import__(module).__file__))


class Worlds:
    """So many worlds of one model, in Asperity and in MuJoCo with one of its integrators."""

    def __init__(self, model: mujoco.MjModel, count: int, threads: int, integrator: str) -> None:
        self.model, self.count = model, count
        self.their_model = copy.copy(model)
        self.their_model.opt.integrator = INTEGRATORS[integrator]
        step = float(model.opt.timestep)
        self.fixed = asp.Icf(time_step=step)
        self.batches = {
            "Icf": asp.Batch(model, count, integrator=self.fixed, threads=threads),
            "Cenic": asp.Batch(model, count, integrator=asp.Cenic(accuracy=1e-2), threads=threads),
        }
        self.threads = threads
        self.data = [mujoco.MjData(model) for _ in range(threads)]
        self.rollout = mujoco_rollout.Rollout(nthread=threads)
        self.theirs = mujoco_batch.Batch(self.their_model, count, threads)
        self.random = np.random.default_rng(_SEED)

    def controls(self) -> np.ndarray:
        model = self.model
        low, high = np.full(model.nu, -1.0), np.full(model.nu, 1.0)
        limited = model.actuator_ctrllimited.astype(bool)
        low[limited], high[limited] = model.actuator_ctrlrange[limited].T
        middle, reach = 0.5 * (low + high), 0.5 * _VIGOUR * (high - low)
        size = (self.count, _STEPS, model.nu)
        return self.random.uniform(middle - reach, middle + reach, size)

    def restart(self) -> None:
        """Begin anew, and simulate until robots have reached the floor."""
        batch = self.batches["Icf"]
        batch.reset()
        batch.ctrl = self.controls()[:, 0]
        batch.advance(_FALL)

    def states(self) -> np.ndarray:
        """Where the worlds are, as MuJoCo's rollouts take it."""
        batch = self.batches["Icf"]
        return np.concatenate([batch.time[:, None], batch.qpos, batch.qvel, batch.act], axis=1)

    def block(self, order: list[str]) -> dict[str, float]:
        """CPU times of one block by method [s]."""
        controls, states = self.controls(), self.states()
        runs = {
            "Batch(Icf)": lambda: self._ours("Icf", states, controls),
            "Batch(Cenic)": lambda: self._ours("Cenic", states, controls),
            "mujoco.rollout": lambda: self._step_by_step(states, controls),
            "mujoco.batch": lambda: self._their_batch(states, controls),
            "rollout(Icf)": lambda: asp.rollout(
                self.model, states, controls, integrator=self.fixed, threads=self.threads
            ),
            "mujoco.rollout, open loop": lambda: self.rollout.rollout(
                self.their_model, self.data, states, controls
            ),
        }
        times = {}
        for name in order:
            started = time.process_time()
            taken = runs[name]()
            times[name] = time.process_time() - started if not isinstance(taken, float) else taken
        # Worlds go on from where fixed steps have led, whoever was timed last.
        return times

    def _ours(self, name: str, states: np.ndarray, controls: np.ndarray) -> float:
        batch = self.batches[name]
        model = self.model
        if name != "Icf":
            batch.time[:] = states[:, 0]
            batch.qpos[:] = states[:, 1 : 1 + model.nq]
            batch.qvel[:] = states[:, 1 + model.nq : 1 + model.nq + model.nv]
            batch.act[:] = states[:, 1 + model.nq + model.nv :]
        started = time.process_time()
        for k in range(_STEPS):
            batch.ctrl = controls[:, k]
            batch.step()
        taken = time.process_time() - started
        assert not batch.status.any(), batch.status
        return taken

    def _step_by_step(self, states: np.ndarray, controls: np.ndarray) -> float:
        started = time.process_time()
        for k in range(_STEPS):
            now = controls[:, k : k + 1]
            found, _ = self.rollout.rollout(self.their_model, self.data, states, now)
            states = found[:, 0]
        return time.process_time() - started

    def _their_batch(self, states: np.ndarray, controls: np.ndarray) -> float:
        model, theirs = self.model, self.theirs
        theirs.time = states[:, 0]
        theirs.qpos = states[:, 1 : 1 + model.nq]
        theirs.qvel = states[:, 1 + model.nq : 1 + model.nq + model.nv]
        if model.na:
            theirs.act = states[:, 1 + model.nq + model.nv :]
        if model.nsensordata:
            theirs.bind("sensordata")
        started = time.process_time()
        for k in range(_STEPS):
            theirs.ctrl = controls[:, k]
            theirs.step()
        return time.process_time() - started


_PAIRS = (
    ("Batch(Icf)", "mujoco.rollout"),
    ("Batch(Icf)", "mujoco.batch"),
    ("Batch(Cenic)", "mujoco.rollout"),
    ("rollout(Icf)", "mujoco.rollout, open loop"),
)


def compare(name: str, count: int, threads: int, blocks: int, integrator: str) -> dict[str, float]:
    """Median times of a world's step [µs] by method, and median ratios MuJoCo's over ours."""
    model = MODELS[name]()
    worlds = Worlds(model, count, threads, integrator)
    order = [*dict.fromkeys(one for pair in _PAIRS for one in pair)]
    worlds.restart()
    worlds.block(order)
    times: dict[str, list[float]] = {one: [] for one in order}
    for turn in range(blocks):
        if turn % _LIFE == 0:
            worlds.restart()
        for one, taken in worlds.block(order[turn % 2 :] + order[: turn % 2]).items():
            times[one].append(taken)
    scale = 1e6 / (count * _STEPS)
    found = {one: scale * float(np.median(values)) for one, values in times.items()}
    for ours, theirs in _PAIRS:
        ratios = np.array(times[theirs]) / np.array(times[ours])
        found[f"{theirs} / {ours}"] = float(np.median(ratios))
    found["timestep"] = float(model.opt.timestep)
    return found


def _resident() -> float:
    """Memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def make(name: str, count: int) -> dict[str, float]:
    """Time and memory that it takes to make worlds and to step them once, in this process."""
    model = MODELS[name]()
    integrator = asp.Icf(time_step=float(model.opt.timestep))
    asp.Batch(model, 2, integrator=integrator, threads=2).step()
    before = _resident()
    started = time.perf_counter()
    batch = asp.Batch(model, count, integrator=integrator, threads=2)
    taken = time.perf_counter() - started
    batch.step()
    return {"construction": 1e3 * taken / count, "memory": _resident() - before}


def _in_own_process(name: str, count: int) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "studies.benchmarks.worlds",
        "--make",
        name,
        "--worlds",
        str(count),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _cells(found: dict[str, float], made: dict[str, float]) -> list[str]:
    """A row of the table, after its names."""
    return [
        f"{1e3 * found['timestep']:g}",
        f"{found['mujoco.rollout']:.1f}",
        f"{found['mujoco.batch']:.1f}",
        f"{found['Batch(Icf)']:.1f}",
        f"{found['mujoco.rollout / Batch(Icf)']:.2f}",
        f"{found['mujoco.batch / Batch(Icf)']:.2f}",
        f"{found['Batch(Cenic)']:.1f}",
        f"{found['mujoco.rollout / Batch(Cenic)']:.2f}",
        f"{found['mujoco.rollout, open loop']:.1f}",
        f"{found['rollout(Icf)']:.1f}",
        f"{found['mujoco.rollout, open loop / rollout(Icf)']:.2f}",
        f"{made['construction']:.3f}",
        f"{made['memory']:.0f}",
    ]


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=";".join(MODELS), help="with semicolons between them")
    parser.add_argument("--worlds", type=int, default=_WORLDS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", asp.AsperityWarning)
    if options.make:
        print(json.dumps(make(options.make, options.worlds)))
        return
    names = options.models.split(";")
    for name in names:
        if name not in MODELS:
            raise SystemExit(f"no model is called {name!r}; there are {'; '.join(MODELS)}.")
    table = Table(
        *("model", "MuJoCo's integrator", "step [ms]", "mujoco.rollout", "mujoco.batch"),
        *("Batch(Icf)", "rollout / Batch", "batch / Batch", "Batch(Cenic 1e-2)", "rollout / Cenic"),
        *("open loop: mujoco.rollout", "asp.rollout(Icf)", "ratio"),
        *("1024 worlds: made in [ms each]", "memory [MB]"),
    )
    for name in names:
        made = _in_own_process(name, 1024)
        for integrator in INTEGRATORS:
            found = compare(name, options.worlds, options.threads, options.blocks, integrator)
            table.add(name, integrator, *_cells(found, made))
    if options.save:
        note = (
            f"{options.worlds} worlds on {options.threads} threads, `Icf` at the model's own time "
            "step. CPU times of a world's step, of all threads [µs]: medians of "
            f"{options.blocks} blocks, and of the blocks' ratios, MuJoCo's over ours."
        )
        table.save("worlds", "Many worlds against MuJoCo", note)


if __name__ == "__main__":
    main()
