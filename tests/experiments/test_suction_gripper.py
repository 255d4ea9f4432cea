"""Figure 13 of the CENIC paper: the vacuum gripper."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp
from asperity.experiments.cenic_suction import BELLOWS_HEIGHT, catch
from asperity.scenes.cenic_cases import CONTACTS
from asperity.scenes.suction_gripper import suction_gripper


def test_bellows_are_light_and_lie_between() -> None:
    sim = asp.Simulator(suction_gripper(), integrator=asp.Cenic())
    bellows = sim.model.body("bellows_0")
    assert bellows.mass[0] == pytest.approx(np.pi * 0.01**2 * 0.015 * 10)
    assert sim.model.body("box").mass[0] == pytest.approx(0.411)
    assert len(sim.contacts.signed_distance) == 0


@pytest.mark.parametrize("contact", CONTACTS)
def test_error_control_catches_the_box_and_fixed_steps_pass_through(contact: str) -> None:
    controlled = catch(asp.Cenic(accuracy=1e-3), contact)
    # The box is pressed against the bellows, and these against the gripper.
    assert controlled.gap[-1] == pytest.approx(BELLOWS_HEIGHT, abs=1e-4)
    assert controlled.overlap.max() < 1e-3
    assert controlled.overlap[-1] < 1e-4
    fixed = catch(asp.Icf(time_step=0.01), contact, implicit=False)
    assert fixed.gap.min() < -2e-3
    assert fixed.overlap.max() > 5e-3
