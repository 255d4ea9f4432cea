"""Memory of the classical integrators: the dynamics' options and results, and stages of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from asperity.compiled import Layout, Table

if TYPE_CHECKING:
    from asperity.integrators.world import World

__all__ = ["CLASSICAL", "STAGES", "STIFF_STEP", "classical_table"]

STAGES = 3

STIFF_STEP = 0
"""Index into ``CLASSICAL.reals``: limits and equalities are as stiff as in such steps [s]."""

CLASSICAL = Layout(
    "classical",
    dynamics="i8",  # compiled entry point, `asperity.integrators.classical.dynamics`
    friction_law="i8",  # of `asperity.contact.laws`
    reals="f8[:]",
    acceleration="f8[:]",  # the result of the last evaluation of the dynamics
    # stages of a step: rates of the displacement in the tangent space, of velocities, activations
    rate="f8[:,:]",
    acceleration_of="f8[:,:]",
    activation_rate="f8[:,:]",
    # combinations of them
    displacement="f8[:]",
    velocity="f8[:]",
    activation="f8[:]",
)


def classical_table(world: World) -> Table:
    """The table of a world's classical integrator, made when it is first asked for."""
    if world.classical is None:
        model = world.plant.model
        world.classical = Table(
            CLASSICAL,
            dynamics=0,
            friction_law=0,
            reals=np.zeros(4),
            acceleration=np.zeros(model.nv),
            rate=np.zeros((STAGES, model.nv)),
            acceleration_of=np.zeros((STAGES, model.nv)),
            activation_rate=np.zeros((STAGES, model.na)),
            displacement=np.zeros(model.nv),
            velocity=np.zeros(model.nv),
            activation=np.zeros(model.na),
        )
        world.table.classical = world.classical.address
    return world.classical
