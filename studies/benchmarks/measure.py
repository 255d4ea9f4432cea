"""One measurement: prepare, warm up, time the advance, look at the outcome.

``python -m studies benchmark measure`` reads a job as JSON from standard input and writes the
measurement as the last line of standard output: each measurement has a process to itself, so that
an engine that crashes, throws or runs away takes nothing else with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from studies.benchmarks.engines import Setting, prepare
from studies.benchmarks.scene import Scene, build_mjcf, scene_from_name
from studies.peers.engine import Counters, Engine
from studies.peers.mujoco import deepest

SINGLE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Job:
    """What to measure.

    ``scene`` is a name that :func:`studies.benchmarks.scene.scene_from_name` knows, ``duration``
    the simulated time [s], ``worlds`` the number of copies advanced at once, one Python thread
    each, ``seed`` that of the initial state.
    """

    engine: str
    setting: Setting
    scene: str
    duration: float
    worlds: int = 1
    seed: int = 41

    @property
    def label(self) -> str:
        """Engine and method."""
        return f"{self.engine} {self.setting.method}"

    @property
    def resolution(self) -> str:
        """Accuracy or time step, as a table shows it."""
        if self.setting.accuracy is not None:
            return f"accuracy {self.setting.accuracy:g}"
        return f"{1e3 * (self.setting.time_step or 0.0):g} ms"


@dataclass(frozen=True)
class Measurement:
    """What came out.

    Times [s] are those of the advance alone. ``penetration`` is the deepest overlap of the final
    poses [m], found for every engine with the same collision detection (MuJoCo's, boxes as boxes);
    ``own_penetration`` is what the engine itself sees. ``mean_height`` and ``lowest_centre`` [m]
    and ``kinetic_energy`` [J] tell whether the outcome is sane.
    """

    status: str
    wall_time: float = float("nan")
    cpu_time: float = float("nan")
    counters: Counters = field(default_factory=Counters)
    penetration: float = float("nan")
    own_penetration: float | None = None
    mean_height: float = float("nan")
    lowest_centre: float = float("nan")
    kinetic_energy: float = float("nan")

    @property
    def ok(self) -> bool:
        """Whether the run reached its end with a finite state."""
        return self.status == "ok"


def evaluated(scene: Scene, engine: Engine) -> mujoco.MjData:
    """Where the bodies are, with MuJoCo's contacts and energies: the same for every engine."""
    model = mujoco.MjModel.from_xml_string(build_mjcf(scene))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = engine.state()
    mujoco.mj_forward(model, data)
    mujoco.mj_energyVel(model, data)
    return data


def _advance_all(runs: list[Engine], end: float) -> None:
    if len(runs) == 1:
        runs[0].advance(end)
        return
    failures: list[BaseException] = []

    def work(run: Engine) -> None:
        try:
            run.advance(end)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def measure(job: Job) -> Measurement:
    """Carry out a job in this process."""
    scene = scene_from_name(job.scene, job.seed)
    runs = [prepare(job.engine, scene, job.setting) for _ in range(job.worlds)]
    warm_up = job.setting.time_step or 1e-4
    for run in runs:
        # First-call costs (allocations, lazily evaluated caches) are nobody's speed.
        run.advance(warm_up)
    before = runs[0].counters()
    cpu, wall = time.process_time(), time.perf_counter()
    _advance_all(runs, warm_up + job.duration)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    data = evaluated(scene, runs[0])
    if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
        return Measurement("non-finite state", wall, cpu, runs[0].counters().since(before))
    heights = data.qpos.reshape(-1, 7)[:, 2]
    return Measurement(
        "ok",
        wall,
        cpu,
        runs[0].counters().since(before),
        penetration=deepest(data),
        own_penetration=runs[0].overlap(),
        mean_height=float(heights.mean()),
        lowest_centre=float(heights.min()),
        kinetic_energy=float(data.energy[1]),
    )


def measure_in_subprocess(job: Job, timeout: float) -> Measurement:
    """Carry out a job in a process of its own; whatever happens to it becomes the status."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    try:
        # MuJoCo logs its warnings to a file in the current folder.
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.run(
                [sys.executable, "-m", "studies.benchmarks.measure"],
                input=json.dumps(asdict(job)),
                capture_output=True,
                text=True,
                timeout=timeout,
                cwd=folder,
                env=os.environ | SINGLE_THREAD | {"PYTHONPATH": path},
            )
    except subprocess.TimeoutExpired:
        return Measurement(status=f"over {timeout:g} s")
    if process.returncode != 0:
        return Measurement(status=f"process died with code {process.returncode}")
    raw: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return Measurement(**(raw | {"counters": Counters(**raw["counters"])}))


def main() -> None:
    """Read a job, carry it out, write the measurement."""
    raw = json.load(sys.stdin)
    job = Job(**(raw | {"setting": Setting(**raw["setting"])}))
    try:
        result = measure(job)
    except Exception as failure:
        text = " ".join(str(failure).split())
        result = Measurement(status=f"{type(failure).__name__}: {text[:160]}")
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main()
