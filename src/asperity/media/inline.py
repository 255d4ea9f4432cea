"""Playbacks inside of notebooks."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from asperity.media.errors import MediaError
from asperity.media.web import write_web_playback

if TYPE_CHECKING:
    from asperity.simulator import Trajectory

__all__ = ["playback_page"]

# A notebook keeps every page: so many frames at most, of all the trajectory.
_FRAMES = 300
_FPS = 30.0


def playback_page(trajectory: Trajectory) -> str | None:
    """The page of `write_web_playback`, None where viser is missing or nothing can be shown."""
    duration = float(trajectory.time[-1] - trajectory.time[0])
    if not duration > 0.0:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "playback.html"
        try:
            write_web_playback(
                path,
                trajectory.model,
                trajectory.time,
                trajectory.qpos,
                fps=min(_FPS, _FRAMES / duration),
            )
        except MediaError:
            return None
        return path.read_text(encoding="utf-8")
