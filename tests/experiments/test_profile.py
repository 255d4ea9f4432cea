"""Stopwatches on the parts of a step: they tell where time goes, and change nothing else."""

from __future__ import annotations

import numpy as np

from asperity.experiments.cenic_cases import CASES
from asperity.experiments.cenic_profile import profile
from asperity.experiments.stopwatches import stopwatches
from asperity.integrators import Cenic
from asperity.simulator import Simulator

INTEGRATOR = Cenic(accuracy=1e-2)


def panda() -> Simulator:
    return CASES["panda points"].make(INTEGRATOR)


def clutter() -> Simulator:
    return CASES["soft clutter"].make(INTEGRATOR)


def test_shares_add_up_to_the_run() -> None:
    for make, has_systems in ((clutter, False), (panda, True)):
        shares, cpu = profile(make, 0.5)
        assert cpu > 0.0
        assert min(shares) >= 0.0
        assert min(shares.geometry, shares.hessian, shares.line_search, shares.dynamics) > 0.0
        assert (shares.external > 0.0) == has_systems


def test_watches_change_no_bit_and_leave_nothing() -> None:
    plain, watched = clutter(), clutter()
    with stopwatches(watched) as watches:
        watched.advance_to(0.3)
    spent = watches.shares(1.0)
    watched.advance_to(0.5)
    assert watches.shares(1.0) == spent
    plain.advance_to(0.3)
    plain.advance_to(0.5)
    np.testing.assert_array_equal(plain.data.qpos, watched.data.qpos)
