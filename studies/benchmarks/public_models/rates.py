"""How fast Midas runs public models, in steps of 5 ms."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import asperity as asp
from asperity.errors import AsperityError
from studies.benchmarks.public_models.motors import random_motors
from studies.benchmarks.public_models.trial import Verdict

__all__ = ["NOTE", "rates", "rates_summary"]

RATE_STEP, RATE_PART = 0.005, 0.05
"""Steps and parts [s]."""
RATE_QUIET, RATE_MOVING = 0.3, 0.5
RATE_LIMIT = 12.0
"""CPU time after which either is measured by what it has come to [s]."""
SLOWEST = 0.05
"""Simulated over CPU time that no robot should be slower than."""
NOTE = f"Simulated over CPU time in steps of {1e3 * RATE_STEP:g} ms."
"""What the columns of the table are."""


def measure_rate(sim: asp.Simulator, duration: float, rng: np.random.Generator | None) -> float:
    """Simulated time over CPU time of a duration, or of what the limit leaves of it."""
    begin, start = sim.time, time.process_time()
    used = 0.0
    while sim.time < begin + duration - 0.5 * RATE_PART and used < RATE_LIMIT:
        if rng is not None and round((sim.time - begin) / RATE_PART) % 2 == 0:
            random_motors(sim.model, sim.data, rng)
        report = sim.advance_to(sim.time + RATE_PART, on_failure="return")
        if not report.success:
            raise Verdict("not converged", f"{report.status.name} at {sim.time:.2f} s")
        used = time.process_time() - start
    return float(f"{(sim.time - begin) / max(used, 1e-6):.3g}")


def rates(path: str, _: str) -> Iterator[dict[str, Any]]:
    """Measure how fast one model runs; yields the same as `parts`."""
    try:
        model, _ = asp.load_model(path)
        yield {"dofs": int(model.nv)}
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=RATE_STEP))
        sim.advance_to(RATE_STEP)
        yield {"triangles": len(sim.session.method.engine.table.shapes.face)}
        yield {"quiet": measure_rate(sim, RATE_QUIET, None)}
        moving = measure_rate(sim, RATE_MOVING, np.random.default_rng(0))
        yield {"class": "runs", "moving": moving}
    except Verdict as verdict:
        yield {"class": verdict.kind, "message": verdict.message}
    except AsperityError as error:
        yield {"class": "does not run", "message": str(error)}


def rates_summary(results: dict[str, dict[str, Any]]) -> list[str]:
    """Count of models that are too slow, and the slowest ones."""
    known = {
        name: found
        for name, found in results.items()
        if found["class"] == "runs" and found["dofs"] > 0
    }
    slow = sum(min(found["quiet"], found["moving"]) < SLOWEST for found in known.values())
    lines = [
        f"{len(known)} models with degrees of freedom, {slow} of them slower than {SLOWEST} of "
        "real time; the slowest:",
        "",
        "| model | triangles | as drawn | random motors |",
        "|---|---|---|---|",
    ]
    order = sorted(known, key=lambda name: min(known[name]["quiet"], known[name]["moving"]))
    for name in order[:20]:
        found = known[name]
        lines.append(
            f"| {name} | {found['triangles']} | {found['quiet']:.2g} | {found['moving']:.2g} |"
        )
    for name, found in sorted(results.items()):
        if found["class"] not in ("runs", "does not run"):
            lines.append(f"| {name} | | {found['class']} | {found.get('message', '')} |")
    return lines
