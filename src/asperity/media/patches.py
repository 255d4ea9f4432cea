"""Patches of pressure fields as triangles, coloured by pressure."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.media.recording import Recording
from asperity.plant.detection.patch_polygons import PolygonFinder, Polygons
from asperity.plant.model.contact_parameters import ContactParameters

__all__ = ["PatchTriangles", "PressurePatches", "pressure_colors", "triangles_of"]

Floats = NDArray[np.float64]

# Configurations that are looked at for the scale of pressure.
_SAMPLES = 60
_PERCENTILE = 99.0

# Viridis at nine equal distances (Smith and van der Walt, CC0).
_VIRIDIS = (
    np.array(
        [
            [68, 1, 84],
            [71, 44, 122],
            [59, 81, 139],
            [44, 113, 142],
            [33, 144, 141],
            [39, 173, 129],
            [92, 200, 99],
            [170, 220, 50],
            [253, 231, 37],
        ]
    )
    / 255.0
)


def pressure_colors(share: Floats) -> Floats:
    """Colours of pressures between 0 and 1, shape (..., 3)."""
    at = np.clip(np.nan_to_num(share), 0.0, 1.0) * (len(_VIRIDIS) - 1)
    low = np.minimum(at.astype(np.int64), len(_VIRIDIS) - 2)
    part = (at - low)[..., None]
    return np.asarray((1.0 - part) * _VIRIDIS[low] + part * _VIRIDIS[low + 1])


class PatchTriangles(NamedTuple):
    """Triangles of all patches at one configuration, n of them."""

    corner: Floats
    """[m], world, shape (n, 3, 3)."""
    pressure: Floats
    """At the corners [Pa], shape (n, 3)."""
    geom: NDArray[np.int64]
    """Geoms that touch with them."""


def triangles_of(polygons: Polygons) -> PatchTriangles:
    """Triangles that polygons consist of."""
    sizes = np.diff(polygons.first)
    # A fan from the first corner of every polygon
    triangles = np.maximum(sizes - 2, 0)
    owner = np.repeat(np.arange(len(sizes)), triangles)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(triangles) - triangles, triangles)
    base = polygons.first[owner]
    corners = np.stack([base, base + number + 1, base + number + 2], axis=1)
    return PatchTriangles(
        polygons.corner[corners], polygons.pressure[corners], np.unique(polygons.geom)
    )


class PressurePatches:
    """Patches of a recording, with one scale of colours for all of it.

    Parameters
    ----------
    recording : Recording
    contact : ContactParameters
        Those of the simulation.
    """

    def __init__(self, recording: Recording, contact: ContactParameters) -> None:
        self._finder = PolygonFinder.with_parameters(recording.model, contact)
        # Finding contacts overwrites what a picture is drawn from.
        self._scratch = mujoco.MjData(recording.model)
        self.largest = 1.0
        """Pressure of the scale's end [Pa]."""
        if self.any:
            self.largest = self._scale(recording)

    @property
    def any(self) -> bool:
        """Whether the model has any pressure field."""
        return self._finder.any

    def _scale(self, recording: Recording) -> float:
        data = mujoco.MjData(recording.model)
        found = []
        for time in np.linspace(recording.time[0], recording.time[-1], _SAMPLES):
            recording.pose(data, float(time))
            found.append(self._finder.at(data).pressure)
        pressures = np.concatenate(found)
        return float(np.percentile(pressures, _PERCENTILE)) if len(pressures) else 1.0

    def at(self, data: mujoco.MjData) -> PatchTriangles:
        """Triangles at a configuration, whose geoms have their poses."""
        scratch = self._scratch
        scratch.qpos[:] = data.qpos
        scratch.mocap_pos[:], scratch.mocap_quat[:] = data.mocap_pos, data.mocap_quat
        mujoco.mj_kinematics(self._finder.model, scratch)
        mujoco.mj_comPos(self._finder.model, scratch)
        return triangles_of(self._finder.at(scratch))
