"""Robot models from the packages of the extra ``assets``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from asperity.errors import MissingExtra

__all__ = ["example_robot", "iiwa_file"]

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
    spec = importlib.util.find_spec("cmeel")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots"
        if (root / path).is_file():
            return root / path
    raise MissingExtra(
        f"robot file {path} needs the Python package example-robot-data; install it with "
        "'pip install \"asperity[assets]\"'."
    )


def iiwa_file() -> Path:
    """The URDF of a KUKA LBR iiwa 14, of the package rtb-data.

    Raises
    ------
    MissingExtra
        If the package is not installed.
    """
    spec = importlib.util.find_spec("rtbdata")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / _IIWA
        if path.is_file():
            return path
    raise MissingExtra(
        f"robot file {_IIWA} needs the Python package rtb-data; install it with "
        "'pip install \"asperity[assets]\"'."
    )
