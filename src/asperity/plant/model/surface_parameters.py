"""What surface every geom has: points, a field of pressure, or a rigid surface."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import mujoco
import numpy as np

from asperity.errors import ArgumentError
from asperity.plant.detection.sweep import colliding_geoms
from asperity.plant.model.contact_parameters import MODEL_OPTIONS, ContactParameters
from asperity.plant.model.contact_texts import parameters_of_model
from asperity.plant.model.material import SURFACE_FIELDS, Material
from asperity.plant.model.names import element, listed
from asperity.plant.model.resolved_materials import GeomNames

__all__ = ["GeomSurface", "ResolvedSurfaces", "resolve_surfaces"]

_KINDS = mujoco.mjtGeom
_GEOM = mujoco.mjtObj.mjOBJ_GEOM
_PRIMITIVES = (
    _KINDS.mjGEOM_SPHERE,
    _KINDS.mjGEOM_ELLIPSOID,
    _KINDS.mjGEOM_BOX,
    _KINDS.mjGEOM_CYLINDER,
    _KINDS.mjGEOM_CAPSULE,
)


@dataclass(frozen=True)
class GeomSurface:
    """The surface of one geom; ``None`` where nothing is given."""

    surface: str = "point"
    hydroelastic_modulus: float = 1e7
    resolution: float | None = None
    depth: float | None = None
    field_mesh: str | os.PathLike[str] | None = None
    told: bool = False
    """Whether the surface was told for this geom or its body, not for all."""
    own: frozenset[str] = frozenset()
    """Parameters that were told for this geom or its body."""


class ResolvedSurfaces(NamedTuple):
    """Surfaces of all geoms, and the options of the model."""

    geoms: tuple[GeomSurface, ...]
    point_pairs: np.ndarray
    """Sorted keys min · ngeom + max of pairs that touch in points."""
    quadrature: str
    angle_rule: str
    notes: tuple[str, ...]
    asked: bool
    """Whether anything was said of surfaces."""

    @property
    def any_compliant(self) -> bool:
        """Whether any geom has a field."""
        return any(geom.surface == "compliant" for geom in self.geoms)


def _given(material: Material) -> dict[str, Any]:
    values = {name: getattr(material, name) for name in SURFACE_FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def _says_something(source: ContactParameters) -> bool:
    """Whether parameters speak of surfaces at all."""
    every = (source, *source.geoms.values(), *source.bodies.values(), *source.pairs.values())
    return any(_given(material) for material in every)


def resolve_surfaces(model: mujoco.MjModel, given: ContactParameters) -> ResolvedSurfaces:
    """Surfaces of a model's geoms; values given in Python win over those of the model.

    Raises
    ------
    ArgumentError
        If a geom cannot have the surface that it was told to have, or, with
        ``fallback="error"``, if geoms with surfaces may touch that make no patch.
    """
    inside = parameters_of_model(model)
    options = {
        name: getattr(given, name) or getattr(inside, name) or allowed[0]
        for name, allowed in MODEL_OPTIONS.items()
    }
    if not (_says_something(inside) or _says_something(given)):
        return ResolvedSurfaces(
            (GeomSurface(),) * model.ngeom,
            np.zeros(0, np.int64),
            options["quadrature"],
            options["angle_rule"],
            _options_without_effect(given),
            False,
        )
    names = GeomNames(model)
    start = GeomSurface()
    for source in (inside, given):
        start = replace(start, **_given(source))
    geoms = [start] * model.ngeom
    for source in (inside, given):
        for pattern, material in source.bodies.items():
            _tell(geoms, names.of_bodies(pattern), material)
    for source in (inside, given):
        for pattern, material in source.geoms.items():
            _tell(geoms, names.geoms(pattern), material)
    notes: list[str] = []
    for index in range(model.ngeom):
        geoms[index], note = _possible(model, index, geoms[index])
        if note:
            notes.append(note)
    pairs = set()
    for source in (inside, given):
        for sides, material in source.pairs.items():
            if material.surface == "point":
                pairs |= {
                    min(a, b) * model.ngeom + max(a, b)
                    for a in names.side(sides, 0)
                    for b in names.side(sides, 1)
                }
    resolved = ResolvedSurfaces(
        tuple(geoms),
        np.array(sorted(pairs), dtype=np.int64),
        options["quadrature"],
        options["angle_rule"],
        (*dict.fromkeys(notes), *_without_effect(model, geoms)),
        True,
    )
    return _with_fallbacks(model, resolved, options["fallback"])


def _options_without_effect(given: ContactParameters) -> tuple[str, ...]:
    said = [name for name in MODEL_OPTIONS if getattr(given, name) is not None]
    if not said:
        return ()
    return (
        f"Contact parameters: {listed(said)} plays no part without pressure fields; say "
        "surface='compliant'.",
    )


def _without_effect(model: mujoco.MjModel, geoms: list[GeomSurface]) -> tuple[str, ...]:
    """Sentences about parameters of pressure fields that nothing has."""
    if not any(geom.surface == "compliant" for geom in geoms):
        if all(geom == GeomSurface() for geom in geoms):
            return ()
        return (
            "No geom that can collide is compliant, so that parameters of pressure fields play no "
            "part; say surface='compliant' of one.",
        )
    points = [
        element(model, _GEOM, index)
        for index, geom in enumerate(geoms)
        if geom.surface == "point" and geom.own and not geom.told
    ]
    if not points:
        return ()
    return (
        f"{listed(points)}: parameters of pressure fields play no part, since contact is in "
        "points; say surface='compliant' or 'rigid'.",
    )


def _tell(geoms: list[GeomSurface], indices: list[int], material: Material) -> None:
    values = _given(material)
    for index in indices:
        own = geoms[index].own | values.keys()
        geoms[index] = replace(geoms[index], **values, own=own, told="surface" in own)


def _type_name(kind: int) -> str:
    return str(_KINDS(kind).name.removeprefix("mjGEOM_").lower())


def _collides(model: mujoco.MjModel, geom: int) -> bool:
    in_pair = np.any(model.pair_geom1 == geom) or np.any(model.pair_geom2 == geom)
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom] or in_pair)


def _possible(
    model: mujoco.MjModel, index: int, geom: GeomSurface
) -> tuple[GeomSurface, str | None]:
    """The surface that a geom of this type can have, or an error if it was told another."""
    if geom.surface == "point":
        return geom, None
    if not _collides(model, index):
        return replace(geom, surface="point"), None
    kind = int(model.geom_type[index])
    if geom.field_mesh is not None and kind != int(_KINDS.mjGEOM_MESH):
        raise ArgumentError(
            f"{element(model, _GEOM, index)}: field_mesh applies to mesh geoms, not to a "
            f"{_type_name(kind)}."
        )
    if kind == int(_KINDS.mjGEOM_PLANE):
        if geom.depth is not None and not (geom.surface == "compliant" and geom.told):
            raise ArgumentError(
                f"{element(model, _GEOM, index)}: a plane is rigid and has no depth unless its own "
                "material has surface='compliant'."
            )
        if geom.surface == "compliant" and not geom.told:
            return replace(geom, surface="rigid"), None
        if geom.surface == "compliant" and geom.depth is None:
            raise ArgumentError(
                f"{element(model, _GEOM, index)}: a compliant plane needs the depth of its slab, "
                "such as Material(surface='compliant', depth=0.05)."
            )
    elif kind == int(_KINDS.mjGEOM_HFIELD):
        if geom.surface == "compliant" and geom.told:
            raise ArgumentError(
                f"{element(model, _GEOM, index)}: a height field has no inside to carry a field of "
                "pressure; set surface='rigid', and make the geoms that touch it compliant."
            )
        return replace(geom, surface="rigid"), None
    elif kind == int(_KINDS.mjGEOM_SDF):
        if geom.told:
            raise ArgumentError(
                f"{element(model, _GEOM, index)}: a signed distance field has no mesh for "
                f"surface={geom.surface!r}; set surface='point', or use its mesh as a mesh geom."
            )
        return replace(geom, surface="point"), (
            f"{element(model, _GEOM, index)} is a signed distance field and touches in points."
        )
    if geom.depth is not None and kind in (int(primitive) for primitive in _PRIMITIVES):
        raise ArgumentError(
            f"{element(model, _GEOM, index)}: depth applies to meshes and planes; the depth of a "
            f"{_type_name(kind)} follows from its shape."
        )
    if geom.field_mesh == "surface" and geom.surface == "compliant":
        raise ArgumentError(
            f"{element(model, _GEOM, index)}: field_mesh='surface' is for rigid geoms; a compliant "
            "one needs tetrahedra: 'hull', 'tetrahedralize' or a file."
        )
    return geom, None


def _with_fallbacks(
    model: mujoco.MjModel, resolved: ResolvedSurfaces, fallback: str
) -> ResolvedSurfaces:
    """Say which kinds of geoms with surfaces touch in points all the same, or refuse them."""
    if not resolved.any_compliant:
        return resolved
    half_space = model.geom_type == int(_KINDS.mjGEOM_PLANE)
    rigid = np.array([geom.surface == "rigid" for geom in resolved.geoms], dtype=bool)
    field = np.array([geom.surface != "point" for geom in resolved.geoms], dtype=bool)
    collide = colliding_geoms(model).astype(bool)
    collide &= ~(half_space[:, None] & half_space[None, :])
    stuck = collide & rigid[:, None] & rigid[None, :] & field[:, None] & field[None, :]
    told = np.flatnonzero([not geom.told for geom in resolved.geoms])
    # What nobody has told to be rigid, as a plane, is no reason to complain about another plane.
    stuck[np.ix_(told, told)] = False
    stuck = np.triu(stuck)
    if not stuck.any():
        return resolved
    a, b = (int(index) for index in np.argwhere(stuck)[0])
    count = int(np.count_nonzero(stuck))
    more = f" (and {count - 1} more pairs)" if count > 1 else ""
    both = f"{element(model, _GEOM, a)} and {element(model, _GEOM, b)}{more} are both rigid"
    if fallback == "error":
        raise ArgumentError(
            f"{both} and make no patch; make one compliant, or set fallback='point'."
        )
    note = f"{both} and touch in points."
    return resolved._replace(notes=(*resolved.notes, note))
