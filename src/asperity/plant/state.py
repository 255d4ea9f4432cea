"""A state of the plant and the snapshot of its mechanics."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.contact.combination import PARAMETERS
from asperity.contact.constraint_set import new_constraint_set
from asperity.contact.contact_set import new_contact_set
from asperity.contact.hydroelastic.field_layout import grow_points, new_field_work
from asperity.plant.data_reference import DataReference
from asperity.plant.near_pairs import new_near_pairs
from asperity.plant.plant_layouts import STATE, WORK
from asperity.plant.tree_motion import INERTIA, MOTION_SIZE

__all__ = ["State"]


class State(HoldsAddresses):
    """A state of the plant and the snapshot of its mechanics.

    ``table`` holds the arrays; ``contacts`` and ``rows`` are the tables of its contact and
    constraint sets, which `grow_contacts` and `grow_rows` enlarge.

    Parameters
    ----------
    model : mujoco.MjModel
    plant : Table
        The plant's table.
    data : mujoco.MjData
        Where the state is evaluated.
    contacts, rows : int
        For how many contacts and scalar constraints there is room at first.
    keep : bool
        Whether the state keeps ``data`` alive, or who makes the state does.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        plant: Table,
        data: mujoco.MjData,
        contacts: int,
        rows: int,
        *,
        keep: bool = True,
    ) -> None:
        self._model = model
        self._plant = plant
        self._data = DataReference(data, keep=keep)
        rows = max(rows, 3 * model.nv + 2 * model.nu + 16) + len(plant.effort_dof)
        self.table = Table(
            STATE,
            data=data._address,
            qpos=np.array(model.qpos0, dtype=np.float64),
            qvel=np.zeros(model.nv),
            act=np.zeros(model.na),
            system_state=np.zeros(0),
            effort_row=np.zeros(len(plant.effort_dof), np.int64),
            mass=np.zeros(int(np.sum(plant.tree_size**2))),
            mass_diagonal=np.ones(model.nv),
            mass_inverse_diagonal=np.ones(model.nv),
            # With places for the spatial velocities of links, as in the problem's vectors.
            velocity=np.zeros(model.nv + 6 * (model.nbody + 1)),
            force=np.zeros(model.nv),
            act_dot=np.zeros(model.na),
            cdof=np.zeros((model.nv, 6)),
            mj_qpos=data.qpos,
            mj_qvel=data.qvel,
            mj_act=data.act,
            mj_act_dot=data.act_dot,
            mj_ctrl=data.ctrl,
            mj_qfrc_applied=data.qfrc_applied,
            mj_xfrc_applied=data.xfrc_applied,
            mj_xipos=data.xipos,
            mj_xquat=data.xquat,
            mj_cdof=data.cdof,
            mj_cvel=data.cvel,
            mj_cinert=data.cinert,
            mj_subtree_com=data.subtree_com,
            mj_geom_xpos=data.geom_xpos,
            mj_geom_xmat=data.geom_xmat,
            mj_mass=data.M,
            mj_qfrc_bias=data.qfrc_bias,
            mj_qfrc_passive=data.qfrc_passive,
            mj_qfrc_gravcomp=data.qfrc_gravcomp,
            mj_qfrc_actuator=data.qfrc_actuator,
            mj_actuator_force=data.actuator_force,
            mj_actuator_length=data.actuator_length,
            mj_ten_length=data.ten_length,
            mj_ten_jacobian=data.ten_J.reshape(-1),
            mj_actuator_velocity=data.actuator_velocity,
            mj_actuator_moment=data.actuator_moment.reshape(-1),
            mj_moment_rownnz=data.moment_rownnz,
            mj_moment_rowadr=data.moment_rowadr,
            mj_moment_colind=data.moment_colind,
        )
        self._fields = new_field_work(0)
        self._work = Table(
            WORK,
            fields=self._fields,
            body_link=np.full(model.nbody, -1, np.int64),
            dof_row=np.zeros(model.nv),
            dof_force=np.zeros(model.nv),
            passive_force=np.zeros(model.nv),
            actuator_length=np.zeros(len(data.actuator_length)),
            gyroscopic=np.zeros(model.nv),
            gyroscopic_following=np.zeros(model.nv),
            gyroscopic_undone=np.zeros(model.nv),
            gyroscopic_share=np.zeros(model.ntree),
            body_motion=np.zeros((model.nbody, 13)),
            turning=np.zeros(model.ntree, np.int64),
            turned=np.zeros(model.ntree),
            velocity_change=np.zeros(model.nv),
            gains=np.zeros((model.ntree, INERTIA)),
            tree_motion=np.zeros((model.ntree, MOTION_SIZE)),
            pair_material=np.zeros(PARAMETERS),
        )
        self.table.work = self._work
        self.table.near_pairs = new_near_pairs(model)
        self.grow_contacts(contacts)
        self.grow_rows(rows)
        assert not self.table.missing(), self.table.missing()

    @property
    def data(self) -> mujoco.MjData:
        """Where the state is evaluated."""
        return self._data()

    def grow_contacts(self, contacts: int) -> None:
        """Make room for so many contacts."""
        model = self._model
        links = min(model.nbody, 2 * contacts) + 1
        self.contacts = new_contact_set(contacts, links, max(1, self._longest_chains(links)))
        if self._plant.fields.any:
            # A face needs room for six points to begin with.
            grow_points(self._fields, contacts + 6)
        self.table.contacts = self.contacts
        self.table.valid = 0

    def _longest_chains(self, links: int) -> int:
        """Length of the longest so many chains of dofs from bodies to the world."""
        plant = self._plant
        depth = np.zeros(len(plant.dof_parent) + 1, np.int64)  # the last: of bodies without dofs
        for dof, parent in enumerate(plant.dof_parent):
            depth[dof] = depth[parent] + 1 if parent >= 0 else 1
        depth[:-1][plant.tree_spatial[plant.dof_tree] == 1] = 0
        return int(np.sort(depth[plant.body_last_dof])[-links:].sum())

    def grow_rows(self, rows: int) -> None:
        """Make room for so many scalar constraints."""
        self.rows = new_constraint_set(rows, rows * max(8, min(64, self._model.nv)))
        self.table.rows = self.rows
        self.table.valid = 0
