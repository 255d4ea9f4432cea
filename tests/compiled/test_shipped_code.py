"""Machine code that comes with the package is used wherever it is put, until a source changes."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import asperity
from asperity.compiled.shipped_code import SHIPPING, can_run

KERNELS = {"compiled", "inlined", "consistent"}
COMPILED = {
    *KERNELS,
    *("compiled_loop", "compiled_method", "entry_point", "higher_order", "stage"),
}

KERNEL = "from asperity.compiled.team import _do_range as kernel\n"
MAKE = KERNEL + "kernel.compile()\nprint(kernel.was_cached)"
USE = KERNEL + "print(kernel.load() and kernel.was_cached and kernel.address != 0)"

# What a script begins with where no folder can be written to, on another processor, with a Numba
# that may expect other code.
NO_FOLDER = """
from numba.core.caching import _CacheLocator
def refuse(locator):
    raise OSError("read-only file system")
_CacheLocator.ensure_cache_path = refuse
"""
OLDER_PROCESSOR = "import llvmlite.binding as llvm\nllvm.get_host_cpu_features = llvm.FeatureMap\n"
OTHER_NUMBA = "import numba\nnumba.__version__ = '0.68.999'\n"


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
    assert _run(used, NO_FOLDER + USE, "empty") == "True"
    assert _run(used, USE, "empty", NUMBA_CPU_NAME="generic") == "False"
    assert _run(used, USE, "empty", ASPERITY_CHECK_INDICES="1") == "False"
    for other in (OLDER_PROCESSOR, OTHER_NUMBA):
        assert _run(used, other + USE, "empty") == "False"
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


def _decorators(function: ast.FunctionDef) -> set[str]:
    """Names of a function's decorators."""
    made_by = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return {ast.unparse(one) for one in made_by}


def _python_calls(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield names that Python calls within a node, not those that compiled functions call."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef) and _decorators(inner) & COMPILED:
            continue
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
            yield inner.func.id, inner.lineno
        yield from _python_calls(inner)


def test_python_calls_only_what_a_wheel_has() -> None:
    """A kernel without a signature would be compiled for what Python calls it with, when it does."""
    package = Path(asperity.__file__).parent
    trees = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        trees[".".join(parts).removesuffix(".__init__")] = ast.parse(file.read_text())
    kernels = {
        (module, one.name)
        for module, tree in trees.items()
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and _decorators(one) & KERNELS
    }
    assert len(kernels) > 1000
    for module, tree in trees.items():
        names = {name for home, name in kernels if home == module}
        for one in ast.walk(tree):
            if isinstance(one, ast.ImportFrom):
                found = (alias for alias in one.names if (one.module, alias.name) in kernels)
                names |= {alias.asname or alias.name for alias in found}
        called = [f"{name}, line {line}" for name, line in _python_calls(tree) if name in names]
        assert not called, f"{module} calls {called}; call a compiled_loop that calls them"
