"""Tables: named arrays and numbers whose addresses compiled code reads at run time.

A table is one int64 array of slots. A number takes one slot; an array takes one slot for its
address and one for each dimension. Compiled functions receive the table's address, a plain int64,
whatever the model: nothing is compiled again for another model, arrays can be reallocated between
calls, and a call passes one register instead of hundreds. ``layout.get(address, "name")`` inside
compiled code becomes a few loads.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import RequireLiteralValue, TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

__all__ = ["Layout", "Table"]

_DTYPES: dict[str, tuple[Any, np.dtype[Any]]] = {
    "f8": (types.float64, np.dtype(np.float64)),
    "i8": (types.int64, np.dtype(np.int64)),
    "i4": (types.int32, np.dtype(np.int32)),
    "u1": (types.uint8, np.dtype(np.uint8)),
}


class Layout:
    """Names, kinds and slots of a table.

    Parameters
    ----------
    name : str
        For messages.
    **fields : str
        ``"f8"`` or ``"i8"`` for a number; ``"f8[:]"``, ``"i4[:]"``, ``"f8[:,:]"``, ... for a
        C-contiguous array.
    """

    def __init__(self, name: str, **fields: str) -> None:
        self.name = name
        self.slots: dict[str, int] = {}
        self.kinds: dict[str, tuple[str, int]] = {}
        size = 0
        for field, kind in fields.items():
            match = re.fullmatch(r"(f8|i8|i4|u1)(\[:(?:,:)*\])?", kind)
            if match is None:
                raise TypeError(f"{name}.{field}: unknown kind {kind!r}")
            ndim = 0 if match[2] is None else match[2].count(":")
            self.kinds[field] = (match[1], ndim)
            self.slots[field] = size
            size += 1 + ndim
        self.size = size
        self.get = _make_getter(self)


def _make_getter(layout: Layout) -> Any:
    @intrinsic(prefer_literal=True)
    def get(typingctx: Any, table: Any, name: Any) -> Any:
        if not isinstance(name, types.StringLiteral):
            raise RequireLiteralValue("a field's name must be a literal string")
        field = name.literal_value
        if field not in layout.kinds:
            raise TypingError(f"table {layout.name!r} has no field {field!r}")
        code, ndim = layout.kinds[field]
        slot = layout.slots[field]
        dtype = _DTYPES[code][0]
        result = dtype if ndim == 0 else types.Array(dtype, ndim, "C")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            i64 = ir.IntType(64)
            base = builder.inttoptr(args[0], i64.as_pointer())

            def word(index: int) -> Any:
                return builder.load(builder.gep(base, [ir.Constant(i64, index)]))

            if ndim == 0:
                value = word(slot)
                return builder.bitcast(value, ir.DoubleType()) if code == "f8" else value
            array = make_array(result)(context, builder)
            item = _DTYPES[code][1].itemsize
            shape = [word(slot + 1 + axis) for axis in range(ndim)]
            strides: list[Any] = [None] * ndim
            stride: Any = ir.Constant(i64, item)
            for axis in reversed(range(ndim)):
                strides[axis] = stride
                stride = builder.mul(stride, shape[axis])
            data_type = context.get_data_type(dtype).as_pointer()
            populate_array(
                array,
                data=builder.inttoptr(word(slot), data_type),
                shape=cgutils.pack_array(builder, shape, ty=i64),
                strides=cgutils.pack_array(builder, strides, ty=i64),
                itemsize=ir.Constant(i64, item),
                meminfo=None,
            )
            return array._getvalue()

        return result(types.int64, name), codegen

    return get


class Table:
    """Arrays and numbers laid out for compiled code.

    Keeps the arrays alive, checks their types, and writes their addresses into the slots.
    Attributes read and replace the arrays: ``table.qpos``, ``table.qpos = other``.
    """

    def __init__(self, layout: Layout, **values: Any) -> None:
        self.__dict__["layout"] = layout
        self.__dict__["values"] = {}
        self.__dict__["slots"] = np.zeros(layout.size, dtype=np.int64)
        self.__dict__["_slots_address"] = int(self.slots.ctypes.data)
        for field, value in values.items():
            setattr(self, field, value)

    @property
    def address(self) -> int:
        """Address of the slots, valid as long as this object lives."""
        return int(self.__dict__["_slots_address"])

    def __setattr__(self, field: str, value: Any) -> None:
        code, ndim = self.layout.kinds[field]
        slot = self.layout.slots[field]
        dtype = _DTYPES[code][1]
        if ndim == 0:
            self.slots[slot : slot + 1].view(dtype)[0] = value
        else:
            if (
                not isinstance(value, np.ndarray)
                or value.dtype != dtype
                or value.ndim != ndim
                or not value.flags.c_contiguous
            ):
                raise TypeError(
                    f"{self.layout.name}.{field}: needs a C-contiguous {ndim}-d array of {dtype}, "
                    f"got {type(value).__name__} "
                    f"{getattr(value, 'dtype', '')} {getattr(value, 'shape', '')}"
                )
            self.slots[slot] = value.ctypes.data
            self.slots[slot + 1 : slot + 1 + ndim] = value.shape
        self.values[field] = value

    def __getattr__(self, field: str) -> Any:
        try:
            return self.__dict__["values"][field]
        except KeyError:
            raise AttributeError(field) from None

    def missing(self) -> list[str]:
        """Names of fields that were never set."""
        return [field for field in self.layout.kinds if field not in self.values]
