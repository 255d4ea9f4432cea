"""Two arms, a jar with its lid and marbles: the SAP paper's figures 1 and 18 to 21."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.errors import MissingExtra
from studies.experiments.dual_arm_runs import DualArm, open_and_pour
from studies.experiments.sap_solvers import Case
from studies.scenes.dual_arm import (
    BOWL_PLACE,
    HOLD_HEIGHT,
    JAR_HEIGHT,
    JAR_PLACE,
    KNOB_HEIGHT,
    MARBLES,
    SIDES,
    dual_arm,
    dual_arm_robots,
)
from studies.scenes.dual_arm_keyframes import hand_posture
from studies.scenes.dual_arm_task import JarTask, arm_joints, hand_joints

pytestmark = pytest.mark.assets


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    try:
        return dual_arm()
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def opened(model: mujoco.MjModel) -> DualArm:
    cases = {
        "tight": Case("SAP", {"tolerance": 1e-8}),
        "loose": Case("SAP", {"tolerance": 1e-2}),
        "geodesic": Case("geodesic", {"complementarity": 1e-9}),
    }
    return open_and_pour(cases=cases, every=60, duration=3.8)


def test_degrees_of_freedom_are_those_of_the_paper(model: mujoco.MjModel) -> None:
    # Two arms and hands, jar and lid, marbles, bowl.
    assert model.nv == 2 * 7 + 2 * 16 + 12 + 96 + 6
    assert dual_arm_robots().nv == 46


def test_marbles_are_in_the_closed_jar(model: mujoco.MjModel) -> None:
    simulator = asp.Simulator(model, integrator=asp.Sap(time_step=5e-3))
    assert simulator.step().success
    data = simulator.data
    for i in range(MARBLES):
        place = data.body(f"marble{i}").xpos
        assert np.hypot(*(place[:2] - JAR_PLACE)) + 0.008 < 0.034
        assert 0.006 < place[2] < JAR_HEIGHT - 0.05
    contacts = simulator.contacts
    deepest = np.min(contacts.signed_distance)
    # By as much as the stopper is wider than the jar, and no more.
    assert deepest > -1e-3
    names = {
        frozenset(model.body(model.geom_bodyid[g]).name for g in pair) for pair in contacts.geom
    }
    of_lid = {pair for pair in names if "lid" in pair}
    assert of_lid == {frozenset(("lid", "jar"))}
    assert np.linalg.norm(data.body("bowl").xpos[:2] - BOWL_PLACE) < 1e-6


def test_hands_begin_beside_jar_and_lid(model: mujoco.MjModel) -> None:
    robots = dual_arm_robots()
    arms = asp.systems.InverseDynamicsController(arm_joints(), kp=1.0, model=robots)
    hands = asp.systems.PdController(hand_joints(), kp=1.0)
    task = JarTask(model, arms, hands)
    assert task.residual < 1e-6
    data = mujoco.MjData(model)
    for name, angle in task.start.items():
        data.joint(name).qpos[0] = angle
        low, high = model.joint(name).range
        assert low <= angle <= high
    mujoco.mj_kinematics(model, data)
    grasp = [data.site(f"{side}_hand_grasp").xpos for side in SIDES]
    np.testing.assert_allclose(grasp[0][[0, 2]], [JAR_PLACE[0], HOLD_HEIGHT], atol=1e-6)
    np.testing.assert_allclose(
        grasp[1][[0, 2]], [JAR_PLACE[0], JAR_HEIGHT + KNOB_HEIGHT], atol=1e-6
    )
    assert grasp[0][1] < 0.0 < grasp[1][1]


@pytest.mark.parametrize("closed", [0.0, 1.0])
def test_hands_mirror_each_other(closed: float) -> None:
    robots = dual_arm_robots()
    data = mujoco.MjData(robots)
    names = hand_joints()
    for i, name in enumerate(names):
        data.joint(name).qpos[0] = hand_posture(i // 16, closed)[i % 16]
    mujoco.mj_kinematics(robots, data)
    tips = []
    for side in SIDES:
        palm = data.body(f"{side}_hand_palm_link")
        axes = palm.xmat.reshape(3, 3)
        links = [data.body(f"{side}_hand_link_{i}.0").xpos for i in (3, 7, 11, 15)]
        tips.append(np.array([axes.T @ (link - palm.xpos) for link in links]))
    np.testing.assert_allclose(tips[1], tips[0] * (1.0, -1.0, 1.0), atol=1e-6)


def test_lid_sticks_then_slides_out(opened: DualArm) -> None:
    assert opened.ending == ""
    begins = {name: begin for begin, name in opened.events}
    assert "firm grasps" in begins
    time = opened.time
    lifting = (time > begins["lift"] + 0.1) & (time < begins["open"])
    gap = np.array([state.lid_gap for state in opened.states])
    # Lifted with its lid on; then the lid is out and the jar stays in its hand.
    assert np.abs(gap[lifting]).max() < 1e-3
    assert opened.states[-1].lid_distance > 0.05
    held = np.array([s.in_hand for s, t in zip(opened.states, time, strict=True) if t > 2.0])
    assert np.linalg.norm(held - held[0], axis=1).max() < 2e-3
    assert all(state.left == MARBLES for state in opened.states)
    assert not opened.succeeded
    assert not opened.checks["all keyframes reached"]
    assert opened.checks["lid taken off"]


def test_solvers_agree_on_servos_contacts_and_limits(opened: DualArm) -> None:
    compared = opened.compared
    assert np.all(compared["converged"] == 1.0)
    assert np.all(compared["momentum_error"][:, 0] <= 1e-8)
    assert np.all(compared["momentum_error"][:, 1] <= 1e-2)
    assert np.max(compared["momentum_error"][:, 1]) > 1e-6
    assert np.all(compared["distance"][:, 2] < 0.02)
    assert np.all(compared["iterations"][:, 0] >= compared["iterations"][:, 1])


@pytest.mark.slow
def test_task_succeeds(model: mujoco.MjModel) -> None:
    found = open_and_pour()
    assert found.checks == dict.fromkeys(found.checks, True)
    assert found.states[-1].poured + found.states[-1].left <= MARBLES
