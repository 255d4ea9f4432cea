"""A Panda arm wipes a board under impedance control: ``python examples/impedance_control.py``.

The tool is a spring and a damper in space, τ = Jᵀ (K e + D ė + f) + c(q, q̇), with stiffness along
the board and about all axes. Along the board's normal it has none, and there f presses. Nothing
measures forces. Contact must therefore deliver F along the normal, and friction μ F, by which the
tool lags μ F/K behind its target. The robot comes with the extra ``assets``.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

POSE = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785])  # [rad]
MIDDLE = np.array([0.45, 0.0, 0.3])  # of the board's top [m]
TILT = np.radians(20.0)  # of the board, about y
FRICTION = 0.3
FORCE = 20.0  # [N]
STIFFNESS = 2000.0  # [N/m]
TURNING_STIFFNESS = 50.0  # [N m/rad]
RADIUS, PERIOD = 0.06, 3.0  # of the circles [m, s]
BOARD = np.array([[np.cos(TILT), 0, np.sin(TILT)], [0, 1, 0], [-np.sin(TILT), 0, np.cos(TILT)]])
SETTLING = 1.5  # until the tool presses and follows [s]


def panda(tool: float) -> mujoco.MjSpec:
    """The arm with a ball of a radius [m] for a tool, and motors."""
    found = importlib.util.find_spec("cmeel")
    if found is None or found.origin is None:
        raise SystemExit("This example needs example-robot-data: pip install 'asperity[assets]'.")
    data = Path(found.origin).parent.parent / "cmeel.prefix/share/example-robot-data"
    file = data / "robots/panda_description/urdf/panda.urdf"
    spec, _ = asp.load_spec(file, floating_base=False)
    for equality in list(spec.equalities):
        spec.delete(equality)
    for finger in ("panda_leftfinger", "panda_rightfinger"):
        spec.delete(spec.body(finger))
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    wrist = spec.body("panda_link7")
    tip = [0.0, 0.0, 0.22]
    wrist.add_geom(
        type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[tool, 0, 0], pos=tip, mass=0.1, name="tool"
    )
    wrist.add_site(name="tool", pos=tip)
    for joint in spec.joints:
        motor = spec.add_actuator(name=joint.name, target=joint.name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
    return spec


class Arm:
    """Impedance of one arm's tool.

    Parameters
    ----------
    model : mujoco.MjModel
    prefix : str
        Of the arm's names.
    pose : ndarray, shape (7,)
        Which redundancy keeps near [rad].
    """

    def __init__(self, model: mujoco.MjModel, prefix: str = "", pose: np.ndarray = POSE) -> None:
        self.model, self.pose = model, pose
        self.site = model.site(prefix + "tool").id
        joints = [model.joint(f"{prefix}panda_joint{i + 1}").id for i in range(7)]
        self.qpos, self.dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        self.motors = [model.actuator(f"{prefix}panda_joint{i + 1}").id for i in range(7)]

    def torques(
        self,
        data: mujoco.MjData,
        target: np.ndarray,
        velocity: np.ndarray,
        rotation: np.ndarray,
        stiffness: np.ndarray,
        force: np.ndarray,
    ) -> np.ndarray:
        """Of the motors [N m], shape (7,).

        Parameters
        ----------
        data : mujoco.MjData
            After `follow`.
        target, velocity : ndarray, shape (3,)
            Of the tool [m, m/s].
        rotation : ndarray, shape (3, 3)
            Of the tool.
        stiffness : ndarray, shape (3, 3)
            [N/m].
        force : ndarray, shape (3,)
            That the tool exerts beside that [N].
        """
        model, dofs = self.model, self.dofs
        jacobian = np.zeros((6, model.nv))
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], self.site)
        jacobian = jacobian[:, dofs]
        inertia = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, inertia)
        inverse = np.linalg.inv(inertia[np.ix_(dofs, dofs)])
        task = np.linalg.inv(jacobian @ inverse @ jacobian.T)
        gap, turn = target - data.site_xpos[self.site], np.zeros(3)
        quaternion = np.zeros(4)
        turned = rotation @ data.site_xmat[self.site].reshape(3, 3).T
        mujoco.mju_mat2Quat(quaternion, turned.ravel())
        mujoco.mju_quat2Vel(turn, quaternion, 1.0)
        spring = np.zeros((6, 6))
        spring[:3, :3] = stiffness
        spring[3:, 3:] = TURNING_STIFFNESS * np.eye(3)
        # Critical damping of the inertia that the tool has, and some where there is no spring.
        root = np.linalg.cholesky(task)
        other = np.linalg.inv(root)
        size, axes = np.linalg.eigh(other @ spring @ other.T)
        damping = root @ (axes * (2.0 * np.sqrt(np.maximum(size, 100.0)))) @ axes.T @ root.T
        slip = np.concatenate([velocity, np.zeros(3)]) - jacobian @ data.qvel[dofs]
        wrench = spring @ np.concatenate([gap, turn]) + damping @ slip
        wrench[:3] += force
        # What does not move the tool keeps the elbow near its pose.
        posture = 20.0 * (self.pose - data.qpos[self.qpos]) - 5.0 * data.qvel[dofs]
        posture -= jacobian.T @ (task @ (jacobian @ (inverse @ posture)))
        return jacobian.T @ wrench + posture + data.qfrc_bias[dofs]


def follow(model: mujoco.MjModel, scratch: mujoco.MjData, data: mujoco.MjData) -> None:
    """Kinematics, inertia and bias forces of a state, as a controller computes them."""
    scratch.qpos[:], scratch.qvel[:] = data.qpos, data.qvel
    mujoco.mj_kinematics(model, scratch)
    mujoco.mj_comPos(model, scratch)
    mujoco.mj_makeM(model, scratch)
    mujoco.mj_comVel(model, scratch)
    mujoco.mj_rne(model, scratch, 0, scratch.qfrc_bias)


class Outcome(NamedTuple):
    """What the board felt, and where the tool was, while it wiped."""

    force: float
    """Mean normal force [N]."""
    ripple: float
    """Its largest deviation from the mean [N]."""
    friction: float
    """Mean ratio of the tangential to the normal force."""
    lag: float
    """Mean distance of the tool behind its target, along the way [m]."""


def target(time: float) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of the tool [m, m/s]: a circle on the board."""
    angle, rate = 2.0 * np.pi * time / PERIOD, 2.0 * np.pi / PERIOD
    place = RADIUS * np.array([np.cos(angle), np.sin(angle)])
    change = RADIUS * rate * np.array([-np.sin(angle), np.cos(angle)])
    return MIDDLE + BOARD[:, :2] @ place, BOARD[:, :2] @ change


