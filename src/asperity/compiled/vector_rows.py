"""Operations on pieces of rows, of a width that the processor's registers hold.

What compiled code does with rows of small matrices, LLVM leaves as single numbers: its vectorizer
of loops is off (`asperity.compiled.decorators`). These are written with vectors. Addresses and
strides are in bytes; rows need not be aligned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

__all__ = [
    "WIDTHS",
    "add_multiple",
    "add_products",
    "combine_8",
    "copy",
    "dot",
    "dot_three",
    "eliminate_8",
    "eliminate_three",
    "multiply_blocks",
    "negated_three",
    "scale",
    "set_products",
    "subtract_product_6",
    "subtract_products",
    "subtract_three",
]

# Called from compiled code without their first parameter, which type checkers cannot know.
intrinsic: Callable[[Any], Any] = extending.intrinsic

WIDTHS = (8, 4, 2, 1)

_REAL = ir.DoubleType()
_ADDRESS = types.int64
_INDEX = ir.IntType(32)
_CONTRACT = ("contract",)


def _kind(width: int) -> ir.Type:
    return _REAL if width == 1 else ir.VectorType(_REAL, width)


def _zero(width: int) -> Any:
    return ir.Constant(_kind(width), [0.0] * width if width > 1 else 0.0)


def _pointer(builder: Any, address: Any, width: int) -> Any:
    return builder.inttoptr(address, _kind(width).as_pointer())


def _load(builder: Any, address: Any, width: int) -> Any:
    return builder.load(_pointer(builder, address, width), align=8)


def _store(builder: Any, value: Any, address: Any, width: int) -> None:
    builder.store(value, _pointer(builder, address, width), align=8)


def _spread(builder: Any, number: Any, width: int) -> Any:
    """Put a number into all places of a vector."""
    if width == 1:
        return number
    undefined = ir.Constant(_kind(width), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_INDEX, 0))
    places = ir.Constant(ir.VectorType(_INDEX, width), [0] * width)
    return builder.shuffle_vector(first, undefined, places)


def _make_products(width: int, *, added: bool, from_zero: bool = False) -> Any:
    def typed(
        _context: Any, target: Any, left: Any, step: Any, right: Any, stride: Any, n: Any
    ) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            target, left, step, right, stride, n = args
            total = cgutils.alloca_once(builder, _kind(width))
            builder.store(_zero(width) if from_zero else _load(builder, target, width), total)
            with cgutils.for_range(builder, n) as loop:
                one = _load(builder, builder.add(left, builder.mul(loop.index, step)), 1)
                row = _load(builder, builder.add(right, builder.mul(loop.index, stride)), width)
                product = builder.fmul(row, _spread(builder, one, width), flags=_CONTRACT)
                join = builder.fadd if added else builder.fsub
                builder.store(join(builder.load(total), product, flags=_CONTRACT), total)
            _store(builder, builder.load(total), target, width)
            return context.get_dummy_value()

        return types.void(*[_ADDRESS] * 6), codegen

    return intrinsic(typed)


def _make_three(width: int, *, from_zero: bool) -> Any:
    def typed(
        _context: Any,
        target: Any,
        length: Any,
        left: Any,
        step: Any,
        right: Any,
        stride: Any,
        n: Any,
    ) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            target, length, left, step, right, stride, n = args
            rows = [builder.add(target, builder.mul(length, length.type(r))) for r in range(3)]
            # In fours, a row's numbers, three factors and the sums of 16 columns are all there is
            # at a time: sixteen registers hold them.
            fours = [left.type(8 * column) for column in range(0, width, 4)]
            places = [builder.add(row, at) for at in fours for row in rows]
            totals = [cgutils.alloca_once(builder, _kind(4)) for _ in places]
            for place, total in zip(places, totals, strict=True):
                builder.store(_zero(4) if from_zero else _load(builder, place, 4), total)
            with cgutils.for_range(builder, n) as loop:
                numbers = builder.add(left, builder.mul(loop.index, step))
                row = builder.add(right, builder.mul(loop.index, stride))
                ones = [
                    _spread(builder, _load(builder, builder.add(numbers, left.type(8 * r)), 1), 4)
                    for r in range(3)
                ]
                for i, at in enumerate(fours):
                    four = _load(builder, builder.add(row, at), 4)
                    for one, total in zip(ones, totals[3 * i : 3 * i + 3], strict=True):
                        product = builder.fmul(four, one, flags=_CONTRACT)
                        value = builder.fsub(builder.load(total), product, flags=_CONTRACT)
                        builder.store(value, total)
            for place, total in zip(places, totals, strict=True):
                _store(builder, builder.load(total), place, 4)
            return context.get_dummy_value()

        return types.void(*[_ADDRESS] * 7), codegen

    return intrinsic(typed)


def _make_add_multiple(width: int) -> Any:
    def typed(_context: Any, target: Any, source: Any, factor: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            target, source, factor = args
            product = builder.fmul(
                _load(builder, source, width), _spread(builder, factor, width), flags=_CONTRACT
            )
            total = builder.fadd(_load(builder, target, width), product, flags=_CONTRACT)
            _store(builder, total, target, width)
            return context.get_dummy_value()

        return types.void(_ADDRESS, _ADDRESS, types.float64), codegen

    return intrinsic(typed)


def _make_scale(width: int) -> Any:
    def typed(_context: Any, target: Any, factor: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            target, factor = args
            value = builder.fmul(_load(builder, target, width), _spread(builder, factor, width))
            _store(builder, value, target, width)
            return context.get_dummy_value()

        return types.void(_ADDRESS, types.float64), codegen

    return intrinsic(typed)


def _make_copy(width: int) -> Any:
    def typed(_context: Any, target: Any, source: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            _store(builder, _load(builder, args[1], width), args[0], width)
            return context.get_dummy_value()

        return types.void(_ADDRESS, _ADDRESS), codegen

    return intrinsic(typed)


def _sum(builder: Any, value: Any, width: int) -> Any:
    """Add the halves of a vector until one number is left."""
    while width > 1:
        width //= 2
        undefined = ir.Constant(value.type, ir.Undefined)
        halves = [
            builder.shuffle_vector(
                value,
                undefined,
                ir.Constant(ir.VectorType(_INDEX, width), list(range(first, first + width))),
            )
            for first in (0, width)
        ]
        value = builder.fadd(*halves)
    vector = isinstance(value.type, ir.VectorType)
    return builder.extract_element(value, ir.Constant(_INDEX, 0)) if vector else value


def _make_dot(width: int) -> Any:
    def typed(_context: Any, left: Any, right: Any, n: Any) -> Any:
        def codegen(_target: Any, builder: Any, _signature: Any, args: Any) -> Any:
            left, right, n = args
            total = cgutils.alloca_once_value(builder, _zero(width))
            size = ir.Constant(n.type, 8 * width)
            with cgutils.for_range(builder, n) as loop:
                at = builder.mul(loop.index, size)
                product = builder.fmul(
                    _load(builder, builder.add(left, at), width),
                    _load(builder, builder.add(right, at), width),
                    flags=_CONTRACT,
                )
                builder.store(builder.fadd(builder.load(total), product, flags=_CONTRACT), total)
            return _sum(builder, builder.load(total), width)

        return types.float64(_ADDRESS, _ADDRESS, types.int64), codegen

    return intrinsic(typed)


@intrinsic
def eliminate_three(
    _context: Any, rows: Any, length: Any, n: Any, p: Any, q: Any, r: Any, u: Any, v: Any, w: Any
) -> Any:
    """Replace three rows a, b, c of n eights by a p, (b − u a) q and (c − v a − w b) r."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        rows, length, n = args[:3]
        p, q, r, u, v, w = (_spread(builder, number, 8) for number in args[3:])

        def less(value: Any, factor: Any, row: Any) -> Any:
            product = builder.fmul(factor, row, flags=_CONTRACT)
            return builder.fsub(value, product, flags=_CONTRACT)

        with cgutils.for_range(builder, n) as loop:
            places = [builder.add(rows, builder.mul(loop.index, n.type(64)))]
            places += [builder.add(places[0], builder.mul(length, n.type(k))) for k in (1, 2)]
            a, b, c = (_load(builder, place, 8) for place in places)
            a = builder.fmul(a, p)
            b = builder.fmul(less(b, u, a), q)
            c = builder.fmul(less(less(c, v, a), w, b), r)
            for place, value in zip(places, (a, b, c), strict=True):
                _store(builder, value, place, 8)
        return context.get_dummy_value()

    return types.void(*[_ADDRESS] * 3, *[types.float64] * 6), codegen


