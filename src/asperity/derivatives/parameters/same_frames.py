"""Frames that MuJoCo takes for the same, although a parameter has moved one of them a bit.

Where the frame of an inertia, a geom or a site is that of its body within a micrometre, or that of
the body's inertia, MuJoCo marks it (``body_sameframe``, ``geom_sameframe``, ``site_sameframe``) and
copies the one pose for the other. A displacement of differences is smaller, and would be without
effect.
"""

from __future__ import annotations

import mujoco
import numpy as np

__all__ = ["SAME_FRAMES", "tell_frames_apart"]

SAME_FRAMES = ("body_sameframe", "geom_sameframe", "site_sameframe")

_NONE = int(mujoco.mjtSameFrame.mjSAMEFRAME_NONE)
_BODY = int(mujoco.mjtSameFrame.mjSAMEFRAME_BODY)
_BODY_ROTATION = int(mujoco.mjtSameFrame.mjSAMEFRAME_BODYROT)
_INERTIA = int(mujoco.mjtSameFrame.mjSAMEFRAME_INERTIA)
_INERTIA_ROTATION = int(mujoco.mjtSameFrame.mjSAMEFRAME_INERTIAROT)


def _same(first: np.ndarray, second: np.ndarray | list[float]) -> np.ndarray:
    return np.asarray(np.all(first == np.asarray(second), axis=1))


def _tell_apart(
    marks: np.ndarray,
    position: np.ndarray,
    rotation: np.ndarray,
    inertia: tuple[np.ndarray, np.ndarray],
) -> None:
    turned_alike = _same(rotation, [1.0, 0.0, 0.0, 0.0])
    as_inertia = _same(rotation, inertia[1])
    wrong = (marks == _BODY) & ~(turned_alike & _same(position, [0.0, 0.0, 0.0]))
    wrong |= (marks == _BODY_ROTATION) & ~turned_alike
    wrong |= (marks == _INERTIA) & ~(as_inertia & _same(position, inertia[0]))
    wrong |= (marks == _INERTIA_ROTATION) & ~as_inertia
    marks[wrong] = _NONE


def tell_frames_apart(model: mujoco.MjModel) -> None:
    """Take the marks off all frames that are not the same to the last bit, after `mj_setConst`."""
    pose = (model.body_ipos, model.body_iquat)
    _tell_apart(model.body_sameframe, *pose, pose)
    for kind in ("geom", "site"):
        marks, body, position, rotation = (
            getattr(model, f"{kind}_{name}") for name in ("sameframe", "bodyid", "pos", "quat")
        )
        _tell_apart(marks, position, rotation, (pose[0][body], pose[1][body]))
