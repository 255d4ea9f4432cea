"""Memory of the classical integrators: options, stages of a step, Newton's method."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Layout, Table
from asperity.plant.layouts import STATE

__all__ = [
    "CLASSICAL",
    "STAGES",
    "grow_classical",
    "new_classical_table",
    "set_system_states",
]

STAGES = 3

CLASSICAL = Layout(
    "classical",
    dynamics="i8",  # compiled entry point, `asperity.integrators.methods.classical.dynamics`
    solve_stage="i8",  # compiled entry point, `asperity.integrators.methods.classical.stage_newton`
    differentiate="i8",  # compiled entry point of `…classical.jacobian` or `…classical.analytic`
    friction_law="i8",  # of `asperity.contact.laws`
    stiff_step="f8",  # limits and equalities are as stiff as in such steps [s]
    newton_tolerance="f8",  # of the state, in m, m/s, rad, rad/s
    factor_step="f8",  # the c of the factors at hand [s], or 0
    full_newton="i8",
    transition_aware="i8",
    has_jacobian="i8",
    known_contacts="i8",  # how many contacts of the last iterate are kept
    limited="i8",  # updates that the transition-aware line search has cut
    acceleration="f8[:]",  # the result of the last evaluation of the dynamics
    # stages of a step: rates of the displacement in the tangent space, of velocities, activations
    rate="f8[:,:]",
    acceleration_of="f8[:,:]",
    activation_rate="f8[:,:]",
    system_rate="f8[:,:]",  # of the states of external systems
    # combinations of them
    displacement="f8[:]",
    velocity="f8[:]",
    activation="f8[:]",
    system_state="f8[:]",
    # implicit stages: what is known of the stage, and the iterate
    base_displacement="f8[:]",
    base_velocity="f8[:]",
    iterate="f8[:]",
    guess="f8[:]",
    update="f8[:]",
    # derivatives of the acceleration, row by row, and the factors of I − c J_v − c² J_q
    position_jacobian="f8[:]",
    velocity_jacobian="f8[:]",
    factor="f8[:]",
    pivot="i8[:]",
    # contacts of the last iterate
    known_geom="i8[:,:]",
    known_slip="f8[:,:]",  # tangential velocities, world axes [m/s]
    work=STATE,  # where implicit stages iterate
)


def new_classical_table(model: mujoco.MjModel, contacts: int) -> Table:
    """Allocate the memory of a classical method, with room for so many contacts."""
    nv = model.nv
    vectors = (
        "acceleration",
        "displacement",
        "velocity",
        "base_displacement",
        "base_velocity",
        "iterate",
        "guess",
        "update",
    )
    matrices = ("position_jacobian", "velocity_jacobian", "factor")
    table = Table(
        CLASSICAL,
        rate=np.zeros((STAGES, nv)),
        acceleration_of=np.zeros((STAGES, nv)),
        activation_rate=np.zeros((STAGES, model.na)),
        activation=np.zeros(model.na),
        system_rate=np.zeros((STAGES, 0)),
        system_state=np.zeros(0),
        pivot=np.zeros(nv, np.int64),
        **{name: np.zeros(nv) for name in vectors},
        **{name: np.zeros(nv * nv) for name in matrices},
    )
    grow_classical(table, contacts)
    return table


def set_system_states(table: Table, count: int) -> None:
    """Make room for so many states of external systems."""
    table.system_rate = np.zeros((STAGES, count))
    table.system_state = np.zeros(count)


def grow_classical(table: Table, contacts: int) -> None:
    """Make room for so many contacts; those of the last iterate are forgotten."""
    table.known_geom = np.zeros((contacts, 2), np.int64)
    table.known_slip = np.zeros((contacts, 3))
    table.known_contacts = 0
