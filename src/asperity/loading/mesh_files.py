"""Find the mesh files of a URDF: ``package://``, ``file://``, relative and unreadable ones."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

__all__ = ["READABLE", "MeshFile", "MeshFinder"]

READABLE = (".stl", ".obj", ".msh")
"""Mesh formats that MuJoCo reads."""

_SIBLINGS = ("collision", "collisions", "visual", "visuals", "stl", "obj", "meshes")
_PACKAGE_URI = re.compile(r"^(?:package|model)://+([^/]+)/(.*)$")
_FIND = re.compile(r"^\$\(find ([^)]+)\)/(.*)$")
_PACKAGE_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")


@dataclass(frozen=True)
class MeshFile:
    """Outcome of a search.

    Attributes
    ----------
    path : Path or None
        A file that MuJoCo can read; None if there is none.
    unreadable : Path or None
        The file that the URDF names, if it exists in a format that MuJoCo does not read.
    note : str or None
        What was done to find the file, if it was not simply where the URDF says.
    """

    path: Path | None
    unreadable: Path | None = None
    note: str | None = None


class MeshFinder:
    """Resolve the mesh names of one URDF.

    A package is looked for in ``package_paths`` (folders that hold it or are it), then in the
    folders above the URDF, then in ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``. Last, the rest
    of the name is tried from each folder above the URDF, because downloaded packages often sit in
    a renamed folder.

    Parameters
    ----------
    folder : Path
        Folder of the URDF; relative names start there.
    package_paths : sequence of path-like
        Folders that hold packages or are packages.
    mesh_folder : str
        The ``meshdir`` that the URDF states for MuJoCo, or "".
    strip_path : bool
        Whether the URDF asks MuJoCo to keep only the last part of each name.
    """

    def __init__(
        self,
        folder: Path,
        package_paths: Sequence[str | os.PathLike[str]] = (),
        *,
        mesh_folder: str = "",
        strip_path: bool = False,
    ) -> None:
        self._folder = folder
        self._above = [folder, *folder.parents]
        self._given = [Path(p).expanduser().absolute() for p in package_paths]
        self._mesh_folder = folder / mesh_folder
        self._strip_path = strip_path

    def find(self, uri: str) -> MeshFile:
        """Find the file that a ``filename`` attribute means."""
        unreadable: Path | None = None
        for candidate, note in self._candidates(uri.strip()):
            path = _existing(candidate)
            if candidate.suffix.lower() in READABLE:
                if path is not None:
                    return MeshFile(path, note=note)
                continue
            substitute = _substitute(candidate)
            if substitute is not None:
                return MeshFile(substitute, path, f"'{uri}' is replaced by '{substitute}'")
            unreadable = unreadable or path
        return MeshFile(None, unreadable)

    def _candidates(self, uri: str) -> Iterator[tuple[Path, str | None]]:
        if self._strip_path:
            # The file itself says that only the last part of each name counts.
            yield self._mesh_folder / uri.replace("\\", "/").rsplit("/", 1)[-1], None
            return
        package = _PACKAGE_URI.match(uri) or _FIND.match(uri)
        if package is not None:
            yield from self._in_package(package[1], unquote(package[2]))
            return
        if uri.startswith("file://"):
            uri = unquote(uri.removeprefix("file://"))
        path = Path(uri.replace("\\", "/")).expanduser()
        yield self._mesh_folder / path, None
        yield self._folder / path, None

    def _in_package(self, name: str, rest: str) -> Iterator[tuple[Path, str | None]]:
        environment = [Path(p) for p in _split(os.environ.get("ROS_PACKAGE_PATH"))]
        environment += [Path(p) / "share" for p in _split(os.environ.get("AMENT_PREFIX_PATH"))]
        for root in [*self._given, *self._above, *environment]:
            if _is_package(root, name):
                yield root / rest, None
            yield root / name / rest, None
        for root in [*self._given, *self._above]:
            yield (
                root / rest,
                f"package '{name}' was not found; the folder '{root}' is taken for it",
            )


def _split(value: str | None) -> list[str]:
    return [part for part in (value or "").split(os.pathsep) if part]


def _is_package(folder: Path, name: str) -> bool:
    if folder.name == name:
        return True
    manifest = folder / "package.xml"
    if not manifest.is_file():
        return False
    match = _PACKAGE_NAME.search(manifest.read_text(encoding="utf-8", errors="replace"))
    return match is not None and match[1] == name


def _existing(path: Path) -> Path | None:
    """The file, found even if its name differs in case (URDFs made on other systems)."""
    if path.is_file():
        return path
    if path.parent.is_dir():
        for sibling in sorted(path.parent.iterdir()):
            if sibling.name.lower() == path.name.lower() and sibling.is_file():
                return sibling
    return None


def _substitute(path: Path) -> Path | None:
    """A readable file with the same stem beside the given one, or in a folder beside its own."""
    folders = [path.parent, *(path.parent.parent / name for name in _SIBLINGS)]
    for folder in folders:
        for suffix in (".stl", ".obj"):
            found = _existing(folder / (path.stem + suffix))
            if found is not None:
                return found
    return None
