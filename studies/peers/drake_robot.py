"""Drake: a robot as Drake's own parser reads it, in a discrete plant with SAP.

Of MuJoCo's files Drake's parser reads joints, masses, primitive shapes and friction, and no meshes
but OBJ; what it leaves out, as tendons, it says on its log. Motors are left to generalized forces,
since it reads those of some files only.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from pydrake.geometry import HalfSpace
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

_FREE, _HINGE = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_HINGE)


def _without_floor(source: Path) -> str:
    """A robot alone, of which there shall be many."""
    spec = mujoco.MjSpec.from_file(str(source))
    for geom in list(spec.worldbody.geoms):
        spec.delete(geom)
    spec.compile()
    return str(spec.to_xml())


class DrakeRobot:
    """Robots on one floor, in Drake.

    Parameters
    ----------
    source : pathlib.Path
        File of one robot.
    model : mujoco.MjModel
        All of them, with their names behind the given prefixes.
    prefixes : sequence of str
        Of the robots.

    Raises
    ------
    RuntimeError
        If Drake cannot read the file.
    """

    def __init__(
        self, source: Path, model: mujoco.MjModel, prefixes: Sequence[str] = ("",)
    ) -> None:
        logging.getLogger("drake").setLevel(logging.ERROR)
        self.model = model
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(
            time_step=float(model.opt.timestep),
            discrete_contact_approximation="sap",
            use_sampled_output_ports=False,
        )
        self.plant, _ = AddMultibodyPlant(config, builder)
        instances = []
        for prefix in prefixes:
            parser = Parser(self.plant, prefix)
            if len(prefixes) == 1:
                added = parser.AddModels(str(source))
            else:
                added = parser.AddModelsFromString(_without_floor(source), "xml")
            instances.append((prefix, added[0]))
        if len(prefixes) > 1:
            friction = float(model.geom_friction[0, 0])
            self.plant.RegisterCollisionGeometry(
                self.plant.world_body(),
                RigidTransform(),
                HalfSpace(),
                "the floor of all",
                CoulombFriction(friction, friction),
            )
        self.plant.Finalize()
        diagram = builder.Build()
        self.simulator = Simulator(diagram)
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        count = self.plant.num_actuators()
        if count:
            self.plant.get_actuation_input_port().FixValue(self.context, np.zeros(count))
        self._find_joints(instances)
        self.force(np.zeros(model.nv))

    def _find_joints(self, instances: Sequence[tuple[str, Any]]) -> None:
        """Where MuJoCo's joints are among Drake's."""
        model, plant = self.model, self.plant
        self._free: list[tuple[int, Any]] = []
        one: list[tuple[int, int, int, int]] = []
        for number in range(model.njnt):
            name, body = model.joint(number).name, model.body(model.jnt_bodyid[number]).name
            prefix, instance = next(
                pair for pair in instances if name.startswith(pair[0]) and body.startswith(pair[0])
            )
            if model.jnt_type[number] == _FREE:
                own = plant.GetBodyByName(body.removeprefix(prefix), instance)
                self._free.append((number, own))
                continue
            joint = plant.GetJointByName(name.removeprefix(prefix), instance)
            one.append(
                (
                    *(int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])),
                    *(joint.position_start(), joint.velocity_start()),
                )
            )
        self._one = np.array(one, dtype=int).reshape(-1, 4)

    def force(self, force: np.ndarray) -> None:
        """Set the generalized force of MuJoCo's hinges and slides."""
        total = np.zeros(self.plant.num_velocities())
        total[self._one[:, 3]] = force[self._one[:, 1]]
        port = self.plant.get_applied_generalized_force_input_port()
        port.FixValue(self.context, total)

    def follow(self, data: mujoco.MjData) -> None:
        """Take a state of MuJoCo's, at the present time."""
        plant, context = self.plant, self.context
        positions, velocities = plant.GetPositions(context), plant.GetVelocities(context)
        positions[self._one[:, 2]] = data.qpos[self._one[:, 0]]
        velocities[self._one[:, 3]] = data.qvel[self._one[:, 1]]
        plant.SetPositions(context, positions)
        plant.SetVelocities(context, velocities)
        for number, body in self._free:
            place, start = self.model.jnt_qposadr[number], self.model.jnt_dofadr[number]
            turn = np.empty(9)
            mujoco.mju_quat2Mat(turn, data.qpos[place + 3 : place + 7])
            matrix: Any = np.eye(4)
            matrix[:3, :3] = turn.reshape(3, 3)
            matrix[:3, 3] = data.qpos[place : place + 3]
            plant.SetFreeBodyPose(context, body, RigidTransform(matrix))
            spin = matrix[:3, :3] @ data.qvel[start + 3 : start + 6]
            motion = SpatialVelocity(spin, data.qvel[start : start + 3])
            plant.SetFreeBodySpatialVelocity(context, body, motion)

    def advance(self, steps: int) -> None:
        """Take so many steps."""
        time = self.simulator.get_context().get_time()
        self.simulator.AdvanceTo(time + steps * float(self.model.opt.timestep))
