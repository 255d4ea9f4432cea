"""Cloth that yields when it bends: curvature stays beyond that of its outermost fibres' yield."""

from __future__ import annotations

import copy
import ctypes
from pathlib import Path

import mujoco
import numpy as np
import pytest
from soft_models import Array, compile_soft

import asperity as asp
from asperity.plant.elasticity import find_elasticity
from asperity.soft.folds import fold_angle

SIDE, THICKNESS, LIMIT = 0.05, 0.01, 5e-3
# Curvature from which on a strip yields [1/m].
YIELD = 2.0 * LIMIT / THICKNESS
INTEGRATORS = {
    "icf": lambda h: asp.Icf(time_step=h),
    "cenic": lambda h: asp.Cenic(accuracy=1e-2 * h),
    "midas": lambda h: asp.Midas(time_step=h),
}
FIXED = ["icf", "midas"]

_call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def strip(
    *, poisson: float = 0.0, stretch: float = 0.0, damping: float = 1.0, step: float = 0.01
) -> mujoco.MjModel:
    """A strip of 0.4 m by 0.1 m. With so much damping it creeps to rest without swinging."""
    model = compile_soft(
        f"<flexcomp name='strip' type='grid' dim='2' count='9 3 1' spacing='{SIDE} {SIDE} {SIDE}'"
        f" mass='0.2' radius='0.002'><elasticity young='1e6' poisson='{poisson}'"
        f" thickness='{THICKNESS}' elastic2d='both' yield='{stretch} {LIMIT}' damping='{damping}'/>"
        "<contact selfcollide='none' contype='0' conaffinity='0'/></flexcomp>",
        gravity=0.0,
    )
    model.opt.timestep = step
    return model


def at_rest(model: mujoco.MjModel) -> Array:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_flex(model, data)
    return np.array(data.flexvert_xpos)


def rolled(model: mujoco.MjModel, curvature: float) -> Array:
    """Displacements that bend the strip to a cylinder about y."""
    x = at_rest(model)
    y = x.copy()
    y[:, 0] = np.sin(curvature * x[:, 0]) / curvature
    y[:, 2] = (1.0 - np.cos(curvature * x[:, 0])) / curvature
    return y - x


def curvatures(model: mujoco.MjModel, x: Array) -> Array:
    """Angles over the edges along y, by the side of a cell [1/m]."""
    rest = at_rest(model)
    found = []
    for (a, b), (c, d) in zip(model.flex_edge, model.flex_edgeflap, strict=True):
        if d < 0 or abs(rest[b, 0] - rest[a, 0]) > 1e-9:
            continue
        one, two = np.cross(x[b] - x[a], x[c] - x[a]), np.cross(x[d] - x[a], x[b] - x[a])
        one, two = one / np.linalg.norm(one), two / np.linalg.norm(two)
        found.append(2.0 * np.arcsin(0.5 * np.linalg.norm(one - two)) / SIDE)
    return np.array(found)


def let_go(integrator: asp.Integrator, curvature: float) -> asp.Simulator:
    sim = asp.Simulator(strip(), integrator=integrator)
    sim.data.qpos[:] = rolled(sim.model, curvature).ravel()
    sim.advance_to(12.0)
    return sim


def elasticity(sim: asp.Simulator) -> tuple[float, Array]:
    """Elastic energy at the state of a simulator's data, and forces on particles."""
    world = sim.session.world
    state = world.current.table
    state.qpos[:], state.plastic[:] = sim.data.qpos, sim.data.plastic
    _call(find_elasticity.address)(world.plant.table.address, state.address)
    return float(state.soft.energy), np.array(state.soft.force)


@pytest.mark.parametrize("name", INTEGRATORS)
@pytest.mark.parametrize("curvature", [1.5, -1.5, 3.0])
def test_what_stays_is_the_curvature_beyond_that_of_yield(name: str, curvature: float) -> None:
    """κ − κ_y = κ − M_y/D everywhere; what flows in the first step falls short by its length."""
    left = []
    for step in (0.01, 0.005):
        sim = let_go(INTEGRATORS[name](step), curvature)
        left.append(curvatures(sim.model, sim.data.flexvert_xpos))
    # Twice the sine of half an angle is what yields.
    sine = np.sin(0.5 * SIDE * abs(curvature)) - 0.5 * SIDE * YIELD
    expected = 2.0 * np.arcsin(sine) / SIDE
    assert left[1] == pytest.approx(expected, rel=0.02)
    if name in FIXED:
        assert 2.0 * left[1] - left[0] == pytest.approx(expected, rel=6e-3)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_below_the_limit_nothing_stays(name: str) -> None:
    sim = let_go(INTEGRATORS[name](0.01), 0.95 * YIELD)
    assert not sim.data.plastic.any()
    assert curvatures(sim.model, sim.data.flexvert_xpos).max() < 2e-5


