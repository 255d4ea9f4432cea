"""Figure 2 of the Midas paper with the whole arm: a Panda lowers a beam into a notch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from asperity.midas import Midas
from asperity.scenes.gripper_tasks import BEAM_DROP
from asperity.simulator import Simulator
from studies.experiments.engines import SAMPLE, has_ipctk
from studies.experiments.form import Measured, Runs, finding, product, says
from studies.experiments.gripper_runs import checked
from studies.experiments.midas_assembly import CLEARANCES, beam_activation
from studies.experiments.outcome import Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import Samples, watch
from studies.scenes.panda_beam import PandaBeam, panda_beam

__all__ = ["EXPERIMENTS", "Assembly", "assemble"]

_STEP = 0.01
_CLEARANCES = {f"{1e3 * clearance:g} mm": clearance for clearance in CLEARANCES}


class Assembly(NamedTuple):
    """What became of one beam."""

    seen: Samples
    """With the ``path`` of the beam [m]."""
    upright: float
    """z component of the beam's z axis at the end."""
    clearance: float
    """Smallest distance of surfaces at the end of any step [m]."""

    @property
    def down(self) -> float:
        """How far the beam went down [m]."""
        return float(self.seen["path"][0, 2] - self.seen["path"][-1, 2])

    @property
    def is_in(self) -> bool:
        """Whether the beam is down, to 0.2 mm, and upright."""
        return abs(self.down - BEAM_DROP) < 2e-4 and self.upright > 0.99999


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
    times = SAMPLE * np.arange(round(control.duration / SAMPLE) + 1)
    looks = {"path": lambda current: current.data.body("beam").xpos.copy()}
    seen = watch(simulator, times, looks, progress)
    upright = float(simulator.data.body("beam").xmat.reshape(3, 3)[2, 2])
    return Assembly(seen, upright, simulator.clearance or 0.0)


def _measure(runs: Runs) -> Measured:
    found = runs.results
    ends = ", ".join(
        "in" if one.is_in else f"not in ({1e3 * one.down:.2f} of {1e3 * BEAM_DROP:g} mm)"
        for one in found
    )
    cases = ", ".join(f"{1e3 * clearance:g}" for clearance in CLEARANCES)
    values = ends, sum(one.seen.cpu[-1] for one in found)
    quantity, always = f"clearances of {cases} mm", all(one.is_in for one in found)
    yield finding(quantity, values, "{}; CPU {:.2g} s", says("always in"), judged=always)
    yield checked("every step checked by ipctk")

    def height(one: Assembly) -> tuple[np.ndarray, np.ndarray]:
        path = one.seen["path"]
        return one.seen.time, 1e3 * (path[:, 2] - path[0, 2])

    curves = runs.curves("{name}", height)
    yield Panel("time [s]", "height of the beam [mm]", curves, "Panda and beam")


EXPERIMENTS = (
    Experiment(
        "midas-figure-2-panda",
        "Midas, figure 2",
        "a whole Panda lowers the beam",
        lambda name, progress: assemble(_CLEARANCES[name], progress),
        lambda full: product(name=_CLEARANCES),
        _measure,
    ),
)
