"""``asperity rollout MODEL``."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asperity.cli.exits import FAILED, SUCCESS
from asperity.cli.options import ModelPath
from asperity.cli.setup import Setup
from asperity.errors import ArgumentError, Status

if TYPE_CHECKING:
    import mujoco
    import numpy as np
    from rich.console import Console

    from asperity.worlds import Batch

__all__ = ["rollout"]


def rollout(
    model: ModelPath,
    worlds: Annotated[int, typer.Option(help="How many there are.")] = 256,
    duration: Annotated[float, typer.Option(help="Simulated time, in s.")] = 1.0,
    threads: Annotated[
        int | None, typer.Option(help="Threads.", show_default="as many as processors")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    velocity: Annotated[
        float,
        typer.Option(help="Standard deviation of the initial velocities, in m/s and rad/s."),
    ] = 0.1,
    control: Annotated[
        float,
        typer.Option(
            help="Part of the actuators' ranges in which random controls are, anew at every step; "
            "0 for none."
        ),
    ] = 0.5,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Times, states, controls and sensors of every world and step, and statuses.",
            show_default=False,
        ),
    ] = None,
    **options: Any,
) -> int:
    """Simulate many worlds of a model at once, and print the speed.

    Every world has its own velocities and controls. A seed gives the same worlds
    for any number of threads.
    """
    if worlds < 1:
        raise ArgumentError(f"--worlds must be positive, got {worlds}.")
    if not 0.0 < duration < float("inf"):
        raise ArgumentError(f"--duration must be a positive, finite number, got {duration}.")
    if not 0.0 <= velocity < float("inf"):
        raise ArgumentError(f"--velocity must be finite and not negative, got {velocity}.")
    if not 0.0 <= control <= 1.0:
        raise ArgumentError(f"--control must be between 0 and 1, got {control}.")
    if seed < 0:
        raise ArgumentError(f"--seed must not be negative, got {seed}.")
    if save is not None and save.suffix != ".npz":
        raise ArgumentError(f"--save {save} does not end in .npz; rename it to '*.npz'.")
    setup = Setup.read(model, options)

    import numpy as np

    from asperity.cli.console import preparing, print_notes, results, transient
    from asperity.worlds import Batch

    passing, output = transient(), results()
    print_notes(passing, setup.notes)
    random = np.random.default_rng(seed)
    with preparing(passing):
        batch = Batch(
            setup.model,
            worlds,
            integrator=setup.integrator,
            contact=setup.contact,
            threads=threads,
        )
        batch.reset(keyframe=setup.keyframe)
        batch.reset(
            keyframe=setup.keyframe,
            qvel=batch.qvel + velocity * random.normal(size=batch.qvel.shape),
        )
    record, wall_time = _run(batch, duration, control, random, passing)
    _print(output, batch, wall_time)
    if save is not None:
        _save(save, batch, record)
        output.print(f"saved   {save}", markup=False)
    return FAILED if batch.status.any() else SUCCESS


def _run(
    batch: Batch, duration: float, share: float, random: np.random.Generator, console: Console
) -> tuple[dict[str, list[np.ndarray]], float]:
    """Step until the duration is over; returns what there was after every step, and the time."""
    from rich.progress import track

    step = batch.integrator.time_step
    step = float(batch.model.opt.timestep) if step is None else step
    low, high = _range(batch.model, share)
    names = ("time", "qpos", "qvel", "act", "ctrl", "sensordata")
    record: dict[str, list[np.ndarray]] = {name: [] for name in names}
    wall_time = 0.0
    count = max(1, round(duration / step))
    for _ in track(range(count), "Simulating …", console=console, transient=True):
        batch.ctrl = random.uniform(low, high, batch.ctrl.shape)
        started = time.perf_counter()
        batch.step()
        wall_time += time.perf_counter() - started
        for name in names:
            record[name].append(getattr(batch, name).copy())
    return record, wall_time


def _range(model: mujoco.MjModel, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest random controls: those without a range are between −1 and 1."""
    import numpy as np

    low, high = np.full(model.nu, -1.0), np.full(model.nu, 1.0)
    limited = model.actuator_ctrllimited.astype(bool)
    low[limited], high[limited] = model.actuator_ctrlrange[limited].T
    if share == 0.0:
        return np.zeros(model.nu), np.zeros(model.nu)
    middle, reach = 0.5 * (low + high), 0.5 * share * (high - low)
    return middle - reach, middle + reach


def _print(output: Console, batch: Batch, wall_time: float) -> None:
    simulated = float(batch.time.sum())
    stats = batch.stats
    output.print(
        f"worlds  {batch.count} on {batch.threads} thread{'s' if batch.threads > 1 else ''}\n"
        f"time    {simulated:.6g} s simulated in {wall_time:.3g} s: "
        f"{simulated / max(wall_time, 1e-9):.4g} times real time\n"
        f"steps   {stats.steps}, {stats.steps / max(wall_time, 1e-9):.4g} per second, "
        f"{stats.rejections} rejected",
        markup=False,
    )
    failed = Counter(int(status) for status in batch.status if status != Status.SUCCESS)
    for status, count in sorted(failed.items()):
        first = int((batch.status == status).argmax())
        output.print(
            f"failed  {count}, the first of them world {first}: {Status(status).message}",
            markup=False,
            soft_wrap=True,
        )


def _save(path: Path, batch: Batch, record: dict[str, list[np.ndarray]]) -> None:
    """Write arrays with the world first, then the step."""
    import numpy as np

    from asperity.simulator.atomic_files import replaced

    try:
        with replaced(path) as file:
            arrays: dict[str, Any] = {n: np.stack(parts, axis=1) for n, parts in record.items()}
            np.savez_compressed(file, status=batch.status, **arrays)
    except OSError as error:
        raise ArgumentError(
            f"--save {path} cannot be written ({error.strerror or error})."
        ) from None
