"""Edges of flexes that an equality holds, in Midas: exact lengths, and what happens without."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from rope_models import EQUALITY, lengths, line, rope
from scipy.integrate import solve_ivp
from soft_models import compile_soft

import asperity as asp

# What an equality leaves, relative.
EXACT = 1.001e-8


def _double_pendulum(end: float, mass: np.ndarray, length: float) -> np.ndarray:
    """Positions in x and z of two masses on bars that were released from rest along x."""

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        x, v = y[:4].reshape(2, 2), y[4:].reshape(2, 2)
        jacobian = np.zeros((2, 4))
        jacobian[0, :2] = x[0]
        jacobian[1, :2], jacobian[1, 2:] = x[0] - x[1], x[1] - x[0]
        free = np.tile([0.0, -9.81], 2)
        square = [v[0] @ v[0], (v[1] - v[0]) @ (v[1] - v[0])]
        by_mass = jacobian / np.repeat(mass, 2)
        force = np.linalg.solve(by_mass @ jacobian.T, -jacobian @ free - square)
        return np.concatenate([v.ravel(), free + by_mass.T @ force])

    start = [length, 0.0, 2.0 * length, 0.0, 0.0, 0.0, 0.0, 0.0]
    return solve_ivp(rates, (0.0, end), start, rtol=1e-10, atol=1e-12).y[:4, -1].reshape(2, 2)


@pytest.mark.parametrize("step", [1e-2, 5e-3, 1e-3])
@pytest.mark.parametrize("load", [1.0, 200.0])
def test_a_rope_that_swings_keeps_its_lengths(step: float, load: float) -> None:
    """Also with a load at its end of two hundred times a vertex."""
    model = rope(line(21, 1.0), EQUALITY + "<pin id='0'/>", mass=0.2)
    model.body_mass[model.flex_vertbodyid[-1]] *= load
    mujoco.mj_setConst(model, mujoco.MjData(model))
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
    for k in range(1, 26):
        sim.advance_to(0.02 * k)
        assert np.abs(lengths(model, sim.data) - 1.0).max() < EXACT
    assert sim.stats.yielding == 0


@pytest.mark.parametrize("step", [1e-2, 2e-3])
def test_cloth_keeps_the_lengths_of_its_edges(step: float) -> None:
    model = compile_soft(
        "<flexcomp name='cloth' type='grid' dim='2' count='6 6 1' mass='0.05' radius='0.001'"
        f" spacing='.04 .04 1'>{EQUALITY}<pin gridrange='0 0 0 5'/>"
        "<contact selfcollide='none'/></flexcomp>"
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
    sim.advance_to(0.3)
    ends = sim.data.flexvert_xpos[model.flex_edge]
    length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    free = model.flexedge_rigid == 0
    assert np.abs(length / model.flexedge_length0 - 1.0)[free].max() < EXACT
    assert sim.data.flexvert_xpos[:, 2].min() < -0.1


def test_two_edges_are_a_double_pendulum() -> None:
    """The error falls with the step, and lengths are exact at every step."""
    model = rope(line(3, 0.5), EQUALITY + "<pin id='0'/>", mass=0.2)
    truth = _double_pendulum(0.4, model.body_mass[model.flex_vertbodyid[1:]], 0.25)
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
        sim.advance_to(0.4)
        assert np.abs(lengths(model, sim.data) - 1.0).max() < EXACT
        errors.append(np.linalg.norm(sim.data.flexvert_xpos[1:, [0, 2]] - truth))
    assert errors[1] < 0.53 * errors[0]
    assert errors[2] < 0.52 * errors[1]
    # Of what is left, the larger part is that of the first order.
    assert 2.0 * errors[2] - errors[1] < 0.06 * errors[2]


def test_a_rope_that_starts_too_long_shrinks_with_a_time_constant() -> None:
    """As equalities of links do, whatever the step, by 1/(1 + h/τ) in each."""
    model = rope(line(11, 1.0), EQUALITY + "<pin id='0'/>", mass=0.2, gravity=0.0)
    for step in (1e-2, 2e-3, 5e-4):
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
        sim.data.qpos[0::3] = 0.005 * np.arange(1, 11)
        sim.advance_to(0.04)
        steps = round(0.04 / step)
        expected = 0.05 / (1.0 + step / 0.02) ** steps
        # Every step leaves what an equality leaves.
        assert lengths(model, sim.data) - 1.0 == pytest.approx(expected, abs=steps * EXACT)
        assert np.abs(sim.data.qpos.reshape(-1, 3)[:, 1:]).max() < 1e-9


def test_what_pulls_a_taut_rope_yields_and_the_rope_does_not() -> None:
    """A hand goes where the rope does not reach; a warning names what stays open."""
    model = rope(
        line(11, 1.0),
        EQUALITY + "<pin id='0'/>",
        mass=0.2,
        world="<body name='hand' mocap='true' pos='1 0 0'/>",
        sections="<equality><connect name='grip' body1='hand' body2='rope_10' anchor='0 0 0'/>"
        "</equality>",
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=0.01))
    sim.data.mocap_pos[0, 0] = 1.05
    with pytest.warns(asp.AsperityWarning, match="grip"):
        sim.advance_to(0.2)
    assert np.abs(lengths(model, sim.data) - 1.0).max() < EXACT
    assert 0.9 < sim.data.flexvert_xpos[-1, 0] < 1.0
    assert sim.stats.yielding > 0
    sim.data.mocap_pos[0, 0] = 0.9
    sim.advance_to(0.6)
    assert sim.data.flexvert_xpos[-1, 0] == pytest.approx(0.9, abs=1e-6)


def test_a_mesh_that_cannot_bend_is_no_stiffer_than_it_can_be() -> None:
    """A flat cloth with pins all around cannot sag; what its edges give is counted, and small."""
    pins = " ".join(str(6 * i + j) for i in range(6) for j in range(6) if {i, j} & {0, 5})
    model = compile_soft(
        "<flexcomp name='drum' type='grid' dim='2' count='6 6 1' mass='0.05' radius='0.001'"
        f" spacing='.04 .04 1'>{EQUALITY}<pin id='{pins}'/>"
        "<contact selfcollide='none'/></flexcomp>"
    )
    # Steps of BDF2 stretch no edge by as much as is counted.
    integrator = asp.Midas(time_step=0.01, time_scheme="implicit-euler")
    sim = asp.Simulator(model, integrator=integrator)
    with pytest.warns(asp.AsperityWarning, match="Equality constraint 0"):
        sim.advance_to(0.3)
    assert sim.stats.yielding > 0
    assert np.isfinite(sim.data.qvel).all()
    assert -3e-3 < sim.data.flexvert_xpos[:, 2].min() < 0.0
    assert np.abs(sim.data.qvel).max() < 0.02


@pytest.mark.filterwarnings("ignore:.*keeps equality constraints open")
def test_steps_that_leave_edges_open_are_counted_once() -> None:
    """Balls slide on them, whose friction takes several solutions of a step."""
    pins = " ".join(str(6 * i + j) for i in range(6) for j in range(6) if {i, j} & {0, 5})
    balls = "".join(
        f"<body pos='{0.05 * i} {0.05 * j} .022'><freejoint/>"
        "<geom size='.02' mass='.1' friction='1.5'/></body>"
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
    )
    model = compile_soft(
        "<flexcomp name='drum' type='grid' dim='2' count='6 6 1' mass='0.05' radius='0.001'"
        f" spacing='.04 .04 1'>{EQUALITY}<pin id='{pins}'/>"
        f"<contact selfcollide='none' friction='1.5'/></flexcomp>{balls}"
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=0.01))
    sim.data.qvel[-54:] = 0.5 * np.random.default_rng(0).normal(size=54)
    counts = [0]
    for step in range(1, 21):
        sim.advance_to(0.01 * step)
        counts.append(sim.stats.yielding)
    assert sim.stats.solves > sim.stats.steps
    assert set(np.diff(counts)) == {0, 1}


def test_a_checkpoint_goes_on_with_the_same_forces(tmp_path: Path) -> None:
    model = rope(line(11, 1.0), EQUALITY + "<pin id='0'/>", mass=0.2)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=5e-3))
    sim.advance_to(0.1)
    kept = asp.Simulator.load(sim.save(tmp_path / "rope"))
    sim.advance_to(0.2)
    kept.advance_to(0.2)
    assert np.array_equal(sim.data.qpos, kept.data.qpos)
