"""Integrators on the models that people have: every model of some packages, for a moment.

``python -m studies benchmark public_models`` from the root of the repository loads every URDF and
MJCF file of the packages that are installed (`PACKAGES`; they are found, never imported) and of
folders (``--folder PATH``, as of a checkout of MuJoCo), lets an integrator (``--method NAME``,
Midas by default) run each for 0.3 s and then for a second with random motors, and counts how that
ended. Others than Midas take the model's own time step. Whether anything intersects under Midas is
asked of ``ipctk``. A file that MuJoCo itself does not load is left out.

Models run one after the other, each with a limit of CPU time, so that other work on the machine
does not decide, in a process that is replaced when a model takes too long or ends it. What was done
is kept in a file, and a second call goes on from there; ``--again CLASS`` does those of a class
again. ``--rates`` measures instead how fast those that run under Midas do, in steps of 5 ms and
without ``ipctk``.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import asperity as asp
from asperity.errors import AsperityError, Status
from asperity.midas.verification import IntersectionTest
from studies.benchmarks.report import RESULTS

PACKAGES = {
    "example-robot-data": ("cmeel", "../cmeel.prefix/share/example-robot-data"),
    "gymnasium-robotics": ("gymnasium_robotics", "."),
    "robosuite": ("robosuite", "."),
    "dm_control": ("dm_control", "."),
    "mujoco": ("mujoco", "."),
    "gymnasium": ("gymnasium", "."),
    "rtb-data": ("rtbdata", "."),
    "icub-models": ("icub_models", "../../../../share/iCub"),
    "safety-gymnasium": ("safety_gymnasium", "."),
    "gym-aloha": ("gym_aloha", "."),
    "metaworld": ("metaworld", "."),
    "myosuite": ("myosuite", "."),
    "robosuite-models": ("robosuite_models", "."),
    "brax": ("brax", "."),
    "playground": ("mujoco_playground", "."),
}
"""Importable name beside which a package's models lie, and their folder from there.

Those of ``mujoco-mjx`` lie in a folder of MuJoCo's name, its own or another one on the path.
"""

INTEGRATORS: dict[str, Callable[[float], asp.Integrator]] = {
    "Midas": lambda _: asp.Midas(time_step=STEP),
    "Icf": lambda step: asp.Icf(time_step=step),
    "Cenic": lambda _: asp.Cenic(),
    "Sap": lambda step: asp.Sap(time_step=step),
    "Tamsi": lambda step: asp.Tamsi(time_step=step),
}
"""By the model's own time step [s]."""

STEP = 0.01
RATE_STEP, RATE_PART = 0.005, 0.05
"""Steps and parts [s] of measurements of rates."""
RATE_QUIET, RATE_MOVING = 0.3, 0.5
RATE_LIMIT = 12.0
"""CPU time after which either is measured by what it has come to [s]."""
SLOWEST = 0.05
"""Simulated over CPU time that no robot should be slower than."""
QUIET = 0.3
"""Time without motors [s]."""
MOVING = 1.0
"""Time with random ones [s], which change every `HOLD`."""
HOLD = 0.1
QUIET_LIMIT, MOVING_LIMIT = 40.0, 80.0
"""CPU time that making the simulator and the first part may take, and that of the second [s]."""
PATIENCE = 20.0
"""Wall time over CPU time of a process that waits for something else than the processor."""
LARGEST_ACCELERATION = 200.0
"""What a motor may do to its joint alone [rad/s² or m/s²]."""
ACCELERATION = 20.0
"""Of joints without motors: as much torque as gives each this alone [rad/s² or m/s²]."""

CLASSES = (
    "runs",
    "refused: overlap",
    "refused: element",
    "slow",
    "exception",
    "not converged",
    "not finite",
    "intersecting",
)


