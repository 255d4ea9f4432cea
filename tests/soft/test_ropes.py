"""Ropes and rods: closed forms at rest and in motion, contact, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from rope_models import EQUALITY, arc, capstan, lengths, line, motion, rod, rope, sliding_ratio
from scipy.integrate import solve_bvp
from scipy.optimize import brentq
from scipy.special import j0, j1
from soft_models import Array, positions

import asperity as asp
from asperity.plant import native

BOTH = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-4))
BENDING = "<elasticity young='1e7' poisson='0.3'/>"


def test_forces_are_mujocos() -> None:
    """Edges with springs and bends of a free rod far from rest, by the first moment's motion."""
    model = rope(line(6, 0.5), BENDING + "<edge stiffness='30'/>", gravity=0.0)
    model.flex_bending[9::10] = 0.0  # without twist, which `test_rods` compares
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-7))
    moved = np.random.default_rng(0).normal(scale=0.03, size=18)
    sim.data.qpos[:18] = moved
    other = mujoco.MjData(model)
    other.qpos[:18] = moved
    mujoco.mj_forward(model, other)
    sim.advance_to(1e-7)
    force = np.repeat(model.body_mass[model.flex_vertbodyid], 3) * sim.data.qvel[:18] / 1e-7
    assert np.abs(force - other.qfrc_spring[:18]).max() < 1e-5 * np.abs(force).max()


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=0.1), asp.Midas(time_step=0.1)])
@pytest.mark.parametrize("inner", [EQUALITY, "<edge stiffness='4e5'/>"])
def test_hanging_rope_is_a_catenary(inner: str, integrator: asp.Integrator) -> None:
    span, length = 1.0, 1.5
    scale = brentq(lambda a: 2.0 * a * np.sinh(0.5 * span / a) - length, 0.05, 10.0)
    model = rope(arc(41, span, length), inner + "<pin id='0 40'/>")
    # Shorter steps would let it swing for longer.
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(10.0)
    x = sim.data.flexvert_xpos
    expected = scale * (np.cosh((x[:, 0] - 0.5 * span) / scale) - np.cosh(0.5 * span / scale))
    sag = scale * (np.cosh(0.5 * span / scale) - 1.0)
    assert np.abs(x[:, 2] - expected).max() < 5e-3 * sag


def test_an_equality_carries_what_hangs_on_it() -> None:
    """In the rows where MuJoCo has them: from the first edge on ever less."""
    model = rope(line(6, 0.5)[:, ::-1] * [1.0, 1.0, -1.0], EQUALITY + "<pin id='0'/>")
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.advance_to(0.1)
    below = 9.81 * np.cumsum(model.body_mass[model.flex_vertbodyid[:0:-1]])[::-1]
    rows = sim.data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    assert -sim.data.efc_force[rows] == pytest.approx(below, rel=1e-5)


