"""Meshes as they come, made fit for the engine, with a sentence about what was done."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from asperity.geometry.primitives import convex_hull
from asperity.geometry.repair import closed_surface, find_defects, turned
from asperity.geometry.simplification import can_simplify, simplified
from asperity.geometry.simplification_worker import simplify_side_by_side
from asperity.geometry.surfaces import Surface
from asperity.plant.model.names import listed

__all__ = ["HEAVY", "MeshCare"]

HEAVY = 2000
"""Triangles of a mesh beyond which it is simplified."""

# Triangles that any of those may be left with.
_ENOUGH = 500
# Tolerance of simplification, if none is given: a share of the mesh's extent, and this at most [m].
_SHARE = 5e-3
_TOLERANCE = 5e-4


class MeshCare:
    """What is done to meshes, and what was.

    Parameters
    ----------
    tolerance : float, optional
        Largest distance [m] of a simplified mesh from the original. By default 0.5 % of the mesh's
        extent, and 0.5 mm at most. 0 leaves all meshes as they are.
    repair : {"keep", "close", "hull"}
        What becomes of meshes that are the surface of no solid, as of `Midas`.
    """

    def __init__(self, tolerance: float | None = None, repair: str = "keep") -> None:
        self._tolerance, self._repair = tolerance, repair
        self._simplified: list[str] = []
        self._inverted: list[str] = []
        self._open: list[str] = []
        self._branching: list[str] = []
        self._crossing: list[str] = []
        self._closed: list[str] = []
        self._hulls: list[str] = []
        self._missing: list[str] = []

    def take(self, meshes: Sequence[tuple[Surface, str]]) -> list[Surface]:
        """Surfaces that are as good as the given ones, each with the name of its mesh."""
        found = [self._mended(surface, name) for surface, name in meshes]
        heavy = [i for i, surface in enumerate(found) if len(surface.faces) > HEAVY]
        if self._tolerance == 0.0 or not heavy:
            return found
        if not can_simplify():
            self._missing.extend(meshes[i][1] for i in heavy)
            return found
        jobs = [(found[i], self._tolerance_of(found[i])) for i in heavy]
        simplify_side_by_side(jobs, _ENOUGH, os.cpu_count() or 1)
        for i, (surface, tolerance) in zip(heavy, jobs, strict=True):
            found[i] = simplified(surface, tolerance, _ENOUGH)
            before, after = len(surface.faces), len(found[i].faces)
            if after < before:
                distance = f"{1e3 * tolerance:.2g} mm"
                self._simplified.append(f"{meshes[i][1]} ({before} to {after}, {distance})")
        return found

    def _tolerance_of(self, surface: Surface) -> float:
        if self._tolerance is not None:
            return self._tolerance
        return min(_TOLERANCE, _SHARE * float(np.ptp(surface.vertices, axis=0).max()))

    def _mended(self, surface: Surface, name: str) -> Surface:
        """The mesh as the option wants it, if it is the surface of no solid."""
        defects = find_defects(surface)
        if defects.inverted:
            self._inverted.append(name)
            surface = turned(surface)
        if defects.is_solid:
            return surface
        if self._repair == "close":
            closed = closed_surface(surface)
            if closed is not None:
                self._closed.append(name)
                return closed
        if self._repair != "keep":
            from scipy.spatial import QhullError  # slow to import, and most need it not

            try:
                hull = convex_hull(surface.vertices)
            except QhullError:
                pass  # a flat one has none
            else:
                self._hulls.append(name)
                return hull
        if defects.open or defects.disagreeing:
            self._open.append(f"{name} ({defects.open + defects.disagreeing} edges)")
        if defects.branching:
            self._branching.append(f"{name} ({defects.branching} edges)")
        if defects.crossing:
            self._crossing.append(name)
        return surface

    def finish(self) -> tuple[str, ...]:
        """Sentences on all meshes that were taken."""
        sentences = (
            ("Meshes were simplified, with so many triangles and within so much of the original:",
             self._simplified),
            ("Meshes that face inwards were turned:", self._inverted),
            ("Meshes that are not closed collide as sheets, without an inside; "
             "Midas(mesh_repair='close') closes them:", self._open),
            ("Meshes with edges of more than two triangles have no inside:", self._branching),
            ("Meshes that run through themselves collide as they are:", self._crossing),
            ("Meshes that were the surface of no solid were closed:", self._closed),
            ("Meshes that were the surface of no solid are replaced by their convex hulls:",
             self._hulls),
            (f"Meshes of more than {HEAVY} triangles are slow; pip install 'asperity[midas]' to "
             "have them simplified:", self._missing),
        )  # fmt: skip
        return tuple(f"{text} {listed(sorted(set(names)))}." for text, names in sentences if names)
