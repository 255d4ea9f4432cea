"""Machine code that comes with the package is used wherever it is put, until a source changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import asperity
from asperity.compiled.shipped_code import SHIPPING, can_run

KERNEL = "from asperity.compiled.team import _do_range as kernel\n"
MAKE = KERNEL + "kernel.compile()\nprint(kernel.was_cached)"
USE = KERNEL + "print(kernel.load() and kernel.was_cached and kernel.address != 0)"


def _run(folder: Path, script: str, cache: str, **environment: str) -> str:
    """Run a script with the package of that folder; returns what it prints."""
    others = {name: value for name, value in os.environ.items() if name not in SHIPPING}
    places = {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder.parent / cache)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**others, **places, **environment},
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not can_run(llvm.get_host_cpu_features()), reason="an older processor")
def test_code_in_the_package_is_used_elsewhere_until_a_source_changes(tmp_path: Path) -> None:
    sources = shutil.ignore_patterns("__pycache__", "machine_code")
    made = tmp_path / "made"
    shutil.copytree(Path(asperity.__file__).parent, made / "asperity", ignore=sources)
    assert _run(made, USE, "empty") == "False"
    assert _run(made, MAKE, "compiled", **SHIPPING) == "False"
    used = made.rename(tmp_path / "used")
    assert _run(used, USE, "empty") == "True"
    assert not list((tmp_path / "empty").rglob("*.nbc"))
    assert _run(used, USE, "empty", NUMBA_CPU_NAME="generic") == "False"
    with (used / "asperity" / "compiled" / "tables.py").open("a") as source:
        source.write("# Another line.\n")
    assert _run(used, USE, "empty") == "False"


def test_code_for_newer_processors_is_not_used_on_older_ones() -> None:
    features = dict.fromkeys(
        [name.removeprefix("+") for name in SHIPPING["NUMBA_CPU_FEATURES"].split(",")], True
    )
    assert can_run(features)
    assert not can_run({**features, "avx2": False})
    del features["fma"]
    assert not can_run(features)
