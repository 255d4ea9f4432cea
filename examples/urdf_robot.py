"""A ROS-style robot replays a recorded motion: ``python examples/urdf_robot.py``.

The URDF names its mesh by ``package://``, as ROS packages do; the motion has the form of a
``trajectory_msgs/JointTrajectory``: names of joints, and points with times, positions and
velocities. Computed torque follows it, with the torque limits of the URDF, and the arm pushes a box
that stands in its way across the table. The program reports how well the arm followed, and where
the box went.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.interpolate import CubicHermiteSpline

import asperity as asp

URDF = """
<robot name="planar_arm">
  <link name="world"/>
  <link name="upper_arm">
    <inertial><origin xyz="0.2 0 0"/><mass value="2"/>
      <inertia ixx="0.002" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.2 0 0" rpy="0 1.5708 0"/>
      <geometry><cylinder radius="0.03" length="0.36"/></geometry></collision>
  </link>
  <link name="forearm">
    <inertial><origin xyz="0.15 0 0"/><mass value="1"/>
      <inertia ixx="0.001" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.17 0 0"/>
      <geometry><mesh filename="package://planar_arm/meshes/forearm.stl"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute"><parent link="world"/><child link="upper_arm"/>
    <origin xyz="0 0 0.05"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" effort="40" velocity="3"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper_arm"/><child link="forearm"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" effort="20" velocity="3"/></joint>
</robot>
"""
# As a recording of a JointTrajectory has it.
NAMES = ["shoulder", "elbow"]
TIMES = [0.0, 0.5, 1.0, 1.5, 2.0]
POSITIONS = [(-0.9, 0.9), (-0.7, 0.9), (-0.1, 0.7), (0.4, 0.5), (0.5, 0.5)]
VELOCITIES = [(0.0, 0.0), (0.8, -0.1), (1.2, -0.4), (0.6, -0.2), (0.0, 0.0)]
RATE = 500.0
"""Of the setpoints [1/s]."""

# Of the controller: errors decay as oscillators of 60 rad/s without overshoot.
STIFFNESS, DAMPING = 60.0**2, 2.0 * 60.0
BOX = np.array([0.62, 0.05])


class Outcome(NamedTuple):
    """How the replay went."""

    tracking_error: float
    """Largest of any joint [rad]."""
    torque: float
    """Largest of the shoulder [Nm]."""
    box: np.ndarray
    """Where the box ended [m], shape (2,)."""
    apart: float
    """Distance of arm and box at the end [m]; negative where they overlap, as springs do."""
    notes: tuple[str, ...]


def _write_package(folder: Path) -> Path:
    """A ROS package with the robot and its mesh; returns the URDF's path."""
    from asperity.geometry.surfaces import Surface  # any STL or OBJ would do
    from asperity.loading.surface_files import write_obj

    package = folder / "planar_arm"
    (package / "meshes").mkdir(parents=True)
    (package / "urdf").mkdir()
    (package / "package.xml").write_text("<package><name>planar_arm</name></package>")
    x, y, z = 0.17, 0.02, 0.025
    corners = np.array([(i, j, k) for i in (-x, x) for j in (-y, y) for k in (-z, z)])
    # Two triangles of each side, by their corners.
    sides = ["013", "032", "467", "475", "045", "051", "237", "276", "026", "064", "157", "173"]
    faces = np.array([[int(corner) for corner in side] for side in sides])
    write_obj(package / "meshes" / "forearm.obj", Surface(corners, faces))
    urdf = package / "urdf" / "arm.urdf"
    urdf.write_text(URDF.replace("forearm.stl", "forearm.obj"))
    return urdf


def run(accuracy: float = 1e-3) -> Outcome:
    """Replay the motion with an accuracy [m, rad]."""
    with tempfile.TemporaryDirectory() as folder:
        # `package://planar_arm` is found above the file, as in a workspace that was not built.
        spec, notes = asp.load_spec(_write_package(Path(folder)), floating_base=False)
        world = spec.worldbody
        world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1], friction=[0.5, 0, 0])
        box = world.add_body(name="box", pos=[*BOX, 0.05])
        box.add_freejoint()
        box.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.05, 0.05], mass=0.5)
        model = spec.compile()
    follow = asp.systems.InverseDynamicsController(
        NAMES, kp=STIFFNESS, kd=DAMPING, effort_limit=[40.0, 20.0]
    )
    path = CubicHermiteSpline(TIMES, POSITIONS, VELOCITIES)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy), systems=[follow])
    joints = [sim.data.joint(name) for name in NAMES]
    for joint, position in zip(joints, POSITIONS[0], strict=True):
        joint.qpos[0] = position
    error = torque = 0.0
    for time in np.arange(0.0, TIMES[-1], 1.0 / RATE):
        follow.target[:] = path(time)
        follow.target_velocity[:] = path(time, 1)
        follow.target_acceleration[:] = path(time, 2)
        sim.advance_to(time + 1.0 / RATE)
        angles = np.array([joint.qpos[0] for joint in joints])
        error = max(error, float(np.abs(angles - path(sim.time)).max()))
        torque = max(torque, float(abs(sim.system_output(follow)[0])))
    nearest = min(
        mujoco.mj_geomDistance(model, sim.data, geom, model.ngeom - 1, 1.0, None)
        for geom in range(model.ngeom - 1)
        if model.geom_bodyid[geom] != 0
    )
    return Outcome(error, torque, sim.data.body("box").xpos[:2].copy(), float(nearest), notes.notes)


def main() -> None:
    """Run from the command line."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    found = run()
    for note in found.notes:
        print(f"note: {note}")
    print(f"largest error of a joint {1e3 * found.tracking_error:.2f} mrad")
    print(f"largest torque of the shoulder {found.torque:.2f} Nm, of 40")
    moved = 1e3 * (found.box - BOX)
    print(f"the box moved by {moved[0]:.1f} mm in x and {moved[1]:.1f} mm in y")
    print(f"arm and box are {1e6 * found.apart:.1f} µm apart")


if __name__ == "__main__":
    main()
