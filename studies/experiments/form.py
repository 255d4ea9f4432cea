"""The form that every experiment has: a sweep is simulated, measured and set beside the paper.

A *sweep* lists what is varied. ``simulate`` does one of its runs and knows no figure. ``measure``
turns all runs into numbers, each with the paper's value and its tolerance, and into panels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from studies.experiments.outcome import Curve, Film, Finding, Panel

__all__ = [
    "FIGURE_ONLY",
    "Key",
    "Measured",
    "Paper",
    "Runs",
    "about",
    "at_least",
    "at_most",
    "finding",
    "product",
    "says",
    "slope",
    "twofold",
]

Key = dict[str, Any]
"""Settings of a run by name, as ``simulate`` takes them."""

Measured = Iterator[Finding | Panel | Film | Mapping[str, bytes]]
"""What measures yield."""

FIGURE_ONLY = "in the figure only"
"""What the paper says where it gives no number."""


def product(**axes: Iterable[Any]) -> list[Key]:
    """All combinations of settings; the last one varies fastest."""
    return [dict(zip(axes, one, strict=True)) for one in itertools.product(*axes.values())]


class Runs:
    """Runs of a sweep: pairs of a key and a result."""

    def __init__(self, pairs: Sequence[tuple[Key, Any]]) -> None:
        self.pairs = list(pairs)

    def __iter__(self) -> Iterator[tuple[Key, Any]]:
        return iter(self.pairs)

    @property
    def results(self) -> list[Any]:
        """In the order of the sweep."""
        return [result for _, result in self.pairs]

    @property
    def one(self) -> Any:
        """The result of the only run."""
        ((_, result),) = self.pairs
        return result

    def axis(self, name: str) -> np.ndarray:
        """A setting of every run, shape (n,)."""
        return np.array([key[name] for key, _ in self.pairs])

    def values(self, of: Callable[[Any], Any] = lambda result: result) -> np.ndarray:
        """A number of every run, shape (n,)."""
        return np.array([of(result) for _, result in self.pairs])

    def where(self, **settings: Any) -> Runs:
        """The runs with these settings."""
        return Runs([p for p in self.pairs if all(p[0][k] == v for k, v in settings.items())])

    def by(self, axis: str) -> dict[Any, Runs]:
        """Groups of runs that share a setting, in the order of the sweep."""
        return {
            value: self.where(**{axis: value})
            for value in dict.fromkeys(key[axis] for key, _ in self.pairs)
        }

    def curves(
        self, label: str, points: Callable[[Any], tuple[ArrayLike, ArrayLike]], style: str = "-"
    ) -> tuple[Curve, ...]:
        """A curve of every run; its label is a template of the settings."""
        curves = []
        for key, result in self.pairs:
            x, y = map(np.asarray, points(result))
            curves.append(Curve(label.format(**key), x, y, style))
        return tuple(curves)


@dataclass(frozen=True)
class Paper:
    """A value of the paper, and where ours agrees with it.

    Parameters
    ----------
    text : str
        As a table shows it.
    low, high : float or tuple of float
        Of the numbers that agree; a tuple has one bound for each number.
    """

    text: str
    low: float | tuple[float, ...] = -math.inf
    high: float | tuple[float, ...] = math.inf

    def agrees(self, values: Sequence[Any]) -> bool | None:
        """Whether all numbers are within the bounds; None without bounds."""
        if self.low == -math.inf and self.high == math.inf:
            return None
        numbers = np.array([v for v in values if isinstance(v, (Real, np.bool_))], dtype=float)
        return bool(len(numbers) and np.all((numbers >= self.low) & (numbers <= self.high)))


def about(text: str, value: float, tolerance: float) -> Paper:
    """A value of the paper with the error that counts as agreement."""
    return Paper(text, value - tolerance, value + tolerance)


def twofold(text: str, value: float) -> Paper:
    """A count or time of the paper: a factor of two is no difference."""
    return Paper(text, 0.5 * value, 2.0 * value)


def at_most(text: str, value: float) -> Paper:
    """An upper bound."""
    return Paper(text, high=value)


def at_least(text: str, value: float) -> Paper:
    """A lower bound."""
    return Paper(text, low=value)


def says(text: str) -> Paper:
    """What the paper says in words; ``judged`` is whether it is so here."""
    return Paper(text, low=1.0)


def finding(
    quantity: str,
    values: Any,
    form: str = "{}",
    paper: str | Paper = "–",
    *,
    join: str | None = None,
    judged: Any = None,
) -> Finding:
    """Numbers beside the paper's.

    Parameters
    ----------
    quantity : str
        What was measured.
    values : number, word or tuple of these
    form : str
        Template of the values.
    paper : str or Paper
    join : str, optional
        What stands between several such values, of which ``values`` is then a list.
    judged : number, bool or tuple of these, optional
        What is compared with the paper's value; all of ``values`` by default.
    """
    listed = [v if isinstance(v, tuple) else (v,) for v in (values if join else [values])]
    ours = (join or "").join(form.format(*row) for row in listed)
    said = paper if isinstance(paper, Paper) else Paper(paper)
    flat = tuple(itertools.chain(*listed))
    compared = flat if judged is None else judged if isinstance(judged, tuple) else (judged,)
    return Finding(quantity, ours, said.text, flat, said.agrees(compared))


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Exponent of the power law through some points."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
