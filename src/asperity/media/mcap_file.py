"""Trajectories as MCAP files, which Foxglove, Rerun and ROS tools read (https://mcap.dev)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from asperity.errors import MissingExtra
from asperity.media.errors import MediaError
from asperity.media.recording import Recording, output_path
from asperity.simulator import Contacts, Trajectory
from asperity.simulator.atomic_files import replaced
from asperity.simulator.trajectory_columns import columns_of

__all__ = ["write_mcap"]

_NUMBER = {"type": "number"}
_VECTOR = {"type": "object", "properties": dict.fromkeys("xyz", _NUMBER)}
_TIME = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
_TRANSFORM = {
    "timestamp": _TIME,
    "parent_frame_id": {"type": "string"},
    "child_frame_id": {"type": "string"},
    "translation": _VECTOR,
    "rotation": {"type": "object", "properties": dict.fromkeys("xyzw", _NUMBER)},
}
_CONTACT = {
    "geom": {"type": "array", "items": {"type": "string"}},
    "point": _VECTOR,
    "force": _VECTOR,
}
_GROUPS = ("qpos", "qvel", "act", "ctrl", "sensordata")


def _list_of(name: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Properties of an object with a list of objects."""
    return {name: {"type": "array", "items": {"type": "object", "properties": properties}}}


# By topic: the schema's name, which viewers know or not, and its properties.
_TOPICS = {
    "/tf": ("foxglove.FrameTransforms", _list_of("transforms", _TRANSFORM)),
    "/state": ("asperity.State", {name: {"type": "object"} for name in _GROUPS}),
    "/contacts": ("asperity.Contacts", _list_of("contacts", _CONTACT)),
}


def write_mcap(path: str | Path, trajectory: Trajectory) -> Path:
    """Write a trajectory as an MCAP file of JSON messages.

    Parameters
    ----------
    path : str or Path
        File to write, ending in ``.mcap``; it appears only once it is complete.
    trajectory : Trajectory
        Of times that are not negative. Every sample is a message of each topic: ``/tf`` has the
        poses of all bodies in the world (Foxglove's ``FrameTransforms``), ``/state`` has positions,
        velocities, activations, controls and sensors by the names that the model has for them, and
        ``/contacts`` has points [m] and forces on the second geom [N], if they were recorded.
        Mocap bodies have the model's poses, because a trajectory does not keep theirs.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    MediaError
        If the name or a time cannot be used.
    MissingExtra
        If the package mcap is missing (extra ``mcap``).
    """
    try:
        from mcap.writer import Writer
    except ImportError:
        raise MissingExtra(
            "Writing an MCAP file needs the Python package mcap; install it with "
            "'pip install \"asperity[mcap]\"'."
        ) from None
    target = output_path(path, ".mcap")
    if len(trajectory.time) and trajectory.time[0] < 0.0:
        raise MediaError(
            f"the trajectory begins at {trajectory.time[0]} s; MCAP has no times below 0."
        )
    model = trajectory.model
    recording = Recording(model, trajectory.time, trajectory.qpos)
    columns = columns_of(model, trajectory)
    data = mujoco.MjData(model)
    with replaced(target) as file:
        writer = Writer(file)
        writer.start(library="asperity")
        topics = {
            topic: writer.register_channel(
                topic,
                "json",
                writer.register_schema(
                    name,
                    "jsonschema",
                    json.dumps({"title": name, "type": "object", "properties": schema}).encode(),
                ),
            )
            for topic, (name, schema) in _TOPICS.items()
            if topic != "/contacts" or trajectory.contacts
        }
        for k, time in enumerate(trajectory.time):
            stamp = round(float(time) * 1e9)
            recording.pose(data, float(time))
            messages: dict[str, Any] = {
                "/tf": {"transforms": _transforms(model, data, stamp)},
                "/state": {
                    group: {name.split(":", 1)[1]: float(one[k]) for name, one in named.items()}
                    for group, named in columns.items()
                },
            }
            if trajectory.contacts:
                messages["/contacts"] = {"contacts": _contacts(trajectory.contacts[k])}
            for topic, message in messages.items():
                writer.add_message(topics[topic], stamp, json.dumps(message).encode(), stamp, k)
        writer.finish()
    return target


def _transforms(model: mujoco.MjModel, data: mujoco.MjData, stamp: int) -> list[dict[str, Any]]:
    """Poses of all bodies but the world; ``stamp`` is the time [ns]."""
    return [
        {
            "timestamp": {"sec": stamp // 10**9, "nsec": stamp % 10**9},
            "parent_frame_id": "world",
            "child_frame_id": model.body(body).name or f"body {body}",
            "translation": _vector(data.xpos[body]),
            "rotation": dict(zip("wxyz", data.xquat[body].tolist(), strict=True)),
        }
        for body in range(1, model.nbody)
    ]


def _contacts(contacts: Contacts) -> list[dict[str, Any]]:
    return [
        {"geom": list(one.geom), "point": _vector(one.point), "force": _vector(one.force)}
        for one in contacts
    ]


def _vector(values: np.ndarray) -> dict[str, float]:
    return dict(zip("xyz", values.tolist(), strict=True))
