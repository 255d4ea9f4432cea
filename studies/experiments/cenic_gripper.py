"""Figure 7 of the CENIC paper: forces on a peg between two fingers that fall (VII-B)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from asperity.integrators import Integrator, RungeKutta3
from asperity.simulator import Simulator
from studies.experiments.form import Measured, Paper, Runs, finding, product, says
from studies.experiments.outcome import Panel
from studies.experiments.paper import paper_cenic
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import Look, advance, part, watch
from studies.scenes.cenic_cases import static_gripper

__all__ = ["EXPERIMENTS", "Grip", "grip"]

DURATION = 1.0  # [s]
SAMPLE = 5e-3  # [s]
LANDING = 0.19
"""Free fall ends after 0.18 m, 0.192 s."""
ACCURACY = 1e-3

# The authors' values, and two that hold whatever the accuracy.
_VARIANTS: dict[str, dict[str, float]] = {
    "as published": {},
    "μ = 1": {"friction": 1.0},
    "overlap 0.05 mm": {"overlap": 5e-5},
}
_METHODS: dict[str, Integrator] = {
    "CENIC, 1e-3": paper_cenic(accuracy=ACCURACY),
    "RK3, 1e-3": RungeKutta3(accuracy=ACCURACY, error_norm="position"),
    "CENIC, 1e-5": paper_cenic(accuracy=1e-5),
}
# Change of the force in 5 ms, relative, from which it is noisy.
_NOISE = 0.1
_PAPER: dict[str, str | Paper] = {
    "CENIC, 1e-3": says("smooth, held"),
    "RK3, 1e-3": says("noisy; drops the object later"),
    "CENIC, 1e-5": "–",
}


class Grip(NamedTuple):
    """What happened, sampled."""

    time: np.ndarray
    """[s], shape (n,)."""
    force: np.ndarray
    """Magnitude on the left and the right finger [N], shape (n, 2)."""
    held: bool
    """Whether both fingers touch the peg at the end."""
    slip: float
    """How far the peg was from its place in the fingers at the end [m]."""
    steps: int

    @property
    def noise(self) -> float:
        """Mean change of a force between samples before the landing, over its mean."""
        flying = self.force[self.time < LANDING]
        return float(np.mean(np.abs(np.diff(flying, axis=0))) / np.mean(flying))


def grip(
    integrator: Integrator,
    contact: str = "fields",
    variant: Mapping[str, float] | None = None,
    *,
    duration: float = DURATION,
    progress: Progress = lambda share: None,
) -> Grip:
    """Simulate the gripper that falls with its peg.

    Parameters
    ----------
    integrator : Integrator
    contact : {"fields", "points"}
    variant : mapping of str to float, optional
        Options of `studies.scenes.cenic_cases.static_gripper`.
    duration : float
        [s]
    progress : callable
    """
    simulator, forces = _start(integrator, contact, variant or {})
    time = SAMPLE * np.arange(1, round(duration / SAMPLE) + 1)
    seen = watch(simulator, time, {"force": forces}, part(progress, 0.0, 0.5))
    # Samples cut steps, and with the authors' numbers that decides whether the peg falls.
    simulator, forces = _start(integrator, contact, variant or {})
    start = _peg_in_gripper(simulator)
    advance(simulator, duration, part(progress, 0.5, 1.0))
    return Grip(
        time=time,
        force=seen["force"],
        held=bool(forces(simulator).min() > 0.0),
        slip=float(np.linalg.norm(_peg_in_gripper(simulator) - start)),
        steps=simulator.stats.steps,
    )


def _peg_in_gripper(simulator: Simulator) -> np.ndarray:
    data = simulator.data
    return np.array(data.body("peg").xpos - data.body("gripper").xpos)


def _start(
    integrator: Integrator, contact: str, variant: Mapping[str, float]
) -> tuple[Simulator, Look]:
    """A simulator, and what gives the magnitudes of the fingers' forces."""
    simulator = Simulator(static_gripper(contact, **variant), integrator=integrator)
    simulator.reset("start")
    model = simulator.model
    peg = model.geom("peg").id
    pairs = [sorted((model.geom(name).id, peg)) for name in ("left", "right")]

    def forces(current: Simulator) -> np.ndarray:
        found = current.contacts
        geoms = np.sort(found.geom, axis=1)
        mine = [np.all(geoms == pair, axis=1) for pair in pairs]
        return np.array([np.linalg.norm(found.force[one].sum(axis=0)) for one in mine])

    return simulator, forces


def _measure(runs: Runs) -> Measured:
    for key, found in runs:
        variant, method = key["variant"], key["method"]
        held = "held" if found.held else "dropped"
        grasp = 1e3 * found.slip, found.force[10].mean(), 100 * found.noise, found.steps
        noisy = found.noise > _NOISE
        yield finding(
            f"{variant}, {method}: peg (slip), force and its change in 5 ms, steps",
            (held, *grasp),
            "{} ({:.1f} mm); {:.2f} N; {:.2g} %; {}",
            _PAPER[method] if variant == "as published" else "–",
            judged=bool(noisy != found.held and noisy == method.startswith("RK3")),
        )
    for variant, own in runs.by("variant").items():
        curves = own.curves("{method}", lambda found: (found.time, found.force[:, 0]))
        yield Panel("time [s]", "force of the left finger [N]", curves, variant)


EXPERIMENTS = (
    Experiment(
        "cenic-figure-7",
        "CENIC, figure 7",
        "forces on a peg between two falling fingers",
        lambda variant, method, progress: grip(
            _METHODS[method], "fields", _VARIANTS[variant], progress=progress
        ),
        lambda full: product(variant=_VARIANTS, method=_METHODS),
        _measure,
    ),
)
