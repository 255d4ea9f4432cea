"""TAMSI of Asperity and of Drake on the mug in the shaken gripper, the same scene for both.

``python -m studies benchmark tamsi`` from the root of the repository, on a machine with nothing
else to do. The scene is `asperity.scenes.shaken_mug` shaken by its spring, so that neither engine
calls Python within the time that is measured. The two take turns in one process; CPU times of the
advances are compared, after one step that is not.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from pydrake.geometry import (
    AddContactMaterial,
    CollisionFilterDeclaration,
    Cylinder,
    GeometrySet,
    ProximityProperties,
)
from pydrake.geometry import Sphere as DrakeSphere
from pydrake.math import RigidTransform
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import (
    PrismaticJoint,
    PrismaticSpring,
    SpatialInertia,
    UnitInertia,
)
from pydrake.systems.analysis import Simulator as DrakeSimulator
from pydrake.systems.framework import DiagramBuilder

import asperity as asp
from asperity.integrators import Integrator
from asperity.scenes.shaken_mug import GRIP, STICTION_TOLERANCE, shaken_mug
from studies.benchmarks.report import RESULTS, machine

DURATION = 5.0
TIME_STEPS = (3e-3, 1e-3)

EULER: dict[str, dict[str, Any]] = {
    ", TALS": {"transition_aware": True},
    "": {},
    ", TALS, analytic Jacobian": {"transition_aware": True, "jacobian": "analytic"},
    ", analytic Jacobian": {"jacobian": "analytic"},
}
"""Options of implicit Euler with full Newton, the baselines of the TAMSI paper."""


def asperity_simulator(integrator: Integrator) -> asp.Simulator:
    """The scene in Asperity, at its start."""
    simulator = asp.Simulator(shaken_mug(sprung=True), integrator=integrator)
    simulator.reset("start")
    return simulator


def _inertia(mass: float, moments: np.ndarray) -> SpatialInertia:
    centre: Any = np.zeros(3)  # the stubs' array types fit no array
    return SpatialInertia(mass, centre, UnitInertia(*(moments / mass)))


class DrakeMug:
    """The scene in Drake, read from the model that Asperity simulates."""

    def __init__(self, time_step: float) -> None:
        origin = asperity_simulator(asp.Tamsi(time_step=time_step))
        model = origin.model
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(
            time_step=time_step,
            contact_model="point",
            stiction_tolerance=STICTION_TOLERANCE,
            discrete_contact_approximation="tamsi",
            use_sampled_output_ports=False,
        )
        self.plant, scene_graph = AddMultibodyPlant(config, builder)
        self.plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])
        bodies = {
            name: self.plant.AddRigidBody(
                name, _inertia(model.body(name).mass[0], model.body(name).inertia)
            )
            for name in ("gripper", "finger", "mug")
        }
        parents = {"gripper": self.plant.world_body(), "finger": bodies["gripper"]}
        self.joints = {}
        for body, joint in (("gripper", "lift"), ("finger", "close")):
            axis: Any = model.joint(joint).axis.copy()
            self.joints[joint] = self.plant.AddJoint(
                PrismaticJoint(joint, parents[body].body_frame(), bodies[body].body_frame(), axis)
            )
        self.plant.AddJointActuator("close", self.joints["close"])
        self.plant.AddForceElement(
            PrismaticSpring(self.joints["lift"], 0.0, float(model.joint("lift").stiffness[0]))
        )
        properties = self._properties(origin)
        pads = []
        for geom in range(model.ngeom):
            name = model.body(model.geom_bodyid[geom]).name
            position: Any = model.geom_pos[geom].copy()
            size = model.geom_size[geom]
            shape = Cylinder(size[0], 2.0 * size[1]) if name == "mug" else DrakeSphere(size[0])
            registered = self.plant.RegisterCollisionGeometry(
                bodies[name], RigidTransform(position), shape, f"geom_{geom}", properties
            )
            if name != "mug":
                pads.append(registered)
        scene_graph.collision_filter_manager().Apply(
            CollisionFilterDeclaration().ExcludeWithin(GeometrySet(pads))
        )
        self.plant.Finalize()
        self.diagram = builder.Build()
        self.simulator = DrakeSimulator(self.diagram)
        context = self.simulator.get_mutable_context()
        self.context = self.plant.GetMyMutableContextFromRoot(context)
        self.plant.get_actuation_input_port().FixValue(self.context, [-GRIP])
        speed = float(origin.data.qvel[0])
        self.joints["lift"].set_translation_rate(self.context, speed)
        self.mug = bodies["mug"]
        velocity: Any = np.array([0.0, 0.0, 0.0, 0.0, 0.0, speed])
        self.plant.SetFreeBodySpatialVelocity(
            context=self.context, body=self.mug, V_JpJc=SpatialVelocity(velocity)
        )
        self.simulator.Initialize()

    @staticmethod
    def _properties(origin: asp.Simulator) -> ProximityProperties:
        """Two surfaces in series have the stiffness of Asperity's pairs; the rest is a mean."""
        contacts = origin.session.world.current.contacts
        properties = ProximityProperties()
        friction = float(contacts.dynamic_friction[0])
        AddContactMaterial(
            dissipation=float(contacts.dissipation[0]),
            point_stiffness=2.0 * float(contacts.stiffness[0]),
            friction=CoulombFriction(friction, friction),
            properties=properties,
        )
        return properties

    def slip(self) -> float:
        """How far the mug is below its place in the gripper [m], negative downwards."""
        mug = self.plant.EvalBodyPoseInWorld(self.context, self.mug).translation()[2]
        return float(mug - self.joints["lift"].get_translation(self.context))


