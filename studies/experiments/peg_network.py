"""What a policy's network sees of the peg (extra ``train``)."""

from __future__ import annotations

from typing import Any

import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

__all__ = ["Centimetres"]

_MIDDLE = (0.0, 0.0, 0.06)  # [m]


class Centimetres(BaseFeaturesExtractor):
    """Positions in centimetres from the throat of the funnel.

    In metres all inputs are so near to zero that a network does not tell them apart until it has
    learned large weights: it then learns to press the peg into the funnel's wall.
    """

    middle: torch.Tensor

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, 3)
        self.register_buffer("middle", torch.tensor(_MIDDLE))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return 100.0 * (observations - self.middle)
