"""Many bodies that tumble into each other: what a step balances, and how much work it takes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

GRAVITY = 9.81
STEP = 5e-3


def _tumbling_pile(count: int, seed: int = 3) -> str:
    """Boxes, balls and capsules, a third each, that fall into a narrow bin."""
    rng = np.random.default_rng(seed)
    walls = "".join(
        f'<geom type="box" pos="{x} {y} 1" size="{sx} {sy} 1"/>'
        for x, y, sx, sy in (
            (0.25, 0, 0.05, 0.3),
            (-0.25, 0, 0.05, 0.3),
            (0, 0.25, 0.3, 0.05),
            (0, -0.25, 0.3, 0.05),
        )
    )
    bodies = []
    for i in range(count):
        a, b, c = rng.uniform(0.025, 0.035, 3)
        shape = (
            f'type="box" size="{a} {b} {c}"',
            f'type="sphere" size="{a}"',
            f'type="capsule" size="{0.6 * a} {0.6 * b}"',
        )[i % 3]
        place = 0.13 * np.array([i % 3 - 1, i // 3 % 3 - 1, i // 9]) + [0, 0, 0.12]
        turn = " ".join(f"{part}" for part in rng.normal(size=4))
        position = " ".join(f"{part}" for part in place)
        bodies.append(
            f'<body pos="{position}" quat="{turn}"><freejoint/>'
            f'<geom {shape} density="1000"/></body>'
        )
    return (
        '<mujoco><worldbody><geom type="plane" size="5 5 1"/>'
        f"{walls}{''.join(bodies)}</worldbody></mujoco>"
    )


def _inertia(data: mujoco.MjData, model: mujoco.MjModel, body: int) -> np.ndarray:
    axes = data.ximat[body].reshape(3, 3)
    return np.asarray(axes @ np.diag(model.body_inertia[body]) @ axes.T)


def test_gyroscopic_forces_are_those_of_the_middle_of_a_step() -> None:
    # Contact forces tell what has turned the bodies: the rest is −ω̄ × I ω̄ at the mean velocity.
    integrator = asp.Icf(time_step=STEP, tolerance=1e-13, resolve_impacts=False)
    sim = asp.Simulator(_tumbling_pile(27), integrator=integrator)
    model = sim.model
    farthest = 0.0
    for step in range(40, 80):
        sim.advance_to(step * STEP)
        before = mujoco.MjData(model)
        before.qpos[:], before.qvel[:] = sim.data.qpos, sim.data.qvel
        mujoco.mj_forward(model, before)
        sim.advance_to((step + 1) * STEP)
        contacts = sim.contacts
        torque = np.zeros((model.nbody, 3))
        for pair, point, force in zip(contacts.geom, contacts.point, contacts.force, strict=True):
            for geom, sign in zip(pair, (-1.0, 1.0), strict=True):
                body = model.geom_bodyid[geom]
                torque[body] += np.cross(point - before.xipos[body], sign * force)
        for body in range(1, model.nbody):
            axes = before.xmat[body].reshape(3, 3)
            first = model.body_dofadr[body] + 3
            start = axes @ before.qvel[first : first + 3]
            end = axes @ sim.data.qvel[first : first + 3]
            inertia = _inertia(before, model, body)
            mean = 0.5 * (start + end)
            farthest = max(farthest, STEP * float(np.linalg.norm(mean)))
            gained = inertia @ (end - start)
            expected = STEP * (torque[body] - np.cross(mean, inertia @ mean))
            scale = np.linalg.norm(inertia @ start) + np.linalg.norm(STEP * torque[body])
            assert np.linalg.norm(gained - expected) <= 1e-6 * scale + 1e-12, (step, body)
    assert farthest > 0.1  # They do turn.


def test_a_dense_pile_takes_one_solve_a_step() -> None:
    # Gyroscopic forces follow Newton's iterates; with one solve for each change of them it took 39
    # iterations and 10 solves a step.
    integrator = asp.Icf(time_step=STEP, resolve_impacts=False)
    sim = asp.Simulator(_tumbling_pile(60), integrator=integrator)
    sim.advance_to(0.7)
    stats = sim.stats
    assert stats.solves <= 1.1 * stats.steps
    assert stats.longest_iterations <= 16 * stats.steps


@pytest.mark.parametrize("spin", [150.0, 250.0, 300.0])
def test_what_spins_fast_has_nothing_solved_again(spin: float) -> None:
    # A capsule that turns by 1.5 rad a step once had a whole pile solved thirty times.
    text = (
        "<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .0299'><freejoint/>"
        "<geom type='box' size='.03 .025 .03' density='1000'/></body>"
        "<body pos='0 0 {height}' euler='0 90 0'><freejoint/>"
        "<geom type='capsule' size='.015 .02' density='1000'/></body></worldbody></mujoco>"
    )
    integrator = asp.Icf(time_step=STEP, tolerance=1e-12, resolve_impacts=False)
    for height in (0.0748, 0.5):
        sim = asp.Simulator(text.format(height=height), integrator=integrator)
        sim.data.qvel[9:12] = spin * np.array([0.9, 0.3, 0.2])
        before = sim.data.qvel[9:12].copy()
        sim.advance_to(STEP)
        assert sim.stats.solves == sim.stats.steps == 1
    # Forces of the middle do no work on the capsule that touches nothing, by axes of the beginning.
    inertia = sim.model.body_inertia[2]
    begin = mujoco.MjData(sim.model)
    mujoco.mj_kinematics(sim.model, begin)
    rotation = begin.ximat[2].reshape(3, 3).T
    world = [begin.xmat[2].reshape(3, 3) @ before]
    world.append(sim.data.xmat[2].reshape(3, 3) @ sim.data.qvel[9:12])
    first, last = (float(inertia @ (rotation @ omega) ** 2) for omega in world)
    assert last == pytest.approx(first, rel=1e-7)
