"""Contact parameters: what the user gives, what the model gives, and the tables made of both."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import mujoco
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
from asperity.errors import ModelError

__all__ = ["ContactParameters", "Material", "ResolvedMaterials", "resolve_materials"]

_COLUMNS = {
    "stiffness": STIFFNESS,
    "dissipation": DISSIPATION,
    "friction": STATIC_FRICTION,
    "dynamic_friction": DYNAMIC_FRICTION,
    "stiction_tolerance": STICTION_TOLERANCE,
    "relaxation_time": RELAXATION_TIME,
}

_ALLOWED = (
    "stiffness, dissipation, friction, dynamic_friction, stiction_tolerance or relaxation_time"
)


def _check(where: str, name: str, value: Any) -> float:
    value = as_number(f"{where}: {name}", value)
    positive = name in ("stiffness", "stiction_tolerance")
    if not math.isfinite(value) or value < 0 or (positive and value == 0):
        kind = "positive" if positive else "non-negative"
        raise ModelError(f"{where}: {name} must be {kind} and finite, got {value}.")
    return value


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
        Time scale [s] of dissipation that is linear in the penetration's rate, the law of `Sap`;
        the other methods dissipate by ``dissipation``.
    """

    stiffness: float | None = None
    dissipation: float | None = None
    friction: float | None = None
    dynamic_friction: float | None = None
    stiction_tolerance: float | None = None
    relaxation_time: float | None = None

    def __post_init__(self) -> None:
        for name in _COLUMNS:
            value = getattr(self, name)
            if value is not None:
                _check(type(self).__name__, name, value)
        if self.friction is not None and (self.dynamic_friction or 0.0) > self.friction:
            raise ModelError(
                f"{type(self).__name__}: dynamic_friction {self.dynamic_friction} must not exceed "
                f"friction {self.friction}."
            )

    def row(self) -> np.ndarray:
        """The parameters as an array, ``UNSET`` where open."""
        row = np.full(PARAMETERS, UNSET)
        for name, column in _COLUMNS.items():
            value = getattr(self, name)
            if value is not None:
                row[column] = value
        return row


@dataclass(frozen=True, kw_only=True)
class ContactParameters(Material):
    """Contact parameters of a model, in SI units.

    The values given here hold for every *pair* of geoms that touch, as they stand. Overrides by
    geom or body are the geom's *own* values: two of them combine (stiffness in series, dissipation
    by the softer side, friction by the harmonic mean, the larger stiction tolerance, the
    sum of relaxation times), one of them stands alone against a geom without. An override by pair
    replaces everything.

    Parameters
    ----------
    stiffness : float, optional
        1e5 N/m by default: a kilogram rests 0.1 mm deep, which no one sees, and the fastest contact
        oscillation of a 10 g part is 500 Hz. (CENIC's hard clutter uses the same.)
    dissipation : float, optional
        10 s/m by default: no rebound faster than 0.1 m/s, about what hard plastics and metals
        do at everyday speeds. (CENIC's clutter uses the same.)
    friction : float, optional
        By default the model's, combined as MuJoCo does.
    dynamic_friction : float, optional
        By default the same as static friction.
    stiction_tolerance : float, optional
        1e-4 m/s by default, as in all three papers: a grasp creeps at most 0.1 mm in a second.
    relaxation_time : float, optional
        By default that of the `Sap` integrator, which is its time step unless it says otherwise.
    geoms, bodies : mapping of str to Material, optional
        Own values of geoms (of all geoms of bodies) whose name matches the key, a name or a glob
        such as ``"finger_*"``. Later entries win over earlier ones, geoms over bodies.
    pairs : mapping of (str, str) to Material, optional
        Values of pairs of geoms, each side a name or a glob; a name that no geom has is taken as
        a body's.

    Notes
    -----
    A model file can carry the same in ``<custom>``; values given in Python win::

        <custom>
          <text name="asperity" data="stiffness=1e5 dissipation=10"/>
          <text name="asperity:geom:finger_*" data="stiffness=2e4 friction=1.2"/>
          <text name="asperity:body:cup" data="dissipation=30"/>
          <text name="asperity:pair:finger_*|cup" data="friction=0.8 dynamic_friction=0.6"/>
        </custom>
    """

    geoms: Mapping[str, Material] = field(default_factory=dict)
    bodies: Mapping[str, Material] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Material] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("geoms", "bodies", "pairs"):
            _check_overrides(name, getattr(self, name))


_DEFAULT = Material(stiffness=1e5, dissipation=10.0, stiction_tolerance=1e-4)


def _check_overrides(name: str, overrides: Any) -> None:
    """Refuse what is not a mapping of names, or of pairs of names, to materials."""
    where = f"ContactParameters: {name}"
    if not isinstance(overrides, Mapping):
        raise ModelError(f"{where} must be a dict of materials, got {overrides!r}.")
    for key, material in overrides.items():
        if name == "pairs":
            if not (
                isinstance(key, tuple) and len(key) == 2 and all(isinstance(k, str) for k in key)
            ):
                sides = tuple(key.split("|")) if isinstance(key, str) else ()
                example = sides if len(sides) == 2 else ("finger_*", "cup")
                raise ModelError(
                    f"{where}: {key!r} is not a pair of two names; write it as {example!r}."
                )
        elif not isinstance(key, str):
            raise ModelError(f"{where}: {key!r} is not a name or a glob, which are strings.")
        if not isinstance(material, Material) or isinstance(material, ContactParameters):
            given = type(material).__name__
            raise ModelError(
                f"{where}[{key!r}] must be a Material, such as Material(friction=0.5), got "
                f"{given if isinstance(material, Material) else repr(material)}."
            )


