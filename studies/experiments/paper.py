"""Methods as their papers have them, for the figures that are compared with the papers'."""

from __future__ import annotations

from typing import Any

from asperity.integrators import Cenic, Icf, Sap, Tamsi

__all__ = ["paper_cenic", "paper_icf", "paper_sap", "paper_tamsi"]


def paper_cenic(**options: Any) -> Cenic:
    """`Cenic` with friction bounded by the lagged normal force, and without extrapolation.

    Errors of position alone count, also in impacts.

    Parameters
    ----------
    **options
        Of `Cenic`; ``error_estimate="trapezoid"`` is the paper's, too.
    """
    paper = {
        "friction_bound": "lagged",
        "error_estimate": "step-doubling",
        "resolve_impacts": False,
        "velocity_weight": 0.0,
    }
    return Cenic(**{**paper, **options})


def paper_icf(time_step: float, **options: Any) -> Icf:
    """`Icf` with friction bounded by the lagged normal force, and without rebounds.

    Parameters
    ----------
    time_step : float
        [s]
    **options
        Of `Icf`.
    """
    paper = {"friction_bound": "lagged", "resolve_impacts": False}
    return Icf(time_step=time_step, **{**paper, **options})


def paper_sap(time_step: float, **options: Any) -> Sap:
    """`Sap` with the paper's law: sticking contacts creep, and sliding bodies glide.

    Parameters
    ----------
    time_step : float
        [s]
    **options
        Of `Sap`.
    """
    return Sap(time_step=time_step, **{"slip_regularization": 1e-3, "gliding": True, **options})


def paper_tamsi(time_step: float) -> Tamsi:
    """`Tamsi` in fixed steps [s], without rebounds."""
    return Tamsi(time_step=time_step, resolve_impacts=False)
