"""A Panda, arm and hand, lowers a beam into a notch that is hardly wider."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from asperity.errors import MissingExtra
from asperity.scenes.gripper_tasks import BEAM_DROP
from studies.experiments.midas_panda import assemble
from studies.scenes.panda_beam import PandaBeam, panda_beam

try:
    panda_beam(1e-3)
except MissingExtra:
    pytest.skip("needs example-robot-data", allow_module_level=True)


def test_the_path_lowers_the_grip_along_a_line():
    clearance = 1e-3
    model, control = panda_beam(clearance), PandaBeam(clearance)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    grip = model.site("grip").id
    start = data.site_xpos[grip].copy()
    reached = []
    for now in np.linspace(0.0, control.duration, 20):
        data.time = now
        control(model, data)
        # Without the load that targets allow for.
        data.qpos[:7] = data.ctrl[:7]
        mujoco.mj_kinematics(model, data)
        reached.append(data.site_xpos[grip] - start)
    moved = np.array(reached)
    assert np.abs(moved[:, :2]).max() < 2e-3
    assert -moved[-1, 2] == pytest.approx(BEAM_DROP, abs=3e-3)
    assert np.all(np.diff(moved[:, 2]) < 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("clearance", [5e-4, 1e-4])
def test_the_beam_goes_in(clearance):
    found = assemble(clearance)
    assert found.is_in
    assert found.clearance > 0.0
    # It never rises by more than it is let go in the beginning.
    assert np.all(np.diff(found.seen["path"][:, 2]) < 1e-5)
