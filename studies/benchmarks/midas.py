"""Cost of the Midas integrator over bodies and mesh resolution, with MuJoCo and Bullet beside it.

``python -m studies benchmark midas`` from the root of the repository, on a machine with nothing
else to do. Another engine's speed cannot be compared without its penetration, so both stand in the
table: the deepest overlap of two shapes, measured from poses every 40 ms in the same way for all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import mujoco
import numpy as np

import asperity as asp
from asperity.scenes.gripper_tasks import Task, beam_assembly, usb_insertion
from asperity.scenes.usb import Fit
from studies.benchmarks.saved import RESULTS, machine, save_rows
from studies.experiments.engines import Run, has_bullet, run_bullet, run_mujoco
from studies.experiments.overlap import OverlapMeter

STEP = 0.01
ACTIVATION = 1e-3
LOOK = 2
"""Samples of 20 ms from one measurement of overlap to the next."""


def cubes(count: int, columns: int = 1, jitter: float = 0.0) -> str:
    """Cubes of 1 kg in columns on a slab, 1.5 activation distances apart."""
    rng = np.random.default_rng(0)
    height = -(-count // columns)
    bodies = ""
    for i in range(count):
        column, level = divmod(i, height)
        x, y = 0.25 * (column % 5), 0.25 * (column // 5)
        x, y = np.array([x, y]) + jitter * rng.normal(size=2)
        z = 0.05 + 0.1 * level + 1.5 * ACTIVATION * (level + 1)
        bodies += (
            f'<body pos="{x} {y} {z}"><freejoint/>'
            '<geom type="box" size=".05 .05 .05" density="1000"/></body>'
        )
    slab = '<geom type="box" size="2 2 .1" pos="0 0 -.1"/>'
    return f"<mujoco><worldbody>{slab}{bodies}</worldbody></mujoco>"


def heap(count: int, shape: str, seed: int = 0) -> str:
    """Bodies of 4 to 6 cm, turned at random, that fall into a heap on a plane."""
    rng = np.random.default_rng(seed)
    bodies = ""
    for i in range(count):
        level, place = divmod(i, 25)
        x, y = 0.1 * np.array([place % 5, place // 5]) + 0.003 * rng.normal(size=2)
        turn = " ".join(map(str, rng.normal(size=4)))
        bodies += (
            f'<body pos="{x} {y} {0.1 * (level + 1)}" quat="{turn}"><freejoint/>'
            f'<geom type="{shape}" size=".025 .02 .015"/></body>'
        )
    return f'<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{bodies}</worldbody></mujoco>'


GRIPPER = """
<mujoco><compiler autolimits="true"/><default><geom friction=".5"/></default><worldbody>
<geom type="plane" size="1 1 1"/>
<body pos="0 0 .0259"><freejoint/><geom type="box" size=".025 .025 .025" density="1000"/></body>
<body pos="0 0 .13"><joint name="lift" type="slide" axis="0 0 1"/>
 <geom type="box" size=".1 .025 .015" mass=".5" contype="0" conaffinity="0"/>
 <body pos="-.04 0 -.065"><joint name="left" type="slide" axis="1 0 0" range="-.02 .05"/>
  <geom type="box" size=".005 .01 .04" mass=".1"/></body>
 <body pos=".04 0 -.065"><joint name="right" type="slide" axis="-1 0 0" range="-.02 .05"/>
  <geom type="box" size=".005 .01 .04" mass=".1"/></body></body></worldbody>
