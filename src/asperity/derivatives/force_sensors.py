"""Derivatives of touch, force and torque sensors in closed form.

A touch sensor adds up normal forces. A force sensor feels what a body's parent exerts on it, so
that with all bodies i behind it, what is applied to them, P_i and T_i, and their contacts c

    F = Σ m_i (a_i − g) − P_i − Σ F_c,
    τ = Σ x_i × (m_i (a_i − g) − P_i) + I_i α_i + ω_i × I_i ω_i − T_i − Σ (p_c × F_c + T_c)

about the world's origin, as `mj_rnePostConstraint` adds them up.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from asperity.derivatives.contact_changes import ContactChanges
from asperity.derivatives.frame_motion import (
    acceleration_of,
    cross,
    cross_all,
    frame_of,
    velocity_of,
)

__all__ = ["FORCE_SENSORS", "force_rows"]

_SENSOR, _OBJECT = mujoco.mjtSensor, mujoco.mjtObj
_TOUCH = int(_SENSOR.mjSENS_TOUCH)
_FORCE, _TORQUE = int(_SENSOR.mjSENS_FORCE), int(_SENSOR.mjSENS_TORQUE)
_TIES = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))

FORCE_SENSORS = (_TOUCH, _FORCE, _TORQUE)
"""Types of the sensors that `force_rows` knows."""


@dataclass(frozen=True, slots=True)
class _Wrench:
    """A force and its moment about the world's origin, with derivatives (3, 2nv+na+nu)."""

    force: np.ndarray
    moment: np.ndarray
    force_change: np.ndarray
    moment_change: np.ndarray

    def add(self, other: _Wrench, sign: float) -> None:
        for name in self.__slots__:
            part = getattr(self, name)
            part += sign * getattr(other, name)


def force_rows(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    sensors: np.ndarray,
    contacts: ContactChanges,
    acceleration: np.ndarray,
) -> dict[int, np.ndarray]:
    """Derivatives of sensors by positions, velocities, activations and controls.

    Parameters
    ----------
    model : mujoco.MjModel
    data : mujoco.MjData
        With velocities and accelerations of bodies.
    sensors : ndarray
        Of `FORCE_SENSORS`.
    contacts : ContactChanges
        With derivatives by the same.
    acceleration : ndarray
        Derivatives of ``qacc``, shape (nv, 2nv+na+nu).

    Returns
    -------
    dict of int to ndarray
        By sensor, shape (1 or 3, 2nv+na+nu). Force and torque are missing where equalities hold
        what a body carries.
    """
    sites = model.sensor_objid[sensors[model.sensor_type[sensors] != _TOUCH]]
    bodies = {int(body) for body in model.site_bodyid[sites]} - _held(model, data)
    wrenches = _wrenches(model, data, bodies, contacts, acceleration)
    found = {}
    for sensor in sensors.tolist():
        kind, site = int(model.sensor_type[sensor]), int(model.sensor_objid[sensor])
        if kind == _TOUCH:
            value, rows = _touch(model, data, site, contacts)
        elif int(model.site_bodyid[site]) in wrenches:
            value, rows = _felt(model, data, site, wrenches, kind == _TORQUE)
        else:
            continue
        cutoff = float(model.sensor_cutoff[sensor])
        if cutoff > 0.0:
            rows[np.abs(value) >= cutoff] = 0.0
        found[sensor] = rows
    return found


def _held(model: mujoco.MjModel, data: mujoco.MjData) -> set[int]:
    """Bodies that equalities hold, and all that carry one of them."""
    found = {0}
    for tie in np.flatnonzero((data.eq_active != 0) & np.isin(model.eq_type, _TIES)):
        for end in (int(model.eq_obj1id[tie]), int(model.eq_obj2id[tie])):
            of_site = model.eq_objtype[tie] == _OBJECT.mjOBJ_SITE
            body = int(model.site_bodyid[end]) if of_site else end
            while body not in found:
                found.add(body)
                body = int(model.body_parentid[body])
    return found if len(found) > 1 else set()


