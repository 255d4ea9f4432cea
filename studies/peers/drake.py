"""Drake: its error-controlled ``cenic`` and its discrete ``sap``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike
from pydrake.common.value import Value
from pydrake.math import RollPitchYaw, RotationMatrix
from pydrake.multibody.math import SpatialForce
from pydrake.multibody.plant import ExternallyAppliedSpatialForce
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig
from pydrake.systems.framework import EventStatus

from asperity.errors import ModelError
from studies.benchmarks.verification.case import (
    Array,
    Given,
    NotApplicable,
    Record,
    Simulate,
    World,
)
from studies.peers.drake_model import Contact, DrakeModel
from studies.peers.engine import Counters
from studies.peers.limits import Deadline, OutOfTime, Stopped

__all__ = ["Coordinates", "DrakeEngine", "DrakeSimulate"]

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)


class DrakeEngine:
    """A model's plant and its simulator; see `studies.peers.engine.Engine`.

    Parameters
    ----------
    model : mujoco.MjModel
    contact : Contact
        Of all pairs, see `DrakeModel`.
    accuracy : float, optional
        Of ``cenic``.
    time_step : float, optional
        Of a discrete plant [s] instead.
    approximation : str
        Of the discrete plant.
    max_step : float
        Largest step of ``cenic`` [s], which is that of every step if there is no accuracy.
    qpos, qvel : ndarray, optional
        The state at the start, that of the model by default.
    prepare : callable, optional
        Takes the `DrakeModel` and its context before the start, to fix inputs.
    **options
        Of `DrakeModel`.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        contact: Contact,
        *,
        accuracy: float | None = None,
        time_step: float | None = None,
        approximation: str = "sap",
        max_step: float = 0.1,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        prepare: Callable[[DrakeModel, Any], None] = lambda made, context: None,
        **options: Any,
    ) -> None:
        self.discrete = time_step is not None
        self.made = DrakeModel(
            model,
            contact,
            time_step=time_step or 0.0,
            approximation=approximation if self.discrete else "",
            **options,
        )
        self.simulator = Simulator(self.made.diagram)
        if not self.discrete:
            config = SimulatorConfig(
                integration_scheme="cenic",
                max_step_size=max_step,
                use_error_control=accuracy is not None,
                target_realtime_rate=0.0,
            )
            if accuracy is not None:
                config.accuracy = accuracy
            ApplySimulatorConfig(config, self.simulator)
        root = self.simulator.get_mutable_context()
        self.context = self.made.plant.GetMyMutableContextFromRoot(root)
        self.coordinates = Coordinates(self.made, self.context)
        self.coordinates.write(
            model.qpos0 if qpos is None else np.asarray(qpos, float),
            np.zeros(model.nv) if qvel is None else np.asarray(qvel, float),
        )
        prepare(self.made, self.context)
        self.simulator.Initialize()

    def advance(self, time: float) -> None:
        """See `Engine`."""
        self.simulator.AdvanceTo(time)

    def counters(self) -> Counters:
        """Work done; discrete plants only count their steps."""
        if self.discrete:
            return Counters(self.simulator.get_num_discrete_updates())
        integrator = self.simulator.get_integrator()
        summary = {name: int(value) for name, value in integrator.GetStatisticsSummary()}
        return Counters(
            int(integrator.get_num_steps_taken()),
            integrator.get_num_step_shrinkages_from_error_control()
            + integrator.get_num_step_shrinkages_from_substep_failures(),
            summary.get("cenic_total_solver_iterations"),
            summary.get("cenic_total_hessian_factorizations"),
            summary.get("cenic_total_ls_iterations"),
        )

    def state(self) -> tuple[Array, Array]:
        """See `Engine`."""
        return self.coordinates.read()

    def overlap(self) -> float:
        """See `Engine`."""
        results = self.made.plant.get_contact_results_output_port().Eval(self.context)
        depths = [
            results.point_pair_contact_info(i).point_pair().depth
            for i in range(results.num_point_pair_contacts())
        ]
        return float(max(depths, default=0.0))


class DrakeSimulate(Simulate):
    """Simulates worlds with Drake."""

    def __init__(
        self,
        *,
        accuracy: float | None = None,
        time_step: float | None = None,
        approximation: str = "sap",
        deadline: Deadline | None = None,
    ) -> None:
        self.accuracy = accuracy
        self.time_step = time_step
        self.approximation = approximation
        self.deadline = deadline or Deadline(float("inf"))

    def run(self, world: World, duration: float, given: Given) -> Record:
        if world.contact.dynamic_friction is not None and self.time_step is not None:
            raise NotApplicable("one coefficient of friction")
        if world.every_friction:
            raise NotApplicable("no friction but that of sliding")
        if world.deformable:
            raise NotApplicable("no deformable bodies of MuJoCo")
        if given.release is not None:
            raise NotApplicable("no equalities that let go")
        model = world.model()

        def fix_inputs(made: DrakeModel, context: Any) -> None:
            _apply(made, context, given.forces)
            if model.nu:
                made.plant.get_actuation_input_port().FixValue(context, np.zeros(model.nu))

        try:
            engine = DrakeEngine(
                model,
                world.contact,
                accuracy=self.accuracy,
                time_step=self.time_step,
                approximation=self.approximation,
                qpos=given.qpos,
                qvel=given.qvel,
                prepare=fix_inputs,
            )
        except ModelError as refusal:
            raise NotApplicable(str(refusal)) from refusal
        except RuntimeError as failure:
            raise Stopped(str(failure).splitlines()[0][:80]) from failure
        simulator, made = engine.simulator, engine.made
        port = made.plant.get_actuation_input_port()
        rows: list[tuple[float, Array, Array]] = [(0.0, *engine.state())]

        def watch(_: Any) -> EventStatus:
            self.deadline.check()
            rows.append((simulator.get_context().get_time(), *engine.state()))
            return EventStatus.DidNothing()

        simulator.set_monitor(watch)
        try:
            # The last stop is the end, once: Drake dies of an interval of no length.
            drive, period = given.drive, given.period
            inner = () if drive is None else np.arange(period, duration * (1 - 1e-9), period)
            for stop in (*inner, duration):
                if drive is not None:
                    now = simulator.get_context().get_time()
                    port.FixValue(engine.context, np.multiply(made.actuated, drive(now + 1e-9)))
                simulator.AdvanceTo(float(stop))
        except OutOfTime:
            raise
        except RuntimeError as failure:
            self.deadline.check()
            raise Stopped(str(failure).splitlines()[0][:80]) from failure
        attempts = None
        if self.time_step is None:
            integrator = simulator.get_integrator()
            attempts = integrator.get_num_steps_taken() + (
                integrator.get_num_step_shrinkages_from_error_control()
            )
        times, positions, velocities = zip(*rows, strict=True)
        return Record(model, np.array(times), np.array(positions), np.array(velocities), attempts)


