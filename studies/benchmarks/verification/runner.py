"""Runs methods on cases, in processes of their own: an engine that crashes takes nothing along."""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from studies.benchmarks.verification.families import CASES
from studies.benchmarks.verification.methods import evaluate, resolve, warm_up
from studies.benchmarks.verification.results import Result

__all__ = ["run", "run_one"]

# What a job may need beyond its own limit, for compiling or within a single step, before its
# process is ended [s].
PATIENCE = 300.0

_warm: set[str] = set()


def _versions(method: str) -> str:
    packages = {
        "drake": ("drake",),
        "mujoco": ("mujoco-core",),
        "rapier": ("rapier3d",),
        "motrixsim": ("motrixsim",),
    }.get(method.partition(":")[0].partition("@")[0], ("asperity", "mujoco-core"))
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(package)
    return ", ".join(found)


def run_one(case: str, method: str, limit: float) -> Result:
    """One method on one case; what can be compiled is compiled before the clock starts."""
    resolved = resolve(method)
    if method not in _warm:
        warm_up(resolved)
        _warm.add(method)
    started = time.perf_counter()
    try:
        value, status = evaluate(CASES[case], resolved, limit)
    except Exception as failure:  # a page of what fails must survive it
        value, status = None, f"failed: {type(failure).__name__}: {failure}".splitlines()[0][:160]
    seconds = round(time.perf_counter() - started, 2)
    # Nine digits: what differs beyond them is the machine.
    shown = None if value is None else float(f"{value:.9g}")
    return Result(case, method, shown, status, seconds, _versions(method))


def _serve(connection: Connection) -> None:
    """Run the jobs that come, in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, too
    with contextlib.suppress(EOFError):
        while True:
            connection.send(run_one(*connection.recv()))


class _Worker:
    """A process that runs one job after the other, and is replaced when a job ends or blocks it."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None

    def __call__(self, job: tuple[str, str, float]) -> Result:
        case, method, limit = job
        if self._process is None:
            # A clean process: compiled code and threads of this one stay here.
            context = multiprocessing.get_context("spawn")
            self._connection, end = context.Pipe()
            self._process = context.Process(target=_serve, args=(end,), daemon=True)
            self._process.start()
            end.close()
        reason = f"not finished in {limit:g} s"
        try:
            self._connection.send(job)
            if self._connection.poll(PATIENCE + 3.0 * limit):
                result = self._connection.recv()
                assert isinstance(result, Result)
                return result
        except (EOFError, ConnectionError):
            reason = "failed: it ended the program"
        self.close()
        return Result(case, method, None, reason, 0.0, _versions(method))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _results(todo: Sequence[tuple[str, str, float]], jobs: int) -> Iterator[Result]:
    workers = [_Worker() for _ in range(max(jobs, 1))]
    free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    for worker in workers:
        free.put(worker)

    def work(job: tuple[str, str, float]) -> Result:
        worker = free.get()
        try:
            return worker(job)
        finally:
            free.put(worker)

    with ThreadPoolExecutor(len(workers)) as threads:
        futures = [threads.submit(work, job) for job in todo]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
            for worker in workers:
                worker.close()


def run(
    cases: Sequence[str], methods: Sequence[str], *, limit: float, jobs: int = 1
) -> Iterator[Result]:
    """Results as they come, with a line of progress for each.

    Parameters
    ----------
    cases, methods
        Names.
    limit
        Wall time [s] of a method in a case.
    jobs
        Processes.
    """
    # Case by case, so that a run that is broken off leaves whole rows.
    todo = [(case, method, limit) for case in cases for method in methods]
    for count, result in enumerate(_results(todo, jobs), 1):
        shown = result.status if result.value is None else f"{result.value:.6g}"
        print(
            f"[{count}/{len(todo)}] {result.case}: {result.method}: {shown} "
            f"(truth {CASES[result.case].truth:.6g}, {result.seconds:.1f} s)",
            file=sys.stderr,
            flush=True,
        )
        yield result
