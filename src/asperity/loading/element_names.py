"""Names of a model's elements, which Python can only read in UTF-8."""

from __future__ import annotations

import mujoco

from asperity.errors import ModelError

__all__ = ["check_names"]


def check_names(model: mujoco.MjModel, source: str) -> None:
    """Refuse a model with a name that MuJoCo's bindings could not read when it is asked for.

    Raises
    ------
    ModelError
        With the element and its name.
    """
    buffer = bytes(model.names)
    try:
        buffer.decode()
        return
    except UnicodeDecodeError as error:
        start = buffer.rfind(b"\0", 0, error.start) + 1
        name = buffer[start : buffer.index(b"\0", error.start)]
    raise ModelError(
        f"{source}: {_kind(model, start)} has the name {name!r}, which is not UTF-8; save the "
        "model's file as UTF-8."
    )


def _kind(model: mujoco.MjModel, start: int) -> str:
    """Which element has its name at this place, as XML calls it, and its number."""
    for attribute in dir(model):
        if attribute.startswith("name_") and attribute.endswith("adr"):
            addresses = list(getattr(model, attribute))
            if start in addresses:
                kind = attribute.removeprefix("name_").removesuffix("adr")
                return f"{_XML.get(kind, kind)} {addresses.index(start)}"
    return "the model"


_XML = {
    "jnt": "joint",
    "cam": "camera",
    "tex": "texture",
    "mat": "material",
    "eq": "equality",
    "tuple": "custom tuple",
    "text": "custom text",
    "numeric": "custom numeric",
}
