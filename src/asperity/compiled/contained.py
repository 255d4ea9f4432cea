"""Kernels as intermediate code, which whoever calls them links and optimises.

Numba optimises every function by itself, makes machine code of it, and optimises what callers have
linked of it again. Nothing runs the machine code of a kernel that only compiled code calls: here it
is not made, and a kernel and all that it calls are optimised once, together with the entry point or
loop that contains them.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering

from asperity.compiled.elements import ElementLower

__all__ = [
    "BorderCompiler",
    "ContainedCode",
    "KernelCompiler",
    "connect_environments",
    "unknown_numba",
]


def unknown_numba(what: str, detail: str) -> RuntimeError:
    """Say that this version of Numba works in another way than is relied upon."""
    return RuntimeError(
        f"Asperity does not know how Numba {numba.__version__} {what} ({detail}), and would run "
        "outdated or wrong machine code; install a version that Asperity's requirements allow, "
        "such as: pip install 'numba>=0.65,<0.69'."
    )


class _ContainedLibrary(JITCodeLibrary):
    """Functions that are linked into others and have no address."""

    def _optimize_final_module(self) -> None:
        """Leave that to whoever contains the functions."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Say that there is no such function (0)."""
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Describe the library by its intermediate code alone."""
        return self.name, "contained", self._get_module_for_linking().as_bitcode()

    @classmethod
    def of(cls, codegen: Any, name: str, code: bytes) -> _ContainedLibrary:
        """Make the library again of its intermediate code."""
        library = cls(codegen, name)
        library._final_module = llvm.parse_bitcode(code)
        library._shared_module = library._final_module
        library._finalize_final_module()
        return library


@register_pass(mutates_CFG=True, analysis_only=False)
class _BorderLowering(NativeLowering):
    """Lowering of what stands at a border of compiled code."""

    _name = "asperity_border_lowering"

    @property
    def lowering_class(self) -> type[ElementLower]:
        """What translates the function."""
        return ElementLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(_BorderLowering):
    """Lowering into a library that is only linked."""

    _name = "asperity_kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """See Numba's pass."""
        state.library = _ContainedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        # Numba neither finalises the library nor makes a function of it.
        state.flags.no_compile = True
        changed = super().run_pass(state)
        state.library.finalize()
        callee = object()
        state.targetctx.insert_user_function(callee, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = state.cr._replace(cfunc=callee)
        return bool(changed)


class BorderCompiler(Compiler):
    """Numba's compiler, of functions that are reached through their address."""

    _lowering: type[NativeLowering] = _BorderLowering

    def define_pipelines(self) -> Any:
        """Replace Numba's pass that translates a function into LLVM's language."""
        (pipeline,) = super().define_pipelines()
        if NativeLowering not in [one for one, _ in pipeline.passes]:
            raise unknown_numba("compiles", "no native lowering")
        pipeline.passes = [
            (self._lowering, what) if one is NativeLowering else (one, what)
            for one, what in pipeline.passes
        ]
        pipeline._finalized = False
        pipeline.finalize()
        return [pipeline]


class KernelCompiler(BorderCompiler):
    """Numba's compiler, of functions that compiled code contains."""

    _lowering = _KernelLowering


def connect_environments(library: Any) -> None:
    """Tell machine code where the constants are that its functions take from Python.

    Numba does so for the function that a library is made for, and for what it loads from disk.
    """
    for variable in library._final_module.global_variables:
        environment = lookup_environment(variable.name)
        if environment is not None:
            library.codegen.set_env(variable.name, environment)


class ContainedCode(CompileResultCacheImpl):
    """Entries on disk of kernels: their intermediate code, and how they are called."""

    def reduce(self, cres: Any) -> Any:
        """Describe a kernel, without the types of all its variables in words."""
        return super().reduce(cres._replace(type_annotation=""))

    def rebuild(self, target_context: Any, payload: Any) -> CompileResult:
        """Make a kernel again of its entry."""
        (name, kind, code), described, environment, signature, *rest = payload
        if kind != "contained":
            raise unknown_numba("keeps compiled code on disk", kind)
        objectmode, lifted, _, reload_init, environments = rest
        for function in reload_init:
            function()
        return compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=_ContainedLibrary.of(target_context.codegen(), name, code),
            environment=environment,
            entry_point=object(),
            fndesc=described,
            signature=signature,
            objectmode=objectmode,
            lifted=lifted,
            reload_init=reload_init,
            referenced_envs=environments,
        )
