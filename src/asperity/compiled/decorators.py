"""The Numba decorators that everything compiled in Asperity uses.

Three kinds of functions: kernels, which their callers contain; entry points, C functions that
compiled code calls through their address; and loops, which Python calls. Entry points and loops are
compiled ahead of use and kept on disk (`asperity.compiled.compilation`). Every cache entry is
stamped with the sources that it may contain (`asperity.compiled.kept_code`).
"""

from __future__ import annotations

import contextlib
import types as python
from collections.abc import Callable, Iterator
from typing import Any, Protocol, cast

from numba import types
from numba.core import config
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

from asperity.compiled.contained import BorderCompiler, KernelCompiler, connect_environments
from asperity.compiled.kept_code import is_compiled, is_kept, keep

__all__ = [
    "EntryPoint",
    "Kernel",
    "Loop",
    "compiled",
    "compiled_loop",
    "consistent",
    "entry_point",
    "higher_order",
    "inlined",
]

# NaN and inf must stay visible, so the flags that assume their absence (nnan, ninf) are left out.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}

_OPTIONS = {"nopython": True, "error_model": "numpy", "fastmath": _FASTMATH}


class Kernel(Protocol):
    """What can be compiled ahead of its use."""

    name: str
    """Module and function, as ``package.module:function``."""

    @property
    def is_kept(self) -> bool:
        """Whether there is a folder on disk where the code is kept."""
        ...

    def load(self) -> bool:
        """Load the code from the disk cache if it is there; False if it must be compiled."""
        ...

    def compile(self) -> None:
        """Make the code ready, from the disk cache or by compiling."""
        ...


def _name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


_VECTORIZERS = {"LOOP_VECTORIZE": 0, "SLP_VECTORIZE": 1}


@contextlib.contextmanager
def _vectorizing_blocks() -> Iterator[None]:
    """Compile with LLVM's vectorizer of straight-line code instead of that of loops.

    The innermost loops here run over 3, 6 or a dozen numbers; vectorized bodies with their
    prologues and remainders make the whole simulation a quarter slower. The kernels of 6 × 6 blocks
    are written out, and a sixth faster when their lines are vectorized.

    Whatever compiles a kernel first leaves it on disk for all others that contain it. Were the
    settings not always the same, the order of compilation would decide the last bits of results.
    """
    with global_compiler_lock:
        # Where variables of the environment have changed, Numba would read all settings again as it
        # compiles, and undo these.
        config.reload_config()
        before = {name: vars(config)[name] for name in _VECTORIZERS}
        vars(config).update(_VECTORIZERS)
        try:
            yield
        finally:
            vars(config).update(before)


class _Loop(CPUDispatcher):
    """Numba's dispatcher, with Asperity's settings and code that is kept on disk."""

    _compiler_class: Any = BorderCompiler

    def __init__(
        self, function: Callable[..., Any], *, border: bool = False, **options: Any
    ) -> None:
        # Nothing uses what is compiled as a first-class function.
        settings = {**_OPTIONS, "nogil": True, "no_cfunc_wrapper": True, **options}
        super().__init__(function, targetoptions=settings, pipeline_class=self._compiler_class)
        keep(self, function, border=border)

    def compile(self, sig: Any) -> Any:
        """Compile for these types: callers' calls and those of Python both come here."""
        with _vectorizing_blocks():
            return super().compile(sig)

    def add_overload(self, cres: Any) -> None:
        """Take what was compiled or found on disk."""
        super().add_overload(cres)
        connect_environments(cres.library)


def _plain(argument: Any) -> Any:
    """Type that a kernel gets for an argument's.

    To Numba every constant has a type of its own, and a function would be compiled again for each:
    what callers pass is a number. ``array.ctypes.data`` is without a sign, and a variable that
    begins with it and then moves on by integers, which have one, would be a float.
    """
    plain = types.unliteral(argument)
    return types.int64 if plain == types.uint64 else plain


class _Kernel(_Loop):
    """What compiled code calls, without the wrapper that Python would need.

    Python may call it nevertheless, as tests do: that compiles a second form of the same function.
    """

    _compiler_class = KernelCompiler

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, no_cpython_wrapper=True, **options)
        self._options = options
        self._from_python: Any = None

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Find the form that a call needs."""
        plain = tuple(_plain(argument) for argument in args)
        return super().get_call_template(
            plain, {name: _plain(argument) for name, argument in kws.items()}
        )

    def add_overload(self, cres: Any) -> None:
        """Keep what was compiled from Python, which could not call it."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        if self._from_python is None:
            function = self.py_func
            copy = python.FunctionType(
                function.__code__,
                function.__globals__,
                function.__name__,
                function.__defaults__,
                function.__closure__,
            )
            # Its code is kept under this name, apart from that of the other form.
            copy.__qualname__ = function.__qualname__ + ".from_python"
            copy.__module__ = function.__module__
            self._from_python = _Loop(copy, border=True, **self._options)
        return self._from_python._compile_for_args(*args, **kws)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a kernel: no GIL, cached on disk, IEEE semantics for NaN and inf."""
    return _Kernel(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel that is never called but always part of its callers, however large it is.

    For what innermost loops do at every turn: LLVM leaves calls to functions that it finds large.
    """
    return _Kernel(function, forceinline=True)


