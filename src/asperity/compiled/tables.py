"""Tables: named arrays and numbers that compiled code reads and writes by name.

A table is one int64 array of slots. A number takes one slot; an array takes one slot for its
address and one for each dimension; another table takes one slot for its address. In compiled code a
table is a single register, the address of its slots, and its fields are attributes:
``problem.velocity[i]``, ``world.steps += 1``, ``world.problem.tree_start``. Nothing is compiled
again for another model, arrays can be reallocated between calls, and a call passes one register
instead of hundreds.

Python passes `Table` objects to loops and reads the same attributes. Where an address travels as a
number (through C, or in an array), `Layout.at` makes a table of it in compiled code, and
``table.address`` a number.

Within one call of compiled code the addresses and shapes of arrays, and of tables in tables, must
not change: they are loaded as invariants, so that the optimiser reads them once, outside of loops.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.errors import TypingError
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    register_model,
    typeof_impl,
    unbox,
)

from asperity.compiled.addresses import HoldsAddresses

__all__ = ["Layout", "Table", "TableType"]

_DTYPES: dict[str, tuple[Any, np.dtype[Any]]] = {
    "f8": (types.float64, np.dtype(np.float64)),
    "i8": (types.int64, np.dtype(np.int64)),
    "i4": (types.int32, np.dtype(np.int32)),
    "u1": (types.uint8, np.dtype(np.uint8)),
}
_KIND = re.compile(r"(f8|i8|i4|u1)(\[:(?:,:)*\])?")
_I64 = ir.IntType(64)


class Field:
    """Where a field is in its table, and what compiled code sees of it."""

    def __init__(self, owner: str, name: str, kind: str | Layout, slot: int) -> None:
        self.name = name
        self.slot = slot
        self.layout = kind if isinstance(kind, Layout) else None
        self.code = ""
        self.ndim = 0
        self.numba_type: Any
        if isinstance(kind, Layout):
            self.numba_type = kind.type
            return
        match = _KIND.fullmatch(kind)
        if match is None:
            raise TypeError(f"{owner}.{name}: unknown kind {kind!r}")
        self.code = match[1]
        self.ndim = 0 if match[2] is None else match[2].count(":")
        scalar = _DTYPES[self.code][0]
        if self.ndim == 0 and self.code not in ("f8", "i8"):
            raise TypeError(f"{owner}.{name}: a number is f8 or i8, not {kind!r}")
        self.numba_type = types.Array(scalar, self.ndim, "C") if self.ndim else scalar

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a number, or of an array's elements."""
        return _DTYPES[self.code][1]


class Layout:
    """Names, kinds and slots of a table.

    Parameters
    ----------
    name : str
        For messages.
    **fields : str or Layout
        ``"f8"`` or ``"i8"`` for a number; ``"f8[:]"``, ``"i4[:]"``, ``"f8[:,:]"``, ... for a
        C-contiguous array; a layout for another table.

    Attributes
    ----------
    type : TableType
        The table's type in compiled code, for signatures of entry points and loops.
    at : callable
        ``at(address)``, in compiled code: the table at an address.
    """

    def __init__(self, name: str, **fields: str | Layout) -> None:
        self.name = name
        self.fields: dict[str, Field] = {}
        self.size = 0
        for field, kind in fields.items():
            self.fields[field] = Field(name, field, kind, self.size)
            self.size += 1 + self.fields[field].ndim
        text = ",".join(
            f"{field}:{kind.type.key if isinstance(kind, Layout) else kind}"
            for field, kind in fields.items()
        )
        self.type: TableType = TableType(name, hashlib.sha256(text.encode()).hexdigest()[:8])
        _LAYOUTS[self.type.key] = self
        self.at = _make_at(self.type)


_LAYOUTS: dict[tuple[str, str], Layout] = {}
"""Layouts by the keys of their types: types must be picklable, for the cache on disk."""


class TableType(types.Type):
    """The Numba type of a table: an address, whose attributes are the fields of a layout.

    Parameters
    ----------
    name : str
        Of the layout.
    digest : str
        Of its fields, so that types of different fields differ.
    """

    def __init__(self, name: str, digest: str) -> None:
        self.table_name = name
        self.digest = digest
        super().__init__(name=f"Table[{name} {digest}]")

    @property
    def key(self) -> tuple[str, str]:
        """What makes two types the same."""
        return self.table_name, self.digest

    @property
    def fields(self) -> dict[str, Field]:
        """The fields of the table's layout."""
        return _LAYOUTS[self.key].fields


