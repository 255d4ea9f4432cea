"""Push a box to a goal: forces of a finger, optimised through contact that sticks and slides.

The gradient of the box's final pose by the finger's forces is that of a whole trajectory, backward
in time. Friction is smoothed at first, by a larger stiction tolerance, and then is what it is.

    python examples/derivatives/push_box.py
"""

from __future__ import annotations

import mujoco
import numpy as np
from scipy import optimize

import asperity as asp
from asperity.derivatives import Transition

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom type="plane" size="2 2 0.1" friction="0.3"/>
    <body name="box" pos="0 0 0.0499">
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/>
      <joint type="hinge" axis="0 0 1"/>
      <geom type="box" size="0.1 0.1 0.05" mass="1" friction="0.3"/>
    </body>
    <body name="finger" pos="-0.1199 0 0.05">
      <joint name="x" type="slide" axis="1 0 0" damping="5"/>
      <joint name="y" type="slide" axis="0 1 0" damping="5"/>
      <geom type="sphere" size="0.02" mass="0.3" friction="0.3"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="x"/>
    <motor joint="y"/>
  </actuator>
</mujoco>
"""
GOAL = np.array([0.15, 0.02, 0.4])  # x, y [m] and heading [rad] of the box
STEPS = 200
KNOTS = 10
STICTION_TOLERANCES = (0.03, 0.003, 1e-4)  # [m/s]


def main(iterations: int = 40) -> np.ndarray:
    """Optimise, and return by how much the box misses the goal."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    integrator = asp.Icf(time_step=model.opt.timestep)
    data = mujoco.MjData(model)
    asp.step(model, data, 50, integrator=integrator)
    weights = np.array([200.0, 200.0, 20.0])

    forces = np.zeros((KNOTS, 2))
    forces[:, 0] = 4.0
    start = np.concatenate([data.qpos, data.qvel])
    error = np.full(3, np.inf)
    for tolerance in STICTION_TOLERANCES:
        transition = Transition(
            model,
            integrator=integrator,
            contact=asp.ContactParameters(stiffness=1e4, stiction_tolerance=tolerance),
        )

        def cost(flat: np.ndarray, transition: Transition = transition) -> tuple[float, np.ndarray]:
            knots = flat.reshape(KNOTS, 2)
            controls = np.repeat(knots, STEPS // KNOTS, axis=0)
            states = transition.trajectory(start, controls)
            error = states[-1, [0, 1, 3]] - GOAL
            rest = states[-1, model.nq :]
            # At the goal, at rest, with little force.
            value = weights @ error**2 + 0.5 * rest @ rest + 1e-4 * np.sum(knots**2)
            by_states = np.zeros((STEPS + 1, transition.tangent_size))
            by_states[-1, [0, 1, 3]] = 2.0 * weights * error
            by_states[-1, model.nv :] = rest
            found = transition.gradient(start, controls, by_states, states=states)
            by_knots = found.by_control.reshape(KNOTS, -1, 2).sum(axis=1) + 2e-4 * knots
            return float(value), by_knots.reshape(-1)

        best = optimize.minimize(
            cost,
            forces.reshape(-1),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations},
        )
        forces = best.x.reshape(KNOTS, 2)
        final = transition.trajectory(start, np.repeat(forces, STEPS // KNOTS, axis=0))[-1]
        error = final[[0, 1, 3]] - GOAL
        print(
            f"stiction tolerance {tolerance:g} m/s: cost {best.fun:.4f} after {best.nfev} "
            f"trajectories; off by {1e3 * error[0]:.1f}, {1e3 * error[1]:.1f} mm and "
            f"{np.degrees(error[2]):.1f}°"
        )
    return error


if __name__ == "__main__":
    main()
