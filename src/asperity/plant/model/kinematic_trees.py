"""Kinematic trees, and which of them the solvers take for one.

A row of the constraint set belongs to two trees at most, as contacts do: the solvers' matrices have
a block for every pair of trees. A tendon can run over more of them, and so can a point of a flex
whose vertices slide along one axis or two. Such trees, and those between them, are then one tree to
the solvers, whose branches are cut into chains as those of any robot. All of a flex is in such a
tree, or nothing of it.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.errors import ModelError
from asperity.plant.model.armature import armature_of_dofs, armature_of_tendons
from asperity.plant.model.flexes import (
    flex_particles,
    free_particles,
    moving_particles,
    particle_bodies,
)
from asperity.plant.model.joints import integers, is_disabled
from asperity.plant.model.model_view import remembered
from asperity.plant.model.names import element

__all__ = ["coupled_trees", "has_other_trees", "set_trees", "tendon_trees"]

_ROW_TREES = 2


def set_trees(table: Table, model: mujoco.MjModel, asks_mujoco: bool) -> None:
    """Fill the tables of trees, bodies and degrees of freedom.

    Parameters
    ----------
    table : Table
    model : mujoco.MjModel
    asks_mujoco : bool
        Whether inertia is MuJoCo's.

    Raises
    ------
    ModelError
        If a tendon has armature that MuJoCo's inertia has no place for.
    """
    _check_armature(model, asks_mujoco)
    gravity_off = is_disabled(model, mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    table.gravity = np.zeros(3) if gravity_off else np.array(model.opt.gravity)
    _set_structure(table, model)
    _set_kinds(table, model)


@remembered
def _set_kinds(table: Table, model: mujoco.MjModel) -> None:
    """Tell free bodies from other trees."""
    together = coupled_trees(model)
    table.trees.spatial = spatial = _spatial_trees(model)
    table.trees.balances = _balanced_trees(model, together) * (1 - spatial)
    table.trees.floats = _floating_trees(model, together) * table.trees.balances
    table.has_articulated_trees = int(not np.all(spatial))
    table.only_free_bodies = int(_only_free_bodies(model, spatial))


@remembered
def _set_structure(table: Table, model: mujoco.MjModel) -> None:
    table.nq, table.nv, table.na = model.nq, model.nv, model.na
    together = coupled_trees(model)
    _, first = np.unique(together, return_index=True)
    table.nbody, table.ntree = model.nbody, len(first)
    table.trees.start = integers(model.tree_dofadr[first])
    size = np.bincount(together, weights=model.tree_dofnum).astype(np.int64)
    table.trees.size = size
    # Of free bodies, which are trees by themselves.
    table.trees.body = integers(model.tree_bodyadr[first])
    table.trees.bodies = integers(model.tree_bodynum[first])
    table.trees.block_start = np.concatenate([[0], np.cumsum(size**2)]).astype(np.int64)
    # The last is that of bodies without degrees of freedom, whose number is −1.
    numbers = np.append(together, -1)
    table.bodies.tree = integers(numbers[model.body_treeid])
    table.bodies.root = integers(model.body_rootid)
    roots = np.append(model.body_rootid[model.tree_bodyadr[first]], 0)
    reference = np.where(table.bodies.tree < 0, table.bodies.root, roots[table.bodies.tree])
    table.bodies.reference = integers(reference)
    bodies = integers(model.dof_bodyid)
    shifted = reference[bodies] != table.bodies.root[bodies]
    table.bodies.shifted_dof = np.flatnonzero(shifted)
    table.bodies.shifted_body = bodies[shifted]
    last = np.full(model.nbody, -1, np.int64)
    for body in range(1, model.nbody):
        count = model.body_dofnum[body]
        parent = model.body_parentid[body]
        last[body] = model.body_dofadr[body] + count - 1 if count > 0 else last[parent]
    table.bodies.last_dof = last
    table.bodies.parent = integers(model.body_parentid)
    table.bodies.dof = integers(model.body_dofadr)
    table.bodies.dofs = integers(model.body_dofnum)
    table.dofs.parent = integers(model.dof_parentid)
    table.dofs.body = bodies
    table.bodies.number = np.arange(model.nbody, dtype=np.int32)
    table.dofs.tree = integers(numbers[model.dof_treeid])
    table.dofs.mass_rownnz = integers(model.M_rownnz)
    table.dofs.mass_rowadr = integers(model.M_rowadr)
    table.dofs.mass_colind = integers(model.M_colind)


def has_other_trees(table: Table, model: mujoco.MjModel) -> bool:
    """Whether other trees are free bodies, or taken together, than when the tables were filled."""
    together = coupled_trees(model)
    return not (
        np.array_equal(together[model.dof_treeid], table.dofs.tree)
        and np.array_equal(_spatial_trees(model), table.trees.spatial)
    )


@remembered
def _check_armature(model: mujoco.MjModel, asks_mujoco: bool) -> None:
    """Refuse armature of tendons that MuJoCo's inertia has no place for."""
    for tendon in np.flatnonzero(armature_of_tendons(model)).tolist():
        start = model.ten_J_rowadr[tendon]
        moved = model.ten_J_colind[start : start + model.ten_J_rownnz[tendon]]
        for dof in moved:
            row = slice(model.M_rowadr[dof], model.M_rowadr[dof] + model.M_rownnz[dof])
            before = np.setdiff1d(moved[moved < dof], model.M_colind[row])
            if not len(before):
                continue
            name = element(model, mujoco.mjtObj.mjOBJ_TENDON, tendon)
            one, other = (int(model.dof_bodyid[i]) for i in (before[0], dof))
            body = element(model, mujoco.mjtObj.mjOBJ_BODY, one)
            if one == other:
                raise ModelError(
                    f"{name} had no armature when the model was made, and MuJoCo's inertia of "
                    f"{body} has no place for it; give it a value in the XML."
                )
            if asks_mujoco:
                raise ModelError(
                    f"{name} has armature, and MuJoCo's inertia leaves out what it couples "
                    f"between {body} and {element(model, mujoco.mjtObj.mjOBJ_BODY, other)}, which "
                    "do not carry each other; take Midas, or give joints the armature."
                )


