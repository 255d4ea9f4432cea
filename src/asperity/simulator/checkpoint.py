"""Simulators in files, to go on later."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any, TypeVar

import mujoco

from asperity.errors import ArgumentError
from asperity.simulator.atomic_files import replaced

__all__ = ["load_simulator", "save_simulator"]

_Kind = TypeVar("_Kind")

_MAGIC = b"asperity simulator\n"


def save_simulator(simulator: Any, path: str | os.PathLike[str]) -> Path:
    """Write a simulator, which must not run; see `Simulator.save`."""
    path = Path(path)
    try:
        content = pickle.dumps(simulator)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ArgumentError(
            f"the simulator cannot be saved ({error}); functions of control and external systems "
            "must be defined in a module, not within other functions."
        ) from error
    header = json.dumps({"mujoco": mujoco.__version__}).encode()
    with replaced(path) as file:
        file.write(_MAGIC + header + b"\n" + content)
    return path


def load_simulator(path: str | os.PathLike[str], kind: type[_Kind]) -> _Kind:
    """Read a simulator of this kind that `save_simulator` has written; see `Simulator.load`."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read ({error.strerror or error}).") from None
    header, _, content = raw.removeprefix(_MAGIC).partition(b"\n")
    if not raw.startswith(_MAGIC) or not content:
        raise ArgumentError(
            f"{path} was not written by Simulator.save; Trajectory.load reads trajectories (.npz)."
        )
    version = json.loads(header)["mujoco"]
    if version != mujoco.__version__:
        raise ArgumentError(
            f"{path} holds a model of MuJoCo {version}, which MuJoCo {mujoco.__version__} cannot "
            "read; install that version, or save it again."
        )
    try:
        loaded = pickle.loads(content)
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError) as error:
        raise ArgumentError(
            f"{path} cannot be read ({error}): it is damaged, of another version of Asperity, or "
            "needs a module that is not installed. Save it again with what is installed here."
        ) from error
    if not isinstance(loaded, kind):
        raise ArgumentError(
            f"{path} holds a {type(loaded).__name__}, which Simulator.save has not written."
        )
    return loaded