@pytest.mark.parametrize(
    "integrator",
    [asp.Icf(time_step=0.01), asp.Midas(time_step=0.01, time_scheme="implicit-euler")],
    ids=FIXED,
)
def test_it_is_what_mujoco_finds(integrator: asp.Integrator) -> None:
    """The same strip, simulated by MuJoCo, and its own forces where ours has come to rest.

    What flows depends on the first steps, which are ones of implicit Euler in MuJoCo.
    """
    sim = let_go(integrator, 1.5)
    model = sim.model
    data = mujoco.MjData(model)
    data.qpos[:] = rolled(model, 1.5).ravel()
    while data.time < 12.0 - 1e-9:
        mujoco.mj_step(model, data)
    assert sim.data.plastic == pytest.approx(data.plastic, abs=5e-3 * np.abs(data.plastic).max())
    data = mujoco.MjData(model)
    data.qpos[:] = sim.data.qpos
    mujoco.mj_forward(model, data)
    bent = np.abs(data.qfrc_spring).max()
    data.plastic[:] = sim.data.plastic
    mujoco.mj_forward(model, data)
    assert np.abs(data.qfrc_spring).max() < 3e-2 * bent


@pytest.mark.parametrize("stretch", [0.0, 0.02])
def test_forces_are_the_gradient_of_the_energy(stretch: float) -> None:
    """At a random state that has yielded, also beside what yields by stretch."""
    model = strip(poisson=0.3, stretch=stretch)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.01))
    rng = np.random.default_rng(0)
    sim.data.qpos[:] = (rolled(model, 3.0) + 2e-3 * rng.normal(size=(27, 3))).ravel()
    sim.advance_to(0.01)
    assert np.abs(sim.data.plastic).max() > 1.0
    _, force = elasticity(sim)
    begin, move, size = sim.data.qpos.copy(), rng.normal(size=model.nv), 1e-6
    energies = []
    for sign in (1.0, -1.0):
        sim.data.qpos[:] = begin + sign * size * move
        energies.append(elasticity(sim)[0])
    slope = (energies[0] - energies[1]) / (2.0 * size)
    assert force.ravel() @ move == pytest.approx(-slope, rel=1e-5)
    x = model.body_pos[model.dof_bodyid[::3]] + begin.reshape(-1, 3)
    torque = np.abs(np.cross(x, force).sum(axis=0))
    assert torque.max() < 1e-10 * np.abs(np.cross(x, force)).sum()


@pytest.mark.parametrize("name", FIXED)
def test_what_flows_takes_energy(name: str) -> None:
    """Elastic energy, after the flow of each step, and motion together never grow."""
    model = strip(poisson=0.3, damping=1e-3, step=1e-3)
    sim = asp.Simulator(model, integrator=INTEGRATORS[name](1e-3))
    # Midas has no elastic energy to show.
    same = asp.Simulator(model, integrator=asp.Icf())
    sim.data.qpos[:] = rolled(model, 4.0).ravel()
    mass = model.body_mass[model.dof_bodyid]

    def energy() -> float:
        same.data.qpos[:], same.data.plastic[:] = sim.data.qpos, sim.data.plastic
        return elasticity(same)[0] + 0.5 * float(mass @ sim.data.qvel**2)

    total, flowed = [energy()], []
    for k in range(1, 200):
        before = sim.data.plastic.copy()
        sim.advance_to(1e-3 * k)
        flowed.append(np.abs(sim.data.plastic - before).max())
        total.append(energy())
    assert np.count_nonzero(flowed) > 1
    assert np.diff(total).max() < 1e-6 * total[0]


