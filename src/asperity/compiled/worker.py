"""A process that compiles the kernels whose names it is told, and leaves them on disk.

It lives for seconds and does nothing else, so that it can be set up for Numba, most of whose time
goes into Python: a quarter less is spent here than in the process of a user.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from typing import Any

import numba.core.types as numba_types

__all__: list[str] = []


def _remember_types() -> None:
    """Resolve an operator or built-in function once for the same types of its arguments.

    Numba does it anew for every use of every line, trying a dozen templates, most of which are
    those of lists, sets and strings: a seventh of all its time. What it finds depends on nothing
    else: but for inlining, all that is compiled here has the same settings.
    """
    function: Any = numba_types.BaseFunction
    resolve = function.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        known = vars(self).setdefault("_known_call_types", {})
        key = (context, tuple(args), tuple(kws.items()))
        if key not in known:
            known[key] = resolve(self, context, args, kws)
        return known[key]

    function.get_call_type = get_call_type


def _work() -> None:
    """Compile the kernels whose names arrive on standard input; answer each with a line."""
    # A Numba without it is as good, and slower.
    with contextlib.suppress(AttributeError):
        _remember_types()
    # Most of what Numba makes stays until the end: looking for garbage is time lost.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    for line in sys.stdin:
        module, _, function = line.strip().partition(":")
        # What cannot be compiled here is compiled, and complained about, by the parent.
        with contextlib.suppress(Exception):
            getattr(importlib.import_module(module), function).compile()
        print(flush=True)


if __name__ == "__main__":
    _work()