class ResolvedMaterials(NamedTuple):
    """Tables for `asperity.contact.combination.combine`."""

    default: np.ndarray
    geoms: np.ndarray
    pairs: np.ndarray
    pair_keys: np.ndarray


def _parse(name: str, text: str) -> Material:
    values: dict[str, float] = {}
    for word in text.replace(",", " ").split():
        key, equals, value = word.partition("=")
        if key not in _COLUMNS or not equals:
            raise ModelError(f"<text name={name!r}>: {word!r} is not {_ALLOWED} = number.")
        try:
            number = float(value)
        except ValueError:
            raise ModelError(
                f"<text name={name!r}>: {key} must be a number, got {value!r}."
            ) from None
        values[key] = _check(f"<text name={name!r}>", key, number)
    try:
        return Material(**values)
    except ModelError as error:
        raise ModelError(f"<text name={name!r}>: {error}") from None


def _text(model: mujoco.MjModel, index: int) -> str:
    start = model.text_adr[index]
    data = bytes(model.text_data[start : start + model.text_size[index]]).split(b"\0")[0]
    try:
        return data.decode()
    except UnicodeDecodeError:
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_TEXT, index)
        raise ModelError(
            f"<text name={name!r}>: {data!r} is not UTF-8; save the model's file as UTF-8."
        ) from None


def _from_model(model: mujoco.MjModel) -> ContactParameters:
    """Read the parameters in the model's ``<custom>`` texts."""
    default = Material()
    geoms: dict[str, Material] = {}
    bodies: dict[str, Material] = {}
    pairs: dict[tuple[str, str], Material] = {}
    for i in range(model.ntext):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_TEXT, i) or ""
        if name != "asperity" and not name.startswith("asperity:"):
            continue
        material = _parse(name, _text(model, i))
        parts = name.split(":", 2)
        if len(parts) == 1:
            default = material
        elif len(parts) == 3 and parts[1] == "geom":
            geoms[parts[2]] = material
        elif len(parts) == 3 and parts[1] == "body":
            bodies[parts[2]] = material
        elif len(parts) == 3 and parts[1] == "pair" and parts[2].count("|") == 1:
            first, second = parts[2].split("|")
            pairs[first, second] = material
        else:
            raise ModelError(
                f"<text name={name!r}>: the name must be 'asperity', 'asperity:geom:NAME', "
                "'asperity:body:NAME' or 'asperity:pair:NAME|NAME'."
            )
    values = {name: getattr(default, name) for name in _COLUMNS}
    return ContactParameters(**values, geoms=geoms, bodies=bodies, pairs=pairs)


def _matching(names: Iterable[str], pattern: str) -> list[int]:
    return [i for i, name in enumerate(names) if name and fnmatch.fnmatchcase(name, pattern)]


def _apply(rows: np.ndarray, indices: list[int], material: Material) -> None:
    values = material.row()
    given = values != UNSET
    for index in indices:
        rows[index, given] = values[given]
        if given[STATIC_FRICTION] and not given[DYNAMIC_FRICTION]:
            # A new static coefficient brings its own dynamic one.
            rows[index, DYNAMIC_FRICTION] = values[STATIC_FRICTION]


def resolve_materials(model: mujoco.MjModel, given: ContactParameters) -> ResolvedMaterials:
    """Tables of contact parameters for a model.

    Raises
    ------
    ModelError
        If a name or glob matches nothing, or a parameter is negative or not finite.
    """
    if not isinstance(given, ContactParameters):
        raise ModelError(f"contact must be ContactParameters, got {type(given).__name__}.")
    inside = _from_model(model)
    geom_names = [model.geom(i).name for i in range(model.ngeom)]
    body_names = [model.body(i).name for i in range(model.nbody)]

    def of_bodies(pattern: str) -> list[int]:
        bodies = set(_matching(body_names, pattern))
        return [i for i in range(model.ngeom) if int(model.geom_bodyid[i]) in bodies]

    default = _DEFAULT.row()
    for source in (inside, given):
        _apply(default[None], [0], Material(**{f: getattr(source, f) for f in _COLUMNS}))
    rows = np.full((model.ngeom, PARAMETERS), UNSET)
    for source in (inside, given):
        for pattern, material in source.bodies.items():
            indices = of_bodies(pattern)
            if not _matching(body_names, pattern):
                raise ModelError(f"contact parameters: no body is named {pattern!r}.")
            _apply(rows, indices, material)
    for source in (inside, given):
        for pattern, material in source.geoms.items():
            indices = _matching(geom_names, pattern)
            if not indices:
                raise ModelError(f"contact parameters: no geom is named {pattern!r}.")
            _apply(rows, indices, material)

    table: dict[int, np.ndarray] = {}
    for source in (inside, given):
        for (first, second), material in source.pairs.items():
            sides = []
            for pattern in (first, second):
                indices = _matching(geom_names, pattern) or of_bodies(pattern)
                if not indices:
                    raise ModelError(
                        f"contact parameters of the pair ({first!r}, {second!r}): no geom or body "
                        f"is named {pattern!r}."
                    )
                sides.append(indices)
            for a in sides[0]:
                for b in sides[1]:
                    key = min(a, b) * model.ngeom + max(a, b)
                    row = table.setdefault(key, np.full(PARAMETERS, UNSET))
                    _apply(row[None], [0], material)
    keys = np.array(sorted(table), dtype=np.int64)
    pairs = np.array([table[k] for k in keys]).reshape(len(keys), PARAMETERS)
    return ResolvedMaterials(default, rows, pairs, keys)


assert {f.name for f in fields(Material)} == set(_COLUMNS)
