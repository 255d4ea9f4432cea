"""The plant: a MuJoCo model, its constants for compiled code, and states to evaluate."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.contact.constraint_set import new_constraint_set
from asperity.contact.contact_set import new_contact_set
from asperity.contact.materials import PARAMETERS
from asperity.errors import ModelError
from asperity.plant import native
from asperity.plant.contacts import read_contacts
from asperity.plant.evaluate import read_constraints
from asperity.plant.layouts import PLANT, STATE
from asperity.plant.materials import ContactParameters, resolve_materials
from asperity.plant.sweep import colliding_geoms, inner_radii

__all__ = ["Plant"]

_FUNCTIONS = {
    "kinematics": "mj_kinematics",
    "com_pos": "mj_comPos",
    "tendon": "mj_tendon",
    "make_mass": "mj_makeM",
    "collision": "mj_collision",
    "transmission": "mj_transmission",
    "forward_velocity": "mj_fwdVelocity",
    "forward_actuation": "mj_fwdActuation",
    "make_constraint": "mj_makeConstraint",
    "integrate_positions": "mj_integratePos",
    "differentiate_positions": "mj_differentiatePos",
}

_DATA_OFFSETS = {
    "time_offset": "time",
    "ncon_offset": "ncon",
    "contact_offset": "contact",
    "nefc_offset": "nefc",
    "efc_type_offset": "efc_type",
    "efc_id_offset": "efc_id",
    "efc_pos_offset": "efc_pos",
    "efc_margin_offset": "efc_margin",
    "efc_frictionloss_offset": "efc_frictionloss",
    "efc_jacobian_offset": "efc_J",
    "efc_rownnz_offset": "efc_J_rownnz",
    "efc_rowadr_offset": "efc_J_rowadr",
    "efc_colind_offset": "efc_J_colind",
}

_CONTACT_OFFSETS = {
    "contact_dist": "dist",
    "contact_pos": "pos",
    "contact_frame": "frame",
    "contact_friction": "friction",
    "contact_surfacevel": "surfacevel",
    "contact_dim": "dim",
    "contact_geom": "geom",
    "contact_exclude": "exclude",
}

_EXACT_FILTER = 1
_NO_LIMIT = 1e300
# Limits beyond this [m or rad] stand for none.
_FARTHEST_LIMIT = 1e10
# Degrees of freedom of joints that have more than one.
_DOFS = {int(mujoco.mjtJoint.mjJNT_FREE): 6, int(mujoco.mjtJoint.mjJNT_BALL): 3}


def _int(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, dtype=np.int64).reshape(np.shape(array))


class Plant:
    """A model prepared for compiled evaluation.

    Parameters
    ----------
    model : mujoco.MjModel
        Must have passed `asperity.plant.loading.check_supported`.
    contact : ContactParameters
        Defaults and overrides; values in the model's own ``<custom>`` elements come second.
    joint_stiction_tolerance : float
        Velocity [m/s or rad/s] below which dry friction of joints and tendons counts as stiction.
        1e-3: a thousandth of a usual joint speed, and an order above what contacts use, because a
        joint's friction loss is itself a fitted number.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        contact: ContactParameters,
        joint_stiction_tolerance: float = 1e-3,
    ) -> None:
        self.model = model
        self.contact = contact
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        native.verify_layout(model, data)
        self.table = Table(PLANT, joint_stiction_tolerance=joint_stiction_tolerance)
        self._set_functions()
        self._set_trees()
        self._set_joints()
        self._set_actuators()
        self.set_contact_parameters(contact)
        self.table.error_weight = np.ones(model.nv)
        self.table.body_link = np.full(model.nbody, -1, np.int64)
        self.table.dof_row = np.zeros(model.nv)
        self.table.dof_force = np.zeros(model.nv)
        self.table.pair_material = np.zeros(PARAMETERS)
        assert not self.table.missing(), self.table.missing()

    def _set_functions(self) -> None:
        table, model = self.table, self.model
        table.model = model._address
        for field, name in _FUNCTIONS.items():
            setattr(table, field, native.function_address(name))
        for field, name in _DATA_OFFSETS.items():
            setattr(table, field, native.offset("mjData", name))
        for field, name in _CONTACT_OFFSETS.items():
            setattr(table, field, native.offset("mjContact", name))
        table.read_contacts = read_contacts.address
        table.read_constraints = read_constraints.address
        table.contact_size = native.struct_size("mjContact")
        table.has_tendons = int(model.ntendon > 0)
        table.has_actuators = int(model.nu > 0)
        tendon_rows = np.any(model.tendon_limited > 0) or np.any(model.tendon_frictionloss > 0)
        table.has_mujoco_rows = int(model.neq > 0 or tendon_rows)
        table.sparse_rows = int(mujoco.mj_isSparse(model))

    def _set_trees(self) -> None:
        table, model = self.table, self.model
        table.nq, table.nv, table.na = model.nq, model.nv, model.na
        table.nbody, table.ntree = model.nbody, model.ntree
        start = _int(model.tree_dofadr)
        size = _int(model.tree_dofnum)
        table.tree_start = start
        table.tree_size = size
        table.tree_spatial = self._spatial_trees()
        table.has_articulated_trees = int(not np.all(table.tree_spatial))
        table.only_free_bodies = int(self._only_free_bodies())
        gravity_off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        table.gravity = np.zeros(3) if gravity_off else np.array(model.opt.gravity)
        table.tree_body = _int(model.tree_bodyadr)
        table.tree_bodies = _int(model.tree_bodynum)
        table.block_start = np.concatenate([[0], np.cumsum(size**2)]).astype(np.int64)
        table.body_tree = _int(model.body_treeid)
        table.body_root = _int(model.body_rootid)
        last = np.full(model.nbody, -1, np.int64)
        for body in range(1, model.nbody):
            count = model.body_dofnum[body]
            parent = model.body_parentid[body]
            last[body] = model.body_dofadr[body] + count - 1 if count > 0 else last[parent]
        table.body_last_dof = last
        table.dof_parent = _int(model.dof_parentid)
        table.dof_tree = _int(model.dof_treeid)
        table.geom_body = _int(model.geom_bodyid)
        table.geom_box = np.ascontiguousarray(model.geom_aabb, dtype=np.float64)
        spheres = model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE
        table.geom_reach = np.where(spheres, 0.0, model.geom_rbound)
        table.geom_inner_radius = inner_radii(model)
        table.geom_collides = colliding_geoms(model)
        table.mass_rownnz = _int(model.M_rownnz)
        table.mass_rowadr = _int(model.M_rowadr)
        table.mass_colind = _int(model.M_colind)

    def _spatial_trees(self) -> np.ndarray:
        """Trees that are one free body without springs, dampers or armature on its joint."""
        model = self.model
        spatial = np.zeros(model.ntree, np.int64)
        for tree in range(model.ntree):
            start = model.tree_dofadr[tree]
            joint = model.dof_jntid[start]
            dofs = slice(start, start + model.tree_dofnum[tree])
            spatial[tree] = (
                model.tree_dofnum[tree] == 6
                and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
                and model.jnt_stiffness[joint] == 0
                and not np.any(model.dof_damping[dofs])
                and not np.any(model.dof_armature[dofs])
            )
        return spatial

    def _only_free_bodies(self) -> bool:
        """Whether gravity and gyroscopic torques are all the smooth forces there are."""
        model = self.model
        fluid = model.opt.density > 0 or model.opt.viscosity > 0
        return not (
            self.table.has_articulated_trees
            or fluid
            or model.nu > 0
            or model.ntendon > 0
            or np.any(model.body_gravcomp)
        )

    def _set_joints(self) -> None:
        table, model = self.table, self.model
        table.dof_damping = np.ascontiguousarray(model.dof_damping, dtype=np.float64)
        stiffness = np.zeros(model.nv)
        for joint in range(model.njnt):
            dof = model.jnt_dofadr[joint]
            count = _DOFS.get(int(model.jnt_type[joint]), 1)
            stiffness[dof : dof + count] = model.jnt_stiffness[joint]
        table.dof_stiffness = stiffness
        self._set_limits()
        friction = np.flatnonzero(model.dof_frictionloss > 0)
        table.friction_dof = _int(friction)
        table.friction_force = np.ascontiguousarray(model.dof_frictionloss[friction])

    def _set_limits(self) -> None:
        table, model = self.table, self.model
        limited = model.jnt_limited.astype(bool)
        joint = np.flatnonzero(limited & (model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)))
        joint = joint[np.any(np.abs(model.jnt_range[joint]) <= _FARTHEST_LIMIT, axis=1)]
        table.limit_dof = _int(model.jnt_dofadr[joint])
        table.limit_qpos = _int(model.jnt_qposadr[joint])
        table.limit_range = model.jnt_range[joint] + np.outer(model.jnt_margin[joint], [1.0, -1.0])
        table.limit_source = _int(-1 - joint)
        ball = np.flatnonzero(limited & (model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)))
        table.ball_dof = _int(model.jnt_dofadr[ball])
        table.ball_qpos = _int(model.jnt_qposadr[ball])
        table.ball_range = np.max(model.jnt_range[ball], axis=1) - model.jnt_margin[ball]
        table.ball_source = _int(-1 - ball)

    def _set_actuators(self) -> None:
        table, model = self.table, self.model
        outputs = int(model.actuator_outnum.sum()) if model.nu > 0 else 0
        servos = [i for i in range(len(model.actuator_gaintype)) if self._is_servo(i)]
        explicit = np.ones(outputs, np.int64)
        ctrl_range = np.full((len(servos), 2), [-_NO_LIMIT, _NO_LIMIT])
        limits = np.full((len(servos), 2), [-_NO_LIMIT, _NO_LIMIT])
        activation = np.full(len(servos), -1, np.int64)
        for k, i in enumerate(servos):
            explicit[model.actuator_outadr[i]] = 0
            control = model.actuator_ctrladr[i]
            if model.actuator_ctrllimited[control] and not self._clamp_disabled():
                ctrl_range[k] = model.actuator_ctrlrange[control]
            if model.actuator_forcelimited[i]:
                limits[k] = model.actuator_forcerange[i]
            if model.actuator_actnum[i] > 0:
                activation[k] = model.actuator_actadr[i]
            joint = self._limited_joint(i)
            if joint >= 0:
                gear = model.actuator_gear[model.actuator_outadr[i], 0]
                bounds = np.sort(model.jnt_actfrcrange[joint] / gear)
                limits[k] = max(limits[k, 0], bounds[0]), min(limits[k, 1], bounds[1])
        table.servo_output = _int(model.actuator_outadr[servos])
        table.servo_ctrl = _int(model.actuator_ctrladr[servos])
        table.servo_ctrl_range = ctrl_range
        table.servo_activation = activation
        table.servo_gain = np.ascontiguousarray(model.actuator_gainprm[servos, :3])
        for k, i in enumerate(servos):
            if model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED:
                table.servo_gain[k, 1:] = 0.0
        table.servo_bias = np.ascontiguousarray(model.actuator_biasprm[servos, :3])
        table.servo_range = limits
        table.output_explicit = explicit
        dof_range = np.full((model.nv, 2), [-_NO_LIMIT, _NO_LIMIT])
        gravcomp = np.zeros(model.nv, np.int64)
        for joint in range(model.njnt):
            dof = model.jnt_dofadr[joint]
            count = _DOFS.get(int(model.jnt_type[joint]), 1)
            gravcomp[dof : dof + count] = model.jnt_actgravcomp[joint]
            if model.jnt_actfrclimited[joint] and count == 1:
                dof_range[dof] = model.jnt_actfrcrange[joint]
        table.dof_actuator_range = dof_range
        table.dof_actuator_gravcomp = gravcomp
        self._set_activations()

    def _set_activations(self) -> None:
        table, model = self.table, self.model
        kind = np.zeros(model.na, np.int64)
        constant = np.ones(model.na)
        limits = np.full((model.na, 2), [-_NO_LIMIT, _NO_LIMIT])
        for i in range(len(model.actuator_gaintype)):
            count = model.actuator_actnum[i]
            if count <= 0:
                continue
            address = slice(model.actuator_actadr[i], model.actuator_actadr[i] + count)
            if model.actuator_dyntype[i] == mujoco.mjtDyn.mjDYN_FILTEREXACT:
                kind[address] = _EXACT_FILTER
                constant[address] = max(model.actuator_dynprm[i, 0], 1e-10)
            if model.actuator_actlimited[i]:
                limits[address] = model.actuator_actrange[i]
        table.act_kind = kind
        table.act_time_constant = constant
        table.act_range = limits

    def _clamp_disabled(self) -> bool:
        flag = mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
        return bool(self.model.opt.disableflags & flag)

    def _is_servo(self, i: int) -> bool:
        """Whether an actuator is linear feedback that an implicit row can represent."""
        model = self.model
        bias = int(model.actuator_biastype[i])
        gain = int(model.actuator_gaintype[i])
        if gain not in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE):
            return False
        if bias not in (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE):
            return False
        if model.actuator_ctrlnum[i] != 1 or model.actuator_outnum[i] != 1:
            return False
        if model.actuator_actearly[i] or model.actuator_actnum[i] > 1:
            return False
        if self.model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_ACTUATION:
            return False
        if self.model.opt.disableactuator & (1 << max(int(model.actuator_group[i]), 0)):
            return False
        feedback = model.actuator_biasprm[i, 1:3] if bias else np.zeros(2)
        affine = model.actuator_gainprm[i, 1:3] if gain else np.zeros(2)
        if not (np.any(feedback) or np.any(affine)):
            return False
        joint = self._joint_of(i)
        # Transmissions with three outputs measure setpoints on the circle; sites have no length.
        if joint < 0 and model.actuator_trntype[i] != mujoco.mjtTrn.mjTRN_TENDON:
            return False
        if joint >= 0 and model.jnt_actfrclimited[joint]:
            # The joint's limit moves into the row, which must then be the joint's only actuator.
            others = [j for j in range(len(model.actuator_gaintype)) if self._joint_of(j) == joint]
            return len(others) == 1 and model.actuator_gear[model.actuator_outadr[i], 0] != 0
        return True

    def _joint_of(self, i: int) -> int:
        """The one-dof joint on which an actuator acts, or −1."""
        model = self.model
        joint_kinds = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
        if int(model.actuator_trntype[i]) not in joint_kinds:
            return -1
        joint = int(model.actuator_trnid[i, 0])
        kind = int(model.jnt_type[joint])
        return joint if kind >= int(mujoco.mjtJoint.mjJNT_SLIDE) else -1

    def _limited_joint(self, i: int) -> int:
        joint = self._joint_of(i)
        return joint if joint >= 0 and self.model.jnt_actfrclimited[joint] else -1

    def set_contact_parameters(self, contact: ContactParameters) -> None:
        """Replace the contact parameters of every geom and pair."""
        resolved = resolve_materials(self.model, contact)
        self.contact = contact
        self.materials = resolved
        self.table.material = resolved.geoms
        self.table.material_default = resolved.default
        self.table.material_pairs = resolved.pairs
        self.table.material_pair_keys = resolved.pair_keys

    def new_state(self, data: mujoco.MjData, contacts: int = 256, rows: int = 64) -> State:
        """Make a state that is evaluated in ``data``."""
        return State(self, data, contacts, rows)


