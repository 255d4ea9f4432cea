"""Volumes and cloth in Midas: free, hanging, sliding, draped, folded and pressed."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from midas_models import cloth
from soft_models import Array, beam, compile_soft, cube, positions, vertex_dofs

import asperity as asp

ipctk = pytest.importorskip("ipctk")


def _midas(**options: object) -> asp.Midas:
    return asp.Midas(verify=True, **options)


def _determinants(model: mujoco.MjModel, rest: Array, x: Array) -> Array:
    """Volumes of tetrahedra over those at rest."""
    corners = np.array(model.flex_elem).reshape(-1, 4)
    edges = [where[corners[:, 1:]] - where[corners[:, :1]] for where in (rest, x)]
    return np.asarray(np.linalg.det(edges[1]) / np.linalg.det(edges[0]))


@pytest.mark.parametrize("body", [cube(young=1e4, height=5.0), cloth(height=5.0, count=6)])
def test_free_fall_keeps_momentum(body: str) -> None:
    """The centre of mass falls as a point does, whatever goes on within."""
    model = compile_soft(body)
    sim = asp.Simulator(model, integrator=_midas(time_step=0.005))
    sim.data.qvel[:] = np.random.default_rng(0).normal(scale=0.1, size=model.nv)
    dofs = vertex_dofs(model)[:, None] + np.arange(3)
    mass = model.body_mass[model.flex_vertbodyid]
    start, momentum = mass @ positions(model, sim.data), mass @ sim.data.qvel[dofs]
    fallen = np.array([0.0, 0.0, -9.81])
    for time in (0.005, 0.01, 0.1):
        sim.advance_to(time)
        expected = momentum + time * mass.sum() * fallen
        assert np.abs(mass @ sim.data.qvel[dofs] - expected).max() < 1e-9 * mass.sum()
        path = time * momentum + 0.5 * time**2 * mass.sum() * fallen
        assert np.abs(mass @ positions(model, sim.data) - start - path).max() < 1e-9 * mass.sum()


def test_hanging_bar() -> None:
    """Stretched by ρ g L²/2E, and what equal masses of vertices add to that."""
    model = compile_soft(
        "<body name='roof'><flexcomp name='bar' type='grid' dim='3' count='3 3 11' pos='0 0 0'"
        " spacing='0.05 0.05 0.1' mass='1' radius='0.001'><pin gridrange='0 0 10 2 2 10'/>"
        "<elasticity young='1e6' poisson='0'/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp></body>"
    )
    rest = positions(model, mujoco.MjData(model))
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=0.5))
    sim.advance_to(10.0)
    low = rest[:, 2] < rest[:, 2].min() + 1e-6
    # By the theorem of Betti, a mean that weighs vertices by their share of the end's area.
    share = np.prod(np.where(np.abs(rest[low, :2]) < 1e-6, 0.5, 0.25), axis=1)
    found = share @ (rest - positions(model, sim.data))[low, 2]
    weight = 9.81 * model.body_mass[model.flex_vertbodyid[0]] * 9.0
    # Below every layer of vertices hang those under it.
    expected = sum(weight * below * 0.1 / (1e6 * 0.01) for below in range(1, 11))
    assert found == pytest.approx(expected, rel=5e-4)


@pytest.mark.parametrize(("cells", "expected"), [(1, 0.985), (2, 0.987)])
def test_cantilever_bends_as_a_beam(cells: int, expected: float) -> None:
    """Tip deflection over Timoshenko's."""
    young, poisson = 1e6, 0.3
    model = beam(cells, young=young, poisson=poisson)
    rest = positions(model, mujoco.MjData(model))
    tip = np.flatnonzero(rest[:, 0] > 1.0 - 1e-6)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=100.0))
    sim.data.qfrc_applied[vertex_dofs(model)[tip] + 2] = 1e-2 / len(tip)
    sim.advance_to(500.0)
    found = (positions(model, sim.data) - rest)[tip, 2].mean()
    shear = young / 2.0 / (1.0 + poisson)
    theory = 1e-2 * (1.0 / (3.0 * young * 0.1**4 / 12.0) + 1.0 / (5.0 / 6.0 * shear * 0.01))
    assert found / theory == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("body", [cube(height=0.03, count=3), cloth(0.1, count=5, height=0.01)])
