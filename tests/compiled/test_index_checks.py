"""Index checks: what is outside of an array ends the process, with words that lead to the line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import asperity

PROGRAM = """
import sys
import numpy as np
from numba import types
from asperity.compiled import Layout, Table, compiled, compiled_loop, entry_point
from asperity.compiled.calls import call_pp_status

INNER = Layout("inner", reals="f8[:]", matrix="f8[:,:]")
OUTER = Layout("outer", inner=INNER)

@compiled
def read(outer, i, k):
    row = outer.inner.matrix[i]
    return outer.inner.matrix[-1, -3] + outer.inner.reals[i] + row[k] + outer.inner.matrix[:, k].sum()

@compiled_loop(types.float64(OUTER.type, types.int64, types.int64))
def from_python(outer, i, k):
    return read(outer, i, k)

@entry_point(types.int64(types.int64, types.int64))
def write(address, i):
    matrix = OUTER.at(address).inner.matrix
    matrix[i, 1] += 2.0
    return 7

@compiled_loop(types.int64(types.int64, types.int64, types.int64))
def through_address(function, address, i):
    return call_pp_status(function, address, i)

inner = Table(INNER, reals=np.arange(4.0), matrix=np.arange(12.0).reshape(4, 3))
outer = Table(OUTER, inner=inner)
numbers = [int(one) for one in sys.argv[2:]]
if sys.argv[1] == "read":
    print(from_python(outer, *numbers))
else:
    print(through_address(write.address, outer.address, *numbers))
"""


def run(folder: Path, *arguments: object, checks: bool = True) -> subprocess.CompletedProcess[str]:
    file = folder / "indices_of_a_test.py"
    if not file.exists():
        file.write_text(PROGRAM)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(asperity.__file__).parents[1]),
        "NUMBA_CACHE_DIR": str(folder),
        "ASPERITY_CHECK_INDICES": str(int(checks)),
    }
    return subprocess.run(
        [sys.executable, str(file), *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where machine code is kept, with checks and without, by all of these tests."""
    return tmp_path_factory.mktemp("indices")


@pytest.mark.parametrize("checks", [False, True])
def test_indices_inside_change_nothing(folder: Path, checks: bool) -> None:
    found = run(folder, "read", 1, 2, checks=checks)
    assert (found.returncode, found.stdout) == (0, "41.0\n"), found.stderr
    assert run(folder, "write", 3, checks=checks).stdout == "7\n"


@pytest.mark.parametrize(
    ("arguments", "index", "axis", "size", "array", "line"),
    [
        (("read", -1, 0), -1, 0, 4, "outer.inner.matrix in read", 13),
        (("read", 4, 0), 4, 0, 4, "outer.inner.matrix in read", 13),
        (("read", 2, 3), 3, 0, 3, "row in read", 14),
        (("read", 2, -1), -1, 0, 3, "row in read", 14),
        (("write", -1), -1, 0, 4, "matrix in write", 23),
        (("write", 9), 9, 0, 4, "matrix in write", 23),
    ],
)
def test_an_index_outside_ends_the_process(
    folder: Path,
    arguments: tuple[object, ...],
    index: int,
    axis: int,
    size: int,
    array: str,
    line: int,
) -> None:
    # Code without checks is on disk, and is not what runs.
    run(folder, arguments[0], 0, *[0] * (len(arguments) - 2), checks=False)
    found = run(folder, *arguments)
    assert found.returncode == -signal.SIGABRT
    assert found.stdout == ""
    assert found.stderr.startswith(
        f"asperity: index {index} is outside of axis {axis}, which has {size} elements, of {array} ("
    )
    assert f"indices_of_a_test.py:{line})" in found.stderr
