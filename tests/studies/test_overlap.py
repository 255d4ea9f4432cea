"""How deep things overlap, and the solids of which the gripper's tasks are made."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from asperity.geometry.surfaces import is_closed, volume_integrals
from asperity.scenes.solids import Solid, cup, union_of_boxes
from asperity.scenes.usb import Fit, plug, port
from studies.experiments.overlap import OverlapMeter, inside, surface_distance


def volume(solid: Solid) -> float:
    return volume_integrals(solid.surface)[0]


def box_volume(solid: Solid) -> float:
    return sum(8.0 * float(np.prod(box.half)) for box in solid.boxes)


@pytest.mark.parametrize(
    "solid", [plug(Fit()), port(Fit()), plug(Fit.close(5e-5)), port(Fit.close(5e-5))]
)
def test_boxes_make_a_closed_surface_of_their_volume(solid: Solid) -> None:
    assert is_closed(solid.surface)
    assert volume(solid) == pytest.approx(box_volume(solid), rel=1e-9)


def test_overlapping_boxes_are_refused() -> None:
    with pytest.raises(ValueError, match="'two' overlap"):
        union_of_boxes("two", [(0, 0, 0, 1, 1, 1), (0.5, 0, 0, 2, 1, 1)])


def test_cup_is_closed_and_hollow() -> None:
    solid = cup("cup", 0.035, 0.09, 1e-3)
    assert is_closed(solid.surface)
    polygon = 12 * np.sin(2 * np.pi / 24)
    assert volume(solid) == pytest.approx(polygon * (0.035**2 * 0.09 - 0.034**2 * 0.089), rel=1e-9)
    points = np.array([[0, 0, 0.05], [0, 0, 5e-4], [0.0345, 0, 0.05], [0.036, 0, 0.05]])
    np.testing.assert_array_equal(inside(points, solid.surface), [False, True, True, False])
    np.testing.assert_allclose(
        surface_distance(points, solid.surface)[[0, 1, 3]],
        [0.034 * np.cos(np.pi / 24), 5e-4, 0.036 - 0.035 * np.cos(np.pi / 24)],
        rtol=1e-9,
    )


def test_gaps_of_stick_and_port() -> None:
    """Inserted, the stick is as far from the port as its sizes say, on every side."""
    gap = 5e-5
    stick, socket = plug(Fit.close(gap)), port(Fit.close(gap))
    assert Fit.close(gap).tightest == pytest.approx((gap, gap))
    down = np.array([0.0, 0.0, Fit().depth - Fit().shell_length + 2e-4])
    inserted = stick.surface.vertices + down
    assert not np.any(inside(inserted, socket.surface))
    assert surface_distance(inserted, socket.surface).min() == pytest.approx(gap, rel=1e-6)


def test_distance_and_inside_of_a_box() -> None:
    half = np.array([0.1, 0.2, 0.3])
    surface = union_of_boxes("box", [(*-half, 0.0, *half[1:]), (0.0, *-half[1:], *half)]).surface
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (500, 3))
    beyond = np.abs(points) - half
    outer = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    within = np.all(beyond < 0.0, axis=1)
    np.testing.assert_array_equal(inside(points, surface), within)
    exact = np.where(within, -beyond.max(axis=1), outer)
    np.testing.assert_allclose(surface_distance(points, surface), exact, atol=1e-12)


def scene(first: str, second: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' pos='0 0 -1'/>"
        f"<body><freejoint/>{first}</body><body><freejoint/>{second}</body></worldbody></mujoco>"
    )


def depth(model: mujoco.MjModel, qpos: list[float]) -> float:
    data = mujoco.MjData(model)
    data.qpos[7:] = qpos
    mujoco.mj_kinematics(model, data)
    return OverlapMeter(model).measure(data.xpos, data.xmat.reshape(-1, 3, 3)).depth


def test_depths_that_are_known() -> None:
    box = "<geom type='box' size='.05 .05 .05'/>"
    model = scene(box, box)
    turn = [np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8)]
    assert depth(model, [0.1001, 0, 0, 1, 0, 0, 0]) == 0.0
    assert depth(model, [0.099, 0.01, 0.02, 1, 0, 0, 0]) == pytest.approx(1e-3)
    # A corner edge, turned by 45°, reaches 3 mm into a face.
    reach = 0.05 + 0.05 * np.sqrt(2.0) - 3e-3
    assert depth(model, [reach, 0.0, 0.0, *turn]) == pytest.approx(3e-3)
    # Below the floor.
    assert depth(model, [0.0, 0.0, -0.952, 1, 0, 0, 0]) == pytest.approx(2e-3)


def test_a_wall_that_was_passed_counts_by_the_way_into_the_other() -> None:
    """A finger that has gone 4 mm through a wall of 1 mm: the wall is 4 mm inside the finger."""
    wall = "<geom type='box' size='.0005 .05 .05'/>"
    finger = "<geom type='box' size='.02 .01 .01'/>"
    model = scene(wall, finger)
    assert depth(model, [0.0165, 0, 0, 1, 0, 0, 0]) == pytest.approx(4e-3)
