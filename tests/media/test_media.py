"""Videos and web playbacks of short trajectories."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

from asperity.errors import MissingExtra
from asperity.geometry.surfaces import Surface
from asperity.media import MediaError, write_video, write_web_playback
from asperity.media.bodies import display_nodes
from asperity.media.camera import fitted_camera
from asperity.media.display_meshes import display_mesh, split_creases
from asperity.media.recording import Recording

FALLING_BOX = """
<mujoco model="falling box">
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="plane" size="0 0 1"/>
    <camera name="side" pos="0 -3 0.5" xyaxes="1 0 0 0 0 1"/>
    <body name="box" pos="0 0 1"><freejoint/>
      <geom type="box" size="0.1 0.15 0.2" rgba="0.9 0.2 0.1 1"/></body>
  </worldbody>
</mujoco>
"""

ALL_GEOMS = """
<mujoco>
  <asset>
    <texture name="checker" type="2d" builtin="checker" rgb1="1 1 1" rgb2="0 0 0"
             width="64" height="64"/>
    <material name="floor" texture="checker" texrepeat="1 1" texuniform="true"/>
    <hfield name="hills" nrow="5" ncol="7" size="1 2 0.3 0.1"
            elevation="0 0 0 0 0 0 0  0 1 0 0 0 0 0  0 0 0 2 0 0 0  0 0 0 0 0 0 0  0 0 0 0 0 0 1"/>
    <mesh name="pyramid" vertex="0 0 1  1 1 0  -1 1 0  -1 -1 0  1 -1 0" scale="0.1 0.1 0.1"/>
  </asset>
  <worldbody>
    <geom type="plane" size="2 2 1" material="floor"/>
    <geom type="hfield" hfield="hills" pos="5 0 0"/>
    <body name="pallet" pos="0 0 1"><freejoint/>
      <geom name="sphere" type="sphere" size="0.1"/>
      <body name="welded" pos="0 0 0.5"><geom name="capsule" type="capsule" size="0.1 0.2"/></body>
      <geom name="ellipsoid" type="ellipsoid" size="0.1 0.2 0.3" pos="1 0 0"/>
      <geom name="cylinder" type="cylinder" size="0.1 0.2" pos="2 0 0"/>
      <geom name="box" type="box" size="0.1 0.2 0.3" pos="3 0 0"/>
      <geom name="pyramid" type="mesh" mesh="pyramid" pos="4 0 0"/>
      <geom name="hidden" type="sphere" size="1" group="3" contype="0" conaffinity="0"/>
    </body>
    <body name="hand" mocap="true" pos="0 0 3"><geom size="0.1" rgba="0 1 0 0.5"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def falling() -> tuple[mujoco.MjModel, np.ndarray, np.ndarray]:
    """Model, times and configurations of a box that falls for 0.4 s, sampled unevenly."""
    model = mujoco.MjModel.from_xml_string(FALLING_BOX)
    time = np.concatenate([np.linspace(0.0, 0.1, 4), np.linspace(0.12, 0.4, 29)])
    qpos = np.tile(model.qpos0, (time.size, 1))
    qpos[:, 2] -= 0.5 * 9.81 * time**2
    return model, time, qpos


@pytest.fixture
def needs_gl() -> None:
    from asperity.media.offscreen import OffscreenRenderer

    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    try:
        OffscreenRenderer(model, 16, 16).close()
    except (MediaError, MissingExtra) as error:
        pytest.skip(f"no rendering here: {error}")


