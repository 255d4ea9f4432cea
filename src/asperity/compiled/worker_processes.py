"""Processes beside this one that do work one line at a time and leave what they made on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

__all__ = ["feed_workers"]


def feed_workers(
    module: str, lines: Sequence[str], most: int, progress: Callable[[], None] = lambda: None
) -> None:
    """Start processes, give them one line after another, and end them.

    Processes of their own, because those of `multiprocessing` import the user's program again.

    Parameters
    ----------
    module : str
        A program that answers each line of its standard input with one.
    lines : sequence of str
        What takes longest should come first.
    most : int
        Processes at most; there are no more than cores or lines.
    progress : callable
        Called by any thread after every answer.

    Raises
    ------
    OSError
        If no process can be started.
    """
    if not sys.executable:
        return
    # The workers must find the same package, however this process found it.
    folders = [folder for folder in sys.path if folder]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(folders),
        # Numba tries much that does not fit, and colours messages that nobody sees.
        "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1",
    }
    # An iterator shared between threads is a queue.
    queue = iter(lines)
    lock = threading.Lock()
    workers = []
    try:
        for _ in range(min(most, os.cpu_count() or 1, len(lines))):
            workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", module],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            )
        with ThreadPoolExecutor(len(workers)) as threads:
            try:
                list(threads.map(lambda worker: _feed(worker, queue, lock, progress), workers))
            except BaseException:
                for worker in workers:
                    worker.kill()
                raise
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def _feed(
    worker: subprocess.Popen[str],
    queue: Iterator[str],
    lock: threading.Lock,
    progress: Callable[[], None],
) -> None:
    """Give a worker one line after another until there are none, or until it has died."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    while True:
        with lock:
            line = next(queue, None)
        if line is None:
            return
        try:
            worker.stdin.write(line + "\n")
            worker.stdin.flush()
        except BrokenPipeError:
            return
        if not worker.stdout.readline():
            return
        progress()