def _apply(made: DrakeModel, context: Any, forces: Mapping[str, Sequence[float]]) -> None:
    applied = []
    for name, values in forces.items():
        body = made.model.body(name).id
        force = ExternallyAppliedSpatialForce()
        force.body_index = made.bodies[body].index()
        force.p_BoBq_B = made.model.body_ipos[body].copy()
        push: Any = np.asarray(values[:3], float)
        twist: Any = np.asarray(values[3:], float)
        force.F_Bq_W = SpatialForce(twist, push)
        applied.append(force)
    made.plant.get_applied_spatial_force_input_port().FixValue(
        context, Value[list[ExternallyAppliedSpatialForce]](applied)
    )


class Coordinates:
    """Between MuJoCo's coordinates and those of Drake's joints.

    A free joint's angular velocity is in the body's axes in MuJoCo and in the world's in Drake,
    and Drake's linear one is that of the body's origin in both.
    """

    def __init__(self, made: DrakeModel, context: Any) -> None:
        self.made, self.context = made, context

    def _parts(self) -> list[tuple[int, int, int, Any]]:
        model = self.made.model
        return [
            (
                int(model.jnt_type[j]),
                int(model.jnt_qposadr[j]),
                int(model.jnt_dofadr[j]),
                self.made.joints[j],
            )
            for j in range(model.njnt)
        ]

    def write(self, qpos: Array, qvel: Array) -> None:
        """Set the plant's state."""
        plant = self.made.plant
        positions = np.array(plant.GetPositions(self.context))
        velocities = np.array(plant.GetVelocities(self.context))
        for kind, q, v, joint in self._parts():
            at, speed = joint.position_start(), joint.velocity_start()
            if kind == _FREE:
                quaternion = qpos[q + 3 : q + 7]
                positions[at : at + 7] = [*quaternion, *qpos[q : q + 3]]
                spin = _matrix(quaternion) @ qvel[v + 3 : v + 6]
                velocities[speed : speed + 6] = [*spin, *qvel[v : v + 3]]
            elif kind == _BALL:
                rotation = _matrix(qpos[q : q + 4])
                positions[at : at + 3] = _angles(rotation)
                velocities[speed : speed + 3] = rotation @ qvel[v : v + 3]
            else:
                positions[at], velocities[speed] = qpos[q], qvel[v]
        plant.SetPositions(self.context, positions)
        plant.SetVelocities(self.context, velocities)

    def read(self) -> tuple[Array, Array]:
        """The state as MuJoCo writes it."""
        model, plant = self.made.model, self.made.plant
        positions = np.array(plant.GetPositions(self.context))
        velocities = np.array(plant.GetVelocities(self.context))
        qpos, qvel = np.zeros(model.nq), np.zeros(model.nv)
        for kind, q, v, joint in self._parts():
            at, speed = joint.position_start(), joint.velocity_start()
            if kind == _FREE:
                quaternion = positions[at : at + 4] / np.linalg.norm(positions[at : at + 4])
                qpos[q : q + 3], qpos[q + 3 : q + 7] = positions[at + 4 : at + 7], quaternion
                qvel[v : v + 3] = velocities[speed + 3 : speed + 6]
                qvel[v + 3 : v + 6] = _matrix(quaternion).T @ velocities[speed : speed + 3]
            elif kind == _BALL:
                turned = np.empty(4)
                matrix = _from_angles(positions[at : at + 3])
                mujoco.mju_mat2Quat(turned, matrix.ravel())
                qpos[q : q + 4] = turned
                qvel[v : v + 3] = matrix.T @ velocities[speed : speed + 3]
            else:
                qpos[q], qvel[v] = positions[at], velocities[speed]
        return qpos, qvel


def _matrix(quaternion: Array) -> Array:
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, np.ascontiguousarray(quaternion))
    return out.reshape(3, 3)


def _angles(rotation: Array) -> Array:
    matrix: Any = rotation
    return np.array(RollPitchYaw(RotationMatrix(matrix)).vector())


def _from_angles(angles: Array) -> Array:
    rpy: Any = angles
    return np.array(RollPitchYaw(rpy).ToRotationMatrix().matrix())