def find_models(folders: Sequence[Path] = ()) -> Iterator[tuple[str, Path]]:
    """Names and paths of all model files, those that are only parts of models included."""
    places = [
        (package, (Path(place) / module / folder).resolve())
        for package, (module, folder) in PACKAGES.items()
        for place in dict.fromkeys(sys.path)
    ]
    places += [(folder.name, folder.resolve()) for folder in folders]
    for package, root in places:
        if root.is_dir():
            for path in sorted(root.rglob("*")):
                if path.suffix in (".urdf", ".xml"):
                    text = path.read_text(errors="replace")
                    if "<mujoco" in text or "<robot" in text:
                        yield f"{package}/{path.relative_to(root)}", path


def random_motors(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator) -> None:
    """Write random controls, or random forces on the joints of a model without motors.

    What a motor's range allows in some models, 20 kN m at a shoulder, is left out.
    """
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    if model.nu:
        low, high = model.actuator_ctrlrange.T
        limited = model.actuator_ctrllimited.astype(bool)
        data.ctrl[:] = rng.uniform(np.where(limited, low, -1.0), np.where(limited, high, 1.0))
        for i in range(model.nu):
            plain = model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE
            if plain and model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT:
                dof = int(model.jnt_dofadr[model.actuator_trnid[i, 0]])
                gain = abs(model.actuator_gear[i, 0] * model.actuator_gainprm[i, 0])
                most = LARGEST_ACCELERATION * inertia[dof, dof] / max(gain, 1e-12)
                data.ctrl[i] = np.clip(data.ctrl[i], -most, most)
        return
    for joint in np.flatnonzero(model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)):
        dof = int(model.jnt_dofadr[joint])
        force = ACCELERATION * inertia[dof, dof] * rng.uniform(-1.0, 1.0)
        if model.jnt_actfrclimited[joint]:
            force = float(np.clip(force, *model.jnt_actfrcrange[joint]))
        data.qfrc_applied[dof] = force


class Verdict(Exception):
    """How a model ended before its time."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


def allow(seconds: float) -> None:
    """Let this process end itself after so much more CPU time."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), most))


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


def parts(path: str, method: str) -> Iterator[dict[str, Any]]:
    """Run one model; yields what is known after it was loaded, after each part, and at the end."""
    try:
        model, _ = asp.load_model(path)
    except AsperityError as error:
        yield {"class": "does not load", "message": str(error)}
        return
    yield {"dofs": int(model.nv), "motors": int(model.nu)}
    allow(QUIET_LIMIT)
    start = time.process_time()
    try:
        integrator = INTEGRATORS[method](float(model.opt.timestep))
        sim = asp.Simulator(model, integrator=integrator)
        test: Callable[[], bool] = lambda: False  # noqa: E731
        if isinstance(integrator, asp.Midas):
            engine = sim.session.method.engine
            test = IntersectionTest(engine)
            yield {"triangles": len(engine.table.shapes.face)}
        sim.advance_to(STEP)
        yield {
            "notes": list(sim.load_report.notes),
            "start": round(time.process_time() - start, 2),
        }
        for _ in range(round((QUIET - STEP) / HOLD)):
            advance(sim, test, HOLD)
        yield {"quiet": round(time.process_time() - start, 2)}
        allow(MOVING_LIMIT)
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


def rates(path: str, _method: str) -> Iterator[dict[str, Any]]:
    """Measure how fast one model runs; yields the same as `parts`."""
    try:
        model, _ = asp.load_model(path)
        yield {"dofs": int(model.nv)}
        allow(QUIET_LIMIT + MOVING_LIMIT)
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


def rates_summary(results: dict[str, dict[str, Any]]) -> str:
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
    return "\n".join(lines) + "\n"


def work(connection: Connection, method: str) -> None:
    """Run models as they are named, and tell how they ended."""
    warnings.simplefilter("ignore")
    # What happens once in a process shall not count for the first model.
    ball = "<body pos='0 0 1'><freejoint/><geom size='.1'/></body>"
    asp.Simulator(
        f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}</worldbody></mujoco>",
        integrator=INTEGRATORS[method](STEP),
    ).advance_to(0.02)
    connection.send({})
    while True:
        path, timed = connection.recv()
        for part in rates(path, method) if timed else parts(path, method):
            connection.send(part)


