"""Whole steps under displaced parameters, for methods without an implicit derivative."""

from __future__ import annotations

import numpy as np

from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.step_differences import StepDifferences
from asperity.derivatives.tangent import StepState
from asperity.derivatives.tangent_space import difference

__all__ = ["DisplacedSteps"]


class DisplacedSteps(DisplacedModels):
    """Derivatives of steps by parameters, by central differences."""

    # A hundredth of the value by default: what a solver's tolerance leaves must be small against
    # what a displacement changes, and of that a ten thousandth is of higher order.
    _coarser = 1e4

    def _prepare(self) -> None:
        self._steps = [
            (StepDifferences(ahead), StepDifferences(behind)) for ahead, behind in self.simulators
        ]

    def changes(self, state: StepState, step: float, ctrl: np.ndarray) -> np.ndarray:
        columns = []
        for (ahead, behind), pair, size in zip(
            self._steps, self.simulators, self.sizes, strict=True
        ):
            ends = [one.end(state, step, ctrl) for one in (behind, ahead)]
            columns.append(difference(pair[0].model, *ends) / (2.0 * size))
        return np.array(columns).T
