"""A scene of viser's: bodies as meshes, light, camera and patches, for playbacks and live views."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import mujoco
import numpy as np
import rich

from asperity.errors import MissingExtra
from asperity.media.bodies import MovingBody, display_nodes
from asperity.media.camera import viewpoint
from asperity.media.flexes import Flexes, has_flexes
from asperity.media.patches import PatchTriangles, pressure_colors
from asperity.media.recording import Recording
from asperity.media.tendons import Tendons, has_tendons
from asperity.media.textures import TexturedSurface

__all__ = [
    "SEEN_THROUGH",
    "TYPICAL_ASPECT",
    "Mover",
    "Nodes",
    "ShownPart",
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
# From the colours of screens to linear ones.
_GAMMA = 2.2
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


class ShownPart:
    """A part of a body in the page: a mesh of one colour, or one with an image.

    Parameters
    ----------
    body : int
        0 for what does not move.
    plain
        viser's mesh in one colour.
    opacity : float
        Of the model.
    textured
        viser's mesh with the image. It cannot be seen through: the plain one takes its place then.
    """

    def __init__(self, body: int, plain: Any, opacity: float, textured: Any | None) -> None:
        self.body = body
        self.handles = [plain] if textured is None else [plain, textured]
        """viser's meshes, of which one is seen."""
        self._plain, self._textured, self._opacity = plain, textured, opacity

    def set_seen_through(self, wanted: bool) -> None:
        """Let the eye through the part if it moves, or not."""
        through = wanted and self.body > 0
        shown = self._opacity * (SEEN_THROUGH if through else 1.0)
        self._plain.opacity = None if shown >= 1.0 else shown
        if self._textured is not None:
            self._textured.visible = not through
            self._plain.visible = through


class Nodes(NamedTuple):
    """What was put into a page."""

    movers: list[Mover]
    """Bodies that move."""
    parts: list[ShownPart]
    """Every part of every body, also of what does not move."""
    tendons: Tendons | None
    """None in a model without spatial tendons."""
    flexes: Flexes | None = None
    """None in a model without deformable bodies."""

    def update(self, data: mujoco.MjData) -> None:
        """Send what has changed."""
        for mover in self.movers:
            mover.update(data)
        if self.tendons is not None:
            self.tendons.update(data)
        if self.flexes is not None:
            self.flexes.update(data)


def add_nodes(server: Any, recording: Recording, *, seen_through: bool = False) -> Nodes:
    """Put all bodies, tendons and flexes into the page, at their poses at the first frame."""
    model = recording.model
    data = mujoco.MjData(model)
    recording.pose(data, float(recording.time[0]))
    nodes = Nodes(
        [],
        [],
        Tendons(server, model) if has_tendons(model) else None,
        Flexes(server, model, data) if has_flexes(model) else None,
    )
    for node in display_nodes(model, data):
        handle = server.scene.add_frame(f"/{node.name}", show_axes=False)
        nodes.parts.extend(_add_part(server, node, k) for k in range(len(node.parts)))
        if node.body > 0:
            nodes.movers.append(Mover(handle, node.body))
    if seen_through:
        for part in nodes.parts:
            part.set_seen_through(True)
    return nodes


def _add_part(server: Any, node: MovingBody, index: int) -> ShownPart:
    part = node.parts[index]
    opacity = float(part.color[3])
    name = f"/{node.name}/{index}"
    plain = server.scene.add_mesh_simple(
        name,
        part.vertices,
        part.faces,
        color=tuple(round(255.0 * c) for c in part.color[:3]),
        opacity=None if opacity >= 1.0 else opacity,
        # Planes and height fields are thin, and transparent bodies show their inside.
        side="double" if part.open or opacity < 1.0 else "front",
        cast_shadow=not part.open and opacity >= 1.0,
        visible=part.textured is None,
    )
    textured = None
    if part.textured is not None:
        textured = server.scene.add_mesh_trimesh(f"{name}-image", _with_image(part.textured))
    return ShownPart(node.body, plain, opacity, textured)


def _with_image(surface: TexturedSurface) -> Any:
    import trimesh  # viser depends on it
    from PIL import Image

    # The format has linear colours beside the image's, and measures images from below.
    color = np.append(surface.color[:3] ** _GAMMA, surface.color[3])
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=Image.fromarray(np.round(255.0 * surface.image).astype(np.uint8)),
        baseColorFactor=np.round(255.0 * color).astype(np.uint8),
        metallicFactor=0.0,
        roughnessFactor=1.0,
        alphaMode="OPAQUE" if color[3] >= 1.0 else "BLEND",
    )
    coordinates = np.stack([surface.coordinates[:, 0], 1.0 - surface.coordinates[:, 1]], axis=1)
    return trimesh.Trimesh(
        surface.vertices,
        surface.faces,
        vertex_normals=surface.normals,
        visual=trimesh.visual.TextureVisuals(uv=coordinates, material=material),
        process=False,
    )


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
    MissingExtra
        If it is missing; the message has the command that installs it.
    """
    try:
        import viser
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs the Python package viser; install it with "
            f"'pip install \"asperity[{extra}]\"'."
        ) from error
    return viser
