"""An independent check of the guarantee, by ``ipctk``."""

from __future__ import annotations

from typing import Any

import numpy as np

from asperity.errors import MissingExtra, SimulationError
from asperity.midas.engine import Engine

__all__ = ["IntersectionTest", "verify_no_intersections"]


class IntersectionTest:
    """Intersection test of all shapes of an engine that may touch.

    Raises
    ------
    MissingExtra
        If ``ipctk`` is not installed.
    """

    def __init__(self, engine: Engine) -> None:
        try:
            import ipctk
        except ImportError:
            raise MissingExtra(
                "verify=True needs ipctk, which is not installed; pip install 'asperity[midas]'."
            ) from None
        self._ipctk = ipctk
        self._engine = engine
        self._meshes: dict[tuple[int, int], Any] = {}

    def _mesh(self, a: int, b: int) -> Any:
        """Two shapes as one mesh of ``ipctk``, in which each may touch the other only."""
        if (a, b) not in self._meshes:
            ipctk = self._ipctk
            one, other = (self._engine.shapes.drawn[shape] for shape in (a, b))
            faces = np.concatenate([one.faces, other.faces + len(one.vertices)])
            faces = np.asfortranarray(faces.astype(np.int32))
            rest = np.concatenate([one.vertices, other.vertices])
            mesh = ipctk.CollisionMesh(np.asfortranarray(rest), ipctk.edges(faces), faces)
            sides = np.repeat([0, 1], [len(one.vertices), len(other.vertices)])
            mesh.can_collide = ipctk.make_vertex_patches_filter(sides.astype(np.int32))
            self._meshes[a, b] = mesh
        return self._meshes[a, b]

    def _positions(self) -> list[np.ndarray]:
        """Positions of the vertices of all shapes [m]."""
        q, shapes = self._engine.table.poses.q, self._engine.shapes
        return [
            q[link, 0] + surface.vertices @ q[link, 1:]
            for link, surface in zip(shapes.link, shapes.drawn, strict=True)
        ]

    def __call__(self) -> bool:
        """Whether any two surfaces that may touch intersect in the engine's state."""
        table = self._engine.table
        x = self._positions()
        low = np.array([vertices.min(axis=0) for vertices in x])
        high = np.array([vertices.max(axis=0) for vertices in x])
        for a, b in table.pairs.shape[table.pairs.shape[:, 1] >= 0]:
            if np.any(low[a] > high[b]) or np.any(low[b] > high[a]):
                continue
            positions = np.asfortranarray(np.concatenate([x[a], x[b]]))
            if self._ipctk.has_intersections(self._mesh(int(a), int(b)), positions):
                return True
        return self._below_planes(x) or self._soft_intersect(x)

    def _below_planes(self, x: list[np.ndarray]) -> bool:
        table = self._engine.table
        for a, b in table.pairs.shape[table.pairs.shape[:, 1] < 0]:
            plane = table.shapes.plane[-1 - b]
            if np.min(x[a] @ plane[:3]) <= plane[3]:
                return True
        return False

    def _soft_intersect(self, x: list[np.ndarray]) -> bool:
        """Whether a flex intersects itself, another one, a shape or a half-space."""
        engine = self._engine
        if engine.soft is None:
            return False
        own, faces = engine.soft.surfaces()
        touching = engine.soft.touching
        parts = [*own, *(x[shape] for shape in touching)]
        triangles = [*faces, *(engine.shapes.drawn[shape].faces for shape in touching)]
        for one, other in engine.soft.table.pair_group:
            if other < 0:
                plane = engine.table.shapes.plane[-1 - other]
                if np.min(parts[one] @ plane[:3]) <= plane[3]:
                    return True
                continue
            a, b = parts[one], parts[other]
            if one != other and (
                np.any(a.min(axis=0) > b.max(axis=0)) or np.any(b.min(axis=0) > a.max(axis=0))
            ):
                continue
            key = (-1 - int(one), -1 - int(other))
            if key not in self._meshes:
                self._meshes[key] = self._soft_mesh(
                    a, b, triangles[one], triangles[other], one == other
                )
            positions = a if one == other else np.concatenate([a, b])
            if self._ipctk.has_intersections(self._meshes[key], np.asfortranarray(positions)):
                return True
        return False

    def _soft_mesh(
        self, a: np.ndarray, b: np.ndarray, own: np.ndarray, others: np.ndarray, alone: bool
    ) -> Any:
        """A flex, or a flex and something else, as one mesh of ``ipctk``."""
        ipctk = self._ipctk
        rest, faces = a, own
        if not alone:
            rest, faces = np.concatenate([a, b]), np.concatenate([own, others + len(a)])
        faces = np.asfortranarray(faces.astype(np.int32))
        mesh = ipctk.CollisionMesh(np.asfortranarray(rest), ipctk.edges(faces), faces)
        if not alone:
            sides = np.repeat([0, 1], [len(a), len(b)]).astype(np.int32)
            mesh.can_collide = ipctk.make_vertex_patches_filter(sides)
        return mesh


def verify_no_intersections(engine: Engine) -> None:
    """Raise if the engine's surfaces intersect.

    Raises
    ------
    SimulationError
        If they do, which would be an error of the engine.
    """
    if engine.test is None:
        engine.test = IntersectionTest(engine)
    assert isinstance(engine.test, IntersectionTest)
    if engine.test():
        raise SimulationError(
            "ipctk finds that surfaces intersect, which the Midas integrator must never allow; "
            "please report the model."
        )
