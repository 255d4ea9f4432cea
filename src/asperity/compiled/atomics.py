"""Numbers that several threads read and write at once, in compiled code.

Every access is sequentially consistent: all threads see all of them in one order, and what was
written before a store is seen by whoever loads its value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types

__all__ = ["atomic_load", "atomic_store", "exchange_if"]

# Called from compiled code without their first parameter, which type checkers cannot know.
intrinsic: Callable[[Any], Any] = extending.intrinsic

_I64 = ir.IntType(64)
_ORDER = "seq_cst"


@intrinsic
def atomic_load(typingctx: Any, address: Any) -> Any:
    """Read the 64-bit integer at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(args[0], _I64.as_pointer()), _ORDER, 8)

    return types.int64(types.int64), codegen


@intrinsic
def atomic_store(typingctx: Any, address: Any, value: Any) -> Any:
    """Write the 64-bit integer at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], _I64.as_pointer())
        builder.store_atomic(args[1], pointer, _ORDER, 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def exchange_if(typingctx: Any, address: Any, expected: Any, value: Any) -> Any:
    """Write a 64-bit integer if there is the expected one; returns whether it was there."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], _I64.as_pointer())
        result = builder.cmpxchg(pointer, args[1], args[2], _ORDER)
        return builder.extract_value(result, 1)

    return types.boolean(types.int64, types.int64, types.int64), codegen
