"""What becomes of one model under one integrator.

It is loaded, runs for 0.3 s as it is drawn, and for a second with random motors. Under Midas free
bodies that overlap at first are moved apart, a model whose links meet begins in its first keyframe,
and whether anything intersects is asked of ``ipctk``.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np

import asperity as asp
from asperity.errors import AsperityError, Status
from asperity.loading import LoadReport
from asperity.midas.verification import IntersectionTest
from studies.benchmarks.public_models.motors import HOLD, random_motors

__all__ = [
    "INTEGRATORS",
    "MOVING_LIMIT",
    "QUIET_LIMIT",
    "STEP",
    "Verdict",
    "notes",
    "parts",
]

STEP = 0.01
"""Of Midas [s]; others take the model's own."""
INTEGRATORS: dict[str, Callable[[float], asp.Integrator]] = {
    "Cenic": lambda _: asp.Cenic(),
    "Icf": lambda step: asp.Icf(time_step=step),
    "Sap": lambda step: asp.Sap(time_step=step),
    "Tamsi": lambda step: asp.Tamsi(time_step=step),
    "Midas": lambda _: asp.Midas(time_step=STEP, overlaps="separate"),
}
"""By the model's own time step [s]."""

QUIET = 0.3
"""Time without motors [s]."""
MOVING = 1.0
"""Time with random ones [s]."""
QUIET_LIMIT, MOVING_LIMIT = 40.0, 80.0
"""CPU time that making the simulator and the first part may take, and that of the second [s]."""


class Verdict(Exception):
    """How a model ended before its time."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


def advance(sim: asp.Simulator, test: Callable[[], bool], duration: float) -> None:
    """Advance by a duration, and look at the state."""
    report = sim.advance_to(sim.time + duration, on_failure="return")
    if report.status == Status.NON_FINITE or not np.all(np.isfinite(sim.data.qpos)):
        raise Verdict("not finite", f"at {sim.time:.2f} s")
    if report.status != Status.SUCCESS:
        raise Verdict("not converged", f"{report.status.name} at {sim.time:.2f} s")
    if test():
        raise Verdict("intersecting", f"at {sim.time:.2f} s")


def _finite(value: float | None) -> float | None:
    """A number that JSON has; None if there is none."""
    return None if value is None or math.isinf(value) else float(value)


def _without_model(path: str) -> str:
    """The class of a file that does not load: MuJoCo may do so all the same."""
    try:
        mujoco.MjModel.from_xml_path(path)
    except ValueError:
        return "does not load"
    return "refused: loading"


def _diverges_in_mujoco(model: mujoco.MjModel) -> bool:
    """Whether MuJoCo's own steps end in what it calls unstable, left alone."""
    model = copy.copy(model)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    data = mujoco.MjData(model)
    steps = 0 if model.nflex else round(QUIET / model.opt.timestep)
    mujoco.mj_step(model, data, nstep=min(steps, 1000))
    warnings = mujoco.mjtWarning
    bad = (warnings.mjWARN_BADQPOS, warnings.mjWARN_BADQVEL, warnings.mjWARN_BADQACC)
    return any(data.warning[int(one)].number > 0 for one in bad)


def _simulator(model: mujoco.MjModel, integrator: asp.Integrator) -> asp.Simulator:
    """A simulator of the model as it is drawn, or in its first keyframe if surfaces meet there."""
    try:
        return asp.Simulator(model, integrator=integrator)
    except asp.ModelError:
        if not model.nkey or not isinstance(integrator, asp.Midas):
            raise
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        return asp.Simulator(model, data=data, integrator=integrator)


def _noted(report: LoadReport, sim: asp.Simulator) -> list[str]:
    return list(dict.fromkeys((*report.notes, *sim.load_report.notes)))


def notes(path: str, _: str) -> Iterator[dict[str, Any]]:
    """Notes on one model by every integrator, which does not run it; yields as `parts`."""
    try:
        model, report = asp.load_model(path)
    except AsperityError:
        yield {"class": "does not load"}
        return
    yield {"dofs": int(model.nv)}
    for method, make in INTEGRATORS.items():
        try:
            sim = _simulator(model, make(float(model.opt.timestep)))
        except AsperityError:
            continue
        yield {method: _noted(report, sim)}
    yield {"class": "noted"}


def parts(path: str, method: str) -> Iterator[dict[str, Any]]:
    """Run one model; yields what is known after it was loaded, after each part, and at the end.

    ``dofs`` are known when it is loaded, ``quiet`` when its second part begins.
    """
    try:
        model, report = asp.load_model(path)
    except AsperityError as error:
        yield {"class": _without_model(path), "message": str(error)}
        return
    except Exception as error:
        yield {"class": "exception", "message": f"{type(error).__name__}: {error}"}
        return
    yield {
        "dofs": int(model.nv),
        "motors": int(model.nu),
        "flexes": int(model.nflex),
        "diverges": _diverges_in_mujoco(model),
    }
    start = time.process_time()
    try:
        integrator = INTEGRATORS[method](float(model.opt.timestep))
        sim = _simulator(model, integrator)
        test: Callable[[], bool] = lambda: False  # noqa: E731
        if isinstance(integrator, asp.Midas):
            engine = sim.session.method.engine
            test = IntersectionTest(engine)
            yield {"triangles": len(engine.table.shapes.face)}
        sim.advance_to(STEP)
        yield {
            "notes": _noted(report, sim),
            "start": round(time.process_time() - start, 2),
        }
        for _ in range(round((QUIET - STEP) / HOLD)):
            advance(sim, test, HOLD)
        yield {"quiet": round(time.process_time() - start, 2)}
        start = time.process_time()
        rng = np.random.default_rng(0)
        for _ in range(round(MOVING / HOLD)):
            random_motors(model, sim.data, rng)
            advance(sim, test, HOLD)
        stats = sim.stats
        yield {
            "class": "runs",
            "moving": round(time.process_time() - start, 2),
            "iterations": round(stats.iterations / max(stats.steps, 1), 1),
            "fallbacks": stats.fallbacks,
            "clearance": _finite(sim.clearance),
        }
    except Verdict as verdict:
        yield {"class": verdict.kind, "message": verdict.message}
    except AsperityError as error:
        met = any(word in str(error) for word in (" intersect", " touch", "outside its range"))
        known = isinstance(error, asp.ModelError)
        yield {
            "class": "refused: overlap" if met else "refused: element" if known else "exception",
            "message": str(error),
        }
    except Exception as error:
        yield {"class": "exception", "message": f"{type(error).__name__}: {error}"}
