"""Tables of benchmarks that print Markdown, kept in ``results`` for the documents to quote."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import mujoco

import asperity as asp

__all__ = ["RESULTS", "save_table"]

RESULTS = Path(__file__).parent / "results"


def save_table(name: str, title: str, command: str, note: str, lines: Sequence[str]) -> Path:
    """Write a table with its command, date and versions; returns the file.

    Parameters
    ----------
    name : str
        Of the file, without its ending.
    title, command, note : str
        Head of the file, what makes it, and what its columns are.
    lines : sequence of str
        The table in Markdown.
    """
    made = (
        f"`python -m studies benchmark {command}`, {datetime.date.today().isoformat()}, "
        f"asperity {asp.__version__}, MuJoCo {mujoco.mj_versionString()}."
    )
    path = RESULTS / f"{name}.md"
    text = "\n".join([f"# {title}", "", f"{made} {note}", "", *lines])
    path.write_text(f"{text}\n", encoding="utf-8")
    return path
