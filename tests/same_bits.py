"""What two runs of one simulation must have in common to the bit."""

from __future__ import annotations

import numpy as np

import asperity as asp


def state_bits(simulator: asp.Simulator) -> list[bytes]:
    """Position, velocity, acceleration and contacts, as they are in memory."""
    data, contacts = simulator.data, simulator.contacts
    numbers = [data.qpos, data.qvel, data.qacc, contacts.geom, contacts.force, contacts.point]
    return [np.asarray(one).tobytes() for one in numbers]


def work_counts(simulator: asp.Simulator) -> dict[str, float]:
    """The simulator's counts of steps and iterations; not its time, which is never the same."""
    counts = dict(vars(simulator.stats))
    del counts["wall_time"]
    return counts