def test_rests_with_its_weight(body: str) -> None:
    model = compile_soft("<geom type='plane' size='1 1 0.1'/>" + body)
    sim = asp.Simulator(model, integrator=_midas())
    sim.advance_to(0.6)
    weight = 9.81 * model.body_mass.sum()
    assert sim.contacts.force[:, 2].sum() == pytest.approx(-weight, rel=1e-3)
    assert set(sim.contacts.flex.ravel().tolist()) == {-1, 0}
    assert np.all(sim.contacts.vert[sim.contacts.flex >= 0] >= 0)
    assert sim.data.ncon == len(sim.contacts.geom)


@pytest.mark.parametrize(("slope", "sticks"), [(0.27, True), (0.33, False)])
@pytest.mark.parametrize("kind", ["volume", "cloth"])
def test_incline(kind: str, slope: float, sticks: bool) -> None:
    """It sticks where the slope is less than friction, and else slides by what is left."""
    body = (
        cube(height=0.0266, friction=0.3)
        if kind == "volume"
        else cloth(0.1, count=5, height=0.0022, friction=0.3)
    )
    model = compile_soft(f"<geom type='plane' size='1 1 0.1' friction='0.3'/>{body}")
    angle = np.arctan(slope)
    model.opt.gravity[:] = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=0.005))
    sim.advance_to(0.3)
    mass = model.body_mass[model.flex_vertbodyid]
    dofs = vertex_dofs(model)

    def speed() -> float:
        return float(mass @ sim.data.qvel[dofs] / mass.sum())

    before = speed()
    sim.advance_to(0.8)
    if sticks:
        assert abs(speed()) < 1e-4
        return
    expected = 9.81 * (np.sin(angle) - 0.3 * np.cos(angle)) * 0.5
    assert speed() - before == pytest.approx(expected, rel=2e-2)


@pytest.mark.parametrize("tolerance", [1e-3, 2e-4])
def test_what_sticks_creeps_as_the_stiction_tolerance_says(tolerance: float) -> None:
    """At half of the friction limit IPC's law f₁(y) = 2 y − y² has y = 1 − √½."""
    body = cube(height=0.0266, friction=0.4)
    model = compile_soft(f"<geom type='plane' size='1 1 0.1' friction='0.4'/>{body}")
    angle = np.arctan(0.2)
    model.opt.gravity[:] = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=5e-3, stiction_tolerance=tolerance))
    sim.advance_to(0.6)
    begin = positions(model, sim.data).mean(axis=0)
    sim.advance_to(0.8)
    creep = (positions(model, sim.data).mean(axis=0) - begin)[0] / 0.2
    assert creep == pytest.approx(tolerance * (1.0 - np.sqrt(0.5)), rel=0.05)


def test_cloth_over_a_ball_stays_with_friction() -> None:
    """Every state has been looked at by ipctk."""
    model = compile_soft(
        "<geom type='sphere' size='0.08' pos='0 0 0.08' friction='0.5'/>"
        + cloth(0.3, count=12, height=0.165)
    )
    sim = asp.Simulator(model, integrator=_midas())
    sim.advance_to(1.0)
    middle = positions(model, sim.data).mean(axis=0)
    assert np.linalg.norm(middle[:2]) < 5e-3
    assert 0.06 < middle[2] < 0.11
    sim.advance_to(1.5)
    assert np.linalg.norm(positions(model, sim.data).mean(axis=0) - middle) < 5e-3
    assert sim.clearance > 0.0


def test_cloth_folds_on_itself() -> None:
    """One that falls on its edge lies in folds, with contacts between them."""
    model = compile_soft(
        "<geom type='plane' size='1 1 0.1'/>"
        + cloth(0.2, count=10, height=0.115, euler="85 3 0", damping=0.01)
    )
    sim = asp.Simulator(model, integrator=_midas())
    own = 0
    for step in range(12):
        sim.advance_to(0.05 * (step + 1))
        own += int(np.all(sim.contacts.flex == 0, axis=1).sum())
    assert own > 0
    assert positions(model, sim.data)[:, 2].max() < 0.1


