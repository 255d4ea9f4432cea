"""CENIC as its paper has it, for the figures that are compared with the paper's."""

from __future__ import annotations

from typing import Any

from asperity.integrators import Cenic

__all__ = ["paper_cenic"]


def paper_cenic(**options: Any) -> Cenic:
    """`Cenic` with friction bounded by the lagged normal force, and without extrapolation.

    Impacts count by their errors of position alone.

    Parameters
    ----------
    **options
        Of `Cenic`; ``error_estimate="trapezoid"`` is the paper's, too.
    """
    paper = {
        "friction_bound": "lagged",
        "error_estimate": "step-doubling",
        "resolve_impacts": False,
    }
    return Cenic(**{**paper, **options})
