"""Files that a simulation leaves: checked before it starts, written after it ended."""

from __future__ import annotations

import functools
import glob
import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from asperity.errors import ArgumentError, AsperityError, MissingExtra
from asperity.media import MediaError, write_video, write_web_playback
from asperity.media.camera import resolve_camera
from asperity.media.offscreen import OffscreenRenderer
from asperity.media.recording import Recording
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator import Trajectory

# Of figures, what matplotlib draws without further libraries.
_FIGURES = (".png", ".pdf", ".svg")

__all__ = ["Outputs", "check_video_support", "check_web_support"]


@dataclass(frozen=True)
class Outputs:
    """Files to write.

    Parameters
    ----------
    video, html, save : Path, optional
        ``.mp4``, ``.html`` and ``.npz``.
    camera : str or int, optional
        Name or number of a camera of the model; by default one that frames everything that moves.
    fps : float
        Frames per second of simulated time.
    """

    video: Path | None = None
    html: Path | None = None
    save: Path | None = None
    camera: str | int | None = None
    fps: float = 30.0
    contact: ContactParameters | None = None
    """With pressure fields, their patches are shown."""
    plot: Path | None = None
    """Figure of the history."""
    in_parts: bool = False
    """Whether states are saved in several files, with one model beside them."""
    parts: list[Path] = field(default_factory=list)
    """Those that were written."""

    def check(self, model: mujoco.MjModel) -> None:
        """Refuse what could not be written after the simulation.

        Raises
        ------
        ArgumentError, MediaError
            The message names the option, the file or the missing library.
        """
        paths = [("--video", self.video, ".mp4"), ("--html", self.html, ".html")]
        for option, path, suffix in [*paths, ("--save", self.save, ".npz")]:
            if path is not None:
                _check_path(option, path, suffix)
        if self.plot is not None:
            _check_path("--plot", self.plot, *_FIGURES)
            if importlib.util.find_spec("matplotlib") is None:
                raise MissingExtra("--plot needs matplotlib; pip install matplotlib.")
        if self.in_parts and self.save is not None and (there := self._files()):
            raise ArgumentError(
                f"--save-every: {there[0]} and others are there already; remove them, or choose "
                "another name."
            )
        recording = Recording(model, [0.0], [model.qpos0])
        recording.frame_times(self.fps)
        resolve_camera(recording, self.camera, 1.0)
        if self.video is not None:
            check_video_support(model)
        if self.html is not None:
            check_web_support()

    def write(self, trajectory: Trajectory, console: Console) -> list[str]:
        """Write every file; the messages of those that could not be written are returned."""
        failures = []
        bar = Progress(
            TextColumn("Writing {task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        # The states come first: a second Ctrl-C may end what takes longer.
        for path in (self.save, self.plot, self.html, self.video):
            if path is None:
                continue
            try:
                with bar:
                    task = bar.add_task(path.name, total=1.0)
                    self._write(path, trajectory, functools.partial(_show, bar, task))
                    bar.remove_task(task)
            except (AsperityError, OSError) as error:
                failures.append(f"{path} was not written: {error}")
            else:
                names = f"{self.parts[0]} to {self.parts[-1].name}" if self.parts else path
                written = names if path == self.save else path
                console.print(f"Wrote {written}", markup=False, soft_wrap=True)
        return failures

    def save_part(self, trajectory: Trajectory) -> None:
        """Write the next of several files."""
        assert self.save is not None
        number = len(self.parts) + 1
        while (path := self.save.with_suffix(f".{number:04d}.npz")).exists():
            number += 1
        trajectory.save(path, model="beside")
        self.parts.append(path)

    def _files(self) -> list[Path]:
        assert self.save is not None
        return sorted(self.save.parent.glob(f"{glob.escape(self.save.stem)}.[0-9]*.npz"))

    def _write(self, path: Path, trajectory: Trajectory, progress: Callable[[float], None]) -> None:
        if path == self.save:
            if self.in_parts or self.parts:
                self.save_part(trajectory)
            else:
                trajectory.save(path)
            return
        if path == self.plot:
            assert trajectory.history is not None
            trajectory.history.plot().savefig(path, dpi=150)
            return
        write = write_web_playback if path == self.html else write_video
        write(
            path,
            trajectory.model,
            trajectory.time,
            trajectory.qpos,
            fps=self.fps,
            camera=self.camera,
            contact=self.contact,
            progress=progress,
        )


def _show(bar: Progress, task: TaskID, share: float) -> None:
    bar.update(task, completed=share)


def check_video_support(model: mujoco.MjModel) -> None:
    """Refuse a video where OpenGL or the encoder is missing.

    Raises
    ------
    MediaError
        With the command that installs what is missing.
    """
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise MediaError(
            "Writing a video needs the Python package imageio-ffmpeg with its encoder; install it "
            "with 'pip install \"asperity[viz]\"'."
        ) from None
    OffscreenRenderer(model, 16, 16, shadows=False).close()


def check_web_support() -> None:
    """Refuse a web playback where viser is missing.

    Raises
    ------
    MediaError
        With the command that installs it.
    """
    try:
        import viser  # noqa: F401
    except ImportError:
        raise MediaError(
            "Writing a web playback needs the Python package viser; install it with "
            "'pip install \"asperity[viz]\"'."
        ) from None


def _check_path(option: str, path: Path, *suffixes: str) -> None:
    if path.suffix.lower() not in suffixes:
        raise ArgumentError(
            f"{option} {path} does not end in {' or '.join(suffixes)}; rename it to "
            f"'*{suffixes[0]}'."
        )
    if path.is_dir():
        raise ArgumentError(f"{option} {path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise ArgumentError(
            f"{option} {path}: folder {path.parent} does not exist; create it first."
        )
    try:
        # Permissions alone do not tell: root may do everything except on a read-only disk.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            path.open("ab").close()
    except OSError as error:
        raise ArgumentError(
            f"{option} {path} cannot be written ({error.strerror or error}); choose another place."
        ) from None
