"""Energy and momentum: what the schemes' theory says they lose, and that they never gain."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

G = 9.81
OSCILLATOR = """<mujoco><option gravity="0 0 0"/><worldbody><body>
<joint type="slide" axis="1 0 0" stiffness="200"/><geom size=".1" mass="2"/></body></worldbody></mujoco>"""


def midas(xml: str, **options) -> asp.Simulator:
    return asp.Simulator(xml, integrator=asp.Midas(**options))


def test_fall_loses_what_implicit_euler_must():
    """½ m g² h² in every step: velocities are those of the steps' ends."""
    sim = midas(
        '<mujoco><worldbody><body><freejoint/><geom size=".1" mass="2"/></body></worldbody></mujoco>',
        scheme="implicit-euler",
    )
    sim.data.qvel[:3] = (1, 2, 3)
    before = sum(sim.energy())
    for step in range(1, 51):
        assert sim.step().success
        lost = before - sum(sim.energy())
        assert lost == pytest.approx(step * 0.5 * 2 * G**2 * 0.01**2, rel=1e-6)


def test_oscillator_decays_as_implicit_euler_does():
    """Its energy falls by the factor 1 + ω²h² in every step."""
    sim = midas(OSCILLATOR, scheme="implicit-euler", tolerance=1e-10)
    sim.data.qpos[0], sim.data.qvel[0] = 0.05, 0.3
    energy = sum(sim.energy())
    for _ in range(50):
        assert sim.step().success
        energy /= 1 + 100 * 0.01**2
        assert sum(sim.energy()) == pytest.approx(energy, rel=1e-5)


def test_oscillator_decays_as_bdf2_does():
    """By the roots of (3/2 − 2/z + 1/(2z²))² + ω²h² = 0 nearest to the circle."""
    sim = midas(OSCILLATOR, scheme="bdf2", tolerance=1e-10)
    sim.data.qpos[0] = 0.05
    roots = [np.roots([1.5 - s * 10j * 0.01, -2, 0.5]) for s in (1, -1)]
    root = max(np.concatenate(roots), key=abs)
    states = []
    for _ in range(120):
        assert sim.step().success
        states.append(complex(sim.data.qpos[0], sim.data.qvel[0] / 10))
    # After the first steps only these roots are left, and (x, v/ω) goes round on a spiral.
    ratio = abs(states[119]) / abs(states[19])
    assert ratio == pytest.approx(abs(root) ** 100, rel=1e-3)
    assert ratio > 0.97  # implicit Euler: 0.61


@pytest.mark.parametrize(("scheme", "order"), [("implicit-euler", 1), ("bdf2", 2)])
def test_spin_is_lost_with_the_order_of_the_scheme(scheme, order):
    xml = """<mujoco><option gravity="0 0 0"/><worldbody><body><freejoint/>
    <geom type="box" size=".1 .06 .03" mass="2"/></body></worldbody></mujoco>"""
    losses = []
    for step in (0.008, 0.004, 0.002):
        sim = midas(xml, scheme=scheme, time_step=step, tolerance=1e-9)
        sim.data.qvel[3:] = (3.0, -4.0, 5.0)
        mujoco.mj_forward(sim.model, sim.data)
        mujoco.mj_subtreeVel(sim.model, sim.data)
        before = sim.data.subtree_angmom[1].copy()
        assert sim.advance_to(0.4).success
        mujoco.mj_subtreeVel(sim.model, sim.data)
        losses.append(np.linalg.norm(sim.data.subtree_angmom[1] - before) / np.linalg.norm(before))
        np.testing.assert_allclose(sim.data.qvel[:3], 0, atol=1e-12)
    assert losses[0] < 0.2
    assert np.log2(np.array(losses[:-1]) / losses[1:]).min() > order - 0.3


def test_collisions_never_add_energy():
    """Elastic boxes of different shapes and masses in a box without gravity or friction."""
    walls = "".join(
        f'<geom type="plane" size="1 1 1" pos="{x} {y} {z}" zaxis="{-x} {-y} {-z}" friction="0"/>'
        for x, y, z in (0.3 * np.vstack([np.eye(3), -np.eye(3)])).round(1)
    )
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="{kind}" size=".05 .04 .06" mass="{mass}" '
        'friction="0"/></body>'
        for x, y, z, kind, mass in (
            (-0.15, 0, 0.1, "box", 1), (0.1, 0.1, 0, "sphere", 3), (0.1, -0.12, -0.1, "capsule", 0.5),
        )
    )  # fmt: skip
    sim = midas(f'<mujoco><option gravity="0 0 0"/><worldbody>{walls}{bodies}</worldbody></mujoco>')
    sim.data.qvel[:] = 2 * np.cos(3 * np.arange(18))
    energy = sum(sim.energy())
    touched = 0
    for _ in range(300):
        assert sim.step().success
        touched += sim.data.ncon > 0
        now = sum(sim.energy())
        # What a barrier holds while it pushes comes back, but was taken before.
        assert now <= energy * (1 + 1e-9)
    assert touched > 5
    assert now < 0.99 * energy
