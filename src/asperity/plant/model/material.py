"""Contact parameters of a geom, a body or a pair, as users give them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from asperity.arguments import as_number
from asperity.contact.combination import (
    DISSIPATION,
    DYNAMIC_FRICTION,
    PARAMETERS,
    RELAXATION_TIME,
    STATIC_FRICTION,
    STICTION_TOLERANCE,
    STIFFNESS,
    UNSET,
)
from asperity.errors import ArgumentError

__all__ = ["COLUMNS", "SURFACE_FIELDS", "Material", "check_word"]

COLUMNS = {
    "stiffness": STIFFNESS,
    "dissipation": DISSIPATION,
    "friction": STATIC_FRICTION,
    "dynamic_friction": DYNAMIC_FRICTION,
    "stiction_tolerance": STICTION_TOLERANCE,
    "relaxation_time": RELAXATION_TIME,
}
"""Parameters of every contact, and their columns in the tables."""

SURFACE_FIELDS = ("surface", "hydroelastic_modulus", "resolution", "depth", "field_mesh")
"""Parameters of pressure fields."""

_SURFACES = ("point", "compliant", "rigid")


def _check(where: str, name: str, value: Any) -> float:
    value = as_number(f"{where}: {name}", value)
    positive = name not in ("dissipation", "friction", "dynamic_friction", "relaxation_time")
    if not math.isfinite(value) or value < 0 or (positive and value == 0):
        kind = "positive" if positive else "non-negative"
        raise ArgumentError(f"{where}: {name} must be {kind} and finite, got {value}.")
    return value


def check_word(where: str, name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is none of some words."""
    if value not in allowed:
        words = ", ".join(repr(word) for word in allowed[:-1])
        raise ArgumentError(f"{where}: {name} must be {words} or {allowed[-1]!r}, got {value!r}.")


def _check_surface(where: str, name: str, value: Any) -> None:
    if name == "surface":
        check_word(where, name, value, _SURFACES)
    elif name == "field_mesh":
        if not isinstance(value, str | os.PathLike) or not os.fspath(value):
            raise ArgumentError(
                f"{where}: field_mesh must be the path of a file, 'hull', 'surface' or "
                f"'tetrahedralize', got {value!r}."
            )
    else:
        _check(where, name, value)


@dataclass(frozen=True, kw_only=True)
class Material:
    """Contact parameters of a geom, of the geoms of a body, or of a pair; ``None`` leaves one open.

    Parameters
    ----------
    stiffness : float, optional
        Force per penetration [N/m].
    dissipation : float, optional
        Hunt–Crossley dissipation [s/m]; no rebound is faster than its inverse.
    friction : float, optional
        Coefficient of friction (static, and dynamic unless that is given too).
    dynamic_friction : float, optional
        Coefficient of dynamic friction; at most the static one.
    stiction_tolerance : float, optional
        Slip speed [m/s] below which a contact counts as sticking.
    relaxation_time : float, optional
        Time scale [s] of linear dissipation, the law of `Sap`; other methods take ``dissipation``.
    surface : {"point", "compliant", "rigid"}, optional
        Whether the geom touches in points, or with a field of pressure over its tetrahedra
        (docs/equations.md, ‘Pressure fields’), or with a rigid surface that enters the fields of
        others. Two geoms make a patch of contacts if at least one is compliant and none is a point
        geom. Their stiffness is that of the fields, and ``stiffness`` has no effect. A pair takes
        ``"point"`` alone, which makes that pair touch in points. Height fields are rigid, and so
        are planes unless their own name or body has ``"compliant"``.
    hydroelastic_modulus : float, optional
        Pressure where the field is largest [Pa]; a number to be tuned, not Young's modulus. A
        field falls from there to zero over the depth of the shape.
    resolution : float, optional
        Length of edges of tetrahedra on round shapes, and of tetrahedralized meshes [m].
    depth : float, optional
        Distance from the surface at which the field is largest [m], of meshes and planes; that of
        the shape by default. A compliant plane needs one.
    field_mesh : str or path, optional
        Of mesh geoms: ``"hull"``, the convex hull, which is also what touches in points;
        a file with tetrahedra (``.npz`` of ``asperity tetrahedralize``, ``.vtk``, ``.vtu``,
        ``.msh``); ``"tetrahedralize"``, which makes them of the mesh and keeps them on disk; or of
        rigid geoms ``"surface"``, the triangles of the mesh as they are.
    """

    stiffness: float | None = None
    dissipation: float | None = None
    friction: float | None = None
    dynamic_friction: float | None = None
    stiction_tolerance: float | None = None
    relaxation_time: float | None = None
    surface: Literal["point", "compliant", "rigid"] | None = None
    hydroelastic_modulus: float | None = None
    resolution: float | None = None
    depth: float | None = None
    field_mesh: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name in COLUMNS:
            value = getattr(self, name)
            if value is not None:
                _check(type(self).__name__, name, value)
        for name in SURFACE_FIELDS:
            value = getattr(self, name)
            if value is not None:
                _check_surface(type(self).__name__, name, value)
        if self.friction is not None and (self.dynamic_friction or 0.0) > self.friction:
            raise ArgumentError(
                f"{type(self).__name__}: dynamic_friction {self.dynamic_friction} must not exceed "
                f"friction {self.friction}."
            )

    def row(self) -> np.ndarray:
        """The parameters as an array, ``UNSET`` where open."""
        row = np.full(PARAMETERS, UNSET)
        for name, column in COLUMNS.items():
            value = getattr(self, name)
            if value is not None:
                row[column] = value
        return row


assert {f.name for f in fields(Material)} == {*COLUMNS, *SURFACE_FIELDS}
