"""What kernels become: part of those who call them, with the results that Numba's own way has."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import types

import asperity
from asperity.compiled import Layout, Table, compiled, compiled_loop, contained
from asperity.compiled.elements import ElementLower

EVERYTHING = Layout(
    "every kind of array",
    reals="f8[:]",
    matrix="f8[:,:]",
    cube="i8[:,:,:]",
    numbers="i4[:]",
    flags="u1[:]",
)


def touch(table: Any, given: Any, small: Any, unsigned: Any) -> float:
    """Read and write elements in all the ways in which they can be named."""
    table.reals[-1] += table.matrix[1, small] * given[2]
    table.reals[unsigned] = given[-1]
    table.matrix[-1, 2] = table.cube[0, -1, small]
    table.matrix[0] = table.matrix[1]
    table.cube[1, 0, 2] = 9.75
    table.cube[0, small, -1] = table.matrix.shape[1] + table.cube.size
    table.numbers[small] = -7.9
    table.numbers[1] = table.flags[-1]
    table.flags[0] = True
    at = (1, 2)
    return table.matrix[at] + table.matrix[-2:, 1].sum() + table.reals[small] + table.numbers[2]


touch_kernel = compiled(touch)


@compiled_loop(types.float64(EVERYTHING.type, types.float64[::1], types.int32, types.uint16))
def touch_all(table: Table, given: np.ndarray, small: int, unsigned: int) -> float:
    """The kernel, from Python."""
    return touch_kernel(table, given, small, unsigned)


def filled() -> tuple[Table, np.ndarray]:
    random = np.random.default_rng(3)
    table = Table(
        EVERYTHING,
        reals=random.normal(size=4),
        matrix=random.normal(size=(3, 5)),
        cube=random.integers(0, 99, size=(2, 3, 4)),
        numbers=np.arange(4, dtype=np.int32),
        flags=np.array([0, 0, 3], np.uint8),
    )
    return table, random.normal(size=6)


def test_elements_are_those_of_python() -> None:
    """Every kind of index: negative, narrow, unsigned, constant, several, and parts of arrays."""
    ours, given = filled()
    theirs, _ = filled()
    found = touch_all(ours, given, np.int32(2), np.uint16(1))
    assert found == pytest.approx(touch(theirs, given, np.int32(2), np.uint16(1)), rel=1e-14)
    for name in EVERYTHING.fields:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-14)


def test_elements_are_translated_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    original = ElementLower._address

    def address(self: Any, array: str, index: str) -> Any:
        found = original(self, array, index)
        counted.append(found is not None)
        return found

    monkeypatch.setattr(ElementLower, "_address", address)

    def first(x: Any) -> float:
        x[0, 1] = x[-1, 0]
        return x[0].sum() + x[0, 1]

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert compiled(first)(x) == 7.0
    assert counted == [True, True, False, True]


PROGRAM = """
import sys
if sys.argv[1] == "quicker":
    from asperity.compiled.quicker_numba import make_numba_quicker
    make_numba_quicker()
import contained_kernels
contained_kernels.entry.compile()
assert contained_kernels.largest._from_python is None
(kernel,) = contained_kernels.largest.overloads.values()
assert kernel.library.get_pointer_to_function(kernel.fndesc.llvm_func_name) == 0
"""

KERNELS = """
import numpy as np
from numba import carray, types
from asperity.compiled import compiled, compiled_loop, entry_point

@compiled
def largest(x, low):
    found = low
    for i in range(x.size):
        found = max(found, x[i] * x[i], np.sqrt(x[i]))
    return found

@entry_point(types.float64(types.CPointer(types.float64), types.int64))
def entry(address, n):
    x = carray(address, (n,))
    return largest(x, 0.0) + largest(x[1:], 1.0)
"""


def machine_code(folder: Path, word: str) -> bytes:
    """Machine code that another process leaves on disk."""
    (folder / "contained_kernels.py").write_text(KERNELS)
    cache = folder / word
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(Path(asperity.__file__).parent.parent)]),
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONHASHSEED": "0",  # names of functions list the flags in the order of a set
    }
    command = [sys.executable, "-c", PROGRAM, word]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    entries = [pickle.loads(file.read_bytes()) for file in cache.rglob("*.nbc")]
    kept = {kind: code for (_, kind, code), *_ in entries}
    assert kept.keys() == {"contained", "object"}
    # Some versions of Numba name constants by addresses of Python's objects.
    return re.sub(rb"0x[0-9a-f]+", b"", kept["object"][0])


def test_a_quicker_numba_compiles_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has no machine code of its own, and that of the entry point is the same."""
    monkeypatch.syspath_prepend(str(tmp_path))
    assert machine_code(tmp_path, "plain") == machine_code(tmp_path, "quicker")
    del sys.modules["contained_kernels"]  # imported for what is kept


def test_a_numba_that_compiles_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contained, "NativeLowering", type("AnotherLowering", (), {}))
    with pytest.raises(RuntimeError, match="install a version") as caught:
        compiled(lambda x: x + 1)(1)
    assert numba.__version__ in str(caught.value)
