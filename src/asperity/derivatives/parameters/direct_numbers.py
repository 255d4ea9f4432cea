"""Numbers of parameters of which derivatives need no other simulation."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.derivatives.layout import (
    CONTACT_PARAMETER,
    INERTIAL_PARAMETER,
    SIMULATED_PARAMETER,
)
from asperity.derivatives.parameters.parameters import Parameter, changed_fields
from asperity.plant.model.support import has_every_friction
from asperity.simulator import Simulator

__all__ = ["DirectNumbers"]

_INERTIAS = frozenset(("body_mass", "body_inertia", "body_ipos", "body_iquat"))
# What MuJoCo derives from these.
_DERIVED = frozenset(
    (
        *("body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0", "dof_length"),
        *("actuator_acc0", "bvh_aabb", "body_sameframe", "geom_sameframe", "site_sameframe"),
    )
)
_FRICTION = frozenset(("geom_friction",))
_OVERRIDE = int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)


class DirectNumbers:
    """What `asperity.derivatives.parameters.direct_parameters` knows of parameters.

    Parameters
    ----------
    model : mujoco.MjModel
    parameters : sequence of Parameter
    simulators : sequence of list of Simulator
        With a larger, and perhaps with a smaller value of each.
    sizes : numpy.ndarray
        Displacements.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        parameters: Sequence[Parameter],
        simulators: Sequence[list[Simulator]],
        sizes: np.ndarray,
    ) -> None:
        self._simulators = simulators
        self._sizes = sizes
        self.kinds = np.array([_kind(model, one) for one in parameters], np.int64)
        self._plants = np.array(
            [sides[0].session.world.plant.table.address for sides in simulators], np.int64
        )
        self._priority = np.array(model.geom_priority, np.int64)
        self.read(model)

    def read(self, model: mujoco.MjModel) -> None:
        """Take the numbers of models with other values; ``model`` has none displaced."""
        friction = [model.geom_friction[:, 0]]
        friction += [sides[0].model.geom_friction[:, 0] for sides in self._simulators]
        self._sliding = np.ascontiguousarray(friction)
        start, bodies, changes = [0], [], []
        for kind, sides, size in zip(self.kinds, self._simulators, self._sizes, strict=True):
            if kind == INERTIAL_PARAMETER:
                ahead = sides[0].model
                behind, width = (sides[1].model, 2.0 * size) if len(sides) > 1 else (model, size)
                for body in _changed_bodies(ahead, behind):
                    first, second = (_inertia(one, model, body) for one in (ahead, behind))
                    bodies.append(body)
                    changes.append((first - second) / width)
            start.append(len(bodies))
        self._start = np.array(start, np.int64)
        self._bodies = np.array(bodies, np.int64)
        self._changes = np.array(changes, np.float64).reshape(len(bodies), 10)

    def install(self, table: Table) -> None:
        """Write the numbers into a derivative's table of parameters."""
        table.displaced_kind = self.kinds
        table.displaced_plant = self._plants
        table.geom_sliding = self._sliding
        table.geom_priority = self._priority
        table.inertial_start = self._start
        table.inertial_body = self._bodies
        table.inertial_change = self._changes


def _kind(model: mujoco.MjModel, parameter: Parameter) -> int:
    fields = changed_fields(model, parameter)
    if parameter.contact_field is None and fields <= _INERTIAS | _DERIVED:
        return INERTIAL_PARAMETER
    mixed_by_us = (
        model.npair == model.nflex == 0
        and not model.opt.enableflags & _OVERRIDE
        and bool(np.all(model.geom_condim >= 3))
        and not has_every_friction(model)
    )
    if mixed_by_us and fields <= _FRICTION:
        return CONTACT_PARAMETER
    return SIMULATED_PARAMETER


def _changed_bodies(first: mujoco.MjModel, second: mujoco.MjModel) -> np.ndarray:
    changed = np.zeros(first.nbody, bool)
    for field in _INERTIAS:
        one, other = (getattr(model, field).reshape(first.nbody, -1) for model in (first, second))
        changed |= np.any(one != other, axis=1)
    return np.flatnonzero(changed)


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def _inertia(model: mujoco.MjModel, base: mujoco.MjModel, body: int) -> np.ndarray:
    """Ten numbers of a body's inertia, about its centre of mass and in its axes in ``base``."""
    axes = _rotation(base.body_iquat[body])
    turn = axes.T @ _rotation(model.body_iquat[body])
    arm = axes.T @ (model.body_ipos[body] - base.body_ipos[body])
    mass = float(model.body_mass[body])
    matrix = turn @ np.diag(model.body_inertia[body]) @ turn.T
    matrix += mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return np.array(
        [
            *(matrix[0, 0], matrix[1, 1], matrix[2, 2]),
            *(matrix[0, 1], matrix[0, 2], matrix[1, 2]),
            *(mass * arm),
            mass,
        ]
    )
