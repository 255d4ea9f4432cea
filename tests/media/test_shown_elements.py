"""Textures, sites and tendons in web playbacks and live views, beside MuJoCo's own picture."""

from __future__ import annotations

import io

import mujoco
import numpy as np
import pytest
from PIL import Image

from asperity.errors import MissingExtra
from asperity.media import MediaError, write_web_playback
from asperity.media.bodies import display_nodes
from asperity.media.offscreen import OffscreenRenderer
from asperity.media.tendons import tendon_pieces
from asperity.media.textures import textured_surface

TILES = np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 1, 0], [0, 1, 1], [1, 0, 1]]], float)
"""Two rows of three colours."""

# The upper side of a thin plate of 3 by 2, whose lower left corner has the image's lower left one.
PLATE = """
v 0 0 0\nv 3 0 0\nv 3 2 0\nv 0 2 0\nv 0 0 -0.1\nv 3 0 -0.1\nv 3 2 -0.1\nv 0 2 -0.1
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
f 1/1 2/2 3/3\nf 1/1 3/3 4/4
f 5/1 7/3 6/2\nf 5/1 8/4 7/3
f 1/1 5/1 6/2\nf 1/1 6/2 2/2\nf 2/2 6/2 7/3\nf 2/2 7/3 3/3
f 3/3 7/3 8/4\nf 3/3 8/4 4/4\nf 4/4 8/4 5/1\nf 4/4 5/1 1/1
"""

TEXTURED = """
<mujoco>
  <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
  <asset>
    <texture name="tiles" type="2d" file="tiles.png"/>
    <material name="tiles" texture="tiles" rgba="1 1 1 1"/>
    <mesh name="plate" file="plate.obj"/>
  </asset>
  <worldbody>
    <camera name="above" pos="1.5 1 10" fovy="20"/>
    <body name="plate" pos="0.2 0.1 0"><freejoint/>
      <geom name="plate" type="mesh" mesh="plate" material="tiles" quat="0.9 0.1 -0.2 0.1"/>
    </body>
  </worldbody>
</mujoco>
"""

TENDONS = """
<mujoco>
  <worldbody>
    <site name="ceiling" pos="0 0 2" size="0.05" rgba="0 0 1 1"/>
    <site name="pulley" pos="1 0 2" type="box" size="0.1 0.2 0.3" group="4"/>
    <body name="weight" pos="0 0 1"><joint type="slide" axis="0 0 1"/>
      <geom size="0.1"/><site name="hook" type="box" size="0.01 0.02 0.03" rgba="1 0 0 0.5"/></body>
    <body name="other" pos="1 0 1"><joint name="lift" type="slide" axis="0 0 1"/>
      <geom size="0.1"/><site name="eye"/></body>
  </worldbody>
  <tendon>
    <spatial name="rope" width="0.01" rgba="0 1 0 1"><site site="hook"/><site site="ceiling"/>
      <pulley divisor="2"/><site site="pulley"/><site site="eye"/></spatial>
    <spatial name="hidden" group="3"><site site="hook"/><site site="eye"/></spatial>
    <fixed name="coupling"><joint joint="lift" coef="1"/></fixed>
  </tendon>
</mujoco>
"""


@pytest.fixture(params=["", 'texrepeat="2 0.5"', 'texrepeat="3 1" texuniform="true"'])
def textured(request: pytest.FixtureRequest) -> mujoco.MjModel:
    file = io.BytesIO()
    pixels = np.kron(255 * TILES, np.ones((8, 8, 1))).astype(np.uint8)
    Image.fromarray(pixels).save(file, "png")
    assets = {"tiles.png": file.getvalue(), "plate.obj": PLATE.encode()}
    text = TEXTURED.replace('rgba="1 1 1 1"', request.param)
    return mujoco.MjModel.from_xml_string(text, assets)


