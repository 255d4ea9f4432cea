"""Runs methods on cases, in processes of their own: an engine that crashes takes nothing along."""

from __future__ import annotations

import multiprocessing
import queue
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import PackageNotFoundError, version

from benchmarks.verification.families import CASES
from benchmarks.verification.methods import evaluate, resolve, warm_up
from benchmarks.verification.results import Result

__all__ = ["run", "run_one"]

_warm: set[str] = set()


def _versions(method: str) -> str:
    packages = {"drake": ("drake",), "mujoco": ("mujoco-core",)}.get(
        method.partition(":")[0].partition("@")[0], ("asperity", "mujoco-core")
    )
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
    return Result(case, method, value, status, time.perf_counter() - started, _versions(method))


class _Worker:
    """A process that runs one job after the other, and is replaced when a job ends it."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, job: tuple[str, str, float]) -> Result:
        case, method, limit = job
        if self._pool is None:
            # A clean process: compiled code and threads of this one stay here.
            self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        try:
            return self._pool.submit(run_one, case, method, limit).result()
        except BrokenProcessPool:
            self.close()
            return Result(case, method, None, "failed: it ended the program", 0.0, "")

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


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
