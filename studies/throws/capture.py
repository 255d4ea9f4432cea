"""The throws that were captured: poses of the cube, and the state in which each throw begins.

A cube's moments of inertia are equal. In flight its centre follows a parabola and it turns at a
constant angular velocity about an axis that stays where it is. Both are fitted to the frames before
the first contact. The residuals of the fit are the noise of the capture, and from it follows how
well the first state is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from studies.benchmarks.verification.case import GRAVITY, Array

__all__ = [
    "CLEAR",
    "CORNERS",
    "DATA",
    "FRAME",
    "MASS",
    "WIDTH",
    "Start",
    "Throw",
    "fit_flight",
    "free_fall",
    "load",
    "noise",
    "starts_near",
]

DATA = Path(__file__).parent / "data" / "cube_tosses.npz"

WIDTH, MASS = 0.1048, 0.37
"""Of the cube [m, kg], as its owners measured them."""
FRAME = 1.0 / 148.0
"""Time between frames [s]."""
CORNERS = 0.5 * WIDTH * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])

CLEAR = 0.003
"""Height of the lowest corner above the board up to which frames count as flight [m]."""
LEAST = 6
"""Frames of flight that a fit needs at least."""


@dataclass(frozen=True, eq=False)
class Start:
    """State at the first frame.

    Attributes
    ----------
    position, velocity
        Of the centre [m, m/s], shape (3,).
    rotation
        Orientation, as a matrix of shape (3, 3).
    spin
        Angular velocity in the world [rad/s], shape (3,).
    """

    position: Array
    rotation: Array
    velocity: Array
    spin: Array

    def qpos(self) -> Array:
        """MuJoCo's coordinates of a free joint, shape (7,)."""
        quaternion = Rotation.from_matrix(self.rotation).as_quat(scalar_first=True)
        return np.concatenate([self.position, quaternion])

    def qvel(self) -> Array:
        """MuJoCo's velocities of a free joint, shape (6,)."""
        return np.concatenate([self.velocity, self.rotation.T @ self.spin])


@dataclass(frozen=True, eq=False)
class Throw:
    """One throw.

    Attributes
    ----------
    position
        Of the centre in every frame [m], shape (frames, 3).
    rotation
        Orientations, shape (frames, 3, 3).
    flight
        Number of frames before the first contact.
    start
        Fitted to them.
    residuals
        Of the fit: positions [m] and rotations [rad], shape (flight, 6).
    """

    position: Array
    rotation: Array
    flight: int
    start: Start
    residuals: Array

    @property
    def duration(self) -> float:
        """Time of the last frame [s]."""
        return FRAME * (len(self.position) - 1)


def fit_flight(position: Array, rotation: Array) -> tuple[Start, Array]:
    """The state at the first frame of a flight, and the residuals of all its frames."""
    time = FRAME * np.arange(len(position))
    basis = np.stack([np.ones_like(time), time], axis=1)
    fallen = position + np.outer(0.5 * GRAVITY * time**2, [0.0, 0.0, 1.0])
    line = np.linalg.lstsq(basis, fallen, rcond=None)[0]
    first, spin = Rotation.from_matrix(rotation[0]), np.zeros(3)
    seen = Rotation.from_matrix(rotation)
    # Gauss and Newton's iteration, with rotations of the world as its corrections.
    for _ in range(20):
        turned = Rotation.from_rotvec(np.outer(time, spin)) * first
        left = (seen * turned.inv()).as_rotvec()
        turn, change = np.linalg.lstsq(basis, left, rcond=None)[0]
        first, spin = Rotation.from_rotvec(turn) * first, spin + change
    start = Start(line[0], first.as_matrix(), line[1], spin)
    return start, np.hstack([fallen - basis @ line, left])


