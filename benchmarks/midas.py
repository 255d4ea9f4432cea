"""Cost of the Midas integrator over bodies and mesh resolution, with MuJoCo beside it.

``python -m benchmarks.midas`` from the root of the repository, on a machine with nothing else to
do. MuJoCo's speed cannot be compared without its penetration, so both stand in the table: the
largest overlap of two geoms, looked at every 10 ms, against the smallest distance that Midas kept.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import mujoco
import numpy as np

import asperity as asp
from benchmarks.report import RESULTS, machine

STEP = 0.01
ACTIVATION = 1e-3


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


def lift(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Squeeze with 20 N for 0.3 s, then lift at 0.1 m/s."""
    data.ctrl[:] = (0.1 * min(max(data.time - 0.3, 0.0), 0.5), 20.0, 20.0)


@dataclass(frozen=True)
class Case:
    """A scene with the options of Midas."""

    name: str
    xml: str
    subdivisions: int = 1
    duration: float = 0.3
    control: Callable[[mujoco.MjModel, mujoco.MjData], None] | None = None


CASES = (
    *(Case(f"5 cubes, {n}² quads a side", cubes(5), n) for n in (1, 2, 4, 8)),
    Case("20 cubes in 4 columns", cubes(20, 4, 0.005)),
    Case("50 cubes in 10 columns", cubes(50, 10, 0.005)),
    Case("tower of 20 cubes", cubes(20)),
    Case("gripper of 4 bodies lifts a cube", GRIPPER, 1, 0.8, lift),
)


@dataclass(frozen=True)
class Result:
    """Medians over the rounds; times are CPU time."""

    case: str
    status: str
    iterations_per_step: float
    ms_per_step: float
    ms_per_iteration: float
    cpu_per_second: float
    smallest_distance_um: float
    mujoco_cpu_per_second: float
    mujoco_penetration_um: float


def run_midas(case: Case) -> tuple[str, float, float, float, float]:
    """Status, iterations and factorizations per step, CPU time per step [s], distance [m]."""
    integrator = asp.Midas(
        time_step=STEP, activation_distance=ACTIVATION, subdivisions=case.subdivisions
    )
    sim = asp.Simulator(case.xml, integrator=integrator, control=case.control, control_period=STEP)
    sim.step()
    started = time.process_time()
    report = sim.advance_to(case.duration)
    cpu = time.process_time() - started
    steps = report.stats.steps
    return (
        report.status.name,
        report.stats.iterations / steps,
        report.stats.factorizations / steps,
        cpu / steps,
        integrator.clearance(sim.world),
    )


def run_mujoco(case: Case) -> tuple[float, float]:
    """CPU time per step of 10 ms [s], at MuJoCo's own 2 ms, and the largest penetration [m]."""
    model = mujoco.MjModel.from_xml_string(case.xml)
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.timestep = 2e-3
    data = mujoco.MjData(model)
    cpu, depth, steps = 0.0, 0.0, round(case.duration / STEP)
    for _ in range(steps):
        if case.control is not None:
            case.control(model, data)
        started = time.process_time()
        mujoco.mj_step(model, data, nstep=5)
        cpu += time.process_time() - started
        depth = max(depth, -min((c.dist for c in data.contact), default=0.0))
    return cpu / steps, depth


def measure(case: Case, rounds: int) -> Result:
    """Run both in turn."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(run_midas(case))
        theirs.append(run_mujoco(case))
    status = next((run[0] for run in ours if run[0] != "SUCCESS"), "SUCCESS")
    per_step = median(run[3] for run in ours)
    return Result(
        case=case.name,
        status=status,
        iterations_per_step=ours[0][1],
        ms_per_step=1e3 * per_step,
        ms_per_iteration=1e3 * per_step / ours[0][2],
        cpu_per_second=per_step / STEP,
        smallest_distance_um=1e6 * min(run[4] for run in ours),
        mujoco_cpu_per_second=median(run[0] for run in theirs) / STEP,
        mujoco_penetration_um=1e6 * max(run[1] for run in theirs),
    )


def write(results: list[Result], folder: Path, rounds: int) -> None:
    """Write ``midas.csv`` and ``midas.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [asdict(result) for result in results]
    with open(folder / "midas.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    lines = [
        "# Midas over bodies and mesh resolution",
        "",
        f"{machine()} CPU times, medians of {rounds} rounds, Midas at 10 ms and MuJoCo (Newton, "
        "elliptic cones, implicitfast) at 2 ms in turn. Times of Midas include publication and, "
        "where there is one, the controller in Python; an iteration is a factorization.",
        "",
        "| scene | status | iterations per step | ms per step | ms per iteration | CPU s per s "
        "| smallest distance | MuJoCo: CPU s per s | MuJoCo: largest penetration |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.case} | {r.status} | {r.iterations_per_step:.2f} | {r.ms_per_step:.2f} "
        f"| {r.ms_per_iteration:.2f} | {r.cpu_per_second:.3f} | {r.smallest_distance_um:.0f} µm "
        f"| {r.mujoco_cpu_per_second:.4f} | {r.mujoco_penetration_um:.0f} µm |"
        for r in results
    ]
    (folder / "midas.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = []
    for case in CASES:
        results.append(measure(case, options.rounds))
        print(results[-1], flush=True)
    write(results, options.results, options.rounds)


if __name__ == "__main__":
    main()
