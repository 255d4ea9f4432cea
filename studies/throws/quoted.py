"""The numbers of docs/real-throws.md, by the names that their marks have, and its picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from asperity.study.figures import Curve, Panel, draw
from studies.throws.capture import free_fall, load, noise
from studies.throws.engines import ENGINES
from studies.throws.observed import observe
from studies.throws.results import Outcome

__all__ = ["draw_picture", "texts"]

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "real-throws.png"

Results = Mapping[str, Outcome]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n\n" + "\n".join(lines) + "\n\n"


def _both(values: np.ndarray, digits: str) -> str:
    return f"{np.mean(values):{digits}} ({np.median(values):{digits}})"


def _mean(values: np.ndarray, digits: str) -> str:
    """With its standard error."""
    error = np.std(values) / np.sqrt(len(values))
    return f"{np.mean(values):+{digits}} ± {error:{digits}}".replace("-", "−")


def _errors(results: Results) -> str:
    rows = []
    first = next(iter(results.values())).tuned
    for name, found in results.items():
        row = [ENGINES[name].title]
        for errors in (found.untuned, found.tuned):
            row += [_both(errors[:, 0], ".3f"), _both(np.degrees(errors[:, 1]), ".1f")]
        if found.tuned is first:
            row += ["–", "–"]
        else:
            more = found.tuned - first
            row += [_mean(more[:, 0], ".3f"), _mean(np.degrees(more[:, 1]), ".1f")]
        rows.append(row)
    head = ["", "before: position", "rotation", "after: position", "rotation"]
    return _table([*head, "more than `Cenic`: position", "rotation"], rows)


def _parameters(results: Results) -> str:
    rows = []
    for name, found in results.items():
        friction, first, second, rounding, gyration = found.values
        names = ENGINES[name].names
        contact = f"{names[1]} {first:.2g}, {names[2]} {second:.2g}"
        shape = (f"{1e3 * rounding:.1f}", f"{gyration:.2f}")
        rows.append([ENGINES[name].title, f"{friction:.3f}", contact, *shape])
    return _table(["", "friction", "contact", "rounding [mm]", "gyration"], rows)


def _numbers(results: Results) -> dict[str, str]:
    throws = load()
    sigma, seen = noise(throws), observe(throws)
    first = next(iter(results.values()))
    return {
        "throws": str(len(throws)),
        "unseen": str(len(first.tuned)),
        "training": str(len(throws) - len(first.tuned)),
        "free fall": f"{free_fall():.2f}",
        "least": (
            f"{np.mean(first.floor[:, 0]):.3f} widths and "
            f"{np.degrees(np.mean(first.floor[:, 1])):.1f}°"
        ),
        "flight": f"{np.median([throw.flight for throw in throws]):.0f}",
        "noise": f"{1e3 * sigma[0]:.2f} mm and {np.degrees(sigma[1]):.3f}°",
        "sliding": f"{np.median(seen.sliding):.3f} ± {np.std(seen.sliding):.3f}",
        "impact": f"{np.median(seen.impact):.2f} ± {np.std(seen.impact):.2f}",
        "versions": ", ".join(sorted({found.versions for found in results.values()})),
    }


def texts(results: Results) -> dict[str, str]:
    """All tables and numbers."""
    return _numbers(results) | {"errors": _errors(results), "parameters": _parameters(results)}


def draw_picture(results: Results) -> None:
    """Draw the distributions of errors."""
    panels = []
    units = ((0, 1.0, "mean error of position [widths]"), (1, 57.2958, "of rotation [°]"))
    for column, unit, quantity in units:
        curves = []
        for name, found in results.items():
            ordered = np.sort(unit * found.tuned[:, column])
            share = (np.arange(len(ordered)) + 0.5) / len(ordered)
            curves.append(Curve(ENGINES[name].title.replace("`", ""), ordered, share))
        first = next(iter(results.values()))
        ordered = np.sort(unit * first.floor[:, column])
        curves.append(Curve("least possible", ordered, share, "k--"))
        panels.append(Panel(quantity, "share of throws with less", curves, log_x=True))
    draw(PICTURE, panels, "Throws that the search has not seen")
