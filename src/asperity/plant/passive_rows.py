"""Springs and dampers of tendons, nonlinear joints, muscles and fluids, as they change in a step.

MuJoCo's passive forces are those of a step's beginning, which make stiff ones gain energy without
bounds. A ``PASSIVE`` row adds what its force f(c, ċ) changes by within the step,

    −k (c⁺ − c) − b (ċ⁺ − ċ),      k = −∂f/∂c ≥ 0,      b = −∂f/∂ċ ≥ 0.

It does nothing to the order of a method: k and b may be any numbers (linearly implicit methods
without exact Jacobians; Steihaug & Wolfbrandt, Math. Comp. 33, 1979). Linear springs and dampers of
joints are no rows: they are part of the step's matrix.

A spring with play (two lengths of rest) has k = 0 within it. Steps that run through the play would
not feel it, nor would the error estimate. So its row pushes one way, and from its end on.

A body in a fluid has six rows, along and about the axes of its equivalent box, or of each of the
ellipsoids that stand for its geoms. Their b are of MuJoCo's viscous and quadratic drag. Its lift,
Magnus force and added mass stay those of the beginning. A muscle at the limit of its force has no
row, nor does what an external system commands.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.constraint_set import NO_LIMIT, PASSIVE
from asperity.plant.constraints import add_row
from asperity.plant.model.armature import through_gears
from asperity.plant.model.joints import JOINT_DOFS, JOINT_KINDS, integers, is_disabled
from asperity.plant.model.model_view import remembered
from asperity.plant.model.servos import force_limits, is_switched_off
from asperity.plant.muscles import muscle_curves, muscle_slopes
from asperity.plant.plant_layouts import EVALUATED, ROWS_FULL
from asperity.plant.rotations import between

__all__ = ["add_passive_rows", "has_fluid", "set_passive"]

_FULL = -1
# Columns of the numbers of a spring and damper.
_LOWER, _UPPER, _SPRING, _DAMPER = 0, 1, 2, 5
_NUMBERS = 8
_LEAST = 1e-15  # MuJoCo's mjMINVAL


@remembered
def set_passive(table: Table, model: mujoco.MjModel) -> None:
    """Fill the table of what has passive rows."""
    passive = table.passive
    passive.tendon, passive.tendon_numbers = _of_tendons(model)
    passive.tendon_weight = np.array(model.tendon_invweight0[passive.tendon])
    passive.dof, passive.dof_qpos, passive.dof_numbers = _of_joints(model)
    moving = (model.body_mass >= _LEAST) & (model.body_weldid > 0) & has_fluid(model)
    drags = [drag for body in np.flatnonzero(moving).tolist() for drag in _drags(model, body)]
    passive.drag_body = np.array([body for body, _, _ in drags], np.int64)
    passive.drag_geom = np.array([geom for _, geom, _ in drags], np.int64)
    passive.drag_numbers = np.array([numbers for _, _, numbers in drags]).reshape(len(drags), 6)
    option = model.opt
    passive.medium = np.array([option.density, option.viscosity, *option.wind], np.float64)
    _set_muscles(table, model)


@remembered
def _set_muscles(table: Table, model: mujoco.MjModel) -> None:
    passive = table.passive
    curves = [muscle_curves(model, i) for i in range(model.nactuator)]
    muscles = [i for i, own in enumerate(curves) if own.any() and not is_switched_off(model, i)]
    last = model.actuator_actadr[muscles] + model.actuator_actnum[muscles] - 1
    passive.muscle_output = integers(model.actuator_outadr[muscles])
    passive.muscle_activation = integers(np.where(model.actuator_actnum[muscles] > 0, last, -1))
    passive.muscle_control = integers(model.actuator_ctrladr[muscles])
    passive.muscle_curves = np.array([curves[i] for i in muscles]).reshape(-1, 2, 8)
    passive.muscle_range = np.array([force_limits(model, i) for i in muscles]).reshape(-1, 2)


def has_fluid(model: mujoco.MjModel) -> bool:
    return bool(model.opt.density > 0.0 or model.opt.viscosity > 0.0)


def _actuator_dampers(model: mujoco.MjModel, kinds: tuple[int, ...], count: int) -> np.ndarray:
    """b, b_1, b_2 that actuators add to the dampers of joints or tendons."""
    own = np.column_stack([model.actuator_damping, model.actuator_dampingpoly])
    return through_gears(model, kinds, own, count)


@remembered
def _of_tendons(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.zeros((model.ntendon, _NUMBERS))
    if not is_disabled(model, mujoco.mjtDisableBit.mjDSBL_SPRING):
        numbers[:, _LOWER:_SPRING] = model.tendon_lengthspring
        numbers[:, _SPRING] = model.tendon_stiffness
        numbers[:, _SPRING + 1 : _DAMPER] = model.tendon_stiffnesspoly
    if not is_disabled(model, mujoco.mjtDisableBit.mjDSBL_DAMPER):
        kinds = (int(mujoco.mjtTrn.mjTRN_TENDON),)
        numbers[:, _DAMPER] = model.tendon_damping
        numbers[:, _DAMPER + 1 :] = model.tendon_dampingpoly
        numbers[:, _DAMPER:] += _actuator_dampers(model, kinds, model.ntendon)
    some = np.flatnonzero(np.any(numbers[:, _SPRING:], axis=1))
    # A spring with play has a row that pushes one way, its damper another one.
    play = (numbers[:, _LOWER] < numbers[:, _UPPER]) & np.any(numbers[:, _SPRING:_DAMPER], axis=1)
    both = np.flatnonzero(play & np.any(numbers[:, _DAMPER:], axis=1))
    dampers = numbers[both]
    numbers[both, _DAMPER:] = 0.0
    dampers[:, _SPRING:_DAMPER] = 0.0
    return np.concatenate([some, both]), np.concatenate([numbers[some], dampers])


@remembered
def _of_joints(model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of dofs, what the matrix of a step does not have; springs of balls stay explicit."""
    numbers = np.zeros((model.nv, _NUMBERS))
    qpos = np.full(model.nv, -1)
    if not is_disabled(model, mujoco.mjtDisableBit.mjDSBL_SPRING):
        for joint in range(model.njnt):
            if int(model.jnt_type[joint]) not in JOINT_DOFS:
                dof = model.jnt_dofadr[joint]
                qpos[dof] = model.jnt_qposadr[joint]
                numbers[dof, _LOWER:_SPRING] = model.qpos_spring[qpos[dof]]
                numbers[dof, _SPRING + 1 : _DAMPER] = model.jnt_stiffnesspoly[joint]
    if not is_disabled(model, mujoco.mjtDisableBit.mjDSBL_DAMPER):
        numbers[:, _DAMPER + 1 :] = model.dof_dampingpoly
        numbers[:, _DAMPER:] += _actuator_dampers(model, JOINT_KINDS, model.njnt)[model.dof_jntid]
    some = np.flatnonzero(np.any(numbers[:, _SPRING:], axis=1))
    return some, integers(qpos[some]), numbers[some]


