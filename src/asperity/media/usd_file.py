"""Trajectories as USD files, which Blender, Omniverse and usdview read (https://openusd.org)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from asperity.errors import MissingExtra
from asperity.media.errors import MediaError
from asperity.media.recording import Recording, output_path
from asperity.simulator import Trajectory
from asperity.simulator.atomic_files import replaced

__all__ = ["write_usd"]

_MOST_GEOMS = 10_000


def write_usd(path: str | Path, trajectory: Trajectory, *, fps: float = 30) -> Path:
    """Write a trajectory as a moving scene, by MuJoCo's exporter.

    Parameters
    ----------
    path : str or Path
        File to write, ending in ``.usdz``; it appears only once it is complete, textures included.
    trajectory : Trajectory
        Mocap bodies have the model's poses, because a trajectory does not keep theirs.
    fps : float
        Frames per second, between which USD interpolates. The first is the trajectory's first
        sample, at time code 0.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    MediaError
        If the name, the number of frames or the model cannot be used.
    MissingExtra
        If the packages mujoco, usd-core or pillow are missing (extra ``usd``).
    """
    try:
        from mujoco.usd.exporter import USDExporter
        from pxr import UsdUtils
    except ImportError:
        raise MissingExtra(
            "Writing a USD file needs the Python packages mujoco, usd-core and pillow; install "
            "them with 'pip install \"asperity[usd]\"'."
        ) from None
    target = output_path(path, ".usdz")
    model = trajectory.model
    recording = Recording(model, trajectory.time, trajectory.qpos)
    last = recording.frame_times(fps).size - 1
    screen = model.vis.global_
    with tempfile.TemporaryDirectory() as folder:
        exporter = USDExporter(
            model,
            height=screen.offheight,
            width=screen.offwidth,
            max_geom=max(_MOST_GEOMS, 2 * model.ngeom),
            output_directory="run",
            output_directory_root=folder,
            verbose=False,
        )
        for data in recording.frames(fps):
            try:
                exporter.update_scene(data)
            except NotImplementedError:
                raise MediaError(
                    "MuJoCo's exporter to USD has no flexes, height fields and signed distance "
                    "fields; write_web_playback shows this model."
                ) from None
        exporter.stage.SetTimeCodesPerSecond(fps)
        exporter.stage.SetEndTimeCode(last)
        # Its names of textures are relative to this folder.
        scene = Path(exporter.frames_directory) / "run.usdc"
        exporter.stage.Export(str(scene))
        packed = Path(folder) / "run.usdz"
        UsdUtils.CreateNewUsdzPackage(str(scene), str(packed))
        with replaced(target) as file, packed.open("rb") as source:
            shutil.copyfileobj(source, file)
    return target
