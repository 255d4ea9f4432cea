"""Random motors in random scenes, every step checked by an independent program.

The tests do some hundred steps; ``python tests/midas/random_runs.py --steps 100000`` does as many
as it is told, and prints what it found.
"""

from __future__ import annotations

import argparse
import json
import time as clock
from dataclasses import asdict, dataclass, field, fields

import numpy as np
from joint_gaps import largest_gap
from random_scenes import SCENES, random_scene

import asperity as asp
from asperity.midas.verification import IntersectionTest

__all__ = ["Findings", "run"]


@dataclass
class Findings:
    """What went on in some runs; of a faultless engine the first four numbers are zero."""

    intersections: int = 0
    limits_passed: int = 0
    unconverged: int = 0
    drifted: int = 0
    """Steps after which a joint's bodies were more than 1e-10 m apart."""
    drift: float = 0.0
    """Largest distance between the bodies of a joint [m]."""
    clearance: float = np.inf
    """Smallest distance of surfaces [m]."""
    steps: int = 0
    iterations: int = 0
    fallbacks: int = 0
    frictionless: int = 0
    longest: int = 0
    """Most Newton iterations of a step."""
    wall_time: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def faultless(self) -> bool:
        return not (self.intersections or self.limits_passed or self.unconverged or self.drifted)

    def add(self, other: Findings) -> None:
        for item in fields(self):
            mine, theirs = getattr(self, item.name), getattr(other, item.name)
            pick = {"drift": max, "longest": max, "clearance": min}.get(item.name)
            setattr(self, item.name, pick(mine, theirs) if pick else mine + theirs)


def run(name: str, seed: int, steps: int) -> Findings:
    """Run with new random controls and pushes every five steps, checking every state."""
    xml, speed = random_scene(name, seed)
    # The peg has 0.6 mm of room on each side.
    distance = 1e-4 if name == "peg" else 1e-3
    sim = asp.Simulator(
        xml, integrator=asp.Midas(time_step=0.01, activation_distance=distance, overlaps="separate")
    )
    model, data, engine = sim.model, sim.data, sim.session.method.engine
    rng = np.random.default_rng(seed)
    free = model.jnt_type == 0
    for dof in model.jnt_dofadr[free]:
        data.qvel[dof : dof + 3] = rng.uniform(-speed, speed, 3)
        data.qvel[dof + 3 : dof + 6] = rng.uniform(-5, 5, 3)
    pushed = model.jnt_bodyid[free]
    intersect = IntersectionTest(engine)
    limited = model.jnt_limited.astype(bool)
    address = model.jnt_qposadr[limited]
    low, high = model.jnt_range[limited].T
    ball = (model.jnt_type[limited] == 1).astype(bool)
    found = Findings()
    for step in range(steps):
        if step % 5 == 0:
            data.ctrl[:] = rng.uniform(-1, 1, model.nu)
            data.xfrc_applied[:] = 0
            for body in pushed[rng.uniform(size=len(pushed)) < 0.1]:
                data.xfrc_applied[body, :3] = 50 * model.body_mass[body] * rng.normal(size=3)
        report = sim.step(on_failure="return")
        drift = largest_gap(engine)
        qpos = data.qpos[address]
        for i in np.flatnonzero(ball):
            vector = data.qpos[address[i] + 1 : address[i] + 4]
            qpos[i] = 2 * np.arctan2(np.linalg.norm(vector), abs(qpos[i]))
        faults = {
            "unconverged": not report.success,
            "intersections": intersect(),
            "limits_passed": bool(np.any(((qpos <= low) & ~ball) | (qpos >= high))),
            "drifted": drift > 1e-10,
        }
        for kind, happened in faults.items():
            if happened:
                setattr(found, kind, getattr(found, kind) + 1)
                found.faults.append(f"{name}, seed {seed}, step {step}: {kind}: {report.message}")
        found.drift = max(found.drift, drift)
        found.iterations += report.stats.iterations
        found.longest = max(found.longest, report.stats.iterations)
        found.steps += 1
        if not report.success:
            break  # where it would stand still for ever
    found.fallbacks, found.frictionless = sim.stats.fallbacks, sim.stats.frictionless
    found.clearance = sim.clearance
    found.wall_time = sim.stats.wall_time
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000, help="of all scenes together")
    parser.add_argument("--each", type=int, default=250, help="steps of one run")
    parser.add_argument("--seed", type=int, default=1, help="of the first runs")
    parser.add_argument("--scene", action="append", choices=SCENES)
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no run after these")
    arguments = parser.parse_args()
    scenes, begin = arguments.scene or SCENES, clock.perf_counter()
    total, seed, steps = {name: Findings() for name in scenes}, arguments.seed, 0
    while steps < arguments.steps and clock.perf_counter() - begin < arguments.seconds:
        for name in scenes:
            found = run(name, seed, arguments.each)
            total[name].add(found)
            steps += found.steps
            for fault in found.faults:
                print(fault, flush=True)
        seed += 1
    for name, found in total.items():
        print(json.dumps({"scene": name, "next_seed": seed, **asdict(found)}))


if __name__ == "__main__":
    main()
