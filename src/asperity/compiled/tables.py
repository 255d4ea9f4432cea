"""Tables: named arrays and numbers that compiled code reads and writes by name.

A table is one int64 array of slots. A number takes one slot; an array takes one slot for its
address and one for each dimension; another table takes one slot for its address. In compiled code a
table is a single register, the address of its slots, and its fields are attributes:
``iterate.velocity[i]``, ``world.steps += 1``, ``world.problem.graph``. Nothing is compiled
again for another model, arrays can be reallocated between calls, and a call passes one register
instead of hundreds.

Python passes `Table` objects to loops and reads the same attributes. Where an address travels as a
number (through C, or in an array), `Layout.at` makes a table of it in compiled code, and
``table.address`` a number.

A field declares its shape: ``force="f8[contacts, 3]"``. A table that is made with its sizes has all
its arrays, and `Table.resize` gives it others.

Within one call of compiled code the addresses and shapes of arrays, and of tables in tables, must
not change: they are loaded as invariants, so that the optimiser reads them once, outside of loops.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from types import CodeType
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
_KIND = re.compile(r"(f8|i8|i4|u1)(?:\[([^\[\]]+)\])?(?: = (\S+))?")
_LENGTH = re.compile(r"[a-z0-9_ +*/()-]+")
_I64 = ir.IntType(64)


class Field:
    """Where a field is in its table, its shape, and what compiled code sees of it."""

    def __init__(self, owner: str, name: str, kind: str | Layout, slot: int) -> None:
        self.name = name
        self.slot = slot
        self.layout = kind if isinstance(kind, Layout) else None
        self.code = ""
        self.shape: tuple[_Length, ...] = ()
        self.sizes: set[str] = set()
        self.default: float = 0
        self._what = f"{owner}.{name}"
        self._kind = kind
        self.numba_type: Any
        if isinstance(kind, Layout):
            self.numba_type = kind.type
            return
        match = _KIND.fullmatch(kind)
        if match is None:
            raise TypeError(f"{self._what}: unknown kind {kind!r}")
        self.code = match[1]
        if match[2] is not None:
            self.shape = tuple(self._length(text.strip()) for text in match[2].split(","))
            self.sizes = {name for length in self.shape for name in _names(length)}
        if match[3] is not None:
            self.default = float(match[3]) if self.code == "f8" else int(match[3])
        scalar = _DTYPES[self.code][0]
        if self.ndim == 0 and self.code not in ("f8", "i8"):
            raise TypeError(f"{self._what}: a number is f8 or i8, not {kind!r}")
        self.numba_type = types.Array(scalar, self.ndim, "C") if self.ndim else scalar

    def _length(self, text: str) -> _Length:
        """One axis: None where whoever sets the array decides, a number, a size, or a formula."""
        if text == ":":
            return None
        if text.isdecimal():
            return int(text)
        if text.isidentifier():
            return text
        try:
            if _LENGTH.fullmatch(text) is None:
                raise SyntaxError
            return compile(text, self._what, "eval")
        except SyntaxError:
            raise TypeError(f"{self._what}: unknown kind {self._kind!r}") from None

    @property
    def ndim(self) -> int:
        """Number of axes; 0 of a number or a table."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a number, or of an array's elements."""
        return _DTYPES[self.code][1]

    @property
    def signature(self) -> str:
        """What compiled code knows of the field: its name, kind and number of axes."""
        axes = f"[{','.join(':' * self.ndim)}]" if self.ndim else ""
        return f"{self.name}:{self.layout.type.key if self.layout else self.code + axes}"

    @property
    def is_declared(self) -> bool:
        """Whether the field is an array whose shape its sizes say."""
        return self.ndim > 0 and None not in self.shape

    def allocate(self, sizes: dict[str, int]) -> np.ndarray:
        """Make the array, filled with its default."""
        shape = self._lengths(sizes)
        if None in shape:
            missing = ", ".join(sorted(self.sizes - sizes.keys()))
            raise TypeError(f"{self._what}: {self._kind} needs the size {missing}")
        if self.default == 0:
            return np.zeros(shape, self.dtype)
        return np.full(shape, self.default, self.dtype)

    def check_array(self, value: Any, sizes: dict[str, int]) -> None:
        """Refuse what is not such an array, of these sizes as far as they are known."""
        if (
            not isinstance(value, np.ndarray)
            or value.dtype != self.dtype
            or value.ndim != self.ndim
            or not value.flags.c_contiguous
        ):
            raise TypeError(
                f"{self._what}: needs a C-contiguous {self.ndim}-d array of {self.dtype}, got "
                f"{type(value).__name__} {getattr(value, 'dtype', '')} "
                f"{getattr(value, 'shape', '')}"
            )
        for length, wanted in zip(value.shape, self._lengths(sizes), strict=True):
            if wanted is not None and length != wanted:
                raise TypeError(f"{self._what}: {self._kind} has another shape than {value.shape}")

    def _lengths(self, sizes: dict[str, int]) -> tuple[Any, ...]:
        """The shape, with None where it is not known."""
        return tuple([_value(length, sizes) for length in self.shape])


_Length = int | str | CodeType | None


def _names(length: _Length) -> tuple[str, ...]:
    """Sizes that a length is made of."""
    if isinstance(length, str):
        return (length,)
    return length.co_names if isinstance(length, CodeType) else ()


def _value(length: _Length, sizes: dict[str, int]) -> int | None:
    """A length, or None if it is not known."""
    if isinstance(length, str):
        return sizes.get(length)
    if isinstance(length, CodeType):
        known = all(name in sizes for name in length.co_names)
        return eval(length, {"__builtins__": {}}, sizes) if known else None
    return length


