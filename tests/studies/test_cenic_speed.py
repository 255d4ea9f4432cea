"""Figure 11 of the CENIC paper: what falls comes to lie on the ground, in all engines."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from asperity.errors import MissingExtra
from asperity.integrators import Cenic
from studies.experiments import cenic_speed
from studies.scenes.cenic_speed import (
    BUNNY_HEIGHT,
    BUNNY_MASS,
    bunnies,
    bunny_points,
    quadruped,
)

STIFFNESS = 1e5  # N/m, the default


def test_bunnies_are_hulls_of_the_papers_size() -> None:
    points, _ = bunny_points()
    assert np.ptp(points[:, 2]) == pytest.approx(BUNNY_HEIGHT)
    model = bunnies()
    assert model.body_mass[1:] == pytest.approx(BUNNY_MASS)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0


def test_a_bunny_lands_without_sinking_in() -> None:
    """A fall from 0.5 m at most as deep as a spring without losses would stop it."""
    found = cenic_speed.run_asperity(Cenic(accuracy=1e-3), 1.0, bunnies())
    weight = BUNNY_MASS * 9.81
    deepest = weight / STIFFNESS * (1.0 + np.sqrt(1.0 + 2.0 * STIFFNESS * 0.6 / weight))
    assert 0.0 < found.overlap < deepest
    assert found.steps < 1000


def test_a_quadruped_without_motors_collapses_onto_the_ground() -> None:
    try:
        model = quadruped()
    except MissingExtra as missing:
        pytest.skip(str(missing))
    assert model.nu == 0
    ours = cenic_speed.run_asperity(Cenic(accuracy=1e-3), 1.0, model)
    mujocos = cenic_speed.run_mujoco(1e-3, 1.0, model)
    # The paper's finding: MuJoCo's default contact lets it in several times as deep.
    assert 0.0 < ours.overlap < 0.02
    assert mujocos.overlap > 1.5 * ours.overlap


def test_drake_simulates_the_same_bunnies() -> None:
    pytest.importorskip("pydrake", reason="Drake is of the extra 'peers'")
    found = cenic_speed.run_drake(1e-1, None, 1.0, bunnies())
    assert 0.0 < found.overlap < 0.3
