"""The ``.npz`` files that trajectories are kept in.

Beside times, states, controls, status and statistics a file holds the model, in MuJoCo's binary
format, which only the version of MuJoCo that wrote it can read. All entries are arrays of numbers
or texts: reading one runs no code.
"""

from __future__ import annotations

import dataclasses
import hashlib
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
from asperity.simulator.history import History
from asperity.simulator.report import Statistics

__all__ = ["read_fields", "write_fields"]


def write_fields(
    path: Path,
    model: mujoco.MjModel,
    status: Status,
    stats: Statistics,
    place: str,
    history: History | None,
    **arrays: Any,
) -> None:
    """Write a trajectory's fields; a file that is there stays whole until the new one is."""
    if place != "omitted":
        arrays |= _model_entries(path, model, beside=place == "beside")
    if history is not None:
        arrays |= {f"history_{name}": values for name, values in history.items()}
    for number, outputs in enumerate(arrays.pop("system_outputs")):
        arrays[f"system_output_{number}"] = outputs
    contacts = arrays.pop("contacts")
    if contacts:
        counts = [len(one.point) for one in contacts]
        arrays["contact_start"] = np.concatenate([[0], np.cumsum(counts)])
        for name in contacts[0].arrays():
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
            mujoco_version=mujoco.__version__,
            **{f"stats_{name}": value for name, value in vars(stats).items()},
        )


def _model_entries(path: Path, model: mujoco.MjModel, *, beside: bool) -> dict[str, Any]:
    """What a file says of the model, in its own words or by the name of the file beside it."""
    binary = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, binary)
    if not beside:
        return {"model": binary}
    name = f"model-{hashlib.sha256(binary.tobytes()).hexdigest()[:16]}.npz"
    if not (path.parent / name).exists():
        with replaced(path.parent / name) as file:
            np.savez_compressed(file, model=binary)
    return {"model_file": name}


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
        parts = sorted(path.parent.glob(f"{path.stem}.[0-9]*{path.suffix}"))
        hint = f"; there are parts, {parts[0].name} to {parts[-1].name}" if parts else ""
        raise ArgumentError(f"{path} cannot be read ({error.strerror or error}){hint}.") from None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ArgumentError(
            f"{path} was not written by Trajectory.save, or is damaged: {error}"
        ) from None
    missing = [name for name in ("time", "qpos", "qvel", "status") if name not in stored]
    if missing:
        raise ArgumentError(
            f"{path} was not written by Trajectory.save: it has no array {missing[0]!r}. "
            "numpy.load reads other .npz files."
        )
    if model is None:
        model = _model(path, stored)
    if stored["qpos"].shape[1:] != (model.nq,) or stored["qvel"].shape[1:] != (model.nv,):
        raise ArgumentError(
            f"{path} belongs to another model: it has {stored['qpos'].shape[1]} positions and "
            f"{stored['qvel'].shape[1]} velocities, the model {model.nq} and {model.nv}; give "
            "model= the one that was simulated."
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
        "contacts": _contacts(model, stored),
        "message": str(stored.get("message", "")),
        "t_events": _events(stored),
        "ctrl": stored.get("ctrl", np.empty((len(stored["time"]), 0))),
        "act": stored.get("act", np.empty((0, 0))),
        "plastic": stored.get("plastic", np.empty((0, 0))),
        "sensordata": stored.get("sensordata", np.empty((0, 0))),
        "system_outputs": _numbered(stored, "system_output_"),
        "history": _history(stored),
    }


def _events(stored: dict[str, np.ndarray]) -> list[np.ndarray]:
    if "event_start" not in stored:
        return []
    return np.split(stored["event_time"], stored["event_start"][1:-1])


def _numbered(stored: dict[str, np.ndarray], prefix: str) -> list[np.ndarray]:
    count = sum(name.startswith(prefix) for name in stored)
    return [stored[f"{prefix}{number}"] for number in range(count)]


def _history(stored: dict[str, np.ndarray]) -> History | None:
    prefix = "history_"
    columns = {n.removeprefix(prefix): v for n, v in stored.items() if n.startswith(prefix)}
    return History(columns) if columns else None


def _contacts(model: mujoco.MjModel, stored: dict[str, np.ndarray]) -> list[Contacts]:
    prefix = "contact_"
    parts = {n.removeprefix(prefix): v for n, v in stored.items() if n.startswith(prefix)}
    if not parts:
        return []
    start = parts.pop("start")
    return [
        Contacts(**{n: part[start[i] : start[i + 1]] for n, part in parts.items()}, model=model)
        for i in range(len(start) - 1)
    ]


def _model(path: str | os.PathLike[str], stored: dict[str, np.ndarray]) -> mujoco.MjModel:
    advice = "pass the model: Trajectory.load(path, model=...)"
    if "model_file" in stored:
        beside = Path(path).parent / str(stored["model_file"])
        try:
            with np.load(beside, allow_pickle=False) as file:
                stored["model"] = file["model"]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ArgumentError(
                f"{path}: its model, {beside}, cannot be read ({error}); {advice}."
            ) from None
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