def run(accuracy: float = 1e-3, duration: float = SETTLING + PERIOD) -> Outcome:
    """Wipe circles with an accuracy [m, rad]."""
    spec = panda(0.02)
    normal = BOARD[:, 2]
    board = spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[0.2, 0.2, 0.01],
        pos=MIDDLE - 0.01 * normal,
        quat=[np.cos(TILT / 2), 0.0, np.sin(TILT / 2), 0.0],
    )
    spec.geom("tool").friction[0] = board.friction[0] = FRICTION
    model = spec.compile()
    scratch = mujoco.MjData(model)
    arm = Arm(model)
    stiffness = STIFFNESS * BOARD[:, :2] @ BOARD[:, :2].T
    # The tool points against the normal.
    turned = BOARD @ np.diag([1.0, -1.0, -1.0])

    def control(_model: mujoco.MjModel, data: mujoco.MjData) -> None:
        follow(model, scratch, data)
        place, velocity = target(data.time)
        data.ctrl[arm.motors] = arm.torques(
            scratch, place, velocity, turned, stiffness, -FORCE * normal
        )

    sim = asp.Simulator(
        model, integrator=asp.Cenic(accuracy=accuracy), control=control, control_period=1e-3
    )
    sim.data.qpos[:] = POSE
    forces, frictions, lags = [], [], []
    for time in np.arange(SETTLING, duration, 0.02):
        sim.advance_to(time)
        force = sim.contacts.force.sum(axis=0)
        forces.append(abs(force @ normal))
        frictions.append(np.linalg.norm(force - (force @ normal) * normal) / forces[-1])
        place, velocity = target(sim.time)
        gap = place - sim.data.site("tool").xpos
        lags.append(gap @ velocity / np.linalg.norm(velocity))
    mean = float(np.mean(forces))
    return Outcome(
        mean,
        float(np.abs(np.array(forces) - mean).max()),
        float(np.mean(frictions)),
        float(np.mean(lags)),
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accuracy", type=float, default=1e-3, help="[m, rad]")
    found = run(parser.parse_args().accuracy)
    print(f"The tool presses with {found.force:.2f} N, asked are {FORCE:.0f},")
    print(f"and by at most {found.ripple:.2f} N more or less.")
    lag = FRICTION * FORCE / STIFFNESS
    print(f"It is {1e3 * found.lag:.2f} mm behind, and μ F/K is {1e3 * lag:.2f}.")
    print(f"Friction is {found.friction:.4f} of the normal force, with μ = {FRICTION}.")


if __name__ == "__main__":
    main()
