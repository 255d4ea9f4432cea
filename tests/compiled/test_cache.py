"""Where compiled code is kept: what is said if nowhere, or if Numba keeps it another way."""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache

import asperity
from asperity import AsperityWarning
from asperity.compiled import compilation, kept_code
from asperity.compiled.compilation import compile_kernels

SOURCE = """
from numba import types
from asperity.compiled import compiled, compiled_loop, entry_point

@compiled
def twice(x):
    return 2.0 * x

@entry_point(types.int64(types.int64, types.int64))
def add(a, b):
    return a + b

@compiled_loop(types.float64(types.float64))
def thrice(x):
    return twice(x) + x
"""


def load(folder: Path, source: str = SOURCE) -> ModuleType:
    file = folder / "kernels_of_a_test.py"
    if not file.exists():  # Numba before 0.68 looks at a file's time
        file.write_text(source)
    spec = importlib.util.spec_from_file_location("kernels_of_a_test", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Cached code names the module of its function.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def rename(monkeypatch: pytest.MonkeyPatch, owner: str) -> None:
    """Make Numba call an attribute by another name."""
    original = FunctionCache.__init__

    def renamed(cache: Any, function: Any) -> None:
        original(cache, function)
        if owner == "FunctionCache":
            cache._file = cache.__dict__.pop("_cache_file")
        else:
            cache._cache_file._stamp = cache._cache_file.__dict__.pop("_source_stamp")

    monkeypatch.setattr(FunctionCache, "__init__", renamed)


@pytest.mark.parametrize("owner", ["FunctionCache", "IndexDataCacheFile"])
def test_another_cache_of_numba_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, owner: str
) -> None:
    add = load(tmp_path).add
    rename(monkeypatch, owner)
    for make in (lambda: load(tmp_path), lambda: add.address, add.load):
        with pytest.raises(RuntimeError, match="install a version") as caught:
            make()
        assert numba.__version__ in str(caught.value)


SUMS = """
from numba import carray, types
from asperity.compiled import compiled, compiled_loop, entry_point

VECTOR = types.float64[::1]

@compiled
def add_up(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return total

@compiled_loop(types.float64(VECTOR))
def loop(x):
    return add_up(x) + 0.0

@entry_point(types.float64(types.CPointer(types.float64), types.int64))
def entry(address, n):
    return add_up(carray(address, (n,)))
"""


