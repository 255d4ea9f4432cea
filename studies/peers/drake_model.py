"""Drake's plant of a model that MuJoCo has compiled.

What is translated: bodies with free, ball, hinge and slide joints, their springs, dampers and
limits; planes, spheres, boxes, capsules, cylinders, ellipsoids and hulls of meshes; motors.
Anything else is refused by name. Drake finds one contact point between a box and another flat
thing, on which nothing can rest, so boxes get eight spheres of 1 mm inside their corners, if asked
for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import mujoco
import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    CollisionFilterDeclaration,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
)
from pydrake.geometry import Box as DrakeBox
from pydrake.geometry import Capsule as DrakeCapsule
from pydrake.geometry import Convex as DrakeConvex
from pydrake.geometry import Cylinder as DrakeCylinder
from pydrake.geometry import Ellipsoid as DrakeEllipsoid
from pydrake.geometry import Sphere as DrakeSphere
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    PrismaticJoint,
    PrismaticSpring,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RevoluteSpring,
    RotationalInertia,
    SpatialInertia,
    UnitInertia,
)
from pydrake.systems.framework import DiagramBuilder

from asperity.errors import ModelError

__all__ = ["CORNER_RADIUS", "Contact", "DrakeModel"]

CORNER_RADIUS = 1e-3

_FREE, _BALL, _SLIDE, _HINGE = (
    int(mujoco.mjtJoint.mjJNT_FREE),
    int(mujoco.mjtJoint.mjJNT_BALL),
    int(mujoco.mjtJoint.mjJNT_SLIDE),
    int(mujoco.mjtJoint.mjJNT_HINGE),
)


def _pose(position: np.ndarray, quaternion: np.ndarray) -> RigidTransform:
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, np.ascontiguousarray(quaternion, dtype=float))
    place: Any = np.array(position, dtype=float)
    rotation: Any = matrix.reshape(3, 3)
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(rotation), place)


def _refuse_what_is_not_translated(model: mujoco.MjModel) -> None:
    reasons = {
        "equalities": model.neq,
        "tendons": model.ntendon,
        "dry joint friction": int(np.count_nonzero(model.dof_frictionloss)),
        "armature": int(np.count_nonzero(model.dof_armature)),
        "nonlinear springs and dampers": int(
            np.count_nonzero(model.jnt_stiffnesspoly) + np.count_nonzero(model.dof_dampingpoly)
        ),
        "actuators of anything but joints": int(
            np.count_nonzero(model.actuator_trntype != int(mujoco.mjtTrn.mjTRN_JOINT))
        ),
        "fluids": model.opt.density > 0.0 or model.opt.viscosity > 0.0,
        "servos": int(
            np.count_nonzero(model.actuator_biastype) + np.count_nonzero(model.actuator_dyntype)
        ),
    }
    found = [name for name, count in reasons.items() if count]
    if found:
        raise ModelError(f"{', '.join(found)} not translated for Drake")


class Contact(Protocol):
    """Contact parameters of all pairs of geoms; friction is the model's."""

    @property
    def stiffness(self) -> float: ...  # [N/m]
    @property
    def dissipation(self) -> float: ...  # [s/m]
    @property
    def dynamic_friction(self) -> float | None: ...
    @property
    def stiction_tolerance(self) -> float | None: ...  # [m/s], the papers' 1e-4 if None


