"""Deformable bodies in motion: momentum, frequencies, and steps that do not depend on stiffness."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from soft_models import Array, beam, compile_soft, cube, positions, vertex_dofs

import asperity as asp
from studies.benchmarks.soft import grasp

BOTH = (asp.Icf(time_step=4e-3), asp.Cenic(accuracy=1e-3, max_step=0.02))


def _motion(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array, Array]:
    """Masses, positions and velocities of the vertices."""
    mass = model.body_mass[model.flex_vertbodyid]
    velocity = data.qvel[vertex_dofs(model)[:, None] + np.arange(3)]
    return mass, positions(model, data), velocity


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
def test_free_fall_keeps_momentum(integrator: asp.Icf | asp.Cenic) -> None:
    """Whatever goes on within, the centre of mass falls as a point."""
    model = compile_soft(cube(young=1e4, height=5.0))
    sim = asp.Simulator(model, integrator=integrator)
    rng = np.random.default_rng(0)
    sim.data.qvel[:] = rng.normal(scale=0.1, size=model.nv)
    mass, _, before = _motion(model, sim.data)
    start = mass @ before
    sim.advance_to(0.2)
    _, _, after = _motion(model, sim.data)
    expected = start + np.array([0.0, 0.0, -9.81 * 0.2]) * mass.sum()
    assert np.abs(mass @ after - expected).max() < 1e-12


def test_a_cube_at_rest_keeps_its_factors() -> None:
    """Factors of one step serve the next ones, of which each takes an iteration or two."""
    model = compile_soft(f"<geom type='plane' size='1 1 .1'/>{cube(height=0.0255)}")
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.advance_to(0.5)
    before = sim.stats
    sim.advance_to(1.0)
    assert sim.stats.steps - before.steps == 250
    assert sim.stats.factorizations - before.factorizations <= 5
    assert sim.stats.iterations - before.iterations <= 600


def test_a_held_cube_keeps_the_factors_of_steps_and_of_their_halves() -> None:
    """Error control solves a step and its halves in turn, of which each has factors of its own."""

    def hold(_: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:2] = 0.012, -0.012

    sim = asp.Simulator(grasp(), integrator=asp.Cenic(), control=hold, control_period=0.02)
    sim.advance_to(1.0)
    before = sim.stats
    sim.advance_to(2.0)
    assert sim.stats.steps - before.steps == 50
    assert sim.stats.solves - before.solves == 150
    assert sim.stats.factorizations - before.factorizations <= 6


def test_what_slides_otherwise_than_before_takes_new_factors() -> None:
    """By factors of first half steps second ones take 8 iterations where fingers close on a cube.

    The cube slides on the floor as it becomes wider.
    """

    def close(_: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:2] = 0.04 * data.time, -0.04 * data.time

    sim = asp.Simulator(grasp(), integrator=asp.Cenic(), control=close, control_period=0.02)
    sim.advance_to(0.1)
    before = sim.stats
    sim.advance_to(0.3)
    assert sim.stats.iterations - before.iterations < 3 * (sim.stats.solves - before.solves)


# Cloth that is turned and pinned to the world, and a volume that a link carries.
_PINNED = """<mujoco><worldbody>
  <flexcomp name="cloth" type="grid" dim="2" count="4 4 1" spacing=".03 .03 .03" radius=".001"
    mass=".1" pos="0 0 .5" euler="10 20 30"><pin id="0"/><contact selfcollide="none"/>
    <elasticity young="1e4" thickness=".002" damping=".01"/></flexcomp>{link}</worldbody></mujoco>"""
_LINK = """<body name="link" pos="1 0 .5" euler="20 30 40"><joint axis="0 1 0"/><geom size=".02"/>
  <flexcomp name="bob" type="grid" dim="3" count="3 3 3" spacing=".02 .02 .02" radius=".001"
    mass=".1"><pin id="0 1 2"/><elasticity young="1e4" damping=".01"/></flexcomp></body>"""

PUBLISHED = (*BOTH, asp.Midas(time_step=5e-3))


@pytest.mark.parametrize("link", ["", _LINK], ids=("cloth", "cloth and a link"))
def test_edges_of_what_is_pinned_are_published(link: str) -> None:
    """Jacobians and rates of edges are MuJoCo's, which finds them for equalities and dampers."""
    model = mujoco.MjModel.from_xml_string(_PINNED.format(link=link))
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.advance_to(0.1)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = sim.data.qpos, sim.data.qvel
    mujoco.mj_forward(model, data)
    assert np.abs(data.flexedge_velocity).max() > 1e-3
    np.testing.assert_allclose(sim.data.flexedge_J, data.flexedge_J, atol=1e-12)
    np.testing.assert_allclose(sim.data.flexedge_velocity, data.flexedge_velocity, atol=1e-12)


