"""Machine code that comes with a wheel, so that nothing is compiled at the first step.

A wheel for Linux on x86-64 has a folder ``machine_code`` beside the package's sources. It holds the
entry points and loops of every integrator, made for the processors of x86-64-v3 (AVX2 and FMA: from
2013 on). They count only for the sources, the versions of Python and Numba, and the structs of
MuJoCo with which they were made; anything else is compiled where it is used, as in a checkout.
``release/build_wheel.py`` makes them, in processes whose environment has `SHIPS_CODE`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping

import llvmlite.binding as llvm
from numba.core import config
from numba.core.caching import IndexDataCacheFile

__all__ = ["MACHINE", "SHIPPING", "SHIPS_CODE", "can_run", "is_shipping", "shipped_file"]

MACHINE = "x86-64-v3"
"""LLVM's name of the processors for which code is shipped."""

SHIPS_CODE = "ASPERITY_SHIP_CODE"
"""Environment variable of processes that put what they compile into the package."""

# What they have, by LLVM's names. https://en.wikipedia.org/wiki/X86-64#Microarchitecture_levels
_FEATURES = (
    *("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
)

SHIPPING = {
    SHIPS_CODE: "1",
    "NUMBA_CPU_NAME": MACHINE,
    "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in _FEATURES),
}
"""Environment of the processes that make what is shipped."""

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FOLDER = os.path.join(_ROOT, "machine_code")


def is_shipping() -> bool:
    """Whether this process makes the code that is shipped."""
    return os.environ.get(SHIPS_CODE) == "1"


def can_run(features: Mapping[str, bool]) -> bool:
    """Whether a processor with these features, by LLVM's names, can run what is shipped."""
    return all(features.get(feature, False) for feature in _FEATURES)


@functools.cache
def _is_used() -> bool:
    """Whether there is code in the package that this processor can run.

    Who tells Numba for which processor to compile gets code for that one.
    """
    told = any(vars(config)[name] is not None for name in ("CPU_NAME", "CPU_FEATURES"))
    return os.path.isdir(_FOLDER) and not told and can_run(llvm.get_host_cpu_features())


def shipped_file(source: str, name: str, stamp: str) -> IndexDataCacheFile | None:
    """Find the shipped code of a function.

    Parameters
    ----------
    source
        File of the function.
    name
        Numba's name for the function's files.
    stamp
        Of all sources that the code may contain.

    Returns
    -------
    IndexDataCacheFile or None
        None if the function is not Asperity's, or if nothing is shipped that this processor can
        run.
    """
    inside = os.path.relpath(os.path.abspath(source), _ROOT)
    if inside.startswith(os.pardir):
        return None
    folder = os.path.join(_FOLDER, os.path.splitext(inside)[0])
    if is_shipping():
        os.makedirs(folder, exist_ok=True)
    elif not _is_used():
        return None
    return IndexDataCacheFile(folder, name, stamp)