@dataclass(frozen=True)
class Result:
    """One method at one time step; medians over the rounds."""

    method: str
    time_step_ms: float
    cpu_per_second: float
    ratio_to_drake: float
    ratio_to_tamsi: float
    slip_um: float


Methods = dict[str, Callable[[], tuple[Callable[[float], None], Callable[[], float]]]]


def _asperity(integrator: Integrator) -> tuple[Callable[[float], None], Callable[[], float]]:
    simulator = asperity_simulator(integrator)

    def advance(end: float) -> None:
        simulator.advance_to(end)

    return advance, lambda: float(simulator.data.qpos[4] - simulator.data.qpos[0])


def _drake(time_step: float) -> tuple[Callable[[float], None], Callable[[], float]]:
    mug = DrakeMug(time_step)
    return mug.simulator.AdvanceTo, mug.slip


def measure(time_step: float, rounds: int, duration: float) -> list[Result]:
    """Let the methods take turns, a new simulation in every round."""
    methods: Methods = {
        "drake tamsi": lambda: _drake(time_step),
        "asperity tamsi": lambda: _asperity(asp.Tamsi(time_step=time_step)),
        "asperity tamsi, parabolic": lambda: _asperity(
            asp.Tamsi(time_step=time_step, friction_law="parabolic")
        ),
    }
    for name, options in EULER.items():
        integrator = asp.ImplicitEuler(
            time_step=time_step, newton="full", friction_law="linear", **options
        )
        methods[f"asperity implicit Euler{name}"] = lambda i=integrator: _asperity(i)  # type: ignore[misc]
    times: dict[str, list[float]] = {name: [] for name in methods}
    slips = {}
    for _ in range(rounds):
        for name, make in methods.items():
            advance, slip = make()
            advance(time_step)
            started = time.process_time()
            advance(duration)
            times[name].append((time.process_time() - started) / duration)
            slips[name] = slip()
    reference = times["drake tamsi"]
    return [
        Result(
            name,
            1e3 * time_step,
            median(found),
            median(a / b for a, b in zip(found, reference, strict=True)),
            median(a / b for a, b in zip(found, times["asperity tamsi"], strict=True)),
            1e6 * slips[name],
        )
        for name, found in times.items()
    ]


def write(results: list[Result], folder: Path, rounds: int, duration: float) -> Path:
    """A table for people and one for programs."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# TAMSI on the mug in the shaken gripper",
        "",
        f"{machine()} One thread, CPU time, medians of {rounds} rounds that take turns; "
        f"{duration:g} s are simulated. Friction is weaker than the load at the turns, so that the "
        "mug slips and sticks twice a period; both engines converge to the same slip, which at "
        "these steps differs because a joint's spring is implicit here and explicit in Drake.",
        "",
        "| method | time step | CPU s per simulated s | over Drake's | over our TAMSI's | slip |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.method} | {r.time_step_ms:g} ms | {r.cpu_per_second:.4f} | {r.ratio_to_drake:.2f} | "
        f"{r.ratio_to_tamsi:.3g} | "
        f"{1e-3 * r.slip_um:.2f} mm |"
        for r in results
    ]
    path = folder / "tamsi.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with (folder / "tamsi.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(asdict(results[0])))
        table.writeheader()
        table.writerows(asdict(result) for result in results)
    return path


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m studies benchmark tamsi", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--duration", type=float, default=DURATION)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    results = [r for h in TIME_STEPS for r in measure(h, args.rounds, args.duration)]
    print(write(results, args.results, args.rounds, args.duration).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
