"""Derivatives of the momentum balance by parameters that need no other evaluation.

The balance is linear in the inertia of a body, f = I a + v ×* I v being the force that it takes
(`asperity.derivatives.balance.rigid_terms`), and parameters of contact laws enter the impulses
alone.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.derivatives.balance.law_slopes import respond
from asperity.derivatives.balance.rigid_terms import inertia_force
from asperity.derivatives.layout import (
    CONTACT_PARAMETER,
    INERTIAL_PARAMETER,
)
from asperity.plant.detection.collision import combine_materials
from asperity.plant.plant_layouts import PLANT
from asperity.plant.trees import is_centred

__all__ = ["add_direct_column", "is_direct"]

# MuJoCo's least coefficient.
_LEAST_FRICTION = 1e-5

# Numbers of a contact's law, in the order of `asperity.contact.combination`.
_NUMBERS = 6


@compiled
def _moves_centres(plant: Table, parameters: Table, index: int) -> bool:
    """Whether a parameter may move the centre of mass of a free body, or one beside its joint."""
    for k in range(parameters.inertial_start[index], parameters.inertial_start[index + 1]):
        tree = plant.bodies.tree[parameters.inertial_body[k]]
        if tree < 0 or plant.trees.spatial[tree] == 0:
            continue
        moment = parameters.inertial_change[k, 6:9]
        if plant.trees.bodies[tree] > 1 or np.any(moment != 0.0) or not is_centred(plant, tree):
            return True
    return False


@compiled
def is_direct(plant: Table, work: Table, index: int) -> bool:
    """Whether a parameter's column is known without another evaluation, after `state_columns`.

    That of an inertia is not where limits or laws of contacts know masses, too, nor where forces
    are not linear in it.
    """
    parameters = work.parameters
    sets = work.sets
    laws = work.laws
    kind = parameters.displaced_kind[index]
    if kind == CONTACT_PARAMETER:
        # The θ-method's law knows A, which has been that of displaced states.
        return bool(work.has_stages == 0 and sets.patches == 0)
    return bool(
        kind == INERTIAL_PARAMETER
        and work.is_closed_form == 1
        and sets.rows == 0
        and laws.uses_mass == 0
        and not _moves_centres(plant, parameters, index)
    )


@compiled
def _turned_inertia(own: np.ndarray, axes: np.ndarray, shift: np.ndarray, out: np.ndarray) -> None:
    """Fill MuJoCo's ten numbers of an inertia in world axes, about a point.

    Parameters
    ----------
    own : numpy.ndarray
        The numbers about another point, in axes of its own.
    axes : numpy.ndarray
        Rotation matrix of these, row by row.
    shift : numpy.ndarray
        From the one point to the other.
    out : numpy.ndarray
    """
    mass = own[9]
    full = ((own[0], own[3], own[4]), (own[3], own[1], own[5]), (own[4], own[5], own[2]))
    turned = np.zeros((3, 3))
    moment = np.zeros(3)
    for i in range(3):
        for k in range(3):
            moment[i] += axes[3 * i + k] * own[6 + k]
        for j in range(3):
            for k in range(3):
                for m in range(3):
                    turned[i, j] += axes[3 * i + k] * full[k][m] * axes[3 * j + m]
    # ∫ (r·r) 1 − r rᵀ, with r = shift + what it was.
    trace = 0.0
    for k in range(3):
        trace += 2.0 * shift[k] * moment[k] + mass * shift[k] * shift[k]
    for i in range(3):
        turned[i, i] += trace
        for j in range(3):
            turned[i, j] -= shift[i] * moment[j] + moment[i] * shift[j]
            turned[i, j] -= mass * shift[i] * shift[j]
    out[0] = turned[0, 0]
    out[1] = turned[1, 1]
    out[2] = turned[2, 2]
    out[3] = turned[0, 1]
    out[4] = turned[0, 2]
    out[5] = turned[1, 2]
    for k in range(3):
        out[6 + k] = moment[k] + mass * shift[k]
    out[9] = mass


@compiled
def _add_inertial(world: Table, work: Table, step: float, index: int, column: np.ndarray) -> None:
    """Add δt times what the inverse dynamics changes by with inertias of bodies."""
    parameters = work.parameters
    motion = work.motion
    rigid = work.rigid
    plant = world.plant
    state = world.current
    inertia = np.zeros(10)
    shift = np.zeros(3)
    force = np.zeros(6)
    momentum = np.zeros(6)
    for k in range(parameters.inertial_start[index], parameters.inertial_start[index + 1]):
        body = parameters.inertial_body[k]
        dof = plant.bodies.last_dof[body]
        if dof < 0:
            continue
        for a in range(3):
            shift[a] = state.mj_xipos[body, a] - motion.com[plant.bodies.root[body], a]
        _turned_inertia(parameters.inertial_change[k], parameters.mj_ximat[body], shift, inertia)
        inertia_force(inertia, rigid.motion_rate[dof], rigid.acceleration[dof], momentum, force)
        m = dof
        while m >= 0:
            for a in range(6):
                column[m] += step * state.cdof[m, a] * force[a]
            m = plant.dofs.parent[m]


@compiled
def _friction(parameters: Table, friction: np.ndarray, a: int, b: int) -> float:
    """MuJoCo's coefficient of sliding friction of two geoms."""
    first = parameters.geom_priority[a]
    second = parameters.geom_priority[b]
    value = max(friction[a], friction[b])
    if first > second:
        value = friction[a]
    elif second > first:
        value = friction[b]
    return float(max(value, _LEAST_FRICTION))


