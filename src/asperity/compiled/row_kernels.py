"""Pieces of rows of small matrices: products, multiples and sums of any width.

Addresses and strides are in bytes.
"""

from __future__ import annotations

from asperity.compiled import inlined
from asperity.compiled.vector_rows import (
    add_multiple,
    copy,
    dot,
    scale,
    subtract_products,
)

__all__ = ["add_row", "copy_row", "dot_rows", "scale_row", "subtract_rows"]

# Names that compiled code can look up.
_subtract_8 = subtract_products[8]
_subtract_4 = subtract_products[4]
_subtract_2 = subtract_products[2]
_subtract_1 = subtract_products[1]
_add_8 = add_multiple[8]
_add_4 = add_multiple[4]
_add_2 = add_multiple[2]
_add_1 = add_multiple[1]
_scale_8 = scale[8]
_scale_4 = scale[4]
_scale_1 = scale[1]
_copy_8 = copy[8]
_copy_4 = copy[4]
_copy_1 = copy[1]
_dot_4 = dot[4]
_dot_1 = dot[1]


@inlined
def subtract_rows(
    target: int, left: int, step: int, right: int, stride: int, n: int, width: int
) -> None:
    """``target[:width] −= Σ_k left[k] · right[k][:width]`` of n numbers and rows."""
    end = target + 8 * width
    while target + 64 <= end:
        _subtract_8(target, left, step, right, stride, n)
        target += 64
        right += 64
    if target + 32 <= end:
        _subtract_4(target, left, step, right, stride, n)
        target += 32
        right += 32
    if target + 16 <= end:
        _subtract_2(target, left, step, right, stride, n)
        target += 16
        right += 16
    if target < end:
        _subtract_1(target, left, step, right, stride, n)


@inlined
def add_row(target: int, source: int, factor: float, width: int) -> None:
    """``target[:width] += factor · source[:width]``."""
    end = target + 8 * width
    while target + 64 <= end:
        _add_8(target, source, factor)
        target += 64
        source += 64
    if target + 32 <= end:
        _add_4(target, source, factor)
        target += 32
        source += 32
    if target + 16 <= end:
        _add_2(target, source, factor)
        target += 16
        source += 16
    if target < end:
        _add_1(target, source, factor)


@inlined
def scale_row(target: int, factor: float, width: int) -> None:
    """``target[:width] *= factor``."""
    end = target + 8 * width
    while target + 64 <= end:
        _scale_8(target, factor)
        target += 64
    if target + 32 <= end:
        _scale_4(target, factor)
        target += 32
    while target < end:
        _scale_1(target, factor)
        target += 8


@inlined
def copy_row(target: int, source: int, width: int) -> None:
    """``target[:width] = source[:width]``."""
    end = target + 8 * width
    while target + 64 <= end:
        _copy_8(target, source)
        target += 64
        source += 64
    if target + 32 <= end:
        _copy_4(target, source)
        target += 32
        source += 32
    while target < end:
        _copy_1(target, source)
        target += 8
        source += 8


@inlined
def dot_rows(left: int, right: int, width: int) -> float:
    """``left[:width] · right[:width]``."""
    pieces = width // 4
    done = 32 * pieces
    return _dot_4(left, right, pieces) + _dot_1(left + done, right + done, width - 4 * pieces)
