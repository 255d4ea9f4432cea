"""Machine code that comes with a wheel, so that nothing is compiled at the first step.

A wheel for Linux on x86-64 has a folder ``machine_code`` beside the package's sources. It holds the
entry points and loops of every integrator, made for the processors of x86-64-v3 (AVX2 and FMA: from
2013 on). They count only for the sources, the versions of Python and Numba, and the structs of
MuJoCo with which they were made; anything else is compiled where it is used, as in a checkout.
``release/build_wheel.py`` makes them, by ``python -m asperity.compiled --wheel``.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.caching import IndexDataCacheFile

from asperity.compiled.index_checks import CHECKS_INDICES

__all__ = ["FOLDER", "SHIPPING", "ShippedCode", "can_run", "is_shipping"]

_MACHINE = "x86-64-v3"
"""LLVM's name of the processors for which code is shipped."""

_SHIPS_CODE = "ASPERITY_SHIP_CODE"
"""Environment variable of processes that put what they compile into the package."""

# What they have, by LLVM's names. https://en.wikipedia.org/wiki/X86-64#Microarchitecture_levels
_FEATURES = (
    *("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
)

SHIPPING = {
    _SHIPS_CODE: "1",
    "NUMBA_CPU_NAME": _MACHINE,
    "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in _FEATURES),
}
"""Environment of the processes that make what is shipped."""

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(_ROOT, "machine_code")
"""Where the package's machine code is."""


def is_shipping() -> bool:
    """Whether this process makes the code that is shipped."""
    return os.environ.get(_SHIPS_CODE) == "1"


def can_run(features: Mapping[str, bool]) -> bool:
    """Whether a processor with these features, by LLVM's names, can run what is shipped."""
    return all(features.get(feature, False) for feature in _FEATURES)


@functools.cache
def _is_used() -> bool:
    """Whether there is code in the package that this processor can run.

    Who tells Numba for which processor to compile gets code for that one.
    """
    told = any(vars(config)[name] is not None for name in ("CPU_NAME", "CPU_FEATURES"))
    return os.path.isdir(FOLDER) and not told and can_run(llvm.get_host_cpu_features())


class ShippedCode:
    """The code of one function in the package.

    Parameters
    ----------
    function : Callable
    stamp : str
        Of all sources that the code may contain.
    """

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        code = function.__code__
        inside = os.path.splitext(os.path.relpath(os.path.abspath(code.co_filename), _ROOT))[0]
        name = f"{function.__qualname__}-{code.co_firstlineno}.{sys.implementation.cache_tag}"
        self._file = IndexDataCacheFile(
            os.path.join(FOLDER, inside), name + getattr(sys, "abiflags", ""), stamp
        )

    @classmethod
    def of(cls, function: Callable[..., Any], stamp: str) -> ShippedCode | None:
        """Find the code of a function that is not contained by others.

        None if the function is not a module's of Asperity, or if nothing in the package can be run
        here.
        """
        file = os.path.abspath(function.__code__.co_filename)
        if not file.startswith(_ROOT + os.sep) or function.__closure__ is not None:
            return None
        return cls(function, stamp) if is_shipping() or _is_used() else None

    def _key(self, signature: Any, codegen: Any) -> Any:
        """Name an entry, whatever processor this is."""
        return (signature, codegen.magic_tuple()[0], CHECKS_INDICES)

    def has(self, signature: Any, codegen: Any) -> bool:
        """Whether there is code for this signature, made from the present sources."""
        return self._key(signature, codegen) in self._file._load_index()

    def load(self, signature: Any, codegen: Any) -> Any:
        """Load what was saved; None if there is nothing."""
        return self._file.load(self._key(signature, codegen))

    def save(self, signature: Any, codegen: Any, code: Any) -> None:
        """Put code into the package."""
        os.makedirs(self._file._cache_path, exist_ok=True)
        self._file.save(self._key(signature, codegen), code)
