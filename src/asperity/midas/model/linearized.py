"""Coordinates that are not functions of single joints, linear over a step.

Lengths of tendons through space, what actuators on sites, on slider-cranks and on ball and free
joints pull along, the six or three directions in which a free or ball joint has armature or dry
friction, and those in which anything acts on a vertex of a flex: of each, MuJoCo knows the value L
and the moment J = ∂L̇/∂q̇ at a step's beginning. Over the step they are taken as

    L(z) = L₀ + g·(z − z₀),        g = J ∂q̇/∂ż,

so that whatever acts on a joint's coordinate (`asperity.midas.energy.joint_terms`) acts on them in
the same way, implicitly, with the moment of the step's beginning. They come after joints and fixed
tendons in all tables of coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numba import types
from numpy.typing import NDArray

from asperity.compiled import Table, compiled_loop
from asperity.contact.constraint_laws import EQUALITY_RECOVERY, LIMIT_RECOVERY
from asperity.midas.energy.tree_assembly import carry_gradient, place_carries
from asperity.midas.engine_layout import BALL, FREE, HINGE, MIDAS, POINT, SLIDE
from asperity.midas.model.joint_numbers import joint_links, scalar_links
from asperity.midas.model.links import Link, Links, variable_count
from asperity.midas.model.motors import motor_actuators
from asperity.midas.model.tendons import fixed_tendons
from asperity.midas.pose.link_kinematics import copy_poses
from asperity.midas.pose.reduced_evaluation import ReducedEvaluation
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.limits import tendon_ranges
from asperity.plant.model.own_options import OwnOptions

__all__ = [
    "DOF",
    "HELD",
    "LIMIT",
    "LINEARIZED_KERNELS",
    "MOTOR",
    "TENDON",
    "LinearizedCoordinates",
]

Floats = NDArray[np.float64]

# What a coordinate is the length of; of a tendon that has a limit, what this acts on; of an
# equality of tendons, its gap. Of gaps, and of what is beyond a limit, a part is left for later.
TENDON, MOTOR, DOF, LIMIT, HELD = range(5)
_TENDONS = (TENDON, LIMIT)

_FLAG = mujoco.mjtDisableBit
_TRN = mujoco.mjtTrn
_JOINTS = (int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT))


@dataclass(frozen=True)
class _Source:
    kind: int
    index: int
    """Tendon, motor, degree of freedom or equality."""


class LinearizedCoordinates:
    """The coordinates of a model that are linear over a step only.

    Parameters
    ----------
    model : mujoco.MjModel
    links : Links
    options : OwnOptions
        The model's.
    """

    def __init__(self, model: mujoco.MjModel, links: Links, options: OwnOptions) -> None:
        self._model, self._links = model, links
        self._evaluation = ReducedEvaluation(model, options)
        self._ahead = ReducedEvaluation(model, options)
        self.sources = _sources(model, links.links)
        self.first = len(scalar_links(links.links)) + len(fixed_tendons(model))

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self.sources)

    def of_motor(self, motor: int) -> int:
        """Number of a motor's own coordinate among all."""
        return self.first + self.sources.index(_Source(MOTOR, motor))

    def of_equality(self, equality: int) -> int | None:
        """Number of the coordinate that is an equality's gap, if it has one."""
        return self._number(_Source(HELD, equality))

    def of_limit(self, tendon: int) -> int | None:
        """Number of the coordinate on which the limit of a tendon through space acts."""
        return self._number(_Source(LIMIT, tendon))

    def _number(self, source: _Source) -> int | None:
        return self.first + self.sources.index(source) if source in self.sources else None

    def tables(self) -> dict[str, NDArray[np.generic]]:
        """Fields of `JOINTS` for linearized coordinates."""
        reach = [self._moved_by(source) for source in self.sources]
        starts = np.cumsum([0, *[len(_variables(self._links.links, own)) for own in reach]])
        variables = [_variables(self._links.links, own) for own in reach]
        size = int(starts[-1])
        return {
            "linear_start": starts.astype(np.int64),
            "linear_variable": np.concatenate([np.zeros(0, np.int64), *variables]),
            "linear_slope": np.zeros(size),
            "linear_origin": np.zeros(size),
            "linear_value": np.zeros(len(self.sources)),
        }

    def coupled_links(self) -> list[tuple[int, int]]:
        """Pairs of links that coordinates couple, beside those that one carries the other."""
        pairs = set()
        for source in self.sources:
            own = self._moved_by(source)
            pairs |= {(a, b) for a in own for b in own if a < b}
        return sorted(pairs)

    def _moved_by(self, source: _Source) -> list[int]:
        """Links whose own variables a coordinate may depend on, with all that carry them."""
        links = self._links
        found: set[int] = set()
        for tip in self._tips(source):
            link = tip
            while 0 <= link < len(links.links):
                found.add(link)
                # A joint of a vertex is between it and its holder.
                link = max(links.links[link].parent, links.links[link].holder)
        return sorted(found)

    def _tips(self, source: _Source) -> set[int]:
        """The last of these links."""
        model, links = self._model, self._links
        joints: set[int] = set()
        if source.kind == DOF:
            joints = {int(model.dof_jntid[source.index])}
        elif source.kind in _TENDONS:
            joints = _joints_of_tendon(model, source.index)
        elif source.kind == HELD:
            for tendon in _tendons_of_equality(model, source.index):
                joints |= _joints_of_tendon(model, tendon) if tendon >= 0 else set()
        else:
            actuator = motor_actuators(model)[source.index]
            kind = int(model.actuator_trntype[actuator])
            one, other = (int(target) for target in model.actuator_trnid[actuator])
            if kind == int(_TRN.mjTRN_TENDON):
                joints = _joints_of_tendon(model, one)
            elif kind in _JOINTS or (kind == int(_TRN.mjTRN_SO3) and other < 0):
                joints = {one}
            elif kind != int(_TRN.mjTRN_BODY):  # which presses by contacts (`energy.adhesion`)
                sites = [site for site in (one, other) if site >= 0]
                return {int(links.body_link[model.site_bodyid[site]]) for site in sites}
        of_joint = joint_links(links.links)
        return {of_joint[joint] for joint in joints if joint in of_joint}

    # -- every step --------------------------------------------------------------------------------

    def evaluate(self, qpos: Floats, qvel: Floats) -> mujoco.MjData:
        """Lengths, moments and rates at a state, in data of its own."""
        return self._evaluation.at(qpos, qvel)

    def refresh(self, table: Table, data: mujoco.MjData) -> None:
        """Let the coordinates be those of the engine's state, which ``data`` was evaluated at."""
        joints = table.joints
        if not self.sources:
            return
        value = np.array([self._value(source, data) for source in self.sources])
        moment = np.stack([self._moment(source, data) for source in self.sources])
        left = np.array(
            [self._left(table, source, y) for source, y in zip(self.sources, value, strict=True)]
        )
        self._look_ahead(table, value, moment)
        value -= left
        slopes = self._slopes(table, moment)
        for i in range(len(self.sources)):
            own = slice(int(joints.linear_start[i]), int(joints.linear_start[i + 1]))
            variables = joints.linear_variable[own]
            joints.linear_slope[own] = slopes[i, variables]
            joints.linear_origin[own] = table.poses.z[variables]
        joints.linear_value[:] = value
        own = slice(self.first, None)
        if table.time.has_history:
            joints.before[own] += value - joints.value[own]
            joints.older[own] += value - joints.value[own]
        else:
            joints.rate[own] = moment @ np.asarray(table.poses.qvel)
        joints.value[own] = value

    def _look_ahead(self, table: Table, value: Floats, moment: Floats) -> None:
        """Let what limits and equalities act on be linear about where the state leads in a step.

        A load that swings on a taut string would leave its circle along the tangent, and be pulled
        back with a jerk.
        """
        own = [i for i, source in enumerate(self.sources) if source.kind in (LIMIT, HELD)]
        if not own:
            return
        qpos, qvel = np.array(table.poses.qpos), np.array(table.poses.qvel)
        mujoco.mj_integratePos(self._model, qpos, qvel, float(table.time.last_step))
        data = self._ahead.at(qpos, qvel)
        for i in own:
            moment[i] = self._moment(self.sources[i], data)
            length = self._value(self.sources[i], data)
            value[i] = length - float(table.time.last_step) * float(moment[i] @ qvel)

    def _left(self, table: Table, source: _Source, value: float) -> float:
        """What a step leaves of an equality's gap, or of what is beyond a limit."""
        gap, recovery = value, EQUALITY_RECOVERY
        if source.kind == LIMIT:
            low, high = tendon_ranges(self._model)[source.index]
            gap, recovery = value - min(max(value, float(low)), float(high)), LIMIT_RECOVERY
        elif source.kind != HELD:
            return 0.0
        if not table.time.has_history:
            return gap
        return gap * recovery / (recovery + float(table.time.last_step))

    def _value(self, source: _Source, data: mujoco.MjData) -> float:
        if source.kind in _TENDONS:
            return float(data.ten_length[source.index])
        if source.kind == HELD:
            return self._gap(source.index, data)[0]
        if source.kind == MOTOR:
            return float(data.actuator_length[source.index])
        joint = int(self._model.dof_jntid[source.index])
        if int(self._model.jnt_type[joint]) != int(mujoco.mjtJoint.mjJNT_SLIDE):
            return 0.0
        at = int(self._model.jnt_qposadr[joint])
        return float(data.qpos[at] - self._model.qpos0[at])

    def _moment(self, source: _Source, data: mujoco.MjData) -> Floats:
        model = self._model
        row = np.zeros(model.nv)
        if source.kind == DOF:
            row[source.index] = 1.0
        elif source.kind in _TENDONS:
            self._add_tendon(row, source.index, 1.0, data)
        elif source.kind == HELD:
            _, slope = self._gap(source.index, data)
            one, other = _tendons_of_equality(model, source.index)
            self._add_tendon(row, one, 1.0, data)
            if other >= 0:
                self._add_tendon(row, other, -slope, data)
        else:
            start = int(data.moment_rowadr[source.index])
            own = slice(start, start + int(data.moment_rownnz[source.index]))
            row[data.moment_colind[own]] = data.actuator_moment.ravel()[own]
        return row

    def _add_tendon(self, row: Floats, tendon: int, weight: float, data: mujoco.MjData) -> None:
        model = self._model
        start = int(model.ten_J_rowadr[tendon])
        own = slice(start, start + int(model.ten_J_rownnz[tendon]))
        row[model.ten_J_colind[own]] += weight * data.ten_J.ravel()[own]

    def _gap(self, equality: int, data: mujoco.MjData) -> tuple[float, float]:
        """Gap y₁ − p(y₂) of lengths from the reference pose's [m], and the slope p′."""
        model = self._model
        one, other = _tendons_of_equality(model, equality)
        p = np.polynomial.Polynomial(model.eq_data[equality, :5])
        away = float(data.ten_length[other] - model.tendon_length0[other]) if other >= 0 else 0.0
        gap = float(data.ten_length[one] - model.tendon_length0[one]) - float(p(away))
        return gap, float(p.deriv()(away))

    def _slopes(self, table: Table, moment: Floats) -> Floats:
        """g of coordinates with the moments J, shape (r, number of variables).

        By the velocities of rigid links: angular ones are ω·u = ½ Σ (aᵢ × ȧᵢ)·u, of the rows aᵢ of
        Aᵀ.
        """
        by_link = np.zeros((len(moment), *table.newton.link_gradient.shape))
        own = np.zeros((len(moment), len(table.poses.z)))
        for i, link in enumerate(self._links.links):
            if link.is_mocap:
                continue
            dof = int(self._model.jnt_dofadr[link.joint])
            axes = np.asarray(table.poses.q[i, 1:])
            if link.kind == SLIDE:
                own[:, table.links.variable[i]] += moment[:, dof]
                continue
            if link.kind == POINT:
                _add_vertex_slopes(table, by_link, i, link, moment[:, dof : dof + 3])
                continue
            if link.kind == FREE:
                by_link[:, i] += np.einsum(
                    "j,rk->rjk", np.append(1.0, -link.centre), moment[:, dof : dof + 3]
                )
                spin = moment[:, dof + 3 : dof + 6] @ axes
            elif link.kind == BALL:
                spin = moment[:, dof : dof + 3] @ axes
            else:
                spin = np.outer(moment[:, dof], link.axis @ axes)
            if not np.any(spin):
                continue
            by_link[:, i, 1:] += 0.5 * np.cross(spin[:, None], axes[None])
            if link.kind != FREE and link.parent >= 0:
                above = np.asarray(table.poses.q[link.parent, 1:])
                by_link[:, link.parent, 1:] -= 0.5 * np.cross(spin[:, None], above[None])
        gradient = np.zeros_like(own)
        _carry_gradients(table, by_link, gradient)
        return own + gradient


