"""Normals of cylinders and ellipsoids that just touch: none counts that cannot be theirs."""

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
        f"<body><freejoint/><geom {SHAPES[name][0]} mass='1'/></body>" for name in (one, other)
    )
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option gravity='0 0 0'/><asset><mesh name='hull' vertex='{HULL}'/></asset>"
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


@pytest.mark.parametrize(("one", "other"), itertools.combinations(SHAPES, 2))
def test_every_contact_that_overlaps_counts(one: str, other: str) -> None:
    model = _model(one, other)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    random = np.random.default_rng(1)
    found = 0
    for turn in Rotation.random(60, random_state=2):
        way = random.normal(size=3)
        middle = 0.3 * way / np.linalg.norm(way)
        own = Rotation.random(random_state=random.integers(1 << 30))
        # Inwards, until they overlap by more than MuJoCo's tolerance.
        while True:
            _place(sim.data, turn, middle, own)
            reference = mujoco.MjData(model)
            reference.qpos[:] = sim.data.qpos
            mujoco.mj_forward(model, reference)
            if reference.ncon > 0 and reference.contact.dist.max() < -2e-5:
                break
            middle -= 0.002 * way / np.linalg.norm(way)
        sim.advance_to(sim.time)
        assert len(sim.contacts) == reference.ncon
        found += reference.ncon
    assert found >= 60
