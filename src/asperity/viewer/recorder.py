"""Recording of a live view: a playback of what was shown, as one file."""

from __future__ import annotations

import tempfile
from collections import deque
from pathlib import Path

import numpy as np

from asperity.media.web import write_web_playback
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator import Simulator

__all__ = ["ViewRecorder"]

# Ten minutes of pictures; of longer recordings it is the last ones.
_MOST = 18_000

Sample = tuple[float, np.ndarray, np.ndarray, np.ndarray]


class ViewRecorder:
    """Samples of a simulation while it is shown.

    Parameters
    ----------
    simulator : Simulator
        Of the thread in which all is called but `page`.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._samples: deque[Sample] | None = None

    @property
    def running(self) -> bool:
        """Whether it records."""
        return self._samples is not None

    def begin(self) -> None:
        """Begin with the present state."""
        self._samples = deque(maxlen=_MOST)
        self.sample()

    def sample(self) -> None:
        """Add the present state if time has passed; after a reset a recording begins anew."""
        samples, data = self._samples, self._simulator.data
        if samples is None:
            return
        if samples and data.time < samples[-1][0]:
            samples.clear()
        if not samples or data.time > samples[-1][0]:
            poses = data.mocap_pos.copy(), data.mocap_quat.copy()
            samples.append((float(data.time), data.qpos.copy(), *poses))

    def end(self) -> list[Sample]:
        """Record no more; returns what there is."""
        samples, self._samples = self._samples, None
        return list(samples or ())

    def page(self, samples: list[Sample], contact: ContactParameters | None) -> bytes:
        """The playback of samples, as `write_web_playback` writes it."""
        time, qpos, mocap_pos, mocap_quat = (np.array(one) for one in zip(*samples, strict=True))
        with tempfile.TemporaryDirectory() as folder:
            return write_web_playback(
                Path(folder) / "view.html",
                self._simulator.model,
                time,
                qpos,
                mocap_pos=mocap_pos,
                mocap_quat=mocap_quat,
                contact=contact,
            ).read_bytes()
