"""Which sources a compiled function can contain, as a stamp for its disk cache.

A kernel contains what it inlines: functions, table layouts, constants and struct offsets of the
modules that its own module imports, directly or through others, and of MuJoCo. Numba itself looks
at the kernel's own file only.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import re
from importlib import metadata

__all__ = ["source_stamp"]

_PACKAGE = "asperity"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_IMPORT = re.compile(
    rf"^\s*(?:from\s+({_PACKAGE}[\w.]*)\s+import\s+(\([^)]*\)|[^\n#]*)|import\s+({_PACKAGE}[\w.]*))",
    re.MULTILINE,
)


@functools.cache
def _mujoco_version() -> str:
    for name in ("mujoco-core", "mujoco"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


@functools.cache
def _file_of(module: str) -> str | None:
    """File of one of the package's modules; None for anything else."""
    path = os.path.join(_ROOT, *module.split(".")[1:])
    for file in (path + ".py", os.path.join(path, "__init__.py")):
        if os.path.isfile(file):
            return file
    return None


@functools.cache
def _content(file: str) -> bytes:
    with open(file, "rb") as source:
        return source.read()


@functools.cache
def _imports(file: str) -> frozenset[str]:
    """Files of the package that a file imports."""
    found = set()
    for module, names, plain in _IMPORT.findall(_content(file).decode()):
        for name in [module or plain, *(f"{module}.{n}" for n in re.findall(r"\w+", names))]:
            imported = _file_of(name)
            if imported is not None:
                found.add(imported)
    return frozenset(found)


@functools.cache
def source_stamp(file: str) -> str:
    """Digest of a file, of all that it imports from this package, and of MuJoCo's version."""
    # What reads tables and calls C is part of every kernel.
    waiting = {file, *glob.glob(os.path.join(_ROOT, "compiled", "*.py"))}
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        seen.add(one)
        waiting |= _imports(one) - seen
    digest = hashlib.sha256(_mujoco_version().encode())
    for one in sorted(seen):
        digest.update(os.path.relpath(one, _ROOT).encode())
        digest.update(_content(one))
    return digest.hexdigest()
