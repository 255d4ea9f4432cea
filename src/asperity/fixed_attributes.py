"""Objects of which only declared attributes may be set: a misspelt one must not pass unheard."""

from __future__ import annotations

import difflib
import inspect
from typing import Any, ClassVar

__all__ = ["FixedAttributes"]


class FixedAttributes:
    """Base of classes that refuse to set attributes which they do not have.

    Names that begin with an underscore, and subclasses from outside the package, are free.
    """

    instead: ClassVar[dict[str, str]] = {}
    """Of names that users try to set: what to do instead."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not _may_be_set(type(self), name):
            raise AttributeError(_refusal(type(self), name))
        object.__setattr__(self, name, value)


def _may_be_set(kind: type, name: str) -> bool:
    for one in kind.__mro__:
        found = vars(one).get(name)
        if isinstance(found, property):
            return found.fset is not None
        if name in inspect.get_annotations(one) or not _is_ours(one):
            return True
    return False


def _is_ours(kind: type) -> bool:
    return kind is object or kind.__module__.partition(".")[0] == "asperity"


def _refusal(kind: type[FixedAttributes], name: str) -> str:
    if name in kind.instead:
        return f"{name} of a {kind.__name__} cannot be set; {kind.instead[name]}."
    if hasattr(kind, name):
        return f"{name} of a {kind.__name__} can be read and not set."
    settable = [one for one in dir(kind) if not one.startswith("_") and _may_be_set(kind, one)]
    near = difflib.get_close_matches(name, settable, 1)
    return f"a {kind.__name__} has no attribute {name!r} to set" + (
        f"; did you mean {near[0]!r}?" if near else "; look at its documentation."
    )
