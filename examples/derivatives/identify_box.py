"""Find friction and mass of a box from a noisy recording of how it slides and tumbles.

A box is thrown over the floor while a known force pushes it. Its pose is recorded with an error of
1 % of how far it gets. SciPy's least squares find the coefficient of friction and the mass, with
derivatives of the whole trajectory instead of finite differences.

    python examples/derivatives/identify_box.py
"""

from __future__ import annotations

import time

import mujoco
import numpy as np
from scipy import optimize

import asperity as asp
from asperity.derivatives import Transition, body_mass, model_number

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0.01"/>
    <body name="box" pos="0 0 0.25">
      <freejoint name="box"/>
      <geom name="box" type="box" size="0.1 0.08 0.06" mass="1.3" friction="0.35"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="push" joint="box" gear="1 0 0 0 0 0"/>
  </actuator>
</mujoco>
"""
TRUTH = np.array([0.35, 1.3])  # friction, mass [kg]
STEPS = 400
HORIZONS = (100, 200, 400)
BESIDE = np.linspace(0.998, 1.002, 9)  # factors of friction from which the last fit begins
EVERY = 4  # a measurement in so many steps
NOISE = 0.01


def problem(integrator: asp.Icf) -> tuple[Transition, np.ndarray, np.ndarray]:
    """The box as a function of friction and mass, its first state, and the push."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.qvel[:] = 1.5, 0.3, 0.0, 0.5, 4.0, 1.0
    parameters = [model_number(model, "geom_friction", (1, 0)), body_mass(model, "box")]
    transition = Transition(
        model,
        integrator=integrator,
        contact=asp.ContactParameters(stiffness=2e4, dissipation=2.0),
        parameters=parameters,
    )
    seconds = model.opt.timestep * np.arange(STEPS)
    push = 3.0 * np.sin(8.0 * seconds)[:, None]
    return transition, transition.state_of(data), push


def poses(transition: Transition, states: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Positions and rotation vectors relative to a reference, where there are measurements."""
    differences = [
        transition.difference(a, b)[:6]
        for a, b in zip(reference[EVERY::EVERY], states[EVERY::EVERY], strict=True)
    ]
    return np.array(differences)


def main(
    methods: tuple[str, ...] = ("derivatives", "finite differences"), seed: int = 0
) -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """Fit with each kind of Jacobian: values, standard deviations, and seconds of CPU time."""
    transition, start, push = problem(asp.Icf(time_step=2e-3, resolve_impacts=False))
    transition.set_parameters(TRUTH)
    truth = transition.trajectory(start, push)

    # How far it gets in every direction is what an error of 1 % refers to.
    travelled = poses(transition, truth, np.broadcast_to(truth[0], truth.shape))
    scale = NOISE * np.maximum(np.ptp(travelled, axis=0), 0.1)
    random = np.random.default_rng(seed)
    measured = scale * random.normal(size=travelled.shape)

    def misfit(states: np.ndarray, horizon: int) -> np.ndarray:
        errors = poses(transition, states, truth[: horizon + 1]) - measured[: horizon // EVERY]
        return (errors / scale).reshape(-1)

    def residuals(theta: np.ndarray, horizon: int) -> np.ndarray:
        transition.set_parameters(theta)
        return misfit(transition.trajectory(start, push[:horizon]), horizon)

    known: dict[bytes, np.ndarray] = {}

    def residuals_with_derivatives(theta: np.ndarray, horizon: int) -> np.ndarray:
        """The trajectory comes with its derivatives, which SciPy asks for right afterwards."""
        transition.set_parameters(theta)
        found = transition.sensitivities(start, push[:horizon])
        columns = found.by_parameter[EVERY::EVERY, :6] / scale[None, :, None]
        known.clear()
        known[theta.tobytes()] = columns.reshape(-1, len(theta))
        return misfit(found.states, horizon)

    def jacobian(theta: np.ndarray, horizon: int) -> np.ndarray:
        if theta.tobytes() not in known:
            residuals_with_derivatives(theta, horizon)
        return known[theta.tobytes()]

    # Machine code is read from disk at the first call, which is not what is compared.
    transition.sensitivities(start, push[:1])
    results = {}
    for name in methods:
        before = time.process_time()
        derivatives = name == "derivatives"
        theta = np.array([0.3, 1.1])
        # Impacts make the misfit of a long recording rugged: its beginning comes first.
        for horizon in HORIZONS:
            # Of the whole recording there are several minima, of which the deepest is kept.
            beside = BESIDE if horizon == STEPS else [1.0]
            fits = [
                optimize.least_squares(
                    residuals_with_derivatives if derivatives else residuals,
                    theta * (factor, 1.0),
                    jac=jacobian if derivatives else "2-point",
                    args=(horizon,),
                    x_scale=TRUTH,
                    bounds=([0.05, 0.3], [1.0, 4.0]),
                )
                for factor in beside
            ]
            fit = min(fits, key=lambda one: one.cost)
            theta = fit.x
        seconds = time.process_time() - before
        deviation = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
        results[name] = (fit.x, deviation, seconds)
        print(f"{name}: {seconds:.2f} s of CPU time")
        for label, value, sigma, true in zip(
            ("friction", "mass [kg]"), fit.x, deviation, TRUTH, strict=True
        ):
            print(f"  {label:10} {value:.4f} ± {1.96 * sigma:.4f} (95 %), truth {true}")
    if len(results) == 2:
        ratio = results["finite differences"][2] / results["derivatives"][2]
        print(f"finite differences take {ratio:.2f} times as long as derivatives")
    return results


if __name__ == "__main__":
    main()
