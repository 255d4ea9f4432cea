"""Vibrations of deformable bodies under error control keep energy, phase and momentum."""

from __future__ import annotations

import numpy as np
import pytest
from soft_models import Array, compile_soft, positions, vertex_dofs

import asperity as asp
from asperity.integrators.methods.vibrations import (
    FACTORS_OF_FIRST,
    FACTORS_OF_MIDDLE,
    TAUT_FACTORS_OF_FIRST,
    TAUT_FACTORS_OF_MIDDLE,
)
from asperity.soft.vibrations import SLOW

pytestmark = pytest.mark.filterwarnings("ignore:.*Nothing can collide")

CELLS, EDGE, YOUNG, MASS = 10, 0.1, 1e5, 0.1


HELD_BAR = (
    f"<flexcomp name='bar' type='grid' dim='3' count='{CELLS + 1} 2 2' pos='0.5 0 0'"
    f" spacing='{EDGE} {EDGE} {EDGE}' mass='{MASS * (CELLS + 1)}' radius='0.001'>"
    f"<pin gridrange='0 0 0 0 1 1'/><elasticity young='{YOUNG}'/>"
    "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp>"
)
"""A bar of 1 m, of layers of 100 g, held at its beginning."""


def _modes() -> tuple[Array, Array]:
    """Frequencies [rad/s] and shapes of the vibrations along the held bar, of its layers."""
    stiffness = np.zeros((CELLS + 1, CELLS + 1))
    for k in range(CELLS):
        stiffness[k : k + 2, k : k + 2] += YOUNG * EDGE * np.array([[1, -1], [-1, 1]])
    squares, shapes = np.linalg.eigh(stiffness[1:, 1:] / MASS)
    return np.sqrt(squares), np.vstack([np.zeros(CELLS), shapes])


@pytest.mark.parametrize(
    ("accuracy", "mixed", "allowed"),
    [(1e-2, False, 0.05), (1e-3, False, 0.02), (1e-3, True, 0.06), (1e-4, True, 0.02)],
)
def test_modes_keep_their_amplitudes(accuracy: float, mixed: bool, allowed: float) -> None:
    """Alone or together, as nothing is there to damp them: for five swings of the slowest one."""
    model = compile_soft(HELD_BAR, gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
    frequency, shape = _modes()
    at_rest = positions(model, sim.data)
    layer = np.unique(at_rest[:, 0].round(6), return_inverse=True)[1]
    dofs = vertex_dofs(model)
    free = dofs >= 0
    start = np.array([0.05, 0.02 if mixed else 0.0])
    sim.data.qpos[dofs[free]] = (shape[:, :2] @ start)[layer[free]]
    last = 10.0 * np.pi / frequency[0]
    found = []
    for time in last + np.linspace(0.0, 2.0 * np.pi / frequency[0], 41):
        sim.advance_to(float(time))
        moved = np.zeros(CELLS + 1)
        np.add.at(moved, layer, 0.25 * (positions(model, sim.data) - at_rest)[:, 0])
        speed = np.zeros(CELLS + 1)
        np.add.at(speed, layer[free], 0.25 * sim.data.qvel[dofs[free]])
        found.append(np.hypot(shape.T @ moved, (shape.T @ speed) / frequency)[: 2 if mixed else 1])
    kept = np.array(found) / start[: 2 if mixed else 1]
    assert kept.min() > 1.0 - allowed
    assert kept.max() < 1.01


@pytest.mark.parametrize(
    ("accuracy", "allowed"), [(1e-2, 5e-3), (1e-3, 2e-3), (1e-4, 5e-4), (3e-5, 3e-4)]
)
def test_what_tumbles_keeps_its_angular_momentum(accuracy: float, allowed: float) -> None:
    """It vibrates, as centrifugal forces set in at once."""
    model = compile_soft(
        "<flexcomp name='bar' type='grid' dim='3' count='6 2 2' spacing='.06 .06 .06' mass='0.5'"
        " radius='0.001'><elasticity young='1e5' poisson='0.3'/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp>",
        gravity=0.0,
    )
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
    mass = model.body_mass[model.flex_vertbodyid]
    dofs = vertex_dofs(model)[:, None] + np.arange(3)
    centre = mass @ positions(model, sim.data) / mass.sum()
    sim.data.qvel[dofs] = np.cross([2.0, 3.0, 8.0], positions(model, sim.data) - centre)

    def momentum() -> Array:
        x = positions(model, sim.data) - centre
        return np.asarray(mass @ np.cross(x, sim.data.qvel[dofs]))

    before = momentum()
    sim.advance_to(2.0)
    assert np.linalg.norm(momentum() - before) < allowed * np.linalg.norm(before)


def test_a_bar_that_lands_on_its_end_leaves_with_its_speed() -> None:
    """When the wave is back (Saint-Venant); ten layers keep .90 of it, by scipy's RK45."""
    model = compile_soft(
        "<geom type='plane' size='1 1 1'/><flexcomp name='bar' type='grid' dim='3' count='2 2 11'"
        " pos='0 0 .255' spacing='.05 .05 .05' mass='0.55' radius='0.001'>"
        "<elasticity young='1e6'/><contact selfcollide='none' friction='0'/></flexcomp>",
        gravity=0.0,
    )
    contact = asp.ContactParameters(stiffness=1e5, dissipation=10.0)
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3), contact=contact)
    sim.data.qvel[2::3] = -1.0
    sim.advance_to(0.05)
    assert sim.data.qvel[2::3].mean() == pytest.approx(0.9003, abs=0.02)


