"""A two-legged runner under model predictive control: ``python examples/predictive_control.py``.

Every 40 ms a planner tries 64 motions of the coming 0.48 s from the present state, in
`asperity.rollout` with steps of 8 ms. It carries out their mean, with weights exp(−cost/λ) (MPPI,
Williams et al. 2017). The robot is simulated under error control, so that plans from coarse steps
have to hold in fine ones. On its way it is pushed.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp

_LEG = """
<body pos="{x} 0 0">
  <joint name="{name} hip" range="-80 80"/>
  <geom fromto="0 0 0 -0.12 0 -0.16" mass="0.6" contype="0" conaffinity="0"/>
  <body pos="-0.12 0 -0.16">
    <joint name="{name} knee" range="-80 80"/>
    <geom fromto="0 0 0 0.12 0 -0.16" mass="0.3"/>
  </body>
</body>"""
MODEL = f"""
<mujoco>
  <default>
    <geom type="capsule" size="0.025" friction="0.9"/>
    <joint type="hinge" axis="0 -1 0" damping="0.3" armature="0.01"/>
    <position kp="60" kv="2" ctrlrange="-1 1" forcerange="-40 40"/>
  </default>
  <worldbody>
    <geom type="plane" size="50 5 1"/>
    <body name="trunk" pos="0 0 0.345">
      <joint type="slide" axis="1 0 0" damping="0" armature="0"/>
      <joint type="slide" axis="0 0 1" damping="0" armature="0"/>
      <joint name="pitch" axis="0 1 0" damping="0" armature="0"/>
      <geom size="0.05" fromto="-0.25 0 0 0.25 0 0" mass="6"/>
      {_LEG.format(name="rear", x=-0.22)}{_LEG.format(name="front", x=0.22)}
    </body>
  </worldbody>
  <actuator>
    <position joint="rear hip"/><position joint="rear knee"/>
    <position joint="front hip"/><position joint="front knee"/>
  </actuator>
</mujoco>
"""
SPEED = 1.5  # that is wanted [m/s]
SAMPLES = 64
PERIOD, PERIODS = 0.04, 12  # between plans [s], and how many a plan has
KNOTS = 5
SPREAD, TEMPERATURE = 0.4, 0.05  # of targets [rad], and λ
STEP = 0.008  # of the planner [s]


class Planner:
    """Motions of a robot, planned anew from every state.

    Parameters
    ----------
    model : mujoco.MjModel
    seed : int
    """

    def __init__(self, model: mujoco.MjModel, seed: int = 0) -> None:
        self.model, self.random = model, np.random.default_rng(seed)
        # Controls are linear between knots, and held for a period.
        place = np.linspace(0.0, KNOTS - 1.0, PERIODS)
        self.shares = np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(KNOTS)))
        self.best = np.zeros((PERIODS, model.nu))

    def plan(self, data: mujoco.MjData) -> np.ndarray:
        """Controls of the coming period, shape (nu,)."""
        self.best = np.vstack([self.best[1:], self.best[-1:]])
        noise = SPREAD * self.random.standard_normal((SAMPLES, KNOTS, self.model.nu))
        noise[0] = 0.0
        low, high = self.model.actuator_ctrlrange.T
        tried = np.clip(self.best + self.shares @ noise, low, high)
        start = np.concatenate([[data.time], data.qpos, data.qvel])
        steps = np.repeat(tried, round(PERIOD / STEP), axis=1)
        states, _ = asp.rollout(self.model, start, steps, integrator=asp.Icf(time_step=STEP))
        cost = self.cost(states) + 0.02 * (tried**2).mean(axis=(1, 2))
        weight = np.exp((cost.min() - cost) / TEMPERATURE)
        self.best = np.einsum("s,stu->tu", weight / weight.sum(), tried)
        return self.best[0]

    def cost(self, states: np.ndarray) -> np.ndarray:
        """Of motions: speed, attitude and height."""
        _, z, pitch = (states[:, :, 1 + k] for k in range(3))
        speed = states[:, :, 1 + self.model.nq]
        each = (speed - SPEED) ** 2 + 2.0 * pitch**2 + 20.0 * z**2
        return each.mean(axis=1)


class Outcome(NamedTuple):
    """How the robot ran."""

    before: float
    """Mean speed in the second before the push [m/s]."""
    after: float
    """Mean speed in the second that begins with the push [m/s]."""
    pitch: float
    """Largest angle of the trunk [rad]."""
    height: float
    """Lowest of the trunk, over that at first."""


def run(seed: int = 0, push: float = 8.0, duration: float = 3.0) -> Outcome:
    """Run, pushed back by an impulse [N s] at half time."""
    model, _ = asp.load_model(MODEL)
    planner = Planner(model, seed)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
    speeds, poses = [], []
    count = round(duration / PERIOD)
    for period in range(count):
        sim.data.ctrl[:] = planner.plan(sim.data)
        if period == count // 2:
            sim.data.qvel[0] -= push / model.body_subtreemass[0]
        sim.advance_to((period + 1) * PERIOD)
        speeds.append(sim.data.qvel[0])
        poses.append(sim.data.qpos[1:3].copy())
    second = round(1.0 / PERIOD)
    return Outcome(
        float(np.mean(speeds[count // 2 - second : count // 2])),
        float(np.mean(speeds[count // 2 : count // 2 + second])),
        float(np.abs(np.array(poses)[:, 1]).max()),
        float(1.0 + np.min(np.array(poses)[:, 0]) / model.body("trunk").pos[2]),
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    found = run(parser.parse_args().seed)
    print(f"The robot runs at {found.before:.2f} m/s, asked are {SPEED}.")
    print(f"In the second after a push of 8 N s backwards it makes {found.after:.2f} m.")
    print(f"Its trunk pitches by {found.pitch:.2f} rad at most.")


if __name__ == "__main__":
    main()