def _add_vertex_slopes(
    table: Table, by_link: Floats, index: int, link: Link, moment: Floats
) -> None:
    """Add slopes by a vertex, whose slides are along axes of its holder, shape (r, 3)."""
    push = moment @ link.turn.T
    if link.holder >= 0:
        axes = np.asarray(table.poses.q[link.holder, 1:])
        push = push @ axes
        arm = table.poses.q[index, 0] - table.poses.q[link.holder, 0]
        by_link[:, link.holder, 0] -= push
        by_link[:, link.holder, 1:] -= 0.5 * np.cross(np.cross(arm, push)[:, None], axes[None])
    by_link[:, index, 0] += push


@compiled_loop(types.void(MIDAS.type, types.float64[:, :, :, ::1], types.float64[:, ::1]))
def _carry_gradients(engine: Table, by_link: np.ndarray, out: np.ndarray) -> None:
    """Fill gradients by variables from those by links, shape (r, n, 4, 3), at the present state."""
    place_carries(engine.links, engine.hessian, engine.poses.z, engine.poses.q)
    for joint in range(engine.joints.slope.size):
        engine.joints.slope[joint] = 0.0
    for r in range(out.shape[0]):
        copy_poses(by_link[r], engine.newton.link_gradient)
        carry_gradient(engine, engine.poses.q, out[r])