@intrinsic
def dot_three(_context: Any, out: Any, rows: Any, length: Any, right: Any, n: Any) -> Any:
    """``out[r] = rows[r] · right`` for three rows of n eights."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        out, rows, length, right, n = args
        totals = [cgutils.alloca_once_value(builder, _zero(8)) for _ in range(3)]
        with cgutils.for_range(builder, n) as loop:
            at = builder.mul(loop.index, n.type(64))
            other = _load(builder, builder.add(right, at), 8)
            for r, total in enumerate(totals):
                row = builder.add(builder.add(rows, at), builder.mul(length, n.type(r)))
                product = builder.fmul(_load(builder, row, 8), other, flags=_CONTRACT)
                builder.store(builder.fadd(builder.load(total), product, flags=_CONTRACT), total)
        for r, total in enumerate(totals):
            number = _sum(builder, builder.load(total), 8)
            _store(builder, number, builder.add(out, out.type(8 * r)), 1)
        return context.get_dummy_value()

    return types.void(*[_ADDRESS] * 5), codegen


@intrinsic
def combine_8(_context: Any, first: Any, second: Any, p: Any, q: Any, r: Any, s: Any) -> Any:
    """Replace two rows a and b by p a − q b and r b − s a."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        rows = [_load(builder, address, 8) for address in args[:2]]
        p, q, r, s = (_spread(builder, number, 8) for number in args[2:])
        for k, (own, foreign) in enumerate(((p, q), (r, s))):
            product = builder.fmul(own, rows[k], flags=_CONTRACT)
            share = builder.fmul(foreign, rows[1 - k], flags=_CONTRACT)
            _store(builder, builder.fsub(product, share, flags=_CONTRACT), args[k], 8)
        return context.get_dummy_value()

    return types.void(_ADDRESS, _ADDRESS, *[types.float64] * 4), codegen


