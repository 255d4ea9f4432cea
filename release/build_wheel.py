"""Build a wheel with machine code in it, and try it: ``python release/build_wheel.py``.

A simulation that uses this wheel compiles nothing on processors of x86-64-v3, which are those from
2013 on. Others, and another version of Numba or other structs of MuJoCo than in the environment in
which this runs, compile at the first step as a checkout does. There is one wheel for each minor
version of Python: run this with each, in an environment that has Asperity and ``build`` installed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_COPIED = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "machine_code", "site")

FIRST_STEP = """
import time
begin = time.perf_counter()
import asperity as asp
model = (
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/>"
    "<geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>"
)
simulator = asp.Simulator(model, integrator=asp.{integrator})
simulator.advance_to(0.05)
print(time.perf_counter() - begin)
"""
"""Prints how long a new process takes from its first import to the end of a first call [s]."""

INTEGRATORS = (
    "Cenic(accuracy=1e-3)",
    "Icf(time_step=0.01)",
    "Sap(time_step=0.01)",
    "Tamsi(time_step=0.001)",
    "Midas(time_step=0.01)",
)


def _compile_everything() -> None:
    """Compile every entry point and loop of the package, in the copy of it in the path."""
    import asperity
    from asperity.compiled import EntryPoint, Loop
    from asperity.compiled.compilation import compile_kernels

    kernels = {}
    for module in pkgutil.walk_packages(asperity.__path__, "asperity."):
        if module.name in ("asperity.__main__", "asperity.compiled.worker"):
            continue
        try:
            found = vars(importlib.import_module(module.name))
        except (ImportError, asperity.AsperityError) as error:
            # An extra that is not installed; nothing is compiled there.
            print(f"left out {module.name}: {error}")
            continue
        for value in found.values():
            if isinstance(value, EntryPoint | Loop):
                kernels[value.name] = value
    print(f"{len(kernels)} functions are compiled …", flush=True)
    begin = time.perf_counter()
    compile_kernels(list(kernels.values()), "a wheel")
    for integrator in INTEGRATORS:
        # What Python calls with types of its own choice is compiled when it is called.
        exec(FIRST_STEP.format(integrator=integrator), {})
    print(f"… in {time.perf_counter() - begin:.0f} s")


def _environment(source: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return {**environment, "PYTHONPATH": str(source)}


def build(out: Path) -> Path:
    """Build a wheel for this Python; returns its path."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "asperity"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
        source = copy / "src"
        sys.path.insert(0, str(ROOT / "src"))
        from asperity.compiled.shipped_code import SHIPPING

        environment = {**_environment(source), **SHIPPING}
        command = [sys.executable, str(copy / "release" / "build_wheel.py"), "--compile-here"]
        subprocess.run(command, env=environment, check=True, cwd=folder)
        made = Path(folder) / "made"
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(made), str(copy)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        (wheel,) = made.iterdir()
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, out))


def try_it(wheel: Path) -> dict[str, float]:
    """Install a wheel in a new environment; returns the time of first steps there [s]."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        venv.create(Path(folder) / "env", with_pip=True)
        python = str(Path(folder) / "env" / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", str(wheel)]
        subprocess.run(install, check=True, cwd=folder)
        environment = {**os.environ, "HOME": str(home)}
        environment.pop("PYTHONPATH", None)
        for integrator in INTEGRATORS:
            script = FIRST_STEP.format(integrator=integrator)
            done = subprocess.run(
                [python, "-c", script], cwd=folder, env=environment, capture_output=True, text=True
            )
            if done.returncode != 0 or "compiles" in done.stderr:
                raise SystemExit(f"{integrator} has failed or was compiled again:\n{done.stderr}")
            times[integrator] = float(done.stdout)
    return times


def main() -> None:
    """Build a wheel, and try it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheel goes")
    parser.add_argument("--compile-here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.compile_here:
        _compile_everything()
        return
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        parser.error("machine code is made for Linux on x86-64 alone; use python -m build")
    wheel = build(arguments.out)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    for integrator, seconds in try_it(wheel).items():
        print(f"import and first step in a new environment, {integrator}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
