"""The robots of ``gymnasium_robotics`` with MuJoCo 4."""

from __future__ import annotations

import types
from typing import Any

import mujoco
import numpy as np

from asperity.errors import MissingExtra

__all__ = ["mend_robotics"]


class _WithNumbers:
    """The module ``mujoco`` with enumerations whose members are numbers."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(mujoco, name)
        if not name.startswith("mjt"):
            return value
        return types.SimpleNamespace(**{key: int(one) for key, one in value.__members__.items()})


def mend_robotics() -> None:
    """Let Fetch, the Shadow hands and the kitchen of gymnasium-robotics run with MuJoCo 4.

    Up to 1.4.2 their module ``mujoco_utils`` compares joint types, which are NumPy's integers, with
    members of enumerations, which MuJoCo 4 takes for unequal. Afterwards that module, and no other,
    sees members that are numbers. Where this is not needed, nothing changes.

    Raises
    ------
    MissingExtra
        If gymnasium-robotics is not installed.
    """
    try:
        from gymnasium_robotics.utils import mujoco_utils
    except ImportError:
        raise MissingExtra(
            "gymnasium-robotics is not installed; pip install gymnasium-robotics."
        ) from None
    kind = mujoco.mjtJoint.mjJNT_HINGE
    # As they compare: from the left, members equal no integer of NumPy's.
    broken = np.int32(int(kind)) not in (kind,)
    if broken and not isinstance(mujoco_utils.mujoco, _WithNumbers):
        mujoco_utils.mujoco = _WithNumbers()