def test_an_edge_without_length_has_mujoco_s_direction() -> None:
    model = mujoco.MjModel.from_xml_string(_PINNED.format(link=""))
    one, other = model.flex_edge[-1]
    sim, data = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3)), mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    apart = data.flexvert_xpos[one] - data.flexvert_xpos[other]
    joints = model.body_jntadr[model.flex_vertbodyid[other]] + np.arange(3)
    sim.data.qpos[joints] = np.linalg.solve(data.xaxis[joints].T, apart)
    data.qpos[:] = sim.data.qpos
    mujoco.mj_forward(model, data)
    assert data.flexedge_length[-1] < 1e-15
    sim.advance_to(0.0)
    np.testing.assert_allclose(sim.data.flexedge_J, data.flexedge_J, atol=1e-12)


@pytest.mark.parametrize("integrator", PUBLISHED, ids=("icf", "cenic", "midas"))
def test_edges_are_published(integrator: asp.Integrator) -> None:
    """Lengths, Jacobians and rates of edges are MuJoCo's for the vertices."""
    model = compile_soft(cube(young=1e4, height=5.0))
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[:] = np.random.default_rng(0).normal(scale=0.1, size=model.nv)
    sim.advance_to(0.05)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = sim.data.qpos, sim.data.qvel
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(sim.data.flexedge_length, data.flexedge_length, rtol=1e-12)
    np.testing.assert_allclose(sim.data.flexedge_J, data.flexedge_J, atol=1e-12)
    one, other = np.array(model.flex_edge).T
    positions_now, (_, _, velocity) = positions(model, sim.data), _motion(model, sim.data)
    edge = positions_now[other] - positions_now[one]
    rate = np.einsum("ei,ei->e", edge, velocity[other] - velocity[one])
    rate /= np.linalg.norm(edge, axis=1)
    assert np.abs(rate).max() > 1e-3
    np.testing.assert_allclose(sim.data.flexedge_velocity, rate, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("step", [1e-3, 4e-3])
def test_spinning_cube_keeps_angular_momentum(step: float) -> None:
    model = compile_soft(cube(young=1e5, height=1.0), gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=step))
    mass, x, _ = _motion(model, sim.data)
    centre = mass @ x / mass.sum()
    spin = np.array([3.0, 8.0, 5.0])
    dofs = vertex_dofs(model)[:, None] + np.arange(3)
    sim.data.qvel[dofs] = np.cross(spin, x - centre)

    def angular() -> Array:
        mass, x, v = _motion(model, sim.data)
        return np.asarray(np.sum(mass[:, None] * np.cross(x - centre, v), axis=0))

    before = angular()
    sim.advance_to(0.5)
    assert np.linalg.norm(angular() - before) < 1e-3 * np.linalg.norm(before)


def test_cantilever_swings_with_its_frequency() -> None:
    """The first mode, by Euler and Bernoulli; vertices at the end are as heavy as others."""
    model = beam(1, young=1e6, poisson=0.0, mass=0.44)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    rest = positions(model, sim.data)
    dofs = vertex_dofs(model)
    s = rest[:, 0]
    free = dofs >= 0
    sim.data.qvel[dofs[free] + 2] = 0.1 * (s[free] ** 2 * (3.0 - s[free])) / 2.0
    tip = int(np.flatnonzero(s > 1.0 - 1e-6)[0])
    height = []
    for k in range(1, 1201):
        sim.advance_to(1e-3 * k)
        height.append(sim.data.qpos[dofs[tip] + 2])
    crossings = np.flatnonzero(np.diff(np.sign(height)))
    period = 2e-3 * np.diff(crossings).mean()
    # A tip with half a layer of mass too much: by Rayleigh's quotient of the static shape.
    shape = (lambda x: x**2 * (3.0 - x) / 2.0)(s)
    mass = np.where(free, model.body_mass[model.flex_vertbodyid], 0.0)
    stiffness = 3.0 * 1e6 * 0.1**4 / 12.0
    frequency = np.sqrt(stiffness / (mass @ shape**2)) / (2.0 * np.pi)
    assert 1.0 / period == pytest.approx(frequency, rel=3e-2)


