"""Many tables alike, in one block of memory."""

from __future__ import annotations

import numpy as np

from asperity.compiled.addresses import HoldsAddresses
from asperity.compiled.tables import Table

__all__ = ["Replicas"]


class Replicas(HoldsAddresses):
    """Copies of a table, of its arrays and of the tables in it, that know nothing of each other.

    To make a thousand tables one by one takes a second; these take a millisecond, and their memory
    is only taken where it is written.

    Parameters
    ----------
    table : Table
        What to copy.
    count : int

    Attributes
    ----------
    addresses : ndarray, shape (count,)
        Of the copies.
    """

    def __init__(self, table: Table, count: int) -> None:
        self._words = 0
        self._numbers: list[tuple[int, np.ndarray]] = []
        self._pointers: list[tuple[int, int]] = []
        self._reserve_table(table)
        memory = np.zeros((count, self._words), np.int64)
        base = memory.ctypes.data + memory.strides[0] * np.arange(count, dtype=np.int64)
        for start, words in self._numbers:
            memory[:, start : start + len(words)] = words
        for slot, target in self._pointers:
            memory[:, slot] = base + memory.itemsize * target
        self._memory = memory
        self.addresses = base

    def _reserve_table(self, table: Table) -> int:
        """Find a place for a table and all that it points to; returns its first word."""
        slots = table._integers
        start = self._reserve(len(slots))
        self._numbers.append((start, slots.copy()))
        for name, field in table.layout.fields.items():
            value = getattr(table, name)
            if field.layout is not None:
                self._pointers.append((start + field.slot, self._reserve_table(value)))
            elif field.ndim > 0:
                words = np.zeros(-(-value.nbytes // slots.itemsize), slots.dtype)
                words.view(np.uint8)[: value.nbytes] = value.reshape(-1).view(np.uint8)
                at = self._reserve(len(words))
                self._pointers.append((start + field.slot, at))
                # What is zero is zero already.
                if words.any():
                    self._numbers.append((at, words))
        return start

    def _reserve(self, words: int) -> int:
        self._words += words
        return self._words - words
