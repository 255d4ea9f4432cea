"""The incremental potential of a step: what Newton's method minimizes (IPC, algorithm 1)."""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled
from asperity.midas.energy.contact_terms import contact_energy
from asperity.midas.energy.equality_terms import equality_energy, equality_rounding
from asperity.midas.energy.friction_terms import friction_energy
from asperity.midas.energy.joint_terms import joint_energy
from asperity.midas.energy.link_terms import link_energy, link_rounding
from asperity.midas.energy.turn_terms import turn_energy
from asperity.midas.soft.calls import ENERGY, ask_soft

__all__ = ["energy_rounding", "incremental_potential"]

# Relative round-off of a coordinate, in which growth of the energy says nothing.
_ROUNDING = 1e-15


@compiled
def incremental_potential(engine: Table, at_trial: int) -> float:
    """Incremental potential [J s²] of the iterate, or of the trial state; candidates are measured.

    ``at_trial`` is 1 for the trial state.
    """
    engine.newton.at_trial = at_trial
    q = engine.poses.q_trial if at_trial == 1 else engine.poses.q_now
    angle = engine.joints.trial if at_trial == 1 else engine.joints.now
    contact = contact_energy(engine)
    if contact == math.inf:
        return math.inf
    total = (
        link_energy(engine)
        + contact
        + friction_energy(engine)
        + joint_energy(engine, angle)
        + equality_energy(engine, q, angle)
        + turn_energy(engine, q)
    )
    ask_soft(engine, ENERGY)
    return total + engine.soft.energy


@compiled
def energy_rounding(engine: Table, energy: float) -> float:
    """Growth of the energy that round-off of the present state may pretend."""
    return _ROUNDING * (
        abs(energy)
        + link_rounding(engine, engine.poses.q_now)
        + equality_rounding(engine, engine.poses.q_now, engine.joints.now)
    )