@compiled
def _displace_laws(world: Table, parameters: Table, index: int, kept: np.ndarray) -> None:
    """Let the numbers of contact laws be those of a larger parameter."""
    plant = world.plant
    other = PLANT.at(parameters.displaced_plant[index])
    state = world.current
    contacts = state.contacts
    before = np.zeros(_NUMBERS)
    for c in range(contacts.count):
        a = contacts.geom[c, 0]
        b = contacts.geom[c, 1]
        combine_materials(
            plant, state, a, b, _friction(parameters, parameters.geom_sliding[0], a, b)
        )
        for k in range(_NUMBERS):
            before[k] = state.work.pair_material[k]
        combine_materials(
            other, state, a, b, _friction(parameters, parameters.geom_sliding[1 + index], a, b)
        )
        change = state.work.pair_material
        kept[c, 0] = contacts.stiffness[c]
        kept[c, 1] = contacts.dissipation[c]
        kept[c, 2] = contacts.static_friction[c]
        kept[c, 3] = contacts.dynamic_friction[c]
        kept[c, 4] = contacts.stiction_tolerance[c]
        kept[c, 5] = contacts.relaxation_time[c]
        contacts.stiffness[c] += change[0] - before[0]
        contacts.dissipation[c] += change[1] - before[1]
        contacts.static_friction[c] += change[2] - before[2]
        contacts.dynamic_friction[c] += change[3] - before[3]
        contacts.stiction_tolerance[c] += change[4] - before[4]
        contacts.relaxation_time[c] += change[5] - before[5]


@compiled
def _restore_laws(contacts: Table, kept: np.ndarray) -> None:
    for c in range(contacts.count):
        contacts.stiffness[c] = kept[c, 0]
        contacts.dissipation[c] = kept[c, 1]
        contacts.static_friction[c] = kept[c, 2]
        contacts.dynamic_friction[c] = kept[c, 3]
        contacts.stiction_tolerance[c] = kept[c, 4]
        contacts.relaxation_time[c] = kept[c, 5]


@compiled
def _add_contact(world: Table, work: Table, step: float, index: int, column: np.ndarray) -> None:
    """Subtract Jᵀ ∂γ/∂θ."""
    start = work.start
    motion = work.motion
    laws = work.laws
    parameters = work.parameters
    problem = world.problem
    iterate = problem.iterate
    contacts = world.current.contacts
    count = contacts.count
    if count == 0:
        return
    for c in range(count):
        contacts.signed_distance[c] = motion.contact_distance[c]
        contacts.inverse_mass[c] = laws.inverse_mass[c]
    kept = np.zeros((count, _NUMBERS))
    _displace_laws(world, work.parameters, index, kept)
    respond(laws, problem, contacts, step, -1, 0.0)
    _restore_laws(contacts, kept)
    size = parameters.displaced_sizes[index]
    for i in range(count):
        x = (iterate.g1[i] - laws.side_impulse[0, i, 0]) / size
        y = (iterate.g2[i] - laws.side_impulse[0, i, 1]) / size
        z = (iterate.gn[i] - laws.side_impulse[0, i, 2]) / size
        if x == 0.0 and y == 0.0 and z == 0.0:
            continue
        for j in range(start.qvel.size):
            column[j] -= (
                x * work.jacobian[3 * i, j]
                + y * work.jacobian[3 * i + 1, j]
                + z * work.jacobian[3 * i + 2, j]
            )


@compiled
def add_direct_column(
    world: Table, work: Table, step: float, index: int, column: np.ndarray
) -> None:
    """Add a parameter's derivative of g to a column, if `is_direct`."""
    parameters = work.parameters
    if parameters.displaced_kind[index] == INERTIAL_PARAMETER:
        _add_inertial(world, work, step, index, column)
    else:
        _add_contact(world, work, step, index, column)