def _points_on_the_plate(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Points of the side that looks up, in the world, and what the image has there."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    (node,) = display_nodes(model, data)
    (part,) = node.parts
    surface = part.textured
    assert surface is not None
    turn, origin = data.xmat[1].reshape(3, 3), data.xpos[1]
    size = np.array([3, 2])
    random = np.random.default_rng(0)
    points, colors = [], []
    for face in surface.faces:
        corner = surface.vertices[face] @ turn.T + origin
        normal = np.cross(corner[1] - corner[0], corner[2] - corner[0])
        np.testing.assert_allclose(
            surface.normals[face] @ turn.T, np.tile(normal / np.linalg.norm(normal), (3, 1))
        )
        if normal[2] < 2.0:
            continue
        for weight in random.dirichlet((1.0, 1.0, 1.0), 100):
            place = weight @ surface.coordinates[face]
            # Far from the edges of tiles, where both pictures blend.
            if np.abs(place * size - np.round(place * size)).min() > 0.15:
                column, row = np.floor(place * size).astype(int) % size
                points.append(weight @ corner)
                colors.append(TILES[row, column])
    return np.array(points), np.array(colors)


def test_images_lie_on_meshes_as_mujoco_lays_them(textured):
    model = textured
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    try:
        renderer = OffscreenRenderer(model, 400, 400)
    except (MediaError, MissingExtra) as error:
        pytest.skip(f"no rendering here: {error}")
    scene_camera = mujoco.MjvCamera()
    scene_camera.type, scene_camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    try:
        picture = renderer.render(data, scene_camera).astype(float) / 255.0
    finally:
        renderer.close()
    points, colors = _points_on_the_plate(model)
    assert len(np.unique(colors, axis=0)) >= 2
    seen = points - data.cam_xpos[0]
    focal = 200.0 / np.tan(np.radians(10.0))
    column = np.round(200.0 + focal * seen[:, 0] / -seen[:, 2]).astype(int)
    row = np.round(200.0 - focal * seen[:, 1] / -seen[:, 2]).astype(int)
    np.testing.assert_allclose(picture[row, column], colors, atol=0.1)


def test_meshes_without_an_image_have_none(textured):
    assert textured_surface(textured, 0) is not None
    textured.geom_matid[0] = -1
    assert textured_surface(textured, 0) is None


def test_sites_of_visible_groups_are_shown_on_their_bodies():
    model = mujoco.MjModel.from_xml_string(TENDONS)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    nodes = {node.name: node for node in display_nodes(model, data)}
    (ceiling,) = nodes["static"].parts
    np.testing.assert_allclose(ceiling.color, (0.0, 0.0, 1.0, 1.0))
    np.testing.assert_allclose(ceiling.vertices.mean(axis=0), (0.0, 0.0, 2.0), atol=1e-6)
    hook = next(part for part in nodes["weight_1"].parts if part.color[3] == 0.5)
    np.testing.assert_allclose(np.abs(hook.vertices).max(axis=0), (0.01, 0.02, 0.03))


def test_a_tendon_is_as_long_as_its_pieces():
    model = mujoco.MjModel.from_xml_string(TENDONS)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.25, -0.5
    mujoco.mj_forward(model, data)
    pieces = tendon_pieces(model, data, model.tendon("rope").id)
    lengths = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=1)
    np.testing.assert_allclose(lengths, (0.75, 1.5), rtol=1e-6)
    assert lengths @ (1.0, 0.5) == pytest.approx(data.ten_length[0])


def test_tendons_follow_in_a_playback(tmp_path):
    pytest.importorskip("viser")
    from test_media import _embedded

    model = mujoco.MjModel.from_xml_string(TENDONS)
    time, qpos = np.array([0.0, 0.2]), np.array([[0.0, 0.0], [0.5, 0.0]])
    page = write_web_playback(tmp_path / "a.html", model, time, qpos, fps=10).read_text("utf-8")
    messages = [m for _, m in _embedded(page)["messages"]]
    lines = {m["name"] for m in messages if "LineSegments" in m["type"]}
    assert lines == {"/tendons/0"}, "neither hidden tendons nor couplings of joints"
    sent = [
        m["updates"]["points"]
        for m in messages
        if m["type"] == "SceneNodeUpdateMessage" and "points" in m.get("updates", {})
    ]
    assert len(sent) == 3, "one path a frame"


def test_what_is_seen_through_shows_its_mean_colour(textured):
    viser = pytest.importorskip("viser")
    from asperity.media.web_scene import SEEN_THROUGH, silent
    from asperity.simulator import Simulator
    from asperity.viewer.picture import Picture

    with silent():
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        picture = Picture(server, Simulator(textured), None)
        (part,) = picture._nodes.parts
        plain, image = part.handles
        assert (plain.visible, image.visible) == (False, True)
        picture.on_drag(lambda *_: None)
        picture.set_seen_through(True)
        assert (plain.visible, image.visible) == (True, False)
        assert plain.opacity == SEEN_THROUGH
        np.testing.assert_allclose(plain.color, np.round(255 * TILES.mean(axis=(0, 1))), atol=1)
        picture.off_drag()
        picture.set_seen_through(False)
        assert (plain.visible, image.visible) == (False, True)
    finally:
        with silent():
            server.stop()