def _balanced_trees(model: mujoco.MjModel, together: np.ndarray) -> np.ndarray:
    """1 for trees whose joints have all the armature that there is, and no tendon."""
    balances = np.ones(len(np.unique(together)), np.int64)
    for tendon in np.flatnonzero(armature_of_tendons(model)):
        balances[together[list(tendon_trees(model, int(tendon)))]] = 0
    return balances


def _floating_trees(model: mujoco.MjModel, together: np.ndarray) -> np.ndarray:
    """1 for trees of one root, which has a free joint without armature."""
    floats = np.zeros(len(np.unique(together)), np.int64)
    armature = armature_of_dofs(model)
    for tree in np.flatnonzero(np.bincount(together)[together] == 1):
        start = model.tree_dofadr[tree]
        free = model.jnt_type[model.dof_jntid[start]] == mujoco.mjtJoint.mjJNT_FREE
        floats[together[tree]] = free and not np.any(armature[start : start + 6])
    return floats


@remembered
def _spatial_trees(model: mujoco.MjModel) -> np.ndarray:
    """Trees that are one free body without springs, dampers or armature on its joint or tendons."""
    together = coupled_trees(model)
    members = np.bincount(together)
    spatial = np.zeros(len(members), np.int64)
    armature = armature_of_dofs(model)
    without = _balanced_trees(model, together)[together] == 1
    for tree in np.flatnonzero((members[together] == 1) & without):
        start = model.tree_dofadr[tree]
        joint = model.dof_jntid[start]
        dofs = slice(start, start + model.tree_dofnum[tree])
        spatial[together[tree]] = (
            model.tree_dofnum[tree] == 6
            and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
            and model.jnt_stiffness[joint] == 0
            and not np.any(model.jnt_stiffnesspoly[joint])
            and not np.any(model.dof_damping[dofs])
            and not np.any(model.dof_dampingpoly[dofs])
            and not np.any(armature[dofs])
        )
    return spatial


def _only_free_bodies(model: mujoco.MjModel, spatial: np.ndarray) -> bool:
    """Whether gravity and gyroscopic torques are all the smooth forces there are."""
    fluid = model.opt.density > 0 or model.opt.viscosity > 0
    return not (
        not np.all(spatial)
        or fluid
        or model.nactuator > 0
        or model.flg_adhesion
        or model.nplugin > 0
        or model.ntendon > 0
        or np.any(model.body_gravcomp)
    )


@remembered
def coupled_trees(model: mujoco.MjModel) -> np.ndarray:
    """Number of the solvers' tree to which each kinematic tree of a model belongs.

    Returns
    -------
    array of int64, shape (ntree,)
        In ascending order; each kinematic tree's own number if no constraint couples three.
    """
    joined = np.zeros(model.ntree, bool)  # with the tree before it
    tendons = [tendon_trees(model, tendon) for tendon in range(model.ntendon)]
    for trees in [*tendons, *_tendon_equalities(model, tendons)]:
        if len(trees) > _ROW_TREES:
            joined[min(trees) + 1 : max(trees) + 1] = True
    flexes = _flex_trees(model)
    while True:
        together = np.cumsum(~joined) - 1
        shared = np.bincount(together)[together] > 1
        for own, slide in flexes:
            if slide or shared[own].any():
                joined[own.min() + 1 : own.max() + 1] = True
        if np.array_equal(together, np.cumsum(~joined) - 1):
            return together


def _flex_trees(model: mujoco.MjModel) -> list[tuple[np.ndarray, bool]]:
    """Kinematic trees of each flex, and whether a vertex there moves along one axis or two."""
    found = []
    for flex in np.flatnonzero(model.flex_rigid == 0).tolist():
        moving = moving_particles(model, flex)
        trees = model.body_treeid[particle_bodies(model)[flex_particles(model, flex)][moving]]
        if len(trees):
            found.append((trees, bool(np.any(moving & ~free_particles(model, flex)))))
    return found


@remembered
def tendon_trees(model: mujoco.MjModel, tendon: int) -> set[int]:
    """Kinematic trees that a tendon acts on."""
    wrap = mujoco.mjtWrap
    trees: set[int] = set()
    first = model.tendon_adr[tendon]
    for k in range(first, first + model.tendon_num[tendon]):
        kind, number = int(model.wrap_type[k]), int(model.wrap_objid[k])
        if kind == int(wrap.mjWRAP_JOINT):
            body = model.jnt_bodyid[number]
        elif kind == int(wrap.mjWRAP_SITE):
            body = model.site_bodyid[number]
        elif kind in (int(wrap.mjWRAP_SPHERE), int(wrap.mjWRAP_CYLINDER)):
            body = model.geom_bodyid[number]
        else:
            continue
        trees.add(int(model.body_treeid[body]))
    return trees - {-1}


def _tendon_equalities(model: mujoco.MjModel, tendons: list[set[int]]) -> list[set[int]]:
    """Kinematic trees that each equality of two tendons couples."""
    found = []
    for equality in np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_TENDON):
        pair = (model.eq_obj1id[equality], model.eq_obj2id[equality])
        found.append(set().union(*(tendons[tendon] for tendon in pair if tendon >= 0)))
    return found