def _step(z: Array, beta: float) -> tuple[Array, Array]:
    """A mode's step and the exact one, on v and z x/δt, shapes (n, 2, 2), by z = ω δt and β/δt."""
    p = 0.25 * z**2
    r = 1.0 / (1.0 + p + 0.5 * z**2 * beta)
    v_0 = np.array([1.0, 0.0])[:, None] * np.ones_like(z)
    pull = -z * np.array([0.0, 1.0])[:, None]  # δt times the acceleration
    v_1 = (v_0 + 0.5 * pull) * r
    v_2 = (v_1 + 0.5 * (pull - 0.5 * z**2 * v_1)) * r
    whole = (v_0 + pull) / (1.0 + 4.0 * p + z**2 * beta)
    v, x = 2.0 * v_2 - whole, v_1 + v_2 - whole
    for factors, y in ((FACTORS_OF_FIRST, p * v_0), (FACTORS_OF_MIDDLE, p * v_1)):
        for k in range(3):
            v = v + factors[k] * r ** (k + 2) * y
            x = x + factors[3 + k] * r ** (k + 2) * y
    step = np.array([v, np.array([0.0, 1.0])[:, None] + z * x])
    exact = np.array([[np.cos(z), -np.sin(z)], [np.sin(z), np.cos(z)]])
    return step.transpose(2, 0, 1), exact.transpose(2, 0, 1)


def test_no_mode_gains_energy() -> None:
    z = np.concatenate([np.linspace(0.01, 10.0, 2000), np.geomspace(10.0, 1e5, 200)])
    for beta in (0.0, 0.01, 1.0):
        step, _ = _step(z, beta)
        assert np.linalg.norm(step, 2, axis=(1, 2)).max() < 1.0 + 1e-8
    step, _ = _step(np.array([1e3, 1e5]), 0.0)
    assert np.linalg.norm(step[1]) < 2e-3  # L-stable


def test_slow_modes_turn_exactly() -> None:
    step, exact = _step(np.array([0.05, 0.1, 0.3, 0.5, 0.7, 1.0]), 0.0)
    error = np.linalg.norm(step - exact, 2, axis=(1, 2))
    assert np.all(error[2:] < [8e-5, 2.5e-4, 2e-4, 3.5e-3])
    assert error[0] < error[1] / 7.0  # third order in a step


