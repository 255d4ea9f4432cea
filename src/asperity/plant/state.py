"""A state of the plant and the snapshot of its mechanics."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.contact.combination import PARAMETERS
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.contact.hydroelastic.field_layout import FIELD_WORK
from asperity.plant import native
from asperity.plant.data_reference import DataReference
from asperity.plant.detection.near_pairs import new_near_pairs
from asperity.plant.detection.touching_elements import can_leave_out
from asperity.plant.model.plastic import plastic_size
from asperity.plant.plant_layouts import SOFT, STATE, WORK
from asperity.plant.tree_motion import INERTIA, MOTION_SIZE

__all__ = ["State", "link_room"]

_WORD = 8
# Vertices of an element that may touch.
_CORNERS = 4
# Vertices that a triangle's bending may have, which no element of three dimensions exceeds.
_WIDEST = 12


def link_room(model: mujoco.MjModel, contacts: int) -> int:
    """How many links there may be: bodies, and sides of contacts that are points of flexes."""
    return model.nbody + 1 + (2 * contacts if model.nflex > 0 else 0)


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
        rows = max(rows, 3 * model.nv + 2 * model.nu + 16) + len(plant.actuators.effort_dof)
        self.table = Table(
            STATE,
            data=data._address,
            nq=model.nq,
            nv=model.nv,
            na=model.na,
            outputs=len(data.actuator_length),
            links=link_room(model, contacts),
            system_states=0,
            distance_changes=np.zeros(0),
            tension=np.full(int(plant.elastic.strands + plant.elastic.triangles), np.nan),
            plastic=np.zeros(plastic_size(model)),
            efforts=len(plant.actuators.effort_dof),
            mass_room=int(np.sum(plant.trees.size**2)),
            qpos=np.array(model.qpos0, dtype=np.float64),
            mj_qpos=data.qpos,
            mj_qvel=data.qvel,
            mj_act=data.act,
            mj_act_dot=data.act_dot,
            mj_ctrl=data.ctrl,
            mj_qfrc_applied=data.qfrc_applied,
            mj_xfrc_applied=data.xfrc_applied,
            mj_xipos=data.xipos,
            mj_ximat=data.ximat,
            mj_xpos=data.xpos,
            mj_xmat=data.xmat,
            mj_xquat=data.xquat,
            mj_cdof=data.cdof,
            mj_cvel=data.cvel,
            mj_cinert=data.cinert,
            mj_subtree_com=data.subtree_com,
            mj_flexvert_xpos=data.flexvert_xpos,
            mj_geom_xpos=data.geom_xpos,
            mj_geom_xmat=data.geom_xmat,
            mj_mass=data.M,
            mj_qfrc_bias=data.qfrc_bias,
            mj_qfrc_passive=data.qfrc_passive,
            mj_qfrc_spring=data.qfrc_spring,
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
        self._fields = Table(FIELD_WORK, points=0)
        self.table.work = Table(
            WORK,
            fields=self._fields,
            nv=model.nv,
            bodies=model.nbody,
            trees=model.ntree,
            outputs=len(data.actuator_length),
            inertia=INERTIA,
            motion=MOTION_SIZE,
            parameters=PARAMETERS,
            contacts=0,
        )
        elastic = plant.elastic
        leaves_out = can_leave_out(model)
        self.table.soft = Table(
            SOFT,
            geoms=model.ngeom if leaves_out else 0,
            elements=model.nflexelem if leaves_out else 0,
            words=native.struct_size("mjModel") // _WORD if leaves_out else 0,
            layer_offset=native.offset("mjModel", "flex_elemlayer"),
            particles=int(elastic.particles),
            bonds=int(elastic.bonds),
            tense=int(elastic.strands + elastic.triangles),
            twists=int(elastic.twists),
            width=3 * max(_WIDEST, int(np.diff(elastic.element_first).max(initial=0))),
            side=_CORNERS * int(np.diff(elastic.vertex_first).max(initial=1)),
        )
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
        chain = max(1, self._longest_chains(links))
        if model.nflex > 0:
            links += 2 * contacts
            points = 3 * len(self.table.soft.side_particle)
            chain += 2 * (points + self._longest_chains(1)) * contacts
            self.table.work.resize(contacts=contacts)
            self.table.resize(links=link_room(model, contacts))
        self.contacts = Table(CONTACT_SET, contacts=contacts, links=links, chain=chain)
        if self._plant.fields.any:
            # A face needs room for six points to begin with.
            self._fields.resize(points=contacts + 6)
        self.table.contacts = self.contacts
        self.table.valid = 0

    def _longest_chains(self, links: int) -> int:
        """Length of the longest so many chains of dofs from bodies to the world."""
        plant = self._plant
        depth = np.zeros(len(plant.dofs.parent) + 1, np.int64)  # the last: of bodies without dofs
        for dof, parent in enumerate(plant.dofs.parent):
            depth[dof] = depth[parent] + 1 if parent >= 0 else 1
        depth[:-1][plant.trees.spatial[plant.dofs.tree] == 1] = 0
        return int(np.sort(depth[plant.bodies.last_dof])[-links:].sum())

    def grow_rows(self, rows: int) -> None:
        """Make room for so many scalar constraints."""
        entries = rows * max(8, min(64, self._model.nv))
        self.rows = Table(CONSTRAINT_SET, rows=rows, entries=entries)
        self.table.rows = self.rows
        self.table.valid = 0
