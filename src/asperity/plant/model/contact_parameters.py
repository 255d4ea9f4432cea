"""Contact parameters that users give; `resolve_materials` makes tables of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import mujoco

from asperity.arguments import as_number
from asperity.errors import ArgumentError
from asperity.plant.model.material import SURFACE_FIELDS, Material, check_word
from asperity.plant.model.mujoco_contact import materials_from_mujoco

__all__ = ["MODEL_OPTIONS", "ContactParameters", "contact_key"]

MODEL_OPTIONS: dict[str, tuple[str, ...]] = {
    "quadrature": ("adaptive", "centre-of-pressure", "centroid", "moments"),
    "angle_rule": ("smooth", "cut"),
    "fallback": ("point", "error"),
}
"""Options of a whole model for pressure fields, the default first."""


@dataclass(frozen=True, kw_only=True)
class ContactParameters(Material):
    """Contact parameters of a model, in SI units.

    The values given here hold for every *pair* of geoms that touch. Values by geom or body are a
    geom's *own*: two of them combine (stiffness in series, dissipation by the softer side, friction
    by the harmonic mean, the larger stiction tolerance, the sum of relaxation times), and one of
    them holds alone beside a geom without. Values by pair replace all others.

    Parameters
    ----------
    stiffness : float, optional
        1e5 N/m by default: a kilogram rests 0.1 mm deep, and a part of 10 g oscillates at 500 Hz on
        its contact. CENIC's hard clutter has the same.
    dissipation : float, optional
        10 s/m by default: nothing rebounds faster than 0.1 m/s. CENIC's clutter has the same.
    friction : float, optional
        By default the model's, combined as MuJoCo does.
    dynamic_friction : float, optional
        By default the same as static friction.
    stiction_tolerance : float, optional
        3e-6 m/s by default: sticking contacts creep at most 3 µm in a second, and a grasp by a
        small part of that. All three papers have 1e-4, for a tenth fewer iterations. The default is
        5e-6 with `Midas`, whose steps are solved to a fifth of that, and 1e-4 with the classical
        integrators, which must resolve how fast friction stops so slow a slip.
    relaxation_time : float, optional
        By default that of the `Sap` integrator, which is its time step unless it says otherwise.
    surface : {"point", "compliant", "rigid"}, optional
        Of every geom; ``"point"`` by default.
    hydroelastic_modulus : float, optional
        1e7 Pa by default: as hard as rubber for a body of some centimetres.
    resolution : float, optional
        By default an eighth of a round geom's smallest radius, 20 mm at most.
    depth, field_mesh : optional
        Not for every geom: give them by geom or body.
    quadrature : {"adaptive", "centre-of-pressure", "centroid", "moments"}
        Where the force of a polygon of a patch acts: in its centre of pressure; in its centroid, as
        in Drake, without the moment of the pressure; or in three points, which resist rocking and
        turning about the normal as the polygon does. ``"adaptive"`` joins polygons in one plane
        with one linear pressure into a face. The force of a face that is a large part of its patch
        acts in three or six points, and that of other faces in the centre of pressure.
    angle_rule : {"smooth", "cut"}
        How polygons that a field sees from its back fade: smoothly, or at once as in Drake, which
        makes the force of thin bodies jump.
    fallback : {"point", "error"}
        What to do with pairs of geoms whose surfaces cannot make a patch, such as two rigid ones:
        they touch in points, or are an error.
    geoms, bodies : mapping of str to Material, optional
        Own values of geoms (of all geoms of bodies) whose name matches the key, a name or a glob
        such as ``"finger_*"``. Later entries win over earlier ones, geoms over bodies.
    pairs : mapping of (str, str) to Material, optional
        Values of pairs of geoms. Each side is a name or a glob, of a body if no geom has that name.
    notes : tuple of str
        Remarks for `Simulator.load_report`, of `from_mujoco`.

    Notes
    -----
    A model file can carry the same in ``<custom>``. Values given in Python replace them::

        <custom>
          <text name="asperity" data="stiffness=1e5 dissipation=10"/>
          <text name="asperity:geom:finger_*" data="stiffness=2e4 friction=1.2"/>
          <text name="asperity:body:cup" data="dissipation=30"/>
          <text name="asperity:pair:finger_*|cup" data="friction=0.8 dynamic_friction=0.6"/>
          <text name="asperity:geom:pad_*" data="surface=compliant hydroelastic_modulus=1e5"/>
        </custom>
    """

    quadrature: Literal["adaptive", "centre-of-pressure", "centroid", "moments"] | None = None
    angle_rule: Literal["smooth", "cut"] | None = None
    fallback: Literal["point", "error"] | None = None
    geoms: Mapping[str, Material] = field(default_factory=dict)
    bodies: Mapping[str, Material] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Material] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_mujoco(cls, model: mujoco.MjModel, *, impact_speed: float = 1.0) -> ContactParameters:
        """What ``solref`` and ``solimp`` of a model amount to, in N/m and s/m.

        MuJoCo's contact accelerates: the stiffness of its springs is that of the masses which they
        carry, so every body gets values of its own. Stiffness is such that a body sinks in as far
        under its own weight as in MuJoCo. MuJoCo resists an impact with less than that, a spring of
        1 − d times the stiffness (d from ``solimp``, 0.9 by default); dissipation is the one with
        the same rebound. Friction stays the model's.

        Parameters
        ----------
        model : mujoco.MjModel
        impact_speed : float
            Speed [m/s] from which rebounds agree; MuJoCo's damping is linear, Hunt–Crossley's grows
            with the overlap, so that they agree at one speed.

        Returns
        -------
        ContactParameters
            By body, by geom where geoms of a body differ, and by ``<pair>``; its ``notes``, which
            `Simulator.load_report` repeats, say what was approximated.

        Raises
        ------
        ArgumentError
            If the model is none, or the speed is not positive.
        """
        if not isinstance(model, mujoco.MjModel):
            raise ArgumentError(
                f"model must be a mujoco.MjModel, got {type(model).__name__}; asperity.load_model "
                "makes one of a file."
            )
        impact_speed = as_number("impact_speed", impact_speed)
        if not (math.isfinite(impact_speed) and impact_speed > 0.0):
            raise ArgumentError(f"impact_speed must be positive and finite, got {impact_speed}.")
        found = materials_from_mujoco(model, impact_speed)
        return cls(**found._asdict())

    def surface_values(self) -> tuple[object, ...]:
        """What the parameters say of pressure fields, for every geom and for the model."""
        return tuple(getattr(self, name) for name in (*SURFACE_FIELDS, *MODEL_OPTIONS))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, allowed in MODEL_OPTIONS.items():
            value = getattr(self, name)
            if value is not None:
                check_word("ContactParameters", name, value, allowed)
        for name in ("depth", "field_mesh"):
            if getattr(self, name) is not None:
                raise ArgumentError(
                    f"ContactParameters: {name} cannot be the same for every geom; give it by geom "
                    f"or body, such as geoms={{'cup': Material({name}=...)}}."
                )
        for name in ("geoms", "bodies", "pairs"):
            _check_overrides(name, getattr(self, name))


def _check_overrides(name: str, overrides: Any) -> None:
    """Refuse what is not a mapping of names, or of pairs of names, to materials."""
    where = f"ContactParameters: {name}"
    if not isinstance(overrides, Mapping):
        raise ArgumentError(f"{where} must be a dict of materials, got {overrides!r}.")
    for key, material in overrides.items():
        if name == "pairs":
            if not (
                isinstance(key, tuple) and len(key) == 2 and all(isinstance(k, str) for k in key)
            ):
                sides = tuple(key.split("|")) if isinstance(key, str) else ()
                example = sides if len(sides) == 2 else ("finger_*", "cup")
                raise ArgumentError(
                    f"{where}: {key!r} is not a pair of two names; write it as {example!r}."
                )
        elif not isinstance(key, str):
            raise ArgumentError(f"{where}: {key!r} is not a name or a glob, which are strings.")
        if not isinstance(material, Material) or isinstance(material, ContactParameters):
            given = type(material).__name__
            raise ArgumentError(
                f"{where}[{key!r}] must be a Material, such as Material(friction=0.5), got "
                f"{given if isinstance(material, Material) else repr(material)}."
            )
        if name == "pairs":
            _check_pair(f"{where}[{key!r}]", material)


def _check_pair(where: str, material: Material) -> None:
    """Refuse what a pair cannot say of pressure fields."""
    for name in SURFACE_FIELDS:
        value = getattr(material, name)
        if value is not None and (name, value) != ("surface", "point"):
            raise ArgumentError(
                f"{where}: {name}={value!r} belongs to a geom, and a pair takes surface='point' "
                "alone; give it by geom or body."
            )


def contact_key(contact: ContactParameters | None) -> object:
    """What two equal parameters have in common, and keep if their mappings are changed."""
    if not isinstance(contact, ContactParameters):
        # Anything else than None is refused by the simulation that is made for this key.
        return None if contact is None else type(contact)
    return (
        contact.row().tobytes(),
        contact.surface_values(),
        *(tuple(mapping.items()) for mapping in (contact.geoms, contact.bodies, contact.pairs)),
    )
