"""Build wheels with machine code in them, and try them: ``python release/build_wheel.py``.

A simulation that uses such a wheel compiles nothing on processors of x86-64-v3, which are those
from 2013 on. Others, and another version of Numba or other structs of MuJoCo than those with which
the wheel was made, compile at the first step as a checkout does. There is one wheel for each minor
version of Python; ``--python`` names their interpreters.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_COPIED = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "machine_code", "site")
MODELS = ("robot", "pile")
METHODS = ("Cenic", "Icf", "Sap", "Tamsi", "Midas", "Batch")


def _new_environment(python: str, folder: Path, *packages: str) -> str:
    """Make a virtual environment with some packages; returns its interpreter."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    inside = str(folder / "bin" / "python")
    subprocess.run([inside, "-m", "pip", "install", "--quiet", *packages], check=True)
    return inside


def _clean() -> dict[str, str]:
    """Environment of processes that find no other Asperity and no code compiled before."""
    left_out = ("PYTHONPATH", "NUMBA_CACHE_DIR", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def build(python: str, out: Path) -> Path:
    """Build a wheel for an interpreter, with the newest packages that it may use."""
    with tempfile.TemporaryDirectory() as folder:
        copy, made = Path(folder) / "asperity", Path(folder) / "made"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
        inside = _new_environment(python, Path(folder) / "env", "--editable", str(copy))
        command = [inside, "-m", "asperity.compiled", "--wheel"]
        subprocess.run(command, env=_clean(), check=True, cwd=folder)
        command = [inside, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(made), str(copy)]
        subprocess.run(command, check=True, cwd=folder)
        (wheel,) = made.iterdir()
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, out))


def try_it(python: str, wheel: Path) -> Iterator[str]:
    """Install a wheel in a new environment; yields how long first steps take there."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        inside = _new_environment(python, Path(folder) / "env", str(wheel))
        for model in MODELS:
            for method in METHODS:
                done = subprocess.run(
                    [inside, str(ROOT / "release" / "first_step.py"), model, method],
                    cwd=folder,
                    env={**_clean(), "HOME": str(home)},
                    capture_output=True,
                    text=True,
                )
                if done.returncode != 0:
                    raise SystemExit(f"{model}, {method}: {done.stderr}")
                wall, processor = (float(one) for one in done.stdout.split())
                yield f"{model}, {method}: {wall:.2f} s ({processor:.2f} s of the processor)"
        # What other processes have compiled would be here.
        kept = [file for file in Path(folder).rglob("*.nbi") if "machine_code" not in file.parts]
        if kept:
            raise SystemExit(f"{len(kept)} functions were compiled again, such as {kept[0].name}.")


def main() -> None:
    """Build wheels, and try them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheels go")
    parser.add_argument(
        "--python", nargs="+", default=[sys.executable], help="interpreters, this one by default"
    )
    parser.add_argument("--only-try", type=Path, metavar="WHEEL", help="a wheel that is there")
    arguments = parser.parse_args()
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        parser.error("machine code is made for Linux on x86-64 alone; use python -m build")
    for python in arguments.python:
        begin = time.perf_counter()
        wheel = arguments.only_try or build(python, arguments.out)
        files = len(zipfile.ZipFile(wheel).namelist())
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, {files} files", end="", flush=True)
        print(f", after {time.perf_counter() - begin:.0f} s")
        for report in try_it(python, wheel):
            print(f"import and first step in a new environment: {report}", flush=True)
    print("Nothing was compiled there.")


if __name__ == "__main__":
    main()
