"""Pictures of pegs in their hole, straight from above and without the hand."""

from __future__ import annotations

import io
from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import MissingExtra
from asperity.scenes.peg_in_hole import PegScene
from studies.experiments.peg_runs import Ending

__all__ = ["contact_sheet"]

_SIZE = 240  # [pixels]
_BORDER = 6
_GREEN, _RED = (70, 160, 70), (210, 40, 40)
_HIDDEN = ("left", "right", "palm")


def contact_sheet(scene: PegScene, rows: Sequence[Sequence[Ending]]) -> bytes:
    """A PNG with a row of final states for each engine; those that intersect in a red frame.

    Raises
    ------
    MediaError, MissingExtra
        If OpenGL or Matplotlib is missing.
    """
    from asperity.media.offscreen import OffscreenRenderer

    try:
        from matplotlib.image import imsave
    except ImportError:
        raise MissingExtra(
            "Pictures need the Python package matplotlib; install it with "
            "'pip install \"asperity[reproduce]\"'."
        ) from None
    model = scene.model()
    for name in _HIDDEN:
        model.geom(name).rgba[3] = 0.0
    model.geom("container").rgba[:] = 0.75, 0.8, 0.9, 1.0
    # The throat of the funnel, a little wider than the hole, fills the picture.
    model.vis.global_.orthographic = 1
    model.vis.global_.fovy = 2.6 * scene.hole_radius
    model.vis.headlight.ambient[:] = 0.45
    data = mujoco.MjData(model)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = 0.0, 0.0, scene.rim
    camera.distance, camera.elevation, camera.azimuth = 0.2, -90.0, 90.0
    camera.orthographic = 1
    lines = []
    with OffscreenRenderer(model, _SIZE, _SIZE) as renderer:
        for row in rows:
            pictures = []
            for ending in row:
                data.qpos[:] = ending.qpos
                mujoco.mj_kinematics(model, data)
                mujoco.mj_camlight(model, data)
                pictures.append(_framed(renderer.render(data, camera), ending))
            lines.append(np.concatenate(pictures, axis=1))
    file = io.BytesIO()
    imsave(file, np.concatenate(lines), format="png")
    return file.getvalue()


def _framed(picture: NDArray[np.uint8], ending: Ending) -> NDArray[np.uint8]:
    framed = np.empty_like(picture)
    framed[:] = _RED if ending.intersects else _GREEN
    inner = slice(_BORDER, -_BORDER)
    framed[inner, inner] = picture[inner, inner]
    return framed