LINEARIZED_KERNELS = (_carry_gradients,)
"""What `LinearizedCoordinates` needs compiled."""


def _sources(model: mujoco.MjModel, links: list[Link]) -> list[_Source]:
    fixed = fixed_tendons(model)
    found = [
        _Source(TENDON, tendon)
        for tendon in range(model.ntendon)
        if tendon not in fixed and _pulls(model, tendon)
    ]
    if not is_disabled(model, _FLAG.mjDSBL_LIMIT | _FLAG.mjDSBL_CONSTRAINT):
        found += [
            _Source(LIMIT, tendon)
            for tendon in range(model.ntendon)
            if tendon not in fixed and model.tendon_limited[tendon]
        ]
    found += [_Source(HELD, i) for i in range(model.neq) if _is_through_space(model, i, fixed)]
    kinds = {joint: links[link].kind for joint, link in joint_links(links).items()}
    for motor, i in enumerate(motor_actuators(model)):
        target, kind = int(model.actuator_trnid[i, 0]), int(model.actuator_trntype[i])
        if kind in _JOINTS and kinds.get(target) in (HINGE, SLIDE):
            continue
        if kind == int(_TRN.mjTRN_TENDON) and target in fixed:
            continue
        found.append(_Source(MOTOR, motor))
    for dof in range(model.nv):
        joint = int(model.dof_jntid[dof])
        acts = model.dof_armature[dof] or model.dof_frictionloss[dof]
        if kinds.get(joint) == POINT:
            acts = acts or model.dof_damping[dof] or model.jnt_stiffness[joint]
            acts = acts or np.any(model.dof_dampingpoly[dof])
            acts = acts or np.any(model.jnt_stiffnesspoly[joint])
        if kinds.get(joint) in (FREE, BALL, POINT) and acts:
            found.append(_Source(DOF, dof))
    return found


