"""A session of a model with options, made anew or made again of what another one knows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import mujoco
from numpy.typing import ArrayLike

from asperity.arguments import as_array, as_number
from asperity.errors import ArgumentError
from asperity.integrators import Integrator
from asperity.loading import load_model
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.simulator.checks import (
    check_arguments,
    check_contact,
    check_history,
    check_integrator,
    check_model,
    check_stiction_tolerance,
    check_threads,
    find_keyframe,
)
from asperity.simulator.exchange import publish_session, take_over
from asperity.simulator.history import HistoryKeeper
from asperity.simulator.sampling import SamplingClock
from asperity.simulator.session import Control, Session
from asperity.simulator.state_vector import exchanged_bits
from asperity.simulator.watcher import Watcher
from asperity.systems import Coupling, ExternalSystem

__all__ = ["new_session", "options_of", "reopened"]


def new_session(
    model: str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
    *,
    integrator: Integrator | None,
    contact: ContactParameters | None,
    control: Control | None,
    control_period: float | None,
    joint_stiction_tolerance: float | None,
    systems: Sequence[ExternalSystem],
    publish: Literal["eager", "lazy"],
    threads: int | None,
    history: int | bool,
    data: mujoco.MjData | None,
    keyframe: int | str | None = None,
    arrays: Mapping[str, ArrayLike | None] | None = None,
    watcher: Watcher | None = None,
    resumes: bool = False,
) -> Session:
    """Make a session, with its initial state published.

    Parameters
    ----------
    model, integrator, contact, control, control_period, joint_stiction_tolerance, systems, publish,
    threads, history, data, keyframe
        As for `Simulator`.
    arrays : mapping, optional
        Initial ``qpos``, ``qvel`` and ``ctrl``, by name.
    watcher : Watcher, optional
        Who looks at its steps.
    resumes : bool
        Whether it goes on from the state of another one, at which the method is not to look.

    Raises
    ------
    ArgumentError, ModelError
        Which names the argument that cannot be used, or what the model has that is not supported.
    """
    if publish not in ("eager", "lazy"):
        raise ArgumentError(f"publish must be 'eager' or 'lazy', got {publish!r}.")
    integrator = check_integrator(integrator)
    model, report = load_model(model)
    check_arguments(model, data, control, systems)
    contact = check_contact(contact)
    notes = check_model(model, integrator)
    clock = SamplingClock(
        float(model.opt.timestep)
        if control_period is None
        else as_number("control_period", control_period)
    )
    if control is None and control_period is not None and not resumes:
        raise ArgumentError(
            f"control_period={control_period!r} has no effect without control, the function that "
            "it is the period of; pass control, or omit control_period."
        )
    joint_stiction_tolerance = check_stiction_tolerance(joint_stiction_tolerance, integrator)
    method = integrator.make_method()
    if systems and not method.takes_systems:
        raise ArgumentError(
            f"{integrator!r} does not take external systems; use any other integrator, such as "
            "Cenic with error_estimate='step-doubling', or a control callback."
        )
    coupling = Coupling(model, systems, evaluated=method.base.evaluates_systems)
    shared = method.base.evaluates_plant or method.base.shares_steps
    session = Session(
        model=model,
        load_report=report,
        integrator=integrator,
        coupling=coupling,
        clock=clock,
        control_period=control_period,
        control=control,
        threads=check_threads(threads, type(integrator).__name__, shared=shared),
        lazy=publish == "lazy",
        watcher=watcher,
        history=HistoryKeeper(model, check_history(history)) if history else None,
    )
    session.note(notes)
    session.make_plant(contact, joint_stiction_tolerance)
    data = mujoco.MjData(model) if data is None else data
    _write_initial_state(model, data, keyframe, {} if arrays is None else arrays)
    session.start_with(data)
    take_over(session)
    if not resumes:
        session.note(session.base.look_at_start(session.world))
    session.note(session.base.notes_on_contact(session.world))
    publish_session(session)
    session.clear_counters()
    return session


def options_of(session: Session) -> dict[str, Any]:
    """The options that `new_session` takes to make a session like this one."""
    return {
        "model": session.model,
        "integrator": session.integrator,
        "contact": session.plant.contact,
        "control": session.control,
        "control_period": session.control_period,
        "joint_stiction_tolerance": session.plant.table.joints.stiction_tolerance,
        "systems": session.coupling.systems,
        "publish": "lazy" if session.lazy else "eager",
        "threads": session.threads,
        "history": False if session.history is None else session.history.most,
    }


def reopened(options: Mapping[str, Any], state: Mapping[str, Any], **further: Any) -> Session:
    """A session of these options that goes on from the state of another one (`Session.state`).

    A simulation depends on addresses in memory, so a copy is made anew, and then given what goes on
    from one call to the next. Everything else follows: every advance begins from the state alone.
    """
    model = options["model"]
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state["inputs"], exchanged_bits(model))
    data.userdata[:] = state["userdata"]
    session = new_session(**options, **further, data=data, resumes=True)
    world = session.world
    session.set_state(state)
    session.base.set_state(world, state["method"])
    if state["stale"]:
        world.current.table.valid = 0
    publish_session(session, quietly=True, lazily=state["stale"])
    world.set_counts(state["world"])
    # What the user has changed since it was published is noticed by the next call.
    session.inputs.write(state["data"])
    return session


def _write_initial_state(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    keyframe: int | str | None,
    arrays: Mapping[str, ArrayLike | None],
) -> None:
    """Write a keyframe, and arrays of ``data`` by name over it; None leaves one as it is.

    Raises
    ------
    ArgumentError
        If the keyframe does not exist or an array has another shape. Nothing has then changed.
    """
    key = None if keyframe is None else find_keyframe(model, keyframe)
    given = {name: as_array(name, values) for name, values in arrays.items() if values is not None}
    for name, array in given.items():
        shape = getattr(data, name).shape
        if array.shape != shape:
            raise ArgumentError(f"{name} must have shape {shape}, got {array.shape}.")
    if key is not None:
        mujoco.mj_resetDataKeyframe(model, data, key)
    for name, array in given.items():
        getattr(data, name)[:] = array
