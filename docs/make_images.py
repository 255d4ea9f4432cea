"""Make pictures of the documents: ``python -m docs.make_images`` (extras ``viz``, ``assets``)."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
from PIL import Image

import asperity as asp
from asperity.media.camera import resolve_camera
from asperity.media.offscreen import OffscreenRenderer
from asperity.media.patches import PressurePatches, pressure_colors
from asperity.media.recording import Recording
from asperity.scenes import pick_from_clutter as scene
from studies.experiments.dish_rack_runs import CONTROL_PERIOD, fields
from studies.experiments.paper import paper_cenic
from studies.scenes import dish_rack as rack

FOLDER = Path(__file__).parent / "images"

# The can is on its way from the bin to the plate.
MOMENT = 5.6
WIDTH, HEIGHT = 1000, 640
# Enough colours for the scene; without a palette the file would be several times larger.
COLORS = 200


# The moving picture.
MOVING_WIDTH, MOVING_HEIGHT, FRAMES_PER_SECOND, QUALITY = 540, 346, 8.0, 42

# The plate stands on the wires, and the fingers have closed.
RACK_MOMENT = 3.7
RACK_WIDTH, RACK_HEIGHT = 720, 480


def main() -> None:
    """Simulate what is shown up to the moment of the picture, and draw it."""
    _demo()
    _dish_rack()


def _demo() -> None:
    model = mujoco.MjModel.from_xml_path(str(scene.model_path()))
    trajectory = asp.simulate(
        model,
        (0.0, scene.DURATION),
        keyframe=scene.KEYFRAME,
        control=scene.controller(model),
        control_period=scene.CONTROL_PERIOD,
    )
    recording = Recording(model, trajectory.time, trajectory.qpos)
    data = mujoco.MjData(model)
    recording.pose(data, MOMENT)
    camera = resolve_camera(recording, "overview", WIDTH / HEIGHT)
    with OffscreenRenderer(model, 2 * WIDTH, 2 * HEIGHT, shadows=True) as renderer:
        _write("demo.png", renderer.render(data, camera), WIDTH, HEIGHT)
    with OffscreenRenderer(model, 2 * MOVING_WIDTH, 2 * MOVING_HEIGHT, shadows=True) as renderer:
        frames = [
            _shrunk(renderer.render(data, camera), MOVING_WIDTH, MOVING_HEIGHT)
            for data in recording.frames(FRAMES_PER_SECOND)
        ]
    path = FOLDER / "demo.webp"
    frames[0].save(
        path,
        save_all=True,
        append_images=frames[1:],
        duration=round(1000 / FRAMES_PER_SECOND),
        loop=0,
        quality=QUALITY,
        method=6,
        minimize_size=True,
    )
    _tell(path)


def _dish_rack() -> None:
    model = rack.dish_rack()
    trajectory = asp.simulate(
        model,
        (0.0, RACK_MOMENT),
        integrator=paper_cenic(accuracy=1e-3),
        contact=fields(),
        keyframe=rack.KEYFRAME,
        control=rack.DishRack(model),
        control_period=CONTROL_PERIOD,
    )
    recording = Recording(model, trajectory.time, trajectory.qpos)
    data = mujoco.MjData(model)
    recording.pose(data, RACK_MOMENT)
    patches = PressurePatches(recording, fields())
    corner, pressure, touching = patches.at(data)
    colors = pressure_colors(pressure.mean(axis=1) / patches.largest)
    view = resolve_camera(recording, "front", RACK_WIDTH / RACK_HEIGHT)
    with OffscreenRenderer(model, 2 * RACK_WIDTH, 2 * RACK_HEIGHT, shadows=True) as renderer:
        pixels = renderer.render(data, view, (corner, colors, touching))
    _write("dish-rack.png", pixels, RACK_WIDTH, RACK_HEIGHT)


def _shrunk(pixels: np.ndarray, width: int, height: int) -> Image.Image:
    # Drawn at twice the size, so that edges are smooth whatever the driver can do.
    return Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS)


def _write(name: str, pixels: np.ndarray, width: int, height: int) -> None:
    path = FOLDER / name
    image = _shrunk(pixels, width, height)
    image.quantize(COLORS, dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)
    _tell(path)


def _tell(path: Path) -> None:
    print(f"Wrote {path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
