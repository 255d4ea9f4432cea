"""What is seen of a simulation: bodies, contacts, their forces, patches and what pulls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.media.camera import resolve_camera
from asperity.media.patches import triangles_of
from asperity.media.recording import Recording
from asperity.media.web_scene import (
    TYPICAL_ASPECT,
    Mover,
    add_nodes,
    add_patches,
    set_view,
)
from asperity.plant.detection.patch_polygons import PolygonFinder
from asperity.simulator import Simulator
from asperity.viewer.session import Session

__all__ = ["Grip", "Picture"]

Floats = NDArray[np.float64]
Grip = Callable[[int, Floats, Floats, str], None]
"""Body, the point of it that is dragged in the body's frame, where to [m], and the phase:
``"start"``, ``"update"`` or ``"end"``."""

_POINTS = (1.0, 0.75, 0.1)
_FORCES = (0.9, 0.15, 0.1)
_ROPE = (0.1, 0.5, 1.0)
# An arrow of the weight of a typical mechanism, over the size of the scene.
_WEIGHT_LENGTH = 0.08
# The longest arrow, over the size of the scene: an impact is not to fill the picture.
_LONGEST = 0.15
_THICKNESS = 0.004
# Seconds of wall time between two drawings of patches, each of which is a new mesh.
_PATCH_PERIOD = 0.1


class Picture:
    """A scene of viser's that shows a simulation.

    Parameters
    ----------
    server : viser.ViserServer
    simulator : Simulator
    camera : str, int or mujoco.MjvCamera, optional
        As for `asperity.media.write_web_playback`.

    Attributes
    ----------
    show_points, show_forces, show_patches : bool
    force_scale : float
        Length of arrows, 1 for one that suits the scene's size and weight.
    """

    def __init__(
        self, server: Any, simulator: Simulator, camera: str | int | mujoco.MjvCamera | None
    ) -> None:
        model, data = simulator.model, simulator.data
        self._server = server
        poses = {"mocap_pos": data.mocap_pos[None], "mocap_quat": data.mocap_quat[None]}
        recording = Recording(model, [data.time], data.qpos[None], **poses)
        set_view(server, recording, resolve_camera(recording, camera, TYPICAL_ASPECT))
        self._nodes = add_nodes(server, recording)
        self._nodes.update(data)
        self.has_patches = bool(simulator.session.plant.surfaces.any_compliant)
        self._finder = (
            PolygonFinder(model, simulator.session.plant.fields) if self.has_patches else None
        )
        self._largest = 1.0
        self._patches: Any = None
        self._patches_drawn = -np.inf
        self.show_points = self.show_forces = True
        self.show_patches = self.has_patches
        self.force_scale = 1.0
        self._size = _size(model, data)
        self._metres_per_newton = _WEIGHT_LENGTH * self._size / _typical_weight(model)
        self._arrows = self._add_arrows("/forces", _FORCES)
        self._rope = self._add_arrows("/pull", _ROPE)
        self._points = server.scene.add_point_cloud(
            "/contacts",
            np.zeros((1, 3), np.float32),
            tuple(round(255 * c) for c in _POINTS),
            point_size=2.5 * _THICKNESS * self._size,
            point_shape="circle",
            precision="float32",
            visible=False,
        )
        if self.has_patches:
            self.set_seen_through(True)

    @property
    def movers(self) -> list[Mover]:
        """Bodies that move, in the page."""
        return self._nodes.movers

    def set_seen_through(self, wanted: bool) -> None:
        """Let the eye through what moves, or not."""
        for part in self._nodes.parts:
            part.set_seen_through(wanted)

    def on_drag(self, grip: Grip) -> None:
        """Have a function called when a body is dragged with the mouse."""
        frames = {mover.body: mover.handle for mover in self.movers}
        for body, mesh in self._moving_meshes():
            mesh.on_drag("left")(_dragging(body, frames[body], grip))

    def off_drag(self) -> None:
        """Let the mouse turn the picture on bodies, too."""
        for _, mesh in self._moving_meshes():
            mesh.remove_drag_callback()

    def _moving_meshes(self) -> list[tuple[int, Any]]:
        parts = (part for part in self._nodes.parts if part.body > 0)
        return [(part.body, mesh) for part in parts for mesh in part.handles]

    def update(self, session: Session, now: float) -> None:
        """Draw the published state, at a wall time [s]."""
        simulator = session.simulator
        # All at once, so that nobody sees one body move before the other.
        with self._server.atomic():
            self._nodes.update(simulator.data)
            self._draw_contacts(simulator)
            held = session.held
            _set_arrows(self._rope, None if held is None else np.array([held]))
        if self._finder is not None and now - self._patches_drawn > _PATCH_PERIOD:
            self._draw_patches(simulator)
            self._patches_drawn = now

    def _draw_contacts(self, simulator: Simulator) -> None:
        contacts, patches = simulator.contacts, simulator.patches
        # Points of a patch are many: its resultant stands for them.
        loaded = (contacts.normal_force > 0.0) & (contacts.patch < 0)
        points = np.concatenate([contacts.point[loaded], patches.point])
        forces = np.concatenate([contacts.force[loaded], patches.force])
        self._points.visible = shown = self.show_points and len(points) > 0
        if shown:
            self._points.points = points.astype(np.float32)
        arrows = None
        if self.show_forces and len(points):
            arrow = self.force_scale * self._metres_per_newton * forces
            length = np.linalg.norm(arrow, axis=1, keepdims=True)
            arrow *= np.minimum(1.0, _LONGEST * self._size / np.maximum(length, 1e-300))
            arrows = np.stack([points, points + arrow], axis=1)
        _set_arrows(self._arrows, arrows)

    def _draw_patches(self, simulator: Simulator) -> None:
        assert self._finder is not None
        if not self.show_patches:
            if self._patches is not None:
                self._patches.visible = False
            return
        patches, data = simulator.patches, simulator.data
        polygons = self._finder.of_pairs(
            patches.geom, patches.normal, data.geom_xpos, data.geom_xmat
        )
        triangles = triangles_of(polygons)
        if len(triangles.pressure):
            self._largest = max(self._largest, float(np.percentile(triangles.pressure, 99.0)))
        before = self._patches
        self._patches = add_patches(self._server, "/patches", triangles, self._largest)
        if self._patches is None and before is not None:
            before.remove()

    def _add_arrows(self, name: str, color: tuple[float, float, float]) -> Any:
        thickness = _THICKNESS * self._size
        return self._server.scene.add_arrows(
            name,
            np.zeros((1, 2, 3), np.float32),
            np.array([round(255 * c) for c in color], np.uint8),
            shaft_radius=0.5 * thickness,
            head_radius=1.3 * thickness,
            head_length=3.5 * thickness,
            visible=False,
        )


def _set_arrows(handle: Any, arrows: Floats | None) -> None:
    handle.visible = arrows is not None
    if arrows is not None:
        handle.points = arrows.astype(np.float32)


def _dragging(body: int, frame: Any, grip: Grip) -> Any:
    """viser's callback for a body; one that it awaits, so that phases come in their order."""

    async def dragged(event: Any) -> None:
        # The client says where the point is in its picture, in which the body is where it was
        # sent to last.
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, np.asarray(frame.wxyz, dtype=np.float64))
        offset = np.asarray(event.start_position) - np.asarray(frame.position)
        point = rotation.reshape(3, 3).T @ offset
        grip(body, point, np.asarray(event.end_position, dtype=np.float64), event.phase)

    return dragged


def _size(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Size of what moves [m], of the whole model if nothing does."""
    moving = (np.asarray(model.body_weldid)[model.geom_bodyid] > 0) & (model.geom_rbound > 0.0)
    if not moving.any():
        return float(model.stat.extent)
    radius = model.geom_rbound[moving, None]
    centre = data.geom_xpos[moving]
    return float(np.linalg.norm((centre + radius).max(axis=0) - (centre - radius).min(axis=0)))


def _typical_weight(model: mujoco.MjModel) -> float:
    """Median weight of kinematic trees [N]; where nothing weighs anything, 1 N."""
    gravity = float(np.linalg.norm(model.opt.gravity))
    tree = np.asarray(model.body_treeid)
    masses = np.bincount(tree[tree >= 0], np.asarray(model.body_mass)[tree >= 0])
    weight = gravity * float(np.median(masses)) if len(masses) else 0.0
    return weight if weight > 0.0 else 1.0
