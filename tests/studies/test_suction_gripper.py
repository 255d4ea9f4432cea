"""Figure 13 of the CENIC paper: the vacuum gripper."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp
from studies.experiments.cenic_suction import BELLOWS_HEIGHT, catch
from studies.scenes.cenic_cases import CONTACTS
from studies.scenes.suction_gripper import BOX_HALF_SIZES, suction_gripper


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
        # At this resolution a bellows is a square of 2 r². Fields yield by the pressure over the
        # modulus, of half of the gripper's and the bellows' heights (twice) and the box's.
        pull = 6 * 50.0 * (1 - controlled["gap"][-1] / 0.04) - 0.411 * 9.81
        depths = 0.01 + 2 * 0.5 * BELLOWS_HEIGHT + BOX_HALF_SIZES[2]
        pressure = pull / (6 * 2 * 0.01**2)
        assert yielded == pytest.approx(pressure / 1e7 * depths, rel=0.1)
    else:
        assert yielded == pytest.approx(0.0, abs=1e-4)
        assert controlled["overlap"][-1] < 1e-4
    assert controlled["overlap"].max() < 1e-3
    fixed = catch(asp.Icf(time_step=0.01), contact, implicit=False)
    assert fixed["gap"].min() < -2e-3
    assert fixed["overlap"].max() > 5e-3
