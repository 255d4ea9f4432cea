"""Jumps of what users give: controls, applied forces, and which equality constraints are on.

BDF2 takes a force for that of a smooth function at the end of the step. Where it jumps by Δf
instead, momentum would lack ½ h Δf ever after, as would that of a body that a weld lets go. So
motion begins anew there, with a past as at the start (`asperity.midas.time.second_order`). A smooth
change is no jump: its second differences are small.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["Jumps"]

Floats = NDArray[np.float64]

# Second difference, over the larger of both first ones: 1 where a constant begins to change.
_BEND = 0.5
# Change of a force, relative to it, that is no jump: a sine of 31 steps changes so at its crest.
_NEGLIGIBLE = 0.02


class Jumps:
    """Looks for jumps of what is given from step to step."""

    def __init__(self) -> None:
        # Time and what was given at the last look, and their changes since the one before.
        self.told: Floats | None = None
        self.change: Floats | None = None

    def found(self, data: mujoco.MjData, control: Floats, step: float) -> bool:
        """Whether something has jumped since the last look, with steps of ``step`` [s]."""
        given = (control, data.qfrc_applied, np.ravel(data.xfrc_applied), data.eq_active)
        told = np.concatenate([[data.time], *given])
        before = self.told
        change = np.zeros_like(told) if before is None else told - before
        was = np.zeros_like(told) if self.change is None else self.change
        self.told, self.change = told, change
        if before is None:
            return False
        if change[0] > 1.5 * step:
            # It was constant in the last step.
            was = np.zeros_like(told)
        bent = np.abs(change - was) > _BEND * np.maximum(np.abs(change), np.abs(was))
        large = np.abs(change) > _NEGLIGIBLE * np.maximum(np.abs(told), np.abs(before))
        return bool(np.any((bent & large)[1:]))