def _is_through_space(model: mujoco.MjModel, equality: int, fixed: list[int]) -> bool:
    """Whether an equality is one of tendons of which one at least runs through space."""
    if int(model.eq_type[equality]) != int(mujoco.mjtEq.mjEQ_TENDON):
        return False
    return any(i >= 0 and i not in fixed for i in _tendons_of_equality(model, equality))


def _tendons_of_equality(model: mujoco.MjModel, equality: int) -> tuple[int, int]:
    """Tendons of an equality; the second may be −1."""
    return int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])


def _pulls(model: mujoco.MjModel, tendon: int) -> bool:
    """Whether a tendon does anything of its own but be measured."""
    return bool(
        model.tendon_stiffness[tendon]
        or model.tendon_damping[tendon]
        or np.any(model.tendon_stiffnesspoly[tendon])
        or np.any(model.tendon_dampingpoly[tendon])
        or model.tendon_frictionloss[tendon]
        or model.tendon_armature[tendon]
    )


def _joints_of_tendon(model: mujoco.MjModel, tendon: int) -> set[int]:
    """Joints that a tendon's length depends on."""
    start = int(model.ten_J_rowadr[tendon])
    dofs = model.ten_J_colind[start : start + int(model.ten_J_rownnz[tendon])]
    return set(map(int, model.dof_jntid[dofs]))


def _variables(links: list[Link], own: list[int]) -> NDArray[np.int64]:
    """Variables of some links."""
    first = np.concatenate([[0], np.cumsum([variable_count(link.kind) for link in links])])
    parts = [np.arange(first[i], first[i + 1]) for i in own]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
