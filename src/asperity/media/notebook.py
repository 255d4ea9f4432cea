"""How simulators, reports and trajectories look in notebooks."""

from __future__ import annotations

import functools
import html
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asperity.errors import MissingExtra
from asperity.media.errors import MediaError
from asperity.media.web import write_web_playback
from asperity.simulator import Report, Simulator, Statistics, Trajectory

__all__ = ["as_html"]

_HEIGHT = 480
# A notebook keeps every page: so many frames at most, of all the trajectory.
_FRAMES = 300
_FPS = 30.0


@functools.singledispatch
def as_html(shown: object) -> str:
    """HTML of a simulator, a report or a trajectory."""
    raise TypeError(f"there is no HTML of {type(shown).__name__}.")


@as_html.register
def _(shown: Simulator) -> str:
    model = shown.model
    name = bytes(model.names).split(b"\0", 1)[0].decode(errors="replace")
    integrator = shown.integrator
    options = (
        f"accuracy {getattr(integrator, 'accuracy', None):g}"
        if integrator.time_step is None
        else f"steps of {integrator.time_step:g} s"
    )
    return _table(
        f"Simulator of {name or 'a model'}",
        {
            "integrator": f"{type(integrator).__name__}, {options}",
            "time": f"{shown.time:.6g} s",
            "degrees of freedom": model.nv,
            "actuators": model.nactuator,
            "contacts": len(shown.contacts.geom),
            **_work(shown.stats),
            "notes": len(shown.load_report.notes) or None,
        },
    )


@as_html.register
def _(shown: Report) -> str:
    rows = {"time": f"{shown.time:.6g} s", "message": shown.message, **_work(shown.stats)}
    return _table(f"Report: {shown.status.name}", rows)


@as_html.register
def _(shown: Trajectory) -> str:
    events = sum(len(times) for times in shown.t_events)
    span = f"{shown.time[0]:.6g} s to {shown.time[-1]:.6g} s" if len(shown.time) else "none"
    table = _table(
        f"Trajectory: {shown.status.name}",
        {
            "time": span,
            "samples": len(shown.time),
            "message": shown.message,
            "events": events if shown.t_events else None,
            **_work(shown.stats),
        },
    )
    page = _playback(shown)
    if page is None:
        return table
    return (
        f'{table}<iframe style="width:100%;height:{_HEIGHT}px;border:none" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )


def _playback(trajectory: Trajectory) -> str | None:
    """The page of `write_web_playback`, None where viser is missing or nothing can be shown."""
    time = trajectory.time
    if len(time) < 2 or not time[-1] > time[0]:
        return None
    fps = min(_FPS, _FRAMES / float(time[-1] - time[0]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "playback.html"
        try:
            write_web_playback(path, trajectory.model, time, trajectory.qpos, fps=fps)
        except (MediaError, MissingExtra):
            return None
        return path.read_text(encoding="utf-8")


def _work(stats: Statistics) -> dict[str, Any]:
    steps = f"{stats.steps} accepted, {stats.rejections} rejected"
    return {"steps": steps, "wall time": f"{stats.wall_time:.3g} s"}


def _table(title: str, rows: Mapping[str, Any]) -> str:
    lines = "".join(
        f'<tr><th style="text-align:left">{html.escape(label)}</th>'
        f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
        for label, value in rows.items()
        if value is not None
    )
    return f"<table><caption><b>{html.escape(title)}</b></caption>{lines}</table>"