class Layout:
    """Names, kinds and slots of a table.

    Parameters
    ----------
    name : str
        For messages.
    **fields : str or Layout
        ``"f8"`` or ``"i8"`` for a number; ``"f8[contacts]"``, ``"i4[links + 1, 4, 3]"``, ... for a
        C-contiguous array of that shape, in which names are sizes of the table, and ``:`` is what
        whoever sets the array decides; a layout for another table. ``"f8[contacts] = -1"`` and
        ``"f8 = 0.5"`` say what values are at first, instead of zero.

    Attributes
    ----------
    sizes : set of str
        Names of sizes. If there is a number of that name, it says the size.
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
        text = ",".join(field.signature for field in self.fields.values())
        self.type: TableType = TableType(name, hashlib.sha256(text.encode()).hexdigest()[:8])
        self.sizes = {size for field in self.fields.values() for size in field.sizes}
        for size in self.sizes & self.fields.keys():
            if self.fields[size].numba_type is not types.int64:
                raise TypeError(f"{name}.{size}: a size has this name, so it must be i8")
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

    Parameters
    ----------
    layout : Layout
    **values : int, float, ndarray or Table
        Sizes, and values of fields. Arrays that are not among them are allocated: of given sizes
        all, without sizes only those whose shapes need none.

    Raises
    ------
    TypeError
        If a size that an array needs is missing, or an array has another shape or type.
    """

    def __init__(self, layout: Layout, **values: Any) -> None:
        own = self.__dict__
        own["layout"] = layout
        own["sizes"] = {}
        own["_values"] = {}
        slots = np.zeros(layout.size, dtype=np.int64)
        own["_integers"] = slots
        own["_reals"] = slots.view(np.float64)
        # Numbers are read through these: no NumPy scalar is made.
        own["_integer"] = slots.data
        own["_real"] = own["_reals"].data
        own["address"] = int(slots.ctypes.data)
        self._set_sizes({size: values[size] for size in layout.sizes & values.keys()})
        for name, field in layout.fields.items():
            if name in values:
                setattr(self, name, values.pop(name))
            elif field.ndim == 0 and field.default != 0:
                setattr(self, name, field.default)
            elif field.is_declared and (self.sizes or not field.sizes):
                self._set_array(name, field, field.allocate(self.sizes))
        for name in values.keys() - layout.sizes:
            raise TypeError(f"table {layout.name!r} has neither a field nor a size {name!r}")

    def _set_sizes(self, sizes: dict[str, int]) -> None:
        for name, size in sizes.items():
            if name not in self.layout.sizes:
                raise TypeError(f"table {self.layout.name!r} has no size {name!r}")
            if size < 0:
                raise TypeError(f"table {self.layout.name!r}: size {name!r} is negative, {size}")
            self.sizes[name] = int(size)
            if name in self.layout.fields:
                setattr(self, name, int(size))

    def resize(self, **sizes: int) -> None:
        """Allocate the arrays of other sizes anew; what they held is gone.

        Tables in the table that have such a size are resized, too.

        Raises
        ------
        TypeError
            If the table has no such size, or an array needs one besides that is not known.
        """
        inner = self._inner_tables(sizes)
        everywhere = {name for one, names in inner for name in names}
        self._set_sizes(
            {
                name: size
                for name, size in sizes.items()
                if name not in everywhere - self.layout.sizes
            }
        )
        for one, names in inner:
            one._set_sizes({name: sizes[name] for name in names})
        for one in (self, *(one for one, _ in inner)):
            for name in one._arrays_of(sizes):
                field = one.layout.fields[name]
                one._set_array(name, field, field.allocate(one.sizes))

    def extend(self, **sizes: int) -> None:
        """Enlarge arrays like `resize`, and keep what they hold."""
        tables = [self, *(one for one, _ in self._inner_tables(sizes))]
        before = [
            (one, {name: getattr(one, name) for name in one._arrays_of(sizes)}) for one in tables
        ]
        self.resize(**sizes)
        for one, arrays in before:
            for name, array in arrays.items():
                getattr(one, name)[tuple(map(slice, array.shape))] = array

    def _inner_tables(self, sizes: Iterable[str]) -> list[tuple[Table, set[str]]]:
        """Tables in the table, at any depth, that have any of these sizes, and which."""
        found = []
        for one in self._values.values():
            if isinstance(one, Table):
                names = one.sizes.keys() & {*sizes}
                found += [(one, names)] if names else []
                found += one._inner_tables(sizes)
        return found

    def _arrays_of(self, sizes: Iterable[str]) -> list[str]:
        """Names of declared arrays whose shapes depend on any of these sizes."""
        fields = self.layout.fields.items()
        return [name for name, field in fields if field.is_declared and field.sizes & {*sizes}]

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
        else:
            field.check_array(value, self.sizes)
            self._set_array(name, field, value)
            return
        self._values[name] = value
        # So that reading it takes Python's own way.
        self.__dict__[name] = value

    def _set_array(self, name: str, field: Field, value: np.ndarray) -> None:
        """Point to an array that is known to be of the right type and shape."""
        slot, integer = field.slot, self.__dict__["_integer"]
        integer[slot] = value.ctypes.data
        for axis, length in enumerate(value.shape, slot + 1):
            integer[axis] = length
        self._values[name] = value
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

    def twin(self, *own: str) -> Table:
        """Another table with the same numbers, and the very same arrays and tables.

        Arrays whose names are given are its own.
        """
        other = Table(self.layout)
        other._integers[:] = self._integers
        other.sizes.update(self.sizes)
        other._values.update(self._values)
        other.__dict__.update(self._values)
        for name in own:
            setattr(other, name, np.zeros_like(self._values[name]))
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