def test_cloth_falls_fast_on_an_edge_and_is_not_cut() -> None:
    """At 10 m/s, beyond a thickness of a millimetre in every step by a hundred times."""
    model = compile_soft(
        "<geom type='box' size='0.002 0.2 0.05' pos='0 0 0.05'/>" + cloth(0.2, count=8, height=0.3)
    )
    sim = asp.Simulator(model, integrator=_midas())
    sim.data.qvel[vertex_dofs(model) + 2] = -10.0
    sim.advance_to(0.06)
    assert positions(model, sim.data)[:, 2].max() > 0.1


def test_pressed_cube_is_not_inverted() -> None:
    """Two plates, moved by servos, press it to less than half."""
    plate = (
        "<body pos='{} 0 0.06'><joint name='{}' type='slide' axis='1 0 0' damping='5'/>"
        "<geom type='box' size='0.005 0.05 0.05' mass='0.5' friction='0.5'/></body>"
    )
    model = compile_soft(
        plate.format(-0.0315, "left")
        + plate.format(0.0315, "right")
        + cube(young=1e4, height=0.06, count=4),
        gravity=0.0,
        sections="<actuator><position joint='left' kp='3e4' kv='300'/>"
        "<position joint='right' kp='3e4' kv='300'/></actuator>",
    )
    rest = positions(model, mujoco.MjData(model))
    sim = asp.Simulator(model, integrator=_midas())
    least = 1.0
    for step in range(40):
        depth = 0.014 * min((step + 1) / 20, 1.0)
        sim.data.ctrl[:] = depth, -depth
        sim.advance_to(0.01 * (step + 1))
        least = min(least, _determinants(model, rest, positions(model, sim.data)).min())
    width = np.ptp(positions(model, sim.data)[:, 0])
    assert width < 0.5 * 0.05
    assert least > 0.2


def test_a_checkpoint_goes_on_to_the_bit(tmp_path: Path) -> None:
    model = compile_soft("<geom type='plane' size='1 1 0.1'/>" + cloth(0.1, count=5, height=0.004))
    sim = asp.Simulator(model, integrator=asp.Midas())
    sim.advance_to(0.1)
    other = asp.Simulator.load(sim.save(tmp_path / "state.asp"))
    sim.advance_to(0.2)
    other.advance_to(0.2)
    assert np.array_equal(sim.data.qpos, other.data.qpos)


def test_a_cloth_and_a_volume_hit_a_body_and_keep_momentum() -> None:
    """Without gravity; what a solution leaves is 1e-6 m/s."""
    model = compile_soft(
        "<body pos='0.004 0 0.3'><freejoint/>"
        "<geom type='box' size='0.03 0.03 0.03' mass='0.1' friction='0.5'/></body>"
        + cube(height=0.2, count=3, young=1e4)
        + cloth(0.12, count=6, height=0.36),
        gravity=0.0,
    )
    sim = asp.Simulator(model, integrator=_midas(time_step=0.005))
    dofs = vertex_dofs(model)
    sim.data.qvel[dofs[:27] + 2] = 1.0
    mass = model.body_mass[model.flex_vertbodyid]

    def momentum() -> Array:
        soft = mass @ sim.data.qvel[dofs[:, None] + np.arange(3)]
        return np.asarray(soft + 0.1 * sim.data.qvel[:3])

    before = momentum()
    sim.advance_to(0.25)
    # Both have been hit.
    assert sim.data.qvel[2] > 0.1
    assert mass[27:] @ sim.data.qvel[dofs[27:] + 2] > 1e-3
    assert np.abs(momentum() - before).max() < 1e-6 * (mass.sum() + 0.1)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=0.01), asp.Midas(time_step=0.01)])
def test_cloth_sinks_in_a_viscous_medium(integrator: asp.Integrator) -> None:
    """At m g/3π d β, with the mean side d of the box that has a vertex's inertia, as in MuJoCo."""
    model = compile_soft(cloth(count=5))
    model.opt.viscosity = 0.5
    moving = np.flatnonzero(model.body_mass)
    mass, inertia = model.body_mass[moving], model.body_inertia[moving]
    sides = np.sqrt(6.0 * (inertia.sum(axis=1)[:, None] - 2.0 * inertia) / mass[:, None])
    terminal = 9.81 * mass / (3.0 * np.pi * sides.mean(axis=1) * model.opt.viscosity)
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(12.0 * terminal.max() / 9.81)
    speed = -sim.data.qvel[vertex_dofs(model) + 2]
    np.testing.assert_allclose(speed, terminal, rtol=1e-3)
