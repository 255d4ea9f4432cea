"""Friction and dissipation from a measured motion: ``python examples/system_identification.py``.

A puck is dropped on a table while it flies sideways; it bounces, slides and comes to rest. A camera
sees its position 60 times a second, with noise. SciPy's least squares finds the coefficient of
friction and the dissipation with which a simulation follows the measurement best, by differences of
simulations. It begins at the best of a coarse grid: when the bounces are out of step with the
measured ones, small changes lead nowhere.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

import asperity as asp

SCENE = """
<mujoco>
  <worldbody>
    <geom name="table" type="plane" size="2 2 0.1"/>
    <body name="puck" pos="0 0 0.12">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <geom type="cylinder" size="0.05 0.02" mass="0.3"/></body>
  </worldbody>
</mujoco>
"""
TIMES = np.arange(1, 49) / 60.0
TRUE_FRICTION, TRUE_DISSIPATION = 0.35, 1.2
NOISE = 5e-4
"""Standard deviation of the camera [m]."""


class Estimate(NamedTuple):
    """What was found, with standard errors."""

    friction: float
    dissipation: float
    friction_error: float
    dissipation_error: float
    simulations: int


def motion(friction: float, dissipation: float) -> np.ndarray:
    """Places of the puck at the camera's times [m], shape (48, 2)."""
    sim = asp.Simulator(
        SCENE,
        # Impacts that bounce: tight, and errors of velocity count.
        integrator=asp.Cenic(accuracy=1e-6, velocity_weight=1.0),
        contact=asp.ContactParameters(friction=friction, dissipation=dissipation, stiffness=1e4),
    )
    sim.data.qvel[0] = 1.0
    places = []
    for time in TIMES:
        sim.advance_to(time)
        places.append(sim.data.qpos.copy())
    return np.array(places)


def run(noise: float = NOISE, seed: int = 1) -> Estimate:
    """Measure, then identify."""
    measured = motion(TRUE_FRICTION, TRUE_DISSIPATION)
    measured += noise * np.random.default_rng(seed).standard_normal(measured.shape)
    count = 0

    def misfit(parameters: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        return (motion(*parameters) - measured).ravel()

    grid = [np.array([mu, d]) for mu in np.geomspace(0.1, 0.8, 4) for d in np.geomspace(0.2, 5, 12)]
    start = min(grid, key=lambda parameters: float(np.sum(misfit(parameters) ** 2)))
    # Differences of two per cent either way: far more than where steps happen to fall changes.
    found = least_squares(
        misfit, start, jac="3-point", diff_step=2e-2, bounds=(1e-3, 1e2), xtol=1e-6
    )
    variance = 2.0 * found.cost / (measured.size - 2)
    errors = np.sqrt(np.diag(variance * np.linalg.inv(found.jac.T @ found.jac)))
    return Estimate(*(float(number) for number in (*found.x, *errors)), count)


def main() -> None:
    """Run from the command line."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    found = run()
    print(f"friction    {found.friction:.4f} ± {found.friction_error:.4f}, is {TRUE_FRICTION}")
    print(
        f"dissipation {found.dissipation:.3f} ± {found.dissipation_error:.3f} s/m, "
        f"is {TRUE_DISSIPATION}"
    )
    print(f"{found.simulations} simulations")


if __name__ == "__main__":
    main()
