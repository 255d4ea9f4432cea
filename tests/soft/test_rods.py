"""Rods at loads at which they buckle, and rods that are twisted."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from rope_models import EQUALITY, line, motion, rod, rope
from soft_models import Array, positions

import asperity as asp

ROUND = "<elasticity young='1e6' poisson='0.3'/>"
BENDING = 1e6 * np.pi * 0.005**4 / 4.0
TORSION = BENDING / 1.3


def _twist_dofs(model: mujoco.MjModel) -> Array:
    joints = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)
    return np.asarray(model.jnt_dofadr[joints])


def _energy(sim: asp.Simulator) -> float:
    """Kinetic and elastic, and that of weights."""
    mass, v = motion(sim.model, sim.data)
    turning = _twist_dofs(sim.model)
    inertia = sim.model.dof_M0[turning]
    height = positions(sim.model, sim.data)[:, 2]
    kinetic = 0.5 * (mass @ (v**2).sum(axis=1) + inertia @ sim.data.qvel[turning] ** 2)
    elastic = sim.session.world.current.table.soft.energy
    return float(kinetic + elastic - sim.model.opt.gravity[2] * (mass @ height))


@pytest.mark.parametrize(
    "integrator", [asp.Icf(time_step=0.5), asp.Midas(time_step=2.0), asp.Cenic(accuracy=1e-4)]
)
@pytest.mark.parametrize(("share", "grows"), [(0.98, False), (1.02, True)])
@pytest.mark.parametrize(("tip", "critical"), [(True, 0.25 * np.pi**2), (False, 7.8373)])
def test_columns_buckle(
    tip: bool, critical: float, share: float, grows: bool, integrator: asp.Integrator
) -> None:
    """Clamped at one end, under a force at the other one (Euler), or their weight (Greenhill)."""
    model = rod(10)
    sim = asp.Simulator(model, integrator=integrator)
    weight = np.full(10, 0.0 if tip else 0.1)
    weight[-1] = 1.0 if tip else 0.05
    sim.data.qfrc_applied[0:30:3] = -share * critical * BENDING * weight
    sim.data.qpos[2:30:3] = 1e-4 * np.linspace(0.1, 1.0, 10) ** 2
    farthest = 0.0
    for time in np.arange(1, 21) * 20.0:
        sim.advance_to(float(time))
        farthest = max(farthest, abs(sim.data.qpos[29]))
    assert farthest > 1e-2 if grows else farthest < 1e-4


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=5.0), asp.Midas(time_step=5.0)])
def test_a_moment_bends_a_rod_into_a_circle(integrator: asp.Integrator) -> None:
    """A couple M = 2π EI/L on the last edge closes it, within 1 % of L with 40 edges."""
    sim = asp.Simulator(rod(40), integrator=integrator)
    for k in range(60):
        x = sim.data.flexvert_xpos
        along = x[-1] - x[-2]
        length = np.linalg.norm(along)
        across = np.array([-along[2], 0.0, along[0]]) / length
        moment = 2.0 * np.pi * BENDING * min(1.0, (k + 1) / 30.0)
        sim.data.qfrc_applied[117:120] = moment / length * across
        sim.data.qfrc_applied[114:117] = -moment / length * across
        sim.advance_to(5.0 * (k + 1))
    assert np.linalg.norm(sim.data.flexvert_xpos[-1] - sim.data.flexvert_xpos[1]) < 1e-2


def _ring(edges: int, share: float, integrator: asp.Integrator) -> asp.Simulator:
    """A ring of 1 m of a straight rod, whose last edge lies on its first one, turned against it.

    Its ends are heavy, so that equalities hold them stiffly.
    """
    angle = 2.0 * np.pi * np.arange(edges + 2) / edges
    radius = 0.5 / edges / np.sin(np.pi / edges)
    ring = radius * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    straight = line(edges + 2, (edges + 1) / edges)
    turn = share * 2.0 * np.pi * np.sqrt(3.0) * BENDING / TORSION
    held = (0, 1, edges, edges + 1)
    ties = "".join(f"<connect body1='rope_{v}' anchor='0 0 0'/>" for v in held)
    model = rope(
        straight,
        ROUND,
        gravity=0.0,
        sections=f"<equality>{ties}<joint joint1='rope_twist_0'/>"
        f"<joint joint1='rope_twist' polycoef='{turn} 0 0 0 0'/></equality>",
    )
    for name in (*(f"rope_{v}" for v in held), "rope_twist_0", "rope_twist"):
        model.body_mass[model.body(name).id] *= 1e4
        model.body_inertia[model.body(name).id] *= 1e4
    mujoco.mj_setConst(model, mujoco.MjData(model))
    model.eq_data[:4, 3:6] = ring[list(held)]
    sim = asp.Simulator(model, integrator=integrator)
    bent = ring - straight
    bent[:, 2] = 1e-4 * np.cos(2.0 * angle) * (1.0 - np.cos(angle))
    sim.data.qpos[: bent.size] = bent.ravel()
    sim.data.qpos[bent.size :] = turn * np.linspace(0.0, 1.0, edges + 1)
    return sim


def _warp(sim: asp.Simulator) -> float:
    """How far a ring is from a plane: it may lean, as its round section may turn."""
    x = sim.data.flexvert_xpos
    plane = np.stack([np.ones(len(x)), x[:, 0], x[:, 1]], axis=1)
    return float(np.ptp(x[:, 2] - plane @ np.linalg.lstsq(plane, x[:, 2], rcond=None)[0]))


@pytest.mark.parametrize(
    "integrator",
    [
        asp.Icf(time_step=0.05),
        asp.Cenic(accuracy=1e-4),
        # Without damping a ring that does not buckle would go on swinging.
        asp.Midas(time_step=0.2, time_scheme="implicit-euler"),
    ],
    ids=["icf", "cenic", "midas"],
)
@pytest.mark.parametrize(("share", "grows"), [(0.98, False), (1.02, True)])
def test_a_twisted_ring_buckles(share: float, grows: bool, integrator: asp.Integrator) -> None:
    """At 2π √3 EI/GJ (J. H. Michell, 1889). The error falls as 3.4/n² with n edges."""
    sim = _ring(60, share, integrator)
    warp = []
    for time in np.arange(1, 9) * 2.5:
        sim.advance_to(float(time))
        warp.append(_warp(sim))
    before, after = max(warp[2:4]), max(warp[6:])
    assert (after > 1.5 * before) == grows
    assert (after < before / 1.5) != grows


def test_forces_of_twist_are_mujocos() -> None:
    """Of a free rod with springs along its edges, bent in a plane and twisted.

    Out of planes twist is measured differently, by `test_twist_follows_edges_that_move`.
    """
    young = "<elasticity young='1e7' poisson='0.3'/><edge stiffness='30'/>"
    model = rope(line(6, 0.5), young, gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-7))
    moved = np.random.default_rng(0).normal(scale=0.03, size=model.nq)
    moved[1:18:3], moved[18:] = 0.0, 30.0 * moved[18:]
    sim.data.qpos[:] = moved
    other = mujoco.MjData(model)
    other.qpos[:] = moved
    mujoco.mj_forward(model, other)
    sim.advance_to(1e-7)
    force = model.dof_M0 * sim.data.qvel / 1e-7
    across = np.arange(18) % 3 == 1
    for part in (np.flatnonzero(across), np.flatnonzero(~across), np.arange(18, model.nv)):
        scale = np.abs(other.qfrc_spring[part]).max()
        assert scale > 1e-3
        assert np.abs(force - other.qfrc_spring)[part].max() < 1e-5 * scale


@pytest.mark.parametrize("kind", [asp.Icf, asp.Midas])
def test_twist_follows_edges_that_move(kind: type[asp.Icf | asp.Midas]) -> None:
    """An edge that is led around without turning about itself twists its bends by the solid angle.

    The middle one of three goes around a cone of the angle a, which is 2π (1 − cos a), the others
    stay. The second bend is twisted the other way.
    """
    model = rope(line(4, 0.3), ROUND, gravity=0.0)
    model.body_mass[:] *= 1e9
    model.body_inertia[:] *= 1e9
    step, angle = 1e-6, 0.4
    sim = asp.Simulator(model, integrator=kind(time_step=step))
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    cone = [np.full(200, np.cos(angle)), np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn)]
    along = np.array([[1.0], [0.0], [0.0]])
    path = np.hstack([along, cone, along]).T
    for k, move in enumerate(0.1 * np.diff(path, axis=0)):
        sim.data.qvel[:] = 0.0
        sim.data.qvel[6:9] = sim.data.qvel[9:12] = move / step
        sim.advance_to(step * (k + 1))
    assert sim.data.flexvert_xpos == pytest.approx(line(4, 0.3), abs=1e-7)
    area = 2.0 * np.pi * (1.0 - np.cos(angle))
    assert sim.data.qpos[12:] == pytest.approx([0.0, area, 0.0], rel=1e-3, abs=1e-6)
    # Along the rod it has not turned about itself.
    assert np.abs(sim.data.qvel[12:]).max() < 0.1
    if kind is asp.Icf:
        sim.data.qvel[:] = 0.0
        sim.advance_to(sim.data.time + step)
        twist = sim.session.world.current.table.soft.torque
        twist = twist / sim.session.plant.table.elastic.twist_stiffness
        assert twist == pytest.approx([area, -area], rel=1e-3)


@pytest.mark.parametrize(("inner", "spin"), [("", 0.0), (EQUALITY, 0.0), ("", 60.0)])
def test_energy_does_not_grow(inner: str, spin: float) -> None:
    """Of a free rod that turns, bends and is twisted by a turn, and converges to what it was.

    With the spin it turns over twice, so that edges point against where they did at rest.
    """
    losses = []
    for accuracy in (1e-3, 1e-4, 1e-5):
        model = rope(line(11, 0.5), ROUND.replace("1e6", "1e7") + inner, gravity=0.0)
        sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
        s = line(11, 0.5)[:, 0] - 0.25
        kick = np.stack([0.1 + 0.0 * s, np.sin(6.0 * s), (2.0 + spin) * s + np.cos(12.0 * s)], 1)
        sim.data.qvel[:33] = kick.ravel()
        sim.data.qpos[33:] = 3.0 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, 10)))
        sim.advance_to(1e-9)
        begin, most = _energy(sim), 0.0
        for time in np.arange(1, 11) / 50.0:
            sim.advance_to(float(time))
            most = max(most, _energy(sim) / begin - 1.0)
        assert most < 1e-3
        losses.append(1.0 - _energy(sim) / begin)
    assert losses[2] < 0.02
    assert losses[2] < 0.2 * losses[1]


@pytest.mark.parametrize("on_body", [False, True], ids=["joint", "body"])
@pytest.mark.parametrize("kind", [asp.Icf, asp.Midas])
def test_a_clamped_rod_twists_by_its_torque(kind: type[asp.Icf | asp.Midas], on_body: bool) -> None:
    """M L/GJ at the last edge, of which the clamp is half an edge away."""
    model = rod(20)
    dofs = _twist_dofs(model)
    sim = asp.Simulator(model, integrator=kind(time_step=1.0))
    if on_body:
        sim.data.xfrc_applied[model.dof_bodyid[dofs[-1]], 3] = TORSION
    else:
        sim.data.qfrc_applied[dofs[-1]] = TORSION
    sim.advance_to(50.0)
    expected = (np.arange(20) + 0.5) / 20.0
    assert sim.data.qpos[dofs] == pytest.approx(expected, rel=1e-6)
    assert np.abs(sim.data.flexvert_xpos[:, 1:]).max() < 1e-9


def test_twisted_rod_swings_with_its_frequency() -> None:
    """√(G/ρ)/4L of a rod that is clamped at one end, by the inertia that MuJoCo gives edges."""
    model = rod(20)
    dofs = _twist_dofs(model)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-7))
    s = (np.arange(20) + 0.5) / 20.0
    sim.data.qpos[dofs] = 0.01 * np.sin(0.5 * np.pi * s)
    inertia = model.dof_M0[dofs[0]] * 20.0
    period = 4.0 * np.sqrt(inertia / TORSION)
    sim.advance_to(0.25 * period)
    assert np.abs(sim.data.qpos[dofs]).max() < 1e-4
    sim.advance_to(0.5 * period)
    assert sim.data.qpos[dofs[-1]] == pytest.approx(-0.01, rel=5e-3)


@pytest.mark.parametrize("kind", [asp.Icf, asp.Midas])
def test_both_ends_clamped(kind: type[asp.Icf | asp.Midas]) -> None:
    """A torque in the middle is shared; without joints at fixed ends, the ends do not turn."""
    model = rope(line(13, 1.2) - [0.1, 0.0, 0.0], ROUND + "<pin id='0 1 11 12'/>", gravity=0.0)
    dofs = _twist_dofs(model)
    assert len(dofs) == 10
    sim = asp.Simulator(model, integrator=kind(time_step=1.0))
    sim.data.qfrc_applied[dofs[4:6]] = 0.5 * TORSION
    sim.advance_to(50.0)
    ends = np.concatenate([np.arange(5), np.arange(5)[::-1]])
    assert sim.data.qpos[dofs] == pytest.approx(0.5 * (ends + 0.5) / 10.0, rel=1e-5)


def test_midas_agrees_with_icf_on_a_rod_that_bends_and_twists() -> None:
    """The difference falls with the step of Midas, and extrapolated it is gone.

    Angles are of second order; of positions there is a little of first order, from the edges'
    inertia about themselves.
    """
    model = rope(line(11, 0.5), ROUND.replace("1e6", "1e7"), gravity=0.0)
    s = line(11, 0.5)[:, 0] - 0.25
    kick = np.stack([0.0 * s, np.sin(6.0 * s), 2.0 * s + np.cos(12.0 * s)], axis=1)

    def at_end(integrator: asp.Integrator, twist: float = 5.0) -> Array:
        sim = asp.Simulator(model, integrator=integrator)
        sim.data.qvel[:33] = kick.ravel()
        sim.data.qpos[33:] = twist * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, 10)))
        sim.advance_to(0.05)
        return sim.data.qpos.copy()

    truth = at_end(asp.Cenic(accuracy=1e-8))
    effect = np.abs(at_end(asp.Cenic(accuracy=1e-8), 0.0) - truth)
    found = [at_end(asp.Midas(time_step=step)) for step in (1e-4, 5e-5, 2.5e-5)]
    for part, order, left in ((slice(33), 1, 0.01), (slice(33, None), 2, 1e-3)):
        apart = [np.abs(one - truth)[part].max() for one in found]
        assert apart[1] < 1.3 * 0.5**order * apart[0]
        assert apart[2] < 1.3 * 0.5**order * apart[1]
        extrapolated = found[2] + (found[2] - found[1]) / (2.0**order - 1.0)
        assert np.abs(extrapolated - truth)[part].max() < left * effect[part].max()


def test_midas_gives_a_twisted_rod_no_energy() -> None:
    """Of a free rod that turns over, bends and is twisted; its momenta stay.

    What the scheme does not let grow is a norm of two states. The energy of one swings about that,
    by the square of the step.
    """
    model = rope(line(11, 0.5), ROUND.replace("1e6", "1e7"), gravity=0.0)
    s = line(11, 0.5)[:, 0] - 0.25
    kick = np.stack([0.1 + 0.0 * s, np.sin(6.0 * s), 30.0 * s + np.cos(12.0 * s)], axis=1)
    other = asp.Simulator(model, integrator=asp.Icf(time_step=1e-12))
    rises = []
    for step in (1e-3, 5e-4):
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
        sim.data.qvel[:33] = kick.ravel()
        sim.data.qpos[33:] = 3.0 * (1.0 - np.cos(np.pi * np.linspace(0.0, 1.0, 10)))
        mass, v = motion(model, sim.data)
        momentum, found = mass @ v, []
        for time in np.arange(201) * 1e-3:
            sim.advance_to(float(time))
            # Midas does not evaluate energies.
            other.data.qpos[:], other.data.qvel[:] = sim.data.qpos, sim.data.qvel
            other.advance_to(other.time + 1e-12)
            found.append(_energy(other))
        energy = np.array(found) / found[0]
        rises.append((energy - np.minimum.accumulate(energy)).max())
        assert energy.max() <= 1.0
        assert energy[-1] > 0.98
        mass, v = motion(model, sim.data)
        assert np.abs(mass @ v - momentum).max() < 1e-6 * np.abs(momentum).max()
    assert rises[1] < 0.4 * rises[0] < 1e-3


@pytest.mark.parametrize("kind", [asp.Icf, asp.Midas])
def test_the_state_is_in_positions(kind: type[asp.Icf | asp.Midas]) -> None:
    """A rod that has moved goes on as another one does that begins there.

    A step of second order begins there with a past that it invents, as exactly as it is itself.
    """
    model = rope(line(7, 0.5), ROUND, gravity=0.0)
    apart = []
    for step in (1e-3, 5e-4, 2.5e-4):
        whole = asp.Simulator(model, integrator=kind(time_step=step))
        whole.data.qvel[:21] = np.random.default_rng(1).normal(size=21)
        whole.data.qpos[21:] = np.linspace(0.0, 3.0, 6)
        whole.advance_to(0.1)
        other = asp.Simulator(model, integrator=kind(time_step=step))
        other.data.qpos[:], other.data.qvel[:] = whole.data.qpos, whole.data.qvel
        whole.advance_to(0.2)
        other.advance_to(0.1)
        apart.append(np.abs(whole.data.qpos - other.data.qpos).max())
    # The tension of edges is what is not in the positions.
    assert apart[1] < max(0.35 * apart[0], 1e-4)
    assert apart[2] < max(0.35 * apart[1], 1e-4)
    assert apart[2] < 5e-4
    # `Icf` needs no past.
    assert kind is asp.Midas or max(apart) < 1e-4
