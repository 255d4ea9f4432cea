"""Read XML leniently: undeclared prefixes and odd comments pass, and lines are remembered."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from xml.parsers import expat

from asperity.errors import ModelError

__all__ = ["number", "read_xml", "root_tag", "without_comments"]

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ROOT = re.compile(r"\A\s*(?:<\?.*?\?>\s*|<!DOCTYPE[^>]*>\s*)*<([\w:.-]+)", re.DOTALL)


def without_comments(text: str) -> str:
    """Remove comments but keep their line breaks, so that line numbers stay true."""
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)


def root_tag(text: str) -> str | None:
    """The name of the root element, or None if the text does not look like XML."""
    match = _ROOT.match(without_comments(text.removeprefix("\ufeff")))
    return match[1] if match else None


def read_xml(text: str, source: str) -> tuple[ET.Element, dict[ET.Element, int]]:
    """Parse XML as MuJoCo does, that is, without regard to namespaces.

    Robot descriptions found in the wild use prefixes that they do not declare and hyphens inside
    comments, and end in a zero byte; all are errors for the parsers of the standard library.

    Returns
    -------
    root : Element
    lines : dict
        Line of each element, counted from 1.

    Raises
    ------
    ModelError
        If the XML is not well formed, naming the line.
    """
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate()
    lines: dict[ET.Element, int] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

    parser.StartElementHandler = start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(without_comments(text.removeprefix("\ufeff")).lstrip().rstrip("\0"), True)
    except expat.ExpatError as error:
        raise ModelError(
            f"{source} is not well-formed XML ({expat.ErrorString(error.code)} in line "
            f"{error.lineno}); correct it there."
        ) from None
    return builder.close(), lines


def number(element: ET.Element, name: str, lines: dict[ET.Element, int], source: str) -> float:
    """Read an attribute as a number, 0 if it is not there.

    Raises
    ------
    ModelError
        If it is not a finite number.
    """
    text = element.get(name, "0")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelError(
            f"{source}: attribute {name}='{text}' of <{element.tag}> in line {lines[element]} is "
            "not a finite number; correct it."
        )
    return value
