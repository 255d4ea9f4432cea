"""Playback of a trajectory in a web browser, as one file."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
from numpy.typing import ArrayLike

from asperity.media.camera import resolve_camera
from asperity.media.errors import MediaError
from asperity.media.patches import PressurePatches
from asperity.media.recording import Recording, output_path
from asperity.media.web_scene import (
    TYPICAL_ASPECT,
    add_nodes,
    add_patches,
    import_viser,
    set_view,
    silent,
)
from asperity.plant.model.contact_parameters import ContactParameters

__all__ = ["write_web_playback"]

# Frames with patches of their own: every mesh stays in the page.
_PATCH_FRAMES = 300


def write_web_playback(
    path: str | Path,
    model: mujoco.MjModel,
    time: ArrayLike,
    qpos: ArrayLike,
    *,
    fps: float = 30,
    camera: str | int | mujoco.MjvCamera | None = None,
    mocap_pos: ArrayLike | None = None,
    mocap_quat: ArrayLike | None = None,
    contact: ContactParameters | None = None,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write a trajectory as one HTML file with a 3D view and a timeline.

    The page contains everything it needs: it opens from disk and loads nothing from a network.

    Parameters
    ----------
    path : str or Path
        File to write, ending in ``.html``; it appears only once it is complete.
    model : mujoco.MjModel
        The model that was simulated. Geoms, sites and spatial tendons of the groups 0 to
        2 are shown, as in MuJoCo's viewer.
    time : array_like, shape (n,)
        Times of the samples [s], not necessarily uniform.
    qpos : array_like, shape (n, nq)
        Configurations at these times; frames between them are interpolated.
    fps : float
        Frames per second of simulated time.
    camera : str, int or mujoco.MjvCamera, optional
        View at the start; by default one that frames everything that moves.
    mocap_pos, mocap_quat : array_like, shape (n, nmocap, 3) and (n, nmocap, 4), optional
        Poses of the mocap bodies.
    contact : ContactParameters, optional
        Those of the simulation. Patches of pressure fields are shown in colours of their pressure,
        and all geoms half transparent.
    progress : callable, optional
        Called with the completed fraction, from 0 to 1.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    MediaError
        If an argument cannot be used or viser is missing.

    Notes
    -----
    viser can record only what a server of its own would send. The server listens on this
    machine's loopback address alone, on a port of the system's choice, and is closed before
    this function returns.
    """
    target = output_path(path, ".html")
    recording = Recording(model, time, qpos, mocap_pos=mocap_pos, mocap_quat=mocap_quat)
    count = recording.frame_times(fps).size
    view = resolve_camera(recording, camera, TYPICAL_ASPECT)
    viser = import_viser("Writing a web playback", "viz")
    with _server(viser) as server:
        set_view(server, recording, view)
        patches = PressurePatches(recording, contact) if contact is not None else None
        shown = patches is not None and patches.any
        nodes = add_nodes(server, recording, seen_through=shown)
        every = max(1, -(-count // _PATCH_FRAMES))
        current: Any = None
        serializer = server.get_scene_serializer()
        for k, data in enumerate(recording.frames(fps)):
            if k > 0:
                serializer.insert_sleep(1.0 / fps)
            nodes.update(data)
            if patches is not None and shown and k % every == 0:
                if current is not None:
                    current.visible = False
                current = add_patches(server, f"/patches/{k}", patches.at(data), patches.largest)
            if progress is not None:
                progress((k + 1) / count)
        page = serializer.as_html()
    title = html.escape(_title(model))
    page = page.replace("<title>Viser</title>", f"<title>{title}</title>", 1)
    partial = target.with_name(f".{target.stem}.partial.html")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        raise MediaError(
            f"{target} could not be written ({error}); name a file in a folder that exists."
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return target


@contextlib.contextmanager
def _server(viser: Any) -> Iterator[Any]:
    """A viser server that nobody outside this machine can reach."""
    with silent():
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        yield server
    finally:
        with silent():
            server.stop()


def _title(model: mujoco.MjModel) -> str:
    name = bytes(model.names).split(b"\0", 1)[0].decode(errors="replace")
    return name or "Asperity"
