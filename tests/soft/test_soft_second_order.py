"""Deformable bodies in steps of BDF2: their order, their energy, and what contacts do to them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import mujoco
import numpy as np
import pytest
from midas_models import cloth
from rope_models import EQUALITY, line, motion, rope
from soft_models import Array, compile_soft, cube, positions, vertex_dofs

import asperity as asp

_APART = "<contact contype='0' conaffinity='0' selfcollide='none'/>"


def _double_pendulum() -> mujoco.MjModel:
    return rope(line(3, 0.5), EQUALITY + "<pin id='0'/>", mass=0.3)


def _chain(time: float) -> Array:
    """Vertices of `_double_pendulum` that MuJoCo's rods lead, by its method of fourth order."""
    rod = "<geom type='sphere' size='.01' pos='.25 0 0' mass='.1' contype='0' conaffinity='0'/>"
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option integrator='RK4' timestep='1e-4'/><worldbody>"
        f"<body name='a'><joint axis='0 1 0'/>{rod}<body name='b' pos='.25 0 0'>"
        f"<joint axis='0 1 0'/>{rod}</body></body></worldbody></mujoco>"
    )
    # Points have next to no inertia about themselves.
    model.body_inertia[1:] = 1e-12
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=round(time / 1e-4))
    mujoco.mj_kinematics(model, data)
    return np.array([data.body("b").xpos, data.geom_xpos[1]])


def test_a_double_pendulum_of_two_edges() -> None:
    """Against one of rods, until the lower one has turned over."""
    truth, errors = _chain(0.4), []
    for step in (4e-3, 2e-3, 1e-3):
        sim = asp.Simulator(_double_pendulum(), integrator=asp.Midas(time_step=step))
        sim.advance_to(0.4)
        errors.append(float(np.abs(sim.data.flexvert_xpos[1:] - truth).max()))
    assert errors[0] < 1e-3
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.3 * errors[1]


def _rod(damping: float) -> mujoco.MjModel:
    elastic = f"<elasticity young='1e6' poisson='0.3' damping='{damping}'/><pin id='0'/>"
    return rope(line(9, 0.5), elastic)


def _beam(damping: float) -> mujoco.MjModel:
    return compile_soft(
        "<flexcomp name='beam' type='grid' dim='3' count='9 3 3' spacing='0.05 0.03 0.03'"
        " mass='0.3' radius='0.001'><pin gridrange='0 0 0 0 0 2'/>"
        f"<elasticity young='2e4' poisson='0.3' damping='{damping}'/>{_APART}</flexcomp>"
    )


def _flag(damping: float) -> mujoco.MjModel:
    return compile_soft(
        "<flexcomp name='flag' type='grid' dim='2' count='6 6 1' spacing='0.05 0.05 0.05'"
        " mass='0.1' radius='0.001'><pin id='0 1 2 3 4 5'/><elasticity young='3e4'"
        f" poisson='0.3' thickness='5e-3' damping='{damping}' elastic2d='both'/>{_APART}"
        "</flexcomp>"
    )


@pytest.mark.parametrize(("make", "damping"), [(_rod, 0.05), (_beam, 0.03), (_flag, 0.01)])
def test_what_swings_with_damping_converges(
    make: Callable[[float], mujoco.MjModel], damping: float
) -> None:
    """Elements, bends and cells, with rates that are the scheme's: by the square of the step."""
    ends = []
    for step in (4e-3, 2e-3, 1e-3, 5e-4):
        sim = asp.Simulator(make(damping), integrator=asp.Midas(time_step=step, tolerance=1e-9))
        sim.advance_to(0.3)
        ends.append(positions(sim.model, sim.data))
    apart = [float(np.abs(one - other).max()) for one, other in pairwise(ends)]
    fell = np.abs(ends[-1] - positions(sim.model, mujoco.MjData(sim.model))).max()
    assert apart[0] < 5e-3 * fell
    assert apart[1] < 0.3 * apart[0]
    assert apart[2] < 0.3 * apart[1]


