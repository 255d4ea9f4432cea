"""Contact parameters in a model's own ``<custom>`` texts."""

from __future__ import annotations

from typing import Any

import mujoco

from asperity.errors import ArgumentError, ModelError
from asperity.plant.model.contact_parameters import MODEL_OPTIONS, ContactParameters
from asperity.plant.model.material import COLUMNS, SURFACE_FIELDS, Material
from asperity.plant.model.own_texts import own_texts

__all__ = ["parameters_of_model"]

_WORDS = ("surface", "field_mesh")


def _parse(name: str, text: str) -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    allowed = (*COLUMNS, *SURFACE_FIELDS, *(MODEL_OPTIONS if name == "asperity" else ()))
    for word in text.replace(",", " ").split():
        key, equals, value = word.partition("=")
        if key not in allowed or not equals:
            raise ModelError(
                f"<text name={name!r}>: {word!r} is not {', '.join(allowed[:-1])} or "
                f"{allowed[-1]} = value."
            )
        if key in _WORDS or key in MODEL_OPTIONS:
            values[key] = value
            continue
        try:
            values[key] = float(value)
        except ValueError:
            raise ModelError(
                f"<text name={name!r}>: {key} must be a number, got {value!r}."
            ) from None
    return values


def _material(name: str, kind: type[Material], values: dict[str, Any]) -> Any:
    try:
        return kind(**values)
    except ArgumentError as error:
        said = str(error).removeprefix(f"{kind.__name__}: ")
        raise ModelError(f"<text name={name!r}>: {said}") from None


def parameters_of_model(model: mujoco.MjModel) -> ContactParameters:
    """Read the parameters in the model's ``<custom>`` texts.

    Raises
    ------
    ModelError
        If a text names no parameter, or has a value that is none.
    """
    default: dict[str, Any] = {}
    geoms: dict[str, Material] = {}
    bodies: dict[str, Material] = {}
    pairs: dict[tuple[str, str], Material] = {}
    for name, prefix, kind, element, data in own_texts(model):
        if kind == "joint":
            continue
        values = _parse(name, data)
        if not kind:
            default = values
            _material(name, ContactParameters, values)
            continue
        material = _material(name, Material, values)
        if element and kind == "geom":
            geoms[prefix + element] = material
        elif element and kind == "body":
            bodies[prefix + element] = material
        elif kind == "pair" and element.count("|") == 1:
            first, second = (prefix + one for one in element.split("|"))
            pairs[first, second] = material
            _material(name, ContactParameters, {"pairs": {(first, second): material}})
        else:
            raise ModelError(
                f"<text name={name!r}>: the name must be 'asperity', 'asperity:geom:NAME', "
                "'asperity:body:NAME', 'asperity:pair:NAME|NAME' or 'asperity:joint:NAME'."
            )
    return ContactParameters(**default, geoms=geoms, bodies=bodies, pairs=pairs)
