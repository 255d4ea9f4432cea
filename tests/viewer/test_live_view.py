"""Live views without a browser: what the server shows and says, and how a view ends."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.errors import MissingExtra
from asperity.media import MediaError
from asperity.viewer.address import browser_is_near, directions
from asperity.viewer.live_view import View

viser = pytest.importorskip("viser")

SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="box" pos="0 0 0.3"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
    <body name="arm" pos="0.6 0 0.5"><joint name="shoulder" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.3"/></body>
    <body name="hand" mocap="true" pos="0 2 1"><geom size="0.05"/></body>
  </worldbody>
  <actuator>
    <position name="servo" joint="shoulder" kp="50" kv="2" ctrlrange="-1 2" ctrllimited="true"/>
    <motor name="push" joint="shoulder"/>
  </actuator>
  <keyframe><key name="high" qpos="0 0 2 1 0 0 0 0" mpos="0 2 1"/></keyframe>
</mujoco>
"""


@pytest.fixture
def view():
    shown = View(asp.Simulator(SCENE, integrator=asp.Cenic()), port=0)
    try:
        yield shown
    finally:
        shown.close()


_CLOCK = itertools.count(1)


def turns(view: View, count: int) -> None:
    """What `View.run` does in so many turns, with all the time that they need."""
    for _ in range(count):
        view.session.turn(1 / 60, most=60.0)
        now = next(_CLOCK) / 60
        view.picture.update(view.session, now)
        view.panel.update(now)


def press(handle, client=None, **values) -> None:
    """Do to a handle of viser's what a user does: set its value, and have it call back."""
    for name, value in values.items():
        setattr(handle._impl, name, value)
    for callback in handle._impl.update_cb:
        callback(SimpleNamespace(client_id=0, client=client, target=handle))


def test_what_is_shown_is_where_the_simulation_is(view):
    sim = view.simulator
    view.session.play()
    before = [np.array(mover.handle.position) for mover in view.picture.movers]
    turns(view, 30)
    assert len(view.picture.movers) == 3
    for mover in view.picture.movers:
        np.testing.assert_allclose(mover.handle.position, sim.data.xpos[mover.body], atol=3e-5)
        np.testing.assert_allclose(mover.handle.wxyz, sim.data.xquat[mover.body], atol=3e-5)
    assert before[0][2] - view.picture.movers[0].handle.position[2] > 0.1


def test_contacts_and_forces_are_those_of_the_simulation(view):
    picture = view.picture
    turns(view, 1)
    assert not picture._arrows.visible
    view.session.play()
    turns(view, 60)
    contacts = view.simulator.contacts
    loaded = contacts.normal_force > 0.0
    assert loaded.sum() == 4
    np.testing.assert_allclose(picture._points.points, contacts.point[loaded], atol=1e-6)
    arrows = np.array(picture._arrows.points)
    np.testing.assert_allclose(arrows[:, 0], contacts.point[loaded], atol=1e-6)
    # Parallel to the forces, and as long as they are strong.
    drawn = arrows[:, 1] - arrows[:, 0]
    scale = drawn[:, 2] / contacts.force[loaded][:, 2]
    np.testing.assert_allclose(scale, scale[0], rtol=1e-4)
    np.testing.assert_allclose(drawn, scale[0] * contacts.force[loaded], atol=1e-5)
    press(view.panel.points, value=False)
    press(view.panel.forces, value=False)
    turns(view, 1)
    assert not picture._arrows.visible
    assert not picture._points.visible


def test_patches_are_drawn_in_colours_of_their_pressure():
    contact = asp.ContactParameters(surface="compliant", hydroelastic_modulus=1e6)
    with View(asp.Simulator(SCENE, contact=contact), port=0) as view:
        view.session.play()
        turns(view, 90)
        assert view.simulator.patches.area.sum() == pytest.approx(0.04, rel=0.05)
        assert view.picture._patches.visible
        assert view.picture._largest > 100.0
        # One point and one force for all of a patch.
        patches = view.simulator.patches
        np.testing.assert_allclose(view.picture._points.points, patches.point, atol=1e-6)
        (arrow,) = np.diff(view.picture._arrows.points, axis=1)[:, 0]
        np.testing.assert_allclose(
            arrow / np.linalg.norm(arrow),
            patches.force[0] / np.linalg.norm(patches.force[0]),
            atol=1e-4,
        )
        press(view.panel.patches, value=False)
        turns(view, 30)
        assert not view.picture._patches.visible


