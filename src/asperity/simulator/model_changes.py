"""What a user has changed in the model, taken over by plant, method and external systems."""

from __future__ import annotations

from asperity.plant.model.support import check_supported
from asperity.simulator.session import Session

__all__ = ["take_over_model"]


def take_over_model(session: Session) -> bool:
    """Take over what the user has changed in the model, or refuse it with nothing changed.

    All that was copied is copied again, in about a millisecond. Where the change needs memory of
    another shape, as that of a free joint which gets damping, the session gets a new world that
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
    plant, coupling, base = session.plant, session.coupling, session.base
    session.watch.refuse_other_structure()
    notes = check_supported(
        session.model,
        every_actuator=session.integrator.takes_every_actuator,
        every_friction=session.integrator.takes_every_friction,
        no_flexes=session.integrator.no_flexes,
    )
    before = coupling.efforts
    efforts, start = coupling.efforts_of_model()
    base.model_changed(session.world)
    other_memory = base.evaluates_plant and plant.needs_other_memory(efforts, before)
    plant.read_model(efforts)
    coupling.take_over(efforts, start)
    if other_memory:
        state = session.state()
        session.make_world()
        session.set_state(state)
    session.world.share_evaluation()
    # Its publication knows options of the model.
    session.call = None
    session.world.forget_evaluations()
    session.watch.remember()
    session.note([note for note in notes if note not in session.load_report.notes])
    return other_memory