def _drags(model: mujoco.MjModel, body: int) -> list[tuple[int, int, list[float]]]:
    """Body, geom (−1: the equivalent box), and lengths with the coefficients of drag."""
    first = model.body_geomadr[body]
    geoms = [
        geom
        for geom in range(first, first + model.body_geomnum[body])
        if model.geom_fluid[geom, 0] > 0.0
    ]
    if not geoms:
        inertia, mass = model.body_inertia[body], model.body_mass[body]
        squares = np.maximum(inertia.sum() - 2.0 * inertia, _LEAST) / mass * 6.0
        return [(body, -1, [*np.sqrt(squares), 0.0, 0.0, 0.0])]
    kind = mujoco.mjtGeom
    drags = []
    for geom in geoms:
        r, half, _ = axes = model.geom_size[geom]
        if model.geom_type[geom] == kind.mjGEOM_SPHERE:
            axes = (r, r, r)
        elif model.geom_type[geom] == kind.mjGEOM_CAPSULE:
            axes = (r, r, r + half)
        elif model.geom_type[geom] == kind.mjGEOM_CYLINDER:
            axes = (r, r, half)
        drags.append((body, geom, [*axes, *model.geom_fluid[geom, 1:4]]))
    return drags


@compiled
def _complete(state: Table, row: int, stiffness: float, damping: float) -> None:
    rows = state.rows
    rows.force[row] = 0.0
    rows.proportional[row] = max(stiffness, 0.0)
    rows.derivative[row] = max(damping, 0.0)
    rows.lower[row] = -NO_LIMIT
    rows.upper[row] = NO_LIMIT


@compiled
def _slope(numbers: np.ndarray, first: int, x: float) -> float:
    """Derivative of x (k + k_1 x + k_2 x²)."""
    return numbers[first] + x * (2.0 * numbers[first + 1] + 3.0 * x * numbers[first + 2])


@compiled
def _stretch(numbers: np.ndarray, extent: float) -> float:
    return max(extent - numbers[_UPPER], 0.0) + min(extent - numbers[_LOWER], 0.0)


