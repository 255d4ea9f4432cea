"""Spatial tendons in a page: straight pieces between the points that they run through."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.media.appearance import tendon_color
from asperity.media.bodies import SHOWN_GROUPS

__all__ = ["Tendons", "has_tendons", "tendon_pieces"]

Floats = NDArray[np.float64]
# What MuJoCo writes for a pulley in place of the geom that a tendon wraps.
_PULLEY = -2


def has_tendons(model: mujoco.MjModel) -> bool:
    """Whether a model has tendons to be seen."""
    return len(_shown(model)) > 0


def tendon_pieces(model: mujoco.MjModel, data: mujoco.MjData, tendon: int) -> Floats:
    """Ends of a tendon's straight pieces [m], shape (n, 2, 3).

    Parameters
    ----------
    data : mujoco.MjData
        With the paths of tendons computed (`mj_tendon`).
    """
    first, count = int(data.ten_wrapadr[tendon]), int(data.ten_wrapnum[tendon])
    points = np.asarray(data.wrap_xpos).reshape(-1, 3)[first : first + count]
    wrapped = np.asarray(data.wrap_obj).ravel()[first : first + count]
    whole = (wrapped[:-1] != _PULLEY) & (wrapped[1:] != _PULLEY)
    return np.stack([points[:-1], points[1:]], axis=1)[whole]


class Tendons:
    """The visible spatial tendons of a model.

    Parameters
    ----------
    server : viser.ViserServer
    model : mujoco.MjModel
    """

    def __init__(self, server: Any, model: mujoco.MjModel) -> None:
        self._model = model
        self._lines = [(tendon, _add_lines(server, model, tendon)) for tendon in _shown(model)]
        self._sent: dict[int, NDArray[np.float32]] = {}

    def update(self, data: mujoco.MjData) -> None:
        """Send the paths that have changed."""
        for tendon, lines in self._lines:
            pieces = tendon_pieces(self._model, data, tendon).astype(np.float32)
            sent = self._sent.get(tendon)
            if sent is None or not np.array_equal(pieces, sent):
                lines.visible = len(pieces) > 0
                if len(pieces):
                    lines.points = pieces
                self._sent[tendon] = pieces


def _shown(model: mujoco.MjModel) -> list[int]:
    """Spatial tendons of the visible groups."""
    return [
        tendon
        for tendon in range(model.ntendon)
        if model.tendon_group[tendon] < SHOWN_GROUPS
        and model.wrap_type[model.tendon_adr[tendon]] != mujoco.mjtWrap.mjWRAP_JOINT
        and tendon_color(model, tendon)[3] > 0.0
    ]


def _add_lines(server: Any, model: mujoco.MjModel, tendon: int) -> Any:
    return server.scene.add_line_segments(
        f"/tendons/{tendon}",
        np.zeros((1, 2, 3), np.float32),
        tuple(round(255.0 * c) for c in tendon_color(model, tendon)[:3]),
        # MuJoCo's width is a radius.
        thickness=2.0 * float(model.tendon_width[tendon]),
        thickness_units="world",
        visible=False,
    )
