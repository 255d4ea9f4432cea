"""Contact parameters that differ from world to world, by the names that `asperity.Batch.vary` has.

``"contact.stiffness"`` is what holds for every pair of geoms without values of its own, as in
`ContactParameters`; ``"contact.geom_stiffness"`` are the geoms' own values. Not a number stands
where there is none: then the geom has none of its own, or the model's friction counts.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from asperity.contact.combination import UNSET
from asperity.errors import ArgumentError
from asperity.integrators import Integrator
from asperity.plant.model.material import COLUMNS, Material
from asperity.plant.model.resolved_materials import ResolvedMaterials, apply_material
from asperity.simulator.checks import reads_contact

__all__ = ["CONTACT", "contact_values", "require_read", "world_materials"]

CONTACT = "contact."
"""What names of contact parameters begin with."""
_GEOM = "geom_"


def require_read(name: str, integrator: Integrator) -> None:
    """Refuse a contact parameter of which an integrator takes no notice."""
    column = name.removeprefix(CONTACT).removeprefix(_GEOM)
    if name.startswith(CONTACT) and column in COLUMNS and not reads_contact(integrator, column):
        raise ArgumentError(
            f"{name} cannot vary from world to world: {type(integrator).__name__} does not read "
            f"{column}. Take another integrator, or leave it out."
        )


def contact_values(materials: ResolvedMaterials, name: str) -> np.ndarray:
    """Values that all worlds share of a parameter, shape () or (ngeom,).

    Raises
    ------
    ArgumentError
        If there is no such parameter.
    """
    column = name.removeprefix(CONTACT)
    of_geoms = column.startswith(_GEOM)
    column = column.removeprefix(_GEOM)
    if column not in COLUMNS:
        near = difflib.get_close_matches(column, COLUMNS, 1) or ["stiffness"]
        raise ArgumentError(
            f"{name!r} is no contact parameter that can vary from world to world; did you mean "
            f"'{CONTACT}{_GEOM if of_geoms else ''}{near[0]}'? There are {', '.join(COLUMNS)}, of "
            f"all pairs ('{CONTACT}friction') or of geoms ('{CONTACT}{_GEOM}friction')."
        )
    values = (materials.geoms if of_geoms else materials.default)[..., COLUMNS[column]]
    return np.where(values == UNSET, np.nan, values)


def world_materials(
    materials: ResolvedMaterials, values: Mapping[str, np.ndarray]
) -> ResolvedMaterials:
    """Tables of a world, of what all worlds share and its own values by name.

    Raises
    ------
    ArgumentError
        If a value is negative or infinite.
    """
    default, geoms = materials.default.copy(), materials.geoms.copy()
    for rows, prefix in ((default[None], CONTACT), (geoms, CONTACT + _GEOM)):
        given = {c: values[prefix + c].reshape(-1) for c in COLUMNS if prefix + c in values}
        for column, numbers in given.items():
            rows[np.isnan(numbers), COLUMNS[column]] = UNSET
        for index in range(len(rows) if given else 0):
            own: dict[str, Any] = {c: float(n[index]) for c, n in given.items()}
            material = Material(**{c: value for c, value in own.items() if not math.isnan(value)})
            apply_material(rows, [index], material)
    return replace(materials, default=default, geoms=geoms)