def _rows(path: Path) -> list[tuple[Array, Array]]:
    with np.load(path) as data:
        positions = data["position"].astype(np.float64)
        rotations = Rotation.from_quat(data["quaternion"], scalar_first=True).as_matrix()
        parts = [slice(s, s + n) for s, n in zip(data["start"], data["length"], strict=True)]
    return [(positions[part], rotations[part]) for part in parts]


def _flight(position: Array, rotation: Array) -> int:
    """Number of frames before a corner comes near the board."""
    lowest = position[:, 2] + (rotation @ CORNERS.T)[:, 2].min(axis=1)
    near = lowest < CLEAR
    return int(np.argmax(near)) if near.any() else len(position)


def free_fall(path: Path = DATA) -> float:
    """Acceleration of free fall in the units of the capture [m/s²]: the median of long flights."""
    found = []
    for position, rotation in _rows(path):
        count = _flight(position, rotation)
        if count >= 15:
            found.append(2.0 * np.polyfit(FRAME * np.arange(count), position[:count, 2], 2)[0])
    return -float(np.median(found))


@cache
def load(path: Path = DATA) -> tuple[Throw, ...]:
    """All throws whose flight is long enough to know how they begin, in metres.

    The capture's lengths are 2 % short: cubes fall with 9.61 m/s² in it, and lie 1.15 mm lower than
    half of their width. One factor mends both, and all lengths are multiplied by it here.

    Raises
    ------
    FileNotFoundError
        If the data are not there.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is not there. The throws are those of ContactNets (Pfrommer, Halm and Posa, "
            "2020), https://github.com/DAIRLab/contact-nets; studies/throws/data/README.md says "
            "which arrays the file has."
        )
    scale = GRAVITY / free_fall(path)
    throws = []
    for position, rotation in _rows(path):
        position = scale * position
        count = _flight(position, rotation)
        if count >= LEAST:
            start, residuals = fit_flight(position[:count], rotation[:count])
            throws.append(Throw(position, rotation, count, start, residuals))
    return tuple(throws)


@cache
def noise(throws: tuple[Throw, ...]) -> Array:
    """Standard deviations of a frame: position [m] and rotation [rad], shape (2,).

    Each throw takes two degrees of freedom per coordinate from its residuals. Residuals of
    neighbouring frames are alike (correlation ρ), so that n frames say as much as n (1 − ρ)/(1 + ρ)
    independent ones would; these numbers are those of independent frames that say as much.
    """
    found = []
    for part in (slice(0, 3), slice(3, 6)):
        residuals = [throw.residuals[:, part] for throw in throws]
        squares = np.array([np.sum(r**2) for r in residuals])
        products = sum(np.sum(r[1:] * r[:-1]) for r in residuals)
        correlation = products / squares.sum()
        # The median throw's: a few are touched before they are near the board.
        variance = np.median(squares / [3 * (throw.flight - 2) for throw in throws])
        found.append(np.sqrt(variance * (1.0 + correlation) / (1.0 - correlation)))
    return np.array(found)


def starts_near(throw: Throw, sigma: Array, count: int, seed: int) -> list[Start]:
    """First states that the frames of flight cannot tell from the fitted one.

    They are drawn from the covariance of the fit, σ²(BᵀB)⁻¹ with rows (1, t) of B.

    Parameters
    ----------
    throw, sigma
        As `noise` gives it.
    count, seed
        How many, and of which random numbers.
    """
    time = FRAME * np.arange(throw.flight)
    basis = np.stack([np.ones_like(time), time], axis=1)
    factor = np.linalg.cholesky(np.linalg.inv(basis.T @ basis))
    start = throw.start
    found = []
    for draw in np.random.default_rng(seed).standard_normal((count, 2, 2, 3)):
        place, speed = sigma[0] * factor @ draw[0]
        turn, spin = sigma[1] * factor @ draw[1]
        turned = Rotation.from_rotvec(turn).as_matrix() @ start.rotation
        found.append(
            Start(start.position + place, turned, start.velocity + speed, start.spin + spin)
        )
    return found
