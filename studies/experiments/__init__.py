"""Figures and tables of the papers, computed again: ``asperity reproduce``."""

from studies.experiments.outcome import Curve, Film, Finding, Outcome, Panel
from studies.experiments.registry import Experiment, experiments, select

__all__ = ["Curve", "Experiment", "Film", "Finding", "Outcome", "Panel", "experiments", "select"]
