"""Progress of commands where there is no terminal."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from asperity.cli import progress


def test_waiting_is_told_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_FIRST", 0.01)
    monkeypatch.setattr(progress, "_PAUSE", 0.01)
    file = io.StringIO()
    with progress.shown_waiting("Filling", Console(file=file)):
        while file.getvalue().count("\n") < 2:
            time.sleep(0.01)
    lines = file.getvalue().splitlines()
    assert set(lines) == {"Filling: 0 s so far."}


def test_a_share_is_told_with_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 10.0, 30.0, 40.0, 91.0])
    monkeypatch.setattr(progress.clock, "monotonic", lambda: next(now))
    file = io.StringIO()
    show = progress.progress_lines("Simulating", Console(file=file))
    for share in (0.1, 0.25, 0.3, 0.5):
        show(share)
    assert file.getvalue().splitlines() == [
        "Simulating: 25 % after 30 s, about 90 s more.",
        "Simulating: 50 % after 91 s, about 2 min more.",
    ]
