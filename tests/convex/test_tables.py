"""Tables and layouts: types at the border, and values as compiled code reads them."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from asperity.compiled import Layout, Table

EVERYTHING = Layout(
    "everything",
    real="f8",
    integer="i8",
    reals="f8[:]",
    integers="i8[:]",
    small="i4[:,:]",
    flags="u1[:,:]",
    block="f8[:,:,:]",
    last="i8",
)
get = EVERYTHING.get


@numba.njit
def read_numbers(table):
    return get(table, "real"), get(table, "integer"), get(table, "last")


@numba.njit
def read_arrays(table):
    return (
        get(table, "reals").copy(),
        get(table, "integers").copy(),
        get(table, "small").copy(),
        get(table, "flags").copy(),
        get(table, "block").copy(),
    )


@numba.njit
def read_shapes(table):
    return (
        get(table, "reals").shape,
        get(table, "small").shape,
        get(table, "block").shape,
        get(table, "block").strides,
    )


@numba.njit
def write(table):
    get(table, "reals")[1] = 7.5
    get(table, "small")[1, 2] = -9
    get(table, "flags")[0, 1] = 255
    get(table, "block")[1, 2, 3] = -1.0


def filled() -> Table:
    rng = np.random.default_rng(0)
    return Table(
        EVERYTHING,
        real=-0.1,
        integer=-(2**62) - 1,
        reals=rng.standard_normal(4),
        integers=rng.integers(-(2**62), 2**62, 5),
        small=rng.integers(-(2**31), 2**31, (2, 3)).astype(np.int32),
        flags=rng.integers(0, 256, (3, 2)).astype(np.uint8),
        block=rng.standard_normal((2, 3, 4)),
        last=5,
    )


def test_numbers() -> None:
    table = filled()
    assert read_numbers(table.address) == (-0.1, -(2**62) - 1, 5)
    table.real, table.integer = np.inf, 3
    assert read_numbers(table.address) == (np.inf, 3, 5)
    assert (table.real, table.integer) == (np.inf, 3)


def test_arrays() -> None:
    table = filled()
    found = read_arrays(table.address)
    for name, array in zip(("reals", "integers", "small", "flags", "block"), found, strict=True):
        expected = getattr(table, name)
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)
    shapes = read_shapes(table.address)
    assert shapes == ((4,), (2, 3), (2, 3, 4), table.block.strides)


def test_compiled_code_writes_into_the_arrays() -> None:
    table = filled()
    before = [array.copy() for array in read_arrays(table.address)]
    write(table.address)
    assert table.reals[1] == 7.5
    assert table.small[1, 2] == -9
    assert table.flags[0, 1] == 255
    assert table.block[1, 2, 3] == -1.0
    after = read_arrays(table.address)
    changed = [int(np.sum(a != b)) for a, b in zip(before, after, strict=True)]
    assert changed == [1, 0, 1, 1, 1]


def test_replaced_arrays_are_read_at_the_same_address() -> None:
    table = filled()
    address = table.address
    table.reals = np.arange(9.0)
    table.block = np.zeros((0, 3, 4))
    assert table.address == address
    np.testing.assert_array_equal(read_arrays(address)[0], np.arange(9.0))
    assert read_shapes(address)[:3] == ((9,), (2, 3), (0, 3, 4))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reals", np.zeros(3, np.float32)),
        ("reals", np.zeros(3, np.int64)),
        ("reals", np.zeros((3, 1))),
        ("reals", np.zeros(6)[::2]),
        ("reals", [0.0, 1.0]),
        ("reals", 1.0),
        ("reals", None),
        ("integers", np.zeros(3)),
        ("integers", np.zeros(3, np.int32)),
        ("small", np.zeros((2, 2), np.int64)),
        ("flags", np.zeros((2, 2), bool)),
        ("block", np.asfortranarray(np.zeros((2, 3, 4)))),
    ],
)
def test_other_types_are_refused(field: str, value: object) -> None:
    table = filled()
    before = getattr(table, field)
    with pytest.raises(TypeError, match=rf"everything\.{field}"):
        setattr(table, field, value)
    # The table is as it was.
    assert getattr(table, field) is before
    np.testing.assert_array_equal(read_arrays(table.address)[0], table.reals)


def test_unknown_fields() -> None:
    table = filled()
    with pytest.raises(KeyError):
        table.rals = np.zeros(3)
    with pytest.raises(AttributeError, match="rals"):
        _ = table.rals

    @numba.njit
    def misspelt(address):
        return get(address, "rals")

    with pytest.raises(TypingError, match="'everything' has no field 'rals'"):
        misspelt(table.address)


def test_missing_fields_are_listed() -> None:
    table = Table(EVERYTHING, real=0.0, reals=np.zeros(1))
    assert table.missing() == ["integer", "integers", "small", "flags", "block", "last"]
    assert filled().missing() == []


@pytest.mark.parametrize("kind", ["f4", "f8[", "f8[:", "i8[,]x", "float64", ""])
def test_unknown_kinds(kind: str) -> None:
    with pytest.raises(TypeError, match=r"wrong\.field"):
        Layout("wrong", field=kind)


def test_slots_do_not_overlap() -> None:
    sizes = {name: 1 + ndim for name, (_, ndim) in EVERYTHING.kinds.items()}
    covered = [
        slot
        for name, start in EVERYTHING.slots.items()
        for slot in range(start, start + sizes[name])
    ]
    assert sorted(covered) == list(range(EVERYTHING.size))