def _elastica(load: float, *, tip: bool) -> float:
    """Tip deflection of a cantilever of length and rigidity 1, by continuation in the load."""
    s, y = np.linspace(0.0, 1.0, 50), np.zeros((3, 50))
    for part in np.linspace(0.0, load, 4 + int(load) // 4)[1:]:

        def slope(s: Array, y: Array, load: float = float(part)) -> Array:
            moment = load * np.cos(y[0]) * (1.0 if tip else 1.0 - s)
            return np.array([y[1], -moment, np.sin(y[0])])

        solution = solve_bvp(slope, lambda a, b: np.array([a[0], b[1], a[2]]), s, y, tol=1e-7)
        s, y = solution.x, solution.y
    return float(abs(y[2, -1]))


@pytest.mark.parametrize(
    "integrator",
    # It comes to rest by the scheme's damping alone.
    [asp.Icf(time_step=5.0), asp.Midas(time_step=5.0, time_scheme="implicit-euler")],
)
@pytest.mark.parametrize(
    ("load", "tip", "expected"),
    [
        (1.0, False, 0.1235),
        (10.0, False, 0.7002),
        (100.0, False, 0.9375),
        (1.0, True, 0.3017),
        (2.0, True, 0.4935),
        (10.0, True, 0.8106),
    ],
)
def test_rod_bends_as_the_elastica(
    load: float, tip: bool, expected: float, integrator: asp.Integrator
) -> None:
    """With 20 edges, under its weight Γ = ρ g A L³/EI or a force F L²/EI at its tip."""
    model = rod(20)
    sim = asp.Simulator(model, integrator=integrator)
    share = np.full(20, 0.0 if tip else 1.0 / 20)
    share[-1] = 1.0 if tip else 0.5 / 20
    sim.data.qfrc_applied[2:60:3] = -load * 1e6 * np.pi * 0.005**4 / 4.0 * share
    sim.advance_to(300.0)
    drop = -sim.data.flexvert_xpos[-1, 2]
    assert _elastica(load, tip=tip) == pytest.approx(expected, abs=1e-4)
    assert drop == pytest.approx(_elastica(load, tip=tip), rel=3e-3)


def _frequency(sim: asp.Simulator, dof: int, guess: float) -> float:
    """Of a coordinate's changes of sign, in three periods."""
    times = np.arange(1, 241) / (80.0 * guess)
    heights = []
    for time in times:
        sim.advance_to(float(time))
        heights.append(sim.data.qpos[dof])
    height = np.array(heights)
    at = np.flatnonzero(height[:-1] * height[1:] < 0.0)
    share = height[at] / (height[at] - height[at + 1])
    zeros = times[at] + share * (times[at + 1] - times[at])
    return float(0.5 / np.diff(zeros).mean())


@pytest.mark.parametrize(
    "integrator", [*BOTH, asp.Midas(time_step=2e-4)], ids=("icf", "cenic", "midas")
)
@pytest.mark.parametrize("axial", [1e3, 1e6])
def test_taut_string_vibrates(integrator: asp.Integrator, axial: float) -> None:
    """f = √(T/ρA)/2L, which is 7.9 to 16 vibrations of the string's edges in a step."""
    tension, mass, edge = 20.0, 0.02, 1.0 / 40
    model = rope(
        line(41, 1.0),
        f"<edge stiffness='{axial / edge}'/><pin id='0 40'/>",
        mass=mass * 41 / 40,
        gravity=0.0,
    )
    model.flexedge_length0[:] = edge * (1.0 - tension / axial)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qpos[2::3] = 2e-4 * np.sin(np.pi * line(41, 1.0)[1:-1, 0])
    expected = 0.5 * np.sqrt(tension / mass)
    assert _frequency(sim, 3 * 19 + 2, expected) == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("inner", ["", EQUALITY])
def test_rod_swings_with_its_frequency(inner: str) -> None:
    """1.8751² √(EI/ρAL⁴)/2π, of a rod whose edges stretch as its modulus says or not at all."""
    model = rod(20, inner, young=1e9, mass=0.08)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-5))
    first, s = 1.8751040687, np.arange(1, 21) / 20
    ratio = (np.cosh(first) + np.cos(first)) / (np.sinh(first) + np.sin(first))
    shape = np.cosh(first * s) - np.cos(first * s)
    shape -= ratio * (np.sinh(first * s) - np.sin(first * s))
    sim.data.qvel[2:60:3] = 0.01 * shape
    expected = first**2 / (2.0 * np.pi) * np.sqrt(1e9 * np.pi * 0.005**4 / 4.0 / 0.08)
    assert _frequency(sim, 59, expected) == pytest.approx(expected, rel=3e-3)


@pytest.mark.parametrize("inner", [EQUALITY, "<edge stiffness='2e5'/>", BENDING])
def test_free_rope_keeps_momentum_and_energy(inner: str) -> None:
    model = rope(line(21, 1.0), inner, gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-5))
    s = line(21, 1.0)[:, 0] - 0.5
    velocity = np.stack([0.1 + 0.0 * s, np.sin(np.pi * s), 2.0 * s + np.cos(2.0 * np.pi * s)], 1)
    sim.data.qvel[:63] = velocity.ravel()

    def now() -> tuple[Array, Array, float]:
        mass, v = motion(model, sim.data)
        x = positions(model, sim.data)
        turning = (mass[:, None] * np.cross(x, v)).sum(axis=0)
        return mass @ v, turning, 0.5 * float(mass @ (v**2).sum(axis=1))

    before = now()
    sim.advance_to(0.5)
    after = now()
    assert np.abs(after[0] - before[0]).max() < 1e-11
    assert np.abs(after[1] - before[1]).max() < 1e-4 * np.linalg.norm(before[1])
    # A rod has energy of bending as well.
    if inner != BENDING:
        assert after[2] == pytest.approx(before[2], rel=1e-3)


