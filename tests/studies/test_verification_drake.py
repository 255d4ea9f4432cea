"""Drake reads the verification cases' models: masses, joints, coordinates and forces agree."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

pytest.importorskip("pydrake")


from studies.benchmarks.verification import (
    friction,
    impacts,
    mechanisms,
    rolling,
    smooth,
    soft_bodies,
)
from studies.benchmarks.verification.case import Contact, NotApplicable, World
from studies.benchmarks.verification.families import CASES
from studies.peers.drake import DrakeSimulate
from studies.peers.mujoco import MujocoSetting, MujocoSimulate

FINE = MujocoSetting(1e-4, "RK4")

MIXED = World(
    "<body pos='.1 .2 .3' euler='.3 .2 .1'><freejoint/>"
    "<inertial pos='.02 .03 -.01' quat='.9 .1 .2 .3' mass='2' diaginertia='.03 .05 .04'/>"
    "<body pos='0 0 .2' euler='0 .4 0'><joint axis='0 1 .3' pos='.05 0 0' damping='.02' "
    "stiffness='.7' springref='.2'/><joint type='slide' axis='1 0 0' stiffness='9'/>"
    "<inertial pos='.1 0 0' mass='.5' diaginertia='.01 .01 .01'/></body></body>"
    "<body pos='1 0 0' euler='.2 .3 0'><joint type='ball'/>"
    "<inertial pos='0 0 -.3' mass='1' diaginertia='.02 .03 .04'/></body>"
)


def test_a_tree_of_all_joints_moves_as_in_mujoco() -> None:
    model = MIXED.model()
    qpos = model.qpos0.copy()
    qpos[:7] = [0.3, -0.2, 0.5, *(np.array([0.8, 0.2, -0.4, 0.1]) / np.sqrt(0.85))]
    qpos[7:9] = 0.3, 0.05
    qvel = np.array([0.3, -0.2, 0.1, 1.0, -2.0, 0.7, 0.4, -0.1, 0.5, 1.5, -0.6])
    expected = MujocoSimulate(FINE)(MIXED, 0.3, qpos=qpos, qvel=qvel)
    found = DrakeSimulate(time_step=1e-5)(MIXED, 0.3, qpos=qpos, qvel=qvel)
    np.testing.assert_allclose(found.qpos[0], qpos, atol=1e-12)
    np.testing.assert_allclose(found.qvel[0], qvel, atol=1e-12)
    for quaternion in (slice(3, 7), slice(9, 13)):
        sign = np.sign(found.qpos[-1, quaternion] @ expected.qpos[-1, quaternion])
        found.qpos[-1, quaternion] *= sign
    # Drake's steps are of first order.
    np.testing.assert_allclose(found.qpos[-1], expected.qpos[-1], atol=2e-4)
    np.testing.assert_allclose(found.qvel[-1], expected.qvel[-1], atol=2e-3)


def test_forces_act_at_the_centre_of_mass() -> None:
    world = World(
        "<body name='push'><freejoint/><inertial pos='0 .5 0' mass='2' diaginertia='1 1 1'/></body>",
        gravity=(0.0, 0.0, 0.0),
    )
    run = DrakeSimulate(time_step=1e-3)(world, 0.1, forces={"push": [3, 0, 0, 0, 0, 0.5]})
    assert run.qvel[-1, 5] == pytest.approx(0.05, rel=1e-6)
    # The frame's origin moves by the turning about the centre, too.
    assert run.qvel[-1, 0] == pytest.approx(0.15 + 0.05 * 0.5, rel=1e-4)


def test_controls_are_held_over_a_period() -> None:
    world = World(
        "<body><joint name='rail' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>",
        sections="<actuator><motor joint='rail' gear='2'/></actuator>",
    )
    for simulate in (DrakeSimulate(time_step=1e-3), DrakeSimulate(accuracy=1e-3)):
        run = simulate(world, 0.2, drive=lambda time: [0.5 + 0.5 * time], period=0.1)
        assert run.qvel[-1, 0] == pytest.approx(0.1 * 1.0 + 0.1 * 1.1, abs=1e-6)


def test_two_surfaces_in_series_have_the_pair_s_stiffness() -> None:
    # A ball at rest sinks by m g/k.
    world = rolling.rolling_ball()
    run = DrakeSimulate(time_step=1e-3)(world, 0.5)
    assert run.qpos[-1, 2] == pytest.approx(0.1 - 9.81 / 1e5, abs=1e-8)


@pytest.mark.parametrize(
    "name", ["slip-to-roll", "capsule-downhill", "groove", "turntable", "drilling", "ladder"]
)
def test_drake_finds_the_truth_of_simple_contact(name: str) -> None:
    case = CASES[name]
    step = 2e-4 if name == "drilling" else 1e-3
    found = case.measure(DrakeSimulate(time_step=step, approximation="similar"))
    assert found == pytest.approx(case.truth, abs=2.0 * case.tolerance)


@pytest.mark.parametrize(
    ("world", "what"),
    [
        (mechanisms.four_bar(), "equalities"),
        (mechanisms.atwood(), "equalities, tendons"),
        (World(smooth.pendulum().bodies.replace("axis", "frictionloss='1' axis")), "dry joint"),
        (World(smooth.pendulum().bodies.replace("axis", "armature='1' axis")), "armature"),
        (World(smooth.pendulum().bodies.replace("axis", "stiffness='1 2' axis")), "nonlinear"),
        (World(smooth.pendulum().bodies.replace("axis", "damping='1 2' axis")), "nonlinear"),
        (World(smooth.pendulum().bodies, sections="<option density='1'/>"), "fluids"),
        (soft_bodies.tumbling_bar(), "deformable bodies"),
    ],
)
def test_what_is_not_translated_is_refused_by_name(world: World, what: str) -> None:
    with pytest.raises(NotApplicable, match=what):
        DrakeSimulate(time_step=1e-3)(world, 0.1)


def test_one_coefficient_of_friction() -> None:
    with pytest.raises(NotApplicable, match="one coefficient"):
        DrakeSimulate(time_step=1e-3)(friction.belt(), 0.1)


def test_geoms_that_do_not_collide_in_mujoco_do_not_in_drake() -> None:
    ball = "<body pos='0 0 {0}'><freejoint/><geom size='.1' mass='1' {1}/></body>"
    world = World(
        "<geom type='plane' size='1 1 1' contype='1' conaffinity='1'/>"
        + ball.format(0.3, "contype='2' conaffinity='2'"),
        Contact(),
    )
    run = DrakeSimulate(time_step=1e-3)(world, 0.5)
    assert run.qpos[-1, 2] < -0.5
    hits = DrakeSimulate(time_step=1e-3)(impacts.bouncing_ball(), 0.6)
    assert isinstance(hits.model, mujoco.MjModel)
    assert hits.qpos[:, 2].min() > 0.05
