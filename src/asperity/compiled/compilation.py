"""Compilation of all that a simulation needs, ahead of its first step.

Kernels are compiled once and then loaded from Numba's disk cache. The compiling is done by worker
processes, because Numba compiles one function at a time in a process, and because every process
then runs the very same machine code: results are the same bits in the first run and all later ones.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence

from asperity.compiled.decorators import Kernel
from asperity.compiled.worker_processes import feed_workers

__all__ = ["LOGGER", "compile_kernels"]

LOGGER = logging.getLogger("asperity")
"""Says, once in a process, that there is something to wait for.

As a warning, because Python shows these on the standard error where a program configures nothing.
"""

_LOCK = threading.Lock()
_WORKERS = 2
_announced = False


def compile_kernels(
    kernels: Sequence[Kernel],
    purpose: str = "this simulation",
    *,
    progress: Callable[[], None] | None = None,
) -> None:
    """Make kernels ready: load them, or compile them on up to two cores and load them.

    Parameters
    ----------
    kernels
        Those that take longest should come first.
    purpose
        What they are for, as the user knows it, who is told that there is something to wait for.
    progress
        Called instead, by any thread, whenever a process has dealt with another kernel.
    """
    with _LOCK:
        missing = [kernel for kernel in kernels if not kernel.load()]
        if not missing:
            return
        kept = [kernel.name for kernel in missing if kernel.is_kept]
        if progress is None:
            _announce(purpose, once=bool(kept))
        # Where no process can be started, all is compiled here; so is what these could not hand
        # over, for want of a cache folder.
        if kept:
            with contextlib.suppress(OSError):
                feed_workers("asperity.compiled.worker", kept, _WORKERS, progress or (lambda: None))
        for kernel in missing:
            if not kernel.load():
                kernel.compile()


def _announce(purpose: str, *, once: bool) -> None:
    global _announced
    if not _announced:
        _announced = True
        LOGGER.warning(
            "Asperity compiles its kernels for %s; this takes about half a minute%s.",
            purpose,
            " and happens once" if once else "",
        )
