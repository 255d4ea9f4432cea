"""Which sources a compiled function can contain, as a stamp for its disk cache.

A kernel contains what it inlines: functions, table layouts, constants and struct offsets of the
modules that its own module imports, directly or through others, and of MuJoCo. Numba itself looks
at the kernel's own file only.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import glob
import hashlib
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator

__all__ = ["source_stamp"]

_PACKAGE = "asperity"
_STRUCTS = ("structs.py", "enums.py")
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Parsing every file takes ten times as long as parsing its import statements, at every start of
# Python. So these are cut out where they look as usual; anything else that could be one, be it
# prose, has the whole file parsed.
_STATEMENT = re.compile(
    r"^[ \t]*((?:from[ \t]+[\w.]+[ \t]+)?import\b(?:[ \t]*\([^)]*\))?[^\n]*)", re.MULTILINE
)
_PERHAPS = re.compile(r"import\b|from\b[^\n]*\\$", re.MULTILINE)


@functools.cache
def _mujoco_stamp() -> bytes:
    """Digest of MuJoCo's own descriptions of its structs and enums (``mujoco.introspect``).

    They are the same in releases that mend errors.
    """
    spec = importlib.util.find_spec("mujoco")
    digest = hashlib.sha256()
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        for name in _STRUCTS:
            with open(os.path.join(folder, "introspect", name), "rb") as source:
                digest.update(source.read())
    return digest.digest()


@functools.cache
def _own_package(folder: str) -> str | None:
    """Folder of the outermost package that a folder is part of; None if it is not part of one."""
    if not os.path.isfile(os.path.join(folder, "__init__.py")):
        return None
    return _own_package(os.path.dirname(folder)) or folder


@functools.cache
def _file_of(module: str, own: str | None) -> str | None:
    """File of a module of Asperity or of one's own package; None for anything else."""
    package, *names = module.split(".")
    if package == _PACKAGE:
        path = os.path.join(_ROOT, *names)
    elif own is not None and package == os.path.basename(own):
        path = os.path.join(own, *names)
    else:
        return None
    for file in (path + ".py", os.path.join(path, "__init__.py")):
        if os.path.isfile(file):
            return file
    return None


@functools.cache
def _content(file: str) -> bytes:
    with open(file, "rb") as source:
        return source.read()


@functools.cache
def _digest(file: str) -> bytes:
    digest = hashlib.sha256(os.path.relpath(file, _ROOT).encode())
    digest.update(_content(file))
    return digest.digest()


def _statements(text: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import statement of a source, those within functions included."""
    parts = _STATEMENT.split(text)
    nodes: Iterable[ast.AST] | None = None
    if not _PERHAPS.search("".join(parts[::2])):
        with contextlib.suppress(SyntaxError):
            nodes = ast.parse("\n".join(parts[1::2])).body
    for node in ast.walk(ast.parse(text)) if nodes is None else nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _base(file: str, level: int) -> list[str]:
    """Names of the package that a relative import starts from; none if it is not this package."""
    folder = os.path.dirname(os.path.abspath(file))
    for _ in range(level - 1):
        folder = os.path.dirname(folder)
    inside = os.path.relpath(folder, _ROOT)
    if inside == os.curdir:
        return [_PACKAGE]
    names = inside.split(os.sep)
    return [] if names[0] == os.pardir else [_PACKAGE, *names]


@functools.cache
def _imports(file: str) -> frozenset[str]:
    """Files of Asperity, and of a file's own package, that the file imports."""
    modules: set[str] = set()
    for statement in _statements(_content(file).decode()):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                modules.add(alias.name)
                if alias.asname is None:
                    # It binds the outermost package, through which all of them can be reached.
                    names = alias.name.split(".")
                    modules.update(".".join(names[:end]) for end in range(1, len(names)))
            continue
        names = _base(file, statement.level) if statement.level else []
        if statement.level and not names:
            continue
        if statement.module is not None:
            names = [*names, statement.module]
        module = ".".join(names)
        # What is imported can be a module or a name within one.
        modules.update((module, *(f"{module}.{alias.name}" for alias in statement.names)))
    own = _own_package(os.path.dirname(os.path.abspath(file)))
    files = (_file_of(module, own) for module in modules)
    return frozenset(found for found in files if found is not None)


@functools.cache
def _ground() -> frozenset[str]:
    """Files of what reads tables and calls C, which is part of every kernel."""
    files = glob.glob(os.path.join(_ROOT, "compiled", "*.py"))
    # A program that knows the whole package.
    return frozenset(files) - {os.path.join(_ROOT, "compiled", "__main__.py")}


@functools.cache
def source_stamp(file: str) -> str:
    """Digest of a file, of all that it imports from this package, and of MuJoCo's structs."""
    if os.path.isfile(file):
        waiting = {file, *_ground()}
    else:
        # A notebook's cell: what it uses may have been imported by another one.
        waiting = set(glob.glob(os.path.join(_ROOT, "**", "*.py"), recursive=True))
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        seen.add(one)
        waiting |= _imports(one) - seen
    digest = hashlib.sha256(_mujoco_stamp())
    for one in sorted(seen):
        digest.update(_digest(one))
    return digest.hexdigest()
