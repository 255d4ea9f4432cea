"""``asperity info``: meshes that collide as hulls, and tables that fit a terminal."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from asperity.cli import main
from asperity.plant.model.hull_meshes import hull_notes


def prism(points: np.ndarray, height: float) -> str:
    """An <asset> mesh: a prism over a simple polygon that a fan from its first corner fills."""
    n = len(points)
    vertices = np.concatenate([np.c_[points, np.zeros(n)], np.c_[points, np.full(n, height)]])
    faces = []
    for k in range(1, n - 1):
        faces += [(0, k + 1, k), (n, n + k, n + k + 1)]
    for k in range(n):
        j = (k + 1) % n
        faces += [(k, j, n + j), (k, n + j, n + k)]
    numbers = " ".join(f"{x:g}" for x in vertices.ravel())
    return f'vertex="{numbers}" face="{" ".join(str(i) for face in faces for i in face)}"'


# An L of three unit squares, which fills 3 of the 3.5 of its hull, and a square.
L_SHAPE = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)
SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)


def scene(attributes: str = "") -> str:
    return f"""
<mujoco>
  <asset>
    <mesh name="angle" {prism(L_SHAPE, 0.5)}/><mesh name="block" {prism(SQUARE, 1.0)}/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="a_body_with_a_name_that_is_long_enough_to_need_several_lines" pos="0 0 3"><freejoint/>
      <geom name="bracket" type="mesh" mesh="angle" {attributes}/></body>
    <body pos="5 0 3"><freejoint/><geom type="mesh" mesh="block"/></body>
  </worldbody>
</mujoco>
"""


def test_meshes_that_collide_as_hulls_are_named():
    (note,) = hull_notes(mujoco.MjModel.from_xml_string(scene()))
    assert "'angle'" in note
    assert "bracket" in note
    share = float(note.split("fills ")[1].split(" %")[0])
    assert share == pytest.approx(100.0 * 3.0 / 3.5, abs=0.6)
    # What only serves the eye is what it looks like.
    silent = scene('contype="0" conaffinity="0"')
    assert hull_notes(mujoco.MjModel.from_xml_string(silent)) == ()


def test_info_says_it_and_fits_80_columns(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "scene.xml"
    path.write_text(scene())
    for command in (
        ["info", str(path)],
        ["info", "--integrators"],
        ["simulate", str(path), "--duration", "0.05"],
    ):
        assert main(command) == 0
        printed = capsys.readouterr().out
        tables = [line for line in printed.splitlines() if not line.startswith("note:")]
        assert max(map(len, tables)) <= 80
        # Folded, not cut.
        assert "…" not in "".join(tables).replace("Preparing …", "")
        if command[1] == str(path) and command[0] == "info":
            assert "'angle' collides as its convex hull" in printed