@intrinsic
def eliminate_8(
    _context: Any, target: Any, factors: Any, stride: Any, n: Any, first: Any, second: Any
) -> Any:
    """``target −= f a + g b`` for n rows, with two factors of each at ``factors``."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        target, factors, stride, n, *pivots = args
        rows = [_load(builder, address, 8) for address in pivots]
        with cgutils.for_range(builder, n) as loop:
            at = builder.mul(loop.index, stride)
            row = builder.add(target, at)
            value = _load(builder, row, 8)
            for k, pivot in enumerate(rows):
                place = builder.add(builder.add(factors, at), ir.Constant(at.type, 8 * k))
                factor = _spread(builder, _load(builder, place, 1), 8)
                product = builder.fmul(factor, pivot, flags=_CONTRACT)
                value = builder.fsub(value, product, flags=_CONTRACT)
            _store(builder, value, row, 8)
        return context.get_dummy_value()

    return types.void(*[_ADDRESS] * 6), codegen


@intrinsic
def subtract_product_6(_context: Any, target: Any, left: Any, right: Any) -> Any:
    """``target −= leftᵀ right`` of blocks of 6 × 6 numbers.

    A vector holds a row and the two numbers after it. Rows are stored in their order, so that the
    next one overwrites what comes of those.
    """

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        target, left, right = args

        def at(block: Any, place: int) -> Any:
            return builder.add(block, block.type(8 * place))

        def shuffle(vector: Any, places: list[int]) -> Any:
            undefined = ir.Constant(vector.type, ir.Undefined)
            kind = ir.VectorType(_INDEX, len(places))
            return builder.shuffle_vector(vector, undefined, ir.Constant(kind, places))

        def load_rows(block: Any) -> list[Any]:
            # After the last row may be the end of the array.
            last = shuffle(_load(builder, at(block, 28), 8), [2, 3, 4, 5, 6, 7, 0, 1])
            return [*(_load(builder, at(block, 6 * row), 8) for row in range(5)), last]

        totals = load_rows(target)
        for k, row in enumerate(load_rows(right)):
            for i, total in enumerate(totals):
                one = _spread(builder, _load(builder, at(left, 6 * k + i), 1), 8)
                product = builder.fmul(row, one, flags=_CONTRACT)
                totals[i] = builder.fsub(total, product, flags=_CONTRACT)
        for i in range(5):
            _store(builder, totals[i], at(target, 6 * i), 8)
        _store(builder, shuffle(totals[5], [0, 1, 2, 3]), at(target, 30), 4)
        _store(builder, shuffle(totals[5], [4, 5]), at(target, 34), 2)
        return context.get_dummy_value()

    return types.void(*[_ADDRESS] * 3), codegen


@intrinsic
def multiply_blocks(
    _context: Any,
    start: Any,
    listed: Any,
    n: Any,
    block: Any,
    column: Any,
    x: Any,
    out: Any,
) -> Any:
    """Add B x_c to ``out`` at ``start``, and Bᵀ x at ``start`` at c, for n blocks of 3 × 3 numbers.

    Blocks are listed by number, and their columns c in the same order. Numbers of x and ``out`` are
    read and written three at a time, as what is beside them may be another thread's.
    """

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        start, listed, n, block, column, x, out = args

        def at(address: Any, index: Any, size: int = 8) -> Any:
            return builder.add(address, builder.mul(index, index.type(size)))

        def shuffle(left: Any, right: Any, places: list[int]) -> Any:
            kind = ir.Constant(ir.VectorType(_INDEX, len(places)), places)
            return builder.shuffle_vector(left, right, kind)

        def load_three(address: Any) -> Any:
            pair = shuffle(_load(builder, address, 2), zero, [0, 1, 2, 3])
            last = _load(builder, builder.add(address, address.type(16)), 1)
            return builder.insert_element(pair, last, ir.Constant(_INDEX, 2))

        def add(left: Any, right: Any) -> Any:
            return builder.fadd(left, right, flags=_CONTRACT)

        def multiply(left: Any, right: Any) -> Any:
            return builder.fmul(left, right, flags=_CONTRACT)

        def add_three(address: Any, value: Any) -> None:
            pair = shuffle(value, ir.Constant(value.type, ir.Undefined), [0, 1])
            _store(builder, add(_load(builder, address, 2), pair), address, 2)
            address = builder.add(address, address.type(16))
            last = builder.extract_element(value, ir.Constant(_INDEX, 2))
            _store(builder, add(_load(builder, address, 1), last), address, 1)

        zero = _zero(2)
        own = at(x, start)
        numbers = [
            _spread(builder, _load(builder, builder.add(own, own.type(8 * i)), 1), 4)
            for i in range(3)
        ]
        totals = [cgutils.alloca_once_value(builder, _zero(4)) for _ in range(3)]
        with cgutils.for_range(builder, n) as loop:
            number, first = (
                builder.load(builder.inttoptr(at(a, loop.index), n.type.as_pointer()))
                for a in (listed, column)
            )
            value = at(block, number, 72)
            rows = [_load(builder, builder.add(value, value.type(8 * k)), 4) for k in (0, 3, 5)]
            # After the last row may be the end of the array.
            rows[2] = shuffle(rows[2], rows[2], [1, 2, 3, 0])
            other = load_three(at(x, first))
            share = None
            for row, one, total in zip(rows, numbers, totals, strict=True):
                builder.store(add(builder.load(total), multiply(row, other)), total)
                product = multiply(row, one)
                share = product if share is None else add(share, product)
            add_three(at(out, first), share)
        sums = _zero(4)
        for i, total in enumerate(totals):
            number = _sum(builder, builder.load(total), 4)
            sums = builder.insert_element(sums, number, ir.Constant(_INDEX, i))
        add_three(at(out, start), sums)
        return context.get_dummy_value()

    return types.void(*[_ADDRESS] * 7), codegen


subtract_products = {width: _make_products(width, added=False) for width in WIDTHS}
"""``target −= Σ_k left[k] · right[k]``, of n numbers and n rows, with the steps between them."""
subtract_three = {width: _make_three(width, from_zero=False) for width in (16, 8)}
"""``target[r] −= Σ_k left[k][r] · right[k]`` for three rows r, with the step between them.

Each of the sums waits for itself alone, and a row on the right is read once for all.
"""
negated_three = {width: _make_three(width, from_zero=True) for width in (16, 8)}
"""``target[r] = −Σ_k left[k][r] · right[k]``, the same."""
add_products = {width: _make_products(width, added=True) for width in (8, 4)}
"""``target += Σ_k left[k] · right[k]``."""
set_products = {width: _make_products(width, added=True, from_zero=True) for width in (8, 4)}
"""``target = Σ_k left[k] · right[k]``: to fill with zeros what is then read as vectors is slow."""
add_multiple = {width: _make_add_multiple(width) for width in WIDTHS}
"""``target += factor · source``."""
scale = {width: _make_scale(width) for width in WIDTHS}
"""``target *= factor``."""
copy = {width: _make_copy(width) for width in WIDTHS}
"""``target = source``."""
dot = {width: _make_dot(width) for width in (4, 1)}
"""``left · right`` of n pieces."""
