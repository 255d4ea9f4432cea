"""A model as functions of it see it, so that a change calls again only those whom it concerns.

Some hundred functions make tables of a model's numbers. Of one that is `remembered` a view knows
what it has returned, and the fields that it has read, also in remembered functions that it called.
It is called again when one of these has changed. What decides whether a field is read has been read
itself, so that none is missed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import mujoco
import numpy as np

__all__ = ["ELASTIC_TABLE", "OPTION", "ModelView", "bare", "remembered"]

OPTION = "opt."
"""What names of options begin with among those of fields."""

ELASTIC_TABLE = "elastic"
"""Name, as if of a field, of the table of flexes."""

# Nobody compares them.
_ALWAYS = frozenset({"stat", OPTION + "timestep"})

_Function = TypeVar("_Function", bound=Callable[..., Any])


class ModelView:
    """A model's fields, with the names of those that were read.

    Parameters
    ----------
    model : mujoco.MjModel
        Or its options.
    """

    def __init__(self, model: Any, prefix: str = "") -> None:
        self._model, self._prefix = model, prefix
        self._read: set[str] = set()
        self._results: dict[tuple[Any, ...], tuple[Any, frozenset[str]]] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._model, name)
        if name == "opt":
            value = ModelView(value, OPTION)
            value._read = self._read
        else:
            self._read.add(self._prefix + name)
        if isinstance(value, ModelView | np.ndarray):
            # Where it is stays the same.
            self.__dict__[name] = value
        return value

    def recall(
        self, function: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Return what a function of this view has returned, or call it."""
        key = (function, *(None if one is self else one for one in given), *named.items())
        known = self._results.get(key)
        if known is None:
            view = ModelView(self._model)
            view._results = self._results
            result = function(*(view if one is self else one for one in given), **named)
            known = self._results[key] = result, frozenset(view._read)
        self._read |= known[1]
        return known[0]

    def forget(self, changed: Collection[str] | None = None) -> None:
        """Let those be called again that have read any of these fields; all for None."""
        names = None if changed is None else _ALWAYS.union(changed)
        for key, (_, read) in list(self._results.items()):
            if names is None or not read.isdisjoint(names):
                del self._results[key]


def remembered(function: _Function) -> _Function:
    """Let a function of a model, and of what can be hashed, be called again only if needed.

    Its result is not to be written to. It may fill tables that nobody else fills.
    """

    @functools.wraps(function)
    def recalled(*given: Any, **named: Any) -> Any:
        for one in given:
            if isinstance(one, ModelView):
                return one.recall(function, given, named)
        return function(*given, **named)

    return recalled  # type: ignore[return-value]


def bare(model: mujoco.MjModel, *read: str) -> mujoco.MjModel:
    """The model that a view shows, for MuJoCo's functions, which read these fields of it."""
    if not isinstance(model, ModelView):
        return model
    model._read.update(read)
    return model._model
