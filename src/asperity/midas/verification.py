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

    def _meet(
        self, key: tuple[int, int], positions: list[np.ndarray], faces: list[np.ndarray]
    ) -> bool:
        """Whether two surfaces intersect each other, or one intersects itself.

        ``key`` is of the mesh of ``ipctk`` that is kept for them.
        """
        ipctk = self._ipctk
        x = np.asfortranarray(np.concatenate(positions))
        if key not in self._meshes:
            starts = np.cumsum([0, *map(len, positions)])
            every = np.concatenate([own + start for own, start in zip(faces, starts, strict=False)])
            # Triangles of ropes are edges, which cross no other edges.
            line = every[:, 1] == every[:, 2]
            whole = np.asfortranarray(every[~line].astype(np.int32))
            if not len(whole):
                return False
            edges = np.vstack([ipctk.edges(whole), every[line, :2].astype(np.int32)])
            mesh = ipctk.CollisionMesh(x, np.asfortranarray(edges), whole)
            if len(positions) == 2:
                sides = np.repeat([0, 1], [len(part) for part in positions]).astype(np.int32)
                mesh.can_collide = ipctk.make_vertex_patches_filter(sides)
            self._meshes[key] = mesh
        return bool(ipctk.has_intersections(self._meshes[key], x))

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
        x, drawn = self._positions(), self._engine.shapes.drawn
        low = np.array([vertices.min(axis=0) for vertices in x]).reshape(-1, 3)
        high = np.array([vertices.max(axis=0) for vertices in x]).reshape(-1, 3)
        pairs = table.pairs.shape[table.pairs.shape[:, 1] >= 0]
        one, other = pairs.T
        near = np.all((low[one] <= high[other]) & (low[other] <= high[one]), axis=1)
        for a, b in pairs[near]:
            if self._meet((int(a), int(b)), [x[a], x[b]], [drawn[a].faces, drawn[b].faces]):
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
        for pair in engine.soft.pairs().values():
            one, other = (int(group) for group in engine.soft.table.pair_group[pair])
            if other < 0:
                plane = engine.table.shapes.plane[-1 - other]
                if np.min(parts[one] @ plane[:3]) <= plane[3]:
                    return True
                continue
            sides = [one] if one == other else [one, other]
            key = (-1 - one, -1 - other)
            if self._meet(key, [parts[i] for i in sides], [triangles[i] for i in sides]):
                return True
        return False


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
