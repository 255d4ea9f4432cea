"""What a user has changed in the model, taken over by plant, method and external systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asperity.loading import LoadReport
from asperity.plant.support import check_supported
from asperity.simulator.copies import restore_world, take_snapshot

if TYPE_CHECKING:
    from asperity.simulator.machinery import Machinery

__all__ = ["take_over_model"]


def take_over_model(simulator: Machinery) -> bool:
    """Take over what the user has changed in the model, or refuse it with nothing changed.

    All that was copied is copied again, in about a millisecond. Where the change needs memory of
    another shape, as that of a free joint which gets damping, the simulator gets a new world that
    goes on from the present state.

    Returns
    -------
    bool
        Whether there is a new world, to which inputs are to be handed.

    Raises
    ------
    ModelError
        If the model is another mechanism now, or has what cannot be simulated.
    """
    plant, coupling, base = simulator.plant, simulator.coupling, simulator.method.base
    simulator._watch.refuse_other_structure()
    notes = check_supported(
        simulator.model, every_actuator=simulator.integrator.takes_every_actuator
    )
    before = coupling.efforts
    efforts, start = coupling.efforts_of_model()
    base.model_changed(simulator.world)
    other_memory = base.evaluates_plant and plant.needs_other_memory(efforts, before)
    plant.read_model(efforts)
    coupling.take_over(efforts, start)
    if other_memory:
        snapshot = take_snapshot(simulator)
        simulator._make_world()
        restore_world(simulator, snapshot)
    simulator.world.share_evaluation()
    # Its publication knows options of the model.
    simulator._call = None
    simulator.world.forget_evaluations()
    simulator._watch.remember()
    report = simulator.load_report
    new = tuple(note for note in notes if note not in report.notes)
    simulator.load_report = LoadReport(report.source, (*report.notes, *new))
    return other_memory