@pytest.mark.parametrize(("edges", "accuracy"), [(50, 1e-5), (10, 1e-6)])
def test_a_cable_that_hangs_by_an_equality_keeps_its_energy(edges: int, accuracy: float) -> None:
    """It swings in Bernoulli's first mode, J_0(j √(1 − s)), whose energy is M g (j A J_1(j))²/4L."""
    down = line(edges + 1, 1.0)[:, ::-1] * -1.0
    tie = "<equality><connect body1='rope_0' anchor='0 0 0'/></equality>"
    model = rope(down, BENDING, mass=0.0126, radius=0.002, sections=tie)
    model.body_mass[model.flex_vertbodyid[[0, -1]]] *= 0.5
    mujoco.mj_setConst(model, mujoco.MjData(model))
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
    first, width = 2.404825557695773, 0.02
    sim.data.qpos[0 : 3 * edges + 3 : 3] = width * j0(first * np.sqrt(1.0 + down[:, 2]))
    mass = motion(model, sim.data)[0]
    # Weights have stretched the edges, and what moves aside moves up.
    below = 9.81 * np.cumsum(mass[:0:-1])[::-1]
    side = np.diff(sim.data.qpos[0 : 3 * edges + 3 : 3])
    length = (1.0 + below / (1e7 * np.pi * 0.002**2)) / edges
    sim.data.qpos[5 : 3 * edges + 3 : 3] = np.cumsum(1.0 / edges - np.sqrt(length**2 - side**2))

    def energy() -> float:
        mujoco.mj_forward(model, sim.data)
        mujoco.mj_energyPos(model, sim.data)
        mujoco.mj_energyVel(model, sim.data)
        return float(sim.data.energy.sum())

    sim.advance_to(0.25)  # until the equality has given way
    begin = energy()
    sim.advance_to(3.25)
    swing = 0.0126 * 9.81 * (first * width * j1(first)) ** 2 / 4.0
    assert abs(energy() - begin) < 0.01 * swing


def test_energy_does_not_grow_in_long_steps() -> None:
    """Of a free rope that turns and bends, and of one that swings, at a coarse accuracy."""
    free = rope(line(21, 1.0), EQUALITY, gravity=0.0)
    swings = rope(line(21, 1.0), EQUALITY + "<pin id='0'/>", mass=0.2)
    s = line(21, 1.0)[:, 0] - 0.5
    kick = np.stack([0.1 + 0.0 * s, np.sin(np.pi * s), 2.0 * s + np.cos(2.0 * np.pi * s)], 1)
    for model, start in ((free, kick.ravel()), (swings, np.zeros(60))):
        sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3, velocity_weight=0.0))
        sim.data.qvel[: len(start)] = start

        def energy(model: mujoco.MjModel = model, sim: asp.Simulator = sim) -> float:
            mass, v = motion(model, sim.data)
            height = positions(model, sim.data)[:, 2]
            return float(mass @ (0.5 * (v**2).sum(axis=1) - model.opt.gravity[2] * height))

        scale = energy() if start.any() else 0.2 * 9.81 * 0.5
        begin = energy()
        changes = []
        for time in np.arange(1, 9) / 4.0:
            sim.advance_to(float(time))
            changes.append((energy() - begin) / scale)
        assert max(changes) < 1.5e-2
        assert min(changes) > -6e-2
        assert sim.stats.steps < 250


def test_steps_do_not_depend_on_stiffness() -> None:
    """Of a rope that falls from the horizontal and swings; one that gives way takes no more."""
    counts = []
    for axial in (1e2, 1e3, 1e4, 1e5, 1e6, 0.0):
        inner = f"<edge stiffness='{axial / 0.05}'/>" if axial else EQUALITY
        sim = asp.Simulator(
            rope(line(21, 1.0), inner + "<pin id='0'/>", mass=0.2), integrator=asp.Cenic()
        )
        sim.advance_to(0.5)
        counts.append(sim.stats.steps)
    assert counts[0] <= min(counts[1:])
    assert max(counts) <= 1.4 * min(counts[1:])


