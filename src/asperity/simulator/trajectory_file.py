"""The ``.npz`` files that trajectories are kept in.

Beside times, states, controls, status and statistics a file holds the model, in MuJoCo's binary
format, which only the version of MuJoCo that wrote it can read. All entries are arrays of numbers
or texts: reading one runs no code.
"""

from __future__ import annotations

import dataclasses
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from asperity.errors import ArgumentError, Status
from asperity.simulator.atomic_files import replaced
from asperity.simulator.current_contacts import Contacts
from asperity.simulator.report import Statistics

__all__ = ["read_fields", "write_fields"]

_OF_FLEXES = ("flex", "elem", "vert")


def write_fields(
    path: Path, model: mujoco.MjModel, status: Status, stats: Statistics, **arrays: Any
) -> None:
    """Write a trajectory's fields; a file that is there stays whole until the new one is."""
    binary = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, binary)
    contacts = arrays.pop("contacts")
    if contacts:
        counts = [len(one.point) for one in contacts]
        arrays["contact_start"] = np.concatenate([[0], np.cumsum(counts)])
        for name in Contacts._fields:
            arrays["contact_" + name] = np.concatenate([getattr(one, name) for one in contacts])
    events = arrays.pop("t_events")
    if events:
        arrays["event_start"] = np.concatenate([[0], np.cumsum([len(one) for one in events])])
        arrays["event_time"] = np.concatenate(events)
    with replaced(path) as file:
        np.savez_compressed(
            file,
            **arrays,
            status=status.name,
            model=binary,
            mujoco_version=mujoco.__version__,
            **{f"stats_{name}": value for name, value in vars(stats).items()},
        )


def read_fields(
    path: str | os.PathLike[str], model: mujoco.MjModel | None = None
) -> dict[str, Any]:
    """Read what `write_fields` wrote, as the arguments of a trajectory.

    Raises
    ------
    ArgumentError
        If the file cannot be read, is none of a trajectory, or its model cannot be used here.
    """
    if model is not None and not isinstance(model, mujoco.MjModel):
        raise ArgumentError(f"model must be a mujoco.MjModel, got {type(model).__name__}.")
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read ({error.strerror or error}).") from None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ArgumentError(
            f"{path} is no trajectory that Trajectory.save has written, or is damaged: {error}"
        ) from None
    missing = [name for name in ("time", "qpos", "qvel", "status") if name not in stored]
    if missing:
        raise ArgumentError(
            f"{path} is no trajectory that Trajectory.save has written: it has no {missing[0]!r}."
        )
    if model is None:
        model = _model(path, stored)
    if stored["qpos"].shape[1:] != (model.nq,) or stored["qvel"].shape[1:] != (model.nv,):
        raise ArgumentError(
            f"{path} belongs to another model: it has {stored['qpos'].shape[1]} positions and "
            f"{stored['qvel'].shape[1]} velocities, the model {model.nq} and {model.nv}."
        )
    known = {one.name for one in dataclasses.fields(Statistics)}
    stats = {
        name.removeprefix("stats_"): value.item()
        for name, value in stored.items()
        if name.removeprefix("stats_") in known
    }
    return {
        "model": model,
        "time": stored["time"],
        "qpos": stored["qpos"],
        "qvel": stored["qvel"],
        "status": Status[str(stored["status"])],
        "stats": Statistics(**stats),
        "contacts": _contacts(stored),
        "message": str(stored.get("message", "")),
        "t_events": _events(stored),
        "ctrl": stored.get("ctrl", np.empty((len(stored["time"]), 0))),
    }


def _events(stored: dict[str, np.ndarray]) -> list[np.ndarray]:
    if "event_start" not in stored:
        return []
    return np.split(stored["event_time"], stored["event_start"][1:-1])


def _contacts(stored: dict[str, np.ndarray]) -> list[Contacts]:
    if "contact_start" not in stored:
        return []
    start = stored["contact_start"]
    # Of versions that knew point contacts, or geoms, only.
    none = np.full((int(start[-1]), 2), -1)
    later = {"contact_patch": none[:, 0], **{"contact_" + name: none for name in _OF_FLEXES}}
    stored = {**later, **stored}
    parts = {name: stored["contact_" + name] for name in Contacts._fields}
    return [
        Contacts(**{name: part[start[i] : start[i + 1]] for name, part in parts.items()})
        for i in range(len(start) - 1)
    ]


def _model(path: str | os.PathLike[str], stored: dict[str, np.ndarray]) -> mujoco.MjModel:
    advice = "pass the model: Trajectory.load(path, model=...)"
    if "model" not in stored:
        raise ArgumentError(f"{path} holds no model; {advice}.")
    version = str(stored["mujoco_version"])
    if version != mujoco.__version__:
        raise ArgumentError(
            f"{path} holds a model of MuJoCo {version}, which MuJoCo {mujoco.__version__} cannot "
            f"read; {advice}."
        )
    name = "trajectory.mjb"
    try:
        return mujoco.MjModel.from_binary_path(name, {name: stored["model"].tobytes()})
    except ValueError as error:
        raise ArgumentError(f"{path}: its model cannot be read ({error}); {advice}.") from None