class DrakeModel:
    """A plant that has a MuJoCo model's joints, masses and shapes.

    Parameters
    ----------
    model : mujoco.MjModel
    contact : Contact
        Of all pairs.
    time_step : float
        Of the discrete plant [s]; 0 makes a continuous one.
    approximation : str
        Of the discrete plant's contact, as Drake calls it; empty for its default.
    corners : bool
        Whether boxes get spheres in their corners.
    surface : callable, optional
        Stiffness of a geom's own surface [N/m], by its number; two in series make that of a pair.
        By default all have twice the pair's.
    relaxation_time : float, optional
        Of a pair, for SAP [s]; by default the time step, 0 where dissipation is.
    fields : tuple of float, optional
        Hydroelastic modulus [Pa] and edge length [m] of pressure fields, which all geoms but planes
        then have; planes are rigid.

    Raises
    ------
    ModelError
        If something is not translated.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        contact: Contact,
        *,
        time_step: float,
        approximation: str,
        corners: bool = True,
        surface: Callable[[int], float] | None = None,
        relaxation_time: float | None = None,
        fields: tuple[float, float] | None = None,
    ) -> None:
        _refuse_what_is_not_translated(model)
        self.model = model
        self.contact = contact
        self.corners = corners
        self.fields = fields
        config = MultibodyPlantConfig(
            time_step=time_step,
            contact_model="hydroelastic_with_fallback" if fields else "point",
            contact_surface_representation="polygon",
            stiction_tolerance=contact.stiction_tolerance or 1e-4,
            use_sampled_output_ports=False,
        )
        if approximation:
            config.discrete_contact_approximation = approximation
        self.surface = surface or (lambda geom: 2.0 * contact.stiffness)
        if relaxation_time is None:
            relaxation_time = 0.0 if contact.dissipation == 0.0 else time_step
        self.relaxation_time = relaxation_time
        builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlant(config, builder)
        gravity: Any = model.opt.gravity.copy()
        self.plant.mutable_gravity_field().set_gravity_vector(gravity)
        self.bodies = [self.plant.world_body()]
        self.joints: list[Any] = []
        for body in range(1, model.nbody):
            self._add_body(body)
        self._add_geoms()
        self.actuated = []
        for actuator in range(model.nu):
            joint = int(model.actuator_trnid[actuator, 0])
            self.plant.AddJointActuator(f"motor_{actuator}", self.joints[joint])
            self.actuated.append(float(model.actuator_gear[actuator, 0]))
        self.plant.Finalize()
        self.diagram = builder.Build()

    def _inertia(self, body: int) -> SpatialInertia:
        model = self.model
        mass = float(model.body_mass[body])
        turned = np.empty(9)
        mujoco.mju_quat2Mat(turned, model.body_iquat[body])
        axes = turned.reshape(3, 3)
        tensor = axes @ np.diag(model.body_inertia[body]) @ axes.T
        rotational = RotationalInertia(
            tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2]
        )
        centre: Any = model.body_ipos[body].copy()
        about_centre = UnitInertia()
        about_centre.SetFromRotationalInertia(rotational, mass)
        return SpatialInertia(mass, centre, about_centre.ShiftFromCenterOfMass(-centre))

    def _speck(self, body: int) -> SpatialInertia:
        """A billionth of a body: Drake's ``cenic`` refuses bodies without mass between joints."""
        centre: Any = np.zeros(3)
        mass = 1e-9 * float(self.model.body_mass[body])
        return SpatialInertia(mass, centre, UnitInertia.SolidSphere(0.1))

    def _add_body(self, body: int) -> None:
        model, plant = self.model, self.plant
        link = plant.AddRigidBody(f"body_{body}", self._inertia(body))
        self.bodies.append(link)
        parent = self.bodies[int(model.body_parentid[body])]
        pose = _pose(model.body_pos[body], model.body_quat[body])
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        if count == 0:
            plant.WeldFrames(parent.body_frame(), link.body_frame(), pose)
            return
        if int(model.jnt_type[first]) == _FREE:
            pose = RigidTransform()  # its coordinates are the place in the world
        frame = plant.AddFrame(FixedOffsetFrame(f"place_{body}", parent.body_frame(), pose))
        for joint in range(first, first + count):
            last = joint == first + count - 1
            child = link if last else plant.AddRigidBody(f"between_{joint}", self._speck(body))
            at: Any = model.jnt_pos[joint].copy()
            before = plant.AddFrame(FixedOffsetFrame(f"p_{joint}", frame, RigidTransform(at)))
            after = plant.AddFrame(
                FixedOffsetFrame(f"c_{joint}", child.body_frame(), RigidTransform(at))
            )
            self.joints.append(plant.AddJoint(self._joint(joint, before, after)))
            self._add_spring(joint)
            frame = child.body_frame()

    def _joint(self, joint: int, before: Any, after: Any) -> Any:
        model = self.model
        kind, name = int(model.jnt_type[joint]), f"joint_{joint}"
        damping = float(model.dof_damping[model.jnt_dofadr[joint]])
        if kind == _FREE:
            return QuaternionFloatingJoint(name, before, after)
        if kind == _BALL:
            return BallRpyJoint(name, before, after, damping)
        axis: Any = model.jnt_axis[joint].copy()
        low, high = (-np.inf, np.inf)
        if model.jnt_limited[joint]:
            low, high = (float(v) for v in model.jnt_range[joint])
        made = RevoluteJoint if kind == _HINGE else PrismaticJoint
        return made(name, before, after, axis, low, high, damping)

    def _add_spring(self, joint: int) -> None:
        stiffness = float(np.ravel(self.model.jnt_stiffness[joint])[0])
        if stiffness == 0.0:
            return
        address = int(self.model.jnt_qposadr[joint])
        rest = float(self.model.qpos_spring[address])
        kind = int(self.model.jnt_type[joint])
        if kind == _HINGE:
            self.plant.AddForceElement(RevoluteSpring(self.joints[joint], rest, stiffness))
        elif kind == _SLIDE:
            self.plant.AddForceElement(PrismaticSpring(self.joints[joint], rest, stiffness))
        else:
            raise ModelError("springs of this joint are not translated for Drake")

    def _properties(self, geom: int) -> ProximityProperties:
        # SAP's relaxation times of two surfaces add.
        properties = ProximityProperties()
        friction = float(self.model.geom_friction[geom, 0])
        dynamic = self.contact.dynamic_friction
        AddContactMaterial(
            dissipation=self.contact.dissipation,
            point_stiffness=self.surface(geom),
            friction=CoulombFriction(friction, friction if dynamic is None else dynamic),
            properties=properties,
        )
        properties.AddProperty("material", "relaxation_time", 0.5 * self.relaxation_time)
        if self.fields is not None:
            modulus, edge = self.fields
            if self.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
                AddRigidHydroelasticProperties(properties)
            else:
                AddCompliantHydroelasticProperties(edge, modulus, properties)
        return properties

    def _shape(self, geom: int) -> Any:
        kind = int(self.model.geom_type[geom])
        size = [float(v) for v in self.model.geom_size[geom]]
        types = mujoco.mjtGeom
        if kind == int(types.mjGEOM_PLANE):
            return HalfSpace()
        if kind == int(types.mjGEOM_SPHERE):
            return DrakeSphere(size[0])
        if kind == int(types.mjGEOM_BOX):
            return DrakeBox(*(2.0 * v for v in size))
        if kind == int(types.mjGEOM_CAPSULE):
            return DrakeCapsule(size[0], 2.0 * size[1])
        if kind == int(types.mjGEOM_CYLINDER):
            return DrakeCylinder(size[0], 2.0 * size[1])
        if kind == int(types.mjGEOM_ELLIPSOID):
            return DrakeEllipsoid(*size)
        if kind == int(types.mjGEOM_MESH):
            mesh = int(self.model.geom_dataid[geom])
            first, count = int(self.model.mesh_vertadr[mesh]), int(self.model.mesh_vertnum[mesh])
            points: Any = self.model.mesh_vert[first : first + count].astype(float).T
            return DrakeConvex(points, f"mesh {mesh}")
        raise ModelError("a geom's shape is not translated for Drake")

    def _add_geoms(self) -> None:
        model, plant = self.model, self.plant
        corners: list[Any] = []
        by_body: dict[int, list[Any]] = {}
        for geom in range(model.ngeom):
            if not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                continue
            body = int(model.geom_bodyid[geom])
            pose = _pose(model.geom_pos[geom], model.geom_quat[geom])
            properties = self._properties(geom)
            mine = by_body.setdefault(body, [])
            mine.append(
                plant.RegisterCollisionGeometry(
                    self.bodies[body], pose, self._shape(geom), f"geom_{geom}", properties
                )
            )
            box = int(model.geom_type[geom]) == int(mujoco.mjtGeom.mjGEOM_BOX)
            if box and body > 0 and self.corners:
                for corner in range(8):
                    signs = np.array([corner & 1, corner >> 1 & 1, corner >> 2 & 1]) * 2.0 - 1.0
                    point: Any = signs * (model.geom_size[geom] - CORNER_RADIUS)
                    added = plant.RegisterCollisionGeometry(
                        self.bodies[body],
                        pose @ RigidTransform(point),
                        DrakeSphere(CORNER_RADIUS),
                        f"corner_{geom}_{corner}",
                        properties,
                    )
                    corners.append(added)
                    mine.append(added)
        manager = self.scene_graph.collision_filter_manager()
        if corners:
            manager.Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet(corners)))
        for body, mine in by_body.items():
            # As in MuJoCo: a body's own geoms, and those of its parent (but not of the world).
            parent = int(model.body_parentid[body])
            kin = mine + (by_body.get(parent, []) if parent > 0 else [])
            manager.Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet(kin)))
        self._filter_by_type(by_body, manager)

    def _filter_by_type(self, by_body: dict[int, list[Any]], manager: Any) -> None:
        """Exclude pairs that contype and conaffinity exclude; all geoms of a body agree."""
        model = self.model
        bits: dict[int, tuple[int, int]] = {}
        for geom in range(model.ngeom):
            pair = (int(model.geom_contype[geom]), int(model.geom_conaffinity[geom]))
            if any(pair):
                body = int(model.geom_bodyid[geom])
                if bits.setdefault(body, pair) != pair:
                    raise ModelError("a body's geoms collide differently: not translated")
        for first, (type_1, affinity_1) in bits.items():
            for second, (type_2, affinity_2) in bits.items():
                if first < second and not (type_1 & affinity_2 or type_2 & affinity_1):
                    manager.Apply(
                        CollisionFilterDeclaration().ExcludeBetween(
                            GeometrySet(by_body[first]), GeometrySet(by_body[second])
                        )
                    )