@pytest.mark.parametrize("inner", [EQUALITY, "<edge stiffness='2e5'/>"])
def test_error_control_and_fixed_steps_agree(inner: str) -> None:
    """On a rope that swings; errors of Cenic follow the accuracy."""

    def tip(integrator: asp.Icf | asp.Cenic) -> Array:
        sim = asp.Simulator(
            rope(line(21, 1.0), inner + "<pin id='0'/>", mass=0.2), integrator=integrator
        )
        sim.advance_to(0.5)
        assert np.sqrt(np.mean((lengths(sim.model, sim.data) - 1.0) ** 2)) * 0.05 < 5e-4
        return np.array(sim.data.flexvert_xpos[-1])

    fine, finer = tip(asp.Icf(time_step=2e-4)), tip(asp.Icf(time_step=1e-4))
    truth = 2.0 * finer - fine
    assert np.linalg.norm(tip(asp.Cenic(accuracy=1e-3)) - truth) < 2e-2
    assert np.linalg.norm(tip(asp.Cenic(accuracy=1e-4)) - truth) < 3e-3
    assert np.linalg.norm(tip(asp.Cenic(accuracy=1e-5)) - truth) < 5e-4


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
def test_rope_rests_on_the_floor(integrator: asp.Icf | asp.Cenic) -> None:
    contact = "<contact selfcollide='none'/>"
    floor = "<geom type='plane' size='2 2 0.1'/>"
    points = line(11, 0.5) + np.array([0.0, 0.0, 0.03])
    model = rope(points, EQUALITY, mass=0.2, radius=0.01, contact=contact, world=floor)
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.5)
    assert np.abs(sim.data.qvel).max() < 1e-4
    assert sim.contacts.normal_force.sum() == pytest.approx(0.2 * 9.81, rel=1e-3)
    assert sorted(sim.contacts.vert[:, 1]) == list(range(11))
    assert sim.data.flexvert_xpos[:, 2] == pytest.approx(0.01, abs=1e-4)


def test_rope_lies_across_itself() -> None:
    """Two strands that cross, one above the other, are two radii apart, and rest."""
    turn = np.linspace(0.0, np.pi, 7)[1:-1]
    low = line(12, 0.33) + np.array([0.0, 0.0, 0.01])
    bow = np.stack([0.33 + 0.05 * np.sin(turn), 0.0 * turn, 0.06 - 0.05 * np.cos(turn)], axis=1)
    back = line(14, 0.39)[:, [0]] * [-1.0, 0.66, 0.0] + [0.30, -0.1, 0.11]
    model = rope(
        np.concatenate([low, bow, back]),
        EQUALITY,
        radius=0.01,
        contact="<contact selfcollide='auto' friction='0.5'/>",
        world="<geom type='plane' size='2 2 0.1'/>",
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    sim.advance_to(1.0)
    own = np.all(sim.contacts.flex == 0, axis=1)
    assert np.any(own)
    assert sim.contacts.normal_force[~own].sum() == pytest.approx(0.981, rel=1e-3)
    assert 0.029 < sim.data.flexvert_xpos[:, 2].max() < 0.04


@pytest.mark.parametrize("step", [5e-4, 5e-3, 1e-2])
def test_capstan(step: float) -> None:
    """A rope over a cylinder holds T_2 up to e^(μπ) T_1 = 2.566 T_1, and slides beyond it."""
    for share, slides in ((0.98, False), (1.02, True)):
        sim = asp.Simulator(
            capstan(share * np.exp(0.3 * np.pi), 0.3), integrator=asp.Icf(time_step=step)
        )
        # Masses swing on the rope first, whose equality is softer in longer steps.
        sim.advance_to(1.25)
        speed = np.abs(sim.data.qvel[-2:])
        assert np.all(speed > 0.05) if slides else np.all(speed < 1e-3)


@pytest.mark.parametrize("share", [0.9, 0.95, 0.98, 1.02])
def test_capstan_with_error_control(share: float) -> None:
    """Beyond e^(μπ) T_1 the masses slide; below they creep by a twentieth of that at most.

    By how much within 1 to 5 mm/s round-off decides.
    """
    sim = asp.Simulator(
        capstan(share * np.exp(0.3 * np.pi), 0.3), integrator=asp.Cenic(accuracy=1e-4)
    )
    sim.advance_to(1.25)
    before = sim.data.qpos[-2:].copy()
    sim.advance_to(1.75)
    rise, fall = (sim.data.qpos[-2:] - before) / 0.5
    slide = 0.5 * (rise - fall)
    assert slide > 0.1 if share > 1.0 else 0.0 <= slide < 5e-3


def test_capstan_slides_by_its_ratio_in_fixed_steps() -> None:
    assert sliding_ratio(0.3, asp.Icf(time_step=5e-4)) == pytest.approx(
        np.exp(0.3 * np.pi), rel=2e-2
    )


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4])
def test_capstan_slides_by_its_ratio(accuracy: float) -> None:
    """Single runs scatter by half a percent, so the median of five accuracies counts."""
    found = [
        sliding_ratio(0.3, asp.Cenic(accuracy=share * accuracy))
        for share in (0.84, 0.92, 1.0, 1.09, 1.19)
    ]
    assert np.median(found) == pytest.approx(np.exp(0.3 * np.pi), rel=2e-2)


