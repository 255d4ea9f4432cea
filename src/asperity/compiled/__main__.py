"""Compile everything ahead of use: ``python -m asperity.compiled``.

The code goes where a simulation would keep it, so that none compiles anything later. With
``--wheel`` it goes into the package, for all processors of x86-64-v3, from where a wheel takes it
(`asperity.compiled.shipped_code`).
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

import asperity
from asperity.compiled.compilation import compile_kernels
from asperity.compiled.decorators import EntryPoint, Kernel, Loop
from asperity.compiled.shipped_code import FOLDER, SHIPPING, is_shipping

__all__: list[str] = []

_PROGRAMS = ("__main__", "worker")


def _all_kernels() -> list[Kernel]:
    """Find the entry points and loops of all modules that can be imported here."""
    found: dict[str, Kernel] = {}
    for module in pkgutil.walk_packages(asperity.__path__, "asperity."):
        if module.name.rpartition(".")[2] in _PROGRAMS:
            continue
        try:
            values = vars(importlib.import_module(module.name)).values()
        except (ImportError, asperity.AsperityError) as error:
            # A package that is not installed. What needs an extra has no kernels.
            print(f"{module.name} is left out: {error}")
            continue
        found.update((one.name, one) for one in values if isinstance(one, EntryPoint | Loop))
    return list(found.values())


def _compile(kernels: list[Kernel]) -> None:
    """Compile kernels, with a bar in a terminal."""
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        missing = [kernel for kernel in kernels if not kernel.load()]
        task = bar.add_task("Compiling", total=len(missing))
        compile_kernels(missing, progress=lambda: bar.advance(task))


def main() -> int:
    """Compile everything; returns an exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m asperity.compiled",
        description="Compile everything ahead of use, such as in the image of a container.",
    )
    parser.add_argument(
        "--wheel", action="store_true", help=f"for x86-64-v3, in {FOLDER}, for a wheel"
    )
    if parser.parse_args().wheel and not is_shipping():
        # Numba reads these when it is imported.
        shutil.rmtree(FOLDER, ignore_errors=True)
        command = [sys.executable, "-m", "asperity.compiled", "--wheel"]
        return subprocess.run(command, env={**os.environ, **SHIPPING}).returncode
    begin = time.perf_counter()
    kernels = _all_kernels()
    _compile(kernels)
    seconds = time.perf_counter() - begin
    print(f"{len(kernels)} functions are ready after {seconds:.0f} s", end="")
    if is_shipping():
        files = [file for file in Path(FOLDER).rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        print(f": {len(files)} files with {size / 1e6:.1f} MB in {FOLDER}", end="")
    print(".")
    return 0


if __name__ == "__main__":
    sys.exit(main())
