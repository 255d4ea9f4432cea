"""Push a box to a goal: forces of a finger, optimised through contact that sticks and slides.

The gradient of the box's final pose by the finger's forces is that of a whole trajectory, backward
in time. Contact is smoothed at first, by a larger stiction tolerance and less stiffness, and then
is what it is. What smoothing makes of the result is printed, too: the same forces without it.

    python examples/derivatives/push_box.py
"""

from __future__ import annotations

import mujoco
import numpy as np
from scipy import optimize

import asperity as asp
from asperity.derivatives import Smoothing, Transition

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
# Stiction tolerances [m/s] and stiffnesses [N/m]; the last one is the model's own contact.
SMOOTHINGS = (
    Smoothing(stiction_tolerance=0.03, stiffness=1e3),
    Smoothing(stiction_tolerance=0.003, stiffness=3e3),
    Smoothing(),
)
CONTACT = asp.ContactParameters(stiffness=1e4)


def main(
    iterations: int = 40, smoothings: tuple[Smoothing, ...] = SMOOTHINGS
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Optimise with one smoothing after the other, each from the forces of the one before.

    Returns by how much the box misses the goal, and for each smoothing by how much it does with
    that and, under the same forces, without any.
    """
    model = mujoco.MjModel.from_xml_string(MODEL)
    integrator = asp.Icf(time_step=model.opt.timestep, resolve_impacts=False)
    data = mujoco.MjData(model)
    asp.step(model, data, 50, integrator=integrator, contact=CONTACT)
    weights = np.array([200.0, 200.0, 20.0])
    plain = Transition(model, integrator=integrator, contact=CONTACT)

    forces = np.zeros((KNOTS, 2))
    forces[:, 0] = 4.0
    start = np.concatenate([data.qpos, data.qvel])
    misses = []
    for smoothing in smoothings:
        transition = Transition(model, integrator=integrator, contact=CONTACT, smoothing=smoothing)

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
        controls = np.repeat(forces, STEPS // KNOTS, axis=0)
        ends = [one.trajectory(start, controls)[-1, [0, 1, 3]] for one in (transition, plain)]
        misses.append((ends[0] - GOAL, ends[1] - GOAL))
        print(f"{smoothing}: cost {best.fun:.4f} after {best.nfev} trajectories")
        for label, miss in zip(("with it", "without"), misses[-1], strict=True):
            print(
                f"  {label} off by {1e3 * miss[0]:.1f}, {1e3 * miss[1]:.1f} mm and "
                f"{np.degrees(miss[2]):.2f}°"
            )
    return misses[-1][1], misses


if __name__ == "__main__":
    main()
