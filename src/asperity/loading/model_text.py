"""The text of a model, from a file or a string, and what language it is in."""

from __future__ import annotations

import os
from pathlib import Path

from asperity.errors import ArgumentError, ModelError

__all__ = ["read_text", "unknown_root"]


def read_text(source: object) -> tuple[str, Path | None]:
    """The text of a model, and its path if it came from a file."""
    if isinstance(source, str) and source.removeprefix("\ufeff").lstrip().startswith("<"):
        return source, None
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentError(
            f"A model cannot be loaded from an object of type {type(source).__name__}; pass a "
            "path, an XML string, an MjSpec or an MjModel."
        )
    if not os.fspath(source):
        raise ArgumentError("The model's path is empty; pass a path or an XML string.")
    path = Path(os.fspath(source)).expanduser()
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir() if p.suffix in (".xml", ".urdf", ".mjcf"))
        hint = f", for example '{inside[0]}'" if inside else ""
        raise ModelError(f"Model path '{path}' is a folder; name a file in it{hint}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise ModelError(f"Model file '{path}' {reason}; check the path.") from None
    if not content.strip():
        raise ModelError(f"Model file '{path}' is empty; pass a file with MJCF or URDF.")
    try:
        return content.decode("utf-8-sig"), path
    except UnicodeDecodeError:
        return content.decode("latin-1"), path


def unknown_root(root: str | None, name: str, text: str) -> ModelError:
    """What is wrong with a text whose root element is neither <mujoco> nor <robot>."""
    if root is None and "<!DOCTYPE" in text:
        return ModelError(
            f"{name} has a document type declaration (<!DOCTYPE ...>) with definitions, which "
            "MuJoCo does not read; remove it and write out the entities that it defines."
        )
    if root is None:
        return ModelError(f"{name} is not XML; pass a file with MJCF or URDF.")
    advice = {
        "mujocoinclude": "it is a fragment for <include>, so load the file that includes it",
        "sdf": "SDF is not supported, so convert it to URDF or MJCF",
    }.get(root, "MJCF starts with <mujoco> and URDF with <robot>, so pass one of these")
    return ModelError(f"{name} has the root element <{root}>; {advice}.")