@pytest.mark.usefixtures("needs_gl")
def test_video_has_the_size_length_and_motion_asked_for(falling, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    model, time, qpos = falling
    seen: list[float] = []
    path = write_video(
        tmp_path / "box.mp4", model, time, qpos, fps=30, width=160, height=120, progress=seen.append
    )
    assert [p.name for p in tmp_path.iterdir()] == ["box.mp4"]
    reader = ffmpeg.read_frames(str(path))
    meta = next(reader)
    frames = [np.frombuffer(f, np.uint8).reshape(120, 160, 3).astype(float) for f in reader]
    assert meta["size"] == (160, 120)
    assert meta["fps"] == 30
    assert meta["codec"] == "h264"
    assert meta["pix_fmt"].startswith("yuv420p")
    assert len(frames) == len(seen) == 13  # 0.4 s and the last frame
    assert seen[-1] == 1.0
    assert np.abs(frames[0] - frames[-1]).mean() > 1.0
    red = [(f[..., 0] > f[..., 1] + 60).sum() for f in (frames[0], frames[-1])]
    assert min(red) > 20, "the fitted camera sees the box at the start and at the end"


@pytest.mark.usefixtures("needs_gl")
def test_shadows_leave_the_users_model_alone(falling, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    model, time, qpos = falling
    before = model.vis.quality.shadowsize, model.vis.global_.offwidth
    write_video(tmp_path / "a.mp4", model, time[:2], qpos[:2], width=64, height=64, camera="side")
    assert (model.vis.quality.shadowsize, model.vis.global_.offwidth) == before


def test_web_playback_is_one_file_with_every_frame(falling, tmp_path, capsys):
    pytest.importorskip("viser")
    model, time, qpos = falling
    path = write_web_playback(tmp_path / "box.html", model, time, qpos, fps=50, camera="side")
    assert capsys.readouterr().out == ""
    page = path.read_text(encoding="utf-8")
    assert "<title>falling box</title>" in page
    assert path.stat().st_size < 2_000_000
    # Nothing is fetched: no scripts, styles or pictures by address.
    for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]{0,200}", page):
        assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", tag), tag
    recording = _embedded(page)
    assert recording["durationSeconds"] == pytest.approx(0.4)
    messages = recording["messages"]
    created = {m["name"] for _, m in messages if m["type"] == "FrameMessage"}
    assert {"/static", "/box_1"} <= created
    moves = [t for t, m in messages if m["type"] == "SetPositionMessage" and m["name"] == "/box_1"]
    assert len({round(t, 6) for t in moves}) == 21


def test_bodies_at_rest_are_sent_once(falling, tmp_path):
    pytest.importorskip("viser")
    model, time, qpos = falling
    qpos[:] = qpos[0]
    page = write_web_playback(tmp_path / "rest.html", model, time, qpos).read_text("utf-8")
    poses = [
        t for t, m in _embedded(page)["messages"] if m["type"] == "SetPositionMessage" and t > 0.0
    ]
    assert poses == []


def test_every_geom_type_becomes_a_closed_surface_of_its_size():
    model = mujoco.MjModel.from_xml_string(ALL_GEOMS)
    for name in ("sphere", "capsule", "ellipsoid", "cylinder", "box", "pyramid"):
        geom = model.geom(name).id
        mesh = display_mesh(model, geom)
        assert mesh is not None
        vertices, faces = mesh
        a, b, c = (vertices[faces[:, k]] for k in range(3))
        volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
        exact = _volume(model, geom)
        assert volume == pytest.approx(exact, rel=0.05), f"{name}: outward faces, right size"


def test_a_height_field_has_its_peaks_where_mujoco_has_them():
    model = mujoco.MjModel.from_xml_string(ALL_GEOMS)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    geom = next(g for g in range(model.ngeom) if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_HFIELD)
    mesh = display_mesh(model, geom)
    assert mesh is not None
    vertices = mesh[0] + data.geom_xpos[geom]
    inner = np.abs(vertices - data.geom_xpos[geom])[:, :2] < [0.99, 1.99]
    for vertex in vertices[inner.all(axis=1)]:
        start = vertex + np.array([1e-4, 2e-4, 2.0])
        distance = mujoco.mj_rayHfield(model, data, geom, start, np.array([0.0, 0.0, -1.0]), None)
        assert start[2] - distance == pytest.approx(vertex[2], abs=1e-3)


def test_bodies_carry_what_is_welded_to_them_and_hide_collision_geoms():
    model = mujoco.MjModel.from_xml_string(ALL_GEOMS)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    nodes = {node.name: node for node in display_nodes(model, data)}
    assert set(nodes) == {"static", "pallet_1", "hand_3"}
    pallet = nodes["pallet_1"].parts
    assert len(pallet) == 1, "one colour, one mesh"
    top = pallet[0].vertices[:, 2].max()
    assert top == pytest.approx(0.8), "the welded capsule is there, the hidden sphere is not"
    assert nodes["hand_3"].parts[0].color[3] == pytest.approx(0.5)
    tiles = [p for p in nodes["static"].parts if p.open and np.ptp(p.vertices[:, 2]) == 0.0]
    assert sorted(p.color[0] for p in tiles) == [0.0, 1.0], "a checkered floor has two colours"


def test_creases_are_split_and_smooth_edges_are_not():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    assert len(split_creases(Surface(corners, faces))[0]) == 24
    assert len(split_creases(Surface(corners, faces), angle=np.deg2rad(100))[0]) == 8


def test_interpolation_turns_at_a_constant_rate():
    model = mujoco.MjModel.from_xml_string(FALLING_BOX)
    data = mujoco.MjData(model)
    qpos = np.array([[0, 0, 1, 1, 0, 0, 0], [0, 0, 2, 0, 0, 0, 1]], dtype=float)
    recording = Recording(model, [1.0, 3.0], qpos)
    recording.pose(data, 1.5)
    assert data.qpos == pytest.approx([0, 0, 1.25, np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)])
    recording.pose(data, 9.0)
    assert data.qpos == pytest.approx(qpos[1])