def test_checkpoints_change_nothing(tmp_path: Path) -> None:
    model = rope(line(11, 0.5), EQUALITY + "<pin id='0'/>")
    whole = asp.Simulator(model, integrator=asp.Cenic())
    whole.advance_to(0.1)
    again = asp.Simulator.load(whole.save(tmp_path / "half"))
    for sim in (whole, again):
        sim.advance_to(0.3)
    assert np.array_equal(whole.data.qpos, again.data.qpos)


def test_nothing_depends_on_what_memory_held_before() -> None:
    """MuJoCo's estimates of J M⁻¹ Jᵀ of edges are not there yet when rows are made."""
    model = rope(line(11, 0.5), EQUALITY + "<pin id='0'/>")
    ends = []
    for estimate in (0.0, 1e6):
        sim = asp.Simulator(model, integrator=asp.Cenic())
        sim.advance_to(0.02)
        world = sim.session.world
        offset = world.plant.table.offsets.efc_weight_offset
        for state in world.evaluated_states:
            there = native.memory(int(native.memory(state.data._address + offset, 1)[0]), 10)
            there.view(np.float64)[:] = estimate
        sim.advance_to(0.05)
        ends.append(sim.data.qpos.copy())
    assert np.array_equal(*ends)


def test_a_new_stiffness_is_noticed() -> None:
    model = rope(line(3, 0.2)[:, ::-1], "<edge stiffness='100'/><pin id='2'/>")
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1.0))
    sim.advance_to(50.0)
    before = sim.data.qpos[2]
    model.flex_edgestiffness[:] *= 2.0
    sim.advance_to(100.0)
    assert sim.data.qpos[2] == pytest.approx(0.5 * before, rel=1e-3)


def test_notes_say_what_is_approximated() -> None:
    notes = asp.Simulator(rod(5), integrator=asp.Icf()).load_report.notes
    for word in ("same mass", "EA of a round section"):
        assert any(word in note for note in notes)


CIRCLE = "<flexcomp name='f' type='circle' dim='1' count='8 1 1' spacing='.1 .1 .1' radius='.005'>"
BOX = "<elasticity young='1e6' section='box' sectionsize='0.01 0.005'/>"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rope(arc(5, 0.3, 0.4), BENDING), "closed or curved at rest"),
        (lambda: rope(line(5, 0.4), BOX), "stiffer in one direction"),
        (
            lambda: mujoco.MjModel.from_xml_string(
                "<mujoco><option integrator='discrete'/><worldbody>"
                f"{CIRCLE}<elasticity young='1e6'/></flexcomp></worldbody></mujoco>"
            ),
            "closed or curved at rest",
        ),
    ],
)
def test_ropes_that_are_not_simulated(make: Callable[[], mujoco.MjModel], message: str) -> None:
    with pytest.raises(asp.ModelError, match=message):
        asp.Simulator(make(), integrator=asp.Icf())