@pytest.mark.parametrize("name", FIXED)
def test_what_stays_bent_turns_freely(name: str) -> None:
    """A bent strip keeps its angular momentum as a flat one does, of which Midas loses 0.8 %."""
    sim = let_go(INTEGRATORS[name](0.01), 3.0)
    model = sim.model
    mass = model.body_mass[model.dof_bodyid[::3]][0]

    def places() -> Array:
        return at_rest(model) + sim.data.qpos.reshape(-1, 3)

    def momentum() -> Array:
        return np.asarray(mass * np.cross(places(), sim.data.qvel.reshape(-1, 3)).sum(axis=0))

    # Damping slows what turns and is strained.
    model.flex_damping[:] = 1e-3
    sim.change_integrator(INTEGRATORS[name](1e-3))
    lost = []
    for share in (1.0, 0.0):
        sim.data.qpos[:] *= share
        sim.data.plastic[:] *= share
        at = places()
        sim.data.qvel[:] = np.cross([2.0, 5.0, 1.0], at - at.mean(axis=0)).ravel()
        before = momentum()
        sim.advance_to(sim.time + 0.3)
        lost.append(np.abs(momentum() - before).max() / np.linalg.norm(before))
    assert lost[0] == pytest.approx(lost[1], abs=3e-4)


def test_midas_keeps_what_stays_as_a_part_of_the_state(tmp_path: Path) -> None:
    """A copy and a file go on to the same bits, and a step that fails changes nothing."""
    sim = asp.Simulator(strip(damping=1e-3), integrator=asp.Midas(time_step=1e-3))
    sim.data.qpos[:] = rolled(sim.model, 4.0).ravel()
    sim.advance_to(0.02)
    before = sim.data.plastic.copy()
    assert before.any()
    sim.save(tmp_path / "strip.asp")
    others = [copy.copy(sim), asp.Simulator.load(tmp_path / "strip.asp")]
    sim.data.qfrc_applied[0] = 1e305
    assert sim.advance_to(0.03, on_failure="return").status == asp.Status.NON_FINITE
    np.testing.assert_array_equal(sim.data.plastic, before)
    sim.data.qfrc_applied[0] = 0.0
    for one in (sim, *others):
        one.advance_to(0.04)
        np.testing.assert_array_equal(one.data.plastic, sim.data.plastic)
        np.testing.assert_array_equal(one.data.qpos, sim.data.qpos)
    assert not np.array_equal(sim.data.plastic, before)


@pytest.mark.parametrize(
    ("kind", "shape", "integrator", "message"),
    [
        ("bend", "grid' count='4 3 1", asp.Icf(), "its thickness is not in the model"),
        ("both", "box' count='3 3 3", asp.Icf(), "is curved at rest"),
        ("both", "box' count='3 3 3", asp.Midas(), "is curved at rest"),
    ],
)
def test_what_does_not_yield_by_bending_is_refused(
    kind: str, shape: str, integrator: asp.Integrator, message: str
) -> None:
    model = compile_soft(
        f"<flexcomp name='f' type='{shape}' dim='2' spacing='.1 .1 .1' mass='1' radius='.01'>"
        f"<elasticity young='1e5' poisson='.3' thickness='.02' elastic2d='{kind}' yield='0 .01'/>"
        "</flexcomp>"
    )
    with pytest.raises(asp.ModelError, match=f"'f' yields when it bends, .*{message}"):
        asp.Simulator(model, integrator=integrator)


@pytest.mark.parametrize("turn", [-2.5, -1.0, -1e-9, 0.0, 1e-9, 1.0, 2.5])
def test_an_angle_and_its_slope(turn: float) -> None:
    """2 sin of half the angle, also where the surface is flat, by complex numbers."""
    model = compile_soft(
        "<flexcomp name='cloth' type='grid' dim='2' count='3 3 1' spacing='.1 .1 .1' mass='0.2'"
        " radius='0.01'><elasticity young='1e5' poisson='.3' thickness='.02' elastic2d='both'"
        " yield='0 .01'/><contact selfcollide='none'/></flexcomp>"
    )
    table = asp.Simulator(model, integrator=asp.Icf()).session.world.plant.table.elastic
    _, b, c, d = table.fold_particle[0]
    x, work = np.zeros((9, 3), complex), np.zeros((3, 3), complex)
    x[b, 0], x[c, 1] = 0.1, 0.08
    step = 1e-30
    for number in (turn, turn + 1j * step):
        x[d, 1:] = -0.1 * np.cos(number), 0.1 * np.sin(number)
        angle = fold_angle(table, 0, x, work)
        assert angle.real == pytest.approx(2.0 * np.sin(0.5 * turn), rel=1e-13, abs=1e-30)
    assert angle.imag / step == pytest.approx(np.cos(0.5 * turn), rel=1e-13)