def _taut_step(z: Array) -> tuple[Array, Array]:
    """As `_step`, of a mode that tension pulls back."""
    p = 0.25 * z**2
    v_0 = np.array([1.0, 0.0])[:, None] * np.ones_like(z)
    q_0 = np.array([0.0, 1.0])[:, None] / z  # over δt, as all positions

    def solved(v: Array, q: Array, share: float) -> Array:
        pull, slow = (share * z) ** 2, z**2 / SLOW
        w = v * (1.0 + 2.0 * slow) / (1.0 + slow) ** 2
        return np.asarray((v + pull * w - share * z**2 * q) / (1.0 + pull))

    v_1 = solved(v_0, q_0, 0.5)
    v_2, whole = solved(v_1, q_0 + 0.5 * v_1, 0.5), solved(v_0, q_0, 1.0)
    v, q = 2.0 * v_2 - whole, q_0 + v_1 + v_2 - whole
    for factors, y in ((TAUT_FACTORS_OF_FIRST, p * v_0), (TAUT_FACTORS_OF_MIDDLE, p * v_1)):
        for k in range(3):
            power = (1.0 + p) ** -(k + 2.0)
            v = v + factors[k] * power * y
            q = q + factors[3 + k] * power * y
    exact = np.array([[np.cos(z), -np.sin(z)], [np.sin(z), np.cos(z)]])
    return np.array([v, z * q]).transpose(2, 0, 1), exact.transpose(2, 0, 1)


def test_no_taut_mode_gains_energy() -> None:
    z = np.concatenate([np.linspace(0.01, 10.0, 2000), np.geomspace(10.0, 1e5, 200)])
    step, _ = _taut_step(z)
    assert np.linalg.norm(step, 2, axis=(1, 2)).max() < 1.0 + 1e-8


def test_slow_taut_modes_turn_exactly() -> None:
    step, exact = _taut_step(np.array([0.05, 0.1, 0.3, 0.5, 0.7, 1.0]))
    error = np.linalg.norm(step - exact, 2, axis=(1, 2))
    assert np.all(error[2:] < [1e-4, 4e-4, 1e-3, 6e-3])
    assert error[0] < error[1] / 7.0


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3])
def test_a_taut_rope_keeps_its_amplitude_and_period(accuracy: float) -> None:
    """In its slowest mode, five times to and fro: Lagrange's string of beads, free at one end."""
    edges, edge, bead, tension = 20, 0.05, 0.01, 10.0
    rate = 2.0 * np.sqrt(tension / (bead * edge)) * np.sin(np.pi / (2 * (2 * edges + 1)))
    model = compile_soft(
        f"<flexcomp name='rope' type='grid' dim='1' count='{edges + 1} 1 1' radius='0.001'"
        f" spacing='{edge} {edge} {edge}' mass='{bead * (edges + 1)}'><pin id='0'/>"
        "<edge equality='true'/><contact contype='0' conaffinity='0' selfcollide='none'/>"
        "</flexcomp>",
        gravity=0.0,
    )
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
    mode = np.sin(np.arange(1, edges + 1) * np.pi / (2 * edges + 1))
    sim.data.qvel[2::3] = 0.02 * rate * mode
    sim.data.xfrc_applied[-1, 0] = tension
    last = 10.0 * np.pi / rate
    found = []
    angle = np.arange(40) * np.pi / 20.0
    for time in last + angle / rate:
        sim.advance_to(float(time))
        found.append(positions(model, sim.data)[1:, 2] @ mode / (mode @ mode))
    ahead, beside = np.array([np.sin(angle), np.cos(angle)]) @ found / 20.0
    assert np.hypot(ahead, beside) == pytest.approx(0.02, rel=0.04 if accuracy > 1e-3 else 0.01)
    assert abs(np.arctan2(beside, ahead)) < 0.1
