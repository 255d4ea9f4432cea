"""Times of the parts of a step: they tell where time goes, and measuring changes nothing else."""

from __future__ import annotations

import numpy as np

from asperity.integrators import Cenic
from asperity.simulator import Simulator
from studies.experiments.cenic_cases import CASES
from studies.experiments.cenic_profile import profile
from studies.experiments.entry_times import EntryTimes

INTEGRATOR = Cenic(accuracy=1e-2)


def panda() -> Simulator:
    return CASES["panda points"].make(INTEGRATOR)


def clutter() -> Simulator:
    return CASES["soft clutter"].make(INTEGRATOR)


def test_every_part_of_a_run_takes_time() -> None:
    parts, cpu = profile(panda(), 0.5)
    assert cpu > 0.0
    assert min(parts.values()) > 0.0


def test_timing_changes_no_bit_and_leaves_nothing() -> None:
    plain, timed = clutter(), clutter()
    times = EntryTimes(timed)
    timed.advance_to(0.3)
    times.remove()
    spent = times.read()
    timed.advance_to(0.5)
    later = times.read()
    assert spent.get("external systems", 0.0) == 0.0
    for name in ("line search", "factorization", "MuJoCo, collision"):
        assert spent[name] > 0.0
        assert later[name] < 1.5 * spent[name]  # the tick's length is measured anew
    plain.advance_to(0.3)
    plain.advance_to(0.5)
    np.testing.assert_array_equal(plain.data.qpos, timed.data.qpos)
