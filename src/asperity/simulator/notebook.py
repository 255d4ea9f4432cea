"""How simulators, reports and trajectories look in notebooks.

Playbacks are made by `asperity.media`, which is above this layer: the package tells this module of
it when it is loaded.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asperity.simulator.report import Report, Statistics
    from asperity.simulator.simulator import Simulator
    from asperity.simulator.trajectory import Trajectory

__all__ = ["report", "set_playback", "simulator", "trajectory"]

_HEIGHT = 480
_playback: Callable[[Trajectory], str | None] | None = None


def set_playback(make: Callable[[Trajectory], str | None]) -> None:
    """Use a function that makes a page of a trajectory, or None where it cannot."""
    global _playback
    _playback = make


def simulator(shown: Simulator) -> str:
    """A simulator as HTML."""
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
            "actuators": model.nu,
            "contacts": len(shown.contacts.geom),
            **_work(shown.stats),
            "notes": len(shown.load_report.notes) or None,
        },
    )


def report(shown: Report) -> str:
    """A report as HTML."""
    rows = {"time": f"{shown.time:.6g} s", "message": shown.message, **_work(shown.stats)}
    return _table(f"Report: {shown.status.name}", rows)


def trajectory(shown: Trajectory) -> str:
    """A trajectory as HTML, with a playback where it can be made."""
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
    page = _playback(shown) if _playback is not None and len(shown.time) > 1 else None
    if page is None:
        return table
    return (
        f'{table}<iframe style="width:100%;height:{_HEIGHT}px;border:none" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )


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