@register_model(TableType)
class _TableModel(models.PrimitiveModel):
    """An address in a register."""

    def __init__(self, manager: Any, table_type: TableType) -> None:
        super().__init__(manager, table_type, _I64)


@infer_getattr
class _TableAttributes(AttributeTemplate):
    key = TableType

    def generic_resolve(self, table: Any, attribute: str) -> Any:  # type: ignore[override]
        """Type of a field; an unknown one is an error that names the table."""
        if attribute == "address":
            return types.int64
        if attribute not in table.fields:
            raise TypingError(f"table {table.table_name!r} has no field {attribute!r}")
        return table.fields[attribute].numba_type


@lower_getattr_generic(TableType)
def _lower_getattr(context: Any, builder: Any, table: TableType, value: Any, attribute: str) -> Any:
    if attribute == "address":
        return value
    field = table.fields[attribute]
    base = builder.inttoptr(value, _I64.as_pointer())

    def word(index: int, *, invariant: bool) -> Any:
        loaded = builder.load(builder.gep(base, [ir.Constant(_I64, index)], inbounds=True))
        if invariant:
            loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if field.layout is not None:
        return word(field.slot, invariant=True)
    if field.ndim == 0:
        number = word(field.slot, invariant=False)
        return builder.bitcast(number, ir.DoubleType()) if field.code == "f8" else number
    # The array as Numba knows it, with what does not depend on the table written down at once.
    model = context.data_model_manager[field.numba_type]
    size = ir.Constant(_I64, field.dtype.itemsize)
    shape = [word(field.slot + 1 + axis, invariant=True) for axis in range(field.ndim)]
    known = {"itemsize": size}
    for name in ("meminfo", "parent"):
        known[name] = context.get_value_type(model.get_type(name))(None)
    array: Any = ir.Constant.literal_struct(
        [
            known.get(name, ir.Constant(context.get_value_type(model.get_type(name)), ir.Undefined))
            for name in model._fields
        ]
    )

    def insert(value: Any, name: str, *axis: int) -> None:
        nonlocal array
        array = builder.insert_value(array, value, [model.get_field_position(name), *axis])

    data_type = context.get_data_type(field.numba_type.dtype).as_pointer()
    insert(builder.inttoptr(word(field.slot, invariant=True), data_type), "data")
    items, stride = shape[0], size
    for length in shape[1:]:
        items = builder.mul(items, length, flags=["nsw"])
    insert(items, "nitems")
    for axis in reversed(range(field.ndim)):
        insert(shape[axis], "shape", axis)
        insert(stride, "strides", axis)
        if axis > 0:
            stride = builder.mul(stride, shape[axis])
    array.is_field_of_table = True
    return array


@lower_setattr_generic(TableType)
def _lower_setattr(context: Any, builder: Any, sig: Any, args: Any, attribute: str) -> None:
    table, given = sig.args
    field = table.fields.get(attribute)
    if field is None or field.ndim > 0 or field.layout is not None:
        raise TypingError(
            f"compiled code cannot replace {attribute!r} of table {table.table_name!r}; "
            "only numbers can be assigned"
        )
    number = context.cast(builder, args[1], given, field.numba_type)
    if field.code == "f8":
        number = builder.bitcast(number, _I64)
    base = builder.inttoptr(args[0], _I64.as_pointer())
    builder.store(number, builder.gep(base, [ir.Constant(_I64, field.slot)], inbounds=True))


class _LayoutType(types.Dummy):
    """The type of a layout that compiled code names, to call its `at`."""

    def __init__(self, layout: Layout) -> None:
        self.at = layout.at
        super().__init__(name=f"Layout[{layout.type.name}]")


@typeof_impl.register(Layout)
def _typeof_layout(layout: Layout, context: Any) -> _LayoutType:
    return _LayoutType(layout)


@register_model(_LayoutType)
class _LayoutModel(models.OpaqueModel):
    """Nothing at run time."""


@infer_getattr
class _LayoutAttributes(AttributeTemplate):
    key = _LayoutType

    def resolve_at(self, layout: _LayoutType) -> Any:
        return self.context.resolve_value_type(layout.at)


