"""Pictures without a window.

MuJoCo chooses its OpenGL backend from the environment variable ``MUJOCO_GL`` when it is first
imported, long before anyone knows whether there is a display. The backends are ordinary modules,
though, so this file picks one itself when the variable is not set and leaves the environment alone.
"""

from __future__ import annotations

import copy
import ctypes
import importlib
import os
import sys
from types import TracebackType
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import MissingExtra
from asperity.media.errors import MediaError
from asperity.media.force_arrows import Arrows

__all__ = ["OffscreenRenderer"]

_INSTALL_EXTRA = 'pip install "asperity[viz]"'
_INSTALL_EGL = "apt-get install libegl1 libgl1-mesa-dri"
_SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "software")
_EXTRA_GEOMS = 20000
# Opacity of what moves, and of what does not, where triangles are to be seen through it.
_SEEN_THROUGH = 0.35
_SEEN_THROUGH_STATIC = 0.7
# Share of the distance to the eye by which triangles are moved towards it.
_NEARER = 0.01


# Orange, which neither floors nor patches have.
_ARROW = np.array([0.95, 0.45, 0.05, 1.0], np.float32)


class OffscreenRenderer:
    """Draws ``MjData`` into arrays; use it as a context manager.

    Parameters
    ----------
    model : mujoco.MjModel
        Is copied: the size of the frame buffer and the quality are properties of the model.
    width, height : int
        Size of the picture [pixels].
    shadows : bool, optional
        Whether to draw shadows and to smooth edges. By default only if a GPU draws: both make a
        software renderer several times slower.

    Raises
    ------
    MediaError, MissingExtra
        If no OpenGL is available; the message has the command that installs it.
    """

    def __init__(
        self, model: mujoco.MjModel, width: int, height: int, *, shadows: bool | None = None
    ) -> None:
        self._context: Any = None
        self._mjr: mujoco.MjrContext | None = None
        backend = _backend()
        try:
            self._context = _context_class(backend)(width, height)
            self._context.make_current()
            self.software = _draws_in_software()
        except (MediaError, MissingExtra):
            raise
        except Exception as error:  # each backend fails in its own way
            raise MediaError(_missing(backend, error)) from error
        self._model = copy.copy(model)
        self._model.vis.global_.offwidth = width
        self._model.vis.global_.offheight = height
        if shadows is None:
            shadows = not self.software
        if not shadows:
            self._model.vis.quality.shadowsize = 0
            self._model.vis.quality.offsamples = 0
        self._scene = mujoco.MjvScene(self._model, maxgeom=2 * model.ngeom + _EXTRA_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        self._option = mujoco.MjvOption()
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._pixels = np.empty((height, width, 3), dtype=np.uint8)
        try:
            self._mjr = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_150)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._mjr)
        except mujoco.FatalError as error:
            self.close()
            raise MediaError(_missing(backend, error)) from error

    def render(
        self,
        data: mujoco.MjData,
        camera: mujoco.MjvCamera,
        triangles: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]] | None = None,
        arrows: Arrows | None = None,
        legend: str = "",
    ) -> NDArray[np.uint8]:
        """Draw one picture, shape (height, width, 3), top row first.

        Parameters
        ----------
        data : mujoco.MjData
        camera : mujoco.MjvCamera
        triangles : tuple of arrays, optional
            Corners in the world [m], shape (n, 3, 3), colours, shape (n, 3), and the geoms through
            which the triangles can be seen.
        arrows : Arrows, optional
        legend : str
            What colours and arrows mean.
        """
        if self._mjr is None:
            raise MediaError("This renderer is closed; make a new one.")
        self._context.make_current()
        mujoco.mjv_updateScene(
            self._model,
            data,
            self._option,
            None,
            camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        if triangles is not None:
            self._add_triangles(*triangles)
        if arrows is not None:
            self._add_arrows(arrows)
        mujoco.mjr_render(self._rect, self._scene, self._mjr)
        if legend:
            mujoco.mjr_overlay(
                mujoco.mjtFont.mjFONT_NORMAL,
                mujoco.mjtGridPos.mjGRID_TOPLEFT,
                self._rect,
                legend,
                "",
                self._mjr,
            )
        mujoco.mjr_readPixels(self._pixels, None, self._rect, self._mjr)
        return np.ascontiguousarray(self._pixels[::-1])

    def _add_triangles(
        self,
        corners: NDArray[np.float64],
        colors: NDArray[np.float64],
        touching: NDArray[np.int64],
    ) -> None:
        scene = self._scene
        seen_through = {int(geom) for geom in touching}
        for k in range(scene.ngeom):
            shown = scene.geoms[k]
            if shown.objtype == mujoco.mjtObj.mjOBJ_GEOM and shown.objid in seen_through:
                moves = shown.category == mujoco.mjtCatBit.mjCAT_DYNAMIC
                shown.rgba[3] *= _SEEN_THROUGH if moves else _SEEN_THROUGH_STATIC
        room = scene.maxgeom - scene.ngeom
        if len(corners) > room:
            # The largest are seen best.
            edges = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            kept = np.argsort(-np.linalg.norm(edges, axis=1), kind="stable")[:room]
            corners, colors = corners[kept], colors[kept]
        # Nearer to the eye along the line of sight, by which nothing is seen to move: a patch on a
        # surface is not to flicker with it.
        eye = np.mean([view.pos for view in scene.camera], axis=0)
        corners = eye + (1.0 - _NEARER) * (corners - eye)
        for (a, b, c), color in zip(corners, colors, strict=True):
            geom = scene.geoms[scene.ngeom]
            # Its columns map MuJoCo's triangle (0, 0), (1, 0), (0, 1) to this one.
            axes = np.stack([b - a, c - a, np.cross(b - a, c - a)], axis=1)
            mujoco.mjv_initGeom(
                geom,
                mujoco.mjtGeom.mjGEOM_TRIANGLE,
                np.ones(3),
                a,
                axes.ravel(),
                np.append(color, 1.0).astype(np.float32),
            )
            geom.emission = 1.0
            scene.ngeom += 1

    def _add_arrows(self, arrows: Arrows) -> None:
        scene = self._scene
        for start, end in zip(arrows.start, arrows.end, strict=True):
            if scene.ngeom == scene.maxgeom:
                break
            geom, kind = scene.geoms[scene.ngeom], mujoco.mjtGeom.mjGEOM_ARROW
            mujoco.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), _ARROW)
            mujoco.mjv_connector(geom, kind, arrows.width, start, end)
            geom.emission = 1.0
            scene.ngeom += 1

    def close(self) -> None:
        """Free the OpenGL resources; may be called twice."""
        if self._mjr is not None:
            self._context.make_current()
            self._mjr.free()
            self._mjr = None
        if self._context is not None:
            self._context.free()
            self._context = None

    def __enter__(self) -> OffscreenRenderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _backend() -> str:
    """Name of the OpenGL backend: what the user asked for, else what this machine has."""
    chosen = os.environ.get("MUJOCO_GL", "").strip().lower()
    if chosen in ("egl", "osmesa", "glfw", "cgl"):
        return chosen
    if chosen in ("0", "off", "false", "disable", "disabled"):
        raise MediaError(
            f"MUJOCO_GL={chosen} switches rendering off; unset this variable to make a video."
        )
    if sys.platform == "darwin":
        return "cgl"
    if sys.platform == "win32":
        return "glfw"
    if _loadable("libEGL.so.1"):
        return "egl"
    if _loadable("libOSMesa.so.8") or _loadable("libOSMesa.so.6"):
        return "osmesa"
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return "glfw"
    raise MediaError(
        f"No OpenGL library was found for drawing without a display; install one with "
        f"'{_INSTALL_EGL}'."
    )


