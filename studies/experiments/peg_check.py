"""Whether a peg intersects its container, found by ``ipctk`` (extra ``midas``)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from asperity.errors import MissingExtra
from asperity.scenes.peg_in_hole import PegScene, container, peg

__all__ = ["PegCheck"]

Floats = NDArray[np.float64]


class PegCheck:
    """Intersection of the surfaces of peg and container.

    Parameters
    ----------
    scene : PegScene
    within : bool
        Whether the peg is the prism within its cylinder, which an engine of true cylinders must
        not push into the container; otherwise that around it, which Midas simulates.

    Raises
    ------
    MissingExtra
        If ``ipctk`` is not installed.
    """

    def __init__(self, scene: PegScene, *, within: bool) -> None:
        try:
            import ipctk
        except ImportError:
            raise MissingExtra(
                "Intersections are found by ipctk, which is not installed; "
                "pip install 'asperity[midas]'."
            ) from None
        if within:
            scene = replace(scene, radius=scene.radius * math.cos(math.pi / scene.segments))
        self._ipctk = ipctk
        vessel, rod = container(scene).surface, peg(scene).surface
        self._vessel, self._rod = vessel.vertices, rod.vertices
        faces = np.concatenate([vessel.faces, rod.faces + len(self._vessel)]).astype(np.int32)
        rest = np.asfortranarray(np.concatenate([self._vessel, self._rod]))
        self._mesh = ipctk.CollisionMesh(rest, ipctk.edges(faces), np.asfortranarray(faces))
        sides = np.repeat([0, 1], [len(self._vessel), len(self._rod)]).astype(np.int32)
        self._mesh.can_collide = ipctk.make_vertex_patches_filter(sides)

    def __call__(self, position: Floats, rotation: Floats) -> bool:
        """Whether they intersect with the peg at a pose, shapes (3,) and (3, 3)."""
        moved = self._rod @ np.asarray(rotation).T + position
        both = np.asfortranarray(np.concatenate([self._vessel, moved]))
        return bool(self._ipctk.has_intersections(self._mesh, both))