def test_damping_of_a_stretched_edge_takes_what_it_should() -> None:
    """A pair of vertices on a spring and damper decays as its formula says."""
    model = rope(line(2, 0.5), "<edge stiffness='20' damping='0.4'/>", mass=0.2, gravity=0.0)
    rate, speed = 4.0, np.sqrt(400.0 - 16.0)
    errors = []
    for step in (4e-3, 2e-3):
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
        sim.data.qpos[:6] = [-0.01, 0.0, 0.0, 0.01, 0.0, 0.0]
        errors.append(0.0)
        for time in np.arange(1, 26) * 4e-3:
            sim.advance_to(float(time))
            decay = np.exp(-rate * time)
            expected = decay * (np.cos(speed * time) + rate / speed * np.sin(speed * time))
            found = (sim.data.qpos[3] - sim.data.qpos[0]) / 0.02
            errors[-1] = max(errors[-1], abs(found - expected))
    assert errors[0] < 5e-3
    assert errors[1] < 0.3 * errors[0]


def test_a_soft_cube_spins_on() -> None:
    """Its spin and energy for 30 turns; implicit Euler would leave an eighth of the energy."""
    model = compile_soft(cube(young=2e4, height=1.0, damping=0.0), gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=5e-3))
    dofs = vertex_dofs(model)[:, None] + np.arange(3)
    mass = model.body_mass[model.flex_vertbodyid]
    x = positions(model, sim.data)
    sim.data.qvel[dofs] = np.cross([3.0, 10.0, 6.0], x - x.mean(axis=0))

    def spin_and_energy() -> tuple[Array, float]:
        x, v = positions(model, sim.data), sim.data.qvel[dofs]
        about = np.cross(x - x.mean(axis=0), v - v.mean(axis=0))
        return mass @ about, 0.5 * float(mass @ (v**2).sum(axis=1))

    spin, energy = spin_and_energy()
    most = energy
    for step in range(1, 1001):
        sim.advance_to(5e-3 * step)
        most = max(most, spin_and_energy()[1])
    last, left = spin_and_energy()
    assert np.abs(last - spin).max() < 5e-3 * np.abs(spin).max()
    assert 0.98 * energy < left
    assert most <= energy
    # From where inertia leads it would take three iterations a step.
    assert sim.stats.iterations < 2.5 * sim.stats.steps


def test_a_rope_swings_on() -> None:
    """Steps of 10 ms leave it more energy than steps of implicit Euler that are half as long."""
    left = []
    for scheme, step in (("bdf2", 0.01), ("implicit-euler", 0.005)):
        model = rope(line(11, 0.5), EQUALITY + "<pin id='0'/>")
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step, time_scheme=scheme))

        def energy(sim: asp.Simulator = sim) -> float:
            mass, v = motion(sim.model, sim.data)
            height = positions(sim.model, sim.data)[:, 2]
            return float(0.5 * mass @ (v**2).sum(axis=1) + 9.81 * mass @ height)

        begin, most = energy(), -np.inf
        for k in range(1, 101):
            sim.advance_to(0.01 * k)
            most = max(most, energy())
        assert most <= begin + 1e-6
        left.append(energy() - begin)
    assert left[0] > 0.35 * left[1]


def test_it_does_not_rebound_from_what_the_history_knows() -> None:
    """A cloth that falls flat stays where it lands: the step of the impact is one of Euler's."""
    model = compile_soft("<geom type='plane' size='1 1 .1'/>" + cloth(0.1, count=5, height=0.05))
    sim = asp.Simulator(model, integrator=asp.Midas(verify=True))
    table = sim.session.method.engine.table
    dofs, fastest, schemes = vertex_dofs(model) + 2, -np.inf, []
    for _ in range(60):
        assert sim.step().success
        landed = len(sim.contacts.force) > 0
        fastest = max(fastest, sim.data.qvel[dofs].max()) if landed else fastest
        schemes.append(float(table.time.step))
    impact = np.sqrt(2.0 * 9.81 * 0.05)
    assert fastest < 0.02 * impact
    assert np.abs(sim.data.qvel).max() < 1e-4
    first = int(np.argmax(np.isclose(schemes, 0.01)))
    assert first > 5
    assert schemes[1:first] == pytest.approx([0.01 / 1.66] * (first - 1))
    assert schemes[-1] == pytest.approx(0.02 / 3.0), "at rest it is smooth again"


def test_at_rest_it_takes_no_iterations() -> None:
    """A step begins where the last one leads, which is where it ends."""
    model = compile_soft("<geom type='plane' size='1 1 .1'/>" + cube(height=0.0271, count=5))
    sim = asp.Simulator(model, integrator=asp.Midas())
    sim.advance_to(0.5)
    before = sim.stats.iterations
    sim.advance_to(1.0)
    assert sim.stats.iterations == before
    assert sim.session.method.engine.table.time.step == pytest.approx(0.02 / 3.0)
