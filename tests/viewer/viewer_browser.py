"""A headless browser for tests, by the WebDriver protocol."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    # WebGL without a graphics card.
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    # Nothing but the page that is tested.
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Browser:
    """A page in a headless Chromium."""

    def __init__(self, driver: str) -> None:
        self._session = driver
        """Address of the driver's session."""

    def call(self, command: str, **body: Any) -> Any:
        """Send a command of the protocol."""
        return _call("POST", f"{self._session}/{command}", body)

    def open(self, address: str) -> None:
        """Load a page."""
        self.call("url", url=address)

    def run(self, script: str) -> Any:
        """Run JavaScript and return its result."""
        return self.call("execute/sync", script=script, args=[])

    def screenshot(self) -> np.ndarray:
        """What is seen, shape (height, width, 3), from 0 to 255."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.png())).convert("RGB")).astype(float)

    def png(self) -> bytes:
        """What is seen, as a PNG file."""
        return base64.b64decode(_call("GET", f"{self._session}/screenshot"))

    def click(self, text: str) -> None:
        """Click the button with this text."""
        found = self.call("element", using="xpath", value=f"//button[normalize-space(.)='{text}']")
        self.call(f"element/{next(iter(found.values()))}/click")

    def mouse(self, *moves: tuple[str, Any]) -> None:
        """Press (``"down"``), go to a pixel (``"to"``) and let go (``"up"``) with the mouse."""
        kinds = {"down": "pointerDown", "up": "pointerUp", "to": "pointerMove"}
        actions = []
        for kind, where in moves:
            action: dict[str, Any] = {"type": kinds[kind]}
            if kind == "to":
                action |= {"x": round(where[0]), "y": round(where[1]), "duration": 100}
            else:
                action["button"] = 0
            actions.append(action)
        pointer = {"type": "pointer", "id": "mouse", "actions": actions}
        self.call("actions", actions=[pointer])


@contextlib.contextmanager
def browser(width: int = 1200, height: int = 800) -> Iterator[Browser]:
    """Start a driver and a browser, and end both."""
    assert CHROMIUM is not None
    assert DRIVER is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        driver = subprocess.Popen(
            [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(f"{address}/status")
            flags = [*_FLAGS, f"--window-size={width},{height}", f"--user-data-dir={folder}"]
            options = {"binary": CHROMIUM, "args": flags}
            wanted = {"alwaysMatch": {"goog:chromeOptions": options}}
            session = _call("POST", f"{address}/session", {"capabilities": wanted})
            page = f"{address}/session/{session['sessionId']}"
            try:
                yield Browser(page)
            finally:
                _call("DELETE", page)
        finally:
            driver.terminate()
            driver.wait(timeout=10)


def wait_until(condition: Any, seconds: float = 30.0) -> None:
    """Wait for something that a browser is to bring about."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the browser did not do it in time"
        time.sleep(0.1)


def _wait_for(address: str) -> None:
    def answers() -> bool:
        try:
            return bool(_call("GET", address)["ready"])
        except OSError:
            return False

    wait_until(answers)


def _call(method: str, address: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, method=method)
    request.add_header("Content-Type", "application/json")
    # No proxy: the driver is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from error
