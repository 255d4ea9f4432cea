"""What acts on scalar coordinates: of hinges and slides, fixed tendons, and linearized ones."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, fields

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.contact.constraint_laws import NEAR_RIGID_PERIOD
from asperity.midas.engine_layout import HINGE, SLIDE
from asperity.midas.model.joint_numbers import scalar_links
from asperity.midas.model.linearized import DOF, LIMIT, TENDON, LinearizedCoordinates
from asperity.midas.model.links import Link
from asperity.midas.model.motors import motor_actuators
from asperity.midas.model.tendons import fixed_tendons
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.limits import joint_ranges, tendon_ranges
from asperity.plant.model.own_texts import velocity_limits

__all__ = ["add_actuators", "coordinate_tables"]

Floats = NDArray[np.float64]

_FLAG = mujoco.mjtDisableBit

# Distance from a limit at which its barrier begins, in rad and in m, and as a part of the range.
_ACTIVATION = {HINGE: 1e-2, SLIDE: 1e-3}
_RANGE_SHARE = 1e-2
# Force or torque [N or N m] that halves that distance, at least.
_LEAST_FORCE = 1.0
# Square of the frequency of a mass on a tendon at its limit [1/s²]: its weight stretches it by a
# tenth of a micrometre. A barrier could be passed, since the length is linear over a step only.
_TAUT = 1e8
# Inertia that resists a rate beyond its limit, in inertias of the joint: with it a step leaves as
# much as with the convex methods' near-rigid rows (`asperity.convex.potentials.rows`).
_BRAKE = (2.0 * np.pi / NEAR_RIGID_PERIOD) ** 2 * (1.0 + NEAR_RIGID_PERIOD / np.pi)


@dataclass
class _Coordinate:
    """Fields of `JOINTS` for one coordinate."""

    reference: float = 0.0
    limit: Floats | tuple[float, float] = (-np.inf, np.inf)
    activation: float = 1.0
    barrier: float = 0.0
    speed: float = np.inf
    brake: float = 0.0
    spring: Floats | tuple[float, float] = (0.0, 0.0)
    stiffness: float = 0.0
    damping: float = 0.0
    spring_curve: Floats | tuple[float, float] = (0.0, 0.0)
    damper_curve: Floats | tuple[float, float] = (0.0, 0.0)
    armature: float = 0.0
    friction: float = 0.0

    def add_limit(self, model: mujoco.MjModel, ends: Floats, widest: float) -> None:
        """Let there be a limit, with a barrier that is at most so wide."""
        self.limit = ends - self.reference
        self.activation = min(widest, _RANGE_SHARE * float(np.ptp(ends)))
        # A slide may have to carry the weight of everything, a hinge that at a metre's distance.
        self.barrier = max(9.81 * float(model.body_subtreemass[0]), _LEAST_FORCE)


class _Reader:
    """Coordinates of a model, with what its options leave of them."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model
        self.speed = velocity_limits(model)
        self.joint_ranges, self.tendon_ranges = joint_ranges(model), tendon_ranges(model)
        self.limits = not is_disabled(model, _FLAG.mjDSBL_LIMIT | _FLAG.mjDSBL_CONSTRAINT)
        self.springs = not is_disabled(model, _FLAG.mjDSBL_SPRING)
        self.dampers = not is_disabled(model, _FLAG.mjDSBL_DAMPER)
        self.dry = not is_disabled(model, _FLAG.mjDSBL_FRICTIONLOSS | _FLAG.mjDSBL_CONSTRAINT)

    def of_joint(self, joint: int, kind: int, unlimited: Container[int]) -> _Coordinate:
        model = self.model
        at, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        own = _Coordinate(float(model.qpos0[at]), armature=float(model.dof_armature[dof]))
        own.spring = np.full(2, model.qpos_spring[at] - own.reference)
        own.stiffness = self.springs * _first(model.jnt_stiffness[joint])
        own.damping = self.dampers * _first(model.dof_damping[dof])
        own.spring_curve = self.springs * model.jnt_stiffnesspoly[joint]
        own.damper_curve = self.dampers * model.dof_dampingpoly[dof]
        own.friction = self.dry * float(model.dof_frictionloss[dof])
        if model.jnt_limited[joint] and self.limits and joint not in unlimited:
            own.add_limit(model, self.joint_ranges[joint], _ACTIVATION[kind])
        if np.isfinite(self.speed[joint]) and self.limits:
            own.speed = float(self.speed[joint])
            own.brake = _BRAKE / max(float(model.dof_invweight0[dof]), 1e-9)
        return own

    def of_tendon(self, tendon: int, reference: float = 0.0) -> _Coordinate:
        """A tendon's length, but for its limits."""
        model = self.model
        return _Coordinate(
            reference,
            spring=model.tendon_lengthspring[tendon] - reference,
            stiffness=self.springs * _first(model.tendon_stiffness[tendon]),
            damping=self.dampers * _first(model.tendon_damping[tendon]),
            spring_curve=self.springs * model.tendon_stiffnesspoly[tendon],
            damper_curve=self.dampers * model.tendon_dampingpoly[tendon],
            armature=float(model.tendon_armature[tendon]),
            friction=self.dry * float(model.tendon_frictionloss[tendon]),
        )

    def of_fixed_tendon(self, tendon: int, held: Container[int]) -> _Coordinate:
        model = self.model
        first = int(model.tendon_adr[tendon])
        wraps = slice(first, first + int(model.tendon_num[tendon]))
        at = model.jnt_qposadr[model.wrap_objid[wraps]]
        own = self.of_tendon(tendon, float(model.wrap_prm[wraps] @ model.qpos0[at]))
        if model.tendon_limited[tendon] and self.limits and tendon not in held:
            own.add_limit(model, self.tendon_ranges[tendon], _ACTIVATION[SLIDE])
        return own

    def of_source(self, kind: int, index: int) -> _Coordinate:
        """What is linearized."""
        model = self.model
        if kind == TENDON:
            return self.of_tendon(index)
        if kind == LIMIT:
            stiffness = _TAUT / max(float(model.tendon_invweight0[index]), 1e-9)
            return _Coordinate(spring=self.tendon_ranges[index], stiffness=stiffness)
        if kind == DOF:
            joint = int(model.dof_jntid[index])
            if int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE):
                # Of a vertex of a flex.
                return self.of_joint(joint, SLIDE, (joint,))
            friction = self.dry * float(model.dof_frictionloss[index])
            return _Coordinate(armature=float(model.dof_armature[index]), friction=friction)
        return _Coordinate()


