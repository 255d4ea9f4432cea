"""Directions that count with the contacts they make, and friction that does not overshoot."""

from __future__ import annotations

import engines
import numpy as np
import pytest
from engines import engine_of, hessian, move_to

import asperity as asp
from asperity.midas.energy.potentials import ratio_of_force
from asperity.midas.newton.anticipation import _force
from asperity.midas.time.step_start import prepare_step

GAP = 1.5e-3


def tower(count: int) -> str:
    """Cubes of 1 kg above each other, a little apart."""
    cubes = "".join(
        f'<body pos="0 0 {0.05 + 0.1 * i + GAP * (i + 1)}"><freejoint/>'
        '<geom type="box" size=".05 .05 .05" density="1000"/></body>'
        for i in range(count)
    )
    slab = '<geom type="box" size="1 1 .1" pos="0 0 -.1"/>'
    return f"<mujoco><worldbody>{slab}{cubes}</worldbody></mujoco>"


@pytest.mark.parametrize("ratio", [1e-3, 0.1, 0.5, 0.9, 0.99, 0.9999])
def test_the_ratio_of_a_force_is_where_the_barrier_has_it(ratio):
    assert ratio_of_force(_force(ratio)) == pytest.approx(ratio, abs=1e-5 * (1.0 - ratio) + 1e-9)


@pytest.mark.parametrize("scheme", ["implicit-euler", "bdf2"])
def test_a_tower_that_lands_takes_few_iterations_and_stands(scheme):
    """One contact after the other is met within the first steps; 5.8 iterations if none is seen."""
    sim = asp.Simulator(tower(20), integrator=asp.Midas(time_step=0.01, time_scheme=scheme))
    stats = sim.advance_to(0.3).stats
    assert stats.iterations <= 3 * stats.steps
    assert stats.fallbacks == 0
    sim.advance_to(1.0)
    contacts = sim.contacts
    ground = np.any(contacts.geom == 0, axis=1)
    weight = 20.0 * 9.81
    assert abs(contacts.force[ground, 2].sum()) == pytest.approx(weight, rel=1e-4)
    assert np.abs(sim.data.qvel).max() < 1e-4
    tops = sim.data.qpos.reshape(20, 7)
    np.testing.assert_allclose(tops[:, :2], 0.0, atol=1e-6)


def test_contact_lists_serve_while_bodies_rest():
    sim = asp.Simulator(tower(3), integrator=asp.Midas(time_step=0.01))
    sim.advance_to(0.5)
    before = int(sim.session.method.engine.table.counts.rebuilds)
    sim.advance_to(1.0)
    assert int(sim.session.method.engine.table.counts.rebuilds) == before
    # A push that takes the top off needs new ones, and is not missed.
    sim.data.xfrc_applied[3, 0] = 30.0
    sim.advance_to(1.5)
    assert int(sim.session.method.engine.table.counts.rebuilds) > before
    assert sim.data.qpos[14] > 0.2
    assert sim.clearance > 0.0


def test_looking_at_contacts_changes_no_bit():
    runs = []
    for looks in (False, True):
        sim = asp.Simulator(tower(4), integrator=asp.Midas(time_step=0.01))
        for step in range(40):
            sim.advance_to(0.01 * (step + 1))
            if looks:
                assert len(sim.contacts.geom) >= 0
        runs.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*runs)


def test_the_hessian_of_friction_is_positive_for_all_duals():
    engine = engine_of(tower(1).replace(f"{0.05 + GAP}", "0.0509"))
    table = engine.table
    assert prepare_step(table, 0.01, False) == 0
    assert table.friction.count > 0
    rng = np.random.default_rng(0)
    for size in (1e-7, 1e-5, 1e-3):
        z = table.poses.z.copy()
        z[:2] += size
        move_to(engine, z)
        for _ in range(5):
            dual = rng.normal(size=table.friction.dual.shape)
            dual /= np.maximum(np.linalg.norm(dual, axis=1, keepdims=True), 1.0)
            table.friction.dual[:] = dual
            engines.assemble(engine)
            assert np.linalg.eigvalsh(hessian(engine)).min() > 0.0


def test_the_hessian_knows_how_crossed_capsules_tilt():
    """Of both about where they are nearest, for which its other terms are zero or exact."""
    capsule = '<freejoint/><geom type="capsule" size=".02 .05" mass=".1" friction="0"/>'
    engine = engine_of(
        f"""<mujoco><worldbody><body zaxis="1 0 0">{capsule}</body>
        <body pos="0 0 .0405" zaxis="1 1.7 0">{capsule}</body></worldbody></mujoco>"""
    )
    table = engine.table
    assert prepare_step(table, 0.01, False) == 0
    z = table.poses.z.copy()
    rng = np.random.default_rng(0)
    for _ in range(5):
        tilt = np.zeros(z.size)
        for link, size in enumerate(rng.normal(size=2)):
            rows = table.poses.q[link, 1:4]
            upright = int(np.argmax(np.abs(rows[:, 2])))
            start = table.links.variable[link] + 3
            tilt[start + 6 : start + 9] = size * rows[upright]
            tilt[start + 3 * upright : start + 3 * upright + 3] = -size * rows[2]
        slopes = []
        for share in (1e-5, -1e-5):
            move_to(engine, z + share * tilt)
            engines.assemble(engine)
            slopes.append(table.newton.gradient @ tilt)
        move_to(engine, z)
        engines.assemble(engine)
        exact = (slopes[0] - slopes[1]) / 2e-5
        assert tilt @ hessian(engine) @ tilt == pytest.approx(exact, rel=1e-6)


def test_heaps_of_capsules_take_few_iterations():
    """Without that they take 160 to 250."""
    rng = np.random.default_rng(0)
    bodies = ""
    for i in range(50):
        x, y = 0.1 * np.array([i % 5, i // 5 % 5]) + 0.003 * rng.normal(size=2)
        turn = " ".join(map(str, rng.normal(size=4)))
        bodies += (
            f'<body pos="{x} {y} {0.1 * (i // 25 + 1)}" quat="{turn}"><freejoint/>'
            '<geom type="capsule" size=".025 .02"/></body>'
        )
    floor = '<geom type="plane" size="5 5 .1"/>'
    xml = f"<mujoco><worldbody>{floor}{bodies}</worldbody></mujoco>"
    stats = asp.Simulator(xml, integrator=asp.Midas(time_step=0.01)).advance_to(0.4).stats
    assert stats.iterations < 80 * stats.steps


@pytest.mark.parametrize("spin", [1.0, 5.0, 13.0])
def test_a_ball_that_rolls_takes_no_iterations(spin):
    xml = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .02601"><freejoint/><geom size=".025"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Midas(time_step=0.01))
    sim.data.qvel[0] = 0.025 * spin
    sim.data.qvel[4] = spin
    sim.advance_to(0.3)
    assert sim.advance_to(0.6).stats.iterations == 0
    np.testing.assert_allclose(sim.data.qvel[[0, 4]], [0.025 * spin, spin], rtol=1e-4)
