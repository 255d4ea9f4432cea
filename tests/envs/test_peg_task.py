"""The peg's task: rewards and ends as defined, starts, and a scene drawn as it says."""

from __future__ import annotations

import itertools
import math

import mujoco
import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs gymnasium, of the [rl] or [assets] extra")

from asperity.envs.peg_task import PegTask
from asperity.errors import ArgumentError
from asperity.geometry.surfaces import is_closed, volume_integrals
from asperity.scenes.peg_in_hole import PegScene, container, peg


def at(height: float, x: float = 0.0) -> np.ndarray:
    return np.array([x, 0.0, height])


def test_reward_is_the_downward_velocity() -> None:
    task = PegTask(max_speed=0.1, control_period=0.03, max_steps=50)
    found = task.outcome(at(0.1), at(0.1 - 0.003), np.array(1))
    assert found.reward == pytest.approx(1.0)  # at the largest speed
    assert not found.success
    assert not found.out_of_time
    assert task.outcome(at(0.1), at(0.1015), np.array(1)).reward == pytest.approx(-0.5)
    # Of a whole way, the rewards add up to the way.
    heights = np.random.default_rng(1).uniform(0.06, 0.1, 20)
    total = sum(
        float(task.outcome(at(a), at(b), np.array(1)).reward)
        for a, b in itertools.pairwise(heights)
    )
    assert total == pytest.approx((heights[0] - heights[-1]) / 0.003)


def test_nothing_is_to_be_gained_outside_of_the_container() -> None:
    """Downwards inside of it is rewarded, "or a negative reward otherwise" (section V-B3)."""
    task = PegTask(max_speed=0.1, control_period=0.03)
    rim = task.scene.funnel_radius
    for x, sign in ((0.99 * rim, 1.0), (1.01 * rim, -1.0), (-2.0 * rim, -1.0)):
        down = task.outcome(at(0.1, x), at(0.097, x), np.array(1))
        assert down.reward == pytest.approx(sign)
        up = task.outcome(at(0.097, x), at(0.1, x), np.array(1))
        assert up.reward == pytest.approx(-1.0)


def test_success_is_worth_more_the_earlier_it_is() -> None:
    task = PegTask(bonus=100.0, max_steps=50)
    inside = 0.04 - 0.03 + 0.5 * task.scene.height  # peg's middle, 30 mm deep
    for step in (1, 20, 50):
        found = task.outcome(at(inside), at(inside - 1e-9), np.array(step))
        assert found.success
        assert not found.out_of_time
        assert found.reward == pytest.approx(100.0 * (1.0 - step / 50.0), abs=1e-5)
    assert not task.outcome(at(inside), at(inside + 1e-9), np.array(1)).success
    beside = task.outcome(at(inside), at(inside - 0.01, x=0.05), np.array(1))
    assert not beside.success
    assert beside.reward < 5.0


def test_time_ends() -> None:
    task = PegTask(max_steps=3)
    assert not task.outcome(at(0.1), at(0.1), np.array(2)).out_of_time
    assert task.outcome(at(0.1), at(0.1), np.array(3)).out_of_time


def test_many_worlds_are_as_each() -> None:
    task = PegTask()
    random = np.random.default_rng(0)
    before, after = random.uniform(0.0, 0.1, (2, 7, 3)) * [0.5, 0.5, 1.0]
    steps = random.integers(1, 70, 7)
    together = task.outcome(before, after, steps)
    for i in range(7):
        alone = task.outcome(before[i], after[i], steps[i])
        assert [part[i] for part in together] == [part[()] for part in alone]


def test_actions_are_velocities() -> None:
    task = PegTask(max_speed=0.2)
    np.testing.assert_allclose(task.controls(np.array([1.0, -3.0, 0.5])), [0.2, -0.2, 0.1])


def test_starts() -> None:
    task = PegTask()
    model = task.scene.model()
    offsets = np.array([task.start(np.random.default_rng(i)) for i in range(300)])
    assert np.abs(offsets[:, :2]).max() == pytest.approx(task.spread, rel=0.05)
    qpos = task.moved(model, model.qpos0, offsets)
    place, _ = task.addresses(model)
    tips = task.tip(qpos[:, place : place + 3]) - task.scene.rim
    assert tips.min() == pytest.approx(task.lowest, abs=5e-4)
    assert tips.max() == pytest.approx(task.highest, abs=5e-4)
    # The hand goes with the peg.
    data = mujoco.MjData(model)
    ways = []
    for state in (model.qpos0, qpos[0]):
        data.qpos[:] = state
        mujoco.mj_kinematics(model, data)
        ways.append(data.body("hand").xpos - data.body("peg").xpos)
    np.testing.assert_allclose(*ways, atol=1e-12)


@pytest.mark.parametrize("radius", [0.0095, 0.0099])
def test_circles_are_between_the_prisms(radius: float) -> None:
    scene = PegScene(radius=radius)
    assert scene.margin == pytest.approx(0.01 - radius)
    for solid in (container(scene), peg(scene)):
        assert is_closed(solid.surface)
        assert volume_integrals(solid.surface)[0] > 0.0
    n = scene.segments
    side = 0.5 * n * math.sin(2.0 * math.pi / n)  # area of a regular polygon in the unit circle
    volume = volume_integrals(peg(scene).surface)[0]
    around = side / math.cos(math.pi / n) ** 2
    assert volume == pytest.approx(around * radius**2 * scene.height)
    assert around > math.pi > side
    cone = (0.03**3 - 0.01**3) / (3.0 * (0.03 - 0.01)) * 0.02
    expected = 0.04**2 * 0.07 - 0.01**2 * 0.04 - cone
    assert volume_integrals(container(scene).surface)[0] == pytest.approx(side * expected)


def test_pieces_are_the_surface() -> None:
    """The convex pieces fill what the surface encloses."""
    scene = PegScene(segments=16)
    whole = scene.model()
    pieces = scene.model(pieces=True, cylinder=True)
    assert pieces.geom("peg").type[0] == mujoco.mjtGeom.mjGEOM_CYLINDER
    volume = volume_integrals(container(scene).surface)[0]
    found = sum(_volume(pieces, mesh) for mesh in range(pieces.nmesh))
    assert found == pytest.approx(volume, rel=1e-5)
    assert whole.nmesh == 2


def _volume(model: mujoco.MjModel, mesh: int) -> float:
    from scipy.spatial import ConvexHull

    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    return float(ConvexHull(model.mesh_vert[first : first + count]).volume)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"margin": 0.0}, "margin must be positive"),
        ({"margin": math.nan}, "margin must be positive"),
        ({"margin": "thin"}, "margin must be a number, got 'thin'"),
        ({"margin": 1e-6}, "segments must be larger"),
        ({"margin": 0.02}, "radius, hole_radius"),
        ({"max_steps": 0}, "max_steps must be"),
        ({"max_steps": 2.5}, "max_steps must be"),
        ({"depth": 0.05}, "depth 0.05 is more than the hole's 0.04"),
        ({"lowest": 0.03, "highest": 0.02}, "lowest and highest"),
        ({"spread": -1.0}, "spread must not be negative"),
    ],
)
def test_impossible_tasks(options: dict[str, float], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        PegTask(**options)  # type: ignore[arg-type]
