"""Contact forces as arrows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from asperity.media.errors import MediaError
from asperity.media.recording import Recording
from asperity.simulator import Contacts

__all__ = ["Arrows", "ForceArrows"]

# Length of the longest arrows over the model's extent.
_LENGTH = 0.25
_PERCENTILE = 99.0


class Arrows(NamedTuple):
    """Arrows of one picture, n of them."""

    start: NDArray[np.float64]
    """[m], world, shape (n, 3)."""
    end: NDArray[np.float64]
    """[m], world, shape (n, 3)."""
    width: float
    """[m]"""


class ForceArrows:
    """Forces of a recording, with one scale for all of it.

    Parameters
    ----------
    recording : Recording
    contacts : sequence of Contacts
        Of every sample.

    Raises
    ------
    MediaError
        If they are not as many as the samples.
    """

    def __init__(self, recording: Recording, contacts: Sequence[Contacts]) -> None:
        if len(contacts) != len(recording.time):
            raise MediaError(
                f"forces has contacts of {len(contacts)} times, and there are "
                f"{len(recording.time)}; simulate(..., save_at=times, contact_forces=True) records "
                "them at each."
            )
        self._time, self._contacts = recording.time, contacts
        self._extent = float(recording.model.stat.extent)
        sizes = np.concatenate([np.linalg.norm(one.force, axis=1) for one in contacts])
        self.largest = float(np.percentile(sizes, _PERCENTILE)) if sizes.any() else 1.0
        """Force of the scale's end [N]."""

    def at(self, time: float) -> Arrows:
        """Arrows of the last sample up to a time [s]; forces act on the second geoms."""
        sample = int(np.searchsorted(self._time, time * (1.0 + 1e-12) + 1e-12, side="right")) - 1
        contacts = self._contacts[max(sample, 0)]
        length = _LENGTH * self._extent / self.largest
        end = contacts.point + length * contacts.force
        return Arrows(contacts.point, end, 0.01 * self._extent)
