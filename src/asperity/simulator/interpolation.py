"""States between the accepted steps of a simulation: dense output."""

from __future__ import annotations

import mujoco
import numpy as np

__all__ = ["interpolate"]


def interpolate(
    model: mujoco.MjModel, time: np.ndarray, qpos: np.ndarray, qvel: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States at some times, between samples.

    Positions follow a cubic Hermite curve in the tangent space, limited so that no coordinate
    overshoots between two samples: an impact inside a step stays inside it. Velocities are linear.

    Parameters
    ----------
    time, qpos, qvel : arrays, shapes (n,), (n, nq) and (n, nv)
        Samples, increasing in time [s].
    times : array, shape (m,)
        [s]; those beyond the samples get the first and the last.

    Returns
    -------
    qpos, qvel : ndarray, shapes (m, nq) and (m, nv)
    """
    found_qpos = np.empty((len(times), model.nq))
    found_qvel = np.empty((len(times), model.nv))
    delta = np.empty(model.nv)
    last = max(len(time) - 2, 0)
    for k, t in enumerate(times):
        i = min(max(int(np.searchsorted(time, t, side="right")) - 1, 0), last)
        j = min(i + 1, len(time) - 1)
        h = time[j] - time[i]
        found_qpos[k] = qpos[i]
        if h <= 0:
            found_qvel[k] = qvel[i]
            continue
        s = min(max((t - time[i]) / h, 0.0), 1.0)
        mujoco.mj_differentiatePos(model, delta, 1.0, qpos[i], qpos[j])
        low = np.minimum(0.0, 3.0 * delta)
        high = np.maximum(0.0, 3.0 * delta)
        start = np.clip(h * qvel[i], low, high)
        end = np.clip(h * qvel[j], low, high)
        move = s * s * (3 - 2 * s) * delta + s * (1 - s) ** 2 * start - s * s * (1 - s) * end
        mujoco.mj_integratePos(model, found_qpos[k], move, 1.0)
        found_qvel[k] = (1 - s) * qvel[i] + s * qvel[j]
    return found_qpos, found_qvel
