"""Figure 12 of the CENIC paper, in short."""

from __future__ import annotations

import numpy as np
import pytest

from asperity.errors import MissingExtra
from studies.experiments.cenic_controller_gain import (
    DIAGONAL,
    EXPLICIT,
    IMPLICIT,
    simulate_gain,
)
from studies.scenes.franka_box import BOX_POSITION, NOMINAL, START, franka, franka_and_box


def _quiet(share: float) -> None:
    pass


@pytest.fixture(autouse=True)
def _robot() -> None:
    try:
        franka()
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.mark.assets
def test_steps_do_not_grow_with_the_gain_unless_explicit() -> None:
    steps = {
        treatment: [
            simulate_gain(gain, treatment, _quiet, duration=4.0).stats.steps for gain in gains
        ]
        for treatment, gains in (
            (IMPLICIT, (1e2, 1e4, 1e6)),
            (DIAGONAL, (1e2, 1e4)),
            (EXPLICIT, (1e2, 1e3, 1e4)),
        )
    }
    assert max(steps[IMPLICIT]) < 2 * min(steps[IMPLICIT])
    assert steps[EXPLICIT][2] > 7 * steps[EXPLICIT][1] > 7 * 7 * min(steps[IMPLICIT]) / 2
    # What the paper prints, the diagonal, is between the two for this arm.
    assert 3 * steps[IMPLICIT][1] < steps[DIAGONAL][1] < steps[EXPLICIT][2] / 3


@pytest.mark.assets
@pytest.mark.parametrize("effort_limits", [False, True])
def test_a_stiff_controller_lifts_the_box_to_its_setpoint(effort_limits: bool) -> None:
    simulator = simulate_gain(1e5, IMPLICIT, _quiet, effort_limits=effort_limits)
    # K_p = K_d has a time constant of a second: what is left of the way after 2.5 s.
    left = np.exp(-2.5) * (START - NOMINAL)[:7]
    assert np.abs(simulator.data.qpos[:7] - NOMINAL[:7] - left).max() < 0.03
    assert simulator.data.body("box").xpos[2] > BOX_POSITION[2] + 0.15


@pytest.mark.assets
def test_the_box_rests_between_the_open_fingers_and_clear_of_them() -> None:
    from asperity.simulator import Simulator

    simulator = Simulator(franka_and_box(effort_limits=True))
    simulator.reset("start")
    touching = {
        frozenset(simulator.model.body(simulator.model.geom_bodyid[g]).name for g in pair)
        for pair in simulator.contacts.geom
    }
    assert touching <= {frozenset(("world", "box"))}
    assert np.array_equal(simulator.data.qpos[:9], START)


def test_without_the_package_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "asperity\[assets\]"'):
        franka()
