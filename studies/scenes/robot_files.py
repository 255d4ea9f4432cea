"""Robot models from the packages of the extra ``assets``."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import mujoco

from asperity.errors import MissingExtra
from asperity.loading import load_spec

__all__ = ["example_robot", "iiwa_file", "load_robot", "panda"]

_IIWA = "xacro/kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf"


def example_robot(path: str) -> Path:
    """A file of the package example-robot-data, which is found without importing it.

    Parameters
    ----------
    path : str
        Relative to the folder of robots, such as ``panda_description/urdf/panda.urdf``.

    Raises
    ------
    MissingExtra
        If the package is not installed, or has no such file.
    """
    folder = "cmeel.prefix/share/example-robot-data/robots"
    return _installed("example-robot-data", "cmeel", f"../{folder}", path)


def load_robot(file: Path, **options: Any) -> mujoco.MjSpec:
    """A robot without what its URDF says to Asperity alone, of velocities and contact.

    So it is the same robot as in other engines. ``options`` are those of `asperity.load_spec`.
    """
    spec, _ = load_spec(file, **options)
    for text in list(spec.texts):
        spec.delete(text)
    return spec


def panda() -> mujoco.MjSpec:
    """A Franka Emika Panda on its base, with fingers that are independent of each other.

    Raises
    ------
    MissingExtra
        If the extra ``assets`` is not installed.
    """
    file = example_robot("panda_description/urdf/panda.urdf")
    spec = load_robot(file, floating_base=False, exclude_overlaps=True)
    # The file couples the second finger to the first.
    for equality in list(spec.equalities):
        spec.delete(equality)
    return spec


def iiwa_file() -> Path:
    """The URDF of a KUKA LBR iiwa 14, of the package rtb-data.

    Raises
    ------
    MissingExtra
        If the package is not installed.
    """
    return _installed("rtb-data", "rtbdata", ".", _IIWA)


def _installed(package: str, module: str, folder: str, path: str) -> Path:
    """A file of a package that has a module, in a folder that begins at the module's."""
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.origin is not None:
        file = Path(os.path.normpath(Path(spec.origin).parent / folder / path))
        if file.is_file():
            return file
    raise MissingExtra(
        f"robot file {path} needs the Python package {package}; install it with "
        "'pip install \"asperity[assets]\"'."
    )
