"""Friction and dissipation of two geoms, by MuJoCo's rules of combination."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.contact.combination import DISSIPATION, STATIC_FRICTION, STICTION_TOLERANCE
from asperity.plant.model.model_view import remembered
from asperity.plant.model.resolved_materials import ResolvedMaterials

__all__ = ["NUMBERS", "PLAIN", "contact_numbers"]

NUMBERS = 7
"""Friction, stiction tolerance [m/s] and dissipation [s/m], and four ratios of friction."""

PLAIN = (1.0, 0.0, 0.0, 0.0)
"""Ratios to the first coefficient of sliding, of contacts with that one alone."""

# MuJoCo's.
_LEAST_FRICTION = 1e-5


@remembered
def contact_numbers(
    model: mujoco.MjModel, a: int, b: int, materials: ResolvedMaterials, pair: int = -1
) -> NDArray[np.float64]:
    """Numbers of a contact between two geoms, of which ``a`` is the smaller.

    Flexes count on from the geoms. The ratios are those of the second coefficient of sliding, of
    rolling about either tangent [m] and of torsion [m]. All but the first stay what the model says
    where the materials say another friction.

    Parameters
    ----------
    pair : int
        Number of the model's pair of these geoms, or −1.

    Returns
    -------
    ndarray, shape (7,)
        See `NUMBERS`.
    """
    dimension, friction = _friction(model, a, b) if pair < 0 else _friction_of_pair(model, pair)
    if int(model.opt.enableflags) & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        friction = np.array(model.opt.o_friction)
    out = materials.combined(a, b, 0.0 if dimension == 1 else float(friction[0]))
    sliding = float(out[STATIC_FRICTION])
    scale = np.array(PLAIN)
    if dimension > 1:
        own = np.where([False, False, dimension > 3, dimension > 4, dimension > 4], friction, 0.0)
        scale[0] = max(friction[1], _LEAST_FRICTION) / max(friction[0], _LEAST_FRICTION)
        if own.any() or scale[0] != 1.0:
            sliding = max(sliding, _LEAST_FRICTION)
        if own.any():
            scale[1:] = own[[3, 4, 2]] / sliding
    return np.array(
        [sliding, float(out[STICTION_TOLERANCE]), float(out[DISSIPATION]), *scale], dtype=np.float64
    )


def _friction_of_pair(model: mujoco.MjModel, pair: int) -> tuple[int, NDArray[np.float64]]:
    return int(model.pair_dim[pair]), np.array(model.pair_friction[pair])


def _friction(model: mujoco.MjModel, a: int, b: int) -> tuple[int, NDArray[np.float64]]:
    """Dimension and five coefficients: those of the higher priority, or the larger ones."""

    def of(index: int) -> tuple[int, int, NDArray[np.float64]]:
        kind = "geom" if index < model.ngeom else "flex"
        at = index if index < model.ngeom else index - model.ngeom
        priority, dimension, friction = (
            getattr(model, f"{kind}_{name}")[at] for name in ("priority", "condim", "friction")
        )
        return int(priority), int(dimension), np.array(friction)[[0, 0, 1, 2, 2]]

    one, other = of(a), of(b)
    if one[0] != other[0]:
        return max(one, other, key=lambda numbers: numbers[0])[1:]
    return max(one[1], other[1]), np.maximum(one[2], other[2])
