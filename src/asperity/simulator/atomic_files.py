"""Files that are whole: the old one or the new one, whatever happens while it is written."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["replaced"]


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of another once all of it is on the disk.

    Parameters
    ----------
    path : path
        What to replace; the file behind a symbolic link.

    Yields
    ------
    BinaryIO
        A new file in the same folder, since only within a disk can files be renamed. If writing
        fails it is removed, and what was there before stays as it was.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            if target.exists():
                os.chmod(partial, target.stat().st_mode & 0o777)
            yield file
            file.flush()
            # Without it a crash of the machine could leave the name with nothing behind it.
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
