"""Vertices of flexes touch the ground of height fields."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from soft_models import Array, compile_soft, cube

import asperity as asp

BOTH = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3))
NAMES = ("icf", "cenic")
CLOTH = (
    "<flexcomp name='cloth' type='grid' dim='2' count='9 9 1' spacing='.025 .025 .025' mass='.05'"
    " pos='0 .003 .03' radius='2e-3'><elasticity young='1e5' poisson='0' thickness='1e-3'"
    " damping='.01' elastic2d='both'/><contact selfcollide='none' friction='.8'/></flexcomp>"
)
# On the ground in its first case, above it in the others.
BODIES = {"cube": cube(0.08, count=3, height=0.045, damping=0.01), "cloth": CLOTH}
HALF = 0.3


def _on_field(body: str, heights: Array, friction: float = 0.8) -> mujoco.MjModel:
    """Of a field of 9 × 9 heights [m], whose origin is that of the world."""
    rows = heights - heights.min()
    top = max(float(rows.max()), 0.1)
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option integrator='discrete'/><asset><hfield name='field' nrow='9' ncol='9'"
        f" size='{HALF} {HALF} {top} .1'/></asset><worldbody><geom type='hfield' hfield='field'"
        f" pos='0 0 {heights.min()}' friction='{friction}'/>{body}</worldbody></mujoco>"
    )
    # Rows are those of growing y.
    model.hfield_data[:] = rows.ravel() / top
    return model


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
@pytest.mark.parametrize("body", ["cube", "cloth"])
def test_a_level_height_field_is_a_plane(body: str, integrator: asp.Icf | asp.Cenic) -> None:
    """Cloth on one was pressed with a thousand times its weight, and sank."""
    found = []
    for model in (
        compile_soft("<geom type='plane' size='1 1 .1' friction='.8'/>" + BODIES[body]),
        _on_field(BODIES[body], np.zeros((9, 9))),
    ):
        sim = asp.Simulator(model, integrator=integrator)
        sim.data.qvel[::3] = 0.3
        sim.advance_to(0.4)
        found.append(sim.data.qpos.copy())
        weight = 9.81 * model.body_mass.sum()
        assert sim.contacts.force.sum(axis=0)[2] == pytest.approx(weight, rel=2e-2)
    assert found[1] == pytest.approx(found[0], abs=1e-6)


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
def test_a_cube_slides_down_a_slope_of_ground(integrator: asp.Icf | asp.Cenic) -> None:
    """With a = g (sin θ − μ cos θ) along a slope of 1 in 2, at any angle to the cells' diagonals."""
    slope, friction = 0.5, 0.2
    x, y = np.meshgrid(np.linspace(-HALF, HALF, 9), np.linspace(-HALF, HALF, 9))
    heading = np.array([0.8, 0.6])
    model = _on_field(
        cube(0.08, count=3, height=0.0, damping=0.01, friction=friction),
        -slope * (heading[0] * x + heading[1] * y),
        friction,
    )
    angle = np.arctan(slope)
    across = np.array([heading[0] * np.cos(angle), heading[1] * np.cos(angle), -np.sin(angle)])
    up = np.array([heading[0] * np.sin(angle), heading[1] * np.sin(angle), np.cos(angle)])
    turn = np.column_stack([across, np.cross(up, across), up])
    sim = asp.Simulator(model, integrator=integrator)
    points = sim.data.flexvert_xpos
    assert len(points) == 27
    sim.data.qpos[:] = (points @ turn.T + 0.0405 * up - points).ravel()
    sim.advance_to(0.1)
    start = sim.data.qvel.reshape(-1, 3).mean(axis=0)
    sim.advance_to(0.3)
    gained = (sim.data.qvel.reshape(-1, 3).mean(axis=0) - start) / 0.2
    expected = 9.81 * (np.sin(angle) - friction * np.cos(angle))
    assert gained @ across == pytest.approx(expected, rel=2e-2)
    assert gained @ np.cross(up, across) == pytest.approx(0.0, abs=0.02 * expected)


@pytest.mark.parametrize("integrator", BOTH, ids=NAMES)
def test_cloth_comes_to_rest_on_hills(integrator: asp.Icf | asp.Cenic) -> None:
    x, y = np.meshgrid(np.linspace(-HALF, HALF, 9), np.linspace(-HALF, HALF, 9))
    model = _on_field(CLOTH.replace(".03'", ".07'"), 0.03 * np.cos(12.0 * x) * np.cos(12.0 * y))
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.5)
    assert np.abs(sim.data.qvel).max() < 2e-3
    assert sim.contacts.force.sum(axis=0) == pytest.approx([0.0, 0.0, 0.05 * 9.81], abs=5e-3)
