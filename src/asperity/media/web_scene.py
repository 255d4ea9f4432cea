"""A scene of viser's: bodies as meshes, light, camera and patches, for playbacks and live views."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import mujoco
import numpy as np
import rich

from asperity.media.bodies import MovingBody, display_nodes
from asperity.media.camera import viewpoint
from asperity.media.errors import MediaError
from asperity.media.patches import PatchTriangles, pressure_colors
from asperity.media.recording import Recording

__all__ = [
    "SEEN_THROUGH",
    "TYPICAL_ASPECT",
    "Mover",
    "Nodes",
    "add_nodes",
    "add_patches",
    "import_viser",
    "set_view",
    "silent",
]

# Poses that differ by less than this [m, and quaternion components] are not sent again: invisible,
# and a scene at rest then costs nothing.
POSE_TOLERANCE = 2e-5
TYPICAL_ASPECT = 1.6
SKY = 0.55
SEEN_THROUGH = 0.4
"""Opacity of all bodies, where patches are to be seen through them."""
# Distance of drawn patches from where they are [m].
_ASIDE = 2e-4


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Keep back what viser announces, which is no concern of our users.

    It does so through Rich, which writes to the standard output, but hands pages to Jupyter.
    """
    console = rich.get_console()
    before = console.quiet
    console.quiet = True
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        console.quiet = before


class Mover:
    """A body in the page; sends its pose when it has changed.

    Parameters
    ----------
    handle
        viser's frame.
    body : int
    """

    def __init__(self, handle: Any, body: int) -> None:
        self.handle = handle
        self.body = body
        self._position = np.full(3, np.inf)
        self._quat = np.full(4, np.inf)

    def update(self, data: mujoco.MjData) -> None:
        """Send the pose that the body has now."""
        # Single precision is beyond what is seen, and its zero bits compress away.
        position = data.xpos[self.body].astype(np.float32).astype(np.float64)
        quat = data.xquat[self.body].astype(np.float32).astype(np.float64)
        if np.abs(position - self._position).max() > POSE_TOLERANCE:
            self.handle.position = self._position = position
        if np.abs(quat - self._quat).max() > POSE_TOLERANCE:
            self.handle.wxyz = self._quat = quat


class Nodes(NamedTuple):
    """Bodies that were put into a page."""

    movers: list[Mover]
    """Those that move."""
    meshes: list[tuple[int, Any, float]]
    """Body, viser's mesh and opacity of every part, also of what does not move (body 0)."""


def add_nodes(server: Any, recording: Recording, *, seen_through: bool = False) -> Nodes:
    """Put all bodies into the page, at their poses at the first frame."""
    data = mujoco.MjData(recording.model)
    recording.pose(data, float(recording.time[0]))
    nodes = Nodes([], [])
    for node in display_nodes(recording.model, data):
        handle = server.scene.add_frame(f"/{node.name}", show_axes=False)
        nodes.meshes.extend(_add_parts(server, node, SEEN_THROUGH if seen_through else 1.0))
        if node.body > 0:
            nodes.movers.append(Mover(handle, node.body))
    return nodes


def _add_parts(server: Any, node: MovingBody, share: float) -> Iterator[tuple[int, Any, float]]:
    for k, part in enumerate(node.parts):
        opacity = share * float(part.color[3])
        mesh = server.scene.add_mesh_simple(
            f"/{node.name}/{k}",
            part.vertices,
            part.faces,
            color=tuple(round(255.0 * c) for c in part.color[:3]),
            opacity=None if opacity >= 1.0 else opacity,
            # Planes and height fields are thin, and transparent bodies show their inside.
            side="double" if part.open or opacity < 1.0 else "front",
            cast_shadow=not part.open and opacity >= 1.0,
        )
        yield node.body, mesh, float(part.color[3])


def add_patches(server: Any, name: str, patches: PatchTriangles, largest: float) -> Any:
    """Show patches in the colours of their pressure; the node's handle, None if nothing touches.

    Parameters
    ----------
    name : str
        Of the node, which takes the place of one of the same name.
    largest : float
        Pressure at the end of the scale [Pa].
    """
    corner, pressure, _ = patches
    if not len(corner):
        return None
    import trimesh  # viser depends on it

    colors = np.ones((6 * len(corner), 4))
    colors[:, :3] = pressure_colors(np.tile(pressure.ravel(), 2) / largest)
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
    return server.scene.add_mesh_trimesh(name, mesh)


def set_view(server: Any, recording: Recording, view: mujoco.MjvCamera) -> None:
    """Set the initial camera and the light."""
    position, target, up, fovy = viewpoint(recording, view)
    camera = server.initial_camera
    camera.position, camera.look_at, camera.up, camera.fov = position, target, up, fovy
    distance = float(np.linalg.norm(position - target))
    camera.near, camera.far = 0.01 * distance, 200.0 * distance
    # The viewer's lamps are as bright as the sun; with all of its sky as well, pale colours
    # turn white.
    server.scene.configure_environment_map("city", environment_intensity=SKY)


def import_viser(purpose: str, extra: str) -> Any:
    """The package viser, imported when it is needed.

    Raises
    ------
    MediaError
        If it is missing; the message has the command that installs it.
    """
    try:
        import viser
    except ImportError as error:
        raise MediaError(
            f"{purpose} needs the Python package viser; install it with "
            f"'pip install \"asperity[{extra}]\"'."
        ) from error
    return viser
