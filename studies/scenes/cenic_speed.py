"""What the CENIC paper compares simulators on (VII-C): three bunnies, a quadruped without motors.

Both fall onto the ground. Of the bunny every engine collides the convex hull, as Drake's point
contact does. Boston Dynamics' Spot is in none of the packages; ANYmal C stands for it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from studies.scenes.robot_files import example_robot, load_robot

__all__ = ["BUNNY_HEIGHT", "BUNNY_MASS", "bunnies", "bunny_points", "quadruped"]

BUNNY_HEIGHT = 1.0  # [m], the paper's
BUNNY_MASS = 200.0  # [kg], the paper's
_STARTS = ((0.0, 0.0, 1.0), (0.05, 0.0, 2.2), (0.0, 0.05, 3.4))  # ours [m]
_DROP = 0.5  # of the quadruped, from where it would stand [m]; ours

# Body, head and two ears: half axes, and centres, before scaling to the height.
_STAND_IN = (
    ((0.32, 0.24, 0.28), (0.0, 0.0, 0.28)),
    ((0.17, 0.15, 0.16), (0.24, 0.0, 0.56)),
    ((0.05, 0.03, 0.2), (0.16, 0.07, 0.8)),
    ((0.05, 0.03, 0.2), (0.16, -0.07, 0.8)),
)


def bunny_points() -> tuple[NDArray[np.float64], bool]:
    """Corners of a bunny's hull, one metre high [m].

    Returns
    -------
    points : ndarray, shape (n, 3)
        About the middle of their box.
    real : bool
        Whether it is the Stanford bunny, which the package pybullet brings; otherwise it is one of
        four ellipsoids.
    """
    from scipy.spatial import ConvexHull

    spec = importlib.util.find_spec("pybullet_data")
    path = None if spec is None or spec.origin is None else Path(spec.origin).parent / "bunny.obj"
    real = path is not None and path.is_file()
    if real and path is not None:
        rows = [line.split()[1:4] for line in path.read_text().splitlines() if line[:2] == "v "]
        points = np.array(rows, dtype=np.float64)
        points = points[:, [0, 2, 1]] * (1.0, -1.0, 1.0)  # its file has y upwards
    else:
        sphere = np.random.default_rng(1).normal(size=(150, 3))
        sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
        points = np.concatenate([sphere * axes + centre for axes, centre in _STAND_IN])
    points = points[ConvexHull(points).vertices]
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - 0.5 * (low + high)) * (BUNNY_HEIGHT / (high - low)[2]), real


def bunnies() -> mujoco.MjModel:
    """Three bunnies above each other, a metre high and of 200 kg each."""
    points, _ = bunny_points()
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    spec.add_mesh(name="bunny", uservert=points.ravel())
    for i, start in enumerate(_STARTS):
        body = spec.worldbody.add_body(name=f"bunny_{i}", pos=start)
        body.add_freejoint()
        body.add_geom(
            name=f"bunny_{i}", type=mujoco.mjtGeom.mjGEOM_MESH, meshname="bunny", mass=BUNNY_MASS
        )
    return spec.compile()


def quadruped() -> mujoco.MjModel:
    """ANYmal C without motors, its feet half a metre above the ground.

    Raises
    ------
    MissingExtra
        If the package example-robot-data is not installed.
    """
    spec = load_robot(
        example_robot("anymal_c_simple_description/urdf/anymal.urdf"),
        floating_base=True,
        exclude_overlaps=True,
    )
    spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    model = spec.compile()
    data = mujoco.MjData(model)
    # Knees bent, as it stands.
    for leg, side in (("LF", 1.0), ("RF", 1.0), ("LH", -1.0), ("RH", -1.0)):
        for joint, angle in (("HFE", 0.4), ("KFE", -0.8)):
            model.qpos0[model.joint(f"{leg}_{joint}").qposadr[0]] = side * angle
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    moving = model.geom_bodyid > 0
    lowest = float((data.geom_xpos[moving, 2] - model.geom_rbound[moving]).min())
    model.qpos0[2] += _DROP - lowest
    return model
