"""Suction: point sources that pull on what is near (CENIC VII-D1, figure 13)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.arguments import as_names, as_number
from asperity.errors import ArgumentError
from asperity.plant.model.sleep import wake
from asperity.systems.base import ExternalSystem, SystemInput

__all__ = ["Suction"]

_NEAR = 1e-9
"""Distance [m] below which the line to the source has no direction."""


class Suction(ExternalSystem):
    """Sources that pull the nearest point of every object within reach.

    At a distance d a source pulls with F (1 − d/r), along the line from the object's nearest point
    to the source. It feels the opposite force. This is the authors' model of a vacuum gripper. The
    force has a potential.

    Parameters
    ----------
    sources : sequence of str
        Spheres at whose centres the sources are; small ones without contact (``contype="0"
        conaffinity="0"``) if the gripper has no better.
    force : float
        F, the largest force of a source on an object [N].
    reach : float
        r, the distance where a source's pull ends [m].
    targets : sequence of str, optional
        Geoms that are pulled. By default these are all that can collide and are on other kinematic
        trees than the sources.
    name : str
        For messages.

    Attributes
    ----------
    strength : float
        Factor of the force, 1; written between steps to switch the suction off or on.
    """

    made_by_bind = ("_model", "_data", "_source_ids", "_target_ids", "_dofs")

    def __init__(
        self,
        sources: Sequence[str],
        *,
        force: float,
        reach: float,
        targets: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        self.name = name
        for what, value in (("force", force), ("reach", reach)):
            value = as_number(f"{self.label}: {what}", value)
            if not (math.isfinite(value) and value > 0):
                raise ArgumentError(
                    f"{self.label}: {what} must be positive and finite, got {value}."
                )
        self.sources = as_names(f"{self.label}: sources", sources)
        self.targets = None if targets is None else as_names(f"{self.label}: targets", targets)
        self.force = float(force)
        self.reach = float(reach)
        self.strength = 1.0
        if not self.sources:
            raise ArgumentError(f"{self.label} needs at least one source.")

    def bind(self, model: mujoco.MjModel) -> None:
        """Find sources and targets."""
        self._model = model
        self._data = mujoco.MjData(model)
        wake(model, self._data)
        self._source_ids = [self._geom(model, name) for name in self.sources]
        for geom, name in zip(self._source_ids, self.sources, strict=True):
            if int(model.geom_type[geom]) != int(mujoco.mjtGeom.mjGEOM_SPHERE):
                raise ArgumentError(
                    f"{self.label}: source {name!r} must be a sphere; put a small one there."
                )
        trees = {self._tree(model, geom) for geom in self._source_ids}
        if self.targets is None:
            self._target_ids = [
                geom
                for geom in range(model.ngeom)
                if (model.geom_contype[geom] or model.geom_conaffinity[geom])
                and self._tree(model, geom) >= 0
                and self._tree(model, geom) not in trees
            ]
        else:
            self._target_ids = [self._geom(model, name) for name in self.targets]
        if not self._target_ids:
            raise ArgumentError(
                f"{self.label} has nothing to pull: no geom can move away from it; name targets."
            )
        trees |= {self._tree(model, geom) for geom in self._target_ids}
        self._dofs = [dof for dof in range(model.nv) if int(model.dof_treeid[dof]) in trees]

    def dofs(self, model: mujoco.MjModel) -> list[int]:
        """All dofs of the trees of sources and targets."""
        return self._dofs

    def output(self, z: np.ndarray, x: SystemInput) -> np.ndarray:
        """Generalized forces of all pulls and their reactions."""
        model, data = self._model, self._data
        if self.strength == 0.0:
            return np.zeros(len(self._dofs))
        data.qpos[:] = x.qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        total = np.zeros(model.nv)
        for source in self._source_ids:
            centre = data.geom_xpos[source]
            radius = float(model.geom_size[source, 0])
            for target in self._target_ids:
                self._pull(source, target, centre, radius, total)
        return total[self._dofs]

    def _pull(
        self, source: int, target: int, centre: np.ndarray, radius: float, total: np.ndarray
    ) -> None:
        model, data = self._model, self._data
        ends = np.zeros(6)
        gap = mujoco.mj_geomDistance(model, data, source, target, self.reach, ends)
        if gap >= self.reach:
            return
        nearest = ends[3:]
        line = centre - nearest
        distance = float(np.linalg.norm(line))
        # Of a source inside of the object, the nearest point is on the other side.
        if gap + radius < 0.0:
            distance, line = 0.0, -line
        length = float(np.linalg.norm(line))
        if distance >= self.reach or length < _NEAR:
            return
        pull = self.strength * self.force * (1.0 - distance / self.reach) / length * line
        for geom, sign in ((target, 1.0), (source, -1.0)):
            body = int(model.geom_bodyid[geom])
            mujoco.mj_applyFT(model, data, sign * pull, np.zeros(3), nearest, body, total)

    def _tree(self, model: mujoco.MjModel, geom: int) -> int:
        return int(model.body_treeid[model.geom_bodyid[geom]])

    def _geom(self, model: mujoco.MjModel, name: str) -> int:
        geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name)
        if geom < 0:
            names = [model.geom(g).name for g in range(model.ngeom)]
            known = ", ".join(repr(n) for n in names if n) or "none with a name"
            raise ArgumentError(
                f"{self.label}: geom {name!r} does not exist; the model has {known}."
            )
        return geom
