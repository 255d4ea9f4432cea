"""Sets of small integers as bits of 64-bit words, in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types

__all__ = ["count_bits", "lowest_bit"]

# Called from compiled code without their first parameter, which type checkers cannot know.
intrinsic: Callable[[Any], Any] = extending.intrinsic


@intrinsic
def count_bits(typingctx: Any, word: Any) -> Any:
    """How many bits are set."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


@intrinsic
def lowest_bit(typingctx: Any, word: Any) -> Any:
    """The number of the lowest bit that is set, 64 if there is none."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen
