"""Memory of the classical integrators: options, stages of a step, Newton's method."""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.plant.plant_layouts import STATE

__all__ = ["CLASSICAL", "STAGES"]

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
    acceleration="f8[nv]",  # the result of the last evaluation of the dynamics
    # stages of a step: rates of the displacement in the tangent space, of velocities, activations
    rate=f"f8[{STAGES}, nv]",
    acceleration_of=f"f8[{STAGES}, nv]",
    activation_rate=f"f8[{STAGES}, na]",
    system_rate=f"f8[{STAGES}, system_states]",  # of the states of external systems
    # combinations of them
    displacement="f8[nv]",
    velocity="f8[nv]",
    activation="f8[na]",
    system_state="f8[system_states]",
    # implicit stages: what is known of the stage, and the iterate
    base_displacement="f8[nv]",
    base_velocity="f8[nv]",
    iterate="f8[nv]",
    guess="f8[nv]",
    update="f8[nv]",
    # derivatives of the acceleration, row by row, and the factors of I − c J_v − c² J_q
    position_jacobian="f8[nv * nv]",
    velocity_jacobian="f8[nv * nv]",
    factor="f8[nv * nv]",
    pivot="i8[nv]",
    # contacts of the last iterate
    known_geom="i8[contacts, 2]",
    known_slip="f8[contacts, 3]",  # tangential velocities, world axes [m/s]
    work=STATE,  # where implicit stages iterate
)
