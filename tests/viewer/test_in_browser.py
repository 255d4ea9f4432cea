"""A live view in a headless browser: what is seen, and what a mouse does."""

from __future__ import annotations

import time

import numpy as np
import pytest
from viewer_browser import CHROMIUM, DRIVER, Browser, browser, wait_until

import asperity as asp
from asperity.viewer.live_view import View

pytest.importorskip("viser")
pytest.importorskip("PIL")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None, reason="needs Chromium and ChromeDriver"
    ),
]

# Strong colours of one kind each, which shadows and reflections leave recognisable.
SCENE = """
<mujoco>
  <visual><global fovy="45"/></visual>
  <worldbody>
    <camera name="side" pos="0 -3 0.8" xyaxes="1 0 0 0 0 1"/>
    <geom type="plane" size="5 5 0.1" rgba="0.3 0.3 0.3 1"/>
    <body name="red" pos="-0.4 0 0.9"><freejoint/>
      <geom type="sphere" size="0.15" rgba="1 0 0 1" mass="1"/></body>
    <body name="green" pos="0.3 0 0.151"><freejoint/>
      <geom type="box" size="0.15 0.15 0.15" rgba="0 1 0 1" mass="1"/></body>
  </worldbody>
</mujoco>
"""
COLOURS = {"red": 0, "green": 1}


def centres(picture: np.ndarray) -> dict[str, np.ndarray]:
    """Where the bodies are in a picture: the mean of the pixels of their colours."""
    found = {}
    for name, channel in COLOURS.items():
        others = np.delete(picture, channel, axis=2).max(axis=2)
        mask = (picture[..., channel] > 80.0) & (picture[..., channel] > 2.5 * others)
        # Buttons are green, too.
        mask[:, int(0.7 * mask.shape[1]) :] = False
        assert mask.sum() > 200, f"nothing {name} is seen"
        found[name] = np.argwhere(mask).mean(axis=0)[::-1]
    return found


def projected(view: View, page: Browser, point: np.ndarray) -> np.ndarray:
    """Where a point of the world is to be seen, by the page's own camera [pixels]."""
    (client,) = view.server.get_clients().values()
    camera = client.camera
    width, height = page.run("return [window.innerWidth, window.innerHeight]")
    forward = camera.look_at - camera.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.up_direction)
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    ray = point - camera.position
    scale = 0.5 * height / np.tan(0.5 * camera.fov) / (ray @ forward)
    return np.array([0.5 * width + scale * (ray @ right), 0.5 * height - scale * (ray @ up)])


def test_a_browser_shows_the_simulation_and_pulls_it() -> None:
    view = View(asp.Simulator(SCENE), port=0, camera="side")
    session, data = view.session, view.simulator.data

    def seen() -> dict[str, np.ndarray]:
        # Some pictures later, the page shows what was sent.
        time.sleep(1.0)
        return centres(page.screenshot())

    def agrees(found: dict[str, np.ndarray]) -> None:
        for name, centre in found.items():
            np.testing.assert_allclose(
                centre, projected(view, page, data.body(name).xpos), atol=8.0
            )

    try:
        view.start()
        with browser(900, 650) as page:
            page.open(view.address)
            # Time runs once somebody looks.
            wait_until(lambda: session.playing, 60.0)
            page.click("Pause")
            wait_until(lambda: not session.playing)
            page.click("Reset")
            wait_until(lambda: session.resets == 1)
            before = seen()
            agrees(before)
            page.click("Play")
            wait_until(lambda: data.time > 1.0, 60.0)
            page.click("Pause")
            wait_until(lambda: not session.playing)
            after = seen()
            agrees(after)
            # It has fallen by more than its radius in the picture, and the box has not.
            assert after["red"][1] - before["red"][1] > 50.0
            np.testing.assert_allclose(after["green"], before["green"], atol=5.0)

            page.click("Play")
            wait_until(lambda: session.playing)
            grip = after["green"]
            up = grip - [0.0, 120.0]
            page.mouse(("to", grip), ("down", None), ("to", grip - [0.0, 30.0]), ("to", up))
            wait_until(lambda: data.body("green").xpos[2] > 0.3, 60.0)
            wait_until(lambda: np.abs(data.body("green").cvel).max() < 0.02, 60.0)
            held = seen()
            agrees(held)
            # What is pulled to is where the mouse is; the box hangs from its front below it.
            point, target = session.held
            np.testing.assert_allclose(projected(view, page, target), up, atol=8.0)
            assert 0.05 < target[2] - point[2] < 0.15
            page.mouse(("up", None))
            wait_until(lambda: session.held is None)
            wait_until(lambda: data.body("green").xpos[2] < 0.16, 60.0)
    finally:
        view.close()
