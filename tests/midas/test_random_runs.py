"""Nothing intersects and no limit is passed, whatever motors do: an independent check of every step."""

from __future__ import annotations

import pytest
from random_scenes import SCENES

pytest.importorskip("ipctk", reason="ipctk, the independent check, is not installed")

from random_runs import run


@pytest.mark.parametrize("name", SCENES)
def test_random_motors(name):
    found = run(name, 1, 150)
    assert found.faultless, found.faults
    assert found.steps == 150
    assert found.clearance > 0


@pytest.mark.parametrize(("name", "seed", "steps"), [("press", 11, 95), ("fast bodies", 64, 10)])
def test_surfaces_that_have_come_too_near_are_parted_again(name, seed, steps):
    """Steps in which undamped directions ended a nanometre from a turning surface."""
    found = run(name, seed, steps)
    assert found.faultless, found.faults


def test_steps_without_the_friction_that_was_asked_for_are_counted():
    """Six bodies of 60 m/s that hit the floor and each other, spinning."""
    found = run("fast bodies", 33, 60)
    assert found.faultless, found.faults
    assert found.fallbacks > found.frictionless > 0
    assert found.fallbacks < 10
