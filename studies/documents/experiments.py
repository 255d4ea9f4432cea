"""The table of a paper's figures: what the experiments have found, beside the paper's values.

An experiment has there the first finding that each of two values of the paper belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from studies.documents.tables import markdown
from studies.experiments import experiments
from studies.experiments.kept import Kept, load

__all__ = ["Findings"]

# What stands for a paper's value where it has none.
_NO_VALUE = ("–", "in the figure only")
# Findings of an experiment that are shown: of a table of a paper all, of the parts of a figure one.
_MOST = 2
_MOST_OF = {"cenic-dish-rack": 20, "cenic-figure-10-": 1}
# A hyphen before a number, beside those of exponents and names.
_MINUS = re.compile(r"(?<![\w–])-(?=\d)")


# Large numbers that `format` writes with an exponent.
_LARGE = re.compile(r"\d[\d.]*e\+0[1-4]")


def _plain(text: str) -> str:
    """Numbers as people write them."""
    return _LARGE.sub(lambda number: f"{float(number[0]):.0f}", _MINUS.sub("−", text))


def _order(name: str) -> tuple[int, str]:
    """Figures by number; what is no figure of the paper comes last."""
    figure = re.search(r"figure-(\d+)", name)
    return (int(figure[1]) if figure else 1000, name)


def _shown(found: Sequence[Kept]) -> Sequence[Kept]:
    """The first finding of each of the paper's first values; the first of all if it has none."""
    by_paper = {one.paper: one for one in reversed(found) if one.paper not in _NO_VALUE}
    shown = [one for one in found if by_paper.get(one.paper) is one] or found[:1]
    name = found[0].experiment
    return shown[: next((n for start, n in _MOST_OF.items() if name.startswith(start)), _MOST)]


@dataclass(frozen=True)
class Findings:
    """The table of one paper.

    Parameters
    ----------
    paper : str
        As the experiments' names begin: ``cenic``, ``sap``, ``tamsi`` or ``midas``.
    """

    paper: str

    def text(self) -> str:
        """The table as Markdown; an experiment's name and cost stand in its first row alone."""
        found: dict[str, list[Kept]] = {}
        for one in load():
            found.setdefault(one.experiment, []).append(one)
        described = {experiment.name: experiment.description for experiment in experiments()}
        rows = []
        for name in sorted((one for one in found if one.startswith(f"{self.paper}-")), key=_order):
            made = ""
            for one in _shown(found[name]):
                new = f"{one.date}, {one.version}" + (f", {one.cpu_s} s" if one.cpu_s else "")
                ours, paper = _plain(one.ours), _plain(one.paper)
                ours = f"**{ours}**" if one.agrees == "no" else ours
                first = "" if made else f"`{name}`: {described[name]}"
                rows.append([first, one.measured, ours, paper, "" if new == made else new])
                made = new
        head = ("experiment", "measured", "ours", "paper", "date, version, CPU time")
        return markdown(head, rows)
