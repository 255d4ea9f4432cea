"""A reference to an MjData that may leave it to others to keep it alive."""

from __future__ import annotations

import weakref

import mujoco

__all__ = ["DataReference"]


class DataReference:
    """Refers to an MjData; called, it returns it.

    Parameters
    ----------
    data : mujoco.MjData
    keep : bool
        Whether the data lives at least as long as the reference.
    """

    def __init__(self, data: mujoco.MjData, *, keep: bool) -> None:
        self._weak = weakref.ref(data)
        self._kept = data if keep else None

    def __call__(self) -> mujoco.MjData:
        data = self._weak()
        assert data is not None, "the MjData is gone"
        return data

    def release(self) -> None:
        """Leave it to others to keep the data alive."""
        self._kept = None
