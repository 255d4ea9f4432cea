"""Other options of a simulator's integrator, in the middle of a simulation."""

from __future__ import annotations

from asperity.compiled.compilation import compile_kernels
from asperity.contact.delivered import NOTHING
from asperity.errors import ArgumentError
from asperity.integrators import Integrator
from asperity.plant.model.flex_checks import check_flexes
from asperity.simulator.exchange import publish_session, take_over
from asperity.simulator.session import Session

__all__ = ["take_over_options"]


def take_over_options(session: Session, integrator: Integrator) -> None:
    """Let a session, which is claimed, go on with other options of its integrator.

    State, delivered forces, external systems and counters stay; step control begins anew, as after
    a state was written, and so does what a method remembers of earlier steps.

    Raises
    ------
    ArgumentError
        If it is another integrator, or fixed steps were asked for in place of error control or the
        reverse. Nothing has then changed.
    """
    before = session.integrator
    if type(integrator) is not type(before):
        raise ArgumentError(
            f"the simulator runs with {type(before).__name__} and can take other options of it, "
            f"but not {integrator!r}; make another Simulator."
        )
    if (integrator.time_step is None) != (before.time_step is None):
        raise ArgumentError(
            "a simulator cannot change between fixed steps and error control; make another "
            "Simulator."
        )
    check_flexes(session.model, integrator.no_flexes)
    method = integrator.make_method()
    if session.has_systems and not method.takes_systems:
        raise ArgumentError(
            f"{integrator!r} does not take the external systems that the simulator has; make "
            "another Simulator without systems."
        )
    compile_kernels((*method.kernels, *integrator.stepping.kernels), type(integrator).__name__)
    state = session.state()
    session.integrator = integrator
    session.make_world()
    session.set_state(state)
    # As where a state was written: the size of the next step is that of the options that were.
    session.stepping.prepare(session.world)
    take_over(session, anyway=True)
    session.note(session.base.look_at_start(session.world))
    session.note(session.base.notes_on_contact(session.world))
    publish_session(session)
    session.world.delivered.origin = NOTHING
    session.world.forget_evaluations()
