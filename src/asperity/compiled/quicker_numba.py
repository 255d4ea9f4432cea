"""What a process that only compiles does to Numba, so that it takes less time in Python.

More than half of a cold start goes into Numba's own Python code. Nothing here changes what is
compiled: what was found once is remembered, and what nobody asks for is not found out. A Numba
whose insides are called by other names is left as it is, and slower.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from numba.core import base, event, postproc, transforms, types

__all__ = ["make_numba_quicker"]


def _remember_types() -> None:
    """Resolve an operator or built-in function once for the same types of its arguments.

    Numba does it anew for every use of every line, trying a dozen templates, most of which are
    those of lists, sets and strings: a seventh of all its time. What it finds depends on nothing
    else: but for inlining, all that is compiled here has the same settings.
    """
    function: Any = types.BaseFunction
    resolve = function.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        known = vars(self).setdefault("_known_call_types", {})
        key = (context, tuple(args), tuple(kws.items()))
        if key not in known:
            known[key] = resolve(self, context, args, kws)
        return known[key]

    function.get_call_type = get_call_type


def _remember_parameters() -> None:
    """Look once whether one of Numba's functions has a parameter of a certain name."""
    module: Any = base
    module._has_loc = functools.cache(module._has_loc)


def _find_lifetimes_when_asked() -> None:
    """Find out where variables live when somebody asks for it.

    Numba does so after each of a dozen passes, three of which ask.
    """
    processor: Any = postproc.PostProcessor
    run, lifetime = processor.run, postproc.VariableLifetime
    # What it does besides; another version might do more.
    if not {"block_entry_vars", "generator_info", "_insert_var_dels"} <= {*run.__code__.co_names}:
        return

    def run_lazily(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = self.func_ir
        if emit_dels or function.is_generator:
            run(self, emit_dels, extend_lifetimes)
            return
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = lifetime(function.blocks)
        function.generator_info = None

    processor.run = run_lazily


def _announce_nothing() -> None:
    """Drop the announcements of every step's beginning and end, to which nobody listens here."""
    module: Any = event
    if module.broadcast.__code__.co_argcount == 1:
        module.broadcast = lambda event: None


def make_numba_quicker() -> None:
    """Change Numba in this process, which does nothing else than compile."""
    for change in (
        _remember_types,
        _remember_parameters,
        _find_lifetimes_when_asked,
        _announce_nothing,
    ):
        with contextlib.suppress(AttributeError):
            change()
