"""Artefacts, found by a program: what passes through thin parts, or gains energy."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.contact.hydroelastic.distances import distances
from asperity.geometry.surfaces import Surface
from asperity.plant.model.geom_surfaces import geom_surface
from studies.experiments.overlap import inside

__all__ = ["Penetration", "ThinParts", "energy_gain"]

Floats = NDArray[np.float64]

_Type = mujoco.mjtGeom


class Penetration(NamedTuple):
    """How deep an object is in thin parts that do not move."""

    depth: float
    """Distance by which a part reaches under the object's surface [m], 0 if apart."""
    crossed: bool
    """Whether the middle of a part, a wire's axis or a wall's middle plane, is inside."""
    geom: int
    """Of the deepest part, −1 if none touches."""


class ThinParts:
    """Wires (capsules) and walls (boxes) of the world, and the objects that must not pass them.

    A part is replaced by points on its middle, the axis or the middle plane, with the part's radius
    or half of its thickness around each. The depth of a part in an object is the largest distance
    by which these balls reach under the object's surface, exact up to the spacing of the points. A
    middle that is inside of an object has gone in by more than half of the part's thickness: that
    is what is called passing through.

    Parameters
    ----------
    model : mujoco.MjModel
    objects : sequence of str
        Geoms with closed surfaces that move.
    thickest : float
        Largest radius of a ball inside of an object [m].
    spacing : float
        Of the points [m].
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        objects: tuple[str, ...],
        *,
        thickest: float,
        spacing: float = 3e-3,
    ) -> None:
        self._objects = {name: model.geom(name).id for name in objects}
        self._surfaces: dict[str, Surface] = {
            name: geom_surface(model, geom, hulls=False) for name, geom in self._objects.items()
        }
        self._thickest = thickest
        points, radii, geoms = [], [], []
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        for geom in range(model.ngeom):
            if model.body_weldid[model.geom_bodyid[geom]] != 0:
                continue
            middle, radius = _middle(model, geom, spacing)
            points.append(middle @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
            radii.append(np.full(len(middle), radius))
            geoms.append(np.full(len(middle), geom))
        self._points = np.concatenate(points)
        self._radii = np.concatenate(radii)
        self._geoms = np.concatenate(geoms)

    def measure(self, data: mujoco.MjData, name: str) -> Penetration:
        """How deep one object is in thin parts, with the poses of its geom in ``data``."""
        geom, surface = self._objects[name], self._surfaces[name]
        turn, place = data.geom_xmat[geom].reshape(3, 3), data.geom_xpos[geom]
        low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
        local = (self._points - place) @ turn
        margin = self._radii[:, None]
        near = np.flatnonzero(np.all((local > low - margin) & (local < high + margin), axis=1))
        if len(near) == 0:
            return Penetration(0.0, False, -1)
        distance = distances(np.ascontiguousarray(local[near]), surface)
        # Objects are thin: nothing is farther inside than this.
        close = distance < self._thickest
        within = np.zeros(len(near), dtype=bool)
        within[close] = inside(local[near[close]], surface)
        depth = self._radii[near] + np.where(within, distance, -distance)
        deepest = int(np.argmax(depth))
        if depth[deepest] <= 0.0:
            return Penetration(0.0, False, -1)
        return Penetration(
            float(depth[deepest]), bool(within.any()), int(self._geoms[near[deepest]])
        )


def _middle(model: mujoco.MjModel, geom: int, spacing: float) -> tuple[Floats, float]:
    """Points on the middle of a part in its frame, and the distance from there to its surface."""
    size = np.array(model.geom_size[geom])
    kind = model.geom_type[geom]
    if kind == _Type.mjGEOM_CAPSULE:
        z = _even(size[1], spacing)
        return np.column_stack([np.zeros((len(z), 2)), z]), float(size[0])
    if kind == _Type.mjGEOM_BOX:
        thin = int(np.argmin(size))
        # The plane ends as far from the rim as from the faces.
        reach = size - size[thin]
        axes = [np.zeros(1) if k == thin else _even(reach[k], spacing) for k in range(3)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        return grid.reshape(-1, 3), float(size[thin])
    return np.zeros((0, 3)), 0.0


def _even(half: float, spacing: float) -> Floats:
    count = max(2, int(np.ceil(2.0 * half / spacing)) + 1)
    return np.linspace(-half, half, count)


def energy_gain(energy: Floats, free: NDArray[np.bool_], alone: NDArray[np.bool_]) -> float:
    """Largest energy that objects gained while nothing worked on them [J].

    Between an instant at which nothing touches them and a later one their mechanical energy can
    only fall, as long as they touch nothing that moves: what contacts store for a while is not
    counted and comes from it.

    Parameters
    ----------
    energy : ndarray, shape (n,)
        Kinetic and potential energy [J].
    free : ndarray of bool, shape (n,)
        Whether they touched nothing.
    alone : ndarray of bool, shape (n,)
        Whether they touched nothing that moves and is not one of them.
    """
    gain, least = 0.0, np.inf
    for value, flies, left in zip(energy, free, alone, strict=True):
        if not left:
            least = np.inf
            continue
        gain = max(gain, float(value) - least)
        if flies:
            least = min(least, float(value))
    return gain
