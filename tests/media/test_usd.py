"""USD files, read back with the library of that format."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.media import MediaError, write_usd

pxr = pytest.importorskip("pxr", reason="needs usd-core, of the [usd] extra")
pytest.importorskip("mujoco.usd.exporter", reason="needs the package mujoco, of the [usd] extra")

from pxr import Usd, UsdGeom  # noqa: E402

SCENE = """
<mujoco model="box and arm">
  <asset><texture name="checks" type="2d" builtin="checker" width="8" height="8" rgb1="1 0 0"/>
    <material name="checks" texture="checks"/></asset>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="2 2 1" material="checks"/>
    <body name="box" pos="0 0 .5"><freejoint/><geom name="box" type="box" size=".1 .2 .3"/></body>
    <body pos="1 0 1"><joint axis="0 1 0"/>
      <geom name="arm" type="capsule" size=".02" fromto="0 0 0 .3 0 0"/></body>
  </worldbody>
</mujoco>
"""


def run() -> asp.Trajectory:
    times = np.linspace(0.0, 0.4, 11)
    velocity = [1.0, 0, 0, 0, 0, 3.0, 0.5]
    return asp.simulate(SCENE, (0.0, 0.4), save_at=times, qvel=velocity)


def test_what_the_exporter_lacks_is_named(tmp_path: Path) -> None:
    cloth = "<flexcomp name='cloth' type='grid' count='3 3 1' spacing='.1 .1 .1' radius='.01'/>"
    trajectory = asp.simulate(f"<mujoco><worldbody>{cloth}</worldbody></mujoco>", (0.0, 0.01))
    with pytest.raises(MediaError, match="has no flexes"):
        write_usd(tmp_path / "cloth.usdz", trajectory)
    assert not list(tmp_path.iterdir())


def test_geoms_are_where_the_trajectory_has_them(tmp_path: Path) -> None:
    trajectory = run()
    path = write_usd(tmp_path / "run.usdz", trajectory, fps=25)
    assert [one.name for one in tmp_path.iterdir()] == ["run.usdz"]
    stage = Usd.Stage.Open(str(path))
    assert stage.GetTimeCodesPerSecond() == 25
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, 10)
    assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    model = trajectory.model
    data = mujoco.MjData(model)
    meshes = [one for one in stage.Traverse() if one.IsA(UsdGeom.Mesh)]
    for name in ("box", "arm"):
        [mesh] = [one for one in meshes if name in str(one.GetPath()).lower()]
        points = np.array(UsdGeom.Mesh(mesh).GetPointsAttr().Get(0))
        for frame in (0, 4, 10):
            data.qpos[:] = trajectory.qpos[frame]
            mujoco.mj_kinematics(model, data)
            # USD's matrices multiply rows.
            matrix = np.array(UsdGeom.Xformable(mesh).ComputeLocalToWorldTransform(frame))
            found = points @ matrix[:3, :3] + matrix[3, :3]
            geom = model.geom(name).id
            middle = 0.5 * (found.min(axis=0) + found.max(axis=0))
            np.testing.assert_allclose(middle, data.geom_xpos[geom], atol=2e-3)
            turned = (found - data.geom_xpos[geom]) @ data.geom_xmat[geom].reshape(3, 3)
            size = model.geom_size[geom] if name == "box" else [0.02, 0.02, 0.17]
            np.testing.assert_allclose(np.abs(turned).max(axis=0), size, atol=1e-3)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    trajectory = run()
    with pytest.raises(MediaError, match=r"does not end in \.usdz"):
        write_usd(tmp_path / "run.usd", trajectory)
    with pytest.raises(MediaError, match="fps"):
        write_usd(tmp_path / "run.usdz", trajectory, fps=0)
    assert not list(tmp_path.iterdir())
