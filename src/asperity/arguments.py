"""What users pass, as numbers: refused by name if it is none."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from asperity.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["as_array", "as_names", "as_number", "is_count", "is_flag", "is_number"]


def is_flag(value: object) -> bool:
    """Whether a value is True or False, NumPy's included."""
    return isinstance(value, bool) or getattr(value, "dtype", None) == "bool"


def is_number(value: object) -> bool:
    """Whether a value is a real number; truth values are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    """Whether a value is a whole number, be it written as 3 or as 3.0; truth values are not."""
    # What is usual first: to ask for an abstract class takes longer.
    return type(value) is int or (is_number(value) and float(value).is_integer())  # type: ignore[arg-type]


def as_number(name: str, value: Any) -> float:
    """A number as a float.

    Raises
    ------
    ArgumentError
        If it is anything else, such as a text, a truth value or a list.
    """
    if is_number(value):
        return float(value)
    # An array without dimensions is one, too.
    if getattr(value, "shape", None) == () and value.dtype.kind in "iuf":
        return float(value)
    raise ArgumentError(f"{name} must be a number, got {value!r}.")


def as_array(name: str, values: Any) -> np.ndarray:
    """Numbers as an array of floats.

    Raises
    ------
    ArgumentError
        If they are no numbers, or not as many in every row.
    """
    import numpy as np  # the command line lists options without it

    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers, got {values!r}.") from None


def as_names(name: str, values: Any) -> list[str]:
    """Names of elements as a list; one by itself is a list of one.

    Raises
    ------
    ArgumentError
        If there is anything but strings.
    """
    given = [values] if isinstance(values, str) else values
    if isinstance(given, Iterable):
        listed = list(given)
        if all(isinstance(one, str) for one in listed):
            return listed
    raise ArgumentError(f"{name} must be a list of names, got {values!r}.")