@lower_getattr(_LayoutType, "at")
def _lower_at(context: Any, builder: Any, layout: _LayoutType, value: Any) -> Any:
    return context.get_dummy_value()


@lower_constant(_LayoutType)
def _lower_layout(context: Any, builder: Any, layout: _LayoutType, value: Any) -> Any:
    return context.get_dummy_value()


def _make_at(table: TableType) -> Any:
    @intrinsic
    def at(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return args[0]

        return table(types.int64), codegen

    return at


class Table(HoldsAddresses):
    """Arrays, numbers and other tables laid out for compiled code.

    Keeps what it points to alive, checks types, and writes addresses into the slots. Attributes
    read and replace the fields: ``table.qpos``, ``table.qpos = other``, ``table.steps = 0``.
    Numbers are zero until they are set.
    """

    def __init__(self, layout: Layout, **values: Any) -> None:
        own = self.__dict__
        own["layout"] = layout
        own["_values"] = {}
        slots = np.zeros(layout.size, dtype=np.int64)
        own["_integers"] = slots
        own["_reals"] = slots.view(np.float64)
        # Numbers are read through these: no NumPy scalar is made.
        own["_integer"] = slots.data
        own["_real"] = own["_reals"].data
        own["address"] = int(slots.ctypes.data)
        for field, value in values.items():
            setattr(self, field, value)

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.layout.fields.get(name)
        if field is None:
            raise AttributeError(f"table {self.layout.name!r} has no field {name!r}")
        if field.layout is not None:
            if not isinstance(value, Table) or value.layout is not field.layout:
                raise TypeError(
                    f"{self.layout.name}.{name}: needs a table {field.layout.name!r}, got {value!r}"
                )
            self._integers[field.slot] = value.address
        elif field.ndim == 0:
            if type(value) is (float if field.code == "f8" else int):
                own = self.__dict__
                (own["_real"] if field.code == "f8" else own["_integer"])[field.slot] = value
            else:
                (self._reals if field.code == "f8" else self._integers)[field.slot] = value
            return
        elif (
            not isinstance(value, np.ndarray)
            or value.dtype != field.dtype
            or value.ndim != field.ndim
            or not value.flags.c_contiguous
        ):
            raise TypeError(
                f"{self.layout.name}.{name}: needs a C-contiguous {field.ndim}-d array of "
                f"{field.dtype}, got {type(value).__name__} "
                f"{getattr(value, 'dtype', '')} {getattr(value, 'shape', '')}"
            )
        else:
            self._integers[field.slot] = value.ctypes.data
            self._integers[field.slot + 1 : field.slot + 1 + value.ndim] = value.shape
        self._values[name] = value
        # So that reading it takes Python's own way.
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        field = self.__dict__["layout"].fields.get(name)
        if field is None:
            raise AttributeError(name)
        if field.layout is None and field.ndim == 0:
            # Compiled code writes numbers, too.
            own = self.__dict__
            return (own["_real"] if field.code == "f8" else own["_integer"])[field.slot]
        raise AttributeError(f"{name!r} of table {self.layout.name!r} was never set")

    def keep(self, *owners: Any) -> None:
        """Keep alive what owns memory whose address is in a number of this table."""
        self.__dict__["_owners"] = owners

    def twin(self) -> Table:
        """Another table with the same numbers, and the very same arrays and tables."""
        other = Table(self.layout)
        other._integers[:] = self._integers
        other._values.update(self._values)
        other.__dict__.update(self._values)
        return other

    def address_of(self, name: str) -> int:
        """Where a field's slot is: a number itself, or the address of an array or a table."""
        return int(self.address + self._integers.itemsize * self.layout.fields[name].slot)

    def missing(self) -> list[str]:
        """Names of arrays and tables that were never set."""
        return [
            name
            for name, field in self.layout.fields.items()
            if (field.ndim > 0 or field.layout is not None) and name not in self._values
        ]


@typeof_impl.register(Table)
def _typeof_table(table: Table, context: Any) -> TableType:
    return table.layout.type


@unbox(TableType)
def _unbox_table(table: TableType, value: Any, context: Any) -> NativeValue:
    address = context.pyapi.object_getattr_string(value, "address")
    native = context.pyapi.long_as_longlong(address)
    context.pyapi.decref(address)
    return NativeValue(native)
