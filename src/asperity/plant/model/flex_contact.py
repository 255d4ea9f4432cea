"""How stiff contacts of deformable bodies are."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.contact.combination import UNSET
from asperity.plant.model.cells import held_modulus, holds_strain
from asperity.plant.model.cloth import cloth_modulus, cloth_rigidity
from asperity.plant.model.elastic_constants import elastic_constants
from asperity.plant.model.flexes import is_cloth, mean_edge, rest_positions
from asperity.plant.model.ropes import rope_modulus
from asperity.plant.model.shells import is_shell, shell_rigidity

__all__ = ["contact_stiffness"]

# A contact adds a tenth of the compliance of one layer of elements to it.
_STIFFER = 10.0


def contact_stiffness(model: mujoco.MjModel) -> np.ndarray:
    """Stiffness of a point contact of each flex [N/m], shape (nflex,).

    A contact stands for a square of surface as large as an edge, ℓ, behind which one layer of
    elements has the stiffness E ℓ²/ℓ; it is ten times as stiff. A flex without a modulus has none.
    """
    out = np.full(model.nflex, UNSET)
    if model.nflex == 0:
        return out
    constants = elastic_constants(model)
    for flex in np.flatnonzero(model.flex_rigid == 0).tolist():
        first, shear = constants[flex]
        if model.flex_dim[flex] == 1:
            young = rope_modulus(model, flex)
        elif is_shell(model, flex) and holds_strain(model, flex):
            young, _ = held_modulus(model, flex)
        elif is_shell(model, flex):
            rigidity = shell_rigidity(model, flex)
            young = cloth_modulus(model, flex, constants[flex], rigidity)
        elif is_cloth(model, flex):
            rigidity = cloth_rigidity(model, flex, rest_positions(model, flex))
            young = cloth_modulus(model, flex, constants[flex], rigidity)
        else:
            young = shear * (3.0 * first + 2.0 * shear) / max(first + shear, 1e-300)
        if young > 0.0:
            out[flex] = _STIFFER * young * mean_edge(model, flex)
    return out