def _context_class(backend: str) -> Any:
    needed = "glfw" if backend == "glfw" else "OpenGL"
    try:
        importlib.import_module(needed)
    except ImportError as error:
        package = "glfw" if backend == "glfw" else "PyOpenGL"
        command = "pip install glfw" if backend == "glfw" else _INSTALL_EXTRA
        raise MissingExtra(
            f"Drawing needs the Python package {package}; install it with '{command}'."
        ) from error
    return importlib.import_module(f"mujoco.{backend}").GLContext


def _draws_in_software() -> bool:
    """Whether the current context belongs to a software renderer."""
    try:
        from OpenGL import GL

        name = GL.glGetString(GL.GL_RENDERER)
    except Exception:  # no PyOpenGL beside GLFW, or an exotic platform: assume a GPU
        return False
    text = name.decode(errors="replace").lower() if isinstance(name, bytes) else ""
    return any(part in text for part in _SOFTWARE_RENDERERS)


def _loadable(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _missing(backend: str, error: Exception) -> str:
    command = {
        "egl": _INSTALL_EGL,
        "osmesa": "apt-get install libosmesa6",
        "glfw": f"{_INSTALL_EGL}' and set 'MUJOCO_GL=egl",
    }.get(backend)
    reason = " ".join(str(error).split()).rstrip(".")
    if command is None:
        return f"OpenGL ({backend}) could not start ({reason}); check the graphics driver."
    return f"OpenGL ({backend}) could not start ({reason}); install it with '{command}'."
