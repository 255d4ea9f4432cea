"""Files and names of the meshes of a specification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco

__all__ = ["mesh_name", "mesh_path"]


def mesh_name(mesh: Any) -> str:
    """A mesh's name, which is its file's unless it has one."""
    return str(mesh.name) or Path(mesh.file).stem


def mesh_path(spec: mujoco.MjSpec, file: str) -> Path | None:
    """Where a file of a mesh is on disk; None if it is not there."""
    if not file:
        return None
    name = Path(file).name if spec.strippath else file
    path = Path(spec.modelfiledir) / spec.meshdir / name
    return path if path.is_file() else None
