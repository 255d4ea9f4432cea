"""The dish rack, watched: what is held, dropped and passed through."""

from __future__ import annotations

import pytest

import asperity as asp
from asperity.errors import MissingExtra
from studies.experiments.dish_rack_runs import CONTROL_PERIOD, fields, watch
from studies.experiments.paper import paper_cenic
from studies.scenes import dish_rack as scene

pytestmark = pytest.mark.assets


@pytest.fixture(scope="module")
def task() -> scene.DishRack:
    try:
        return scene.DishRack(scene.dish_rack())
    except MissingExtra as error:
        pytest.skip(str(error))


def test_spans_are_in_the_order_of_the_path(task: scene.DishRack) -> None:
    times = [time for name in scene.OBJECTS for time in task.spans[name]]
    assert times == sorted(times)
    assert 0.0 < times[0] < times[-1] < task.duration


@pytest.mark.slow
def test_error_control_has_no_artefact_and_long_steps_have(task: scene.DishRack) -> None:
    model = scene.dish_rack()
    found = watch(model, task, paper_cenic(accuracy=1e-3), fields())
    assert found.artefacts.names == ()
    assert 0.0 < found.artefacts.depth < 1.5e-3
    # Steps are longer than those of fixed steps that work.
    assert found.time[-1] / found.steps > 5e-3
    long = watch(
        model, task, asp.Icf(time_step=0.5 * CONTROL_PERIOD, friction_bound="lagged"), fields()
    )
    # Which of them hangs on rounding.
    assert long.artefacts.dropped
    assert long.artefacts.crossed
    assert long.artefacts.depth > 3 * found.artefacts.depth