<actuator><position joint="lift" kp="1e5" kv="1e3"/><motor joint="left"/><motor joint="right"/>
</actuator></mujoco>"""


def lift(time: float) -> np.ndarray:
    """Squeeze with 20 N for 0.3 s, then lift at 0.1 m/s."""
    return np.array([0.1 * min(max(time - 0.3, 0.0), 0.5), 20.0, 20.0])


@dataclass(frozen=True)
class Case:
    """A scene with the options of Midas, and what the prototype needed."""

    name: str
    task: Task
    subdivisions: int = 1
    activation_distance: float = ACTIVATION
    prototype_per_iteration: float | None = None
    """CPU time per Newton iteration [ms]."""
    prototype_per_step: float | None = None
    """CPU time per step [ms]."""
    has_peers: bool = True


def pile(count: int, columns: int = 1, jitter: float = 0.0) -> Task:
    """Cubes for 0.3 s."""
    return _falling(cubes(count, columns, jitter), 0.3)


def _falling(xml: str, duration: float) -> Task:
    return Task(xml, xml, lambda time: np.zeros(0), duration, "")


CASES = (
    *(
        Case(f"5 cubes, {n}² quads a side", pile(5), n, prototype_per_iteration=ms)
        for n, ms in ((1, 0.85), (2, 2.6), (4, 7.2), (8, 25.0))
    ),
    Case("20 cubes in 4 columns", pile(20, 4, 0.005), prototype_per_iteration=1.3),
    Case("50 cubes in 10 columns", pile(50, 10, 0.005), prototype_per_iteration=7.4),
    Case("200 cubes in 40 columns", pile(200, 40, 0.005)),
    Case("tower of 20 cubes", pile(20)),
    *(
        Case(f"heap of 50 {name}", _falling(heap(50, shape), 0.5), has_peers=False)
        for name, shape in (("boxes", "box"), ("cylinders", "cylinder"), ("capsules", "capsule"))
    ),
    Case(
        "gripper of 4 bodies lifts a cube",
        Task(GRIPPER, GRIPPER, lift, 0.8, ""),
        prototype_per_step=1.3,
    ),
    Case("gripper inserts a beam, 0.1 mm", beam_assembly(1e-4), activation_distance=1e-5),
    Case("gripper inserts a USB stick", usb_insertion(Fit()), activation_distance=1e-5),
)

PEERS: dict[str, Callable[[Task], Run]] = {
    "MuJoCo, 2 ms": run_mujoco,
    "MuJoCo, 0.2 ms, stiff": lambda task: run_mujoco(task, stiff=True),
    "Bullet, 1/240 s": lambda task: run_bullet(task, hulls=False),
    "Bullet, 1 ms, 500 sweeps": lambda task: run_bullet(task, hulls=False, fine=True),
}


@dataclass(frozen=True)
class Result:
    """Medians over the rounds; times are CPU time."""

    case: str
    engine: str
    status: str
    cpu_per_second: float
    overlap_um: float
    """Deepest overlap, or the smallest distance with a minus sign."""
    iterations_per_step: float = float("nan")
    ms_per_step: float = float("nan")
    ms_per_iteration: float = float("nan")
    prototype_ratio: float = float("nan")
    """Times of the prototype over ours, per iteration or per step."""


def run_midas(case: Case) -> tuple[str, float, float, float, float]:
    """Status, iterations and factorizations per step, CPU time per step [s], distance [m]."""

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = case.task.control(data.time + STEP)

    integrator = asp.Midas(
        time_step=STEP,
        activation_distance=case.activation_distance,
        subdivisions=case.subdivisions,
    )
    xml = case.task.surfaces
    driven = {"control": control, "control_period": STEP} if "<actuator>" in xml else {}
    sim = asp.Simulator(xml, integrator=integrator, **driven)
    sim.step()
    started = time.process_time()
    report = sim.advance_to(case.task.duration, on_failure="return")
    cpu = time.process_time() - started
    steps = report.stats.steps
    return (
        report.status.name,
        report.stats.iterations / steps,
        report.stats.factorizations / steps,
        cpu / steps,
        sim.clearance,
    )


def deepest_overlap(task: Task, run: Run) -> float:
    """Deepest overlap over the samples [m]."""
    # Faces of cubes lie on faces, so that their corners would do.
    spacing = 2.5e-3 if task.object else 5e-2
    meter = OverlapMeter(mujoco.MjModel.from_xml_string(task.surfaces), spacing)
    marks = range(0, len(run.time), LOOK)
    return max(meter.measure(run.position[i], run.rotation[i]).depth for i in marks)


def measure(case: Case, rounds: int) -> list[Result]:
    """Run all engines in turn."""
    engines = {n: do for n, do in PEERS.items() if has_bullet() or not n.startswith("Bullet")}
    # Other engines know the shapes of a box, not how finely its mesh is divided.
    engines = engines if case.subdivisions == 1 and case.has_peers else {}
    ours, theirs = [], {name: [] for name in engines}
    for _ in range(rounds):
        ours.append(run_midas(case))
        for name, do in engines.items():
            theirs[name].append(do(case.task))
    status = next((run[0] for run in ours if run[0] != "SUCCESS"), "SUCCESS")
    per_step = 1e3 * median(run[3] for run in ours)
    per_iteration = per_step / ours[0][2]
    ratio = float("nan")
    if case.prototype_per_iteration is not None:
        ratio = case.prototype_per_iteration / per_iteration
    if case.prototype_per_step is not None:
        ratio = case.prototype_per_step / per_step
    results = [
        Result(
            case=case.name,
            engine="Midas, 10 ms",
            status=status,
            cpu_per_second=1e-3 * per_step / STEP,
            overlap_um=-1e6 * min(run[4] for run in ours),
            iterations_per_step=ours[0][1],
            ms_per_step=per_step,
            ms_per_iteration=per_iteration,
            prototype_ratio=ratio,
        )
    ]
    for name, runs in theirs.items():
        cpu = median(run.cpu_time for run in runs) / case.task.duration
        overlap = 1e6 * deepest_overlap(case.task, runs[0])
        results.append(Result(case.name, name, "", cpu, overlap))
    return results


def write(results: list[Result], folder: Path, rounds: int) -> None:
    """Write ``midas.csv`` and ``midas.md``."""
    save_rows(folder / "midas.csv", map(asdict, results))
    ours = [r for r in results if r.status]
    names = list(dict.fromkeys(r.engine for r in results))
    lines = [
        "# Midas over bodies and mesh resolution",
        "",
        f"{machine()} CPU times, medians of {rounds} rounds, engines in turn. Times of Midas "
        "include publication and, where there is one, the controller in Python; an iteration is a "
        "factorization. The prototype's times are of another day: its time per iteration, or per "
        "step for the gripper, over ours.",
        "",
        "| scene | status | iterations per step | ms per step | ms per iteration "
        "| prototype / ours | smallest distance |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.case} | {r.status} | {r.iterations_per_step:.2f} | {r.ms_per_step:.2f} "
        f"| {r.ms_per_iteration:.2f} | {_ratio(r.prototype_ratio)} | {-r.overlap_um:.3g} µm |"
        for r in ours
    ]
    lines += [
        "",
        "# Midas, MuJoCo and Bullet: speed beside overlap",
        "",
        "CPU seconds per simulated second, and the deepest overlap of two shapes at any sample "
        "(every 40 ms), from poses and the true shapes in the same way for all. MuJoCo: Newton, "
        "elliptic cones, implicitfast; stiff contacts have a time constant of 1 ms. Bullet: "
        "PyBullet with boxes, 50 sweeps unless said. Midas overlaps nowhere.",
        "",
        "| scene | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for case in dict.fromkeys(r.case for r in results):
        found = {r.engine: r for r in results if r.case == case}
        if len(found) > 1:
            cells = [_cell(found.get(name)) for name in names]
            lines.append(f"| {case} | " + " | ".join(cells) + " |")
    lines += ["", PUBLISHED]
    (folder / "midas.md").write_text("\n".join(lines) + "\n")


def _ratio(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.1f}"


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    return f"{result.cpu_per_second:.3g}, {max(result.overlap_um, 0.0):.3g} µm"


PUBLISHED = """# libuipc, from its published figures

libuipc (affine bodies and the same kind of barrier, on a GPU) cannot run here, and its scenes are
its own: these are no measurements of ours, and not the same scenes. Its repository
(spiriMirror/libuipc, agent_docs/performance/2026-09-01-cross-domain-baseline.md) gives for an
RTX 5090, by a method that lets nothing overlap either:

| scene | ms per frame | Newton iterations per frame | ms per Newton iteration, with timers |
|---|---|---|---|
| wrecking balls, affine bodies only | 129.5 | 3.95 | 33.6 |
| wall of 1920 affine cubes with a cloth | 125.6 | 5.13 | 21.8 |"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = []
    for case in CASES:
        found = measure(case, options.rounds)
        print(*found, sep="\n", flush=True)
        results += found
    write(results, options.results, options.rounds)


if __name__ == "__main__":
    main()
