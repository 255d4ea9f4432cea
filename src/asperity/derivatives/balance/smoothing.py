"""Smoothing of contact, for optimisation through making and breaking it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import mujoco

from asperity.arguments import as_number
from asperity.errors import ArgumentError
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.contact_texts import parameters_of_model
from asperity.plant.model.material import COLUMNS, Material

__all__ = ["Smoothing"]

_M = TypeVar("_M", bound=Material)

# Of contacts for which nothing else is said (`ContactParameters`), nor by the integrator.
_STIFFNESS = 1e5
_STICTION_TOLERANCE = 3e-6


@dataclass(frozen=True, kw_only=True)
class Smoothing:
    """Bounds on how abrupt contact is; they replace stricter values of the model.

    Friction reverses within the stiction tolerance, and a contact is made within the depth in which
    it bears the load. Derivatives are useful for displacements that are smaller than both. Smoothed
    contacts creep and sink in, a bias that docs/derivatives.md measures. Optimise with less and
    less smoothing, and with none in the end.

    Parameters
    ----------
    stiction_tolerance : float, optional
        At least [m/s], of every contact.
    stiffness : float, optional
        At most [N/m], of every point contact.
    """

    stiction_tolerance: float | None = None
    stiffness: float | None = None

    def __post_init__(self) -> None:
        for name in ("stiction_tolerance", "stiffness"):
            value = getattr(self, name)
            if value is None:
                continue
            number = as_number(name, value)
            if not (math.isfinite(number) and number > 0.0):
                raise ArgumentError(f"Smoothing: {name} must be positive and finite, got {value}.")

    def of(
        self, model: mujoco.MjModel, contact: ContactParameters, integrator: Integrator
    ) -> ContactParameters:
        """Contact parameters that are those given, and the model's own, with these bounds."""
        inside = parameters_of_model(model)
        changes: dict[str, Any] = {}
        for kind in ("bodies", "geoms", "pairs"):
            own, given = dict(getattr(inside, kind)), dict(getattr(contact, kind))
            merged = {key: material for key, material in own.items() if key not in given}
            for key, material in given.items():
                merged[key] = _over(own[key], material) if key in own else material
            changes[kind] = {key: self._bounded(one) for key, one in merged.items()}
        tolerance = integrator.default_stiction_tolerance or _STICTION_TOLERANCE
        for name, default in (("stiffness", _STIFFNESS), ("stiction_tolerance", tolerance)):
            if getattr(self, name) is not None:
                values = (getattr(contact, name), getattr(inside, name), default)
                changes[name] = next(value for value in values if value is not None)
        return self._bounded(replace(contact, **changes))

    def _bounded(self, material: _M) -> _M:
        changes: dict[str, Any] = {}
        if self.stiffness is not None and material.stiffness is not None:
            changes["stiffness"] = min(material.stiffness, self.stiffness)
        if self.stiction_tolerance is not None and material.stiction_tolerance is not None:
            changes["stiction_tolerance"] = max(
                material.stiction_tolerance, self.stiction_tolerance
            )
        return replace(material, **changes)


def _over(below: Material, above: Material) -> Material:
    """One material, and where it leaves something open another one."""
    open_fields = {name: getattr(below, name) for name in COLUMNS if getattr(above, name) is None}
    return replace(above, **open_fields)
