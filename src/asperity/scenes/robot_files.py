"""Robot models from the packages of the extra ``assets``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from asperity.errors import ModelError

__all__ = ["example_robot"]


def example_robot(path: str) -> Path:
    """A file of the package example-robot-data, which is found without importing it.

    Parameters
    ----------
    path : str
        Relative to the folder of robots, such as ``panda_description/urdf/panda.urdf``.

    Raises
    ------
    ModelError
        If the package is not installed, or has no such file.
    """
    spec = importlib.util.find_spec("cmeel")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent.parent / "cmeel.prefix/share/example-robot-data/robots"
        if (root / path).is_file():
            return root / path
    raise ModelError(
        f"robot file {path} needs the Python package example-robot-data; install it with "
        "'pip install \"asperity[assets]\"'."
    )
