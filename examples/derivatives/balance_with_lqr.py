"""Linear-quadratic regulators that balance through contact: a ball on a plate, and a quadruped.

Both states are equilibria with contacts, and the gains come from `linearize` there: how
the ball's position follows the plate's torque, and the trunk's the joints', is in the contact
forces.

    python examples/derivatives/balance_with_lqr.py
"""

from __future__ import annotations

import mujoco
import numpy as np

import asperity as asp

PLATE = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="plate" pos="0 0 0.5">
      <joint name="roll" axis="1 0 0" damping="0.02"/>
      <joint name="pitch" axis="0 1 0" damping="0.02"/>
      <geom type="box" size="0.3 0.3 0.01" mass="1"/>
    </body>
    <body name="ball" pos="0 0 0.54">
      <freejoint/>
      <geom type="sphere" size="0.03" mass="0.1"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="roll"/>
    <motor joint="pitch"/>
  </actuator>
</mujoco>
"""

_LEG = """
<body name="{name}" pos="{x} {y} 0">
  <joint name="{name}1" axis="1 0 0" damping="0.2" armature="0.005"/>
  <joint name="{name}2" axis="0 1 0" damping="0.2" armature="0.005"/>
  <geom type="capsule" size="0.02" fromto="0 0 0 -0.08 0 -0.12" mass="0.4"
        contype="0" conaffinity="0"/>
  <body pos="-0.08 0 -0.12">
    <joint name="{name}3" axis="0 1 0" damping="0.2" armature="0.005"/>
    <geom type="capsule" size="0.015" fromto="0 0 0 0.08 0 -0.12" mass="0.2"
          contype="0" conaffinity="0"/>
    <geom type="sphere" size="0.02" pos="0.08 0 -0.12" mass="0.05"/>
  </body>
</body>"""
_LEGS = {
    "front_left": (0.2, 0.12),
    "front_right": (0.2, -0.12),
    "rear_left": (-0.2, 0.12),
    "rear_right": (-0.2, -0.12),
}
QUADRUPED = (
    '<mujoco><option timestep="0.002"/><worldbody>'
    '<geom type="plane" size="5 5 0.1" friction="0.8"/>'
    '<body name="trunk" pos="0 0 0.26"><freejoint/>'
    '<geom type="box" size="0.22 0.1 0.04" mass="6" contype="0" conaffinity="0"/>'
    + "".join(_LEG.format(name=name, x=x, y=y) for name, (x, y) in _LEGS.items())
    + "</body></worldbody><actuator>"
    + "".join(
        f'<position joint="{name}{i}" kp="40" kv="0.5"/>' for name in _LEGS for i in (1, 2, 3)
    )
    + "</actuator></mujoco>"
)


def regulator(
    lin: asp.derivatives.Linearization,
    state_cost: np.ndarray,
    control_cost: np.ndarray,
    horizon: int = 3000,
) -> np.ndarray:
    """Gains K of u = −K x, by Riccati's recursion.

    Over a finite horizon: where feet stand, or how a ball is turned, no control changes much, and
    an infinite one has no solution.
    """
    value = state_cost.copy()
    for _ in range(horizon):
        weighted = lin.B.T @ value
        gains = np.linalg.solve(control_cost + weighted @ lin.B, weighted @ lin.A)
        value = state_cost + lin.A.T @ value @ (lin.A - lin.B @ gains)
        value = 0.5 * (value + value.T)
    return gains


def deviation(model: mujoco.MjModel, data: mujoco.MjData, rest: mujoco.MjData) -> np.ndarray:
    """Change (position, velocity) from the equilibrium."""
    positions = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, positions, 1.0, rest.qpos, data.qpos)
    return np.concatenate([positions, data.qvel - rest.qvel])


def run(
    model: mujoco.MjModel,
    rest: mujoco.MjData,
    gains: np.ndarray,
    disturb: np.ndarray,
    duration: float,
    integrator: asp.Icf,
) -> np.ndarray:
    """Deviations over time after a disturbance of the velocities."""
    simulator = asp.Simulator(
        model,
        integrator=integrator,
        control=lambda model, data: data.ctrl.__setitem__(
            slice(None), rest.ctrl - gains @ deviation(model, data, rest)
        ),
    )
    simulator.data.qpos[:] = rest.qpos
    simulator.data.qvel[:] = disturb
    history = []
    for time in np.arange(0.0, duration, 0.02):
        simulator.advance_to(time)
        history.append(deviation(model, simulator.data, rest))
    return np.array(history)


def balance_ball() -> float:
    """Distance of a ball from the plate's middle, 3 s after it was pushed [m]."""
    model = mujoco.MjModel.from_xml_string(PLATE)
    integrator = asp.Icf(time_step=model.opt.timestep, resolve_impacts=False)
    rest = mujoco.MjData(model)
    asp.step(model, rest, 500, integrator=integrator)
    rest.qvel[:] = 0.0
    lin = asp.derivatives.linearize(model, rest, integrator=integrator)
    costs = np.zeros(2 * model.nv)
    costs[:2] = 1.0  # angles of the plate
    costs[2:4] = 100.0  # position of the ball
    costs[8:12] = 0.1  # velocities of both
    gains = regulator(lin, np.diag(costs), 0.1 * np.eye(2))
    push = np.zeros(model.nv)
    push[2:4] = 0.25, -0.15
    push[5:7] = 0.15 / 0.03, 0.25 / 0.03  # it rolls
    history = run(model, rest, gains, push, 3.0, integrator)
    print(
        f"ball on a plate: farthest {np.linalg.norm(history[:, 2:4], axis=1).max():.3f} m, "
        f"after 3 s {1e3 * np.linalg.norm(history[-1, 2:4]):.2f} mm from the middle"
    )
    return float(np.linalg.norm(history[-1, 2:4]))


def stand() -> tuple[float, float]:
    """How far a quadruped's trunk sways after a push, without and with the regulator [m]."""
    model = mujoco.MjModel.from_xml_string(QUADRUPED)
    integrator = asp.Icf(time_step=model.opt.timestep, resolve_impacts=False)
    rest = mujoco.MjData(model)
    asp.step(model, rest, 1500, integrator=integrator)
    rest.qvel[:] = 0.0
    lin = asp.derivatives.linearize(model, rest, integrator=integrator)
    nv = model.nv
    costs = np.concatenate(
        [np.full(6, 50.0), np.ones(nv - 6), np.full(6, 2.0), np.full(nv - 6, 0.01)]
    )
    gains = regulator(lin, np.diag(costs), 10.0 * np.eye(model.nu), 500)
    push = np.zeros(nv)
    push[1] = 0.1  # harder ones let feet slip, of which a linear model knows nothing
    sways = []
    for one in (np.zeros_like(gains), gains):
        history = run(model, rest, one, push, 2.0, integrator)
        # Root mean square of the trunk's position and attitude after the push.
        sways.append(float(np.sqrt(np.mean(history[:, :6] ** 2))))
    print(
        f"quadruped: sway {1e3 * sways[0]:.1f} without and {1e3 * sways[1]:.1f} with the regulator "
        "[mm, mrad]"
    )
    return sways[0], sways[1]


if __name__ == "__main__":
    balance_ball()
    stand()
