"""Parse MJCF, from files of any ending too."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco

from asperity.loading.compiler_errors import explained

__all__ = ["parse_mjcf"]


def parse_mjcf(text: str, path: Path | None, name: str, *, changed: bool = False) -> mujoco.MjSpec:
    """Parse MJCF.

    Parameters
    ----------
    text : str
    path : Path or None
        The file that the text was read from, if any.
    name : str
        What messages call it.
    changed : bool
        Whether the text is not that of the file.

    Raises
    ------
    ModelError
        With MuJoCo's complaint in our words.
    """
    try:
        if path is not None and path.suffix.lower() == ".xml" and not changed:
            return mujoco.MjSpec.from_file(str(path))
        if path is None:
            return mujoco.MjSpec.from_string(text)
        # MuJoCo goes by the ending .xml; else hand it the text and what the text includes.
        spec = mujoco.MjSpec.from_string(text, include=_included(text, path.parent))
        spec.modelfiledir = str(path.parent.absolute())
        return spec
    except (ValueError, mujoco.FatalError) as error:
        raise explained(error, name) from None


def _included(text: str, folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    waiting = [text]
    while waiting:
        for match in re.finditer(r"<include\s+file\s*=\s*[\"']([^\"']+)[\"']", waiting.pop()):
            file = folder / match[1]
            if match[1] not in found and file.is_file():
                found[match[1]] = file.read_bytes()
                waiting.append(found[match[1]].decode("utf-8", errors="replace"))
    return found
