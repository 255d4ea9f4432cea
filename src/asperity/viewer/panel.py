"""The panel beside the picture: buttons, choices, sliders and plots."""

from __future__ import annotations

import threading
from typing import Any

import mujoco
import numpy as np

from asperity.plant.model.names import control_names
from asperity.viewer.picture import Picture
from asperity.viewer.plots import RunningPlots
from asperity.viewer.recorder import ViewRecorder
from asperity.viewer.session import Session

__all__ = ["Panel"]

_SPEEDS = (0.01, 0.03, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
_ACCURACIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_TIME_STEPS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
# Wall time between two updates of the status line and of sliders that follow a controller [s].
_PERIOD = 0.2
# Range of the slider of an actuator without a control range.
_UNLIMITED = 1.0
_START = "as it was first shown"
_INITIAL = "initial state of the model"
_RECORD, _END = "Record", "End recording"
_RECORDING = "A playback as one HTML file, of ten minutes at most (the last ones)."


class Panel:
    """viser's panel for a session.

    What users do here is told to the session, which runs in another thread.

    Parameters
    ----------
    server : viser.ViserServer
    session : Session
    picture : Picture
    """

    def __init__(self, server: Any, session: Session, picture: Picture) -> None:
        self._session = session
        self._picture = picture
        self._updated = -np.inf
        self.recorder = ViewRecorder(session.simulator)
        gui = server.gui
        self.status = gui.add_markdown("")
        self._add_run(gui)
        self._add_integrator(gui)
        with gui.add_folder("Plots"):
            self.plots = RunningPlots(server)
        self._add_show(gui)
        self._add_controls(gui)

    def update(self, now: float) -> None:
        """Show what has become of the session, at a wall time [s]."""
        session = self._session
        self.plots.update(session, now)
        self.recorder.sample()
        if now - self._updated < _PERIOD:
            return
        self._updated = now
        self._set(self.play, "disabled", session.playing)
        self._set(self.pause, "disabled", not session.playing)
        self._set(self.record, "label", _END if self.recorder.running else _RECORD)
        self._set(self.status, "content", _status(session))
        for slider, value in zip(self.sliders, session.simulator.data.ctrl, strict=True):
            shown = float(np.clip(value, slider.min, slider.max))
            if abs(slider.value - shown) > slider.step:
                slider.value = shown

    @staticmethod
    def _set(handle: Any, name: str, value: Any) -> None:
        """Assign where it makes a difference: everything assigned is sent."""
        if getattr(handle, name) != value:
            setattr(handle, name, value)

    def _add_run(self, gui: Any) -> None:
        session = self._session
        model = session.simulator.model
        with gui.add_folder("Run"):
            self.play = gui.add_button("Play", color="green")
            self.pause = gui.add_button("Pause", disabled=True)
            self.step = gui.add_button("Step")
            keyframes = [_keyframe(model, k) for k in range(model.nkey)]
            states = [_START, _INITIAL, *keyframes]
            self.state = gui.add_dropdown("Begin at", states, initial_value=_START)
            self.reset = gui.add_button("Reset", color="gray")
            values, present = _choices(_SPEEDS, session.speed)
            self.speed = gui.add_dropdown("Speed", values, initial_value=present)
            self.record = gui.add_button(_RECORD, color="gray", hint=_RECORDING)
        self.play.on_click(lambda _: session.tell(session.play))
        self.pause.on_click(lambda _: session.tell(session.pause))
        self.step.on_click(lambda _: session.tell(session.step))
        self.record.on_click(lambda event: session.tell(self._record, event.client))

        def reset(_: Any) -> None:
            if self.state.value == _START:
                session.tell(session.restart)
            else:
                number = states.index(self.state.value) - 2
                session.tell(session.reset, None if number < 0 else number)

        self.reset.on_click(reset)
        self.state.on_update(lambda event: reset(event) if _by_user(event) else None)
        self.speed.on_update(lambda _: session.tell(session.set_speed, float(self.speed.value)))

    def _record(self, client: Any) -> None:
        """Begin to record, or send the recording to whoever ends it."""
        if not self.recorder.running:
            self.recorder.begin()
            return
        simulator, samples = self._session.simulator, self.recorder.end()
        contact = simulator.contact if self._picture.has_patches else None

        def send() -> None:
            client.send_file_download("asperity.html", self.recorder.page(samples, contact))

        # It takes longer than a picture.
        threading.Thread(target=send, name="asperity recording", daemon=True).start()

    def _add_integrator(self, gui: Any) -> None:
        session = self._session
        integrator = session.simulator.integrator
        controlled = integrator.time_step is None
        option = "accuracy" if controlled else "time_step"
        usual = _ACCURACIES if controlled else _TIME_STEPS
        values, present = _choices(usual, float(getattr(integrator, option)))
        with gui.add_folder(type(integrator).__name__):
            label = "Accuracy" if controlled else "Time step [s]"
            self.option = gui.add_dropdown(
                label,
                values,
                initial_value=present,
                hint="Largest estimated error of a step, in m and rad." if controlled else None,
            )

        def change(event: Any) -> None:
            if _by_user(event):
                session.tell(session.set_option, option, float(self.option.value))

        self.option.on_update(change)

    def _add_show(self, gui: Any) -> None:
        picture, session = self._picture, self._session
        with gui.add_folder("Show"):
            self.points = gui.add_checkbox("Contacts", picture.show_points)
            self.forces = gui.add_checkbox("Forces", picture.show_forces)
            self.force_scale = gui.add_slider("Length of arrows", -2.0, 2.0, 0.1, 0.0)
            self.patches = gui.add_checkbox(
                "Pressure", picture.show_patches, visible=picture.has_patches
            )
            self.seen_through = gui.add_checkbox("See through bodies", picture.has_patches)
            self.pulls = gui.add_checkbox(
                "Mouse pulls bodies", True, hint="Otherwise it turns the picture."
            )

        def show(_: Any) -> None:
            picture.show_points, picture.show_forces = self.points.value, self.forces.value
            picture.show_patches = self.patches.value
            picture.force_scale = 10.0**self.force_scale.value

        for handle in (self.points, self.forces, self.force_scale, self.patches):
            handle.on_update(show)
        self.seen_through.on_update(lambda _: picture.set_seen_through(self.seen_through.value))
        picture.on_drag(self._grip)

        def pulls(_: Any) -> None:
            if self.pulls.value:
                picture.on_drag(self._grip)
            else:
                picture.off_drag()
                session.tell(session.release)

        self.pulls.on_update(pulls)

    def _grip(self, body: int, grip: Any, target: Any, phase: str) -> None:
        session = self._session
        if phase == "start":
            session.tell(session.grab, body, grip)
        if phase == "end":
            session.tell(session.release)
        else:
            session.tell(session.drag, target)

    def _add_controls(self, gui: Any) -> None:
        session = self._session
        model = session.simulator.model
        self.sliders: list[Any] = []
        if not model.nu:
            return
        with gui.add_folder("Controls", expand_by_default=model.nu <= 12):
            if session.controlled:
                controller = gui.add_checkbox(
                    "Controller", True, hint="Off: the sliders are yours."
                )
                controller.on_update(
                    lambda _: session.tell(session.use_controller, controller.value)
                )
            for k, name in enumerate(control_names(model)):
                value = float(session.simulator.data.ctrl[k])
                self.sliders.append(_slider(gui, model, k, name or f"control {k}", value))
                self.sliders[k].on_update(self._on_slider(k))

    def _on_slider(self, control: int) -> Any:
        def moved(event: Any) -> None:
            if _by_user(event):
                session = self._session
                session.tell(session.set_control, control, float(event.target.value))

        return moved


def _slider(gui: Any, model: mujoco.MjModel, control: int, name: str, value: float) -> Any:
    low, high = -_UNLIMITED, _UNLIMITED
    if model.actuator_ctrllimited[control]:
        low, high = (float(x) for x in model.actuator_ctrlrange[control])
    low, high = min(low, value), max(high, value)
    step = (high - low) / 1000.0
    return gui.add_slider(name, low, high, step if step > 0.0 else 1e-3, value)


def _keyframe(model: mujoco.MjModel, number: int) -> str:
    return f"{number}: {model.key(number).name}" if model.key(number).name else str(number)


def _choices(usual: tuple[float, ...], present: float) -> tuple[list[str], str]:
    """Values to choose from, the present one among them."""
    values = sorted({*usual, present}, reverse=True)
    return [f"{value:g}" for value in values], f"{present:g}"


def _by_user(event: Any) -> bool:
    """Whether a person did it; values that this program sets call back, too."""
    return event.client_id is not None


def _status(session: Session) -> str:
    """Time, contacts and what went wrong, in Markdown."""
    simulator = session.simulator
    state = "running" if session.playing else "paused"
    rate = f", {session.rate:.2g} × real time" if np.isfinite(session.rate) else ""
    stats = simulator.stats
    lines = [
        f"**{simulator.time:.3f} s** {state}{rate}",
        f"{len(simulator.contacts.geom)} contacts · {stats.steps} steps · "
        f"{stats.rejections} rejected",
    ]
    if session.message:
        lines.append(f"**{session.message}**")
    return "\n\n".join(lines)
