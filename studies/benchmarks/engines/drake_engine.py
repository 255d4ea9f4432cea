"""Drake: the scene in a MultibodyPlant with point contact.

Methods: ``"cenic"`` (error-controlled), ``"cenic-fixed"`` (the same without error control), and
the discrete plants ``"lagged"``, ``"similar"``, ``"sap"``, ``"tamsi"``. With ``/plain`` appended,
boxes are boxes alone; otherwise they also get eight corner points. Drake reports one contact point
for two boxes, on which a box cannot rest; the corners give it the several points that the other
engines find by themselves.

Stiffness: Drake keeps it per geometry and combines it in series, as the description does. Rigid
walls get 10¹² times the objects' value, which makes the pair's value that of the object to one part
in 10¹². The Hunt–Crossley coefficient of a pair is a weighted mean, so both sides get the pair's;
the relaxation times (SAP) add, so both sides get half of the pair's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydrake.geometry import (
    AddContactMaterial,
    CollisionFilterDeclaration,
    GeometrySet,
    ProximityProperties,
)
from pydrake.geometry import Box as DrakeBox
from pydrake.geometry import Capsule as DrakeCapsule
from pydrake.geometry import HalfSpace as DrakeHalfSpace
from pydrake.geometry import Sphere as DrakeSphere
from pydrake.math import RigidTransform
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import SpatialInertia, UnitInertia
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from pydrake.systems.framework import DiagramBuilder

from studies.benchmarks.engines.base import BodyStates, Counters, Setting
from studies.benchmarks.scene import Box, Capsule, HalfSpace, Scene, Sphere

CORNER_RADIUS = 1e-3
RIGID_RATIO = 1e12
DISCRETE = ("lagged", "similar", "sap", "tamsi")


def _shape(
    shape: Sphere | Box | Capsule | HalfSpace,
) -> DrakeSphere | DrakeBox | DrakeCapsule | DrakeHalfSpace:
    if isinstance(shape, Sphere):
        return DrakeSphere(shape.radius)
    if isinstance(shape, Box):
        return DrakeBox(*(2.0 * np.asarray(shape.half_extents)))
    if isinstance(shape, Capsule):
        return DrakeCapsule(shape.radius, 2.0 * shape.half_length)
    return DrakeHalfSpace()


def _inertia(shape: Sphere | Box | Capsule, mass: float) -> SpatialInertia:
    centre: Any = np.zeros(3)  # the stubs' array types fit no array
    return SpatialInertia(mass, centre, UnitInertia(*shape.principal_inertia(1.0)))


def _properties(scene: Scene, stiffness: float, relaxation_time: float) -> ProximityProperties:
    contact = scene.contact
    properties = ProximityProperties()
    AddContactMaterial(
        dissipation=contact.dissipation,
        point_stiffness=stiffness,
        friction=CoulombFriction(contact.friction, contact.friction),
        properties=properties,
    )
    properties.AddProperty("material", "relaxation_time", 0.5 * relaxation_time)
    return properties


class DrakeRun:
    """A plant, its simulator and the integrator."""

    def __init__(self, scene: Scene, setting: Setting) -> None:
        self.method, _, variant = setting.method.partition("/")
        if self.method not in ("cenic", "cenic-fixed", *DISCRETE) or variant not in ("", "plain"):
            raise ValueError(f"Drake has no method {setting.method!r} here")
        self.setting = setting
        self._build(scene, corners=variant != "plain")
        self.simulator = Simulator(self.diagram)
        context = self.diagram.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self.plant_context = self.plant.GetMyMutableContextFromRoot(context)
        for body, description in zip(self.bodies, scene.bodies, strict=True):
            matrix: Any = np.eye(4)
            matrix[:3, :3] = _rotation(description.quaternion)
            matrix[:3, 3] = description.position
            self.plant.SetFreeBodyPose(self.plant_context, body, RigidTransform(matrix))
        self._configure()

    def _build(self, scene: Scene, corners: bool) -> None:
        discrete = self.method in DISCRETE
        time_step = self.setting.time_step
        config = MultibodyPlantConfig(
            time_step=self.setting.fixed() if discrete else 0.0,
            contact_model="point",
            stiction_tolerance=scene.contact.stiction_tolerance,
            use_sampled_output_ports=False,
        )
        if discrete:
            config.discrete_contact_approximation = self.method
        builder = DiagramBuilder()
        self.plant, self.scene_graph = AddMultibodyPlant(config, builder)
        self.plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -scene.gravity])
        contact = scene.contact
        # Only SAP reads the relaxation time; its paper takes one time step where none is given.
        relaxation = contact.relaxation_time or time_step or 0.0
        rigid = RIGID_RATIO * contact.object_stiffness
        soft = _properties(scene, contact.object_stiffness, relaxation)
        hard = _properties(scene, contact.wall_stiffness or rigid, relaxation)
        for i, wall in enumerate(scene.walls):
            position: Any = np.array(wall.position)
            self.plant.RegisterCollisionGeometry(
                self.plant.world_body(),
                RigidTransform(position),
                _shape(wall.shape),
                f"wall_{i}",
                hard,
            )
        self.bodies = []
        corner_ids = []
        for i, description in enumerate(scene.bodies):
            name = f"object_{i}"
            body = self.plant.AddRigidBody(name, _inertia(description.shape, description.mass))
            shape = _shape(description.shape)
            self.plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, soft)
            if corners and isinstance(description.shape, Box):
                for j, point in enumerate(description.shape.corner_points(CORNER_RADIUS)):
                    corner_ids.append(
                        self.plant.RegisterCollisionGeometry(
                            body,
                            RigidTransform(point),
                            DrakeSphere(CORNER_RADIUS),
                            f"{name}_corner_{j}",
                            soft,
                        )
                    )
            self.bodies.append(body)
        if corner_ids:
            # Corner against corner adds nothing but candidate pairs that cost Drake time.
            self.scene_graph.collision_filter_manager().Apply(
                CollisionFilterDeclaration().ExcludeWithin(GeometrySet(corner_ids))
            )
        self.plant.Finalize()
        self.diagram = builder.Build()

    def _configure(self) -> None:
        if self.method in DISCRETE:
            return
        fixed = self.method == "cenic-fixed"
        config = SimulatorConfig(
            integration_scheme="cenic",
            max_step_size=self.setting.fixed() if fixed else self.setting.max_step,
            use_error_control=not fixed,
            target_realtime_rate=0.0,
            publish_every_time_step=False,
        )
        if not fixed:
            config.accuracy = self.setting.controlled()
        ApplySimulatorConfig(config, self.simulator)

    def advance(self, time: float) -> None:
        """Simulate up to ``time`` [s]."""
        self.simulator.AdvanceTo(time)

    def counters(self) -> Counters:
        """Work done; discrete plants only count their steps."""
        if self.method in DISCRETE:
            return Counters(steps=self.simulator.get_num_discrete_updates())
        integrator = self.simulator.get_integrator()
        summary = {name: int(value) for name, value in integrator.GetStatisticsSummary()}
        return Counters(
            steps=integrator.get_num_steps_taken(),
            rejections=integrator.get_num_step_shrinkages_from_error_control()
            + integrator.get_num_step_shrinkages_from_substep_failures(),
            iterations=summary.get("cenic_total_solver_iterations"),
            factorizations=summary.get("cenic_total_hessian_factorizations"),
            line_search_evaluations=summary.get("cenic_total_ls_iterations"),
        )

    def states(self) -> BodyStates:
        """Where the bodies are now."""
        poses = [self.plant.EvalBodyPoseInWorld(self.plant_context, b) for b in self.bodies]
        velocities = [
            self.plant.EvalBodySpatialVelocityInWorld(self.plant_context, b) for b in self.bodies
        ]
        return BodyStates(
            np.array([pose.translation() for pose in poses]),
            np.array([pose.rotation().ToQuaternion().wxyz() for pose in poses]),
            np.array([velocity.translational() for velocity in velocities]),
            np.array([velocity.rotational() for velocity in velocities]),
        )

    def own_penetration(self) -> float:
        """Deepest overlap among Drake's own contacts [m]."""
        results = self.plant.get_contact_results_output_port().Eval(self.plant_context)
        depths = [
            results.point_pair_contact_info(i).point_pair().depth
            for i in range(results.num_point_pair_contacts())
        ]
        return float(max(depths, default=0.0))


def _rotation(quaternion: tuple[float, float, float, float]) -> np.ndarray:
    """Rotation matrix of a unit quaternion (w, x, y, z), shape (3, 3)."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def prepare(scene: Scene, setting: Setting) -> DrakeRun:
    """A Drake simulation, initialised at time zero."""
    run = DrakeRun(scene, setting)
    run.simulator.Initialize()
    return run
