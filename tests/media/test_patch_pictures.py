"""Patches of pressure fields in pictures: where they are, and in which colours."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.cli import main
from asperity.errors import MissingExtra
from asperity.media import MediaError, write_video, write_web_playback
from asperity.media.offscreen import OffscreenRenderer
from asperity.media.patches import PressurePatches, pressure_colors
from asperity.media.recording import Recording

SOFT = asp.ContactParameters(surface="compliant", hydroelastic_modulus=1e5)
SCENE = (
    '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>'
    '<body pos="0 0 .048"><freejoint/><geom name="box" type="box" size=".05 .05 .05"/></body>'
    "</worldbody></mujoco>"
)


@pytest.fixture
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SCENE)


def recording(model: mujoco.MjModel) -> Recording:
    lifted = model.qpos0.copy()
    lifted[2] = 0.1
    return Recording(model, [0.0, 1.0], [model.qpos0, lifted])


def test_triangles_cover_the_patch_with_the_pressure_of_the_field(model: mujoco.MjModel) -> None:
    shown = recording(model)
    patches = PressurePatches(shown, SOFT)
    data = mujoco.MjData(model)
    shown.pose(data, 0.0)
    corner, pressure, geoms = patches.at(data)
    assert geoms.tolist() == [0, 1]
    edges = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    assert 0.5 * np.linalg.norm(edges, axis=1).sum() == pytest.approx(0.01, rel=1e-9)
    assert pressure.max() == pytest.approx(1e5 * 0.002 / 0.05, rel=1e-9)
    assert 0.5 * pressure.max() < patches.largest <= pressure.max()
    shown.pose(data, 1.0)
    assert len(patches.at(data).corner) == 0


def test_colours_grow_lighter_with_pressure() -> None:
    colors = pressure_colors(np.linspace(0.0, 1.0, 50))
    assert np.all(np.diff(colors @ [0.2126, 0.7152, 0.0722]) > 0.0)
    assert pressure_colors(np.array(7.0)) == pytest.approx(colors[-1])


def test_a_patch_is_seen_through_the_body_on_it(model: mujoco.MjModel) -> None:
    shown = recording(model)
    patches = PressurePatches(shown, SOFT)
    data = mujoco.MjData(model)
    shown.pose(data, 0.0)
    camera = mujoco.MjvCamera()
    camera.lookat[:], camera.distance, camera.elevation = [0.0, 0.0, 0.0], 0.5, -60.0
    try:
        renderer = OffscreenRenderer(model, 160, 120, shadows=False)
    except (MediaError, MissingExtra) as error:
        pytest.skip(str(error))
    with renderer:
        plain = renderer.render(data, camera).astype(float)
        corner, pressure, geoms = patches.at(data)
        yellow = np.tile([1.0, 0.9, 0.1], (len(pressure), 1))
        drawn = renderer.render(data, camera, (corner, yellow, geoms)).astype(float)
    middle = np.s_[50:75, 65:95]
    warmth = [(p[middle][..., 0] - p[middle][..., 2]).mean() for p in (plain, drawn)]
    assert warmth[1] > warmth[0] + 40.0


def test_video_and_web_playback_with_patches(model: mujoco.MjModel, tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    pytest.importorskip("viser")
    lifted = model.qpos0.copy()
    lifted[2] = 0.1
    time, qpos = [0.0, 0.5], [model.qpos0, lifted]
    pages = []
    for name, contact in (("points", None), ("patches", SOFT)):
        page = tmp_path / f"{name}.html"
        write_web_playback(page, model, time, qpos, fps=10, contact=contact)
        pages.append(len(page.read_bytes()))
    assert pages[1] > pages[0]
    try:
        video = write_video(
            tmp_path / "run.mp4", model, time, qpos, fps=10, width=64, height=48, contact=SOFT
        )
    except (MediaError, MissingExtra) as error:
        pytest.skip(str(error))
    assert video.stat().st_size > 0


def test_commands_know_pressure_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(SCENE)
    assert main(["info", str(path), "--contact", "hydroelastic"]) == 0
    out = capsys.readouterr().out
    assert "Pressure fields" in out
    assert "24 tets" in out
    assert main(["simulate", str(path), "--contact", "hydroelastic", "--duration", "0.1"]) == 0
    capsys.readouterr()
    assert main(["simulate", str(path), "--contact", "soft"]) != 0
    assert "point or hydroelastic" in capsys.readouterr().err
    assert main(["simulate", str(path), "--contact", "hydroelastic", "--integrator", "midas"]) != 0
    assert "--contact does not apply to the integrator midas" in capsys.readouterr().err
