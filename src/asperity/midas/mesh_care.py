"""Meshes as they come, made fit for the engine, with a sentence about what was done."""

from __future__ import annotations

import numpy as np

from asperity.geometry.simplification import can_simplify, simplified
from asperity.geometry.surfaces import Surface, is_closed, open_edges, volume_integrals
from asperity.plant.names import listed

__all__ = ["HEAVY", "MeshCare"]

HEAVY = 2000
"""Triangles of a mesh beyond which it is simplified."""

# Tolerance of simplification, if none is given: a share of the mesh's extent, and this at most [m].
_SHARE = 5e-3
_TOLERANCE = 5e-4


class MeshCare:
    """What is done to meshes, and what was.

    Parameters
    ----------
    tolerance : float, optional
        Largest distance [m] of a simplified mesh from the original. By default 0.1 % of the mesh's
        extent, and 0.5 mm at most. 0 leaves all meshes as they are.
    """

    def __init__(self, tolerance: float | None = None) -> None:
        self._tolerance = tolerance
        self._simplified: list[str] = []
        self._inverted: list[str] = []
        self._open: list[str] = []
        self._missing: list[str] = []

    def take(self, surface: Surface, name: str) -> Surface:
        """A surface that is as good as the given one, which is that of a mesh of some name."""
        if not is_closed(surface):
            self._open.append(f"{name} ({len(open_edges(surface))} edges)")
        elif volume_integrals(surface)[0] < 0.0:
            self._inverted.append(name)
            surface = Surface(surface.vertices, np.ascontiguousarray(surface.faces[:, ::-1]))
        before = len(surface.faces)
        if before <= HEAVY or self._tolerance == 0.0:
            return surface
        if not can_simplify():
            self._missing.append(name)
            return surface
        extent = float(np.ptp(surface.vertices, axis=0).max())
        tolerance = min(_TOLERANCE, _SHARE * extent) if self._tolerance is None else self._tolerance
        surface = simplified(surface, tolerance, HEAVY)
        if len(surface.faces) < before:
            distance = f"{1e3 * tolerance:.2g} mm"
            self._simplified.append(f"{name} ({before} to {len(surface.faces)}, {distance})")
        return surface

    def finish(self) -> tuple[str, ...]:
        """Sentences on all meshes that were taken."""
        sentences = (
            ("Meshes were simplified, with so many triangles and within so much of the original:",
             self._simplified),
            ("Meshes that face inwards were turned:", self._inverted),
            ("Meshes that are not closed collide as sheets, without an inside:", self._open),
            (f"Meshes of more than {HEAVY} triangles are slow; pip install 'asperity[midas]' to "
             "have them simplified:", self._missing),
        )  # fmt: skip
        return tuple(f"{text} {listed(sorted(set(names)))}." for text, names in sentences if names)
