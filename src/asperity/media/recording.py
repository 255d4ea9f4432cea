"""A recorded trajectory, checked once and read at the times of video frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from asperity.media.errors import MediaError

__all__ = ["Recording", "output_path"]

Floats = NDArray[np.float64]


class Recording:
    """Samples of a trajectory with interpolation on the configuration manifold.

    Between two samples ``q_i``, ``q_j`` the configuration moves along the geodesic
    ``q_i ⊕ α (q_j ⊖ q_i)``, so quaternions turn at a constant rate and stay of unit length.

    Parameters
    ----------
    model : mujoco.MjModel
        The model that was simulated.
    time : array_like, shape (n,)
        Times of the samples [s], not decreasing.
    qpos : array_like, shape (n, nq)
        Configurations [m, rad or quaternion].
    mocap_pos, mocap_quat : array_like, shape (n, nmocap, 3) and (n, nmocap, 4), optional
        Poses of the mocap bodies [m, quaternion]; those of the model when omitted.

    Raises
    ------
    MediaError
        If an array has the wrong shape or a value that is not finite, or if time runs backwards.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        time: ArrayLike,
        qpos: ArrayLike,
        *,
        mocap_pos: ArrayLike | None = None,
        mocap_quat: ArrayLike | None = None,
    ) -> None:
        self.model = model
        self.time = _array("time", time)
        if self.time.ndim != 1 or self.time.size == 0:
            raise MediaError(
                f"time has shape {self.time.shape}; give a one-dimensional array with at least "
                "one sample."
            )
        n = self.time.size
        if np.any(np.diff(self.time) < 0.0):
            index = int(np.argmax(np.diff(self.time) < 0.0)) + 1
            raise MediaError(f"time[{index}] is smaller than its predecessor; sort the samples.")
        self.qpos = _array("qpos", qpos, (n, model.nq))
        self.mocap_pos: Floats | None = None
        self.mocap_quat: Floats | None = None
        if mocap_pos is not None:
            self.mocap_pos = _array("mocap_pos", mocap_pos, (n, model.nmocap, 3))
        if mocap_quat is not None:
            self.mocap_quat = _array("mocap_quat", mocap_quat, (n, model.nmocap, 4))

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.time[-1] - self.time[0])

    def frame_times(self, fps: float) -> Floats:
        """Times of the frames [s], shape (nframe,), the first at the first sample.

        Raises
        ------
        MediaError
            If ``fps`` is not a positive number.
        """
        if not (np.isfinite(fps) and fps > 0.0):
            raise MediaError(f"fps is {fps}; give a positive number of frames per second.")
        # A duration that is a multiple of the frame period must not lose its last frame to
        # round-off.
        count = int(np.floor(self.duration * fps + 1e-6)) + 1
        return self.time[0] + np.arange(count) / fps

    def pose(self, data: mujoco.MjData, time: float) -> None:
        """Put the configuration at ``time`` [s] into ``data`` and update all poses."""
        model = self.model
        last = self.time.size - 1
        i = int(np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, last))
        j = min(i + 1, last)
        span = self.time[j] - self.time[i]
        alpha = float(np.clip((time - self.time[i]) / span, 0.0, 1.0)) if span > 0.0 else 0.0
        data.time = time
        data.qpos[:] = self.qpos[i]
        mujoco.mj_normalizeQuat(model, data.qpos)
        if alpha > 0.0:
            velocity = np.zeros(model.nv)
            mujoco.mj_differentiatePos(model, velocity, 1.0, self.qpos[i], self.qpos[j])
            mujoco.mj_integratePos(model, data.qpos, velocity, alpha)
        if self.mocap_pos is not None:
            data.mocap_pos[:] = (1.0 - alpha) * self.mocap_pos[i] + alpha * self.mocap_pos[j]
        if self.mocap_quat is not None:
            turn = np.zeros(3)
            for body in range(model.nmocap):
                quat = self.mocap_quat[i, body].copy()
                mujoco.mju_normalize4(quat)
                mujoco.mju_subQuat(turn, self.mocap_quat[j, body], quat)
                mujoco.mju_quatIntegrate(quat, turn, alpha)
                data.mocap_quat[body] = quat
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        # Flexes and tendons are drawn from these.
        mujoco.mj_flex(model, data)
        mujoco.mj_tendon(model, data)

    def frames(self, fps: float) -> Iterator[mujoco.MjData]:
        """Yield one scratch ``MjData``, posed at each frame time in turn."""
        data = mujoco.MjData(self.model)
        for time in self.frame_times(fps):
            self.pose(data, float(time))
            yield data


def output_path(path: str | Path, suffix: str) -> Path:
    """Check that a file with this name can be written.

    Raises
    ------
    MediaError
        If the suffix differs from ``suffix`` or the directory does not exist.
    """
    result = Path(path)
    if result.suffix.lower() != suffix:
        raise MediaError(f"{result.name} does not end in {suffix}; rename it to '*{suffix}'.")
    if not result.parent.is_dir():
        raise MediaError(f"The directory {result.parent} does not exist; create it first.")
    return result


def _array(name: str, values: ArrayLike, shape: tuple[int, ...] | None = None) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if shape is not None and array.shape != shape:
        raise MediaError(f"{name} has shape {array.shape}; this model and time need {shape}.")
    finite = np.isfinite(array)
    if not finite.all():
        index = ", ".join(str(int(k)) for k in np.argwhere(~finite)[0])
        raise MediaError(
            f"{name}[{index}] is {array[tuple(np.argwhere(~finite)[0])]}; only finite samples "
            "can be shown."
        )
    return array
