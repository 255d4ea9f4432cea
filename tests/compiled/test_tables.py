"""Tables and layouts: types at the border, and values as compiled code reads them."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaError, TypingError

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


@numba.njit
def read_numbers(table):
    return table.real, table.integer, table.last


@numba.njit
def read_arrays(table):
    return (
        table.reals.copy(),
        table.integers.copy(),
        table.small.copy(),
        table.flags.copy(),
        table.block.copy(),
    )


@numba.njit
def read_shapes(table):
    return (
        table.reals.shape,
        table.small.shape,
        table.block.shape,
        table.block.strides,
    )


@numba.njit
def write(table):
    table.reals[1] = 7.5
    table.small[1, 2] = -9
    table.flags[0, 1] = 255
    table.block[1, 2, 3] = -1.0


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
    assert read_numbers(table) == (-0.1, -(2**62) - 1, 5)
    table.real, table.integer = np.inf, 3
    assert read_numbers(table) == (np.inf, 3, 5)
    assert (table.real, table.integer) == (np.inf, 3)


def test_arrays() -> None:
    table = filled()
    found = read_arrays(table)
    for name, array in zip(("reals", "integers", "small", "flags", "block"), found, strict=True):
        expected = getattr(table, name)
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)
    shapes = read_shapes(table)
    assert shapes == ((4,), (2, 3), (2, 3, 4), table.block.strides)


def test_compiled_code_writes_into_the_arrays() -> None:
    table = filled()
    before = [array.copy() for array in read_arrays(table)]
    write(table)
    assert table.reals[1] == 7.5
    assert table.small[1, 2] == -9
    assert table.flags[0, 1] == 255
    assert table.block[1, 2, 3] == -1.0
    after = read_arrays(table)
    changed = [int(np.sum(a != b)) for a, b in zip(before, after, strict=True)]
    assert changed == [1, 0, 1, 1, 1]


def test_replaced_arrays_are_read_at_the_same_address() -> None:
    table = filled()
    address = table.address
    table.reals = np.arange(9.0)
    table.block = np.zeros((0, 3, 4))
    assert table.address == address
    np.testing.assert_array_equal(read_arrays(table)[0], np.arange(9.0))
    assert read_shapes(table)[:3] == ((9,), (2, 3), (0, 3, 4))


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
    np.testing.assert_array_equal(read_arrays(table)[0], table.reals)


def test_unknown_fields() -> None:
    table = filled()
    with pytest.raises(AttributeError, match="'everything' has no field 'rals'"):
        table.rals = np.zeros(3)
    with pytest.raises(AttributeError, match="rals"):
        _ = table.rals

    @numba.njit
    def misspelt(other):
        return other.rals

    with pytest.raises(TypingError, match="'everything' has no field 'rals'"):
        misspelt(table)


def test_missing_fields_are_listed() -> None:
    table = Table(EVERYTHING, real=0.0, reals=np.zeros(1))
    assert table.missing() == ["integers", "small", "flags", "block"]
    assert filled().missing() == []


PAIR = Layout("pair", first=EVERYTHING, second=EVERYTHING, total="f8", count="i8")


@numba.njit
def add_up(pair):
    for i in range(pair.first.reals.size):
        pair.total += pair.first.reals[i] * pair.second.reals[i]
    pair.count += 1
    pair.first.integer = 2 * pair.count
    return EVERYTHING.at(pair.second.address).last


def test_tables_in_tables() -> None:
    first, second = filled(), filled()
    second.reals = np.full(4, 2.0)
    pair = Table(PAIR, first=first, second=second)
    assert add_up(pair) == 5
    assert pair.total == pytest.approx(2.0 * first.reals.sum(), rel=1e-15)
    assert (pair.count, first.integer, second.integer) == (1, 2, -(2**62) - 1)
    pair.second = first
    add_up(pair)
    assert pair.total == pytest.approx(
        2.0 * first.reals.sum() + first.reals @ first.reals, rel=1e-14
    )


@pytest.mark.parametrize("value", [0, None, Table(PAIR), np.zeros(3)])
def test_only_the_right_table_fits(value: object) -> None:
    pair = Table(PAIR, first=filled(), second=filled())
    with pytest.raises(TypeError, match=r"pair\.first: needs a table 'everything'"):
        pair.first = value


@pytest.mark.parametrize("field", ["reals", "address"])
def test_compiled_code_replaces_no_arrays(field: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"def replace(table):\n    table.{field} = table.{field}", namespace)
    with pytest.raises(NumbaError, match=f"cannot replace '{field}' of table 'everything'"):
        numba.njit(namespace["replace"])(filled())


def test_numbers_are_zero_until_set() -> None:
    pair = Table(PAIR)
    assert (pair.total, pair.count) == (0.0, 0)
    assert pair.missing() == ["first", "second"]
    with pytest.raises(AttributeError, match="'first' of table 'pair' was never set"):
        _ = pair.first


@pytest.mark.parametrize(
    "kind",
    ["i4", "u1", "f4", "f8[", "f8[:", "i8[,]x", "f8[n..m]", "f8[2n]", "f8[n] =", "float64", ""],
)
def test_unknown_kinds(kind: str) -> None:
    with pytest.raises(TypeError, match=r"wrong\.field"):
        Layout("wrong", field=kind)


def test_slots_do_not_overlap() -> None:
    covered = [
        slot
        for field in EVERYTHING.fields.values()
        for slot in range(field.slot, field.slot + 1 + field.ndim)
    ]
    assert sorted(covered) == list(range(EVERYTHING.size))


GROWING = Layout(
    "growing",
    bodies="i8",
    mass="f8[bodies] = 1",
    pose="f8[bodies + 1, 4, 3]",
    pairs="i4[bodies * (bodies - 1) // 2, 2] = -1",
    near="u1[bodies, contacts]",
    depth="f8[contacts]",
    work="f8[3, 3]",
    given="f8[:, 2]",
    tolerance="f8 = 1e-3",
    first="i8 = -1",
)


def test_arrays_have_the_shapes_and_values_that_fields_declare() -> None:
    table = Table(GROWING, bodies=3, contacts=2)
    arrays = {name: getattr(table, name) for name in ("mass", "pose", "pairs", "near", "depth")}
    shapes = {name: array.shape for name, array in arrays.items()}
    assert shapes == {
        "mass": (3,), "pose": (4, 4, 3), "pairs": (3, 2), "near": (3, 2), "depth": (2,)
    }  # fmt: skip
    assert [array.dtype for array in arrays.values()] == ["f8", "f8", "i4", "u1", "f8"]
    assert np.all(table.mass == 1.0)
    assert np.all(table.pairs == -1)
    assert not table.pose.any()
    assert (table.bodies, table.tolerance, table.first) == (3, 1e-3, -1)
    assert table.missing() == ["given"]


def test_another_size_changes_what_depends_on_it_alone() -> None:
    table = Table(GROWING, bodies=2, contacts=1)
    table.mass[:], table.near[:], table.depth[:] = [5.0, 6.0], 7, 8.0
    mass = table.mass
    table.resize(contacts=4)
    assert table.mass is mass
    assert table.near.shape == (2, 4)
    assert not table.near.any()
    assert table.depth.shape == (4,)
    assert not table.depth.any()
    table.extend(bodies=3)
    assert table.mass.tolist() == [5.0, 6.0, 1.0]
    assert (table.bodies, table.pairs.shape) == (3, (3, 2))


HOLDING = Layout("holding", inner=GROWING, force="f8[contacts, 3]")


def test_tables_in_a_table_are_resized_with_it() -> None:
    inner = Table(GROWING, bodies=2, contacts=1)
    table = Table(HOLDING, contacts=1, inner=inner)
    inner.depth[:], table.force[:] = 5.0, 6.0
    table.extend(contacts=2)
    assert inner.depth.tolist() == [5.0, 0.0]
    assert table.force.tolist() == [[6.0] * 3, [0.0] * 3]
    table.resize(bodies=4)
    assert inner.mass.tolist() == [1.0] * 4
    assert table.force.shape == (2, 3)


def test_work_space_is_allocated_without_sizes() -> None:
    table = Table(GROWING)
    assert table.missing() == ["mass", "pose", "pairs", "near", "depth", "given"]
    table.resize(bodies=0, contacts=0)
    assert table.pose.shape == (1, 4, 3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bodies": 2}, r"growing\.near: u1\[bodies, contacts\] needs the size contacts"),
        ({"bodies": 2, "contacts": -1}, "'growing': size 'contacts' is negative, -1"),
        ({"bodies": 2, "contacts": 1, "links": 1}, "neither a field nor a size 'links'"),
        ({"bodies": 2, "contacts": 1, "depth": np.zeros(2)}, r"growing\.depth: .* than \(2,\)"),
        ({"bodies": 2, "contacts": 1, "work": np.zeros((3, 2))}, r"growing\.work: .* \(3, 2\)"),
        ({"bodies": 2, "contacts": 1, "given": np.zeros((5, 3))}, r"growing\.given: .* \(5, 3\)"),
    ],
)  # fmt: skip
def test_wrong_and_missing_sizes_name_field_and_table(
    values: dict[str, object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Table(GROWING, **values)


def test_a_size_that_there_is_not() -> None:
    table = Table(GROWING, bodies=1, contacts=1)
    with pytest.raises(TypeError, match="table 'growing' has no size 'links'"):
        table.resize(links=3)
    with pytest.raises(TypeError, match=r"growing\.near: .* needs the size contacts"):
        Table(GROWING).resize(bodies=3)


def test_a_number_that_says_a_size_is_an_integer() -> None:
    with pytest.raises(TypeError, match=r"wrong\.bodies: a size has this name, so it must be i8"):
        Layout("wrong", bodies="f8", mass="f8[bodies]")


def test_a_twin_has_arrays_of_its_own_where_it_is_told() -> None:
    table = Table(GROWING, bodies=2, contacts=1)
    table.mass[:], table.depth[:] = 3.0, 4.0
    twin = table.twin("depth")
    assert twin.mass is table.mass
    assert twin.sizes == table.sizes
    assert twin.depth is not table.depth
    assert not twin.depth.any()
    assert (twin.bodies, twin.tolerance) == (2, 1e-3)
