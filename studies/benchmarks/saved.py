"""Tables of benchmarks that print Markdown, kept in ``results`` for the documents to quote."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["RESULTS", "machine", "save_table"]

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
