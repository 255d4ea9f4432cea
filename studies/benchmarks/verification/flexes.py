"""Deformable bodies of verification: how worlds describe them, and where their vertices are."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from studies.benchmarks.verification.case import Array, Record

__all__ = ["APART", "flex", "masses", "places", "rest", "slowest", "speeds", "vertex_dofs"]

APART = "<contact contype='0' conaffinity='0' selfcollide='none'/>"
"""Of what touches nothing."""


def flex(
    name: str,
    count: tuple[int, int, int],
    spacing: float | tuple[float, float, float],
    *,
    mass: float,
    at: tuple[float, float, float] = (0.0, 0.0, 0.0),
    euler: str = "0 0 0",
    radius: float = 1e-3,
    inner: str = "",
    pins: str = "",
    friction: float | None = None,
) -> str:
    """A grid of vertices, whose dimension is that of the numbers above one.

    Parameters
    ----------
    name
    count, spacing
        Of vertices, and their distances [m].
    mass
        Of all vertices, pinned ones too [kg].
    at
        Its middle [m].
    euler
        How it is turned [rad].
    radius
        Half the thickness of what touches [m].
    inner
        Elements that say what holds it together.
    pins
        ``gridrange`` of what is pinned.
    friction
        Coulomb's coefficient; it touches nothing if None.
    """
    edges = (spacing,) * 3 if isinstance(spacing, float) else spacing
    touch = APART if friction is None else f"<contact selfcollide='none' friction='{friction}'/>"
    pinned = "".join(f"<pin gridrange='{part}'/>" for part in pins.split(",") if part)
    return (
        f"<flexcomp name='{name}' type='grid' dim='{sum(n > 1 for n in count)}'"
        f" count='{_text(count)}' spacing='{_text(edges)}' pos='{_text(at)}' euler='{euler}'"
        f" mass='{mass:.17g}' radius='{radius}'>{pinned}{inner}{touch}</flexcomp>"
    )


def _text(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)


def vertex_dofs(model: mujoco.MjModel) -> NDArray[np.int64]:
    """First dof, and coordinate, of every vertex; −1 of those that are pinned."""
    body = model.flex_vertbodyid
    return np.where(model.body_dofnum[body] == 3, model.body_dofadr[body], -1).astype(np.int64)


def masses(model: mujoco.MjModel) -> Array:
    """Of the vertices, zero of those that are pinned [kg]."""
    free = vertex_dofs(model) >= 0
    return np.asarray(np.where(free, model.body_mass[model.flex_vertbodyid], 0.0))


def rest(model: mujoco.MjModel) -> Array:
    """Where the vertices are in the model's initial configuration [m], shape (n, 3)."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_flex(model, data)
    return np.array(data.flexvert_xpos)


def _values(record: Record, values: Array, columns: NDArray[np.integer], times: ArrayLike) -> Array:
    """Of coordinates of the vertices at some times, shape (times, n, 3); zero of pinned ones."""
    wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
    free = columns >= 0
    found = np.zeros((len(wanted), len(columns), 3))
    for axis in range(3):
        found[:, free, axis] = np.stack(
            [np.interp(wanted, record.time, values[:, c + axis]) for c in columns[free]], axis=1
        )
    return found


def places(record: Record, times: ArrayLike) -> Array:
    """Of the vertices at some times [m], shape (times, n, 3)."""
    model = record.model
    joint = model.body_jntadr[model.flex_vertbodyid]
    columns = np.where(vertex_dofs(model) >= 0, model.jnt_qposadr[joint], -1)
    return np.asarray(rest(model) + _values(record, record.qpos, columns, times))


def speeds(record: Record, times: ArrayLike) -> Array:
    """Of the vertices at some times [m/s], shape (times, n, 3)."""
    return _values(record, record.qvel, vertex_dofs(record.model), times)


def slowest(stiffness: Array, mass: Array) -> tuple[float, Array]:
    """Frequency [rad/s] and shape of the slowest vibration; its largest entry is one."""
    from scipy.linalg import eigh

    values, vectors = eigh(stiffness, np.diag(mass))
    shape = vectors[:, 0]
    return float(np.sqrt(values[0])), np.asarray(shape / shape[np.argmax(np.abs(shape))])
