"""Normals of contacts are those of their geoms, also of edges and of what just touches."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import asperity as asp

SHAPES = {
    "box": ('type="box" size=".3 .15 .04"', 0.04),
    "hull": ('type="mesh" mesh="hull"', 0.05),
    "cylinder": ('type="cylinder" size=".05 .1" euler="90 0 0"', 0.05),
    "standing": ('type="cylinder" size=".05 .1"', 0.1),
    "ellipsoid": ('type="ellipsoid" size=".1 .08 .05"', 0.05),
}
"""Geoms, and how high they are above their middles."""
STONE = " ".join(f"{c:.4f}" for c in np.random.default_rng(3).normal(size=42) * 0.04)
HULL = " ".join(
    f"{x} {y} {z}" for x, y, z in itertools.product((-0.2, 0.2), (-0.2, 0.2), (-0.05, 0.05))
)
PAIRS = [
    ("box", "cylinder"),
    ("hull", "cylinder"),
    ("box", "ellipsoid"),
    ("box", "standing"),
    ("cylinder", "cylinder"),
    ("ellipsoid", "standing"),
]


def _model(one: str, other: str) -> mujoco.MjModel:
    bodies = "".join(
        f"<body><freejoint/><geom {OTHERS[name][0]} mass='1'/></body>" for name in (one, other)
    )
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option gravity='0 0 0'/><asset><mesh name='hull' vertex='{HULL}'/>"
        f"<mesh name='stone' vertex='{STONE}'/></asset>"
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


def _place(data: mujoco.MjData, turn: Rotation, middle: np.ndarray, own: Rotation) -> None:
    """Put the second body beside the first one, and turn both."""
    data.qpos[:7] = [0.0, 0.0, 0.0, *turn.as_quat(scalar_first=True)]
    data.qpos[7:10] = turn.apply(middle)
    data.qpos[10:] = (turn * own).as_quat(scalar_first=True)


@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.parametrize("overlap", [1e-7, 1e-8, 1e-10, 0.0])
def test_of_what_just_touches_no_normal_is_wrong(one: str, other: str, overlap: float) -> None:
    sim = asp.Simulator(_model(one, other), integrator=asp.Icf(time_step=1e-3))
    height = SHAPES[one][1] + SHAPES[other][1] - overlap
    turns = Rotation.random(60, random_state=0)
    for turn in turns:
        _place(sim.data, turn, np.array([0.0, 0.0, height]), Rotation.identity())
        sim.advance_to(sim.time)
        up = turn.apply([0.0, 0.0, 1.0])
        assert np.all(np.abs(sim.contacts.normal @ up) > 0.9)


OTHERS = {
    **SHAPES,
    "capsule": ('type="capsule" size=".04 .08"', 0.0),
    "stone": ('type="mesh" mesh="stone"', 0.0),
}


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations_with_replacement(OTHERS, 2)))
def test_what_moves_along_a_normal_by_its_overlap_parts(one: str, other: str) -> None:
    """That is what an overlap is, of all pairs of shapes in all poses."""
    model = _model(one, other)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    reference = mujoco.MjData(model)
    random = np.random.default_rng(1)

    def distance(pose: np.ndarray, shift: np.ndarray | None = None) -> float:
        reference.qpos[:] = pose
        if shift is not None:
            reference.qpos[7:10] += shift
        mujoco.mj_kinematics(model, reference)
        return float(mujoco.mj_geomDistance(model, reference, 0, 1, 1.0, None))

    for turn in Rotation.random(80, random_state=2):
        way = random.normal(size=3)
        way /= np.linalg.norm(way)
        own = Rotation.random(random_state=random.integers(1 << 30))
        overlap = 10.0 ** random.uniform(-4.5, -3.0)
        near, far = 0.0, 0.5
        while far - near > 1e-9:
            middle = 0.5 * (near + far)
            _place(sim.data, turn, middle * way, own)
            near, far = (near, middle) if distance(sim.data.qpos) > -overlap else (middle, far)
        sim.advance_to(sim.time)
        contacts = sim.contacts
        assert len(contacts) > 0
        deepest = max(overlap, -float(contacts.signed_distance.min()))
        for geoms, normal in zip(contacts.geom, contacts.normal, strict=True):
            sign = 1.0 if geoms[0] == 0 else -1.0
            parted = distance(sim.data.qpos, sign * deepest * normal)
            assert parted >= -0.05 * overlap - 4e-6


GAP = 0.03
"""Half of the way between two edges [m]."""


@pytest.mark.parametrize("roller", ["cylinder", "capsule"])
@pytest.mark.parametrize("rail", ["box", "mesh"])
@pytest.mark.parametrize("method", [asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3)])
def test_a_roller_rests_between_two_edges(method: asp.Integrator, rail: str, roller: str) -> None:
    corners = " ".join(
        f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.5, 0.5) for z in (-0.05, 0.05)
    )
    geom = "type='box' size='.1 .5 .05'" if rail == "box" else "type='mesh' mesh='rail'"
    sim = asp.Simulator(
        f"<mujoco><asset><mesh name='rail' vertex='{corners}'/></asset><worldbody>"
        f"<geom {geom} pos='{-0.1 - GAP} 0 -.05'/><geom {geom} pos='{0.1 + GAP} 0 -.05'/>"
        f"<body pos='0 0 .045'><freejoint/><geom type='{roller}' size='.05 .1' euler='90 0 0' "
        "mass='1'/></body></worldbody></mujoco>",
        integrator=method,
    )
    assert sim.advance_to(3.0).success
    assert np.abs(sim.data.qvel).max() < 1e-4
    np.testing.assert_allclose(sim.data.qpos[:3], [0.0, 0.0, 0.04], atol=2e-4)


@pytest.mark.parametrize("speed", [0.4, 0.8])
@pytest.mark.parametrize("method", [asp.Icf(time_step=1e-3), asp.Cenic(accuracy=1e-3)])
def test_a_wheel_climbs_a_step(method: asp.Integrator, speed: float) -> None:
    """The impact keeps the angular momentum about the edge, and climbing keeps the energy."""
    radius, step, mass, inertia = 0.05, 0.005, 1.0, 1.25e-3
    sim = asp.Simulator(
        "<mujoco><default><geom friction='1'/></default><worldbody>"
        f"<geom type='plane' size='5 5 1'/><geom type='box' size='.3 .5 {step / 2}' "
        f"pos='.5 0 {step / 2}'/><body pos='0 0 {radius}'><freejoint/><inertial pos='0 0 0' "
        f"mass='{mass}' diaginertia='.004 {inertia} .004'/>"
        f"<geom type='cylinder' size='{radius} .1' euler='90 0 0'/></body></worldbody></mujoco>",
        integrator=method,
        contact=asp.ContactParameters(stiffness=1e6, dissipation=20.0),
    )
    sim.data.qvel[0], sim.data.qvel[4] = speed, speed / radius
    assert sim.advance_to(0.35 / speed).success
    about_edge = inertia + mass * radius**2
    spin = speed / radius * (inertia + mass * radius * (radius - step)) / about_edge
    square = (radius * spin) ** 2 - 2 * mass * 9.81 * step * radius**2 / about_edge
    assert sim.data.qvel[0] == pytest.approx(np.sqrt(square), rel=0.04)
