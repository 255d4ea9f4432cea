"""Compiled entry points, the stamp of their disk cache, and MuJoCo's memory layout."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import numpy as np
import pytest
from numba import types

from asperity.compiled import EntryPoint, decorators, entry_point
from asperity.errors import AsperityError
from asperity.plant import native

SOURCE = """
from numba import types
from asperity.compiled import compiled, entry_point

@compiled
def twice(x):
    return 2.0 * x

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
    def hits() -> tuple[bool, bool]:
        module = load_module(private_cache)
        _ = module.add.address
        assert module.twice(1.5) == 3.0
        return module.add.was_cached, sum(module.twice.stats.cache_hits.values()) > 0

    assert hits() == (False, False)
    assert hits() == (True, True)
    monkeypatch.setattr(decorators, "_STAMP", "another source somewhere in the package")
    assert hits() == (False, False)
    assert hits() == (True, True)


def test_stamp_follows_every_compiled_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    (package / "compiled").mkdir(parents=True)
    (package / "plant").mkdir()
    monkeypatch.setattr(decorators, "__file__", str(package / "compiled" / "decorators.py"))
    kernel = package / "plant" / "kernel.py"
    other = package / "plant" / "command_line.py"
    kernel.write_text("from asperity.compiled import compiled\n")
    other.write_text("import argparse\n")
    stamps = [decorators._package_stamp()]

    def stamp_changes(change: Callable[[], object]) -> bool:
        change()
        stamps.append(decorators._package_stamp())
        return stamps[-1] not in stamps[:-1]

    assert not stamp_changes(lambda: None)
    assert stamp_changes(lambda: kernel.write_text(kernel.read_text() + "x = 1\n"))
    assert stamp_changes(lambda: kernel.rename(package / "plant" / "renamed.py"))
    assert stamp_changes(
        lambda: (package / "new.py").write_text("from asperity.compiled import Layout\n")
    )
    # What compiles nothing costs nobody a recompilation.
    assert not stamp_changes(lambda: other.write_text("import sys\n"))
    assert stamp_changes(lambda: monkeypatch.setattr(decorators, "_mujoco_version", lambda: "9.9"))


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


def test_sources_that_every_kernel_contains_are_stamped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The code that reads tables and calls C is inlined everywhere.
    package = tmp_path / "package"
    source = Path(decorators.__file__).parent
    (package / "compiled").mkdir(parents=True)
    for file in source.glob("*.py"):
        (package / "compiled" / file.name).write_text(file.read_text())
    monkeypatch.setattr(decorators, "__file__", str(package / "compiled" / "decorators.py"))
    for name in ("tables.py", "calls.py", "decorators.py"):
        before = decorators._package_stamp()
        with (package / "compiled" / name).open("a") as file:
            file.write("changed = True\n")
        assert decorators._package_stamp() != before, name
