"""Robot models that come in packages of the ``[assets]`` extra, found without importing those.

The packages hold far more models; these cover arms, grippers, hands, quadrupeds and humanoids, as
URDF and as MJCF, with meshes and primitives, with mimic joints, tendons, dry friction, springs and
several kinematic trees.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from asperity.loading import LoadReport, load_model

__all__ = ["ROBOTS", "Robot", "robot"]


@dataclass(frozen=True)
class Robot:
    """One model.

    Attributes
    ----------
    name : str
    module : str
        An importable name next to which the package's data lies; it is never imported.
    package : str
        The name on PyPI.
    path : str
        The model, relative to the folder that holds the module.
    floating : bool
        Whether its base has a free joint.
    overlaps : bool
        Whether neighbouring links overlap by design and must be kept from colliding.
    height : float
        Height of the base [m] at which a floating robot stands with ``pose``.
    pose : dict of str to float
        Joint positions [rad or m] that differ from the model's initial ones.
    sizes : tuple of int
        Expected nv, ngeom, nactuator, neq, ntendon, ntree.
    """

    name: str
    module: str
    package: str
    path: str
    sizes: tuple[int, int, int, int, int, int]
    floating: bool = False
    overlaps: bool = False
    height: float = 0.0
    pose: dict[str, float] = field(default_factory=dict)

    def find(self) -> Path:
        """Path of the model; skips the test if its package is not installed."""
        spec = importlib.util.find_spec(self.module)
        if spec is not None and spec.origin is not None:
            # The origin is SITE/module/__init__.py.
            path = Path(spec.origin).parent.parent / self.path
            if path.is_file():
                return path
        pytest.skip(f"{self.name} needs the package {self.package}: pip install asperity[assets]")

    def load(self) -> tuple[mujoco.MjModel, LoadReport]:
        """Load the model, floating or fixed as the catalogue says."""
        path = self.find()
        if path.suffix == ".urdf":
            return load_model(path, floating_base=self.floating, exclude_overlaps=self.overlaps)
        return load_model(path)

    def initial_qpos(self, model: mujoco.MjModel) -> np.ndarray:
        """Positions in the pose of the catalogue [m, rad, quaternion], shape (nq,)."""
        qpos = model.qpos0.copy()
        for name, value in self.pose.items():
            qpos[model.joint(name).qposadr[0]] = value
        if self.floating and self.height:
            qpos[2] = self.height
        return qpos


_FOLDER = "cmeel.prefix/share/example-robot-data/robots"
_ENVS = "gymnasium_robotics/envs"


def _urdf(name: str, path: str, **options: Any) -> Robot:
    return Robot(name, "cmeel", "example-robot-data", f"{_FOLDER}/{path}", **options)


def _mjcf(name: str, path: str, **options: Any) -> Robot:
    return Robot(name, "gymnasium_robotics", "gymnasium-robotics", f"{_ENVS}/{path}", **options)


_PANDA = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
_GO2_LEGS = {"thigh": 0.9, "calf": -1.8}
_SOLO_LEGS = {"FL": 1.0, "FR": 1.0, "HL": -1.0, "HR": -1.0}

ROBOTS = (
    _urdf(
        "panda",
        "panda_description/urdf/panda.urdf",
        sizes=(9, 17, 0, 1, 0, 1),
        pose={f"panda_joint{i + 1}": q for i, q in enumerate(_PANDA)}
        | {"panda_finger_joint1": 0.03, "panda_finger_joint2": 0.03},
    ),
    Robot(
        "iiwa14",
        module="rtbdata",
        package="rtb-data",
        path="rtbdata/xacro/kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf",
        sizes=(7, 8, 0, 0, 0, 1),
        pose={"joint_a2": 0.6, "joint_a4": -1.2, "joint_a6": 0.8},
    ),
    _urdf(
        "ur5",
        "ur_description/urdf/ur5_robot.urdf",
        sizes=(6, 8, 0, 0, 0, 1),
        pose={"shoulder_lift_joint": -1.2, "elbow_joint": 1.5},
    ),
    _urdf(
        "xarm7",
        "xarm_description/urdf/xarm7.urdf",
        sizes=(7, 8, 0, 0, 0, 1),
    ),
    _urdf(
        "baxter",
        "baxter_description/urdf/baxter.urdf",
        sizes=(19, 41, 0, 2, 0, 3),
        overlaps=True,
    ),
    _urdf(
        "allegro",
        "allegro_hand_description/urdf/allegro_right_hand.urdf",
        sizes=(16, 21, 0, 0, 0, 4),
        overlaps=True,
        pose={"joint_12.0": 0.6},
    ),
    _urdf(
        "go2",
        "go2_description/urdf/go2.urdf",
        sizes=(18, 19, 0, 0, 0, 1),
        floating=True,
        overlaps=True,
        height=0.30,
        pose={
            f"{leg}_{part}_joint": angle
            for leg in ("FL", "FR", "RL", "RR")
            for part, angle in _GO2_LEGS.items()
        },
    ),
    _urdf(
        "solo12",
        "solo_description/robots/solo12.urdf",
        sizes=(18, 17, 0, 0, 0, 1),
        floating=True,
        overlaps=True,
        height=0.26,
        pose={
            f"{leg}_{part}": side * angle
            for leg, side in _SOLO_LEGS.items()
            for part, angle in (("HFE", 0.8), ("KFE", -1.6))
        },
    ),
    _urdf(
        "g1",
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        sizes=(35, 36, 0, 0, 0, 1),
        floating=True,
        height=0.80,
    ),
    _urdf(
        "g1_with_hands",
        "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
        sizes=(49, 52, 0, 0, 0, 1),
        floating=True,
        height=0.80,
    ),
    _urdf(
        "talos",
        "talos_data/robots/talos_reduced.urdf",
        sizes=(38, 52, 0, 0, 0, 1),
        floating=True,
        overlaps=True,
        height=1.08,
    ),
    _mjcf(
        "shadow_hand",
        "assets/hand/reach.xml",
        sizes=(24, 46, 20, 0, 44, 1),
    ),
    _mjcf(
        "shadow_hand_block",
        "assets/hand/manipulate_block.xml",
        sizes=(36, 49, 20, 0, 44, 3),
    ),
    _mjcf(
        "adroit_hand_door",
        "assets/adroit_hand/adroit_door.xml",
        sizes=(30, 60, 28, 0, 44, 2),
    ),
    _mjcf(
        "fetch",
        "assets/fetch/pick_and_place.xml",
        sizes=(21, 24, 2, 1, 0, 2),
    ),
    _mjcf(
        "franka_kitchen",
        "assets/kitchen_franka/kitchen_assets/kitchen_env_model.xml",
        sizes=(29, 240, 9, 5, 0, 16),
    ),
    _mjcf(
        "ant",
        "mujoco/assets/ant.xml",
        sizes=(14, 14, 8, 0, 0, 1),
        floating=True,
    ),
    _mjcf(
        "humanoid",
        "mujoco/assets/humanoid.xml",
        sizes=(23, 18, 17, 0, 2, 1),
        floating=True,
    ),
)


def robot(name: str) -> Robot:
    """The catalogue's entry of that name."""
    return next(entry for entry in ROBOTS if entry.name == name)
