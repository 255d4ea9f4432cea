"""Tables of contact parameters, of what the user and the model give."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np
from numba import types

from asperity.compiled import compiled_loop
from asperity.contact.combination import (
    DYNAMIC_FRICTION,
    PARAMETERS,
    STATIC_FRICTION,
    STIFFNESS,
    UNSET,
    combine,
)
from asperity.errors import ArgumentError, AsperityError, ModelError
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.contact_texts import parameters_of_model
from asperity.plant.model.flex_contact import contact_stiffness
from asperity.plant.model.material import COLUMNS, Material

__all__ = [
    "MATERIAL_KERNELS",
    "GeomNames",
    "ResolvedMaterials",
    "apply_material",
    "resolve_materials",
]


@dataclass(frozen=True, eq=False)
class ResolvedMaterials:
    """Tables for `asperity.contact.combination.combine`."""

    default: np.ndarray
    geoms: np.ndarray
    pairs: np.ndarray
    pair_keys: np.ndarray

    def combined(self, a: int, b: int, friction: float) -> np.ndarray:
        """Combine two geoms' parameters, shape (6,), with MuJoCo's coefficient of friction."""
        out = np.full(PARAMETERS, UNSET)
        _combine(self.geoms, self.pairs, self.pair_keys, self.default, a, b, friction, out)
        return out


_F1, _F2, _I1 = types.float64[::1], types.float64[:, ::1], types.int64[::1]


@compiled_loop(types.void(_F2, _F2, _I1, _F1, types.int64, types.int64, types.float64, _F1))
def _combine(
    own: np.ndarray,
    pairs: np.ndarray,
    pair_keys: np.ndarray,
    default: np.ndarray,
    a: int,
    b: int,
    model_friction: float,
    out: np.ndarray,
) -> None:
    """See `combine`."""
    combine(own, pairs, pair_keys, default, a, b, model_friction, out)


MATERIAL_KERNELS = (_combine,)
"""What `ResolvedMaterials.combined` needs compiled."""


_FLEX = mujoco.mjtObj.mjOBJ_FLEX
_DEFAULT = Material(stiffness=1e5, dissipation=10.0, stiction_tolerance=3e-6)


def _matching(names: Iterable[str], pattern: str) -> list[int]:
    return [i for i, name in enumerate(names) if name and fnmatch.fnmatchcase(name, pattern)]


class GeomNames:
    """Which geoms names and globs mean; a name of nothing is an error.

    Parameters
    ----------
    model : mujoco.MjModel
    error : type
        Its class: `ArgumentError` of names that are given, `ModelError` of those in a model's
        texts.
    """

    def __init__(self, model: mujoco.MjModel, error: type[AsperityError] = ArgumentError) -> None:
        self._error = error
        # Flexes count on from the geoms.
        flexes = [mujoco.mj_id2name(model, _FLEX, i) or "" for i in range(model.nflex)]
        self._kinds = "geom or flex" if flexes else "geom"
        self._geoms = [*(model.geom(i).name for i in range(model.ngeom)), *flexes]
        self._bodies = [model.body(i).name for i in range(model.nbody)]
        self._body = [int(body) for body in model.geom_bodyid]

    def geoms(self, pattern: str) -> list[int]:
        """Geoms of a name or glob."""
        indices = _matching(self._geoms, pattern)
        if not indices:
            raise self._error(f"contact parameters: no {self._kinds} is named {pattern!r}.")
        return indices

    def of_bodies(self, pattern: str) -> list[int]:
        """Geoms of all bodies of a name or glob."""
        bodies = set(_matching(self._bodies, pattern))
        if not bodies:
            raise self._error(f"contact parameters: no body is named {pattern!r}.")
        return [geom for geom, body in enumerate(self._body) if body in bodies]

    def side(self, pair: tuple[str, str], side: int) -> list[int]:
        """Geoms of one side of a pair, whose name may be a body's."""
        bodies = set(_matching(self._bodies, pair[side]))
        indices = _matching(self._geoms, pair[side]) or [
            geom for geom, body in enumerate(self._body) if body in bodies
        ]
        if not indices:
            raise self._error(
                f"contact parameters of the pair ({pair[0]!r}, {pair[1]!r}): no geom or body is "
                f"named {pair[side]!r}."
            )
        return indices


def apply_material(rows: np.ndarray, indices: list[int], material: Material) -> None:
    """Write what a material gives into rows of a table."""
    values = material.row()
    given = values != UNSET
    for index in indices:
        rows[index, given] = values[given]
        if given[STATIC_FRICTION] and not given[DYNAMIC_FRICTION]:
            # A new static coefficient brings its own dynamic one.
            rows[index, DYNAMIC_FRICTION] = values[STATIC_FRICTION]


def resolve_materials(
    model: mujoco.MjModel,
    given: ContactParameters,
    stiction_tolerance: float | None = None,
) -> ResolvedMaterials:
    """Tables of contact parameters for a model.

    ``stiction_tolerance`` [m/s] is that of contacts for which nobody gives one, if not the default.

    Raises
    ------
    ArgumentError, ModelError
        If a name or glob matches nothing, or a parameter is negative or not finite.
    """
    if not isinstance(given, ContactParameters):
        raise ArgumentError(f"contact must be ContactParameters, got {type(given).__name__}.")
    inside = parameters_of_model(model)
    sources = ((inside, GeomNames(model, ModelError)), (given, GeomNames(model)))
    default = _DEFAULT.row()
    if stiction_tolerance is not None:
        apply_material(default[None], [0], Material(stiction_tolerance=stiction_tolerance))
    for source in (inside, given):
        apply_material(default[None], [0], Material(**{f: getattr(source, f) for f in COLUMNS}))
    rows = np.full((model.ngeom + model.nflex, PARAMETERS), UNSET)
    if inside.stiffness is None and given.stiffness is None:
        rows[model.ngeom :, STIFFNESS] = contact_stiffness(model)
    for source, names in sources:
        for pattern, material in source.bodies.items():
            apply_material(rows, names.of_bodies(pattern), material)
    for source, names in sources:
        for pattern, material in source.geoms.items():
            apply_material(rows, names.geoms(pattern), material)
    table: dict[int, np.ndarray] = {}
    for source, names in sources:
        for pair, material in source.pairs.items():
            for a in names.side(pair, 0):
                for b in names.side(pair, 1):
                    key = min(a, b) * len(rows) + max(a, b)
                    row = table.setdefault(key, np.full(PARAMETERS, UNSET))
                    apply_material(row[None], [0], material)
    keys = np.array(sorted(table), dtype=np.int64)
    pairs = np.array([table[k] for k in keys]).reshape(len(keys), PARAMETERS)
    return ResolvedMaterials(default, rows, pairs, keys)
