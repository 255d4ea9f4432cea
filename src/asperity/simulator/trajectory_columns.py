"""Columns of a trajectory, by the names that the model has for them."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

import mujoco
import numpy as np

from asperity.plant.model.names import control_names

__all__ = ["columns_of"]

_KINDS = mujoco.mjtJoint
# Of joints with several coordinates.
_POSITIONS = {
    int(_KINDS.mjJNT_FREE): ("x", "y", "z", "qw", "qx", "qy", "qz"),
    int(_KINDS.mjJNT_BALL): ("qw", "qx", "qy", "qz"),
}
_VELOCITIES = {
    int(_KINDS.mjJNT_FREE): ("vx", "vy", "vz", "wx", "wy", "wz"),
    int(_KINDS.mjJNT_BALL): ("wx", "wy", "wz"),
}


def columns_of(model: mujoco.MjModel, trajectory: Any) -> dict[str, dict[str, np.ndarray]]:
    """Groups of named columns of a trajectory, those that are not empty."""
    names = {
        "qpos": _of_joints(model, _POSITIONS),
        "qvel": _of_joints(model, _VELOCITIES),
        "act": _numbered(model.na),
        "ctrl": [name or str(i) for i, name in enumerate(control_names(model))],
        "sensordata": _of_sensors(model),
    }
    found = {}
    for group, labels in names.items():
        values = getattr(trajectory, group)
        if values.shape == (len(trajectory.time), len(labels)) and labels:
            columns = [f"{group}:{label}" for label in _told_apart(labels)]
            found[group] = dict(zip(columns, values.T, strict=True))
    return found


def _told_apart(labels: list[str]) -> list[str]:
    """Labels, numbered where several are equal, as those of the joints of a flex's vertex."""
    counts = Counter(labels)
    found = []
    for label in labels:
        if counts[label] > 1:
            label = next(one for k in count() if (one := f"{label}.{k}") not in counts)
            counts[label] = 1
        found.append(label)
    return found


def _numbered(count: int) -> list[str]:
    return [str(i) for i in range(count)]


def _of_joints(model: mujoco.MjModel, coordinates: dict[int, tuple[str, ...]]) -> list[str]:
    labels: list[str] = []
    for joint in range(model.njnt):
        name = model.joint(joint).name or model.body(int(model.jnt_bodyid[joint])).name
        name = name or str(joint)
        several = coordinates.get(int(model.jnt_type[joint]))
        labels += [name] if several is None else [f"{name}.{axis}" for axis in several]
    return labels


def _of_sensors(model: mujoco.MjModel) -> list[str]:
    labels: list[str] = []
    for sensor in range(model.nsensor):
        name, size = model.sensor(sensor).name or str(sensor), int(model.sensor_dim[sensor])
        labels += [name] if size == 1 else [f"{name}.{k}" for k in range(size)]
    return labels
