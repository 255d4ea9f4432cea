"""Coordinates that are not functions of single joints, linear over a step.

Lengths of tendons through space, what actuators on sites, on slider-cranks and on ball and free
joints pull along, the six or three directions in which a free or ball joint has armature or dry
friction, and those in which anything acts on a vertex of a flex: of each, MuJoCo knows the value L
and the moment J = ∂L̇/∂q̇ at a configuration. Over a step they are taken as

    L(z) = L₀ + g·(z − z₀),        g = J ∂q̇/∂ż,

about the configuration to which the velocities of the step's beginning lead. Whatever acts on a
joint's coordinate (`asperity.midas.energy.joint_terms`) acts on them in the same way, implicitly.
With the moments of the step's beginning forces would be of first order, and a load that swings on a
taut string would leave its circle along the tangent, and be pulled back with a jerk. They come
after joints and fixed tendons in all tables of coordinates.
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
from asperity.midas.pose.placement import cross
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
_KINDS = range(5)
TENDON, MOTOR, DOF, LIMIT, HELD = _KINDS
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
        # Of each kind, which coordinates are of it, and of what.
        self._numbers = {
            kind: (
                np.array([i for i, one in enumerate(self.sources) if one.kind == kind], np.int64),
                np.array([one.index for one in self.sources if one.kind == kind], np.int64),
            )
            for kind in _KINDS
        }
        # Degrees of freedom of slides, which have a length.
        own, source = self._numbers[DOF]
        joint = model.dof_jntid[source]
        slides = model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_SLIDE)
        self._slides, self._slide_qpos = own[slides], model.jnt_qposadr[joint[slides]]
        self._moved = np.concatenate([self._numbers[MOTOR][0], own])
        self._bound = np.concatenate([self._numbers[LIMIT][0], self._numbers[HELD][0]])

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

    def refresh(
        self, table: Table, data: mujoco.MjData, qpos: Floats, z: Floats, q: Floats
    ) -> None:
        """Let the coordinates be those of the step from the engine's state.

        Parameters
        ----------
        table : Table
            The engine's.
        data : mujoco.MjData
            Evaluated at its state.
        qpos, z, q : ndarray
            Positions, variables and link coordinates to which the state's velocities lead.
        """
        joints = table.joints
        step, qvel = float(table.time.last_step), np.array(table.poses.qvel)
        ahead = self._ahead.at(qpos, qvel)
        present, moment = self._lengths(data)
        end, slope = self._lengths(ahead)
        # Lengths of motors and degrees of freedom may be no functions of the configuration.
        moved = self._moved
        end[moved] = present[moved] + 0.5 * step * (moment[moved] + slope[moved]) @ qvel
        slopes = self._slopes(table, slope, z, q)
        left = np.zeros(len(self.sources))
        for i in self._bound:
            left[i] = self._left(table, self.sources[i], float(present[i]))
        # Limits and equalities begin with what the step counts with, which they may not pass.
        bound = self._bound
        present[bound] = end[bound] + slopes[bound] @ (np.asarray(table.poses.z) - z)
        variables = joints.linear_variable
        rows = np.repeat(np.arange(len(self.sources)), np.diff(joints.linear_start))
        joints.linear_slope[:] = slopes[rows, variables]
        joints.linear_origin[:] = z[variables]
        joints.linear_value[:] = end - left
        value = present - left
        own = slice(self.first, None)
        if table.time.has_history:
            joints.before[own] += value - joints.value[own]
            joints.older[own] += value - joints.value[own]
        else:
            joints.rate[own] = moment @ qvel
        joints.value[own] = value

    def _lengths(self, data: mujoco.MjData) -> tuple[Floats, Floats]:
        """Lengths of all coordinates, and their moments, shape (r, nv)."""
        model, number = self._model, self._numbers
        value = np.zeros(len(self.sources))
        moment = np.zeros((len(self.sources), model.nv))
        tendons, by_tendon = data.ten_length, np.zeros((model.ntendon, model.nv))
        if model.ntendon:
            rows = model.ten_J_rownnz, model.ten_J_rowadr, model.ten_J_colind
            mujoco.mju_sparse2dense(by_tendon, data.ten_J.ravel(), *rows)
        for kind in _TENDONS:
            own, source = number[kind]
            value[own], moment[own] = tendons[source], by_tendon[source]
        own, source = number[MOTOR]
        if own.size:
            by_motor = np.zeros((len(data.actuator_length), model.nv))
            rows = data.moment_rownnz, data.moment_rowadr, data.moment_colind
            mujoco.mju_sparse2dense(by_motor, data.actuator_moment.ravel(), *rows)
            value[own], moment[own] = data.actuator_length[source], by_motor[source]
        own, source = number[DOF]
        moment[own, source] = 1.0
        value[self._slides] = data.qpos[self._slide_qpos] - model.qpos0[self._slide_qpos]
        for i, equality in zip(*number[HELD], strict=True):
            value[i], slope = self._gap(equality, data)
            one, other = _tendons_of_equality(model, equality)
            moment[i] = by_tendon[one] - (slope * by_tendon[other] if other >= 0 else 0.0)
        return value, moment

    def _left(self, table: Table, source: _Source, gap: float) -> float:
        """What a step leaves of an equality's gap, or of what is beyond a limit."""
        recovery = EQUALITY_RECOVERY
        if source.kind == LIMIT:
            low, high = tendon_ranges(self._model)[source.index]
            gap, recovery = gap - min(max(gap, float(low)), float(high)), LIMIT_RECOVERY
        if not table.time.has_history:
            return gap
        return gap * recovery / (recovery + float(table.time.last_step))

    def _gap(self, equality: int, data: mujoco.MjData) -> tuple[float, float]:
        """Gap y₁ − p(y₂) of lengths from the reference pose's [m], and the slope p′."""
        model = self._model
        one, other = _tendons_of_equality(model, equality)
        p = np.polynomial.Polynomial(model.eq_data[equality, :5])
        away = float(data.ten_length[other] - model.tendon_length0[other]) if other >= 0 else 0.0
        gap = float(data.ten_length[one] - model.tendon_length0[one]) - float(p(away))
        return gap, float(p.deriv()(away))

    def _slopes(self, table: Table, moment: Floats, z: Floats, q: Floats) -> Floats:
        """g of coordinates with the moments J at a configuration, shape (r, number of variables).

        By the velocities of rigid links: angular ones are ω·u = ½ Σ (aᵢ × ȧᵢ)·u, of the rows aᵢ of
        Aᵀ.
        """
        by_link = np.zeros((len(moment), *table.newton.link_gradient.shape))
        own = np.zeros((len(moment), len(z)))
        for i, link in enumerate(self._links.links):
            if link.is_mocap:
                continue
            dof = int(self._model.jnt_dofadr[link.joint])
            axes = q[i, 1:]
            if link.kind == SLIDE:
                own[:, table.links.variable[i]] += moment[:, dof]
                continue
            if link.kind == POINT:
                _add_vertex_slopes(q, by_link, i, link, moment[:, dof : dof + 3])
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
            by_link[:, i, 1:] += 0.5 * cross(spin, axes)
            if link.kind != FREE and link.parent >= 0:
                above = q[link.parent, 1:]
                by_link[:, link.parent, 1:] -= 0.5 * cross(spin, above)
        gradient = np.zeros_like(own)
        _carry_gradients(table, z, q, by_link, gradient)
        return own + gradient


