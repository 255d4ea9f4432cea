"""Videos of trajectories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from asperity.errors import MissingExtra
from asperity.media.camera import resolve_camera
from asperity.media.errors import MediaError
from asperity.media.force_arrows import ForceArrows
from asperity.media.offscreen import OffscreenRenderer
from asperity.media.patches import PressurePatches, pressure_colors
from asperity.media.recording import Recording, output_path
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator import Contacts

__all__ = ["write_video"]

# Constant quality of the H.264 encoder: 18 is visually lossless, 23 the encoder's default.
CRF = 20


def write_video(
    path: str | Path,
    model: mujoco.MjModel,
    time: ArrayLike,
    qpos: ArrayLike,
    *,
    fps: float = 30,
    width: int = 960,
    height: int = 720,
    camera: str | int | mujoco.MjvCamera | None = None,
    mocap_pos: ArrayLike | None = None,
    mocap_quat: ArrayLike | None = None,
    shadows: bool | None = None,
    contact: ContactParameters | None = None,
    forces: Sequence[Contacts] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write a trajectory as an H.264 video that browsers play.

    Parameters
    ----------
    path : str or Path
        File to write, ending in ``.mp4``; it appears only once it is complete.
    model : mujoco.MjModel
        The model that was simulated; it is not changed.
    time : array_like, shape (n,)
        Times of the samples [s], not necessarily uniform.
    qpos : array_like, shape (n, nq)
        Configurations at these times; frames between them are interpolated.
    fps : float
        Frames per second of simulated time.
    width, height : int
        Size of the picture [pixels], even numbers as the video format requires.
    camera : str, int or mujoco.MjvCamera, optional
        A camera of the model or one of your own; by default one that frames everything that moves.
    mocap_pos, mocap_quat : array_like, shape (n, nmocap, 3) and (n, nmocap, 4), optional
        Poses of the mocap bodies.
    shadows : bool, optional
        Shadows and smooth edges; by default only where a GPU draws.
    contact : ContactParameters, optional
        Those of the simulation. Patches of pressure fields are drawn in colours of their pressure,
        through half transparent geoms.
    forces : sequence of Contacts, optional
        Contacts at every time, as ``trajectory.contacts``, whose forces are drawn as arrows.
    progress : callable, optional
        Called with the completed fraction, from 0 to 1.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    MediaError
        If an argument cannot be used, or OpenGL or the video encoder is missing.
    """
    target = output_path(path, ".mp4")
    if width < 16 or height < 16 or width % 2 or height % 2:
        raise MediaError(
            f"A video of {width} × {height} pixels is not possible; use even numbers from 16 up."
        )
    recording = Recording(model, time, qpos, mocap_pos=mocap_pos, mocap_quat=mocap_quat)
    count = recording.frame_times(fps).size
    view = resolve_camera(recording, camera, width / height)
    ffmpeg = _imageio_ffmpeg()
    patches = PressurePatches(recording, contact) if contact is not None else None
    arrows = ForceArrows(recording, forces) if forces is not None else None

    partial = target.with_name(f".{target.stem}.partial.mp4")
    try:
        with OffscreenRenderer(model, width, height, shadows=shadows) as renderer:
            writer = ffmpeg.write_frames(
                str(partial),
                (width, height),
                fps=fps,
                codec="libx264",
                pix_fmt_in="rgb24",
                pix_fmt_out="yuv420p",
                quality=None,
                macro_block_size=2,
                ffmpeg_log_level="error",
                output_params=["-crf", str(CRF), "-preset", "fast", "-movflags", "+faststart"],
            )
            writer.send(None)
            try:
                for k, data in enumerate(recording.frames(fps)):
                    writer.send(_picture(renderer, data, view, patches, arrows))
                    if progress is not None:
                        progress((k + 1) / count)
            finally:
                writer.close()
        partial.replace(target)
    except OSError as error:
        raise MediaError(
            f"{target} could not be written ({error}); name a file in a folder that exists."
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def _picture(
    renderer: OffscreenRenderer,
    data: mujoco.MjData,
    view: mujoco.MjvCamera,
    patches: PressurePatches | None,
    arrows: ForceArrows | None,
) -> NDArray[np.uint8]:
    triangles, legend = None, []
    if patches is not None and patches.any:
        corner, pressure, touching = patches.at(data)
        triangles = corner, pressure_colors(pressure.mean(axis=1) / patches.largest), touching
        legend.append(f"pressure: 0 (violet) to {patches.largest:.3g} Pa (yellow)")
    shown = None
    if arrows is not None:
        shown = arrows.at(data.time)
        legend.append(f"longest arrows: {arrows.largest:.3g} N")
    return renderer.render(data, view, triangles, shown, "\n".join(legend))


def _imageio_ffmpeg() -> Any:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise MissingExtra(
            "Writing a video needs the Python package imageio-ffmpeg; install it with "
            "'pip install \"asperity[viz]\"'."
        ) from error
    return imageio_ffmpeg
