"""Properties that patches of any two geoms have."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from field_patches import (
    FLOOR,
    Geom,
    Pose,
    at,
    compliant,
    extreme,
    moved,
    patch,
    rigid,
    slab,
    turned,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from asperity.contact.hydroelastic.boxes import level_of
from asperity.contact.hydroelastic.field_layout import SMOOTH
from asperity.contact.hydroelastic.points import angle_weight
from asperity.contact.hydroelastic.shapes import (
    box_mesh,
    capsule_mesh,
    cylinder_mesh,
    ellipsoid_mesh,
)

MESHES = {
    "ball": ellipsoid_mesh([0.05] * 3, 0.02),
    "ellipsoid": ellipsoid_mesh([0.05, 0.03, 0.02], 0.02),
    "box": box_mesh([0.05, 0.06, 0.1]),
    "plate": box_mesh([0.05, 0.04, 0.002]),
    "cylinder": cylinder_mesh(0.05, 0.1, 0.02),
    "disc": cylinder_mesh(0.06, 0.02, 0.02),
    "capsule": capsule_mesh(0.03, 0.05, 0.02),
}
COMPLIANT = {name: compliant(mesh) for name, mesh in MESHES.items()}
RIGID = {name: rigid(mesh) for name, mesh in MESHES.items()}
NAMES = st.sampled_from(sorted(MESHES))
SEEDS = st.integers(0, 2**30)
Z = np.array([0.0, 0.0, 1.0])


def touching(first: str, second: str, seed: int, *, depth: float) -> tuple[Pose, Pose]:
    """Random poses of two shapes that meet corner to corner, and then overlap by a depth."""
    rng = np.random.default_rng(seed)
    a, b = at(turn=turned(rng)), at(turn=turned(rng))
    apart = extreme(MESHES[first], a, Z) - extreme(MESHES[second], b, -Z)
    aside = rng.uniform(-0.5 * depth, 0.5 * depth, size=2)
    return a, Pose(apart + np.array([*aside, -depth]), b.rotation)


def other_side(names: tuple[str, str], hard: bool) -> tuple[Geom, Geom]:
    return COMPLIANT[names[0]], (RIGID if hard else COMPLIANT)[names[1]]


@settings(max_examples=60, deadline=None)
@given(first=NAMES, second=NAMES, seed=SEEDS, hard=st.booleans(), depth=st.floats(1e-4, 5e-3))
def test_exchanging_geoms_turns_forces_round(
    first: str, second: str, seed: int, hard: bool, depth: float
) -> None:
    a, b = other_side((first, second), hard)
    pose_a, pose_b = touching(first, second, seed, depth=depth)
    one = patch(a, b, pose_a, pose_b, normal=Z)
    two = patch(b, a, pose_b, pose_a, normal=-Z)
    scale = max(float(np.linalg.norm(one.forces, axis=1).sum()), 1e-9)
    assert one.force == pytest.approx(-two.force, abs=1e-9 * scale)
    assert one.moment(np.zeros(3)) == pytest.approx(-two.moment(np.zeros(3)), abs=1e-9 * scale)
    order = [np.lexsort(np.round(p.point, 9).T) for p in (one, two)]
    if len(one.point) == len(two.point):
        big = one.area[order[0]] > 1e-12
        assert one.point[order[0]][big] == pytest.approx(two.point[order[1]][big], abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(first=NAMES, second=NAMES, seed=SEEDS, hard=st.booleans())
def test_a_rigid_motion_of_both_moves_the_patch(
    first: str, second: str, seed: int, hard: bool
) -> None:
    a, b = other_side((first, second), hard)
    pose_a, pose_b = touching(first, second, seed, depth=2e-3)
    rng = np.random.default_rng(seed + 1)
    by = at(*rng.normal(size=3), turn=turned(rng))
    still = patch(a, b, pose_a, pose_b, normal=Z)
    there = patch(a, b, moved(pose_a, by), moved(pose_b, by), normal=by.rotation @ Z)
    scale = max(float(np.linalg.norm(still.forces, axis=1).sum()), 1e-9)
    assert there.force == pytest.approx(by.rotation @ still.force, abs=1e-8 * scale)
    assert there.area.sum() == pytest.approx(still.area.sum(), rel=1e-8, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(first=NAMES, second=NAMES, seed=SEEDS, hard=st.booleans(), depth=st.floats(1e-5, 1e-2))
def test_the_search_in_boxes_of_what_pressure_reaches_finds_the_same(
    first: str, second: str, seed: int, hard: bool, depth: float
) -> None:
    a, b = other_side((first, second), hard)
    pose_a, pose_b = touching(first, second, seed, depth=depth)
    # Across, hulls overlap by much more, and no box is cut.
    fine = patch(a, b, pose_a, pose_b, normal=Z)
    wide = patch(a, b, pose_a, pose_b, normal=np.array([1.0, 0.0, 0.0]))
    assert len(fine.point) == len(wide.point)
    assert np.array_equal(np.sort(fine.area), np.sort(wide.area))


def test_levels_contain_their_extent() -> None:
    for extent in (0.0, 1e-9, 4.0**-5, 4.0**-4.5, 4.0**-3, 0.1, 0.25, 0.26, 1.0, 7.0):
        level = level_of(extent)
        assert level == 0 or 4.0**-level >= extent
        assert level == 5 or 4.0 ** -(level + 1) < extent


@settings(max_examples=40, deadline=None)
@given(first=NAMES, second=NAMES, seed=SEEDS, hard=st.booleans())
def test_force_follows_small_motions(first: str, second: str, seed: int, hard: bool) -> None:
    """The force is Lipschitz with about the patch's own stiffness, thin bodies included."""
    a, b = other_side((first, second), hard)
    pose_a, pose_b = touching(first, second, seed, depth=3e-3)
    rng = np.random.default_rng(seed + 2)
    here = patch(a, b, pose_a, pose_b, normal=Z)
    for size in (1e-6, 1e-8):
        step = rng.normal(size=3)
        step *= size / np.linalg.norm(step)
        there = patch(a, b, pose_a, Pose(pose_b.position + step, pose_b.rotation), normal=Z)
        total = max(here.stiffness.sum(), there.stiffness.sum())
        scale = float(np.linalg.norm(here.forces, axis=1).sum())
        assert np.linalg.norm(there.force - here.force) <= 4.0 * total * size + 1e-9 * scale


