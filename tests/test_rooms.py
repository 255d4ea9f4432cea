"""The order of the package's rooms, CONTRIBUTING.md: nothing imports upwards, or in a circle."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import asperity

PACKAGE = Path(asperity.__file__).parent
# From the ground up; the rooms of one floor do not know one another.
FLOORS = (
    {"errors"},
    {"arguments", "fixed_attributes", "renamed", "shown"},
    {"compiled"},
    {"geometry"},
    {"contact", "soft"},
    {"plant"},
    {"loading"},
    {"convex"},
    {"integrators"},
    {"midas"},
    {"systems"},
    {"simulator"},
    {"worlds"},
    {"derivatives", "distributed", "media"},
    {"scenes", "study", "viewer"},
    {"envs"},
    {"cli"},
)


def _modules() -> dict[str, Path]:
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = file
    return found


MODULES = _modules()


def _imports(file: Path) -> set[str]:
    """Modules of the package that a file imports, in functions and for types, too."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{file}: imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.add(inner if inner in MODULES else node.module)
    return names & MODULES.keys()


IMPORTS = {name: _imports(file) - {name} for name, file in MODULES.items()}


def _room(module: str) -> str | None:
    """The package hands names of all rooms on, and belongs to none."""
    _, _, inner = module.partition(".")
    return inner.split(".")[0] or None


def test_every_room_has_a_floor() -> None:
    rooms = {_room(name) for name in MODULES} - {None, "__main__"}
    assert rooms == set().union(*FLOORS)


@pytest.mark.parametrize("floor", range(len(FLOORS)))
def test_nothing_imports_upwards(floor: int) -> None:
    below = set().union(*FLOORS[:floor])
    for room in FLOORS[floor]:
        allowed = below | {room}
        for name, imported in IMPORTS.items():
            if _room(name) == room:
                reached = {_room(other) for other in imported} - {None}
                assert reached <= allowed, f"{name} reaches {reached - allowed}"


def test_one_command_alone_knows_the_studies() -> None:
    users = {
        name
        for name, file in MODULES.items()
        if re.search(r"^\s*(from|import) studies\b", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert users == {"asperity.cli.reproduce"}


def test_files_import_one_another_in_no_circle() -> None:
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")
