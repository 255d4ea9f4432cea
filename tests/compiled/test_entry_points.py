"""Compiled entry points, the stamp of their disk cache, and MuJoCo's memory layout."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import numpy as np
import pytest
from numba import types

from asperity.compiled import EntryPoint, decorators, entry_point, kept_code, sources
from asperity.compiled.compilation import compile_kernels
from asperity.convex.potentials.lagged import LAGGED_LAW
from asperity.convex.potentials.sap import SAP_LAW
from asperity.errors import AsperityError
from asperity.plant import native

SOURCE = """
from numba import types
from asperity.compiled import compiled, compiled_loop, entry_point, higher_order

@compiled
def twice(x):
    return 2.0 * x

@higher_order
def both(function, x, y):
    return function(x) + function(y)

@entry_point(types.float64(types.float64, types.float64))
def doubled(x, y):
    return both(twice, x, y)

@compiled_loop(types.float64(types.float64))
def thrice(x):
    return 3.0 * x

@entry_point(types.int64(types.int64, types.int64))
def add(a, b):
    return a + b
"""


def load_module(folder: Path) -> ModuleType:
    """Import the small module anew, as a new process would."""
    file = folder / "kernels.py"
    if not file.exists():
        file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("kernels_of_a_test", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Cached code names the module of its function.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the small module, whose cache is its own."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delitem(sys.modules, "kernels_of_a_test", raising=False)
    return tmp_path


def test_address_is_a_c_function(private_cache: Path) -> None:
    add = load_module(private_cache).add
    assert isinstance(add, EntryPoint)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    assert kind(add.address)(40, 2) == 42


def test_compiled_once(monkeypatch: pytest.MonkeyPatch, private_cache: Path) -> None:
    made: list[Any] = []
    original = decorators.CFunc

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(original(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(decorators, "CFunc", counted)
    add = load_module(private_cache).add
    assert made == []  # nothing at import
    assert not add.was_cached
    addresses = {add.address for _ in range(3)}
    assert len(addresses) == len(made) == 1
    assert not add.was_cached


def test_decorator_does_not_compile() -> None:
    def broken(a: Any) -> Any:
        return a.no_such_attribute

    entry = entry_point(types.int64(types.int64))(broken)
    assert isinstance(entry, EntryPoint)


def test_cache_serves_as_long_as_the_stamp_is_the_same(
    monkeypatch: pytest.MonkeyPatch, private_cache: Path
) -> None:
    def hits() -> tuple[bool, bool, bool]:
        module = load_module(private_cache)
        loaded = module.thrice.load()
        _ = module.add.address
        assert module.twice(1.5) == 3.0
        assert module.thrice(1.5) == 4.5
        return (
            module.add.was_cached,
            sum(module.twice._from_python.stats.cache_hits.values()) > 0,
            loaded,
        )

    assert hits() == (False, False, False)
    assert hits() == (True, True, True)
    monkeypatch.setattr(kept_code, "source_stamp", lambda file: "another source")
    assert hits() == (False, False, False)
    assert hits() == (True, True, True)


def test_kernels_may_be_arguments_of_cached_code(private_cache: Path) -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
    for cached in (False, True):
        doubled = load_module(private_cache).doubled
        assert kind(doubled.address)(1.0, 2.5) == 7.0
        assert doubled.was_cached is cached


def test_another_process_loads_contact_laws_from_the_cache() -> None:
    program = (
        "from asperity.convex.potentials.lagged import LAGGED_LAW\n"
        "from asperity.convex.potentials.sap import SAP_LAW\n"
        "print([one.load() for one in (*LAGGED_LAW.kernels, *SAP_LAW.kernels)])"
    )
    for kernel in (*LAGGED_LAW.kernels, *SAP_LAW.kernels):
        kernel.compile()
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == str([True] * (6 + 6)).split()


def test_kernels_are_compiled_by_other_processes(
    monkeypatch: pytest.MonkeyPatch, private_cache: Path
) -> None:
    (private_cache / "kernels_of_a_test.py").write_text(SOURCE)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(private_cache / "cache"))
    monkeypatch.syspath_prepend(str(private_cache))
    module = importlib.import_module("kernels_of_a_test")
    assert not module.add.load()
    compile_kernels((module.add, module.thrice))
    assert module.add.was_cached
    assert module.thrice(1.5) == 4.5
    # Numba counts what it found on disk.
    assert sum(module.thrice._dispatcher.stats.cache_hits.values()) > 0


def test_kernels_are_compiled_without_other_processes(
    monkeypatch: pytest.MonkeyPatch, private_cache: Path
) -> None:
    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise OSError("no processes here")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    module = load_module(private_cache)
    compile_kernels((module.add, module.thrice))
    assert not module.add.was_cached
    assert module.thrice(1.5) == 4.5


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A small package in the place of Asperity's."""
    root = tmp_path / "package"
    files = {
        "compiled/decorators.py": "",
        "plant/__init__.py": "",
        "plant/layouts.py": "from asperity.compiled.decorators import x\n",
        "plant/kernel.py": "from asperity.plant import (\n    layouts,\n    other,\n)\n",
        "plant/trees.py": "import asperity.plant.kernel\n",
        "plant/unrelated.py": "from asperity.plant.layouts import x\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(sources, "_ROOT", str(root))
    return root


def stamp(file: Path) -> str:
    for name in ("source_stamp", "_imports", "_content", "_digest", "_file_of", "_ground"):
        getattr(sources, name).cache_clear()
    return sources.source_stamp(str(file))


def test_stamp_follows_what_a_kernel_can_contain(package: Path) -> None:
    def changes(file: str, of: str) -> bool:
        before = stamp(package / of)
        with (package / file).open("a") as text:
            text.write("changed = True\n")
        return stamp(package / of) != before

    assert stamp(package / "plant/trees.py") == stamp(package / "plant/trees.py")
    assert changes("plant/trees.py", of="plant/trees.py")
    assert changes("plant/kernel.py", of="plant/trees.py")
    assert changes("plant/layouts.py", of="plant/trees.py")  # through the kernel
    assert changes("plant/__init__.py", of="plant/trees.py")
    # Nothing that it does not import, and none of its users.
    assert not changes("plant/unrelated.py", of="plant/trees.py")
    assert not changes("plant/trees.py", of="plant/kernel.py")
    # The code that reads tables and calls C is in every kernel.
    assert changes("compiled/decorators.py", of="plant/__init__.py")


def test_stamp_tells_files_and_versions_apart(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stamp(package / "plant/kernel.py")
    (package / "plant/kernel.py").rename(package / "plant/renamed.py")
    assert stamp(package / "plant/renamed.py") != before
    before = stamp(package / "plant/renamed.py")
    monkeypatch.setattr(sources, "_mujoco_stamp", lambda: b"other structs")
    assert stamp(package / "plant/renamed.py") != before


def test_stamp_of_a_file_elsewhere_follows_the_package(package: Path, tmp_path: Path) -> None:
    force = tmp_path / "force.py"
    force.write_text("from asperity.plant.layouts import x\n")
    before = stamp(force)
    (package / "plant/unrelated.py").write_text("")
    assert stamp(force) == before
    (package / "plant/layouts.py").write_text("")
    assert stamp(force) != before


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='0.00125'/><worldbody><body><freejoint/><geom size='0.1'/></body>"
        "<geom type='plane' size='1 1 1' pos='0 0 -0.05'/></worldbody></mujoco>"
    )


def test_layout_of_this_mujoco(model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    data.time = 0.375
    mujoco.mj_forward(model, data)
    assert data.ncon == 1
    native.verify_layout(model, data)
    contact = native._struct("mjContact").from_address(
        native._struct("mjData").from_address(data._address).contact
    )
    assert contact.dist == data.contact.dist[0]
    np.testing.assert_array_equal(contact.frame, data.contact.frame[0])
    np.testing.assert_array_equal(contact.geom, data.contact.geom[0])
    assert native.offset("mjContact", "dist") == 0
    assert native.struct_size("mjContact") % 8 == 0


@pytest.mark.parametrize("struct", ["mjModel", "mjData"])
def test_other_layout_is_refused(
    struct: str, model: mujoco.MjModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    original = native._struct

    def shifted(name: str) -> Any:
        right = original(name)
        if name != struct:
            return right
        # As if one field had been added at the front.
        fields = [("added", ctypes.c_int64), *right._fields_]
        return type(name, (ctypes.Structure,), {"_fields_": fields})

    monkeypatch.setattr(native, "_struct", shifted)
    with pytest.raises(AsperityError, match=struct) as caught:
        native.verify_layout(model, data)
    assert mujoco.__version__ in str(caught.value)


def test_unknown_c_type_is_refused() -> None:
    node = native.ast_nodes.ValueType(name="quadruple")
    with pytest.raises(AsperityError, match="quadruple"):
        native._ctype(node)
