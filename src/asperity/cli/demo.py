"""``asperity demo``: a robot picks a can out of a bin full of clutter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asperity.cli.exits import FAILED
from asperity.cli.options import Traceback
from asperity.cli.simulate import exit_code
from asperity.errors import ArgumentError, MissingExtra, Status

__all__ = ["demo"]

_CAMERA = "overview"


def demo(
    accuracy: Annotated[
        float, typer.Option(help="Largest estimated position error of a step, in m and rad.")
    ] = 1e-3,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder for the files.", show_default="the current folder"
        ),
    ] = Path(),
    no_video: Annotated[bool, typer.Option("--no-video", help="Do not make the video.")] = False,
    no_html: Annotated[
        bool, typer.Option("--no-html", help="Do not make the 3D playback.")
    ] = False,
    duration: Annotated[float | None, typer.Option(hidden=True)] = None,
    show_traceback: Traceback = False,
) -> int:
    """Let a robot pick a can out of a bin full of clutter and stand it on a plate.

    Writes asperity-demo.mp4 and asperity-demo.html. The exit code is 1 if the pick failed.
    """
    from asperity.cli.console import preparing, print_error, print_notes, results, transient
    from asperity.cli.models import load
    from asperity.cli.outputs import Outputs, check_video_support, check_web_support
    from asperity.cli.runner import run
    from asperity.cli.summary import print_summary
    from asperity.integrators import Cenic
    from asperity.media import MediaError
    from asperity.scenes import pick_from_clutter as scene
    from asperity.simulator import Recorder

    passing, output = transient(), results()
    integrator = Cenic(accuracy=accuracy)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"--out {out} cannot be made ({error.strerror or error}).") from None
    model, notes = load(scene.model_path())
    remarks = list(notes)
    video = html = None
    if not no_video:
        try:
            check_video_support(model)
            video = out / "asperity-demo.mp4"
        except (MediaError, MissingExtra) as error:
            remarks.append(f"no video: {error}")
    if not no_html:
        try:
            check_web_support()
            html = out / "asperity-demo.html"
        except (MediaError, MissingExtra) as error:
            remarks.append(f"no web playback: {error}")
    outputs = Outputs(video, html, camera=_CAMERA)
    outputs.check(model)
    print_notes(passing, remarks)

    with preparing(passing):
        simulator = Recorder(
            model,
            integrator=integrator,
            control=scene.controller(model),
            control_period=scene.CONTROL_PERIOD,
        )
        simulator.reset(scene.KEYFRAME)
        simulator.warm_up()
    finished = run(simulator, scene.DURATION if duration is None else duration, passing)
    print_summary(output, finished)
    failures = outputs.write(finished.trajectory, output)
    for failure in failures:
        print_error(failure)
    output.print(
        f"Every accepted step's estimated position error is below {accuracy:g} (m, rad).",
        soft_wrap=True,
    )
    status = finished.trajectory.status
    if status != Status.SUCCESS:
        if exit_code(status) == FAILED:
            print_error(finished.trajectory.message)
        return exit_code(status)
    picked, sentence = scene.success(model, simulator.data)
    output.print(sentence, style="green" if picked else "red", soft_wrap=True)
    return FAILED if failures or not picked else exit_code(status)
