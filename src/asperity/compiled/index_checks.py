"""Checks of every index of an array, for debugging: ``ASPERITY_CHECK_INDICES=1``.

Compiled code trusts its indices, since checks take a tenth of all time: an index beyond an array's
end, or a variable that is −1, reads memory of something else. With this setting of the environment
every index is compared with its axis as the array knows it. The first one outside ends the process,
with a message on the standard error that names the array and the line. Compiled functions are
reached through addresses and run on threads, from which no exception could be raised.

A slice is not checked, for Numba shortens it to what is there, and the elements of what is left are
checked. Neither is memory that is read at an address (`calls`, `vector_rows`, `atomics`).
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core import ir as numba_ir
from numba.np.arrayobj import fix_integer_index

__all__ = ["CHECKS_INDICES", "check_indices"]

CHECKS_INDICES = os.environ.get("ASPERITY_CHECK_INDICES", "0") not in ("", "0")
"""Whether this process compiles, and loads from disk, code that checks its indices."""

_BYTES = ir.IntType(8).as_pointer()
_INT = ir.IntType(32)


def check_indices(lower: Any, array: str, index: str) -> None:
    """Emit comparisons of all integers in an index with the array's shape.

    Parameters
    ----------
    lower : numba.core.lowering.Lower
        The translation of the function, at the place before the element is read or written.
    array, index : str
        Variables of the function.
    """
    kind, index_kind = lower.typeof(array), lower.typeof(index)
    if not isinstance(kind, types.Array):
        return
    several = isinstance(index_kind, types.BaseTuple)
    parts = tuple(index_kind) if several else (index_kind,)
    value = lower.loadvar(index)
    numbers = cgutils.unpack_tuple(lower.builder, value, len(parts)) if several else [value]
    at = lower.context.data_model_manager[kind].get_field_position("shape")
    shape = [lower.builder.extract_value(lower.loadvar(array), [at, k]) for k in range(kind.ndim)]
    axis = 0
    for part, number in zip(parts, numbers, strict=True):
        if part is types.ellipsis:
            named = sum(one is not types.ellipsis and one != types.none for one in parts)
            axis += kind.ndim - named
        elif part != types.none:
            if isinstance(part, types.Integer):
                _check(lower, array, axis, part, number, shape[axis])
            axis += 1


def _check(lower: Any, array: str, axis: int, kind: Any, number: Any, size: Any) -> None:
    """Emit the comparison of one index with the length of its axis."""
    context, builder = lower.context, lower.builder
    if isinstance(kind, types.IntegerLiteral):
        # A constant below zero counts from the end.
        number = fix_integer_index(context, builder, kind, number, size)
    else:
        number = context.cast(builder, number, kind, types.intp if kind.signed else types.uintp)
    # Below zero is a large number without a sign.
    with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", number, size)):
        where = f"{lower.func_ir.func_id.func_qualname} ({lower.loc.filename}:{lower.loc.line})"
        message = (
            f"asperity: index %lld is outside of axis {axis}, which has %lld elements, of "
            f"{_words(lower.func_ir, array)} in {where}\n"
        )
        text = context.insert_const_string(builder.module, message)
        printed = ir.FunctionType(_INT, [_INT, _BYTES], var_arg=True)
        ended = ir.FunctionType(ir.VoidType(), [])
        standard_error = ir.Constant(_INT, 2)
        builder.call(
            cgutils.get_or_insert_function(builder.module, printed, "dprintf"),
            [standard_error, text, number, size],
        )
        builder.call(cgutils.get_or_insert_function(builder.module, ended, "abort"), [])
        builder.unreachable()


def _words(function: Any, name: str) -> str:
    """Name of a variable as the source has it, such as ``problem.iterate.velocity``."""
    if not name.startswith("$"):
        return name.partition(".")[0]
    try:
        definition = function.get_definition(name)
    except KeyError:
        return name
    if isinstance(definition, numba_ir.Global | numba_ir.FreeVar):
        return str(definition.name)
    if isinstance(definition, numba_ir.Expr):
        if definition.op == "getattr":
            return f"{_words(function, definition.value.name)}.{definition.attr}"
        if definition.op == "call":
            return f"{_words(function, definition.func.name)}(...)"
    return name
