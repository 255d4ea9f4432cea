"""``asperity info``: meshes that collide as hulls, and tables that fit a terminal."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.cli import main
from asperity.cli.touching import touching_pairs
from asperity.contact.combination import STATIC_FRICTION, STIFFNESS
from asperity.plant.model.hull_meshes import hull_notes
from asperity.plant.plant import Plant


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


PAIRS = """
<mujoco>
  <custom>
    <text name="asperity" data="stiffness=2e4"/>
    <text name="asperity:geom:skin_*" data="stiffness=1e4 friction=0.7"/>
    <text name="asperity:pair:skin_a|link" data="friction=0.2"/>
  </custom>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1" friction="0.4"/>
    <body pos="0 0 0.2"><freejoint/><geom name="skin_a" size="0.1"/></body>
    <body pos="1 0 0.2"><freejoint/><geom name="skin_b" size="0.1"/></body>
    <body pos="2 0 1"><joint axis="0 1 0"/>
      <geom name="link" size="0.02" friction="0.9" priority="1"/></body>
    <body pos="3 0 1"><freejoint/><geom name="wheel" size="0.1" friction="0.3"/></body>
  </worldbody>
  <contact>
    <pair geom1="wheel" geom2="floor" friction="1.5 1.5"/>
  </contact>
</mujoco>
"""


def test_every_pair_that_may_touch_has_its_combined_parameters():
    model = mujoco.MjModel.from_xml_string(PAIRS)
    found = {}
    for pairs in touching_pairs(Plant(model, asp.ContactParameters())):
        for a in pairs.first:
            for b in pairs.second:
                if a != b:
                    names = frozenset((model.geom(a).name, model.geom(b).name))
                    found[names] = (pairs.values[STIFFNESS], pairs.values[STATIC_FRICTION])
    assert len(found) == 10  # of five geoms, all of which may touch
    for names, stiffness, friction in (
        ({"floor", "skin_a"}, 1e4, 0.7),
        ({"skin_a", "skin_b"}, 5e3, 0.7),  # in series; the harmonic mean
        ({"floor", "link"}, 2e4, 0.9),  # of the higher priority
        ({"skin_a", "link"}, 1e4, 0.2),  # of the pair
        ({"skin_b", "link"}, 1e4, 0.7),
        ({"wheel", "floor"}, 2e4, 1.5),  # of the model's pair
        ({"wheel", "link"}, 2e4, 0.9),
    ):
        assert found[frozenset(names)] == pytest.approx((stiffness, friction)), names


FLEXES = """
<mujoco>
  <custom><text name="asperity:pair:cloth|ball" data="friction=0.2"/></custom>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1" friction="0.4"/>
    <body pos="0 0 1"><freejoint/><geom name="ball" size="0.1" friction="0.6"/></body>
    <flexcomp name="cloth" type="grid" dim="2" count="3 3 1" spacing=".1 .1 .1" pos="0 0 2"
      radius=".005"><contact friction="0.8"/><elasticity young="1e4" thickness="1e-3"/></flexcomp>
    <flexcomp name="block" type="grid" dim="3" count="2 2 2" spacing=".1 .1 .1" pos="1 0 2"
      radius=".005"><contact selfcollide="none" conaffinity="0"/></flexcomp>
  </worldbody>
</mujoco>
"""


def test_info_has_the_pairs_of_flexes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    model = mujoco.MjModel.from_xml_string(FLEXES)
    names = ["floor", "ball", "cloth", "block"]
    found = {}
    for pairs in touching_pairs(Plant(model, asp.ContactParameters())):
        for a in pairs.first:
            for b in pairs.second:
                found[frozenset((names[a], names[b]))] = pairs.values[STATIC_FRICTION]
    assert found == {
        frozenset(("floor", "ball")): 0.6,
        frozenset(("floor", "cloth")): 0.8,
        frozenset(("floor", "block")): 1.0,
        frozenset(("ball", "block")): 1.0,
        frozenset(("cloth", "block")): 1.0,
        frozenset(("cloth",)): 0.8,
        frozenset(("ball", "cloth")): 0.2,  # of the pair
    }
    path = tmp_path / "flexes.xml"
    path.write_text(FLEXES)
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    assert "ball | cloth (flex)" in text
    assert "block (flex)" in text


def test_info_prints_the_pairs_within_80_columns(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "pairs.xml"
    path.write_text(PAIRS)
    assert main(["info", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line.split() for line in lines if line.split()[:2] == ["skin_a", "link"])
    assert row == ["skin_a", "link", "1", "10000", "10", "0.2", "0.2", "3e-06"]