@pytest.mark.parametrize("changed", [None, "kernel", "loop", "entry point"])
def test_results_do_not_depend_on_what_was_compiled_first(
    changed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of a vector, whose last bits tell in which order it was added up.

    Nor do they on variables of the environment that Numba has yet to see.
    """
    x = np.random.default_rng(1).normal(size=1001)

    def from_kernel(module: ModuleType) -> float:
        return float(module.add_up(x))

    def from_loop(module: ModuleType) -> float:
        return float(module.loop(x))

    def from_entry(module: ModuleType) -> float:
        kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
        return float(kind(module.entry.address)(x.ctypes.data, x.size))

    ways = {"kernel": from_kernel, "loop": from_loop, "entry point": from_entry}
    found = {}
    for first, way in ways.items():
        folder = tmp_path / first
        folder.mkdir()
        if first == changed:
            monkeypatch.setenv("NUMBA_OF_A_TEST", "1")
        way(load(folder, SUMS))
        module = load(folder, SUMS)  # as a process that finds this on disk
        found[first] = {name: way(module) for name, way in ways.items()}
    assert found["kernel"] == found["loop"] == found["entry point"]


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import _CacheLocator

    def refuse(_locator: Any) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr(_CacheLocator, "ensure_cache_path", refuse)
    monkeypatch.setattr(kept_code, "_warned_of_no_cache", False)


@pytest.mark.usefixtures("no_folder")
def test_without_a_folder_all_is_compiled_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("other processes could not hand over what they compile")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = load(tmp_path)
        assert not module.add.load()
        assert not module.add.is_kept
        compile_kernels((module.add, module.thrice))
        assert module.add.load()
        assert module.thrice(1.5) == 4.5
    (told,) = (one for one in caught if issubclass(one.category, AsperityWarning))
    assert "NUMBA_CACHE_DIR" in str(told.message)
    assert not list(tmp_path.rglob("*.nbi"))


def test_other_errors_of_the_cache_are_not_hidden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(_cache: Any, _function: Any) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(FunctionCache, "__init__", refuse)
    with pytest.raises(RuntimeError, match="something else"):
        load(tmp_path)


PROGRAM = """
import os, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import asperity as asp
    sim = asp.Simulator(
        "<mujoco><option gravity='0 0 -2'/><worldbody><body><freejoint/><geom size='.1'/></body>"
        "</worldbody></mujoco>",
        integrator=asp.RungeKutta3(time_step=0.01),
    )
    assert sim.advance_to(0.1).success
assert abs(sim.data.qpos[2] + 0.01) < 1e-12, sim.data.qpos
told = [w for w in caught if "NUMBA_CACHE_DIR" in str(w.message)]
assert len(told) == 1, caught
assert issubclass(told[0].category, asp.AsperityWarning)
print(asp.__file__)
"""


@pytest.mark.slow
def test_a_read_only_installation_without_a_home_runs(tmp_path: Path) -> None:
    """Folders where files are expected refuse even the administrator."""
    package = Path(asperity.__file__).parent
    copy = tmp_path / "asperity"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(f for f in copy.rglob("*") if f.is_dir())]:
        (folder / "__pycache__").write_text("a file")
    home = tmp_path / "home"
    home.write_text("a file")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(home)}
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "NUMBA_CACHE_LOCATOR_CLASSES"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).parent == copy
    # Nothing else than the one remark about compilation.
    assert done.stderr.count("\n") == 1
    assert "happens once" not in done.stderr


def test_compilation_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compilation, "_announced", False)
    monkeypatch.setattr(subprocess, "Popen", lambda *_a, **_k: (_ for _ in ()).throw(OSError()))
    module = load(tmp_path)
    with caplog.at_level(logging.WARNING, logger="asperity"):
        compile_kernels((module.add,), "Cenic")
        compile_kernels((module.thrice,), "Sap")
        compile_kernels((module.add, module.thrice), "Midas")
    (record,) = caplog.records
    assert "for Cenic" in record.getMessage()
    assert "happens once" in record.getMessage()


def test_what_is_on_disk_is_not_announced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load(tmp_path).add.compile()
    monkeypatch.setattr(compilation, "_announced", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_kernels((load(tmp_path).add,))
    assert not caplog.records


def test_announcements_reach_a_program_that_configures_nothing(tmp_path: Path) -> None:
    program = "from asperity.compiled.compilation import _announce; _announce('Cenic', once=True)"
    package = Path(asperity.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stderr.startswith("Asperity compiles its kernels for Cenic")


def test_the_command_line_says_it_its_own_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from asperity.cli.console import preparing, transient

    monkeypatch.setattr(compilation, "_announced", False)
    with preparing(transient()):
        compilation._announce("Cenic", once=True)
        warnings.warn("of a model", AsperityWarning, stacklevel=1)
    assert capsys.readouterr().err.count("compiles its kernels") == 1
    assert not compilation.LOGGER.handlers


CONSTANTS = """
from numba import types
from asperity.compiled import compiled, entry_point

@compiled
def scaled(x, factor):
    return x * factor

@entry_point(types.float64(types.float64))
def polynomial(x):
    return scaled(x, 2) + scaled(x * x, 3) + scaled(x * x * x, 4)
"""


def test_a_kernel_is_compiled_once_for_all_constants(tmp_path: Path) -> None:
    module = load(tmp_path, CONSTANTS)
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(module.polynomial.address)
    assert call(2.0) == 2.0 * 2.0 + 3.0 * 4.0 + 4.0 * 8.0
    assert len(module.scaled.overloads) == 1


def test_python_calls_a_kernel_that_callers_have_compiled(tmp_path: Path) -> None:
    module = load(tmp_path, CONSTANTS)
    assert module.polynomial.address
    assert module.scaled(1.5, 2) == 3.0
    assert module.scaled(1.5, 2.5) == 3.75


def test_linear_algebra_is_imported_by_those_who_use_it() -> None:
    script = """
import sys, numba, numpy as np, asperity.compiled
assert "scipy.linalg" not in sys.modules
product = numba.njit(lambda a: np.dot(a, a))
assert product(np.array([[1.0, 2.0], [0.0, 1.0]]))[0, 1] == 4.0
assert "scipy.linalg" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


RAISING = """
import numpy as np
from numba import types
from asperity.compiled import compiled, compiled_loop

@compiled
def root(x):
    if x < 0.0:
        raise ValueError("negative", x)
    return np.sqrt(x)

@compiled_loop(types.float64(types.float64[::1]))
def roots(x):
    total = np.sum(x)
    for i in range(x.size):
        total += root(x[i])
    return total
"""

SECOND_START = """
import sys, numpy as np
import kernels_of_a_test as kernels
assert kernels.roots.load() == {found}
assert kernels.roots(np.array([4.0, 9.0])) == 18.0
try:
    kernels.roots(np.array([-1.0]))
except ValueError as error:
    assert error.args == ("negative", -1.0), error
else:
    raise AssertionError("nothing was raised")
print("numba.np.arraymath" in sys.modules)
"""


def test_what_is_on_disk_is_used_without_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "kernels_of_a_test.py").write_text(RAISING)
    folders = [str(tmp_path), str(Path(asperity.__file__).parent.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    loaded = []
    for found in (False, True):
        done = subprocess.run(
            [sys.executable, "-c", SECOND_START.format(found=found)],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        loaded.append(done.stdout.strip())
    assert loaded == ["True", "False"]


START = """
import sys
import asperity as asp
sim = asp.Simulator(
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/>"
    "<geom size='.1'/></body></worldbody></mujoco>"
)
assert sim.step().success
print([name for name in ("matplotlib", "numba.np.arraymath", "scipy.linalg", "scipy.optimize")
       if name in sys.modules])
"""


def test_a_second_start_loads_no_more_than_it_needs() -> None:
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