@compiled
def _push_one_way(state: Table, row: int, numbers: np.ndarray, length: float, speed: float) -> None:
    """Bound the row of a spring with play, so that both together are −k max(c⁺ − upper, 0).

    That is for a tendon that is stretched or grows; one that is short or shrinks has the same with
    its other end.
    """
    rows = state.rows
    lower, upper = numbers[_LOWER], numbers[_UPPER]
    stretch = _stretch(numbers, length)
    force = stretch * (
        numbers[_SPRING] + stretch * (numbers[_SPRING + 1] + stretch * numbers[_SPRING + 2])
    )
    if stretch > 0.0 or (stretch == 0.0 and speed > 0.0):
        rows.upper[row] = force
        rows.force[row] = rows.proportional[row] * max(upper - length, 0.0)
    else:
        rows.lower[row] = force
        rows.force[row] = rows.proportional[row] * min(lower - length, 0.0)


@compiled
def _add_tendons(plant: Table, state: Table) -> int:
    """Rows of tendons; those of more than two trees stay explicit."""
    tendons = plant.tendons
    dense = state.work.dof_row
    for k in range(plant.passive.tendon.size):
        tendon = plant.passive.tendon[k]
        numbers = plant.passive.tendon_numbers[k]
        speed = 0.0
        first = tendons.rowadr[tendon]
        if tendons.rownnz[tendon] == 0:
            continue
        for e in range(first, first + tendons.rownnz[tendon]):
            dense[tendons.colind[e]] = state.mj_ten_jacobian[e]
            speed += state.mj_ten_jacobian[e] * state.qvel[tendons.colind[e]]
        row = add_row(plant, state, PASSIVE, -1, tendons.colind[first])
        if row == _FULL:
            return ROWS_FULL
        if row < 0:
            continue
        length = state.mj_ten_length[tendon]
        stiffness = _slope(numbers, _SPRING, _stretch(numbers, length))
        _complete(state, row, stiffness, _slope(numbers, _DAMPER, abs(speed)))
        if stiffness > 0.0 and numbers[_LOWER] < numbers[_UPPER]:
            _push_one_way(state, row, numbers, length, speed)
        weight = plant.passive.tendon_weight[k]
        state.rows.inverse_mass[row] = max(state.rows.inverse_mass[row], weight)
    return EVALUATED


@compiled
def _add_dofs(plant: Table, state: Table) -> int:
    for k in range(plant.passive.dof.size):
        dof = plant.passive.dof[k]
        numbers = plant.passive.dof_numbers[k]
        state.work.dof_row[dof] = 1.0
        row = add_row(plant, state, PASSIVE, -1, dof)
        if row < 0:
            return ROWS_FULL
        stiffness = 0.0
        at = plant.passive.dof_qpos[k]
        if at >= 0:
            stiffness = _slope(numbers, _SPRING, _stretch(numbers, state.qpos[at]))
        _complete(state, row, stiffness, _slope(numbers, _DAMPER, abs(state.qvel[dof])))
    return EVALUATED


@compiled
def _add_muscles(plant: Table, state: Table) -> int:
    """Rows of muscles; those across more than two trees stay explicit."""
    passive = plant.passive
    for k in range(passive.muscle_output.size):
        o = passive.muscle_output[k]
        limits = passive.muscle_range[k]
        free = limits[0] < state.mj_actuator_force[o] < limits[1]
        if plant.actuators.output_explicit[o] == 0 or not free:
            continue
        at = passive.muscle_activation[k]
        activation = state.act[at] if at >= 0 else state.mj_ctrl[passive.muscle_control[k]]
        extent, speed = state.mj_actuator_length[o], state.mj_actuator_velocity[o]
        stiffness, damping = muscle_slopes(passive.muscle_curves[k], extent, speed, activation)
        if (stiffness <= 0.0 and damping <= 0.0) or state.mj_moment_rownnz[o] == 0:
            continue
        first = state.mj_moment_rowadr[o]
        for e in range(first, first + state.mj_moment_rownnz[o]):
            state.work.dof_row[state.mj_moment_colind[e]] += state.mj_actuator_moment[e]
        row = add_row(plant, state, PASSIVE, -1, state.mj_moment_colind[first])
        if row == _FULL:
            return ROWS_FULL
        if row >= 0:
            _complete(state, row, stiffness, damping)
    return EVALUATED


@compiled
def _box_drag(
    size: np.ndarray, medium: np.ndarray, speed: np.ndarray, axis: int
) -> tuple[float, float]:
    """Slopes of the drag along and about an axis of a box, from MuJoCo's inertia-box model."""
    density, viscosity = medium[0], medium[1]
    j, k = (axis + 1) % 3, (axis + 2) % 3
    diameter = (size[0] + size[1] + size[2]) / 3.0
    along = 3.0 * np.pi * diameter * viscosity
    along += density * size[j] * size[k] * abs(speed[axis])
    about = np.pi * diameter**3 * viscosity
    about += density * size[axis] * (size[j] ** 4 + size[k] ** 4) * abs(speed[3 + axis]) / 32.0
    return along, about


