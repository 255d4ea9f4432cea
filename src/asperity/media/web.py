"""Playback of a trajectory in a web browser, as one file."""

from __future__ import annotations

import contextlib
import html
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from asperity.media.bodies import MovingBody, display_nodes
from asperity.media.camera import resolve_camera, viewpoint
from asperity.media.errors import MediaError
from asperity.media.patches import PressurePatches, pressure_colors
from asperity.media.recording import Recording, output_path
from asperity.plant.contact_parameters import ContactParameters

__all__ = ["write_web_playback"]

# Poses that differ by less than this [m, and quaternion components] are not sent again: invisible,
# and a scene at rest then costs nothing.
POSE_TOLERANCE = 2e-5
TYPICAL_ASPECT = 1.6
SKY = 0.55
# Opacity of all, where patches are to be seen through it.
_SEEN_THROUGH = 0.4
# Distance of drawn patches from where they are [m].
_ASIDE = 2e-4
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
        The model that was simulated. Geoms of the groups 0 to 2 are shown, as in MuJoCo's viewer.
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
    viser = _viser()
    with _server(viser) as server:
        _look(server, recording, view)
        patches = PressurePatches(recording, contact) if contact is not None else None
        shown = patches is not None and patches.any
        movers = _add_nodes(server, recording, seen_through=shown)
        every = max(1, -(-count // _PATCH_FRAMES))
        current: Any = None
        serializer = server.get_scene_serializer()
        for k, data in enumerate(recording.frames(fps)):
            if k > 0:
                serializer.insert_sleep(1.0 / fps)
            for mover in movers:
                mover.update(data)
            if patches is not None and shown and k % every == 0:
                if current is not None:
                    current.visible = False
                current = _add_patches(server, patches, data, k)
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
        raise MediaError(f"{target} could not be written ({error}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return target


@contextlib.contextmanager
def _server(viser: Any) -> Iterator[Any]:
    """A viser server that nobody outside this machine can reach."""
    # It announces its start and its end on the standard output, which is none of our user's
    # concern; what happens in between is.
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


class _Mover:
    """A body in the page; sends its pose when it has changed."""

    def __init__(self, handle: Any, body: int) -> None:
        self._handle = handle
        self._body = body
        self._position = np.full(3, np.inf)
        self._quat = np.full(4, np.inf)

    def update(self, data: mujoco.MjData) -> None:
        # Single precision is beyond what is seen, and its zero bits compress away.
        position = data.xpos[self._body].astype(np.float32).astype(np.float64)
        quat = data.xquat[self._body].astype(np.float32).astype(np.float64)
        if np.abs(position - self._position).max() > POSE_TOLERANCE:
            self._handle.position = self._position = position
        if np.abs(quat - self._quat).max() > POSE_TOLERANCE:
            self._handle.wxyz = self._quat = quat


def _add_patches(server: Any, patches: PressurePatches, data: mujoco.MjData, frame: int) -> Any:
    """Show the patches of one frame; the node's handle, None if nothing touches."""
    corner, pressure, _ = patches.at(data)
    if not len(corner):
        return None
    import trimesh  # viser depends on it

    colors = np.ones((6 * len(corner), 4))
    colors[:, :3] = pressure_colors(np.tile(pressure.ravel(), 2) / patches.largest)
    # Off the surfaces on both sides, with which they would flicker.
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    length = np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    aside = (_ASIDE * normal / length)[:, None]
    both = np.concatenate([corner + aside, (corner - aside)[:, ::-1]])
    colors[3 * len(corner) :] = colors[3 * len(corner) :].reshape(-1, 3, 4)[:, ::-1].reshape(-1, 4)
    mesh = trimesh.Trimesh(
        both.reshape(-1, 3).astype(np.float32),
        np.arange(6 * len(corner)).reshape(-1, 3),
        vertex_colors=np.round(255.0 * colors).astype(np.uint8),
        process=False,
    )
    return server.scene.add_mesh_trimesh(f"/patches/{frame}", mesh)


def _add_nodes(server: Any, recording: Recording, *, seen_through: bool) -> list[_Mover]:
    """Put all bodies into the page, at their poses at the first frame."""
    data = mujoco.MjData(recording.model)
    recording.pose(data, float(recording.time[0]))
    movers = []
    for node in display_nodes(recording.model, data):
        handle = server.scene.add_frame(f"/{node.name}", show_axes=False)
        _add_parts(server, node, _SEEN_THROUGH if seen_through else 1.0)
        if node.body > 0:
            movers.append(_Mover(handle, node.body))
    return movers


def _add_parts(server: Any, node: MovingBody, share: float) -> None:
    for k, part in enumerate(node.parts):
        opacity = share * float(part.color[3])
        server.scene.add_mesh_simple(
            f"/{node.name}/{k}",
            part.vertices,
            part.faces,
            color=tuple(round(255.0 * c) for c in part.color[:3]),
            opacity=None if opacity >= 1.0 else opacity,
            # Planes and height fields are thin, and transparent bodies show their inside.
            side="double" if part.open or opacity < 1.0 else "front",
            cast_shadow=not part.open and opacity >= 1.0,
        )


def _look(server: Any, recording: Recording, view: mujoco.MjvCamera) -> None:
    """Set the initial camera and the light."""
    position, target, up, fovy = viewpoint(recording, view)
    camera = server.initial_camera
    camera.position, camera.look_at, camera.up, camera.fov = position, target, up, fovy
    distance = float(np.linalg.norm(position - target))
    camera.near, camera.far = 0.01 * distance, 200.0 * distance
    # The viewer's lamps are as bright as the sun; with all of its sky as well, pale colours
    # turn white.
    server.scene.configure_environment_map("city", environment_intensity=SKY)


def _title(model: mujoco.MjModel) -> str:
    name = bytes(model.names).split(b"\0", 1)[0].decode(errors="replace")
    return name or "Asperity"


def _viser() -> Any:
    try:
        import viser
    except ImportError as error:
        raise MediaError(
            "Writing a web playback needs the Python package viser; install it with "
            "'pip install \"asperity[viz]\"'."
        ) from error
    return viser
