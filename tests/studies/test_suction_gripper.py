"""Figure 13 of the CENIC paper: the vacuum gripper."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp
from studies.experiments.cenic_suction import catch
from studies.scenes.cenic_cases import CONTACTS
from studies.scenes.suction_gripper import BELLOWS_HEIGHT, field_yield, suction_gripper


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
    yielded = BELLOWS_HEIGHT - controlled["gap"][-1]
    if contact == "fields":
        assert yielded == pytest.approx(field_yield(), rel=0.1)
    else:
        assert yielded == pytest.approx(0.0, abs=1e-4)
        assert controlled["overlap"][-1] < 1e-4
    assert controlled["overlap"].max() < 1e-3
    fixed = catch(asp.Icf(time_step=0.01), contact, implicit=False)
    assert fixed["gap"].min() < -2e-3
    assert fixed["overlap"].max() > 5e-3