def _touch(
    model: mujoco.MjModel, data: mujoco.MjData, site: int, contacts: ContactChanges
) -> tuple[np.ndarray, np.ndarray]:
    """Normal forces on the site's body whose line meets the site's volume."""
    body = int(model.site_bodyid[site])
    met = np.zeros(len(contacts.push), dtype=bool)
    for i in np.flatnonzero(np.any(contacts.bodies == body, axis=1) & (contacts.push > 0.0)):
        ray = contacts.normal[i] if body == contacts.bodies[i, 0] else -contacts.normal[i]
        place = data.site_xpos[site], data.site_xmat[site], model.site_size[site]
        kind = int(model.site_type[site])
        met[i] = mujoco.mju_rayGeom(*place, contacts.point[i], ray, kind) >= 0.0
    value = contacts.push[met].sum(keepdims=True)
    return value, contacts.push_change[met].sum(axis=0, keepdims=True)


def _felt(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    site: int,
    wrenches: dict[int, _Wrench],
    is_torque: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The force, or the moment about a site, along the site's axes."""
    nv = model.nv
    frame = frame_of(model, data, int(_OBJECT.mjOBJ_SITE), site)
    wrench = wrenches[frame.body]
    value, rows = wrench.force, wrench.force_change.copy()
    if is_torque:
        value = wrench.moment - np.cross(frame.point, wrench.force)
        rows = wrench.moment_change + cross(rows, frame.point)
        rows[:, :nv] -= cross(frame.moves, wrench.force)
    rows[:, :nv] -= cross(frame.turns, value)
    return frame.matrix.T @ value, frame.matrix.T @ rows


def _wrenches(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    bodies: set[int],
    contacts: ContactChanges,
    acceleration: np.ndarray,
) -> dict[int, _Wrench]:
    """What holds each of the bodies, and all that they carry."""
    behind = set(bodies)
    for body in range(1, model.nbody):
        if int(model.body_parentid[body]) in behind:
            behind.add(body)
    found = {body: _of_motion(model, data, body, acceleration) for body in behind}
    nv, point, force = model.nv, contacts.point, contacts.force
    moment = contacts.moment + np.cross(point, force)
    moment_change = contacts.moment_change - cross_all(contacts.force_change, point)
    moment_change[:, :, :nv] += cross_all(contacts.point_change, force)
    for i, pair in enumerate(contacts.bodies.tolist()):
        pushed = _Wrench(force[i], moment[i], contacts.force_change[i], moment_change[i])
        for body, sign in zip(pair, (1.0, -1.0), strict=True):
            if body in found:
                found[body].add(pushed, sign)
    # A body comes after its parent.
    for body in sorted(behind, reverse=True):
        parent = int(model.body_parentid[body])
        if parent != body and parent in found:
            found[parent].add(found[body], 1.0)
    return found


def _of_motion(
    model: mujoco.MjModel, data: mujoco.MjData, body: int, acceleration: np.ndarray
) -> _Wrench:
    """What a body's motion takes, but for what is applied to the body."""
    nv = model.nv
    frame = frame_of(model, data, int(_OBJECT.mjOBJ_BODY), body)
    own, spin = acceleration_of(model, data, frame), velocity_of(model, data, frame)
    mass = float(model.body_mass[body])
    force = mass * own.linear - data.xfrc_applied[body, :3]
    change = frame.moves @ acceleration
    change[:, :nv] += own.linear_by_position
    change[:, nv : 2 * nv] += own.linear_by_velocity
    change *= mass
    inertia = frame.matrix @ (model.body_inertia[body][:, None] * frame.matrix.T)
    turning, momentum = inertia @ own.angular, inertia @ spin.angular
    rows = frame.turns @ acceleration
    rows[:, :nv] += own.angular_by_position
    rows[:, nv : 2 * nv] += own.angular_by_velocity
    rows = inertia @ rows
    # I turns with the body: d(I w) = δ × I w − I (δ × w) + I dw
    rows[:, :nv] += cross(frame.turns, turning) - inertia @ cross(frame.turns, own.angular)
    moved = cross(frame.turns, momentum) - inertia @ cross(frame.turns, spin.angular)
    moved += inertia @ spin.angular_change
    rows[:, :nv] += cross(spin.angular_change, momentum) - cross(moved, spin.angular)
    faster = cross(frame.turns, momentum) - cross(inertia @ frame.turns, spin.angular)
    rows[:, nv : 2 * nv] += faster
    rows -= cross(change, frame.point)
    rows[:, :nv] += cross(frame.moves, force)
    moment = turning + np.cross(spin.angular, momentum) + np.cross(frame.point, force)
    moment -= data.xfrc_applied[body, 3:]
    return _Wrench(force, moment, change, rows)
