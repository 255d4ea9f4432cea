"""MCAP files, read back with the library of that format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.media import MediaError, write_mcap

reader = pytest.importorskip("mcap.reader")

SCENE = """
<mujoco model="box and arm">
  <worldbody>
    <geom name="floor" type="plane" size="2 2 1"/>
    <body name="box" pos="0 0 0.1"><freejoint name="free"/><geom name="box" type="box" size=".1 .1 .1" mass="1"/></body>
    <body name="arm" pos="1 0 1"><joint name="hinge" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
</mujoco>
"""
TIMES = [0.0, 0.125, 0.5]


def run(**options: Any) -> asp.Trajectory:
    return asp.simulate(
        SCENE, (0.0, 0.5), integrator=asp.Icf(time_step=1e-3), save_at=TIMES, ctrl=[0.3], **options
    )


def messages(path: Path) -> dict[str, list[tuple[int, Any]]]:
    """Times [ns] and contents of the messages of every topic."""
    found: dict[str, list[tuple[int, Any]]] = {}
    with path.open("rb") as file:
        for schema, channel, message in reader.make_reader(file).iter_messages():
            assert schema.encoding == "jsonschema"
            assert json.loads(schema.data)["title"] == schema.name
            content = json.loads(message.data)
            assert set(content) <= set(json.loads(schema.data)["properties"])
            found.setdefault(channel.topic, []).append((message.log_time, content))
    return found


def test_poses_states_and_contacts_are_those_of_the_trajectory(tmp_path: Path) -> None:
    trajectory = run(contact_forces=True)
    found = messages(write_mcap(tmp_path / "run.mcap", trajectory))
    assert set(found) == {"/tf", "/state", "/contacts"}
    data = mujoco.MjData(trajectory.model)
    for k, time in enumerate(TIMES):
        stamps = {found[topic][k][0] for topic in found}
        assert stamps == {round(1e9 * time)}
        data.qpos[:] = trajectory.qpos[k]
        mujoco.mj_kinematics(trajectory.model, data)
        for one in found["/tf"][k][1]["transforms"]:
            body = data.body(one["child_frame_id"])
            assert one["timestamp"] == {"sec": 0, "nsec": round(1e9 * time)}
            assert [one["translation"][axis] for axis in "xyz"] == pytest.approx(list(body.xpos))
            assert [one["rotation"][axis] for axis in "wxyz"] == pytest.approx(list(body.xquat))
        state = found["/state"][k][1]
        assert state["qpos"]["hinge"] == trajectory.qpos[k, 7]
        assert state["qvel"]["free.vz"] == trajectory.qvel[k, 2]
        assert state["ctrl"] == {"motor": 0.3}
    contacts = found["/contacts"][-1][1]["contacts"]
    assert contacts[0]["geom"] == ["floor", "box"]
    assert sum(abs(one["force"]["z"]) for one in contacts) == pytest.approx(9.81, rel=1e-3)
    assert np.allclose([one["point"]["z"] for one in contacts], 0.0, atol=1e-3)


def test_what_was_not_recorded_is_not_there(tmp_path: Path) -> None:
    found = messages(write_mcap(tmp_path / "run.mcap", run()))
    assert set(found) == {"/tf", "/state"}


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    trajectory = run()
    with pytest.raises(MediaError, match=r"run\.bag does not end in \.mcap"):
        write_mcap(tmp_path / "run.bag", trajectory)
    trajectory.time = trajectory.time - 1.0
    with pytest.raises(MediaError, match=r"begins at -1\.0 s"):
        write_mcap(tmp_path / "run.mcap", trajectory)
    assert list(tmp_path.iterdir()) == []
