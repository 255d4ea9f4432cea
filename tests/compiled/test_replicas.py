"""Tables in one block of memory know nothing of each other, nor of what they were made of."""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import Layout, Table, compiled_loop
from asperity.compiled.replicas import Replicas

INNER = Layout("inner of replicas", values="f8[:]", flags="u1[:]", grid="f8[:,:]")
OUTER = Layout("outer of replicas", number="f8", count="i8", inner=INNER, indices="i4[:]")


@compiled_loop(types.float64(types.int64, types.float64))
def _add(address: int, value: float) -> float:
    table = OUTER.at(address)
    table.count += 1
    for i in range(table.inner.values.size):
        table.inner.values[i] += value
    total = table.number + table.count
    for i in range(table.inner.values.size):
        total += table.inner.values[i]
    for i in range(table.inner.grid.shape[0]):
        for j in range(table.inner.grid.shape[1]):
            total += 100.0 * table.inner.grid[i, j]
    for i in range(table.inner.flags.size):
        total += 1e4 * table.inner.flags[i]
    for i in range(table.indices.size):
        total += 1e6 * table.indices[i]
    return total


def test_replicas() -> None:
    inner = Table(
        INNER,
        values=np.array([1.0, 2.0, 3.0]),
        flags=np.array([1, 0, 1], np.uint8),
        grid=np.array([[1.0, 2.0], [0.0, 0.0]]),
    )
    outer = Table(OUTER, number=0.5, inner=inner, indices=np.array([3, 4, 5], np.int32))
    replicas = Replicas(outer, 4)
    constant = 0.5 + 300.0 + 2e4 + 12e6
    for turn in (1, 2):
        for number, address in enumerate(replicas.addresses):
            found = _add(int(address), float(number))
            assert found == constant + turn + 6.0 + 3.0 * turn * number
    assert list(inner.values) == [1.0, 2.0, 3.0]
    assert outer.count == 0
    assert _add(outer.address, 0.0) == constant + 1 + 6.0


def test_a_twin_shares_arrays_but_not_numbers() -> None:
    inner = Table(INNER, values=np.ones(2), flags=np.zeros(1, np.uint8), grid=np.zeros((1, 1)))
    one = Table(OUTER, number=1.5, inner=inner, indices=np.zeros(2, np.int32))
    other = one.twin()
    other.number = 2.5
    other.indices = np.ones(3, np.int32)
    assert (one.number, other.number) == (1.5, 2.5)
    assert other.inner is inner
    assert len(one.indices) == 2
    assert not other.missing()
