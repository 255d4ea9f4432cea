"""The plant: a MuJoCo model, its constants for compiled code."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.compiled.decorators import Kernel
from asperity.contact.hydroelastic.field_layout import COMPLIANT_MESH, RIGID_MESH
from asperity.contact.hydroelastic.fields import part_boxes
from asperity.errors import ModelError
from asperity.plant import native
from asperity.plant.asked_actuators import actuation_struct, ask_actuators
from asperity.plant.detection.collision import read_contacts
from asperity.plant.detection.contact_normals import mend_normals, mends_normals
from asperity.plant.detection.detection_model import detection_struct, flex_struct, smooth_struct
from asperity.plant.detection.field_contacts import read_field_contacts
from asperity.plant.detection.field_corners import corners_of_geoms
from asperity.plant.detection.flex_contacts import read_flex_contacts
from asperity.plant.detection.hulls import find_hulls, has_shells
from asperity.plant.detection.near_pair_lists import list_pairs
from asperity.plant.detection.near_pairs import can_list_pairs, possible_pairs, renew
from asperity.plant.detection.seams import leave_out_seams
from asperity.plant.detection.sweep import colliding_geoms, cores_of_geom, inner_radii
from asperity.plant.detection.touching_elements import can_leave_out, leave_out_elements
from asperity.plant.efforts import NO_EFFORTS, Efforts, set_efforts
from asperity.plant.elasticity import find_elasticity
from asperity.plant.evaluate import evaluate_motion, read_constraints
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.elastic_tables import FLEX_ARRAYS, elastic_table, error_weights
from asperity.plant.model.flex_pairs import set_flex_pairs
from asperity.plant.model.joints import integers, is_disabled, set_joints
from asperity.plant.model.kinematic_trees import has_other_trees, set_trees
from asperity.plant.model.limits import tendon_ranges
from asperity.plant.model.model_view import ELASTIC_TABLE, ModelView, bare, remembered
from asperity.plant.model.resolved_materials import ResolvedMaterials, resolve_materials
from asperity.plant.model.servos import (
    asks_mujoco,
    limited_by_mujoco,
    set_activations,
    set_servos,
)
from asperity.plant.model.surface_fields import make_fields
from asperity.plant.model.surface_parameters import resolve_surfaces
from asperity.plant.passive_rows import has_fluid, set_passive
from asperity.plant.plant_layouts import OFFSETS, PLANT
from asperity.plant.state import State
from asperity.plant.topic_layouts import TOPICS
from asperity.plant.tree_energy import set_energies
from asperity.plant.tree_motion import set_motions

__all__ = ["Plant", "contact_kernels"]

_FUNCTIONS = {
    "kinematics": "mj_kinematics",
    "com_pos": "mj_comPos",
    "tendon": "mj_tendon",
    "flex": "mj_flex",
    "make_mass": "mj_makeM",
    "collision": "mj_collision",
    "geom_distance": "mj_geomDistance",
    "transmission": "mj_transmission",
    "forward_velocity": "mj_fwdVelocity",
    "com_velocity": "mj_comVel",
    "newton_euler": "mj_rne",
    "forward_actuation": "mj_fwdActuation",
    "make_constraint": "mj_makeConstraint",
    "add_contact": "mj_addContact",
    "multiply_transposed": "mj_mulJacTVec",
    "read_control": "mj_readCtrl",
    "integrate_positions": "mj_integratePos",
    "integrate_some_positions": "mj_integratePosInd",
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
    "efc_weight_offset": "efc_diagA",
    "tendon_jacobian_offset": "ten_J",
    "efc_frictionloss_offset": "efc_frictionloss",
    "efc_jacobian_offset": "efc_J",
    "efc_rownnz_offset": "efc_J_rownnz",
    "efc_rowadr_offset": "efc_J_rowadr",
    "efc_colind_offset": "efc_J_colind",
    "efc_force_offset": "efc_force",
}

_CONTACT_OFFSETS = {
    "contact_dist": "dist",
    "contact_pos": "pos",
    "contact_frame": "frame",
    "contact_friction": "friction",
    "contact_surfacevel": "surfacevel",
    "contact_dim": "dim",
    "contact_geom": "geom",
    "contact_flex": "flex",
    "contact_elem": "elem",
    "contact_vert": "vert",
    "contact_first_geom": "geom1",
    "contact_second_geom": "geom2",
    "contact_exclude": "exclude",
    "contact_margin": "includemargin",
    "contact_efc_address": "efc_address",
}


_SHAPES = (
    *("geom_type", "geom_size", "geom_dataid", "geom_contype", "geom_conaffinity"),
    *("mesh_vert", "mesh_pos", "mesh_quat", "hfield_data", "hfield_size"),
)
"""Arrays of a model that decide about pressure fields."""


def contact_kernels(model: mujoco.MjModel, contact: ContactParameters) -> tuple[Kernel, ...]:
    """What a plant with these parameters needs compiled besides what every plant needs."""
    fields: tuple[Kernel, ...] = ()
    if resolve_surfaces(model, contact).any_compliant:
        fields = (read_field_contacts,)
    if model.nflex > 0:
        fields = (*fields, find_elasticity, read_flex_contacts)
    if can_leave_out(model):
        fields = (*fields, leave_out_elements)
    if mends_normals(model):
        fields = (*fields, mend_normals)
    if has_shells(model):
        fields = (*fields, leave_out_seams)
    if asks_mujoco(model):
        fields = (*fields, ask_actuators)
    return (*fields, list_pairs) if can_list_pairs(model) else fields


class Plant(HoldsAddresses):
    """A model prepared for compiled evaluation.

    Parameters
    ----------
    model : mujoco.MjModel
        Must have passed `asperity.plant.model.support.check_supported`.
    contact : ContactParameters
        Defaults and overrides; values in the model's own ``<custom>`` elements come second.
    joint_stiction_tolerance : float
        Velocity [m/s or rad/s] below which dry friction of joints and tendons counts as stiction.
    efforts : Efforts
        What external systems exert.
    stiction_tolerance : float
        Of contacts for which neither ``contact`` nor the model gives one [m/s]; 3e-6 if None.
    evaluated : bool
        Whether compiled code will evaluate the plant, for which kernels are compiled.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        contact: ContactParameters,
        joint_stiction_tolerance: float = 1e-5,
        efforts: Efforts = NO_EFFORTS,
        stiction_tolerance: float | None = None,
        evaluated: bool = True,
    ) -> None:
        self.model = model
        self._stiction_tolerance = stiction_tolerance
        self.contact = contact
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        native.verify_layout(model, data)
        self.view: Any = ModelView(model)
        # How often the model has been read.
        self.readings = 0
        self.table = Table(PLANT, **{name: Table(layout) for name, layout in TOPICS.items()})
        self.table.joints.stiction_tolerance = joint_stiction_tolerance
        self._evaluated = evaluated
        self._is_variant = False
        self._field_shapes: tuple[bytes, ...] | None = None
        self._flex_numbers: tuple[bytes, ...] | None = None
        self._set_functions(evaluated)
        self.set_contact_parameters(contact)
        self.read_model(efforts, self.view)
        self.table.error_weight = error_weights(model, self.table.elastic)
        parts = [getattr(self.table, name) for name in TOPICS]
        missing = [name for one in (self.table, *parts) for name in one.missing()]
        assert not missing, missing

    def read_model(self, efforts: Efforts, model: mujoco.MjModel | None = None) -> None:
        """Take the constants of the motion from the model, at first and when it has changed.

        Contact parameters are not among them: they come from names and texts.

        Parameters
        ----------
        efforts : Efforts
        model : mujoco.MjModel, optional
            The ``view``, if it has forgotten what has changed, and efforts are the same as before.
        """
        self.readings += 1
        if model is None:
            self.view.forget()
            model = self.model
        table = self.table
        set_trees(table, model, self._evaluated)
        self._set_flexes(model)
        self._set_geoms(model)
        self._set_fields()
        self._set_cores(model, self.fields)
        self.set_detection(model)
        self._set_numbers(model)
        set_joints(table, model)
        set_passive(table, model)
        set_motions(table, model)
        set_energies(table, model)
        set_servos(table, model, efforts.commanded)
        set_efforts(table, model, efforts)
        set_activations(table, model)
        self._set_structs(model)

    @remembered
    def _set_numbers(self, model: mujoco.MjModel) -> None:
        """Fill what there is in the model, and the table of tendons."""
        table = self.table
        table.tendons.any = int(model.ntendon > 0)
        table.has_actuators = int(model.nactuator > 0)
        bodies = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_BODY)
        table.acts_on_bodies = int(np.any(bodies))
        table.has_adhesion = int(np.any(bodies) or model.flg_adhesion)
        table.has_mujoco_rows = int(model.neq > 0 or np.any(model.tendon_frictionloss > 0))
        bit = mujoco.mjtDisableBit
        free = is_disabled(model, bit.mjDSBL_LIMIT | bit.mjDSBL_CONSTRAINT)
        limited = np.flatnonzero(model.tendon_limited & (not free))
        table.tendons.limited = limited
        table.tendons.range = tendon_ranges(model)[limited]
        table.tendons.rownnz = integers(model.ten_J_rownnz)
        table.tendons.rowadr = integers(model.ten_J_rowadr)
        table.tendons.colind = integers(model.ten_J_colind)
        table.sparse_rows = int(mujoco.mj_isSparse(bare(model, "opt.jacobian")))

    def read_inertias(self, model: mujoco.MjModel) -> None:
        """Take masses and inertias from a model that differs in nothing else that is copied."""
        self.view.forget()
        set_motions(self.table, model)
        if has_fluid(model):
            set_passive(self.table, model)

    def variant(
        self,
        address: int,
        model: mujoco.MjModel,
        materials: ResolvedMaterials,
        *,
        only_inertias: bool,
    ) -> Plant:
        """Return this plant with other numbers, for a world whose model differs in them.

        Parameters
        ----------
        address : int
            Of the ``mjModel`` that MuJoCo's functions are to get; its owner keeps it alive.
        model : mujoco.MjModel
            With these numbers.
        only_inertias : bool
            Whether masses and inertias are all that is copied of what differs.
        materials : ResolvedMaterials
            Its contact parameters.

        Raises
        ------
        ModelError
            If worlds of this plant have no place for them.
        """
        other = Plant.__new__(Plant)
        other.__dict__.update(self.__dict__)
        other.table = self.table.twin()
        for name in TOPICS:
            setattr(other.table, name, getattr(self.table, name).twin())
        other.table.model = address
        other._is_variant = True
        other.set_materials(materials)
        other.set_detection()
        other._set_structs(self.model)
        if only_inertias:
            other.read_inertias(model)
        else:
            other.model = model
            if other.needs_other_memory(NO_EFFORTS, NO_EFFORTS):
                raise ModelError(
                    "springs, damping or armature of a free joint, or of its tendons, are zero in "
                    "the model and not in a world, or the other way round; give them a value in "
                    "the model."
                )
            other.read_model(NO_EFFORTS)
            other.model = self.model
        return other

    def needs_other_memory(
        self, efforts: Efforts, before: Efforts, model: mujoco.MjModel | None = None
    ) -> bool:
        """Whether worlds of this plant have no place for what the model has become.

        Their memory depends on which trees are free bodies or coupled by a tendon, and on the rows
        of external systems.
        """
        layouts = [(e.dofs, e.actuators, e.groups) for e in (efforts, before)]
        return layouts[0] != layouts[1] or has_other_trees(self.table, model or self.model)

    def _set_functions(self, evaluated: bool) -> None:
        table, model = self.table, self.model
        table.model = model._address
        for field, name in _FUNCTIONS.items():
            setattr(table.mujoco, field, native.function_address(name))
        table.offsets = Table(
            OFFSETS,
            **{field: native.offset("mjData", name) for field, name in _DATA_OFFSETS.items()},
            **{field: native.offset("mjContact", name) for field, name in _CONTACT_OFFSETS.items()},
            contact_size=native.struct_size("mjContact"),
        )
        table.read_constraints = read_constraints.address if evaluated else 0
        table.mend_normals = mend_normals.address if evaluated and mends_normals(model) else 0
        table.leave_out_seams = leave_out_seams.address if evaluated and has_shells(model) else 0
        table.evaluate_motion = evaluate_motion.address if evaluated else 0

    @remembered
    def _set_geoms(self, model: mujoco.MjModel) -> None:
        table = self.table
        table.ngeom = model.ngeom
        # Flexes count on from the geoms, and are on no body: see `flex_frame` of those that are.
        table.geoms.body = np.append(integers(model.geom_bodyid), np.zeros(model.nflex, np.int64))
        table.geoms.box = np.array(model.geom_aabb, dtype=np.float64)
        spheres = model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE
        table.geoms.reach = np.where(spheres, 0.0, model.geom_rbound)
        planes = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        table.geoms.collides = colliding_geoms(model)
        # A half-space has no other side.
        table.geoms.collides[planes] = table.geoms.collides[:, planes] = 0
        table.geoms.colliding = np.flatnonzero(table.geoms.collides.any(axis=1))
        kinds = integers(model.geom_type)
        table.geoms.kind = kinds
        table.geoms.size = np.array(model.geom_size, dtype=np.float64)
        for field, value in find_hulls(model)._asdict().items():
            setattr(table.hulls, field, value)
        table.hulls.tolerance = float(model.opt.ccd_tolerance)
        fields = kinds == mujoco.mjtGeom.mjGEOM_HFIELD
        table.geoms.height_field = np.where(fields, integers(model.geom_dataid), -1)
        geoms = table.geoms
        geoms.corner_first, geoms.corners, geoms.corner_radius = corners_of_geoms(model)
        table.has_fields = int(model.nhfield > 0)
        table.height_fields.rows = integers(model.hfield_nrow)
        table.height_fields.columns = integers(model.hfield_ncol)
        table.height_fields.size = np.array(model.hfield_size, dtype=np.float64)
        # Where users change them.
        table.height_fields.data = model.hfield_data.ctypes.data + 4 * integers(model.hfield_adr)
        cylinders = model.geom_type == mujoco.mjtGeom.mjGEOM_CYLINDER
        weld = model.body_weldid[model.geom_bodyid]
        pairs = np.argwhere(np.outer(planes, cylinders) & (weld[:, None] != weld[None, :]))
        table.geoms.plane_cylinder = np.ascontiguousarray(pairs)
        table.geoms.has_moving_surfaces = int(np.any(model.geom_surfacevel))
        table.geoms.surface_velocity = np.array(model.geom_surfacevel, dtype=np.float64)

    def _set_flexes(self, model: mujoco.MjModel) -> None:
        """Make the elements of the flexes as they are now."""
        numbers: tuple[bytes, ...] = ()
        if self.model.nflex > 0:
            numbers = tuple(getattr(self.model, name).tobytes() for name in FLEX_ARRAYS)
        if numbers != self._flex_numbers:
            self.table.elastic = elastic_table(self.model, self.table.dofs.tree)
            self.view.forget({ELASTIC_TABLE})
            if self._flex_numbers:
                # Contacts are as stiff as what is behind them.
                self.set_contact_parameters(self.contact)
            self._flex_numbers = numbers
        set_flex_pairs(self.table.elastic, model)
        soft = self._evaluated and self.model.nflex > 0
        self.table.find_elasticity = find_elasticity.address if soft else 0

    def _set_structs(self, model: mujoco.MjModel) -> None:
        """Let MuJoCo leave out the forces of flexes, and be asked for actuators beyond servos."""
        table, address = self.table, int(self.table.model)
        self._smooth = smooth_struct(address, model)
        table.smooth_model = address if self._smooth is None else self._smooth.ctypes.data
        self._flex = flex_struct(address, model)
        table.flex_model = address if self._flex is None else self._flex[0].ctypes.data
        asked = self._evaluated and asks_mujoco(model)
        table.mujoco.ask_actuators = ask_actuators.address if asked else 0
        self._limited = limited_by_mujoco(model, table)
        self._early = early = np.zeros_like(self._limited)
        self._asked = actuation_struct(
            address, actuator_forcelimited=self._limited, actuator_actearly=early
        )
        table.mujoco.asked_model = self._asked.ctypes.data
        self._actuation = actuation_struct(address, actuator_actearly=early)
        table.mujoco.actuation_model = address
        if np.any(model.actuator_actearly):
            table.mujoco.actuation_model = self._actuation.ctypes.data

    def set_detection(self, model: mujoco.MjModel | None = None) -> None:
        """Let collision detection leave out what costs it more than it saves."""
        address, model = int(self.table.model), model or self.model
        self._detection = detection_struct(address, model)
        own = self._detection
        self.table.detection_model = address if own is None else own.ctypes.data
        if self._is_variant:
            # What is listed are the numbers of the model that all worlds share.
            self.table.list_pairs = 0
            return
        self.table.possible_pairs = possible_pairs(model, own is None)
        renew(self.table.possible_pairs)
        listed = self._evaluated and self.table.possible_pairs.stamp != 0
        self.table.list_pairs = list_pairs.address if listed else 0
        if self._evaluated and can_leave_out(self.model):
            self.table.list_pairs = leave_out_elements.address

    def _set_fields(self) -> None:
        """Make the pressure fields of the geoms as they are now."""
        shapes = self._shapes()
        if shapes != self._field_shapes:
            # A change of masses or gains must not cost what tetrahedra do.
            self.surfaces = resolve_surfaces(self.model, self.contact)
            self.fields = make_fields(self.model, self.surfaces)
            if self.fields.any and self.model.nflex > 0:
                raise ModelError(
                    "Pressure fields and deformable bodies cannot be in one model; let all geoms "
                    "touch in points (surface='point')."
                )
            self._field_shapes = shapes
        self.table.fields = self.fields
        reader = read_field_contacts if self.fields.any else read_contacts
        if self.model.nflex > 0:
            reader = read_flex_contacts
        self.table.read_contacts = reader.address if self._evaluated else 0

    def _shapes(self) -> tuple[bytes, ...]:
        """Everything in the model that fields are made of, and who may touch whom."""
        if not self.surfaces.asked:
            return ()
        return tuple(getattr(self.model, name).tobytes() for name in _SHAPES)

    @remembered
    def _set_cores(self, model: mujoco.MjModel, fields: Table) -> None:
        """How far geoms may enter others between two samples, and the boxes of their parts.

        Fields may be entered no farther than they are deep.

        A rigid surface pushes only what it lies in, and not what is behind it.
        """
        radius = inner_radii(model)
        if fields.any:
            kind, depth = fields.geom_kind, fields.geom_depth
            radius[kind == COMPLIANT_MESH] = depth[kind == COMPLIANT_MESH]
            radius[kind == RIGID_MESH] = 0.0
        self.table.geoms.inner_radius = radius
        every = [
            self.table.geoms.box[geom][None]
            if number < 0 or fields.geom_convex[geom]
            else part_boxes(fields, int(number))
            for geom, number in enumerate(fields.geom_field)
        ]
        counts = np.array([len(parts) for parts in every], dtype=np.int64)
        self.table.geoms.part_count = counts
        self.table.geoms.part_first = np.cumsum(counts) - counts
        cores = [
            cores_of_geom(model, geom, radius[geom]) if len(parts) == 1 else parts[:, :3]
            for geom, parts in enumerate(every)
        ]
        first = np.cumsum([0, *(len(one) for one in cores)]).astype(np.int64)
        self.table.geoms.core_first = first
        self.table.geoms.cores = np.concatenate([np.zeros((0, 3)), *cores])
        self.table.geoms.part_box = np.concatenate([np.zeros((0, 6)), *every])
        boxes = self.table.geoms.box
        self.table.geoms.extent = (
            np.linalg.norm(boxes[:, :3], axis=1) + np.linalg.norm(boxes[:, 3:], axis=1)
        ) + np.sqrt(3.0) * radius
        self.table.geoms.offset = np.array(
            [np.max(np.linalg.norm(points, axis=1)) for points in cores]
        )

    def set_contact_parameters(self, contact: ContactParameters) -> None:
        """Replace the contact parameters of every geom and pair."""
        resolved = resolve_materials(self.model, contact, self._stiction_tolerance)
        self.surfaces = resolve_surfaces(self.model, contact)
        self._field_shapes = None
        self.contact = contact
        self.set_materials(resolved)

    def set_materials(self, resolved: ResolvedMaterials) -> None:
        """Replace the tables of contact parameters, whoever gave them."""
        self.materials = resolved
        self.table.materials.of_geom = resolved.geoms
        self.table.materials.default = resolved.default
        self.table.materials.pairs = resolved.pairs
        self.table.materials.pair_keys = resolved.pair_keys

    def new_state(
        self, data: mujoco.MjData, contacts: int = 256, rows: int = 64, *, keep: bool = True
    ) -> State:
        """Make a state that is evaluated in ``data``, which it keeps alive unless told not to."""
        return State(self.model, self.table, data, contacts, rows, keep=keep)
