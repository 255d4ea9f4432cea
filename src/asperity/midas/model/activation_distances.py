"""Activation distances of pairs: what a given state leaves between links.

Barriers that push from the start would throw things apart, so activation distances d̂ are no larger
than the clearances that things begin with. Down to half of the usual one all pairs have the same:
what was taken apart, since it touched, what it rests on and what falls on it are level. Nearer
links have one of their own, since within a small d̂ everything is as steep as it is short, and all
others would have to move as carefully. The pressure at a ratio D/d̂ is the same for any d̂
(`asperity.midas.energy.potentials`): what a contact bears does not change, only how far it gives
way.

Of links that a later state has moved, pairs have that of the first one, or what it leaves if its
first step throws them apart (`asperity.midas.time.given_states`).

The distance is that of two links, of which the world with its half-spaces is one, so that what
slides from one of a link's geoms to the next meets with no step. Shapes too small for it have less.
"""

from __future__ import annotations

import numpy as np

from asperity.midas.engine import Engine
from asperity.midas.engine_layout import SMALLEST_ACTIVATION
from asperity.midas.model.pairs import LinkPair

__all__ = [
    "adapt_activation_distances",
    "note_given_distances",
    "widen_activation_distances",
]

# No activation distance is chosen above this share of a shape's extent.
_EXTENT_SHARE = 0.05
# Share of the usual one down to which clearances lower that of all pairs.
_COMMON = 0.5
# Share of the usual one below which users are told.
_MUCH_SMALLER = 0.1


def widen_activation_distances(engine: Engine) -> None:
    """Give the pairs of links that were moved the activation distances of the first state."""
    table = engine.table
    moved = engine.moved_pairs
    if np.any(moved):
        table.pairs.activation[moved] = table.pairs.widest[moved]
        _tell_lists(engine)


def note_given_distances(engine: Engine) -> None:
    """Note how far apart pairs of links that were moved are, in a state that was surveyed."""
    table = engine.table
    count = int(table.candidates.count)
    table.pairs.given[:] = np.inf
    square = np.asarray(table.candidates.square[:count])
    np.minimum.at(table.pairs.given, table.candidates.pair[:count], np.sqrt(square))
    table.pairs.given[~engine.moved_pairs] = np.inf
    table.time.given = int(np.any(table.pairs.given < table.pairs.activation))


def adapt_activation_distances(engine: Engine) -> dict[LinkPair, float]:
    """Lower activation distances to the clearances of a first state that was surveyed.

    Returns
    -------
    dict
        Links that begin nearer than a tenth of the usual distance, with theirs [m].
    """
    table, shapes = engine.table, engine.shapes
    if len(table.pairs.shape) == 0:
        return {}
    usual = float(table.options.activation)
    links, label = np.unique(engine.linked, axis=0, return_inverse=True)
    label = label.reshape(-1)
    count = int(table.candidates.count)
    clearance = np.full(len(links), np.inf)
    near = label[table.candidates.pair[:count]]
    np.minimum.at(clearance, near, np.sqrt(table.candidates.square[:count]))
    extents = [
        float(np.ptp(surface.vertices, axis=0).max() + 2.0 * radius)
        for surface, radius in zip(shapes.surface, shapes.radius, strict=True)
    ]
    every = np.concatenate([extents, np.full(len(shapes.plane_geom), np.inf)])
    largest = _EXTENT_SHARE * every[table.pairs.shape].min(axis=1)
    common = min(usual, max(float(clearance.min()), _COMMON * usual))
    wanted = np.minimum(np.minimum(clearance[label], largest), common)
    table.pairs.activation[:] = np.maximum(wanted, SMALLEST_ACTIVATION)
    table.pairs.widest[:] = table.pairs.activation
    _tell_lists(engine)
    return {
        (int(one), int(other)): max(float(least), SMALLEST_ACTIVATION)
        for (one, other), least in zip(links, clearance, strict=True)
        if least < _MUCH_SMALLER * usual
    }


def _tell_lists(engine: Engine) -> None:
    """Let lists be made anew, which were made with other activation distances."""
    table = engine.table
    table.options.activation = float(table.pairs.activation.max())
    table.boxes.listed = 0
