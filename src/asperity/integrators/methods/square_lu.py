"""LU factorization of one dense square, rows exchanged, and solutions with it.

Squares may be parts of larger matrices. Addresses and strides are in bytes.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import compiled
from asperity.compiled.calls import load_double, store_double
from asperity.compiled.row_kernels import add_row, scale_row, subtract_rows

__all__ = ["LARGEST", "exchange_rows", "factorize_square", "solve_square"]

LARGEST = 1.7976931348623157e308
"""Of all numbers."""


@compiled
def exchange_rows(one: int, other: int, width: int) -> None:
    """Exchange so many numbers at two addresses."""
    for at in range(0, 8 * width, 8):
        value = load_double(one + at)
        store_double(one + at, load_double(other + at))
        store_double(other + at, value)


@compiled
def factorize_square(corner: int, stride: int, n: int, pivot: np.ndarray, first: int) -> bool:
    """Factorize n rows in place, exchanged as ``pivot`` says from ``first``; False if singular."""
    for k in range(n):
        row_k = corner + k * stride
        best = k
        size = abs(load_double(row_k + 8 * k))
        for i in range(k + 1, n):
            value = abs(load_double(corner + i * stride + 8 * k))
            if value > size:
                size = value
                best = i
        if not 0.0 < size <= LARGEST:
            return False
        pivot[first + k] = best
        if best != k:
            exchange_rows(row_k, corner + best * stride, n)
        inverse = 1.0 / load_double(row_k + 8 * k)
        for i in range(k + 1, n):
            row_i = corner + i * stride
            share = load_double(row_i + 8 * k) * inverse
            store_double(row_i + 8 * k, share)
            if share != 0.0:
                at = 8 * (k + 1)
                add_row(row_i + at, row_k + at, -share, n - k - 1)
    return True


@compiled
def solve_square(
    corner: int,
    stride: int,
    n: int,
    pivot: np.ndarray,
    first: int,
    rows: int,
    row_stride: int,
    width: int,
) -> None:
    """Replace n rows X of so many columns by D⁻¹ X."""
    for k in range(n):
        if pivot[first + k] != k:
            exchange_rows(rows + k * row_stride, rows + pivot[first + k] * row_stride, width)
    for i in range(1, n):
        subtract_rows(rows + i * row_stride, corner + i * stride, 8, rows, row_stride, i, width)
    for i in range(n - 1, -1, -1):
        row = rows + i * row_stride
        diagonal = corner + i * stride + 8 * i
        if i < n - 1:
            subtract_rows(row, diagonal + 8, 8, row + row_stride, row_stride, n - 1 - i, width)
        scale_row(row, 1.0 / load_double(diagonal), width)
