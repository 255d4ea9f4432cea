"""Asperity, through its public surface.

Methods: ``"cenic"`` (error-controlled), ``"icf"``, ``"sap"`` and ``"tamsi"`` (fixed step). It loads
the very MJCF that MuJoCo gets; contact parameters travel in it.
"""

from __future__ import annotations

from typing import Any

from studies.benchmarks.engines.base import BodyStates, Counters, Setting
from studies.benchmarks.engines.mujoco_engine import build_mjcf, deepest, states_from
from studies.benchmarks.scene import Scene

# Long enough for the first objects of every scene to have landed, so that all code paths of a
# step are compiled before anything is timed [s].
WARM_UP = 0.2


def _integrator(setting: Setting) -> Any:
    import asperity as asp

    if setting.method == "cenic":
        return asp.Cenic(accuracy=setting.controlled(), max_step=setting.max_step)
    presets = {"icf": asp.Icf, "sap": asp.Sap, "tamsi": asp.Tamsi}
    if setting.method not in presets:
        raise ValueError(f"Asperity has no method {setting.method!r} here")
    return presets[setting.method](time_step=setting.fixed())


class AsperityRun:
    """An Asperity simulator."""

    def __init__(self, scene: Scene, setting: Setting) -> None:
        import asperity as asp

        xml = build_mjcf(scene, setting.time_step or 2e-3)
        self.simulator = asp.Simulator(xml, integrator=_integrator(setting))

    def advance(self, time: float) -> None:
        """Simulate up to ``time`` [s]; a run that stops early is an error, not a fast run."""
        self.simulator.advance_to(time)

    def counters(self) -> Counters:
        """Work done so far."""
        stats = self.simulator.stats
        return Counters(
            steps=stats.steps,
            rejections=stats.rejections,
            iterations=stats.iterations,
            factorizations=stats.factorizations,
            line_search_evaluations=stats.line_search_evaluations,
        )

    def states(self) -> BodyStates:
        """Where the bodies are now."""
        return states_from(self.simulator.model, self.simulator.data)

    def own_penetration(self) -> float:
        """Deepest overlap among the contacts that Asperity publishes [m]."""
        return deepest(self.simulator.data)


def prepare(scene: Scene, setting: Setting) -> AsperityRun:
    """An Asperity simulation at time zero, everything compiled by a throw-away one."""
    AsperityRun(scene, setting).advance(WARM_UP)
    return AsperityRun(scene, setting)
