"""Deformable bodies in contact: weight, friction, grasps and presses."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from soft_models import ball, compile_soft, cube, gripper, positions

import asperity as asp

BOTH = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3))


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
def test_cube_falls_and_rests(integrator: asp.Icf | asp.Cenic) -> None:
    model = compile_soft("<geom type='plane' size='1 1 0.1'/>" + cube(height=0.04))
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.5)
    assert np.abs(sim.data.qvel).max() < 1e-4
    contacts = sim.contacts
    assert contacts.normal_force.sum() == pytest.approx(0.0625 * 9.81, rel=1e-3)
    assert np.all(contacts.geom == [0, -1])
    assert np.all(contacts.flex == [-1, 0])
    assert sorted(contacts.vert[:, 1]) == list(range(0, 27, 3))
    # MuJoCo finds the same forces in its own places, and vertices where they are.
    total = np.zeros(6)
    for index in range(sim.data.ncon):
        force = np.zeros(6)
        mujoco.mj_contactForce(model, sim.data, index, force)
        total += force
    assert total[0] == pytest.approx(0.0625 * 9.81, rel=1e-3)
    assert np.array_equal(sim.data.flexvert_xpos, positions(model, sim.data))


@pytest.mark.parametrize("slope", [0.25, 0.4])
def test_cube_on_an_incline_sticks_or_slides(slope: float) -> None:
    friction = 0.3
    model = compile_soft(
        f"<geom type='plane' size='1 1 0.1' friction='{friction}'/>"
        + cube(height=0.0255, friction=friction, young=1e6)
    )
    model.opt.gravity[:] = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.advance_to(0.3)
    before = sim.data.qvel.reshape(-1, 3)[:, 0].mean()
    sim.advance_to(0.5)
    gained = sim.data.qvel.reshape(-1, 3)[:, 0].mean() - before
    if np.tan(slope) < friction:
        assert abs(before) < 1e-5
        assert abs(gained) < 1e-5
    else:
        expected = 9.81 * (np.sin(slope) - friction * np.cos(slope)) * 0.2
        assert gained == pytest.approx(expected, rel=2e-2)


def _hold(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    close = 0.012 * min(data.time / 0.3, 1.0)
    data.ctrl[:] = [close, -close, 0.1 * np.clip((data.time - 0.4) / 0.5, 0.0, 1.0)]


@pytest.mark.parametrize("integrator", BOTH, ids=("icf", "cenic"))
def test_grasp_does_not_slip(integrator: asp.Icf | asp.Cenic) -> None:
    model = gripper(1e5)
    sim = asp.Simulator(model, integrator=integrator, control=_hold, control_period=0.01)
    lift = model.joint("lift").qposadr[0]
    sim.advance_to(1.0)
    held = positions(model, sim.data)[:, 2].mean() - sim.data.qpos[lift]
    assert sim.data.qpos[lift] > 0.09
    sim.advance_to(5.0)
    now = positions(model, sim.data)[:, 2].mean() - sim.data.qpos[lift]
    assert abs(now - held) < 1e-4
    on_fingers = sim.contacts.vert[sim.contacts.geom[:, 0] > 0, 1]
    # Others are of the fingers' edges.
    on_fingers = on_fingers[on_fingers >= 0]
    assert len(on_fingers) == len(set(on_fingers)) > 8


@pytest.mark.parametrize("approach", [0.05, 0.1])
def test_ball_is_as_stiff_as_hertz_says(approach: float) -> None:
    """Force 4/3 E* √R δ^(3/2); tetrahedra, and a contact of five vertices, are stiffer."""
    radius, young, poisson = 0.05, 1e5, 0.3
    model = compile_soft(
        "<geom type='plane' size='1 1 0.1'/>" + ball(7, radius=radius, young=young, poisson=poisson)
    )
    scale = 4.0 / 3.0 * young / (1.0 - poisson**2) * np.sqrt(radius)
    force = scale * (approach * radius) ** 1.5
    model.opt.gravity[2] = -force / model.body_mass.sum()
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.02))
    middle = model.nflexvert // 2
    sim.advance_to(1.0)
    depth = radius - positions(model, sim.data)[middle, 2]
    assert sim.contacts.normal_force.sum() == pytest.approx(force, rel=1e-3)
    assert 1.0 < force / (scale * depth**1.5) < 1.3


def _volumes(model: mujoco.MjModel, x: np.ndarray) -> np.ndarray:
    corner = x[model.flex_elem.reshape(-1, 4)]
    return np.linalg.det(corner[:, 1:] - corner[:, :1])


def test_pressed_cube_is_not_inverted() -> None:
    """Between two plates to half its height; the force is about that of its modulus."""
    model = compile_soft(
        "<geom type='plane' size='1 1 0.1'/>"
        "<body pos='0 0 0.062' gravcomp='1'><joint name='press' type='slide' axis='0 0 1'/>"
        "<geom type='box' size='0.06 0.06 0.01' mass='1'/></body>"
        + cube(young=1e4, height=0.0255, count=4),
        sections="<actuator><position joint='press' kp='20000' kv='200'/></actuator>",
    )
    rest = _volumes(model, positions(model, mujoco.MjData(model)))

    def press(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[0] = -0.026 * min(data.time / 0.4, 1.0)

    sim = asp.Simulator(
        model, integrator=asp.Icf(time_step=4e-3), control=press, control_period=0.004
    )
    sim.advance_to(0.6)
    now = _volumes(model, positions(model, sim.data))
    assert np.min(now / rest) > 0.1
    assert sim.data.qpos[0] < -0.024
    assert -sim.data.qfrc_actuator[0] == pytest.approx(0.5 * 1e4 * 0.05**2, rel=0.6)


def test_two_cubes_in_contact_keep_momentum() -> None:
    first = cube(name="a", height=0.2, young=1e4)
    second = cube(name="b", height=0.26, young=1e5)
    model = compile_soft(first + second, gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    velocity = sim.data.qvel.reshape(-1, 3)
    half = len(velocity) // 2
    velocity[:half, 2] = 0.5
    mass = model.body_mass[model.flex_vertbodyid]
    before = mass @ velocity
    sim.advance_to(0.06)
    after = mass @ sim.data.qvel.reshape(-1, 3)
    assert sim.data.qvel.reshape(-1, 3)[half:, 2].mean() > 0.05
    assert np.abs(after - before).max() < 1e-10


@pytest.mark.parametrize("shape", ["sphere", "ellipsoid"])
def test_tip_between_vertices_rests_on_an_element(shape: str) -> None:
    """A small ball, which no vertex touches; an element's vertices share its weight."""
    model = compile_soft(
        "<geom type='plane' size='1 1 0.1'/>"
        f"<body name='tip' pos='0.012 0.01 0.0562'><freejoint/><geom type='{shape}'"
        " size='0.005 0.005 0.005' mass='0.02'/></body>" + cube(height=0.0255, young=1e5)
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    sim.advance_to(0.15)
    contacts = sim.contacts
    tip = contacts.elem[:, 1] >= 0
    assert np.any(tip)
    assert contacts.force[tip].sum(axis=0) == pytest.approx([0.0, 0.0, -0.02 * 9.81], abs=0.01)
    assert contacts.normal_force[~tip].sum() == pytest.approx(0.0825 * 9.81, rel=2e-2)