def test_mocap_bodies_move():
    model = mujoco.MjModel.from_xml_string(ALL_GEOMS)
    data = mujoco.MjData(model)
    recording = Recording(
        model,
        [0.0, 1.0],
        [model.qpos0, model.qpos0],
        mocap_pos=[[[0, 0, 3]], [[0, 2, 3]]],
        mocap_quat=[[[1, 0, 0, 0]], [[0, 1, 0, 0]]],
    )
    recording.pose(data, 0.5)
    body = model.body("hand").id
    assert data.xpos[body] == pytest.approx([0, 1, 3])
    assert data.xquat[body] == pytest.approx([np.sqrt(0.5), np.sqrt(0.5), 0, 0])


def test_the_fitted_camera_ignores_the_infinite_floor_and_what_flies_away(falling):
    model, time, qpos = falling
    near = fitted_camera(Recording(model, time, qpos), 4 / 3)
    assert near.distance < 5.0
    qpos[-1, 0] = 1e6
    far = fitted_camera(Recording(model, time, qpos), 4 / 3)
    assert far.distance < 20.0


@pytest.mark.parametrize("write", [write_video, write_web_playback])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qpos": np.zeros((3, 2))}, r"qpos has shape \(3, 2\)"),
        ({"qpos": np.full((33, 7), np.nan)}, r"qpos\[0, 0\] is nan"),
        ({"time": np.zeros((33, 1))}, r"time has shape \(33, 1\)"),
        ({"time": np.linspace(1.0, 0.0, 33)}, r"time\[1\] is smaller"),
        ({"camera": "front"}, r"no camera named 'front'; its cameras are: 'side'"),
        ({"camera": 3}, r"Camera 3 does not exist"),
        ({"fps": 0}, r"fps is 0"),
        ({"path": "box.gif"}, r"box.gif does not end in"),
        ({"path": "nowhere/box"}, r"directory .*nowhere does not exist"),
        ({"mocap_pos": np.zeros((33, 1, 3))}, r"mocap_pos has shape"),
    ],
)
def test_bad_input_is_named(write, change, message, falling, tmp_path):
    model, time, qpos = falling
    suffix = ".mp4" if write is write_video else ".html"
    arguments = {"path": "box" + suffix, "model": model, "time": time, "qpos": qpos, **change}
    path = Path(tmp_path, arguments.pop("path"))
    if path.suffix == "":
        path = path.with_suffix(suffix)
    with pytest.raises(MediaError, match=message):
        write(path, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_odd_sizes_are_refused(falling, tmp_path):
    model, time, qpos = falling
    with pytest.raises(MediaError, match="even numbers"):
        write_video(tmp_path / "a.mp4", model, time, qpos, width=161)


def test_a_missing_library_is_named_with_the_command_that_installs_it(
    falling, tmp_path, monkeypatch
):
    model, time, qpos = falling
    for write, module, name in (
        (write_web_playback, "viser", "a.html"),
        (write_video, "imageio_ffmpeg", "a.mp4"),
    ):
        monkeypatch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(MissingExtra, match=re.escape('pip install "asperity[viz]"')):
            write(tmp_path / name, model, time, qpos)


def test_a_missing_gl_library_is_named_with_the_command_that_installs_it(monkeypatch):
    from asperity.media import offscreen

    monkeypatch.setattr(offscreen, "_loadable", lambda library: False)
    monkeypatch.setattr(offscreen.sys, "platform", "linux")
    for variable in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(MediaError, match="apt-get install libegl1 libgl1-mesa-dri"):
        offscreen.OffscreenRenderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 16, 16)


def _embedded(page: str) -> dict:
    """The recording inside a page."""
    import base64

    import msgspec
    import zstandard

    found = re.search(r'__VISER_EMBED_DATA__="([^"]*)"', page)
    assert found is not None
    raw = base64.b64decode(found.group(1))
    size = int.from_bytes(raw[:8], "little")
    inner = zstandard.ZstdDecompressor().decompress(raw[8:], max_output_size=size)
    length = int.from_bytes(inner[:8], "little")
    return msgspec.msgpack.decode(inner[8 : 8 + length])


def _volume(model: mujoco.MjModel, geom: int) -> float:
    size = model.geom_size[geom]
    match mujoco.mjtGeom(model.geom_type[geom]).name.removeprefix("mjGEOM_"):
        case "SPHERE":
            return 4 / 3 * np.pi * size[0] ** 3
        case "ELLIPSOID":
            return 4 / 3 * np.pi * float(np.prod(size))
        case "CAPSULE":
            return np.pi * size[0] ** 2 * (2 * size[1] + 4 / 3 * size[0])
        case "CYLINDER":
            return np.pi * size[0] ** 2 * 2 * size[1]
        case "BOX":
            return 8 * float(np.prod(size))
        case _:
            return 4 * 0.1**2 * 0.1 / 3
