"""Real throws: fits of flight, noise, the cube, errors, the search and the page."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import asperity as asp
from studies.benchmarks.verification.case import GRAVITY, Contact, Record
from studies.documents.marks import ROOT, filled
from studies.peers.asperity import AsperitySimulate
from studies.throws import search
from studies.throws.capture import (
    CORNERS,
    FRAME,
    WIDTH,
    Start,
    Throw,
    fit_flight,
    free_fall,
    load,
    noise,
    starts_near,
)
from studies.throws.engines import ENGINES, cube, errors, foretell, poses
from studies.throws.observed import observe
from studies.throws.results import Outcome, read, write

START = Start(
    np.array([0.1, -0.2, 0.3]),
    Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix(),
    np.array([1.0, 0.5, -0.2]),
    np.array([3.0, -8.0, 5.0]),
)


def flight(frames: int, start: Start = START) -> tuple[np.ndarray, np.ndarray]:
    """Exact free flight of a cube."""
    time = FRAME * np.arange(frames)[:, None]
    position = start.position + start.velocity * time - [0.0, 0.0, 0.5 * GRAVITY] * time**2
    turned = Rotation.from_rotvec(start.spin * time) * Rotation.from_matrix(start.rotation)
    return position, turned.as_matrix()


def measured(sigma: tuple[float, float], seed: int, frames: int = 16) -> Throw:
    """A flight that was captured with white noise."""
    random = np.random.default_rng(seed)
    position, rotation = flight(frames)
    position = position + sigma[0] * random.standard_normal(position.shape)
    shaken = Rotation.from_rotvec(sigma[1] * random.standard_normal((frames, 3)))
    rotation = (shaken * Rotation.from_matrix(rotation)).as_matrix()
    start, residuals = fit_flight(position, rotation)
    return Throw(position, rotation, frames, start, residuals)


def test_an_exact_flight_gives_its_start() -> None:
    start, residuals = fit_flight(*flight(12))
    for name in ("position", "rotation", "velocity", "spin"):
        np.testing.assert_allclose(getattr(start, name), getattr(START, name), atol=1e-10)
    np.testing.assert_allclose(residuals, 0.0, atol=1e-10)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_a_simulated_flight_is_the_fitted_one() -> None:
    sim = asp.Simulator(cube().model(), integrator=asp.Cenic(accuracy=1e-8))
    sim.data.qpos[:], sim.data.qvel[:] = START.qpos(), START.qvel()
    sim.advance_to(10 * FRAME)
    position, rotation = flight(11)
    np.testing.assert_allclose(sim.data.qpos[:3], position[-1], atol=1e-6)
    turned = Rotation.from_quat(sim.data.qpos[3:], scalar_first=True)
    assert (turned.inv() * Rotation.from_matrix(rotation[-1])).magnitude() < 1e-5


def test_white_noise_is_found_and_starts_scatter_as_fits_do() -> None:
    sigma = (1e-4, 1e-3)
    throws = tuple(measured(sigma, seed) for seed in range(300))
    # Two fitted numbers make neighbouring residuals a little unlike each other.
    np.testing.assert_allclose(noise(throws), sigma, rtol=0.2)
    fits = np.array([np.r_[t.start.velocity, t.start.spin] for t in throws])
    drawn = starts_near(throws[0], np.array(sigma), 1000, seed=1)
    starts = np.array([np.r_[start.velocity, start.spin] for start in drawn])
    np.testing.assert_allclose(starts.std(axis=0), fits.std(axis=0), rtol=0.15)


def test_captured_lengths_are_short_and_one_factor_mends_fall_and_height() -> None:
    lying = float(np.median([throw.position[-1, 2] for throw in load()]))
    assert free_fall() == pytest.approx(9.61, abs=0.01)
    assert lying == pytest.approx(0.5 * WIDTH, abs=2e-4)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="contact-nets"):
        load(tmp_path / "none.npz")


def test_the_cube_touches_a_plane_where_a_rounded_one_does() -> None:
    rounding = 0.004
    model = cube(Contact(), rounding, 1.0).model()
    data = mujoco.MjData(model)
    rotation = Rotation.from_rotvec([0.5, 0.9, -0.3])
    data.qpos[3:] = rotation.as_quat(scalar_first=True)
    data.qpos[2] = 0.05
    mujoco.mj_forward(model, data)
    inner = CORNERS * (1 - rounding / (0.5 * WIDTH))
    lowest = 0.05 + rotation.apply(inner)[:, 2].min() - rounding
    assert min(contact.dist for contact in data.contact) == pytest.approx(lowest, abs=1e-12)
    assert model.body_mass[1] == pytest.approx(0.37)
    assert model.body_inertia[1] == pytest.approx([0.37 * (0.5 * WIDTH) ** 2] * 3)


def run_of(throw: Throw) -> Record:
    quaternions = Rotation.from_matrix(throw.rotation).as_quat(scalar_first=True)
    time = FRAME * np.arange(len(throw.position))
    return Record(cube().model(), time, np.hstack([throw.position, quaternions]), np.empty(0))


def test_errors_are_those_of_a_displaced_and_turned_throw() -> None:
    throw = measured((0.0, 0.0), 0)
    np.testing.assert_allclose(errors(run_of(throw), throw), 0.0, atol=1e-7)
    turned = Rotation.from_rotvec([0.0, 0.3, 0.0]) * Rotation.from_matrix(throw.rotation)
    other = replace(
        throw, position=throw.position + np.array([0.0, WIDTH, 0.0]), rotation=turned.as_matrix()
    )
    np.testing.assert_allclose(errors(run_of(other), throw), [1.0, 0.3], atol=1e-7)


def test_friction_is_read_off_a_slide() -> None:
    """Of a simulated cube that slides on a face."""
    start = Start(
        np.array([0.0, 0.0, 0.5 * WIDTH - 2e-5]), np.eye(3), np.array([0.9, 0.0, 0.0]), np.zeros(3)
    )
    simulate = AsperitySimulate(asp.Icf(time_step=1e-3))
    run = foretell(simulate, cube(Contact(friction=0.21), 1e-3, 0.8), start, 0.5)
    position, rotation = poses(run, 60)
    throw = Throw(position, rotation.as_matrix(), 1, start, np.zeros((1, 6)))
    assert observe([throw, *load()[:60]]).sliding[0] == pytest.approx(0.21, abs=0.005)


def test_the_search_finds_the_bottom_of_a_bowl(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ENGINES["cenic"]
    low, high = np.log(engine.low), np.log(engine.high)
    bottom = np.array([0.3, 0.6, 0.5, 0.2, 0.8])

    def bowl(_pool: Any, _engine: str, values: list[float], _indices: Any) -> np.ndarray:
        share = (np.log(values) - low) / (high - low)
        return np.array([[float(np.sum((share - bottom) ** 2)), 0.0]])

    monkeypatch.setattr(search, "errors_of", bowl)
    told: list[str] = []
    values, least = search.search(None, "cenic", [0], told.append)  # type: ignore[arg-type]
    share = (np.log(values) - low) / (high - low)
    assert np.max(np.abs(share - bottom)) < 0.15
    assert least == pytest.approx(float(np.sum((share - bottom) ** 2)), rel=1e-6)
    assert len(told) == search.POINTS + search.ROUNDS * search.ROUND


def test_training_and_unseen_throws_are_apart() -> None:
    training, unseen = search.split(60)
    assert len(training) == 60
    assert len(unseen) >= 200
    assert not set(training) & set(unseen)


def test_results_are_kept_engine_by_engine(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    found = Outcome("cenic", [0.2] * 5, 0.3, *np.full((3, 4, 2), 0.1), 1.0, "asperity 0")
    write([found, replace(found, engine="icf")], path)
    write([replace(found, loss=0.2)], path)
    kept = read(path)
    assert list(kept) == ["cenic", "icf"]
    assert (kept["cenic"].loss, kept["icf"].loss) == (0.2, 0.3)
    assert kept["icf"].tuned.shape == (4, 2)
    assert "0.100 widths" in found.summary()


def test_the_page_quotes_the_results() -> None:
    """`python -m studies throws --page-only` writes what differs."""
    text = (ROOT / "docs" / "real-throws.md").read_text(encoding="utf-8")
    assert filled(text) == text
    changed = text.replace("widths", "width", 1)
    assert filled(changed) == changed
    broken = text.replace("<!-- throws: free fall -->", "<!-- throws: free fall -->9")
    assert filled(broken) == text


def test_ours_is_not_worse_for_its_search() -> None:
    for found in read().values():
        assert search.loss(found.tuned) < search.loss(found.untuned)
        assert np.all(found.floor.mean(axis=0) < found.tuned.mean(axis=0))
        assert math.isfinite(found.loss)