def _first(value: np.ndarray) -> float:
    return float(np.ravel(value)[0])


def coordinate_tables(
    model: mujoco.MjModel,
    links: list[Link],
    linearized: LinearizedCoordinates,
    unlimited: Container[int],
    held: Container[int],
) -> dict[str, NDArray[np.generic]]:
    """Fields of `JOINTS`; limits of some joints do not count, nor those of tendons that are held.

    Inertia and damping of actuators are not in them yet.
    """
    reader = _Reader(model)
    scalar = [links[i] for i in scalar_links(links)]
    every = [reader.of_joint(link.joint, link.kind, unlimited) for link in scalar]
    every += [reader.of_fixed_tendon(tendon, held) for tendon in fixed_tendons(model)]
    every += [reader.of_source(source.kind, source.index) for source in linearized.sources]
    frames = np.zeros((len(scalar), 3, 3))
    for k, link in enumerate(scalar):
        one, other = link.axes_across
        frames[k] = [one, link.turn @ one, link.turn @ other]
    tables = {
        field.name: np.array([getattr(one, field.name) for one in every], dtype=np.float64)
        for field in fields(_Coordinate)
    }
    joints = [link.joint for link in scalar]
    return {
        **tables,
        "limit": tables["limit"].reshape(-1, 2),
        "spring": tables["spring"].reshape(-1, 2),
        "spring_curve": tables["spring_curve"].reshape(-1, 2),
        "damper_curve": tables["damper_curve"].reshape(-1, 2),
        "link": np.array(scalar_links(links), dtype=np.int64),
        "qpos": np.array(model.jnt_qposadr[joints], dtype=np.int64),
        "dof": np.array(model.jnt_dofadr[joints], dtype=np.int64),
        "frame": frames,
        **linearized.tables(),
    }


def add_actuators(
    model: mujoco.MjModel,
    joints: dict[str, NDArray[np.generic]],
    coordinates: NDArray[np.int64],
    gears: Floats,
) -> None:
    """Add inertia and damping of actuators to those of their coordinates."""
    owner, square = motor_actuators(model), gears**2
    np.add.at(joints["armature"], coordinates, square * model.actuator_armature[owner])
    if not is_disabled(model, _FLAG.mjDSBL_DAMPER):
        damping = np.array([_first(model.actuator_damping[i]) for i in owner], dtype=np.float64)
        np.add.at(joints["damping"], coordinates, square * damping)
        # As in MuJoCo, by the square of the gear and speeds of the coordinate.
        curve = square[:, None] * model.actuator_dampingpoly[owner]
        np.add.at(joints["damper_curve"], coordinates, curve)
