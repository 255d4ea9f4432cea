"""All experiments, found by name, glob or group."""

from __future__ import annotations

import dataclasses
import datetime
import fnmatch
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asperity
from asperity.errors import ArgumentError, MissingExtra
from studies.experiments.form import Key, Measured, Runs
from studies.experiments.kept import RESULTS, Kept, save
from studies.experiments.outcome import Film, Finding, Outcome, Panel, draw, write_csv
from studies.experiments.runs import Progress, tracked

__all__ = ["Experiment", "Progress", "experiments", "select"]

# Modules with a tuple ``EXPERIMENTS``.
_MODULES = (
    "cenic_energy",
    "cenic_baselines",
    "cenic_controller_gain",
    "cenic_conveyor",
    "cenic_dish_rack",
    "cenic_gripper",
    "cenic_profile",
    "cenic_speed",
    "cenic_suction",
    "midas_assembly",
    "midas_grasping",
    "midas_panda",
    "peg_figures",
    "peg_transfer",
    "sap_spring_cylinder",
    "sap_solver_figures",
    "sap_convergence",
    "sap_contacts",
    "sap_slip",
    "sap_slip_control",
    "sap_dual_arm",
    "tamsi_bottle",
    "tamsi_box",
    "tamsi_gripper",
    "tamsi_hand",
    "tamsi_work_precision",
)


# Results of the experiments that share runs, in this process.
_SHARED: dict[tuple[Any, ...], Any] = {}


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper: see `studies.experiments.form`.

    Parameters
    ----------
    name : str
        Such as ``sap-figure-5``; the part before the first hyphen is its group.
    source : str
        Paper and figure.
    description : str
        One line.
    simulate : callable
        ``simulate(progress=..., **key)`` does a run of the sweep and returns its result.
    sweep : callable
        ``sweep(full)`` lists the keys; ``full`` asks for the whole of what takes long.
    measure : callable
        ``measure(runs)`` yields the findings and panels, and a film and further files, by their
        names' ends, if there are any.
    shared : bool
        Whether a process does runs once for all experiments with this ``simulate``.
    settings : tuple of str
        What ``sweep`` takes besides, by keyword: the names of options of ``asperity reproduce``.
    """

    name: str
    source: str
    description: str
    simulate: Callable[..., Any]
    sweep: Callable[..., Sequence[Key]]
    measure: Callable[[Runs], Measured]
    shared: bool = False
    settings: tuple[str, ...] = ()

    def compute(
        self, full: bool = False, progress: Progress = lambda share: None, **settings: Any
    ) -> Outcome:
        """Simulate the sweep, and measure."""
        pairs = []
        for key, own in tracked(self.sweep(full, **settings), progress):
            mark = (self.simulate, *key.items())
            if not self.shared:
                pairs.append((key, self.simulate(progress=own, **key)))
                continue
            if mark not in _SHARED:
                _SHARED[mark] = self.simulate(progress=own, **key)
            pairs.append((key, _SHARED[mark]))
        made = list(self.measure(Runs(pairs)))
        return Outcome(
            tuple(one for one in made if isinstance(one, Finding)),
            tuple(one for one in made if isinstance(one, Panel)),
            film=next((one for one in made if isinstance(one, Film)), None),
            attachments=next((one for one in made if isinstance(one, Mapping)), {}),
        )

    @property
    def group(self) -> str:
        """The paper, as the names begin."""
        return self.name.partition("-")[0]

    def run(
        self,
        out_dir: Path,
        *,
        full: bool = False,
        video: bool = False,
        progress: Progress | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Do the experiment and write ``<name>.csv`` and ``<name>.png`` into a folder, and what
        else it has.

        Without Matplotlib there is no plot; the outcome then says why, as for a video.

        Parameters
        ----------
        out_dir : Path
            An existing folder.
        full : bool
            Whether to do all of what takes long.
        video : bool
            Whether to write ``<name>.mp4`` too.
        progress : callable, optional
            See `Progress`.
        settings : mapping, optional
            Of those that the experiment has.

        Raises
        ------
        ArgumentError
            If the experiment has no such setting; nothing has then been done.
        SimulationError
            If a simulation failed.
        MediaError
            If the video cannot be written.
        OSError
            If a file cannot be written.
        """
        self.require(settings or {})
        started = sum(os.times()[:4])
        outcome = self.compute(full, progress or (lambda share: None), **(settings or {}))
        cpu_time = sum(os.times()[:4]) - started
        files = [out_dir / f"{self.name}.csv"]
        write_csv(files[0], outcome.panels)
        for ending, content in outcome.attachments.items():
            files.append(out_dir / f"{self.name}-{ending}")
            files[-1].write_bytes(content)
        failures = []
        plot = out_dir / f"{self.name}.png"
        try:
            draw(plot, outcome.panels, f"{self.source}: {self.description}")
            files.append(plot)
        except MissingExtra as error:
            failures.append(str(error))
        if video:
            from asperity.media import MediaError

            try:
                files.append(self._film(out_dir, outcome))
            except MediaError as error:
                failures.append(str(error))
        return dataclasses.replace(
            outcome, files=tuple(files), plot_failure=" ".join(failures), cpu_time=cpu_time
        )

    def keep(self, outcome: Outcome, path: Path = RESULTS) -> None:
        """Keep what was found, with today's date, for ``docs/experiments.md``."""
        made = (
            datetime.date.today().isoformat(),
            asperity.__version__,
            f"{outcome.cpu_time:.2g}" if outcome.cpu_time < 100.0 else f"{outcome.cpu_time:.0f}",
        )
        save(
            [
                Kept(self.name, one.quantity, one.ours, one.paper, *made, one.verdict)
                for one in outcome.findings
            ],
            path,
        )

    def require(self, settings: Mapping[str, Any]) -> None:
        """Refuse settings that the experiment does not have.

        Raises
        ------
        ArgumentError
            Naming the first of them, and the experiments that have it.
        """
        for name in settings:
            if name not in self.settings:
                others = [e.name for e in experiments() if name in e.settings]
                raise ArgumentError(
                    f"{self.name} has no {name} to choose"
                    + (f"; {', '.join(others)} have." if others else ".")
                )

    def _film(self, out_dir: Path, outcome: Outcome) -> Path:
        from asperity.media import MediaError, write_video

        film = outcome.film
        if film is None:
            raise MediaError(f"{self.name} has no video.")
        path = out_dir / f"{self.name}.mp4"
        return write_video(
            path, film.model, film.time, film.qpos, camera=film.camera, contact=film.contact
        )


def experiments() -> tuple[Experiment, ...]:
    """Every experiment, in the order of the papers' figures."""
    found: list[Experiment] = []
    for name in _MODULES:
        found.extend(importlib.import_module(f"studies.experiments.{name}").EXPERIMENTS)
    return tuple(sorted(found, key=_order))


def _order(experiment: Experiment) -> tuple[str, int]:
    return experiment.group, int("".join(filter(str.isdigit, experiment.name)) or 0)


def select(patterns: Sequence[str]) -> tuple[Experiment, ...]:
    """Experiments by name, by glob (``sap-*``) or by group (``sap``), each once.

    Raises
    ------
    ArgumentError
        If a pattern finds nothing; the message lists the names.
    """
    known = experiments()
    chosen: list[Experiment] = []
    for pattern in patterns:
        found = [e for e in known if e.group == pattern or fnmatch.fnmatchcase(e.name, pattern)]
        if not found:
            names = ", ".join(e.name for e in known)
            raise ArgumentError(f"no experiment is called {pattern!r}; there are {names}.")
        chosen.extend(e for e in found if e not in chosen)
    return tuple(chosen)
