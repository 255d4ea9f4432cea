"""Friction and inertia from real throws of a cube: ``python examples/identify_from_throws.py``.

A motion capture has followed an acrylic cube that is thrown on a board (`docs/real-throws.md`). The
flight before the first contact gives the state in which each throw begins. SciPy's least squares
finds the coefficient of friction, the dissipation and the moment of inertia with which 24 throws
are followed best for a tenth of a second from their first contact. Later, a cube that falls on
another face makes the misfit jump. What is found is tried on throws that it was not found from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import asperity as asp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the data, beside the study
from studies.throws.capture import FRAME, WIDTH, Throw, load
from studies.throws.engines import cube

NAMES = ("friction", "dissipation [s/m]", "moment of inertia [m (w/2)²]")
PUBLISHED = (0.18, 10.0, 0.797)
"""As the cube's owners measured it, and the default dissipation."""
WATCHED = 15
"""Frames from the first contact on that are followed."""


class Estimate(NamedTuple):
    """What was found, its standard errors, and errors on other throws."""

    values: np.ndarray
    errors: np.ndarray
    before: tuple[float, float]
    """With what is published: mean error of position [widths] and of rotation [°]."""
    after: tuple[float, float]


def simulated(throws: Sequence[Throw], parameters: Sequence[float]) -> np.ndarray:
    """Coordinates of every throw at every frame, shape (frames, throws, 7)."""
    friction, dissipation, gyration = parameters
    contact = asp.ContactParameters(friction=friction, dissipation=dissipation, stiffness=1e5)
    model = cube(rounding=2e-3, gyration=gyration).model()
    batch = asp.Batch(model, len(throws), integrator=asp.Cenic(accuracy=1e-4), contact=contact)
    batch.reset(
        qpos=np.array([throw.start.qpos() for throw in throws]),
        qvel=np.array([throw.start.qvel() for throw in throws]),
    )
    frames = [batch.qpos.copy()]
    for _ in range(max(len(throw.position) for throw in throws) - 1):
        batch.advance(FRAME)
        frames.append(batch.qpos.copy())
    return np.array(frames)


def apart(throw: Throw, coordinates: np.ndarray, frames: slice) -> np.ndarray:
    """Differences of position [widths] and rotation vectors [rad], shape (frames, 6)."""
    position = (coordinates[frames, :3] - throw.position[frames]) / WIDTH
    turned = Rotation.from_quat(coordinates[frames, 3:], scalar_first=True)
    seen = Rotation.from_matrix(throw.rotation[frames])
    return np.hstack([position, (turned * seen.inv()).as_rotvec()])


def run(training: int = 24, unseen: int = 100) -> Estimate:
    """Identify from some throws, then try on others."""
    throws = load()
    short = [cut(throw) for throw in throws[: 3 * training : 3]]
    others = [cut(throw) for throw in throws[-unseen:]]

    def misfit(parameters: np.ndarray) -> np.ndarray:
        found = simulated(short, parameters)
        return np.concatenate(
            [
                apart(throw, found[:, i], slice(throw.flight, len(throw.position))).ravel()
                for i, throw in enumerate(short)
            ]
        )

    fit = least_squares(
        misfit, PUBLISHED, diff_step=2e-2, x_scale=PUBLISHED, bounds=(1e-2, 1e2), xtol=1e-4
    )
    variance = 2.0 * fit.cost / (fit.fun.size - len(fit.x))
    errors = np.sqrt(np.diag(variance * np.linalg.inv(fit.jac.T @ fit.jac)))
    return Estimate(fit.x, errors, trial(others, PUBLISHED), trial(others, fit.x))


def cut(throw: Throw) -> Throw:
    """A throw up to some frames after its first contact."""
    last = throw.flight + WATCHED
    return replace(throw, position=throw.position[:last], rotation=throw.rotation[:last])


def trial(throws: Sequence[Throw], parameters: Sequence[float]) -> tuple[float, float]:
    """Mean errors of position [widths] and rotation [°] from the first contact on."""
    found = simulated(throws, parameters)
    errors = []
    for i, throw in enumerate(throws):
        watched = slice(throw.flight, len(throw.position))
        differences = apart(throw, found[:, i], watched)
        errors.append(
            [
                np.mean(np.linalg.norm(differences[:, :3], axis=1)),
                np.degrees(np.mean(np.linalg.norm(differences[:, 3:], axis=1))),
            ]
        )
    position, rotation = np.mean(errors, axis=0)
    return float(position), float(rotation)


def main() -> None:
    """Run from the command line."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    found = run()
    for name, value, error, published in zip(
        NAMES, found.values, found.errors, PUBLISHED, strict=True
    ):
        print(f"{name:29} {value:.3f} ± {error:.3f}, before {published:g}")
    for name, (position, rotation) in (("before", found.before), ("after", found.after)):
        print(f"on other throws, {name}: {position:.3f} widths, {rotation:.1f}°")


if __name__ == "__main__":
    main()
