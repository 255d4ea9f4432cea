"""Stiffness and damping of a rope from how its end swings: ``python examples/identify_rope.py``.

A rope of 0.6 m and 8 mm thickness sticks out of a wall and is let go. A camera sees its end 120
times a second, with an error of 0.5 mm. SciPy finds the modulus and the damping whose motion is
nearest to what the camera saw, with derivatives of the motion, and says how well they are known.

What the camera sees is simulated under error control. Derivatives are those of fixed steps, whose
errors are proportional to their size: so twice the motion in steps of half the size, less that in
whole steps, is fitted.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.optimize import least_squares

import asperity as asp
from asperity.derivatives import Transition, flex_elasticity

LENGTH, RADIUS, EDGES, MASS = 0.6, 0.004, 12, 0.03
TRUTH = (2e7, 0.01)
"""Young's modulus [Pa] and Rayleigh's damping [s]."""
NOISE, RATE, DURATION = 5e-4, 120.0, 1.0
"""Of the camera [m, 1/s], and how long it looks [s]."""
FRAMES = int(DURATION * RATE)
STEPS = 8
"""From a frame to the next."""

SCENE = """
<mujoco>
  <option integrator="discrete"/>
  <worldbody>
    <flexcomp name="rope" type="direct" dim="1" mass="{mass}" radius="{radius}" point="{points}"
              element="{edges}">
      <pin id="0 1"/>
      <elasticity young="{young}" poisson="0.3" damping="{damping}"/>
      <edge equality="true"/>
      <contact selfcollide="none"/>
    </flexcomp>
  </worldbody>
</mujoco>
"""


class Outcome(NamedTuple):
    """What was found."""

    values: np.ndarray
    """Young's modulus [Pa] and damping [s],"""
    errors: np.ndarray
    """and their standard deviations."""
    residual: float
    """How far the motion is from what the camera saw, root of mean square [m]."""
    runs: int


def rope(young: float, damping: float) -> mujoco.MjSpec:
    """The rope, the first edge of which is in the wall."""
    edge = LENGTH / EDGES
    along = edge * np.arange(-1, EDGES + 1)
    points = np.stack([along, 0.0 * along, 0.0 * along], axis=1)
    return mujoco.MjSpec.from_string(
        SCENE.format(
            mass=MASS * (EDGES + 2) / EDGES,
            radius=RADIUS,
            points=" ".join(map(str, points.ravel())),
            edges=" ".join(f"{i} {i + 1}" for i in range(EDGES + 1)),
            young=young,
            damping=damping,
        )
    )


def camera(accuracy: float = 1e-5) -> np.ndarray:
    """Where the rope's end is when the camera looks [m], shape (n, 2)."""
    sim = asp.Simulator(rope(*TRUTH).compile(), integrator=asp.Cenic(accuracy=accuracy))
    seen = []
    for frame in range(1, FRAMES + 1):
        sim.advance_to(frame / RATE)
        seen.append(sim.data.flexvert_xpos[-1, [0, 2]].copy())
    return np.array(seen)


class Motion:
    """The same as a function of modulus and damping, with derivatives by them."""

    def __init__(self) -> None:
        spec = rope(*TRUTH)
        model = spec.compile()
        parameters = flex_elasticity(spec, "rope", "young", "damping")
        self._transitions = [
            Transition(
                model,
                integrator=asp.Icf(time_step=1.0 / (RATE * count)),
                parameters=parameters,
            )
            for count in (STEPS, 2 * STEPS)
        ]
        self._start = self._transitions[0].state_of(mujoco.MjData(model))
        self._end = model.body_dofadr[model.flex_vertbodyid[-1]] + np.array([0, 2])

    def __call__(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions [m], shape (n, 2), and derivatives, shape (n, 2, 2)."""
        place, slope = np.array([LENGTH, 0.0]), np.zeros((FRAMES, 2, 2))
        for count, weight, transition in zip(
            (STEPS, 2 * STEPS), (-1.0, 2.0), self._transitions, strict=True
        ):
            transition.set_parameters(values)
            controls = np.zeros((FRAMES * count, 0))
            found = transition.sensitivities(self._start, controls)
            place = place + weight * found.states[count::count, self._end]
            slope = slope + weight * found.by_parameter[count::count][:, self._end]
        return place, slope


def run(seed: int = 0) -> Outcome:
    """Look at the rope, and find its stiffness and damping from a guess three times as large."""
    seen = camera() + NOISE * np.random.default_rng(seed).normal(size=(FRAMES, 2))
    motion = Motion()
    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def at(logarithms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if logarithms.tobytes() not in known:
            known[logarithms.tobytes()] = motion(np.exp(logarithms))
        return known[logarithms.tobytes()]

    def misses(logarithms: np.ndarray) -> np.ndarray:
        return np.asarray((at(logarithms)[0] - seen).ravel() / NOISE)

    def slopes(logarithms: np.ndarray) -> np.ndarray:
        return np.asarray((at(logarithms)[1] * np.exp(logarithms)).reshape(-1, 2) / NOISE)

    found = least_squares(misses, np.log(3.0 * np.array(TRUTH)), slopes, xtol=1e-6)
    values = np.exp(found.x)
    spread = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    residual = NOISE * float(np.sqrt(np.mean(found.fun**2)))
    return Outcome(values, values * spread, residual, len(known))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    found = run(parser.parse_args().seed)
    (young, damping), (young_error, damping_error) = found.values, found.errors
    print(
        f"{1e-6 * young:.3f} ± {1e-6 * young_error:.3f} of {1e-6 * TRUTH[0]:g} MPa,"
        f" {1e3 * damping:.2f} ± {1e3 * damping_error:.2f} of {1e3 * TRUTH[1]:g} ms"
    )
    print(f"  It is {1e3 * found.residual:.2f} mm from what the camera saw.")


if __name__ == "__main__":
    main()
