"""Pegs that differ from episode to episode: domain randomisation of the peg's task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ArgumentError
from asperity.scenes.peg_in_hole import PegScene

__all__ = ["PegVariation", "VariedPegs", "turned"]

Floats = NDArray[np.float64]
Range = tuple[float, float]

# What of the model differs between pegs.
_FIELDS = {
    "friction": ("geom_friction",),
    "mass": ("body_mass", "body_inertia"),
    "margin": ("mesh_vert", "body_pos"),
    "tilt": (),
}


@dataclass(frozen=True, kw_only=True)
class PegVariation:
    """Ranges from which the numbers of an episode are drawn, uniformly; None keeps the task's own.

    Parameters
    ----------
    friction : tuple of two floats, optional
        Of peg and container.
    mass : tuple of two floats, optional
        Of the peg, in units of what the task's has.
    margin : tuple of two floats, optional
        Radius of the hole less that of the peg [m]; the jaws are where the peg is.
    tilt : tuple of two floats, optional
        Angle [rad] about the axis of the jaws at which they have gripped the peg, beside the
        task's own.

    Raises
    ------
    ArgumentError
        If a range is none.
    """

    friction: Range | None = None
    mass: Range | None = None
    margin: Range | None = None
    tilt: Range | None = None

    def __post_init__(self) -> None:
        for name, pair in self.ranges.items():
            numbers = np.asarray(pair, np.float64)
            if numbers.shape != (2,) or not np.all(np.isfinite(numbers)) or np.diff(numbers) < 0.0:
                raise ArgumentError(
                    f"{name} of a variation must be two finite numbers in order, got {pair!r}."
                )
            if name != "tilt" and numbers[0] <= 0.0:
                raise ArgumentError(f"{name} of a variation must be positive, got {pair!r}.")

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of every quantity that differs from episode to episode, by name."""
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: pair for name, pair in pairs if pair is not None}

    @property
    def model_fields(self) -> tuple[str, ...]:
        """Fields of ``MjModel`` in which pegs differ."""
        return tuple(field for name in self.ranges for field in _FIELDS[name])

    def draw(self, random: np.random.Generator) -> dict[str, float]:
        """Numbers of an episode, by name."""
        return {name: float(random.uniform(*pair)) for name, pair in self.ranges.items()}


class VariedPegs:
    """Writes numbers of a variation into models.

    Parameters
    ----------
    variation : PegVariation
    scene : PegScene
        Of the task.
    """

    def __init__(self, variation: PegVariation, scene: PegScene) -> None:
        self.variation = variation
        model = scene.model()
        self._geoms = [model.geom(name).id for name in ("peg", "container")]
        self._peg, self._inertia = model.body("peg").id, model.body("peg").inertia.copy()
        self._mass = float(model.body("peg").mass[0])
        self._ends: tuple[mujoco.MjModel, mujoco.MjModel] | None = None
        if variation.margin is not None:
            radii = (scene.hole_radius - margin for margin in variation.margin)
            first, last = (replace(scene, radius=radius).model() for radius in radii)
            self._ends = first, last

    def write(self, numbers: Mapping[str, float], array_of: Callable[[str], NDArray[Any]]) -> None:
        """Write an episode's numbers.

        Parameters
        ----------
        numbers : mapping
            As drawn.
        array_of : callable
            Gives the array of a field of the model that they are written into.
        """
        if "friction" in numbers:
            array_of("geom_friction")[self._geoms, 0] = numbers["friction"]
        if "mass" in numbers:
            array_of("body_mass")[self._peg] = numbers["mass"] * self._mass
            array_of("body_inertia")[self._peg] = numbers["mass"] * self._inertia
        if self._ends is not None:
            assert self.variation.margin is not None
            low, high = self.variation.margin
            share = 0.0 if high == low else (numbers["margin"] - low) / (high - low)
            for name in _FIELDS["margin"]:
                # Vertices of the peg and places of the jaws go linearly with its radius.
                a, b = (getattr(model, name) for model in self._ends)
                array_of(name)[:] = a + share * (b - a)


def turned(rotation: Floats, angle: Floats | float) -> Floats:
    """Quaternions turned about the world's x axis, the jaws', shape (…, 4)."""
    half = 0.5 * np.asarray(angle, np.float64)
    c, s = np.cos(half), np.sin(half)
    w, x, y, z = np.moveaxis(rotation, -1, 0)
    return np.stack([c * w - s * x, c * x + s * w, c * y - s * z, c * z + s * y], axis=-1)
