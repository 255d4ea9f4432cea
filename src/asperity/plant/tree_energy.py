"""Mechanical energy of kinematic trees in other states, without evaluating those.

It is kinetic energy, with the armature of joints, and the potential energy of gravity, of springs
of hinges and slides, and of springs of fixed tendons. MuJoCo's springs pull with
x (k + k_1 x + k_2 x²), x being the distance from rest.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table, compiled
from asperity.plant.model.armature import armature_of_tendons
from asperity.plant.model.joints import JOINT_DOFS, integers, is_disabled
from asperity.plant.model.kinematic_trees import tendon_trees
from asperity.plant.model.model_view import ELASTIC_TABLE, bare, remembered
from asperity.plant.tree_motion import MOMENT, motion_of_trees
from asperity.plant.trees import base_position

__all__ = ["energy_of_trees", "set_energies", "work_of_gravity"]

_WRAP = mujoco.mjtWrap


@remembered
def set_energies(table: Table, model: mujoco.MjModel) -> None:
    """Fill the table of springs, and which trees' energy `energy_of_trees` knows."""
    known = np.ones(table.ntree, np.int64)
    springs: list[tuple[int, float, float, float, float, float]] = []
    terms: list[tuple[int, float]] = []
    first: list[int] = [0]
    tree: list[int] = []
    off = is_disabled(model, mujoco.mjtDisableBit.mjDSBL_SPRING)
    armature = armature_of_tendons(model)
    for joint in range(0 if off else model.njnt):
        stiffness = (model.jnt_stiffness[joint], *model.jnt_stiffnesspoly[joint])
        owner = int(table.dofs.tree[model.jnt_dofadr[joint]])
        if not np.any(stiffness):
            continue
        if int(model.jnt_type[joint]) in JOINT_DOFS:
            known[owner] = 0
            continue
        at = int(model.jnt_qposadr[joint])
        rest = model.qpos_spring[at]
        springs.append((rest, rest, *stiffness))
        terms.append((at, 1.0))
        first.append(len(terms))
        tree.append(owner)
    for tendon in range(model.ntendon):
        stiffness = (model.tendon_stiffness[tendon], *model.tendon_stiffnesspoly[tendon])
        wraps = range(model.tendon_adr[tendon], model.tendon_adr[tendon] + model.tendon_num[tendon])
        pulled = tendon_trees(model, tendon)
        owners = sorted({int(table.dofs.tree[model.tree_dofadr[one]]) for one in pulled})
        if armature[tendon]:
            known[owners] = 0
        if off or not np.any(stiffness) or not owners:
            continue
        fixed = all(model.wrap_type[k] == _WRAP.mjWRAP_JOINT for k in wraps)
        if not fixed or len(owners) > 1:
            known[owners] = 0
            continue
        terms.extend(
            (int(model.jnt_qposadr[model.wrap_objid[k]]), float(model.wrap_prm[k])) for k in wraps
        )
        springs.append((*model.tendon_lengthspring[tendon], *stiffness))
        first.append(len(terms))
        tree.append(owners[0])
    for body in np.flatnonzero(model.body_gravcomp):
        if table.bodies.tree[body] >= 0:
            known[table.bodies.tree[body]] = 0
    # Their table is made of fields of the model, too.
    bare(model, ELASTIC_TABLE)
    for trees in (table.elastic.particle_tree, table.elastic.twist_tree.ravel()):
        known[trees[trees >= 0]] = 0
    table.springs.known = known
    table.springs.tree = integers(np.array(tree, np.int64))
    table.springs.first = integers(np.array(first, np.int64))
    table.springs.qpos = integers(np.array([at for at, _ in terms], np.int64))
    table.springs.coefficient = np.array([share for _, share in terms], np.float64)
    table.springs.numbers = np.array(springs, np.float64).reshape(len(springs), 5)


@compiled
def work_of_gravity(plant: Table, state: Table, tree: int, qpos: np.ndarray) -> float:
    """Work of gravity on a tree from the origin to where `motion_of_trees` has found it."""
    work = 0.0
    for a in range(3):
        moment = state.work.tree_motion[tree, MOMENT + a]
        if plant.trees.floats[tree]:
            moment += (
                state.mass[plant.trees.block_start[tree]] * qpos[base_position(plant, tree) + a]
            )
        work += plant.gravity[a] * moment
    return work


@compiled
def _add_springs(plant: Table, qpos: np.ndarray, out: np.ndarray) -> None:
    springs = plant.springs
    for k in range(springs.tree.size):
        length = 0.0
        for e in range(springs.first[k], springs.first[k + 1]):
            length += springs.coefficient[e] * qpos[springs.qpos[e]]
        numbers = springs.numbers[k]
        x = max(length - numbers[1], 0.0) + min(length - numbers[0], 0.0)
        out[springs.tree[k]] += (
            x * x * (0.5 * numbers[2] + x * (numbers[3] / 3.0 + 0.25 * x * numbers[4]))
        )


@compiled
def energy_of_trees(
    plant: Table,
    state: Table,
    marked: np.ndarray,
    qpos: np.ndarray,
    qvel: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill the energy of marked trees [J].

    Parameters
    ----------
    plant, state : Table
        The state is evaluated, and lends memory.
    marked : array of int64, shape (ntree,)
        Not 0 for the trees that are wanted.
    qpos, qvel : array
        Shapes (nq,) and (nv,).
    out : array, shape (ntree,)
    """
    motion = state.work.tree_motion
    motion_of_trees(plant, state, marked, qpos, qvel, motion)
    for tree in range(plant.ntree):
        out[tree] = 0.0
        if marked[tree] != 0:
            out[tree] = 0.5 * motion[tree, 0] - work_of_gravity(plant, state, tree, qpos)
    _add_springs(plant, qpos, out)