@compiled
def _ellipsoid_drag(
    numbers: np.ndarray, medium: np.ndarray, speed: np.ndarray
) -> tuple[float, float]:
    """Slopes of the drag along and about all axes, from MuJoCo's ellipsoid model.

    A quadratic drag counts twice, its slope along the velocity, across it too.
    """
    density, viscosity = medium[0], medium[1]
    a, b, c = numbers[0], numbers[1], numbers[2]
    blunt, slender, angular = numbers[3], numbers[4], numbers[5]
    longest, shortest = max(a, b, c), min(a, b, c)
    middle = a + b + c - longest - shortest
    diameter = 2.0 / 3.0 * (a + b + c)
    normal = 0.0
    fourth = 0.0
    square = 0.0
    moment = 0.0
    largest = middle * longest**4
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        area = (numbers[j] * numbers[k]) ** 2
        normal += area * speed[i] ** 2
        fourth += area * area * speed[i] ** 2
        square += speed[i] ** 2
        inertia = numbers[i] * max(numbers[j], numbers[k]) ** 4
        moment += (speed[3 + i] * (angular * inertia + slender * (largest - inertia))) ** 2
    shadow = np.pi * np.sqrt(fourth / max(normal, _LEAST))
    drag = shadow * blunt + slender * (np.pi * longest * middle - shadow)
    along = 3.0 * np.pi * diameter * viscosity + 2.0 * density * np.sqrt(square) * drag
    about = np.pi * diameter**3 * viscosity
    about += 2.0 * density * 8.0 / 15.0 * np.pi * np.sqrt(moment)
    return along, about


@compiled
def _fill_axis(
    plant: Table, state: Table, body: int, point: np.ndarray, axis: np.ndarray, turns: bool
) -> float:
    """Fill ``dof_row`` with the velocity of a body's point along an axis, or about it; its value.

    The point is relative to the centre of mass of the body's tree.
    """
    dense = state.work.dof_row
    cdof = state.mj_cdof
    speed = 0.0
    dof = plant.bodies.last_dof[body]
    while dof >= 0:
        x, y, z = cdof[dof, 0], cdof[dof, 1], cdof[dof, 2]
        if turns:
            value = x * axis[0] + y * axis[1] + z * axis[2]
        else:
            value = (
                (cdof[dof, 3] + y * point[2] - z * point[1]) * axis[0]
                + (cdof[dof, 4] + z * point[0] - x * point[2]) * axis[1]
                + (cdof[dof, 5] + x * point[1] - y * point[0]) * axis[2]
            )
        dense[dof] = value
        speed += value * state.qvel[dof]
        dof = plant.dofs.parent[dof]
    return speed


@compiled
def _add_drags(plant: Table, state: Table) -> int:
    passive = plant.passive
    medium = passive.medium
    point = np.empty(3)
    axes = np.empty((3, 3))
    speed = np.empty(6)
    found = np.empty(6, np.int64)
    for k in range(passive.drag_body.size):
        body, geom = passive.drag_body[k], passive.drag_geom[k]
        com, root = state.mj_subtree_com, plant.bodies.root[body]
        if geom >= 0:
            turn = state.mj_geom_xmat[geom]
            point[0], point[1], point[2] = between(state.mj_geom_xpos, geom, com, root)
        else:
            turn = state.mj_ximat[body]
            point[0], point[1], point[2] = between(state.mj_xipos, body, com, root)
        for a in range(3):
            for b in range(3):
                axes[b, a] = turn[3 * a + b]
        for i in range(6):
            axis = axes[i % 3]
            speed[i] = _fill_axis(plant, state, body, point, axis, i >= 3)
            if i < 3:
                speed[i] -= medium[2] * axis[0] + medium[3] * axis[1] + medium[4] * axis[2]
            found[i] = add_row(plant, state, PASSIVE, -1, plant.bodies.last_dof[body])
            if found[i] == _FULL:
                return ROWS_FULL
        numbers = passive.drag_numbers[k]
        if geom >= 0:
            along, about = _ellipsoid_drag(numbers, medium, speed)
        for i in range(3):
            if geom < 0:
                along, about = _box_drag(numbers, medium, speed, i)
            if found[i] >= 0:
                _complete(state, found[i], 0.0, along)
            if found[3 + i] >= 0:
                _complete(state, found[3 + i], 0.0, about)
    return EVALUATED


@compiled
def add_passive_rows(plant: Table, state: Table) -> int:
    """Append the passive rows; returns ``EVALUATED`` or ``ROWS_FULL``."""
    if state.passive_rows == 0:
        return EVALUATED
    for status in (_add_tendons(plant, state), _add_dofs(plant, state), _add_muscles(plant, state)):
        if status != EVALUATED:
            return ROWS_FULL
    return _add_drags(plant, state) if plant.passive.drag_body.size > 0 else EVALUATED
