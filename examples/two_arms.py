"""Two Panda arms carry a box between them: ``python examples/two_arms.py``.

Both tools are springs in space (`impedance_control`), but for the line between them. There both
press with one force, the *internal* one, and a spring holds only the middle between them. The arms
therefore do not fight, whatever the width of the box. Torsional friction of the tools keeps the box
from turning about that line. By Coulomb the box is held as long as 2 μ F ≥ m (g + a). The robots
come with the extra ``assets``.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np
from impedance_control import POSE, Arm, follow, panda

import asperity as asp

FORCE = 30.0  # of each tool on the box [N]
FRICTION, TORSION = 0.8, 0.01  # [–, m]
MASS = 2.0  # [kg]
HALF_WIDTH, TOOL = 0.15, 0.02  # of the box, and radius of the tools [m]
STIFFNESS = 3000.0  # [N/m]
BEGIN = np.array([0.5, 0.0, 0.25])  # of the box [m]
END = np.array([0.45, 0.15, 0.45])
LIFT, DURATION = 1.0, 3.5  # when the motion begins and ends [s]
SIDES = (("left_", 1.0), ("right_", -1.0))


class Outcome(NamedTuple):
    """How the box was carried."""

    internal: np.ndarray
    """Internal force [N], from the beginning of the lift on."""
    slip: float
    """How far the box moved between the tools [m]."""
    offset: float
    """Of the box from its goal at the end [m]."""
    tilt: float
    """Largest angle by which it was turned [rad]."""


def scene() -> mujoco.MjSpec:
    """Two arms, and a box on a block."""
    spec = mujoco.MjSpec()
    for prefix, side in SIDES:
        frame = spec.worldbody.add_frame(pos=[0.0, side * 0.45, 0.0])
        spec.attach(panda(TOOL), prefix=prefix, frame=frame)
    box = spec.worldbody.add_body(name="box", pos=BEGIN)
    box.add_freejoint()
    size = [0.1, HALF_WIDTH, 0.1]
    friction = {"friction": [FRICTION, TORSION, 0.0], "condim": 4}
    kind = mujoco.mjtGeom.mjGEOM_BOX
    box.add_geom(type=kind, size=size, mass=MASS, name="box", **friction)
    for prefix, _ in SIDES:
        tool = spec.geom(prefix + "tool")
        tool.friction, tool.condim = friction["friction"], 4
    spec.worldbody.add_geom(type=kind, size=[0.1, 0.1, 0.05], pos=BEGIN - [0.0, 0.0, 0.15])
    return spec


def target(time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of the box [m, s]: a smooth step."""
    span = DURATION - LIFT
    s = np.clip((time - LIFT) / span, 0.0, 1.0)
    way = END - BEGIN
    return (
        BEGIN + way * s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
        way * 30.0 * s**2 * (1.0 - s) ** 2 / span,
        way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / span**2,
    )


def reach(
    model: mujoco.MjModel, data: mujoco.MjData, arm: Arm, place: np.ndarray, turned: np.ndarray
) -> None:
    """Put a tool somewhere, by inverse kinematics, and let the arm keep to that pose."""
    data.qpos[arm.qpos] = arm.pose
    jacobian, gap, quaternion = np.zeros((6, model.nv)), np.zeros(6), np.zeros(4)
    for _ in range(200):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        gap[:3] = place - data.site_xpos[arm.site]
        rotation = data.site_xmat[arm.site].reshape(3, 3)
        mujoco.mju_mat2Quat(quaternion, (turned @ rotation.T).ravel())
        mujoco.mju_quat2Vel(gap[3:], quaternion, 1.0)
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], arm.site)
        j = jacobian[:, arm.dofs]
        step = j.T @ np.linalg.solve(j @ j.T + 1e-3 * np.eye(6), gap)
        step += 0.05 * (np.eye(7) - np.linalg.pinv(j) @ j) @ (POSE - data.qpos[arm.qpos])
        data.qpos[arm.qpos] += np.clip(step, -0.2, 0.2)
    arm.pose = data.qpos[arm.qpos].copy()


def run(accuracy: float = 1e-3, force: float = FORCE) -> Outcome:
    """Carry the box with an accuracy [m, rad] and an internal force [N]."""
    model = scene().compile()
    data, scratch = mujoco.MjData(model), mujoco.MjData(model)
    arms, turned, touch = [], [], []
    for prefix, side in SIDES:
        # The tool's axis points at the box.
        turned.append(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -side], [0.0, side, 0.0]]))
        touch.append(np.array([0.0, side * (HALF_WIDTH + TOOL), 0.0]))
        arms.append(Arm(model, prefix))
        reach(model, data, arms[-1], BEGIN + 1.02 * touch[-1], turned[-1])
    across = np.diag([STIFFNESS, 0.0, STIFFNESS])

    def control(_model: mujoco.MjModel, data: mujoco.MjData) -> None:
        follow(model, scratch, data)
        place, velocity, acceleration = target(data.time)
        middle = 0.5 * sum(scratch.site_xpos[arm.site][1] for arm in arms)
        # They carry the weight once they have a grip.
        carried = np.clip(2.0 * data.time / LIFT - 1.0, 0.0, 1.0)
        each = 0.5 * MASS * carried * (acceleration - model.opt.gravity)
        each[1] += 0.5 * STIFFNESS * (place[1] - middle)
        for arm, goal, away, (_, side) in zip(arms, turned, touch, SIDES, strict=True):
            own = each - [0.0, side * force, 0.0]
            data.ctrl[arm.motors] = arm.torques(scratch, place + away, velocity, goal, across, own)

    sim = asp.Simulator(
        model,
        data=data,
        integrator=asp.Cenic(accuracy=accuracy),
        control=control,
        control_period=1e-3,
    )
    internal, places, tilt = [], [], 0.0
    for time in np.arange(LIFT, DURATION + 1.0, 0.02):
        sim.advance_to(time)
        box = sim.data.body("box")
        forces = [sim.contacts.of(prefix + "tool").force.sum(axis=0) for prefix, _ in SIDES]
        internal.append(0.5 * abs(forces[0][1] - forces[1][1]))
        tools = [sim.data.site(prefix + "tool").xpos for prefix, _ in SIDES]
        places.append(box.xmat.reshape(3, 3).T @ (0.5 * (tools[0] + tools[1]) - box.xpos))
        tilt = max(tilt, 2.0 * float(np.arccos(min(abs(box.xquat[0]), 1.0))))
    return Outcome(
        np.array(internal),
        float(np.linalg.norm(np.ptp(places, axis=0))),
        float(np.linalg.norm(box.xpos - END)),
        tilt,
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accuracy", type=float, default=1e-3, help="[m, rad]")
    found = run(parser.parse_args().accuracy)
    low, high = found.internal.min(), found.internal.max()
    print(f"The internal force stays within {low:.2f} and {high:.2f} N, asked are {FORCE:.0f}.")
    slip, turned = 1e3 * found.slip, np.degrees(found.tilt)
    print(f"The box slipped {slip:.2f} mm and turned by {turned:.2f}°,")
    print(f"and ends {1e3 * found.offset:.1f} mm from its goal.")


if __name__ == "__main__":
    main()
