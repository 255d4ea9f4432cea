"""The step at hand, and what is known of earlier ones."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "TIME",
]

TIME = Layout(
    "time of midas",
    step="f8",  # step of the scheme that forces act over, h or 2h/3 [s]
    whole_step="f8",  # h, of any scheme [s]
    past_levels="i8",  # how many states before the present one the step looks back at
    last_step="f8",  # [s], of BDF2's history, or the usual one if there is none
    rebounded="i8",  # 1 if the last step ended with velocities of restitution
    given="i8",  # 1 if a given state has surfaces that may be thrown apart
    has_history="i8",  # 1 if the state before the present one is known
    smooth_steps="i8",  # how many steps in a row were of second order
    was_free="i8",  # 1 if nothing touched at the end of the last
    past_weight="f8[2]",  # what the two states before count for in a step
    wait="i8",  # steps until BDF2 is tried again
    patience="i8",  # how many that will be after the next impact
    kept="i8",  # 1 if the state before the step is kept, so that the step may be done in parts
    may_be_rough="i8",  # 1 in a step of BDF2, which is given up when it meets with an impact
    sleeping="i8",  # how many links sleep
    has_prediction="i8",  # 1 if the trial state is one
    draft="i8",  # whether a solution is asked for its normal forces only: `WHOLE` ...
    # Of restitution (`rebounds`): the gradient without contacts, and what the change of the trial
    # state is divided by for one of velocities [s].
    rebound_gradient="f8[variables]",
    rebound_share="f8",
)
"""The step at hand, and what is known of earlier ones."""