def test_the_panel_tells_the_session(view):
    panel, session, sim = view.panel, view.session, view.simulator
    press(panel.play)
    turns(view, 3)
    assert session.playing
    assert "running" in panel.status.content
    assert panel.play.disabled
    press(panel.pause)
    turns(view, 30)
    assert not session.playing
    assert "paused" in panel.status.content
    time_before, step = sim.time, sim.step_size
    press(panel.step)
    turns(view, 1)
    assert sim.time == pytest.approx(time_before + step)
    press(panel.option, value="0.0001")
    press(panel.speed, value="0.25")
    press(panel.sliders[0], value=1.5)
    turns(view, 1)
    assert sim.integrator.accuracy == 1e-4
    assert session.speed == 0.25
    assert sim.data.ctrl[0] == 1.5
    assert (panel.sliders[0].min, panel.sliders[0].max) == (-1.0, 2.0)
    press(panel.state, value="0: high")
    turns(view, 30)
    assert sim.data.qpos[2] == 2.0
    # Sliders show what the controls have become.
    assert panel.sliders[0].value == 0.0
    session.message = "something went wrong"
    turns(view, 30)
    assert "something went wrong" in panel.status.content


def test_bodies_are_pulled_with_the_mouse(view):
    body = view.simulator.model.body("box").id
    mesh = next(m for owner, m in view.picture._moving_meshes() if owner == body)
    dragged = mesh._impl.drag_cb[0].callback

    def drag(phase, **where):
        event = SimpleNamespace(phase=phase, **where)
        with pytest.raises(StopIteration):
            dragged(event).send(None)

    drag("start", start_position=(0.1, 0.0, 0.3), end_position=(0.1, 0.0, 0.3))
    drag("update", start_position=(0.1, 0.0, 0.3), end_position=(0.5, 0.0, 1.0))
    view.session.play()
    turns(view, 120)
    point, target = view.session.held
    np.testing.assert_allclose(target, [0.5, 0.0, 1.0])
    assert np.linalg.norm(point - target) < 0.1
    np.testing.assert_allclose(view.picture._rope.points[0], [point, target], atol=1e-5)
    drag("end", start_position=point, end_position=target)
    turns(view, 1)
    assert view.session.held is None
    assert not view.picture._rope.visible
    press(view.panel.pulls, value=False)
    assert not mesh._impl.drag_cb


def test_a_recording_is_sent_to_whoever_ends_it(view, monkeypatch):
    written = {}

    def write(path, model, time, qpos, **options):
        written.update(time=time, qpos=qpos, mocap_pos=options["mocap_pos"])
        path.write_bytes(b"a page")
        return path

    monkeypatch.setattr("asperity.viewer.recorder.write_web_playback", write)
    turns(view, 5)
    view.session.play()
    press(view.panel.record)
    turns(view, 20)
    assert view.panel.record.label == "End recording"
    sent = []
    press(view.panel.record, SimpleNamespace(send_file_download=lambda *file: sent.append(file)))
    turns(view, 20)
    assert view.panel.record.label == "Record"
    for thread in threading.enumerate():
        if thread.name == "asperity recording":
            thread.join(60.0)
    assert sent == [("asperity.html", b"a page")]
    # From when it began to when it ended, with every picture, and as Newton says.
    time = written["time"]
    assert time[0] == 0.0
    assert 20 <= len(time) <= 22
    assert np.all(np.diff(time) > 0.0)
    height = 0.3 - 0.5 * 9.81 * time**2
    np.testing.assert_allclose(written["qpos"][:10, 2], height[:10], atol=1e-3)
    assert written["mocap_pos"].shape == (len(time), 1, 3)


def test_a_reset_begins_a_recording_anew(view):
    view.session.play()
    view.panel.recorder.begin()
    turns(view, 10)
    view.session.restart()
    turns(view, 5)
    time = [one[0] for one in view.panel.recorder.end()]
    assert 0 < len(time) <= 6
    assert b"<html" in view.panel.recorder.page([(0.0, *_pose(view)), (0.1, *_pose(view))], None)


def _pose(view):
    data = view.simulator.data
    return data.qpos.copy(), data.mocap_pos.copy(), data.mocap_quat.copy()


