"""Where to look from."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.media.bodies import SHOWN_GROUPS, carriers
from asperity.media.errors import MediaError
from asperity.media.recording import Recording

__all__ = ["fitted_camera", "resolve_camera", "viewpoint"]

Floats = NDArray[np.float64]

# Three-quarter view from slightly above: the ground is seen and bodies hide one another little.
AZIMUTH = 130.0
ELEVATION = -22.0
# Bodies may use this share of the picture's smaller side.
FILL = 0.85
# Something that flies or falls away must not shrink everything else to a dot.
LARGEST_GROWTH = 4.0
SAMPLES = 60


def resolve_camera(
    recording: Recording, camera: str | int | mujoco.MjvCamera | None, aspect: float
) -> mujoco.MjvCamera:
    """Turn what the user gave into an abstract MuJoCo camera.

    Parameters
    ----------
    recording : Recording
        What will be shown; a camera is fitted to it when ``camera`` is None.
    camera : str, int, mujoco.MjvCamera or None
        Name or index of a camera of the model, or a camera.
    aspect : float
        Width of the picture over its height.

    Raises
    ------
    MediaError
        If the model has no such camera.
    """
    if camera is None:
        return fitted_camera(recording, aspect)
    if isinstance(camera, mujoco.MjvCamera):
        return camera
    model = recording.model
    names = [model.camera(k).name for k in range(model.ncam)]
    if isinstance(camera, str):
        if camera not in names:
            known = ", ".join(repr(n) for n in names if n) or "none"
            raise MediaError(f"The model has no camera named '{camera}'; its cameras are: {known}.")
        camera = names.index(camera)
    if not 0 <= camera < model.ncam:
        raise MediaError(
            f"Camera {camera} does not exist; the model has {model.ncam} cameras, counted from 0."
        )
    result = mujoco.MjvCamera()
    result.type = mujoco.mjtCamera.mjCAMERA_FIXED
    result.fixedcamid = camera
    return result


def fitted_camera(recording: Recording, aspect: float) -> mujoco.MjvCamera:
    """Return a free camera that keeps all moving bodies in the picture.

    The extent is that of the moving geoms over the trajectory. Static geometry does not count:
    a floor is often infinite, and a terrain much larger than what happens on it.
    """
    model = recording.model
    data = mujoco.MjData(model)
    shown = (model.geom_rbound > 0.0) & (model.geom_group < SHOWN_GROUPS)
    moving = shown & (carriers(model)[model.geom_bodyid] > 0)
    selected = moving if moving.any() else shown
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    camera.azimuth, camera.elevation = AZIMUTH, ELEVATION
    if not selected.any():
        return camera

    count = min(SAMPLES, recording.time.size)
    radius = model.geom_rbound[selected, None]
    lower, upper = np.full(3, np.inf), np.full(3, -np.inf)
    first: tuple[Floats, Floats] | None = None
    for time in np.linspace(recording.time[0], recording.time[-1], count):
        recording.pose(data, float(time))
        centre = data.geom_xpos[selected]
        lower = np.minimum(lower, (centre - radius).min(axis=0))
        upper = np.maximum(upper, (centre + radius).max(axis=0))
        if first is None:
            first = (lower, upper)
    assert first is not None
    margin = LARGEST_GROWTH * np.linalg.norm(first[1] - first[0])
    lower, upper = np.maximum(lower, first[0] - margin), np.minimum(upper, first[1] + margin)

    half_angle = 0.5 * np.deg2rad(model.vis.global_.fovy)
    half_angle = min(half_angle, float(np.arctan(np.tan(half_angle) * aspect)))
    camera.lookat[:] = 0.5 * (lower + upper)
    camera.distance = 0.5 * float(np.linalg.norm(upper - lower)) / (FILL * np.sin(half_angle))
    return camera


def viewpoint(
    recording: Recording, camera: mujoco.MjvCamera
) -> tuple[Floats, Floats, Floats, float]:
    """Position, target [m], up direction and vertical field of view [rad] at the first frame."""
    model = recording.model
    if camera.type == mujoco.mjtCamera.mjCAMERA_FIXED:
        data = mujoco.MjData(model)
        recording.pose(data, float(recording.time[0]))
        k = camera.fixedcamid
        position = data.cam_xpos[k].copy()
        rotation = data.cam_xmat[k].reshape(3, 3)
        distance = max(float(np.linalg.norm(position - model.stat.center)), 1e-3)
        return (
            position,
            position - distance * rotation[:, 2],
            rotation[:, 1].copy(),
            float(np.deg2rad(model.cam_fovy[k])),
        )
    azimuth, elevation = np.deg2rad(camera.azimuth), np.deg2rad(camera.elevation)
    forward = np.array(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )
    target = np.array(camera.lookat)
    fovy = float(np.deg2rad(model.vis.global_.fovy))
    return target - camera.distance * forward, target, np.array([0.0, 0.0, 1.0]), fovy