def consistent(function: Callable[..., Any]) -> Any:
    """Compile an `inlined` kernel with every operation rounded as it is written.

    Elsewhere sums may be taken in another order at every place where they are used. A number whose
    sign decides at one place, and by which something is divided at another, must be the same.
    """
    return _Kernel(function, forceinline=True, fastmath=False)


def higher_order(function: Callable[..., Any]) -> Any:
    """Compile a kernel that takes other kernels as arguments, which it calls at no cost.

    It is not cached by itself, for another process knows its arguments as other objects. The entry
    points that contain it are, as long as they take the arguments from their module's globals: a
    function made inside of another one, with kernels in its closure, is compiled in every process.
    """
    # Inlined before it is typed: a kernel passed as a value would be an address of this process.
    return CPUDispatcher(function, targetoptions={**_OPTIONS, "nogil": True, "inline": "always"})


class Loop:
    """A compiled function that Python calls, with argument types of its own choice."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.name = _name_of(function)
        self._dispatcher: Any = _Loop(function, border=True)
        self._arguments = signature.args
        self.call: Any = self._dispatcher
        """What a call of this object calls, without Python's way there."""

    def __call__(self, *arguments: Any) -> Any:
        return self._dispatcher(*arguments)

    @property
    def is_kept(self) -> bool:
        """See `Kernel`."""
        return is_kept(self._dispatcher)

    def load(self) -> bool:
        """See `Kernel`."""
        dispatcher = self._dispatcher
        if self._arguments in dispatcher.overloads:
            return True
        if not is_compiled(dispatcher, self._arguments):
            return False
        self.compile()
        return True

    def compile(self) -> None:
        """See `Kernel`."""
        function = self._dispatcher.compile(self._arguments)
        # Of arrays the dispatcher looks at the type; numbers become what they are to be.
        if all(isinstance(argument, types.Number) for argument in self._arguments):
            self.call = function


class EntryPoint:
    """A compiled C function, made when its address is first asked for.

    Callers reach it through its address, so they neither contain its code nor are compiled again
    with it: without such borders Numba would optimise the innermost kernels once for every level
    above them.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.name = _name_of(function)
        self._function = function
        self._signature = signature
        self._compiled: CFunc | None = None
        self._address = 0

    def _make(self) -> CFunc:
        # This is numba.cfunc(signature, cache=True, ...) with a cache of our own.
        entry = CFunc(
            self._function,
            normalize_signature(self._signature),
            locals={},
            options=_OPTIONS,
            pipeline_class=BorderCompiler,
        )
        keep(entry, self._function, border=True)
        return entry

    @property
    def is_kept(self) -> bool:
        """See `Kernel`."""
        return is_kept(self._make() if self._compiled is None else self._compiled)

    def load(self) -> bool:
        """See `Kernel`."""
        if self._compiled is None:
            entry = self._make()
            if not is_compiled(entry, cast(Any, entry)._sig):
                return False
            self._compile(entry)
        return True

    def _compile(self, entry: CFunc) -> None:
        with _vectorizing_blocks():
            entry.compile()
        connect_environments(cast(Any, entry)._library)
        self._compiled = entry

    def compile(self) -> None:
        """See `Kernel`."""
        _ = self.address

    @property
    def address(self) -> int:
        """Address of the C function, valid for the life of the process."""
        if self._address == 0:
            if self._compiled is None:
                self._compile(self._make())
            assert self._compiled is not None
            address = self._compiled.address
            assert address is not None
            self._address = int(address)
        return self._address

    @property
    def was_cached(self) -> bool:
        """Whether the code came from the disk cache (False before the address was asked for)."""
        return self._compiled is not None and self._compiled.cache_hits > 0


def entry_point(signature: Any) -> Callable[[Callable[..., Any]], EntryPoint]:
    """Decorate a function that compiled code calls through its address."""
    return lambda function: EntryPoint(function, signature)


def compiled_loop(signature: Any) -> Callable[[Callable[..., Any]], Loop]:
    """Decorate a function that Python calls with arguments of these types."""
    return lambda function: Loop(function, signature)