def test_steps_do_not_depend_on_stiffness() -> None:
    """A cube that falls and comes to rest takes as many steps whether it is jelly or steel."""
    counts = []
    for young in (1e4, 1e5, 1e6, 1e8):
        model = compile_soft(
            "<geom type='plane' size='1 1 0.1'/>" + cube(young=young, height=0.026)
        )
        contact = asp.ContactParameters(stiffness=1e4)
        sim = asp.Simulator(model, integrator=asp.Cenic(), contact=contact)
        sim.advance_to(0.5)
        counts.append(sim.stats.steps)
    assert max(counts) <= 1.6 * min(counts)


def test_a_failed_step_leaves_the_state() -> None:
    model = compile_soft(cube(young=1e4, height=1.0))
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.advance_to(0.01)
    before = sim.data.qpos.copy()
    sim.data.qfrc_applied[0] = np.nan
    with pytest.raises(asp.AsperityError):
        sim.advance_to(0.02)
    assert np.array_equal(sim.data.qpos, before)


def test_same_bits() -> None:
    runs = []
    for _ in range(2):
        model = compile_soft("<geom type='plane' size='1 1 0.1'/>" + cube(height=0.03))
        sim = asp.Simulator(model, integrator=asp.Cenic())
        sim.advance_to(0.1)
        runs.append(sim.data.qpos.copy())
    assert np.array_equal(*runs)


def test_checkpoints_and_threads_change_nothing(tmp_path: Path) -> None:
    model = compile_soft("<geom type='plane' size='1 1 0.1'/>" + cube(height=0.03))
    whole = asp.Simulator(model, integrator=asp.Cenic(), threads=2)
    whole.advance_to(0.05)
    again = asp.Simulator.load(whole.save(tmp_path / "half"))
    for sim in (whole, again):
        sim.advance_to(0.1)
    alone = asp.Simulator(model, integrator=asp.Cenic(), threads=1)
    for time in (0.05, 0.1):
        alone.advance_to(time)
    assert np.array_equal(whole.data.qpos, again.data.qpos)
    assert np.array_equal(whole.data.qpos, alone.data.qpos)


def test_a_new_stiffness_is_noticed() -> None:
    model = beam(1, young=1e6, poisson=0.0)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=100.0))
    dofs = vertex_dofs(model)
    tip = int(np.flatnonzero(dofs >= 0)[-1])
    sim.data.qfrc_applied[dofs[tip] + 2] = 1e-3
    sim.advance_to(500.0)
    before = sim.data.qpos[dofs[tip] + 2]
    model.flex_stiffness[:] *= 2.0
    sim.advance_to(1000.0)
    assert sim.data.qpos[dofs[tip] + 2] == pytest.approx(0.5 * before, rel=1e-4)


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3), asp.Midas(time_step=5e-3)],
    ids=("icf", "cenic", "midas"),
)
def test_edges_hold_a_volume(integrator: asp.Integrator) -> None:
    """It turns as a rigid cube in the air, and lies on the floor with its weight."""
    model = compile_soft(
        "<geom type='plane' size='1 1 0.1'/>"
        "<flexcomp name='cube' type='grid' dim='3' count='3 3 3' spacing='.03 .03 .03' mass='0.1'"
        " radius='1e-3' pos='0 0 0.06'><edge equality='true'/><contact selfcollide='none'/>"
        "</flexcomp>"
    )
    sim = asp.Simulator(model, integrator=integrator)
    mass, x, _ = _motion(model, sim.data)
    dofs = vertex_dofs(model)[:, None] + np.arange(3)
    spin = np.array([0.0, 2.0, 1.0])
    sim.data.qvel[dofs] = np.cross(spin, x - mass @ x / mass.sum())
    before = mass @ np.cross(x - mass @ x / mass.sum(), sim.data.qvel[dofs])
    sim.advance_to(0.05)
    _, x, v = _motion(model, sim.data)
    centre = mass @ x / mass.sum()
    after = mass @ np.cross(x - centre, v - mass @ v / mass.sum())
    assert np.linalg.norm(after - before) < 2e-2 * np.linalg.norm(before)
    sim.advance_to(1.0)
    ends = sim.data.flexvert_xpos[model.flex_edge]
    stretch = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / model.flexedge_length0
    assert np.abs(stretch - 1.0).max() < 2e-3
    assert np.abs(sim.data.qvel).max() < 2e-3
    assert sim.contacts.normal_force.sum() == pytest.approx(0.981, rel=1e-2)
