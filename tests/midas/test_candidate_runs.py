"""Runs of candidates: what is not measured has no energy, and no point moves farther than said."""

from __future__ import annotations

import numpy as np
import pytest

import asperity as asp
from asperity.midas.energy.contact_terms import contact_energy
from asperity.midas.lists.candidate_runs import measure_candidates, measure_now, measure_trial
from asperity.midas.newton.trial import largest_move, try_share
from asperity.midas.parts import least

HEAP = """<mujoco><worldbody><geom type='plane' size='2 2 .1'/>
{}
<body pos='0 0 1.4'><freejoint/><geom type='box' size='.1 .1 .02'/>
<body pos='.12 0 0'><joint axis='0 1 0'/><geom type='capsule' size='.02 .08' euler='0 90 0'/></body>
</body></worldbody></mujoco>"""
BODIES = "\n".join(
    f"<body pos='{0.02 * (n % 3)} {0.015 * (n % 2)} {0.1 + 0.19 * n}' euler='{17 * n} {29 * n} 0'>"
    f"<freejoint/><geom type='{('box', 'cylinder', 'ellipsoid')[n % 3]}' size='.06 .05 .04'/></body>"
    for n in range(6)
)


# While some lie and others still fall, whose paths, and with them the list, are longer.
@pytest.fixture(scope="module", params=[0.4, 0.5])
def engine(request):
    sim = asp.Simulator(
        HEAP.format(BODIES), integrator=asp.Midas(time_step=0.01, max_iterations=60)
    )
    assert sim.advance_to(request.param).success
    table = sim.session.method.engine.table
    reach = 1.5 * table.options.activation
    for _ in range(30):
        least = table.runs.least[: table.runs.count]
        if np.any(least < table.options.activation) and np.any(least > reach):
            break
        assert sim.step().success
    else:
        pytest.fail("nothing lies while something still falls")
    yield table
    del sim


def energy_at(table, at_trial: int) -> float:
    """Energy of contacts, of the iterate or of the trial state (1)."""
    table.newton.at_trial = at_trial
    return contact_energy(table)


def trials(table):
    """Trial states around the iterate, of moves from a thousandth of the reach to far beyond it."""
    random = np.random.default_rng(0)
    start = table.vertices.now.copy()
    for size in np.geomspace(1e-6, 1e-1, 40):
        table.vertices.now[:] = start
        measure_candidates(table)
        table.newton.direction[:] = random.normal(size=table.newton.direction.size)
        try_share(table, size)
        yield size
    table.vertices.now[:] = start
    measure_candidates(table)


def test_no_point_moves_farther_than_its_link_is_said_to(engine) -> None:
    placed = engine.vertices.listed[: engine.vertices.listed_count]
    link = engine.shapes.vertex_link[placed]
    tightest = 0.0
    for _ in trials(engine):
        moves = np.linalg.norm(engine.vertices.trial[placed] - engine.vertices.now[placed], axis=1)
        bound = engine.runs.link_move[link]
        assert np.all(moves <= bound * (1.0 + 1e-12))
        tightest = max(tightest, float(np.max(moves / bound)))
    # A bound of everything would be one, too.
    assert tightest > 0.3


def test_what_is_not_measured_has_no_energy(engine) -> None:
    spared = 0
    energies = []
    for _ in trials(engine):
        measure_trial(engine)
        runs = engine.runs.count
        spared += int(np.sum(engine.runs.state[:runs] != 1))
        energy = energy_at(engine, 1)
        engine.vertices.now[:] = engine.vertices.trial
        measure_candidates(engine)
        whole = energy_at(engine, 0)
        if np.isfinite(whole):
            energies.append(whole)
            assert energy == pytest.approx(whole, rel=1e-12)
    assert spared > 0
    assert max(energies) > 0.0
    assert len(energies) > 5


def test_going_back_leaves_the_iterate_s_energy(engine) -> None:
    before = energy_at(engine, 0)
    assert before > 0.0
    for _ in trials(engine):
        measure_trial(engine)
        measure_now(engine)
        assert energy_at(engine, 0) == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("link", [0, -2])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_move_that_is_no_number_is_not_lost(engine, link: int, bad: float) -> None:
    kept = float(engine.poses.q_trial[link, 0, 0])
    engine.poses.q_trial[link, 0, 0] = bad
    assert not np.isfinite(largest_move(engine.links, engine.poses))
    engine.poses.q_trial[link, 0, 0] = kept
    assert np.isfinite(largest_move(engine.links, engine.poses))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_least_of_parts_does_not_lose_what_is_no_number(engine, place: int) -> None:
    values = engine.parts.value[:3]
    values[:] = [0.7, 0.5, 0.6]
    assert least(engine, 3, 1.0) == 0.5
    assert least(engine, 3, 0.4) == 0.4
    assert np.isnan(least(engine, 3, np.nan))
    values[place] = np.nan
    assert np.isnan(least(engine, 3, 1.0))
