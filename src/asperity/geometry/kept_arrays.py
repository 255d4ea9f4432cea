"""Results of geometry that took long, kept in the user's cache folder by what they follow from."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

__all__ = ["kept_file", "load_arrays", "save_arrays"]


def kept_file(folder: str, key: Iterable[bytes]) -> Path | None:
    """Where results of an input are kept, or None without the package platformdirs.

    Parameters
    ----------
    folder : str
        In that of Asperity.
    key : iterable of bytes
        All that the result follows from.
    """
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return None
    name = hashlib.sha256()
    for part in key:
        name.update(part)
    return user_cache_path("asperity") / folder / f"{name.hexdigest()}.npz"


def load_arrays(path: Path | None, *names: str) -> tuple[np.ndarray, ...] | None:
    """What `save_arrays` has written, by name; None if nothing is there that can be read."""
    if path is None or not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as archive:
            return tuple(archive[name] for name in names)
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
        return None  # it is written anew


def save_arrays(path: Path | None, **arrays: np.ndarray) -> None:
    """Write a file at once or not at all; a folder that cannot be written to is no error."""
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            try:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
                file.close()
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
