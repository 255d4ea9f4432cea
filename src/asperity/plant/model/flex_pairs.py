"""Flexes and geoms with outlines that may touch, and the parameters of their contacts."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.plant.model.flex_outlines import has_outline, set_outlines
from asperity.plant.model.joints import integers, is_disabled
from asperity.plant.model.model_view import remembered

__all__ = ["set_flex_pairs"]

# Of MuJoCo's coefficients of friction, those that a contact has for its five directions.
_COEFFICIENTS = [0, 0, 1, 2, 2]


def _combine(ahead: np.ndarray, of_flex: np.ndarray, of_geom: np.ndarray) -> np.ndarray:
    """Parameters of whichever has the higher priority, and the larger ones of equals."""
    larger = np.maximum(of_flex, of_geom)
    return np.where(ahead > 0, of_flex, np.where(ahead < 0, of_geom, larger))


@remembered
def set_flex_pairs(elastic: Table, model: mujoco.MjModel) -> None:
    """Fill the pairs of a model, by MuJoCo's rules of what collides and with what parameters."""
    flex, geom = np.indices((model.nflex, model.ngeom)).reshape(2, -1)
    bits = model.flex_contype[flex] & model.geom_conaffinity[geom]
    bits |= model.flex_conaffinity[flex] & model.geom_contype[geom]
    touches = (bits != 0) & has_outline(model)[geom]
    touches &= (model.flex_dim[flex] > 1) & (model.flex_rigid[flex] == 0)
    disable = mujoco.mjtDisableBit
    touches &= not is_disabled(model, disable.mjDSBL_CONTACT | disable.mjDSBL_CONSTRAINT)
    flex, geom = flex[touches], geom[touches]
    set_outlines(elastic, model, geom)
    ahead = model.flex_priority[flex] - model.geom_priority[geom]
    elastic.pair_flex, elastic.pair_geom = integers(flex), integers(geom)
    dimension = _combine(ahead, model.flex_condim[flex], model.geom_condim[geom])
    elastic.pair_dimension = integers(dimension)
    friction = _combine(ahead[:, None], model.flex_friction[flex], model.geom_friction[geom])
    friction = friction[:, _COEFFICIENTS]
    margin = model.flex_margin[flex] + model.geom_margin[geom]
    if model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        friction = np.tile(model.opt.o_friction, (len(geom), 1))
        margin = np.full(len(geom), model.opt.o_margin)
    elastic.pair_friction, elastic.pair_margin = np.ascontiguousarray(friction), margin
