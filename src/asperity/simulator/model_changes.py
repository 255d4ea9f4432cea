"""What a user has changed in model or contact, taken over by plant, method and systems."""

from __future__ import annotations

import mujoco

from asperity.compiled.compilation import compile_kernels
from asperity.contact.delivered import NOTHING
from asperity.integrators import Integrator
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.derived_bounds import DECIDING, update_bounds
from asperity.plant.model.model_view import ModelView
from asperity.plant.model.model_watch import ModelWatch
from asperity.plant.model.resolved_materials import ResolvedMaterials
from asperity.plant.plant import contact_kernels
from asperity.simulator.checks import check_contact, check_model, contact_notes
from asperity.simulator.session import Session

__all__ = ["accept_changes", "take_over_contact", "take_over_materials", "take_over_model"]


def accept_changes(
    watch: ModelWatch,
    model: mujoco.MjModel,
    integrator: Integrator,
    *,
    view: ModelView | None = None,
    many: bool = False,
) -> tuple[str, ...]:
    """See `check_model`, of a model that has changed; bounds that follow from it are found anew.

    A view of the model forgets what has changed.
    """
    watch.refuse_other_structure()
    changed = watch.changed_names()
    if view is not None:
        view.forget(changed)
    notes = check_model(view or model, integrator, many=many)
    if not DECIDING.isdisjoint(changed):
        update_bounds(model)
        if view is not None:
            view.forget(watch.changed_names())
    return notes


def take_over_model(session: Session) -> bool:
    """Take over what the user has changed in the model, or refuse it with nothing changed.

    What was made of the changed fields is made again, in a few milliseconds. A change that needs
    memory of another shape, such as damping of a free joint, gives the session a new world that
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
    view = session.plant.view
    try:
        notes = accept_changes(session.watch, session.model, session.integrator, view=view)
        other_memory = _take_over(session, view)
    except Exception:
        view.forget()
        raise
    session.watch.remember()
    session.note(notes)
    return other_memory


def take_over_contact(session: Session, contact: ContactParameters) -> None:
    """Go on with other contact parameters, as a session that was made with them would.

    Raises
    ------
    ArgumentError, ModelError
        If they are none, or do not fit the model. Nothing has then changed.
    """
    contact = check_contact(contact)
    plant, before = session.plant, session.plant.contact
    if session.base.evaluates_plant:
        compile_kernels(contact_kernels(session.model, contact), "the contact parameters")
    try:
        plant.set_contact_parameters(contact)
        _take_over(session)
    except Exception:
        plant.set_contact_parameters(before)
        _take_over(session)
        raise
    _begin_anew(session)
    unread = contact_notes(contact, session.integrator, session.model)
    judged = session.base.notes_on_contact(session.world)
    session.note((*contact.notes, *unread, *judged, *plant.surfaces.notes))


def take_over_materials(session: Session, materials: ResolvedMaterials) -> None:
    """Go on with other tables of contact parameters."""
    session.plant.set_materials(materials)
    _take_over(session)
    _begin_anew(session)


def _begin_anew(session: Session) -> None:
    """Steps with other parameters say nothing about those to come."""
    session.stepping.prepare(session.world)
    session.world.delivered.origin = NOTHING


def _take_over(session: Session, view: ModelView | None = None) -> bool:
    """Copy again what is copied of model and contact parameters, or what the view has forgotten."""
    plant, coupling, base = session.plant, session.coupling, session.base
    if view is None:
        plant.view.forget()
    before = coupling.efforts
    efforts, start = coupling.efforts_of_model()
    base.model_changed(session.world)
    other_memory, fields = plant.needs_other_memory(efforts, before, view), plant.fields
    plant.read_model(efforts, None if other_memory or efforts != before else view)
    base.plant_changed(session.world)
    other_memory = base.evaluates_plant and (other_memory or plant.fields is not fields)
    coupling.take_over(efforts, start)
    if other_memory:
        state = session.state()
        session.make_world()
        session.set_state(state)
    session.set_sleep()
    session.world.share_evaluation()
    # Its publication knows options of the model.
    session.make_call()
    session.world.forget_evaluations()
    return other_memory