@settings(max_examples=40, deadline=None)
@given(first=NAMES, second=NAMES, seed=SEEDS, hard=st.booleans(), factor=st.floats(0.1, 10.0))
def test_force_scales_with_the_moduli(
    first: str, second: str, seed: int, hard: bool, factor: float
) -> None:
    a, b = other_side((first, second), hard)
    pose_a, pose_b = touching(first, second, seed, depth=2e-3)
    soft = patch(a, b, pose_a, pose_b, normal=Z)
    stiff = patch(
        a._replace(modulus=factor * a.modulus),
        b._replace(modulus=factor * b.modulus),
        pose_a,
        pose_b,
        normal=Z,
    )
    scale = factor * max(float(np.linalg.norm(soft.forces, axis=1).sum()), 1e-9)
    assert stiff.force == pytest.approx(factor * soft.force, abs=1e-9 * scale)


@settings(max_examples=40, deadline=None)
@given(name=NAMES, seed=SEEDS, depth=st.floats(-1e-3, 5e-3), soft=st.booleans())
def test_half_spaces_push_out_of_themselves(name: str, seed: int, depth: float, soft: bool) -> None:
    rng = np.random.default_rng(seed)
    pose = at(turn=turned(rng))
    low = extreme(MESHES[name], pose, -Z)[2]
    pose = Pose(np.array([0.0, 0.0, -low - depth]), pose.rotation)
    ground = slab(0.03) if soft else FLOOR
    found = patch(ground, COMPLIANT[name], at(), pose)
    # A corner that is a nanometre deep has too small an area to be a patch.
    assert (len(found.point) > 0) == (depth > 0.0) or abs(depth) < 2e-9
    assert np.all(found.pressure >= -1e-6)
    assert np.all(found.point[:, 2] <= 1e-12)
    if depth > 1e-6:
        assert found.force[2] > 0.0
    if not soft:
        assert found.force[:2] == pytest.approx([0.0, 0.0], abs=1e-12 * (1 + found.force[2]))


