"""Derivatives of steps and trajectories, through contact.

A step's velocity is the root of a momentum balance whose derivative is at hand, so the implicit
function theorem gives exact derivatives for the price of some evaluations of the model and one
factorization (docs/derivatives.md).
"""

from asperity.derivatives.linearize import Linearization, linearize

__all__ = ["Linearization", "linearize"]
