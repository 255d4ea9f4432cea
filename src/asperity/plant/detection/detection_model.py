"""The model as some of MuJoCo's stages get it.

Collision detection gets it without a mid-phase that costs more than it saves, and constraints
without the integrator ``discrete``, under which MuJoCo 4.0 leaves ``efc_diagA`` as memory has it.

Of two bodies with several geoms MuJoCo descends bounding volume hierarchies before it looks at
pairs of geoms. For the hundreds of geoms of a kitchen that is what makes detection fast; for an
object between the five walls of a box, tests of bounding spheres take two thirds of the time. The
contacts are the same, in the same order.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.plant import native

__all__ = ["detection_struct", "flex_struct", "smooth_struct"]

_WORD = 8

# Pairs of geoms of two bodies up to which the spheres alone are faster: measured with 5 (piles in a
# box: 0.63 to 0.73 of the time), 6 (a hand: 0.90 to 0.98), 9 and 15 (robots: 1.10, 1.32).
_MOST_PAIRS = 8
# Memory that MuJoCo takes for a pair of a geom, or another element, and an element of a flex, and
# how much of its arena all pairs of two bodies may take. Beyond that it ends the process.
_PAIR_BYTES = 4040
_ARENA_SHARE = 0.5


def detection_struct(address: int, model: mujoco.MjModel) -> np.ndarray | None:
    """MuJoCo's struct without the mid-phase where that costs more; None where nothing changes.

    Nor does MuJoCo speculate about contacts to come, which methods know how to look for.
    Constraints are those of the integrator ``Euler``.

    Its arrays are those of the model at the address, and so is everything else.

    Parameters
    ----------
    address : int
        Of the ``mjModel``.
    model : mujoco.MjModel
        With as many geoms in every body.

    Returns
    -------
    array of int64 or None
        To be kept alive by the owner, and made anew when the model has changed.
    """
    most = np.sort(model.body_geomnum)[-2:].astype(np.int64)
    # A flex that may touch itself would have all pairs of its elements looked at.
    sizes = np.sort(np.append(model.flex_elemnum, [0, 0]))[-2:].astype(np.int64)
    elements = int(sizes[-1]) * max(int(most[-1]), int(sizes[0]))
    hierarchies = (
        np.prod(most) > _MOST_PAIRS
        or np.any(model.flex_selfcollide)
        or elements * _PAIR_BYTES > _ARENA_SHARE * model.narena
    )
    speculative = int(mujoco.mjtEnableBit.mjENBL_SPECULATIVE)
    discrete = model.opt.integrator == int(mujoco.mjtIntegrator.mjINT_DISCRETE)
    if hierarchies and not discrete and not model.opt.enableflags & speculative:
        return None
    struct = native.memory(address, native.struct_size("mjModel") // _WORD).copy()
    options, bits = native.offset("mjModel", "opt"), struct.view(np.int32)
    bits[(options + native.offset("mjOption", "enableflags")) // 4] &= ~speculative
    if discrete:
        integrator = (options + native.offset("mjOption", "integrator")) // 4
        bits[integrator] = int(mujoco.mjtIntegrator.mjINT_EULER)
    if not hierarchies:
        disabled = (options + native.offset("mjOption", "disableflags")) // 4
        bits[disabled] |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    return struct


def smooth_struct(address: int, model: mujoco.MjModel) -> np.ndarray | None:
    """MuJoCo's struct without flexes, for the velocity stage; None if there are none.

    It would find elastic forces of its own. Its arrays are those of the model at the address.
    """
    if model.nflex == 0:
        return None
    struct = native.memory(address, native.struct_size("mjModel") // _WORD).copy()
    struct[native.offset("mjModel", "nflex") // _WORD] = 0
    return struct


def flex_struct(address: int, model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray] | None:
    """MuJoCo's struct without forces of flexes, and the zeros in it; None if there are no flexes.

    `mj_flex` would find Jacobians of all edges for these forces, which takes 25 of its 30 µs for
    125 vertices. It still does where equalities hold edges.
    """
    if model.nflex == 0:
        return None
    struct = native.memory(address, native.struct_size("mjModel") // _WORD).copy()
    zeros = np.zeros(model.nflex)
    for name in ("flex_damping", "flex_edgestiffness", "flex_edgedamping"):
        struct[native.offset("mjModel", name) // _WORD] = zeros.ctypes.data
    return struct, zeros
