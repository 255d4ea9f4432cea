"""Contact polygons of pressure fields with their corners and pressures, for pictures."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numba import types
from numpy.typing import NDArray

from asperity.compiled import Table, compiled_loop
from asperity.contact.hydroelastic.field_layout import (
    FIELD_WORK,
    FIELDS,
)
from asperity.contact.hydroelastic.patch import find_points, makes_patch
from asperity.contact.hydroelastic.points import POINTS_FULL
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.surface_fields import make_fields
from asperity.plant.model.surface_parameters import resolve_surfaces

__all__ = ["PolygonFinder", "Polygons", "find_patch"]

_ARRAY = types.Array(types.float64, 2, "C")
_START = 1024


class Polygons(NamedTuple):
    """Convex polygons on which geoms with pressure fields touch, n of them."""

    geom: NDArray[np.int64]
    """Geoms of every polygon, shape (n, 2)."""
    first: NDArray[np.int64]
    """Its first corner, and at the end the number of all corners, shape (n + 1,)."""
    corner: NDArray[np.float64]
    """Corners, one polygon's after the other's, in world axes [m], shape (m, 3)."""
    pressure: NDArray[np.float64]
    """Pressure at the corners [Pa], shape (m,)."""


@compiled_loop(
    types.int64(
        FIELDS.type,
        FIELD_WORK.type,
        types.int64,
        types.int64,
        _ARRAY,
        _ARRAY,
        types.float64,
        types.float64,
        types.float64,
    )
)
def find_patch(
    fields: Table,
    work: Table,
    a: int,
    b: int,
    xpos: np.ndarray,
    xmat: np.ndarray,
    nx: float,
    ny: float,
    nz: float,
) -> int:
    """The geom in whose frame the polygons of two geoms are; −1 without room, −2 without any."""
    if not makes_patch(fields, a, b):
        return -2
    status, base = find_points(fields, work, a, b, xpos, xmat, (nx, ny, nz))
    return -1 if status == POINTS_FULL else base


class PolygonFinder:
    """Finds contact polygons at any configuration, apart from a simulation.

    Parameters
    ----------
    model : mujoco.MjModel
    fields : Table
        Of the model (`asperity.plant.plant.Plant.fields`).
    """

    def __init__(self, model: mujoco.MjModel, fields: Table) -> None:
        self.model = model
        self._fields = fields
        self._work = Table(FIELD_WORK, points=_START)
        self._work.keep_polygons = 1

    @classmethod
    def with_parameters(cls, model: mujoco.MjModel, contact: ContactParameters) -> PolygonFinder:
        """For a model without a plant.

        Raises
        ------
        ArgumentError
            If the parameters do not fit the model.
        """
        return cls(model, make_fields(model, resolve_surfaces(model, contact)))

    @property
    def any(self) -> bool:
        """Whether there is any compliant geom."""
        return bool(self._fields.any)

    def at(self, data: mujoco.MjData) -> Polygons:
        """Polygons at a configuration.

        Parameters
        ----------
        data : mujoco.MjData
            With poses of geoms; its contacts are found anew.
        """
        mujoco.mj_collision(self.model, data)
        geoms, normals = data.contact.geom[: data.ncon], data.contact.frame[: data.ncon, :3]
        pairs, first = np.unique(geoms, axis=0, return_index=True)
        return self.of_pairs(pairs, normals[first], data.geom_xpos, data.geom_xmat)

    def of_pairs(
        self, pairs: np.ndarray, normals: np.ndarray, xpos: np.ndarray, xmat: np.ndarray
    ) -> Polygons:
        """Polygons of pairs of geoms.

        Parameters
        ----------
        pairs : array of int, shape (n, 2)
        normals : array, shape (n, 3)
            From the first geom to the second, roughly.
        xpos, xmat : arrays, shapes (ngeom, 3) and (ngeom, 9)
            Poses of all geoms.
        """
        xpos, xmat = (np.ascontiguousarray(x, dtype=np.float64) for x in (xpos, xmat))
        geom, counts, corners = [], [], []
        for (a, b), normal in zip(pairs, normals, strict=True):
            arguments = (int(a), int(b), xpos, xmat, *(float(x) for x in normal))
            base = find_patch(self._fields, self._work, *arguments)
            while base == -1:
                self._work.resize(points=2 * len(self._work.point))
                base = find_patch(self._fields, self._work, *arguments)
            if base < 0 or self._work.polygon_count == 0:
                continue
            count = int(self._work.polygon_count)
            counts.append(np.diff(self._work.corner_first[: count + 1]))
            found = self._work.corner[: self._work.corner_count].copy()
            found[:, :3] = found[:, :3] @ xmat[base].reshape(3, 3).T + xpos[base]
            corners.append(found)
            geom.append(np.tile([[a, b]], (count, 1)))
        if not geom:
            none = np.zeros((0, 2), np.int64)
            return Polygons(none, np.zeros(1, np.int64), np.zeros((0, 3)), np.zeros(0))
        every = np.concatenate(corners)
        return Polygons(
            np.concatenate(geom).astype(np.int64),
            np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
            every[:, :3].copy(),
            every[:, 3].copy(),
        )
