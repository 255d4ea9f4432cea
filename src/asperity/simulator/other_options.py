"""Other options of a simulator's integrator, in the middle of a simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from asperity.compiled.compilation import compile_kernels
from asperity.contact.delivered import NOTHING
from asperity.errors import ModelError
from asperity.integrators import Integrator
from asperity.simulator.copies import restore_world, take_snapshot

if TYPE_CHECKING:
    from asperity.simulator.simulator import Simulator

__all__ = ["take_over_options"]


def take_over_options(simulator: Simulator, integrator: Integrator) -> None:
    """Let a simulator, which must not run, go on with other options of its integrator.

    State, delivered forces, external systems and counters stay; step control begins anew, as after
    a state was written, and so does what a method remembers of earlier steps.

    Raises
    ------
    ModelError
        If it is another integrator, or fixed steps were asked for in place of error control or the
        reverse. Nothing has then changed.
    """
    before = simulator.integrator
    if type(integrator) is not type(before):
        raise ModelError(
            f"the simulator runs with {type(before).__name__}, and {integrator!r} is not another "
            "set of its options; make a simulator of its own for it."
        )
    if (integrator.time_step is None) != (before.time_step is None):
        raise ModelError(
            "fixed steps and error control cannot take each other's place in one simulator; make "
            "another one."
        )
    method = integrator.make_method()
    if simulator.systems and not method.takes_systems:
        raise ModelError(
            f"{integrator!r} does not take the external systems that the simulator has."
        )
    compile_kernels((*method.kernels, *integrator.stepping.kernels), type(integrator).__name__)
    snapshot = take_snapshot(simulator)
    simulator.integrator = integrator
    simulator._make_world()
    # Another scheme may evaluate the plant in other states; what counts is their sum.
    others = len(simulator.world.evaluated_states) - 1
    snapshot = replace(snapshot, evaluations=(sum(snapshot.evaluations), *others * (0,)))
    restore_world(simulator, snapshot)
    # As where a state was written: the size of the next step is that of the options that were.
    simulator._stepping.prepare(simulator.world)
    simulator._inputs.hand_over(simulator.world)
    simulator._note(simulator._base.look_at_start(simulator.world))
    simulator._publish()
    simulator.world.delivered.origin = NOTHING
    simulator.world.forget_evaluations()
