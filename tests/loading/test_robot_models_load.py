"""Every robot of the catalogue loads, is supported, and has the parts it should have."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from robots import ROBOTS, Robot

from asperity.plant.model.support import check_supported

pytestmark = [
    pytest.mark.assets,
    # Warnings about the files themselves; those of ours are tested elsewhere.
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.mark.parametrize("entry", ROBOTS, ids=lambda entry: entry.name)
def test_loads_with_the_expected_parts(entry: Robot) -> None:
    model, report = entry.load()
    assert report.source == str(entry.find())
    sizes = (model.nv, model.ngeom, model.nactuator, model.neq, model.ntendon, model.ntree)
    assert sizes == entry.sizes
    assert entry.floating == (model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE)
    for note in check_supported(model):
        assert note.endswith(".")


@pytest.mark.parametrize("entry", ROBOTS, ids=lambda entry: entry.name)
def test_steps_from_its_pose_without_overlaps(entry: Robot) -> None:
    model, _ = entry.load()
    data = mujoco.MjData(model)
    data.qpos = entry.initial_qpos(model)
    mujoco.mj_forward(model, data)
    if entry.path.endswith(".urdf"):
        # The robot does not push itself apart: nothing is deeper than a millimetre.
        assert data.contact.dist.min(initial=0.0) > -1e-3
    for _ in range(10):
        mujoco.mj_step(model, data)
    assert np.all(np.isfinite(data.qpos))
    assert not np.any(data.warning.number)


def test_catalogue_covers_what_it_promises() -> None:
    assert len(ROBOTS) >= 10
    assert len({entry.name for entry in ROBOTS}) == len(ROBOTS)
    assert {"panda", "iiwa14", "allegro", "go2", "g1", "shadow_hand"} <= {e.name for e in ROBOTS}
