"""Contact parameters in a model's own ``<custom>`` texts."""

from __future__ import annotations

from typing import Any

import mujoco

from asperity.errors import ArgumentError, ModelError
from asperity.plant.model.contact_parameters import MODEL_OPTIONS, ContactParameters
from asperity.plant.model.material import COLUMNS, SURFACE_FIELDS, Material

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
    for i in range(model.ntext):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_TEXT, i) or ""
        if name != "asperity" and not name.startswith("asperity:"):
            continue
        values = _parse(name, _text(model, i))
        parts = name.split(":", 2)
        if len(parts) == 1:
            default = values
            _material(name, ContactParameters, values)
            continue
        material = _material(name, Material, values)
        if len(parts) == 3 and parts[1] == "geom":
            geoms[parts[2]] = material
        elif len(parts) == 3 and parts[1] == "body":
            bodies[parts[2]] = material
        elif len(parts) == 3 and parts[1] == "pair" and parts[2].count("|") == 1:
            first, second = parts[2].split("|")
            pairs[first, second] = material
            _material(name, ContactParameters, {"pairs": {(first, second): material}})
        else:
            raise ModelError(
                f"<text name={name!r}>: the name must be 'asperity', 'asperity:geom:NAME', "
                "'asperity:body:NAME' or 'asperity:pair:NAME|NAME'."
            )
    return ContactParameters(**default, geoms=geoms, bodies=bodies, pairs=pairs)