def test_plots_show_steps_and_rate():
    sim = asp.Simulator(SCENE, integrator=asp.Icf(time_step=2e-3))
    with View(sim, port=0) as view:
        view.session.play()
        turns(view, 120)
        times, taken, following = view.panel.plots._step.data
        assert len(times) > 20
        assert np.all(np.diff(times) > 0.0)
        assert times[-1] <= sim.time
        np.testing.assert_allclose(taken, 2.0)
        np.testing.assert_allclose(following, 2.0)
        # What was sampled last is drawn although time stands.
        view.session.pause()
        turns(view, 30)
        assert view.panel.plots._step.data[0][-1] == view.panel.plots.samples[-1][0]
        view.session.reset()
        turns(view, 1)
        assert len(view.panel.plots.samples) <= 1


def test_a_view_in_a_thread_of_its_own_leaves_the_simulator_behind():
    sim = asp.Simulator(SCENE)
    with asp.view(sim, block=False, port=0, browser=False) as view:
        view.session.tell(view.session.play)
        end = time.monotonic() + 60.0
        while sim.data.time == 0.0:
            assert time.monotonic() < end
            time.sleep(0.01)
    assert view.session.simulator is sim
    reached = sim.time
    assert sim.advance_to(reached + 0.1).success
    # Closing again changes nothing.
    view.close()


def test_bad_options_are_named(monkeypatch):
    sim = asp.Simulator(SCENE)
    with pytest.raises(asp.ArgumentError, match="integrator"):
        asp.view(sim, integrator=asp.Icf(), port=0)
    for speed in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(asp.ArgumentError, match="speed"):
            asp.view(sim, speed=speed, port=0)
    with pytest.raises(MediaError, match="no camera named 'top'"):
        asp.view(sim, camera="top", port=0)
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtra, match=r"asperity\[view\]"):
        asp.view(sim, port=0)


def test_ssh_gets_directions():
    ssh = {"SSH_CONNECTION": "10.0.0.2 50000 192.168.7.9 22", "DISPLAY": ":0"}
    text = directions("127.0.0.1", 8081, ssh)
    assert "http://localhost:8081" in text
    assert re.search(r"ssh -L 8081:localhost:8081 \S+@192\.168\.7\.9", text)
    assert not browser_is_near(ssh)
    assert browser_is_near({"DISPLAY": ":0"})
    assert not browser_is_near({})
    assert "ssh" not in directions("127.0.0.1", 8081, {})
    assert "control the simulation" in directions("0.0.0.0", 8081, ssh)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_command(number, tmp_path):
    model = tmp_path / "scene.xml"
    model.write_text(SCENE)
    command = [sys.executable, "-m", "asperity", "view", str(model), "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"SSH_CONNECTION": "10.0.0.2 50000 192.168.7.9 22"},
    )
    try:
        lines = [process.stdout.readline() for _ in range(2)]
        assert "http://localhost:" in lines[0]
        assert "ssh -L" in lines[1]
        process.send_signal(number)
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert "Traceback" not in rest + errors


def test_a_client_is_sent_the_poses(view):
    """What goes over the wire, as a browser gets it."""
    import msgspec
    import zstandard
    from websockets.sync.client import connect

    def messages(raw: bytes):
        packed = raw[16 : 16 + int.from_bytes(raw[8:16], "little")]
        size = int.from_bytes(raw[:8], "little")
        inner = zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
        return msgspec.msgpack.decode(inner)["messages"]

    name = mujoco.mj_id2name(view.simulator.model, mujoco.mjtObj.mjOBJ_BODY, 1)
    view.session.play()
    turns(view, 20)
    sent = {}
    version = f"viser-v{viser.__version__}"
    with connect(f"ws://localhost:{view.port}", subprotocols=[version], max_size=None) as socket:
        end = time.monotonic() + 30.0
        while "ready" not in sent:
            assert time.monotonic() < end
            for message in messages(socket.recv(timeout=30.0)):
                if message["type"] == "SetPositionMessage":
                    sent[message["name"]] = message["position"]
                if message["type"] == "ReplayDoneMessage":
                    sent["ready"] = True
    shown = next(value for key, value in sent.items() if key.startswith(f"/{name}"))
    np.testing.assert_allclose(shown, view.simulator.data.xpos[1], atol=3e-5)
