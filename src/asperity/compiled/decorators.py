"""The two Numba decorators that everything compiled in Asperity uses.

Numba's disk cache notices a change in the file of the cached function only. A kernel that inlines a
function, a table layout or a struct offset from another file would be loaded stale after that file
changes. Every cache entry is therefore stamped with all sources of the package and the version of
MuJoCo, so that any change anywhere recompiles.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import config
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.sigutils import normalize_signature

__all__ = [
    "METHOD_SIGNATURE",
    "EntryPoint",
    "compiled",
    "compiled_method",
    "entry_point",
    "load_loop",
]

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
        text = path.read_bytes()
        # Only files that compile something, or lay out what is compiled, can make code stale.
        if b"asperity.compiled" in text or path.parent.name == "compiled":
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(text)
    return digest.hexdigest()


_STAMP = _package_stamp()


def _stamp_cache(function: Any) -> None:
    """Replace the one-file source stamp of a dispatcher's disk cache by that of the package."""
    cache = function._cache
    file = getattr(cache, "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        file._source_stamp = (_STAMP, file._source_stamp)


def load_loop(loop: Any, arguments: tuple[Any, ...]) -> bool:
    """Load a `compiled` function for these argument types from the disk cache, if it is there."""
    if arguments in loop.overloads:
        return True
    if loop._cache.load_overload(arguments, loop.targetctx) is None:
        return False
    loop.compile(arguments)
    return True


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a kernel: no GIL, cached on disk, IEEE semantics for NaN and inf."""
    dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FASTMATH)(
        function
    )
    _stamp_cache(dispatcher)
    return dispatcher


_VECTORIZERS = {"LOOP_VECTORIZE": 0, "SLP_VECTORIZE": 1}


@contextlib.contextmanager
def _vectorizing_blocks() -> Iterator[None]:
    """Compile with LLVM's vectorizer of straight-line code instead of that of loops.

    The innermost loops here run over 3, 6 or a dozen numbers; vectorized bodies with their
    prologues and remainders make the whole simulation a quarter slower. The kernels of 6 × 6 blocks
    are written out, and a sixth faster when their lines are vectorized.
    """
    with global_compiler_lock:
        before = {name: vars(config)[name] for name in _VECTORIZERS}
        vars(config).update(_VECTORIZERS)
        try:
            yield
        finally:
            vars(config).update(before)


class _NotCached(Exception):
    """Raised instead of compiling."""


class _CachedOnly(CFunc):
    def _compile_uncached(self) -> Any:
        raise _NotCached


class EntryPoint:
    """A compiled C function, made when its address is first asked for.

    Callers reach it through its address, so they neither contain its code nor are compiled again
    with it: without such borders Numba would optimise the innermost kernels once for every level
    above them.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function = function
        self._signature = signature
        self._compiled: CFunc | None = None

    def _make(self, kind: type[CFunc]) -> CFunc:
        # This is numba.cfunc(signature, cache=True, ...) with the cache stamped before it is
        # looked up.
        entry = kind(
            self._function,
            normalize_signature(self._signature),
            locals={},
            options={"nopython": True, "error_model": "numpy", "fastmath": _FASTMATH},
        )
        entry.enable_caching()
        _stamp_cache(entry)
        return entry

    def load(self) -> bool:
        """Load the code from the disk cache if it is there; False if it must be compiled."""
        if self._compiled is None:
            entry = self._make(_CachedOnly)
            try:
                entry.compile()
            except _NotCached:
                return False
            self._compiled = entry
        return True

    @property
    def address(self) -> int:
        """Address of the C function, valid for the life of the process."""
        if self._compiled is None:
            entry = self._make(CFunc)
            with _vectorizing_blocks():
                entry.compile()
            self._compiled = entry
        address = self._compiled.address
        assert address is not None
        return int(address)

    @property
    def was_cached(self) -> bool:
        """Whether the code came from the disk cache (False before the address was asked for)."""
        return self._compiled is not None and self._compiled.cache_hits > 0


def entry_point(signature: Any) -> Callable[[Callable[..., Any]], EntryPoint]:
    """Decorate a function that compiled code calls through its address."""
    return lambda function: EntryPoint(function, signature)


def compiled_method(function: Callable[..., Any]) -> EntryPoint:
    """Decorate a method (see `METHOD_SIGNATURE`)."""
    return EntryPoint(function, METHOD_SIGNATURE)
