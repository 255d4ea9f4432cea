"""Figure 2 of the Midas paper with the whole arm: a Panda lowers a beam into a notch."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from asperity.midas import Midas
from asperity.scenes.gripper_tasks import BEAM_DROP
from asperity.simulator import Simulator
from studies.experiments.engines import SAMPLE, has_ipctk
from studies.experiments.midas_assembly import CLEARANCES, beam_activation
from studies.experiments.outcome import Curve, Finding, Outcome, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import tracked
from studies.scenes.panda_beam import PandaBeam, panda_beam

__all__ = ["EXPERIMENTS", "Assembly", "assemble"]

_STEP = 0.01


class Assembly(NamedTuple):
    """What became of one beam."""

    time: NDArray[np.float64]
    """[s], shape (n,)."""
    path: NDArray[np.float64]
    """Of the beam [m], shape (n, 3)."""
    upright: float
    """z component of the beam's z axis at the end."""
    clearance: float
    """Smallest distance of surfaces at the end of any step [m]."""
    cpu_time: float
    """[s]."""

    @property
    def is_in(self) -> bool:
        """Whether the beam is down, to 0.2 mm, and upright."""
        down = float(self.path[0, 2] - self.path[-1, 2])
        return abs(down - BEAM_DROP) < 2e-4 and self.upright > 0.99999


def assemble(clearance: float, progress: Progress = lambda share: None) -> Assembly:
    """Let the Panda do it with Midas at 10 ms, checked by ``ipctk`` at every step if it is there.

    Parameters
    ----------
    clearance : float
        By how much the notch is wider than the beam [m].

    Raises
    ------
    SimulationError
        If a step fails.
    """
    model, control = panda_beam(clearance), PandaBeam(clearance)
    integrator = Midas(
        time_step=_STEP,
        time_scheme="implicit-euler",
        activation_distance=beam_activation(clearance),
        verify=has_ipctk(),
    )
    simulator = Simulator(
        model, keyframe="start", integrator=integrator, control=control, control_period=_STEP
    )
    beam = model.body("beam").id
    times, path, cpu = [0.0], [simulator.data.xpos[beam].copy()], 0.0
    for mark in SAMPLE * np.arange(1, round(control.duration / SAMPLE) + 1):
        before = time.process_time()
        simulator.advance_to(float(mark))
        cpu += time.process_time() - before
        times.append(float(mark))
        path.append(simulator.data.xpos[beam].copy())
        progress(float(mark) / control.duration)
    upright = float(simulator.data.xmat[beam].reshape(3, 3)[2, 2])
    return Assembly(np.array(times), np.array(path), upright, simulator.clearance or 0.0, cpu)


def _panda_beam(full: bool, progress: Progress) -> Outcome:
    checked = "no intersection" if has_ipctk() else "not checked, not installed (extra 'midas')"
    curves, ends, cpu = [], [], 0.0
    for clearance, own in tracked(CLEARANCES, progress):
        found = assemble(clearance, own)
        down = 1e3 * (found.path[0, 2] - found.path[-1, 2])
        ends.append("in" if found.is_in else f"not in ({down:.2f} of {1e3 * BEAM_DROP:g} mm)")
        cpu += found.cpu_time
        height = 1e3 * (found.path[:, 2] - found.path[0, 2])
        curves.append(Curve(f"{1e3 * clearance:g} mm", found.time, height))
    cases = ", ".join(f"{1e3 * clearance:g}" for clearance in CLEARANCES)
    findings = (
        Finding(f"clearances of {cases} mm", f"{', '.join(ends)}; CPU {cpu:.2g} s", "always in"),
        Finding("every step checked by ipctk", checked, "no intersection"),
    )
    panel = Panel("time [s]", "height of the beam [mm]", tuple(curves), title="Panda and beam")
    return Outcome(findings, (panel,))


EXPERIMENTS = (
    Experiment(
        "midas-figure-2-panda",
        "Midas, figure 2",
        "a whole Panda lowers the beam",
        _panda_beam,
    ),
)
