"""Derivatives of steps and trajectories, through contact.

A step's velocity is the root of a momentum balance whose derivative is at hand, so the implicit
function theorem gives exact derivatives for the price of some evaluations of the model and one
factorization (docs/derivatives.md).
"""

from asperity.derivatives.balance.smoothing import Smoothing
from asperity.derivatives.linearize import Linearization, linearize
from asperity.derivatives.parameters.flex_parameters import flex_elasticity
from asperity.derivatives.parameters.parameters import (
    Parameter,
    body_mass,
    contact_parameter,
    model_number,
)
from asperity.derivatives.trajectory_results import Gradient, Sensitivities
from asperity.derivatives.transition import Transition

__all__ = [
    "Gradient",
    "Linearization",
    "Parameter",
    "Sensitivities",
    "Smoothing",
    "Transition",
    "body_mass",
    "contact_parameter",
    "flex_elasticity",
    "linearize",
    "model_number",
]
