"""Make the pictures of the README: ``python docs/make_images.py`` (needs the ``viz`` extra)."""

from __future__ import annotations

from pathlib import Path

import mujoco
from PIL import Image

import asperity as asp
from asperity.media.camera import resolve_camera
from asperity.media.offscreen import OffscreenRenderer
from asperity.media.recording import Recording
from asperity.scenes import pick_from_clutter as scene

# The can is on its way from the bin to the plate.
MOMENT = 5.6
WIDTH, HEIGHT = 1000, 640
# Enough colours for the scene; without a palette the file would be several times larger.
COLORS = 200


def main() -> None:
    """Simulate the demo up to the moment of the picture and draw it."""
    model = mujoco.MjModel.from_xml_path(str(scene.model_path()))
    trajectory = asp.simulate(
        model,
        (0.0, MOMENT),
        keyframe=scene.KEYFRAME,
        control=scene.controller(model),
        control_period=scene.CONTROL_PERIOD,
    )
    recording = Recording(model, trajectory.time, trajectory.qpos)
    data = mujoco.MjData(model)
    recording.pose(data, float(trajectory.time[-1]))
    with OffscreenRenderer(model, 2 * WIDTH, 2 * HEIGHT, shadows=True) as renderer:
        pixels = renderer.render(data, resolve_camera(recording, "overview", WIDTH / HEIGHT))
    # Drawn at twice the size, so that edges are smooth whatever the driver can do.
    image = Image.fromarray(pixels).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    path = Path(__file__).parent / "images" / "demo.png"
    image.quantize(COLORS, dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)
    print(f"Wrote {path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