@settings(max_examples=30, deadline=None)
@given(first=NAMES, second=NAMES, seed=SEEDS, hard=st.booleans(), factor=st.floats(0.1, 10.0))
def test_force_scales_with_the_square_of_lengths(
    first: str, second: str, seed: int, hard: bool, factor: float
) -> None:
    pose_a, pose_b = touching(first, second, seed, depth=2e-3)
    here = patch(*other_side((first, second), hard), pose_a, pose_b, normal=Z)

    def scaled(name: str, *, solid: bool) -> Geom:
        mesh = MESHES[name]
        larger = mesh._replace(vertices=factor * mesh.vertices, depth=factor * mesh.depth)
        return rigid(larger) if solid else compliant(larger)

    there = patch(
        scaled(first, solid=False),
        scaled(second, solid=hard),
        Pose(factor * pose_a.position, pose_a.rotation),
        Pose(factor * pose_b.position, pose_b.rotation),
        normal=Z,
    )
    scale = factor**2 * max(float(np.linalg.norm(here.forces, axis=1).sum()), 1e-9)
    assert there.force == pytest.approx(factor**2 * here.force, abs=1e-9 * scale)


def test_mujoco_lists_every_pair_that_has_a_patch() -> None:
    """Fields are inside of the shapes that MuJoCo collides."""
    shapes = {
        "ball": 'type="sphere" size=".05"',
        "ellipsoid": 'type="ellipsoid" size=".05 .03 .02"',
        "box": 'type="box" size=".05 .06 .1"',
        "plate": 'type="box" size=".05 .04 .002"',
        "cylinder": 'type="cylinder" size=".05 .1"',
        "disc": 'type="cylinder" size=".06 .02"',
        "capsule": 'type="capsule" size=".03 .05"',
    }
    rng = np.random.default_rng(11)
    touched = 0
    for first in shapes:
        for second in shapes:
            model = mujoco.MjModel.from_xml_string(
                "<mujoco><worldbody>"
                + "".join(
                    f"<body><freejoint/><geom {shapes[name]}/></body>" for name in (first, second)
                )
                + "</worldbody></mujoco>"
            )
            data = mujoco.MjData(model)
            for _ in range(20):
                poses = touching(first, second, int(rng.integers(1 << 30)), depth=1e-4)
                for body, pose in enumerate(poses):
                    data.qpos[7 * body : 7 * body + 3] = pose.position
                    mujoco.mju_mat2Quat(
                        data.qpos[7 * body + 3 : 7 * body + 7], pose.rotation.ravel()
                    )
                mujoco.mj_kinematics(model, data)
                mujoco.mj_comPos(model, data)
                mujoco.mj_collision(model, data)
                found = patch(COMPLIANT[first], COMPLIANT[second], *poses, normal=Z)
                touched += len(found.point) > 0
                assert data.ncon > 0 or len(found.point) == 0
    assert touched > 300


def test_the_weight_of_an_angle_has_no_corner() -> None:
    cosines = np.linspace(-1.0, 1.0, 20001)
    weight = np.array([angle_weight(float(c), SMOOTH) for c in cosines])
    assert np.all(weight[cosines >= 0.0] == 1.0)
    assert np.all(weight[cosines <= np.cos(5.0 * np.pi / 8.0)] == 0.0)
    slope = np.diff(weight) / np.diff(cosines)
    assert np.abs(np.diff(slope)).max() < 2e-2
    assert slope.min() >= 0.0
