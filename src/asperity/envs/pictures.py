"""``render_mode="rgb_array"`` of environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ArgumentError

if TYPE_CHECKING:
    from asperity.media.offscreen import OffscreenRenderer

__all__ = ["Pictures"]

_SIZE = 480  # [pixels]


class Pictures:
    """Pictures of a model by one of its cameras; the renderer is made for the first.

    Parameters
    ----------
    render_mode : {None, "rgb_array"}
    camera : str
        Its name; the free camera is used if there is none of that name.

    Raises
    ------
    ArgumentError
        For any other mode.
    """

    def __init__(self, render_mode: str | None, camera: str = "side") -> None:
        if render_mode not in (None, "rgb_array"):
            raise ArgumentError(f"render_mode must be None or 'rgb_array', got {render_mode!r}.")
        self.mode = render_mode
        self._camera = camera
        self._renderer: OffscreenRenderer | None = None

    def take(self, model: mujoco.MjModel, data: mujoco.MjData) -> NDArray[np.uint8] | None:
        """A picture, shape (480, 480, 3), or None without a render mode.

        Raises
        ------
        MediaError
            If OpenGL is missing.
        """
        if self.mode is None:
            return None
        if self._renderer is None:
            from asperity.media.offscreen import OffscreenRenderer

            self._renderer = OffscreenRenderer(model, _SIZE, _SIZE)
        camera = mujoco.MjvCamera()
        mujoco.mjv_defaultFreeCamera(model, camera)
        number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, self._camera)
        if number >= 0:
            camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
            camera.fixedcamid = number
        # After a reset, nothing is computed yet.
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        return self._renderer.render(data, camera)

    def close(self) -> None:
        """Free what was made."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_renderer": None}
