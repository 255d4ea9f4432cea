"""``python -m studies peers``: an environment with all engines that verification compares.

Newer wheels of Drake need a newer Python than Asperity does, so the newest one that is found makes
the environment. An engine that has no wheel for it is left out, and said.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = ("drake", "rapier3d[numpy]", "motrixsim")
"""Of the engines that Asperity does not need itself."""
OLDEST, NEWEST = 11, 14
"""Minor versions of Python 3 that Asperity runs on."""


def pythons() -> list[str]:
    """Interpreters that Asperity runs on, the newest first: those on the path, and pyenv's."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for minor in range(NEWEST, OLDEST - 1, -1):
        pyenvs = sorted(versions.glob(f"3.{minor}.*/bin/python"))
        for path in (shutil.which(f"python3.{minor}"), *map(str, pyenvs)):
            # pyenv's command on the path may stand for a version that is not chosen.
            if path is not None and _says([path, "-c", "import venv; print(venv.__name__)"]):
                found.append(path)
    return [*found, sys.executable]


def _says(command: Sequence[str]) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Make the environment; the number of engines that could not be installed is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m studies peers", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-peers", help="where")
    parser.add_argument("--python", help="the interpreter, by default the newest that is found")
    args = parser.parse_args(argv)
    python = args.python or pythons()[0]
    print(f"{args.folder} with {python}", flush=True)
    subprocess.run([python, "-m", "venv", str(args.folder)], check=True)
    pip = [str(args.folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-e", f"{ROOT}[reproduce]"], check=True)
    missing = []
    for package in PACKAGES:
        print(f"  {package}", flush=True)
        if subprocess.run([*pip, package], check=False).returncode != 0:
            missing.append(package)
    if missing:
        print(f"No wheels for this Python: {', '.join(missing)}. Their columns stay empty.")
    return len(missing)


if __name__ == "__main__":
    sys.exit(main())
