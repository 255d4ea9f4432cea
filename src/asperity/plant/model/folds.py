"""Edges of cloth that yield when it bends, and where MuJoCo keeps by how much they have.

Behind what stretches `mjData.plastic` has a number for every edge (`flex_edge`) of a cloth whose
second yield is not zero: −D e³ ψ_p/4 A B (A + B), the density of a linear energy of the volume that
the four vertices of both triangles span. ψ_p is how the edge stays folded (`asperity.soft.folds`).
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.errors import ModelError
from asperity.plant.model.cloth import cloth_modulus, cloth_rigidity
from asperity.plant.model.flexes import (
    flex_elements,
    flex_name,
    in_frame,
    is_cloth,
    plane_poisson,
    rest_positions,
)
from asperity.soft.bending import bending
from asperity.soft.membranes import triangles

__all__ = ["Folds", "fill_folds", "folds_of_flex", "yields_by_bending"]

# In `flex_plasticmode`.
_BEND, _STRETCH = 1, 2


class Folds(NamedTuple):
    """Edges of one flex that yield, and triangles that bend."""

    particle: np.ndarray
    """Ends, and the vertices across, shape (n, 4)."""
    slot: np.ndarray
    unit: np.ndarray
    """ψ_p per slot."""
    limit: np.ndarray
    """Largest ψ − ψ_p."""
    length: np.ndarray
    """By which a vertex moves per slot [m]."""
    elements: list[int]
    """Of triangles that bend."""
    moments: list[np.ndarray]
    """A S by their vertices, shapes (3, m)."""
    moduli: np.ndarray
    """D (1 − ν)/A and D ν/A."""
    folds: list[np.ndarray]
    """Edges of which A S is made, as counted within the flex."""
    shares: list[np.ndarray]
    """A S by their ψ, shapes (3, edges)."""


def yields_by_bending(model: mujoco.MjModel, flex: int) -> bool:
    """Whether a flex is cloth that resists bending, and yields when it bends far enough."""
    return bool(
        is_cloth(model, flex)
        and not model.flex_rigid[flex]
        and model.flex_plasticadr[flex] >= 0
        and model.flex_plasticmode[flex] & _BEND
        and cloth_rigidity(model, flex, rest_positions(model, flex)) > 0.0
    )


def folds_of_flex(
    model: mujoco.MjModel, flex: int, first_bend: int, constants: np.ndarray
) -> Folds:
    """What yields of a flex by bending, with particles of the model, and elements from a first on.

    Raises
    ------
    ModelError
        If it is curved at rest.
    """
    x, faces = in_frame(model, flex, rest_positions(model, flex)), flex_elements(model, flex)
    rigidity, poisson = cloth_rigidity(model, flex, x), plane_poisson(constants)
    found = bending(x, faces, rigidity, poisson)
    if not all(bend.flat for bend in found):
        raise ModelError(
            f"{flex_name(model, flex)} yields when it bends, and is curved at rest, and only flat "
            "cloth yields so; give it a second number of yield that is 0."
        )
    begin, count = int(model.flex_edgeadr[flex]), int(model.flex_edgenum[flex])
    four = np.hstack(
        [model.flex_edge[begin : begin + count], model.flex_edgeflap[begin : begin + count]]
    )
    inner = np.flatnonzero(np.all(four >= 0, axis=1))
    four = four[inner].astype(np.int64)
    a, b, c, d = four.T
    length = np.linalg.norm(x[b] - x[a], axis=1)
    one, slopes = triangles(x, four[:, [0, 1, 2]])
    other, beyond = triangles(x, four[:, [0, 1, 3]])
    out = np.cross(x[b] - x[a], np.cross(x[b] - x[a], x[c] - x[a]))
    out /= np.linalg.norm(out, axis=1)[:, None]
    # Slopes out of the first triangle, and into the second one.
    jump = np.zeros((len(four), len(x)))
    rows = np.arange(len(four))
    for k, vertex in enumerate((a, b, c)):
        jump[rows, vertex] -= np.einsum("ni,ni->n", slopes[:, k], out)
    for k, vertex in enumerate((a, b, d)):
        jump[rows, vertex] += np.einsum("ni,ni->n", beyond[:, k], out)
    normal = np.cross(x[b] - x[a], x[c] - x[a])
    young = cloth_modulus(model, flex, constants, rigidity)
    thickness = 2.0 * (1.0 + poisson) * float(constants[1]) / young
    across = (one + other) / length
    limit = 2.0 * float(model.flex_yield[flex, 1]) / thickness * across
    unit = -4.0 * one * other * (one + other) / (rigidity * length**3)
    behind = 3 * len(faces) if model.flex_plasticmode[flex] & _STRETCH else 0
    own, shares = [], []
    for bend in found:
        chosen = np.flatnonzero(np.isin(four, bend.vertices).all(axis=1))
        rows_of = jump[chosen][:, bend.vertices]
        share = np.linalg.lstsq(rows_of.T, bend.moment.T, rcond=None)[0].T
        face = faces[bend.triangle]
        upwards = np.cross(x[face[1]] - x[face[0]], x[face[2]] - x[face[0]])
        own.append(chosen)
        shares.append(share * np.sign(normal[chosen] @ upwards))
    area, _ = triangles(x, faces[[bend.triangle for bend in found]])
    return Folds(
        four + int(model.flex_vertadr[flex]),
        int(model.flex_plasticadr[flex]) + behind + inner,
        unit,
        limit,
        np.abs(unit) * across,
        [first_bend + k for k in range(len(found))],
        [bend.moment for bend in found],
        rigidity / area[:, None] * np.array([1.0 - poisson, poisson]),
        own,
        shares,
    )


def fill_folds(table: Table, found: list[Folds]) -> None:
    """Fill a table's lists of what yields by bending; `fill_plasticity` must have been called."""
    starts = np.cumsum([0, *(len(one.slot) for one in found)])
    own = [f + start for one, start in zip(found, starts, strict=False) for f in one.folds]
    shares = [share for one in found for share in one.shares]
    moments = [moment for one in found for moment in one.moments]
    width = max(map(len, own), default=0)
    table.folds, table.bends = int(starts[-1]), len(own)
    none = np.zeros(0)
    table.fold_particle = np.concatenate(
        [np.zeros((0, 4), np.int64), *(one.particle for one in found)]
    )
    table.fold_slot = np.concatenate([none, *(one.slot for one in found)]).astype(np.int64)
    table.fold_unit = np.concatenate([none, *(one.unit for one in found)])
    table.fold_limit = np.concatenate([none, *(one.limit for one in found)])
    table.bend_element = np.array([e for one in found for e in one.elements], np.int64)
    table.bend_moment = np.cumsum([0, *(one.size for one in moments)]).astype(np.int64)
    table.bend_matrix = np.concatenate([none, *(one.ravel() for one in moments)])
    table.bend_moduli = np.concatenate([np.zeros((0, 2)), *(one.moduli for one in found)])
    table.bend_fold = np.full((len(own), width), -1, np.int64)
    table.bend_share = np.zeros((len(own), 3, width))
    for k, (folds, share) in enumerate(zip(own, shares, strict=True)):
        table.bend_fold[k, : len(folds)] = folds
        table.bend_share[k, :, : len(folds)] = share
    for one in found:
        table.plastic_length[one.slot] = one.length
