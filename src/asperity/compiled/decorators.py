"""The two Numba decorators that everything compiled in Asperity uses.

Numba's disk cache notices a change in the file of the cached function only. A kernel that inlines a
function, a table layout or a struct offset from another file would be loaded stale after that file
changes. Every cache entry is therefore stamped with all sources of the package and the version of
MuJoCo, so that any change anywhere recompiles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numba
from numba import types

__all__ = ["METHOD_SIGNATURE", "compiled", "compiled_method"]

# NaN and inf must stay visible, so the flags that assume their absence (nnan, ninf) are left out.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}

METHOD_SIGNATURE = types.int64(types.int64, types.int64, types.int64, types.float64)
"""``status = method(world, source, target, h)``: addresses of three tables, and a step size [s]."""


def _mujoco_version() -> str:
    for name in ("mujoco-core", "mujoco"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


def _package_stamp() -> str:
    digest = hashlib.sha256(_mujoco_version().encode())
    root = Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _package_stamp()


def _stamp_cache(function: Any) -> None:
    """Replace the one-file source stamp of a dispatcher's disk cache by that of the package."""
    cache = function._cache
    file = getattr(cache, "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        file._source_stamp = (_STAMP, file._source_stamp)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a kernel: no GIL, cached on disk, IEEE semantics for NaN and inf."""
    dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FASTMATH)(
        function
    )
    _stamp_cache(dispatcher)
    return dispatcher


def compiled_method(function: Callable[..., Any]) -> Any:
    """Compile a method to a C function, whose ``address`` other compiled code can call."""
    from numba.core.ccallback import CFunc
    from numba.core.sigutils import normalize_signature

    # This is numba.cfunc(METHOD_SIGNATURE, cache=True, ...) with the cache stamped before it is
    # looked up, which the decorator would do at once.
    method = CFunc(
        function,
        normalize_signature(METHOD_SIGNATURE),
        locals={},
        options={"nopython": True, "error_model": "numpy", "fastmath": _FASTMATH},
    )
    method.enable_caching()
    _stamp_cache(method)
    method.compile()
    return method
