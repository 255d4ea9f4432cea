"""The table of a paper's figures: what the experiments have found, beside the paper's values.

Every experiment has its first finding there, and all others that the paper has another value for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from studies.documents.tables import markdown
from studies.experiments.kept import load

__all__ = ["Findings"]

# How findings begin that the paper has no value for.
_NO_VALUE = ("–", "figure only", "in the figure", "in pictures", "not given", "not shown")


def _order(name: str) -> tuple[int, str]:
    """Figures by number; what is no figure of the paper comes last."""
    figure = re.search(r"figure-(\d+)", name)
    return (int(figure[1]) if figure else 1000, name)


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
        """The table as Markdown; a command stands in its first row alone."""
        found = [one for one in load() if one.experiment.startswith(f"{self.paper}-")]
        found.sort(key=lambda one: _order(one.experiment))
        rows = []
        last, said = ("", ""), ""
        for one in found:
            first = one.experiment != last[0]
            if not first and (one.paper == said or one.paper.startswith(_NO_VALUE)):
                continue
            said = one.paper
            when = f"{one.date}, {one.version}"
            name = f"`{one.experiment}`" if first else ""
            shown = "" if (one.experiment, when) == last else when
            rows.append([name, one.measured, one.ours, one.paper, shown])
            last = (one.experiment, when)
        return markdown(("command", "measured", "ours", "paper", "date, version"), rows)