class State:
    """A state of the plant and the snapshot of its mechanics.

    ``table`` holds the arrays; ``contacts`` and ``rows`` are the tables of its contact and
    constraint sets, which `grow_contacts` and `grow_rows` enlarge.
    """

    def __init__(self, plant: Plant, data: mujoco.MjData, contacts: int, rows: int) -> None:
        model = plant.model
        self.plant = plant
        self.data = data
        rows = max(rows, 3 * model.nv + 2 * model.nu + 16)
        self.table = Table(
            STATE,
            data=data._address,
            reals=np.zeros(2),
            qpos=np.array(model.qpos0, dtype=np.float64),
            qvel=np.zeros(model.nv),
            act=np.zeros(model.na),
            ints=np.zeros(2, np.int64),
            mass=np.zeros(int(np.sum(plant.table.tree_size**2))),
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
            mj_cdof=data.cdof,
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
            mj_actuator_velocity=data.actuator_velocity,
            mj_actuator_moment=data.actuator_moment.reshape(-1),
            mj_moment_rownnz=data.moment_rownnz,
            mj_moment_rowadr=data.moment_rowadr,
            mj_moment_colind=data.moment_colind,
        )
        self.grow_contacts(contacts)
        self.grow_rows(rows)
        assert not self.table.missing(), self.table.missing()

    def grow_contacts(self, contacts: int) -> None:
        """Make room for so many contacts."""
        model = self.plant.model
        links = min(model.nbody, 2 * contacts) + 1
        chain = int(
            np.sum(np.where(self.plant.table.tree_spatial[self.plant.table.dof_tree], 0, 1))
        )
        self.contacts = new_contact_set(contacts, links, max(1, chain) * links)
        self.table.contacts = self.contacts.address
        self.table.ints[0] = 0

    def grow_rows(self, rows: int) -> None:
        """Make room for so many scalar constraints."""
        self.rows = new_constraint_set(rows, rows * max(8, min(64, self.plant.model.nv)))
        self.table.rows = self.rows.address
        self.table.ints[0] = 0

    def require_finite(self, name: str, values: np.ndarray) -> None:
        """Refuse NaN and inf in an array of the state, naming the entry."""
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ModelError(f"{name}[{bad[0]}] is {values.flat[bad[0]]}; it must be finite.")