def _add_vertex_slopes(q: Floats, by_link: Floats, index: int, link: Link, moment: Floats) -> None:
    """Add slopes by a vertex, whose slides are along axes of its holder, shape (r, 3)."""
    push = moment @ link.turn.T
    if link.holder >= 0:
        axes = q[link.holder, 1:]
        push = push @ axes
        arm = q[index, 0] - q[link.holder, 0]
        by_link[:, link.holder, 0] -= push
        by_link[:, link.holder, 1:] -= 0.5 * cross(cross(arm, push), axes)
    by_link[:, index, 0] += push


@compiled_loop(
    types.void(
        MIDAS.type,
        types.float64[::1],
        types.float64[:, :, ::1],
        types.float64[:, :, :, ::1],
        types.float64[:, ::1],
    )
)
def _carry_gradients(
    engine: Table, z: np.ndarray, q: np.ndarray, by_link: np.ndarray, out: np.ndarray
) -> None:
    """Fill gradients by variables from those by links, shape (r, n, 4, 3), at a configuration."""
    place_carries(engine.links, engine.hessian, z, q)
    for joint in range(engine.joints.slope.size):
        engine.joints.slope[joint] = 0.0
    for r in range(out.shape[0]):
        copy_poses(by_link[r], engine.newton.link_gradient)
        carry_gradient(engine, q, out[r])


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
