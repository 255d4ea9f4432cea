"""Environments of Gymnasium, and Gymnasium's own with Asperity's step (extra ``rl``).

Importing this package registers ``asperity/PegInHole-v0``, ``asperity/PegInHoleTight-v0``, and
``asperity/Ant-v5``, HalfCheetah, Hopper, Humanoid and Walker2d.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from asperity.errors import MissingExtra

try:
    import gymnasium
except ImportError:
    raise MissingExtra(
        "asperity.envs needs gymnasium, which is not installed; pip install 'asperity[rl]'."
    ) from None

if TYPE_CHECKING:
    from asperity.envs.array_task import ArrayTask
    from asperity.envs.batch_vector import Outcome
    from asperity.envs.patched import with_asperity
    from asperity.envs.peg_in_hole import PegInHoleEnv
    from asperity.envs.peg_task import PegTask
    from asperity.envs.peg_variation import PegVariation
    from asperity.envs.peg_vector import PegInHoleVectorEnv
    from asperity.envs.robot_vector import RobotVectorEnv
    from asperity.envs.robotics import mend_robotics
    from asperity.envs.sb3 import Sb3VecEnv

__all__ = [
    "ArrayTask",
    "Outcome",
    "PegInHoleEnv",
    "PegInHoleVectorEnv",
    "PegTask",
    "PegVariation",
    "RobotVectorEnv",
    "Sb3VecEnv",
    "mend_robotics",
    "with_asperity",
]
if importlib.util.find_spec("stable_baselines3") is None:
    __all__.remove("Sb3VecEnv")

# Imported on first use: what is compiled takes its time, and stable-baselines3 brings PyTorch.
_HOMES = {
    "ArrayTask": "array_task",
    "Outcome": "batch_vector",
    "PegInHoleEnv": "peg_in_hole",
    "PegInHoleVectorEnv": "peg_vector",
    "PegTask": "peg_task",
    "PegVariation": "peg_variation",
    "RobotVectorEnv": "robot_vector",
    "Sb3VecEnv": "sb3",
    "mend_robotics": "robotics",
    "with_asperity": "patched",
}

for _name, _margin in (("PegInHole", 5e-4), ("PegInHoleTight", 1e-4)):
    gymnasium.register(
        id=f"asperity/{_name}-v0",
        entry_point="asperity.envs:PegInHoleEnv",
        vector_entry_point="asperity.envs:PegInHoleVectorEnv",
        kwargs={"margin": _margin},
    )

for _robot in ("Ant", "HalfCheetah", "Hopper", "Humanoid", "Walker2d"):
    gymnasium.register(
        id=f"asperity/{_robot}-v5",
        entry_point="asperity.envs.robot_vector:make_robot",
        vector_entry_point="asperity.envs.robot_vector:RobotVectorEnv",
        max_episode_steps=1000,
        kwargs={"env": f"{_robot}-v5"},
    )


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'asperity.envs' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"asperity.envs.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
