"""Where Numba keeps compiled code on disk, and how that is loaded again without its compiler.

Numba's own way of loading makes the whole compiler ready for every function, and reads each one's
intermediate code besides its machine code, so that others could contain it. Most processes compile
nothing, and what stands at a border of compiled code is contained by nobody.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    NullCache,
)
from numba.core.compiler import CompileResult
from numba.core.environment import Environment
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from asperity.compiled.contained import ContainedCode, unknown_numba
from asperity.compiled.index_checks import CHECKS_INDICES
from asperity.compiled.shipped_code import ShippedCode, is_shipping
from asperity.compiled.sources import source_stamp
from asperity.errors import warn_user

__all__ = ["is_compiled", "is_kept", "keep"]

# What users are told, once, where nothing can be kept on disk.
_NO_CACHE = (
    "There is no folder in which compiled kernels could be kept (neither beside Asperity's sources "
    "nor in the home folder), so every process compiles them again, for about half a minute; set "
    "NUMBA_CACHE_DIR=... to a folder that can be written to."
)
_KEEPS = "keeps compiled code on disk"
_warned_of_no_cache = False
_compiler_is_loaded = False


def _load_compiler() -> None:
    """Load what Numba needs to compile, without SciPy's linear algebra.

    Numba imports that (0.3 s, with NumPy's Fortran compiler) to see whether it is there. Asperity
    requires SciPy; who uses linear algebra in compiled functions imports it then.
    """
    global _compiler_is_loaded
    if _compiler_is_loaded:
        return
    linalg: Any = importlib.import_module("numba.np.linalg")
    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arraymath: Any = importlib.import_module("numba.np.arraymath")
        arraymath.ensure_blas = look
    finally:
        linalg.ensure_blas = look
    _compiler_is_loaded = True


class _KeptCode(FunctionCache):
    """Numba's files of a function, stamped with the sources of everything that it may contain.

    What a wheel brings of the function, if anything, counts first.
    """

    def __init__(self, function: Callable[..., Any], shipped: ShippedCode | None) -> None:
        super().__init__(function)
        # Numba offers no public way to say what else an entry depends on.
        try:
            own_stamp = self._cache_file._source_stamp
            _ = self._cache_file._load_index, self._index_key, self._load_overload
        except AttributeError as error:
            raise unknown_numba(_KEEPS, str(error)) from error
        stamp = source_stamp(function.__code__.co_filename)
        self._cache_file._source_stamp = (stamp, own_stamp)
        self._shipped = shipped
        # What is made for a wheel goes there alone.
        self._ships = shipped is not None and is_shipping()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Name an entry; code that checks its indices and code that does not have their own."""
        return (super()._index_key(sig, codegen), CHECKS_INDICES)

    def has(self, sig: Any, codegen: Any) -> bool:
        """Whether code for this signature, made from the present sources, is on disk."""
        if self._shipped is not None and self._shipped.has(sig, codegen):
            return True
        key = self._index_key(sig, codegen)
        return not self._ships and key in self._cache_file._load_index()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load an entry, or return None.

        What an entry refers to is Numba's runtime. The rest is made ready where it is missing.
        """
        found = _load_shipped(self._shipped, sig, target_context)
        if found is None and not self._ships:
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
        if found is None:
            _load_compiler()
        return found

    def _save_overload(self, sig: Any, data: Any) -> None:
        if self._ships:
            assert self._shipped is not None
            self._shipped.save(sig, data.codegen, self._impl.reduce(data))
        else:
            super()._save_overload(sig, data)


class _NothingKept(NullCache):
    """Where no folder can be written to: what a wheel brings, if anything."""

    def __init__(self, shipped: ShippedCode | None) -> None:
        self._shipped = shipped

    def has(self, sig: Any, codegen: Any) -> bool:
        """Whether the wheel has code for this signature, made from the present sources."""
        return self._shipped is not None and self._shipped.has(sig, codegen)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load an entry, or return None; then all that is compiled is compiled in every process."""
        global _warned_of_no_cache
        found = _load_shipped(self._shipped, sig, target_context)
        if found is None:
            _load_compiler()
            if not _warned_of_no_cache:
                _warned_of_no_cache = True
                warn_user(_NO_CACHE)
        return found


def _load_shipped(shipped: ShippedCode | None, sig: Any, target_context: Any) -> Any:
    """Load what a wheel brings of a function, or return None."""
    rtsys.initialize(target_context)
    code = None if shipped is None else shipped.load(sig, target_context.codegen())
    return None if code is None else CompileResult._rebuild(target_context, *code)


class _WholeCode(CompileResultCacheImpl):
    """Entries that no other function contains: machine code and the names of its functions."""

    def reduce(self, cres: Any) -> Any:
        # Nobody reads the types of all variables in words.
        plain = cres._replace(type_annotation="")
        (name, kind, code), *rest, environments = super().reduce(plain)
        if kind != "object":
            raise unknown_numba(_KEEPS, kind)
        machine_code, _ = code
        described = cres.fndesc
        names = (
            described.llvm_func_name,
            described.llvm_cpython_wrapper_name,
            described.llvm_cfunc_wrapper_name,
        )
        # Numba asks the intermediate code which functions there are. It is all that it is read for.
        defined = [one for one in names if cres.library.get_pointer_to_function(one)]
        stub = "\n".join(f'define void @"{one}"() {{ ret void }}' for one in defined)
        bitcode = llvm.parse_assembly(stub).as_bitcode()
        environments = tuple(_without_module(environment) for environment in environments)
        return ((name, kind, (machine_code, bitcode)), *rest, environments)


def _without_module(environment: Environment) -> Environment:
    """Replace the environment of one of Numba's functions by one that needs no import of it.

    Compiled code takes constants out of its environment, if anything, and never the variables of
    the module.
    """
    if not environment.globals["__name__"].startswith("numba."):
        return environment
    plain = Environment({"__name__": "numba"})
    plain.consts[:] = environment.consts
    plain.env_name = environment.env_name
    return plain


class _KeptKernel(_KeptCode):
    _impl_class: Any = ContainedCode


class _KeptBorder(_KeptCode):
    _impl_class: Any = _WholeCode


def keep(target: Any, function: Callable[..., Any], *, border: bool = False) -> None:
    """Keep what is compiled from a function on disk.

    Where Numba finds no folder that it can write to, nothing is kept.

    Parameters
    ----------
    target
        Dispatcher or C callback of Numba.
    function
        From which it compiles.
    border
        Whether compiled functions reach it through its address alone.
    """
    if not hasattr(target, "_cache"):
        raise unknown_numba(_KEEPS, "functions have no _cache")
    stamp = source_stamp(function.__code__.co_filename)
    # Kernels that others contain are not in a wheel.
    shipped = ShippedCode.of(function, stamp) if border else None
    try:
        target._cache = (_KeptBorder if border else _KeptKernel)(function, shipped)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        target._cache = _NothingKept(shipped)


def is_kept(target: Any) -> bool:
    """Whether there is a folder on disk where the code is kept."""
    return not isinstance(target._cache, NullCache)


def is_compiled(target: Any, signature: Any) -> bool:
    """Whether code for this signature, made from the present sources, is on disk."""
    return bool(target._cache.has(signature, cpu_target.target_context.codegen()))
