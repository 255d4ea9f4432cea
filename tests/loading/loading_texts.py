"""Small robots as text, and what tests ask of their loading."""

from __future__ import annotations

import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

from asperity.errors import AsperityError, ModelError
from asperity.loading import LoadReport, load_model

BALL = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='ball'><freejoint/>"
BALL += "<geom size='0.1'/></body></worldbody></mujoco>"
INERTIA = "<mass value='{mass}'/><inertia ixx='{i}' iyy='{i}' izz='{i}' ixy='0' ixz='0' iyz='0'/>"
BOX = "<geometry><box size='0.1 0.1 0.1'/></geometry>"


def write_stl(path: Path, size: float = 0.1) -> Path:
    """A tetrahedron as binary STL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    corners = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    triangles = b"".join(
        struct.pack("<3f", 0, 0, 0) + corners[list(face)].tobytes() + b"\0\0" for face in faces
    )
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + triangles)
    return path


def link(name: str, *, mesh: str | None = None, visual: str = "", inertial: str | None = "") -> str:
    """A link with a collision shape (a box or a mesh) and, unless None, an inertia."""
    shape = BOX if mesh is None else f"<geometry><mesh filename='{mesh}'/></geometry>"
    body = INERTIA.format(mass=1, i=0.01) if inertial == "" else inertial
    inertia = "" if body is None else f"<inertial>{body}</inertial>"
    return f"<link name='{name}'>{inertia}<collision>{shape}</collision>{visual}</link>"


def joint(name: str, parent: str, child: str, kind: str = "continuous", more: str = "") -> str:
    return (
        f"<joint name='{name}' type='{kind}'><origin xyz='0.5 0 0'/><parent link='{parent}'/>"
        f"<child link='{child}'/><axis xyz='0 0 1'/>{more}</joint>"
    )


def urdf(*parts: str) -> str:
    return f"<robot name='test'>{''.join(parts)}</robot>"


def arm(**options: object) -> tuple[mujoco.MjModel, LoadReport]:
    text = urdf(link("base"), link("upper"), joint("shoulder", "base", "upper"))
    return load_model(text, **options)  # type: ignore[arg-type]


def has(report: LoadReport, *words: str) -> bool:
    """Whether one note holds all the words."""
    return any(all(word in note for word in words) for note in report.notes)


def refused(
    source: object, *words: str, error: type[AsperityError] = ModelError, **options: object
) -> None:
    """Loading fails with one line that holds all the words and ends like a sentence."""
    with pytest.raises(error) as caught:
        load_model(source, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    for word in words:
        assert word in message


def with_mesh(folder: Path, uri: str) -> Path:
    file = folder / "robot.urdf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(urdf(link("a"), link("b", mesh=uri), joint("j", "a", "b")))
    return file
