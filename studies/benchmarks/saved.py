"""Tables of benchmarks that print Markdown, kept in ``results`` for the documents to quote."""

from __future__ import annotations

import csv
import datetime
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "Table", "machine", "save_rows", "save_table"]

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("asperity", "mujoco", "mujoco-core", "drake", "pybullet", "numba", "numpy")


def _command() -> str:
    """The benchmark that runs, with its options; of paths of this machine their last part."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.stem == "__main__" else program.stem
    words = [Path(word).name if word.startswith("/") else word for word in sys.argv[1:]]
    return shlex.join(["python", "-m", "studies", "benchmark", name, *words])


def machine() -> str:
    """The command that runs, the date, the processor, the system and versions of packages."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    installed = []
    for package in PACKAGES:
        try:
            installed.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return (
        f"`{_command()}`, {datetime.date.today().isoformat()}. "
        f"{model} ({os.cpu_count()} logical cores), {system}; {', '.join(installed)}."
    )


def save_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as a CSV file, whose folder is made if need be."""
    listed = list(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)


def save_table(name: str, title: str, note: str, lines: Sequence[str]) -> Path:
    """Write a table with the command that made it, date and versions; returns the file.

    Parameters
    ----------
    name : str
        Of the file, without its ending.
    title, note : str
        Head of the file, and what its columns are.
    lines : sequence of str
        The table in Markdown.
    """
    path = RESULTS / f"{name}.md"
    text = "\n".join([f"# {title}", "", f"{machine()} {note}", "", *lines])
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


class Table:
    """A table in Markdown, whose rows are printed as they are found.

    Parameters
    ----------
    *head : str
        Of its columns.
    """

    def __init__(self, *head: str) -> None:
        self.lines: list[str] = []
        self.begin(*head)

    def begin(self, *head: str, text: str = "") -> None:
        """Begin another table below, after a paragraph."""
        if text:
            self._print("", text, "")
        self._print(f"| {' | '.join(head)} |", "|---" * len(head) + "|")

    def add(self, *cells: object) -> None:
        """Add a row."""
        self._print(f"| {' | '.join(map(str, cells))} |")

    def _print(self, *lines: str) -> None:
        self.lines += lines
        print("\n".join(lines), flush=True)

    def save(self, name: str, title: str, note: str) -> Path:
        """See `save_table`."""
        return save_table(name, title, note, self.lines)
