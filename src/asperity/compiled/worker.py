"""A process that compiles the kernels whose names it is told, and leaves them on disk.

It lives for seconds and does nothing else, so that it can be set up for Numba, most of whose time
goes into Python: a quarter less is spent here than in the process of a user.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys

from asperity.compiled.quicker_numba import make_numba_quicker

__all__: list[str] = []


def _work() -> None:
    """Compile the kernels whose names arrive on standard input; answer each with a line."""
    make_numba_quicker()
    # Most of what Numba makes stays until the end. Looking for garbage, and taking it apart, is a
    # sixth of all time; it is done when there may be some hundred megabytes of it.
    gc.freeze()
    gc.set_threshold(2_000_000, 2, 2)
    for line in sys.stdin:
        module, _, function = line.strip().partition(":")
        # What cannot be compiled here is compiled, and complained about, by the parent.
        with contextlib.suppress(Exception):
            getattr(importlib.import_module(module), function).compile()
        print(flush=True)


if __name__ == "__main__":
    _work()