class Worker:
    """A process that runs one model after the other."""

    def __init__(self, method: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=work, args=(other, method), daemon=True)
        self._process.start()
        other.close()
        self._connection.recv()

    def run(self, path: str, timed: bool) -> tuple[dict[str, Any], bool]:
        """Run one model; returns what is known, and whether the process is still of use."""
        known: dict[str, Any] = {}
        self._connection.send((path, timed))
        while "class" not in known:
            part = "random motors" if "quiet" in known else "the first 0.3 s"
            limit = MOVING_LIMIT if "quiet" in known else QUIET_LIMIT
            try:
                if not self._connection.poll(PATIENCE * limit):
                    return known | {"class": "slow", "message": f"{part} do not end"}, False
                known |= self._connection.recv()
            except EOFError:
                self._process.join()
                if self._process.exitcode == -signal.SIGXCPU:
                    return known | {"class": "slow", "message": f"in {part}"}, False
                return known | {"class": "exception", "message": "the process ended"}, False
        return known, True

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def summary(results: dict[str, dict[str, Any]]) -> str:
    """Tables of counts, by package and by outcome, and the reason of all that do not run."""
    results = {name: found for name, found in results.items() if found["class"] != "does not load"}
    counts = Counter(found["class"] for found in results.values())
    notes = [note for found in results.values() for note in found.get("notes", ())]
    ignored = Counter(note.partition(":")[0] for note in notes if "ignore" in note)
    lines = [
        "| package | models | run | slow | refused | anything else |",
        "|---|---|---|---|---|---|",
    ]
    for package in dict.fromkeys(name.split("/")[0] for name in sorted(results)):
        own = [found["class"] for name, found in results.items() if name.startswith(f"{package}/")]
        refused = sum(kind.startswith("refused") for kind in own)
        runs, slow = own.count("runs"), own.count("slow")
        others = len(own) - runs - slow - refused
        lines.append(f"| {package} | {len(own)} | {runs} | {slow} | {refused} | {others} |")
    lines += [
        "",
        f"{len(results)} models",
        "",
        "| | models | with degrees of freedom |",
        "|---|---|---|",
    ]
    for kind in CLASSES:
        moving = sum(
            found["class"] == kind and found.get("dofs", 0) > 0 for found in results.values()
        )
        lines.append(f"| {kind} | {counts[kind]} | {moving} |")
    lines += ["", f"Notes of what is ignored: {ignored.total()}."]
    lines += [f"- {count} times: {note}" for note, count in ignored.most_common()]
    lines += ["", "| model | | why |", "|---|---|---|"]
    for name, found in sorted(results.items(), key=lambda item: (item[1]["class"], item[0])):
        if found["class"] != "runs":
            message = found.get("message", "").replace("\n", " ").replace("|", "/")
            lines.append(f"| {name} | {found['class']} | {message} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", choices=INTEGRATORS, default="Midas")
    parser.add_argument("--folder", action="append", default=[], type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--rates", action="store_true", help="how fast models run, instead")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--again", action="append", default=[], help="classes to do again")
    parser.add_argument(
        "--budget", type=float, default=math.inf, help="wall time to stop after [s]"
    )
    options = parser.parse_args()
    if options.results is None:
        name = "midas_robot_rates" if options.rates else f"{options.method.lower()}_robots"
        options.results = RESULTS / f"{name}.json"
    results: dict[str, dict[str, Any]] = {}
    if options.results.is_file():
        results = json.loads(options.results.read_text())
    start = time.perf_counter()
    worker: Worker | None = None
    for name, path in find_models(options.folder):
        done = name in results and results[name]["class"] not in options.again
        if done or options.only not in name:
            continue
        if time.perf_counter() - start > options.budget:
            break
        worker = worker or Worker(options.method)
        results[name], usable = worker.run(str(path), options.rates)
        if not usable:
            worker.end()
            worker = None
        found = results[name]
        print(f"{name}: {found['class']} {found.get('message', '')[:100]}", flush=True)
        options.results.parent.mkdir(parents=True, exist_ok=True)
        options.results.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    if worker is not None:
        worker.end()
    print(rates_summary(results) if options.rates else summary(results))


if __name__ == "__main__":
    main()
