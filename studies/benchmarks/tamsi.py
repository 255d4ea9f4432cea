"""TAMSI of Asperity and of Drake on the mug in the shaken gripper, the same scene for both.

``python -m studies benchmark tamsi`` from the root of the repository, on a machine with nothing
else to do. The scene is `asperity.scenes.shaken_mug` shaken by its spring, so that neither engine
calls Python within the time that is measured. The two take turns in one process; CPU times of the
advances are compared, after one step that is not.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import mujoco

import asperity as asp
from asperity.integrators import Integrator
from asperity.scenes.shaken_mug import GRIP, STICTION_TOLERANCE, shaken_mug
from studies.benchmarks.saved import RESULTS, machine, save_rows
from studies.benchmarks.verification.case import Contact
from studies.peers.asperity import AsperityEngine
from studies.peers.drake import DrakeEngine
from studies.peers.drake_model import DrakeModel
from studies.peers.engine import Engine

DURATION = 5.0
TIME_STEPS = (3e-3, 1e-3)

EULER: dict[str, dict[str, Any]] = {
    ", TALS": {"transition_aware": True},
    "": {},
    ", TALS, analytic Jacobian": {"transition_aware": True, "jacobian": "analytic"},
    ", analytic Jacobian": {"jacobian": "analytic"},
}
"""Options of implicit Euler with full Newton, the baselines of the TAMSI paper."""


def asperity_engine(integrator: Integrator) -> AsperityEngine:
    """The scene in Asperity, at its start."""
    engine = AsperityEngine(shaken_mug(sprung=True), integrator)
    engine.simulator.reset("start")
    return engine


def drake_engine(time_step: float) -> DrakeEngine:
    """The scene in Drake, with its TAMSI."""
    origin = asperity_engine(asp.Tamsi(time_step=time_step)).simulator
    contacts = origin.session.world.current.contacts

    def grip(made: DrakeModel, context: Any) -> None:
        made.plant.get_actuation_input_port().FixValue(context, [0.0, -GRIP])

    return DrakeEngine(
        mujoco.MjModel.from_xml_string(shaken_mug(sprung=True)),
        Contact(
            float(contacts.stiffness[0]),
            float(contacts.dissipation[0]),
            stiction_tolerance=STICTION_TOLERANCE,
        ),
        time_step=time_step,
        approximation="tamsi",
        qpos=origin.data.qpos,
        qvel=origin.data.qvel,
        prepare=grip,
    )


def slip(engine: Engine) -> float:
    """How far the mug is from its place in the gripper [m], negative downwards."""
    qpos, _ = engine.state()
    return float(qpos[4] - qpos[0])


@dataclass(frozen=True)
class Result:
    """One method at one time step; medians over the rounds."""

    method: str
    time_step_ms: float
    cpu_per_second: float
    ratio_to_drake: float
    ratio_to_tamsi: float
    slip_um: float


def measure(time_step: float, rounds: int, duration: float) -> list[Result]:
    """Let the methods take turns, a new simulation in every round."""
    integrators: dict[str, Integrator] = {
        "asperity tamsi": asp.Tamsi(time_step=time_step),
        "asperity tamsi, parabolic": asp.Tamsi(time_step=time_step, friction_law="parabolic"),
    }
    for name, options in EULER.items():
        integrators[f"asperity implicit Euler{name}"] = asp.ImplicitEuler(
            time_step=time_step, newton="full", friction_law="linear", **options
        )
    methods: dict[str, Callable[[], Engine]] = {"drake tamsi": partial(drake_engine, time_step)}
    methods |= {name: partial(asperity_engine, one) for name, one in integrators.items()}
    times: dict[str, list[float]] = {name: [] for name in methods}
    slips = {}
    for _ in range(rounds):
        for name, make in methods.items():
            engine = make()
            engine.advance(time_step)
            started = time.process_time()
            engine.advance(duration)
            times[name].append((time.process_time() - started) / duration)
            slips[name] = slip(engine)
    reference = times["drake tamsi"]
    return [
        Result(
            name,
            1e3 * time_step,
            median(found),
            median(a / b for a, b in zip(found, reference, strict=True)),
            median(a / b for a, b in zip(found, times["asperity tamsi"], strict=True)),
            1e6 * slips[name],
        )
        for name, found in times.items()
    ]


def write(results: list[Result], folder: Path, rounds: int, duration: float) -> Path:
    """A table for people and one for programs."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# TAMSI on the mug in the shaken gripper",
        "",
        f"{machine()} One thread, CPU time, medians of {rounds} rounds that take turns; "
        f"{duration:g} s are simulated. Friction is weaker than the load at the turns, so that the "
        "mug slips and sticks twice a period; both engines converge to the same slip, which at "
        "these steps differs because a joint's spring is implicit here and explicit in Drake.",
        "",
        "| method | time step | CPU s per simulated s | over Drake's | over our TAMSI's | slip |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.method} | {r.time_step_ms:g} ms | {r.cpu_per_second:.4f} | {r.ratio_to_drake:.2f} | "
        f"{r.ratio_to_tamsi:.3g} | "
        f"{1e-3 * r.slip_um:.2f} mm |"
        for r in results
    ]
    path = folder / "tamsi.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    save_rows(folder / "tamsi.csv", map(asdict, results))
    return path


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m studies benchmark tamsi", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--duration", type=float, default=DURATION)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    results = [r for h in TIME_STEPS for r in measure(h, args.rounds, args.duration)]
    print(write(results, args.results, args.rounds, args.duration).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
