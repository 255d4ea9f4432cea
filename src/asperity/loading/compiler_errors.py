"""What MuJoCo's compiler complains about, in our words."""

from __future__ import annotations

import re

from asperity.errors import ModelError

__all__ = ["explained"]

# What to do about MuJoCo's complaints, looked up in its own words.
_ADVICE = (
    ("Error opening file", "correct the file name or put the file there"),
    ("balanceinertia", 'correct the inertia or set balanceinertia="true" in <compiler>'),
    ("positive eigenvalues", "correct the inertia, which no body can have"),
    ("moving bodies must be larger", "give the body a mass, or a geom that has one"),
    ("ASCII file", "convert the mesh to binary STL or to OBJ"),
    ("can only be used on top level", "let its parent be the link 'world'"),
    ("Schema violation", "remove or correct it"),
    ("XML_ERROR", "correct the XML there"),
)


def explained(error: Exception, name: str, *, lines: bool = True) -> ModelError:
    """Turn a message of MuJoCo's compiler into one sentence that says where and what to do.

    Parameters
    ----------
    error : Exception
        What MuJoCo raised.
    name : str
        The model's file or kind.
    lines : bool
        Whether MuJoCo's line numbers are those of the user's file.
    """
    raw = str(error)
    text = re.sub(r"\s*The static bodies of the spec were fused[^\n]*", "", raw)
    text = re.sub(r"^(XML Error|XML parse error \d+|Error|ParseXML):\s*", "", text)
    text = re.sub(r"^Error(:\s+|=)", "", text)
    where = re.search(r"Element (?:name )?'([^']*)'(?:, id (\d+))?(?:, line (\d+))?", text)
    line = None
    if where is not None:
        text = text[: where.start()]
    found = where[3] if where is not None and where[3] else None
    tiny = re.search(r"XML_ERROR\w+ ErrorID=\d+ \(\w+\) Line number=(\d+)", raw)
    if tiny is not None:
        text, found = "the XML is not well formed", tiny[1]
    line = f"line {found}" if lines and found else ""
    label = ""
    if where is not None:
        label = f"element '{where[1]}'" if where[1] else f"unnamed element {where[2]}"
    place = ", ".join(part for part in (label, line) if part)
    advice = next((say for key, say in _ADVICE if key in raw), "correct it")
    message = " ".join(text.split()).rstrip(" .:;").replace("; ", ", ")
    return ModelError(f"{name}: {message}{f' ({place})' if place else ''}; {advice}.")
