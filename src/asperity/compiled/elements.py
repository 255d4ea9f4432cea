"""Elements of arrays, read and written at their address.

Where compiled code names an element, Numba puts a description of the array into memory, computes
with it, and leaves it to the optimiser to see through all that. Kernels do little else than read
and write elements: what they are translated to is smaller by a third without.

An index counts from an array's beginning. Constants below zero count from its end, as in Python,
but nobody looks whether a variable is below zero: that took a tenth of all time. For debugging,
all indices can be checked (`asperity.compiled.index_checks`).
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, ir, types
from numba.core.lowering import Lower
from numba.np.arrayobj import fix_integer_index, load_item, store_item

from asperity.compiled.index_checks import CHECKS_INDICES, check_indices

__all__ = ["ElementLower"]

_NUMBERS = (types.Integer, types.Float, types.Boolean)


class ElementLower(Lower):
    """Numba's translation of a function into LLVM's language, with a shorter one of elements."""

    def _is_plain(self, name: str) -> bool:
        """Whether a variable is a C-contiguous array of numbers."""
        kind = self.typeof(name)
        return (
            type(kind) is types.Array
            and kind.layout == "C"
            and isinstance(kind.dtype, types.Integer | types.Float)
        )

    def _address(self, array: str, index: str) -> Any:
        """Pointer to an element; None where the index does not name a single one."""
        if not self._is_plain(array):
            return None
        kind, index_kind = self.typeof(array), self.typeof(index)
        several = isinstance(index_kind, types.BaseTuple)
        parts = tuple(index_kind) if several else (index_kind,)
        if len(parts) != kind.ndim or not all(isinstance(one, types.Integer) for one in parts):
            return None
        context, builder = self.context, self.builder
        model = context.data_model_manager[kind]
        value, indices = self.loadvar(array), self.loadvar(index)
        at = model.get_field_position("shape")
        shape = [builder.extract_value(value, [at, axis]) for axis in range(kind.ndim)]
        numbers = cgutils.unpack_tuple(builder, indices, len(parts)) if several else [indices]
        numbers = [
            self._from_beginning(part, number, size)
            for part, number, size in zip(parts, numbers, shape, strict=True)
        ]
        data = builder.extract_value(value, model.get_field_position("data"))
        return cgutils.get_item_pointer2(context, builder, data, shape, (), "C", numbers)

    def _from_beginning(self, kind: Any, number: Any, size: Any) -> Any:
        """Index along one axis of this length, as a 64-bit integer."""
        if isinstance(kind, types.IntegerLiteral) and kind.literal_value < 0:
            return fix_integer_index(self.context, self.builder, kind, number, size)
        whole = types.intp if kind.signed else types.uintp
        return self.context.cast(self.builder, number, kind, whole)

    def decref(self, typ: Any, val: Any) -> None:
        """See Numba's method; what a table points to is not counted."""
        if not getattr(val, "is_field_of_table", False):
            super().decref(typ, val)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """See Numba's method."""
        if CHECKS_INDICES:
            check_indices(self, value.name, index.name)
        address = self._address(value.name, index.name)
        if address is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        kind = self.typeof(value.name)
        number = load_item(self.context, self.builder, kind, address)
        return self.context.cast(self.builder, number, kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """See Numba's method."""
        if CHECKS_INDICES:
            check_indices(self, target_var.name, index_var.name)
        given = self.typeof(value_var.name)
        address = None
        if isinstance(given, _NUMBERS):
            address = self._address(target_var.name, index_var.name)
        if address is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind = self.typeof(target_var.name)
        number = self.context.cast(self.builder, self.loadvar(value_var.name), given, kind.dtype)
        return store_item(self.context, self.builder, kind, number, address)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """See Numba's method, which asks in vain whether a constant index is special."""
        if (
            expr.op == "static_getitem"
            and expr.index_var is not None
            and self._is_plain(expr.value.name)
        ):
            signature = self.fndesc.calltypes[expr]
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, signature)
        return super().lower_expr(resty, expr)

    def lower_inst(self, inst: Any) -> Any:
        """See Numba's method, which asks in vain whether a constant index is special."""
        if isinstance(inst, ir.StaticSetItem) and self._is_plain(inst.target.name):
            signature = self.fndesc.calltypes[inst]
            return self.lower_setitem(inst.target, inst.index_var, inst.value, signature)
        return super().lower_inst(inst)
