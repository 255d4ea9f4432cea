"""Pressure-field contact against Drake's: single queries, and whole runs under error control.

``python -m studies benchmark hydroelastic`` from the root of the repository, on a machine with
nothing else to do; Drake's columns are there where Drake is installed (extra ``peers``). Runs are
interleaved in one process, one round of all after the other, in CPU time, and ratios are those of
medians.

The falling cylinder and the static gripper are those of the CENIC paper with its authors' numbers
(E = 1e7 Pa, dissipation 50 s/m, friction 0.5, edges of 20 mm). Queries are made with Drake's rules,
centroids and the cut of angles, and once more with ours, by which balls need no mesh; runs with
ours, with today's defaults and with the paper's scheme.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

import mujoco
import numpy as np

import asperity as asp
from asperity.compiled import Table
from asperity.contact.hydroelastic.field_layout import FIELD_WORK
from asperity.integrators import Integrator
from asperity.plant.detection.patch_polygons import find_patch
from asperity.plant.plant import Plant
from studies.benchmarks.report import RESULTS, machine
from studies.experiments.paper import paper_cenic
from studies.scenes.cenic_cases import falling_cylinder, static_gripper

try:
    from pydrake import all as drake
except ImportError:
    drake = None

MODULUS, DISSIPATION, FRICTION, EDGE = 1e7, 50.0, 0.5, 0.02


@dataclass(frozen=True)
class Row:
    """One line of a table; times are medians [s]."""

    table: str
    case: str
    ours: float
    theirs: float = math.nan
    count: int = 0
    their_count: int = 0
    note: str = ""

    @property
    def ratio(self) -> float:
        """Drake's time over ours."""
        return self.theirs / self.ours


def contact(resolution: float = EDGE, **options: object) -> asp.ContactParameters:
    """Every geom compliant, with the paper's numbers."""
    return asp.ContactParameters(
        surface="compliant",
        hydroelastic_modulus=MODULUS,
        resolution=resolution,
        dissipation=DISSIPATION,
        friction=FRICTION,
        **options,  # type: ignore[arg-type]
    )


# -- single queries ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Query:
    """Two geoms at rest in each other."""

    name: str
    first: str
    second: str
    height: float
    resolution: float
    shapes: tuple[Callable[[], object], Callable[[], object]]
    plane: bool = False


QUERIES = (
    *(
        Query(
            f"two balls r 50 mm, 2 mm deep, edges {1e3 * h:g} mm",
            'type="sphere" size=".05"',
            'type="sphere" size=".05"',
            0.098,
            h,
            (lambda: drake.Sphere(0.05), lambda: drake.Sphere(0.05)),
        )
        for h in (0.01, 0.005, 0.0025)
    ),
    Query(
        "box on rigid ground, 0.1 mm",
        'type="plane" size="1 1 .1"',
        'type="box" size=".05 .05 .05"',
        0.0499,
        EDGE,
        (lambda: drake.HalfSpace(), lambda: drake.Box(0.1, 0.1, 0.1)),
        plane=True,
    ),
    Query(
        "cylinder r 100 mm, standing on a table, 0.1 mm",
        'type="box" size=".55 1.1 .05" pos="0 0 -.05"',
        'type="cylinder" size=".1 .1"',
        0.0999,
        EDGE,
        (lambda: drake.Box(1.1, 2.2, 0.1), lambda: drake.Cylinder(0.1, 0.2)),
    ),
)


DRAKES = {"quadrature": "centroid", "angle_rule": "cut"}


def our_query(query: Query, repeat: int, **rules: object) -> tuple[float, int]:
    """Median time of a query [s], and its points."""
    xml = (
        f"<mujoco><worldbody><geom {query.first}/><body pos='0 0 {query.height}'><freejoint/>"
        f"<geom {query.second}/></body></worldbody></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    fields = Plant(model, contact(query.resolution, **rules), evaluated=False).fields
    work = Table(FIELD_WORK, points=20000)
    arguments = (fields, work, 0, 1, data.geom_xpos, data.geom_xmat, 0.0, 0.0, 1.0)
    find_patch(*arguments)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        find_patch(*arguments)
        times.append(time.perf_counter() - start)
    return median(times), int(work.point_count)


def their_query(query: Query, repeat: int) -> tuple[float, int]:
    """Time of Drake's query of a contact surface [s], and its number of polygons."""
    builder = drake.DiagramBuilder()
    plant, graph = drake.AddMultibodyPlantSceneGraph(builder, 0.0)
    for k, shape in enumerate(query.shapes):
        if query.plane and k == 0:
            properties = drake.ProximityProperties()
            drake.AddRigidHydroelasticProperties(properties)
            drake.AddContactMaterial(
                DISSIPATION, 1e6, drake.CoulombFriction(FRICTION, FRICTION), properties
            )
        else:
            properties = _properties(query.resolution)
        if k == 0:
            offset = 0.0 if query.plane else -0.05 if "pos" in query.first else 0.0
            plant.RegisterCollisionGeometry(
                plant.world_body(),
                drake.RigidTransform([0.0, 0.0, offset]),
                shape(),
                "a",
                properties,
            )
            continue
        body = plant.AddRigidBody("b", drake.SpatialInertia.SolidSphereWithDensity(1000.0, 0.05))
        plant.RegisterCollisionGeometry(body, drake.RigidTransform(), shape(), "b", properties)
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    own = plant.GetMyMutableContextFromRoot(context)
    times, faces = [], 0
    for _ in range(repeat):
        plant.SetFreeBodyPose(own, body, drake.RigidTransform([0.0, 0.0, query.height]))
        view = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(context))
        start = time.perf_counter()
        found = view.ComputeContactSurfaces(drake.HydroelasticContactRepresentation.kPolygon)
        times.append(time.perf_counter() - start)
        faces = sum(surface.num_faces() for surface in found)
    return median(times), faces


def queries(repeat: int) -> list[Row]:
    """Table of single queries."""
    rows = []
    for query in QUERIES:
        theirs, faces = their_query(query, repeat) if drake else (math.nan, 0)
        for name, rules in (("Drake's rules", DRAKES), ("ours", {})):
            ours, count = our_query(query, repeat, **rules)
            rows.append(Row("query", f"{query.name}; {name}", ours, theirs, count, faces))
    return rows


# -- whole runs ----------------------------------------------------------------------------------


def _properties(resolution: float = EDGE) -> object:
    properties = drake.ProximityProperties()
    drake.AddCompliantHydroelasticProperties(resolution, MODULUS, properties)
    drake.AddContactMaterial(
        DISSIPATION, 1e6, drake.CoulombFriction(FRICTION, FRICTION), properties
    )
    return properties


def _drake_cylinder(builder: object, step: float) -> tuple[object, object, Callable[..., None]]:
    plant, _ = drake.AddMultibodyPlantSceneGraph(builder, step)
    plant.RegisterCollisionGeometry(
        plant.world_body(),
        drake.RigidTransform(),
        drake.Box(1.1, 2.2, 0.1),
        "table",
        _properties(),
    )
    inertia = drake.SpatialInertia.SolidCylinderWithDensity(1000, 0.1, 0.2, [0, 0, 1])
    body = plant.AddRigidBody("cylinder", inertia)
    plant.RegisterCollisionGeometry(
        body, drake.RigidTransform(), drake.Cylinder(0.1, 0.2), "cylinder", _properties()
    )

    def start(context: object) -> None:
        turn = drake.RotationMatrix.MakeXRotation(np.deg2rad(80))
        plant.SetFreeBodyPose(context, body, drake.RigidTransform(turn, [0, 0, 0.5]))
        velocity = drake.SpatialVelocity([0, 0, 0], [0, 1.0, 0])
        plant.SetFreeBodySpatialVelocity(body, velocity, context)

    return plant, body, start


def _drake_gripper(builder: object, step: float) -> tuple[object, object, Callable[..., None]]:
    plant, _ = drake.AddMultibodyPlantSceneGraph(builder, step)
    plant.RegisterCollisionGeometry(
        plant.world_body(), drake.RigidTransform(), drake.Box(1, 1, 0.04), "table", _properties()
    )
    unit = drake.UnitInertia.SolidBox(0.04, 0.04, 0.2).ShiftFromCenterOfMass([0, 0, 0.3])
    gripper = plant.AddRigidBody("gripper", drake.SpatialInertia(0.336, [0, 0, 0.3], unit))
    for name, half, place in (
        ("post", [0.02, 0.02, 0.1], [0, 0, 0.3]),
        ("left", [0.005, 0.04, 0.005], [-0.01, 0.025, 0.39]),
        ("right", [0.005, 0.04, 0.005], [0.01, 0.025, 0.39]),
    ):
        box = drake.Box(*(2 * np.array(half)))
        plant.RegisterCollisionGeometry(
            gripper, drake.RigidTransform(place), box, name, _properties()
        )
    plant.AddJoint(
        drake.PrismaticJoint("fall", plant.world_frame(), gripper.body_frame(), [0, 0, 1])
    )
    half = 2 * np.array([0.00501, 0.005, 0.04])
    peg = plant.AddRigidBody("peg", drake.SpatialInertia.SolidBoxWithDensity(1000, *half))
    plant.RegisterCollisionGeometry(
        peg, drake.RigidTransform(), drake.Box(*half), "peg", _properties()
    )

    def start(context: object) -> None:
        turn = drake.RotationMatrix.MakeXRotation(np.deg2rad(10))
        plant.SetFreeBodyPose(context, peg, drake.RigidTransform(turn, [0, 0.05, 0.36]))

    return plant, peg, start


RUNS = (
    ("falling cylinder, 3 s", falling_cylinder, _drake_cylinder, 3.0),
    ("static gripper, 2 s", static_gripper, _drake_gripper, 2.0),
)
SETTINGS = (
    *((kind, accuracy) for accuracy in (1e-1, 1e-3, 1e-5) for kind in ("cenic", "paper")),
    ("fixed", 1e-2),
    ("fixed", 1e-3),
)
_SAID = {"cenic": "accuracy", "paper": "the paper's scheme, accuracy", "fixed": "step"}


class TheirRun:
    """A scene in Drake, built once."""

    def __init__(self, make: Callable[..., object], kind: str, value: float, span: float) -> None:
        step = value if kind == "fixed" else 0.0
        builder = drake.DiagramBuilder()
        self.plant, self.body, self.start = make(builder, step)  # type: ignore[misc]
        if step:
            self.plant.set_discrete_contact_approximation(
                drake.DiscreteContactApproximation.kLagged
            )
        self.plant.set_contact_surface_representation(
            drake.HydroelasticContactRepresentation.kPolygon
        )
        self.plant.Finalize()
        self.diagram = builder.Build()
        self.kind, self.value, self.span = kind, value, span

    def __call__(self) -> tuple[float, int]:
        simulator = drake.Simulator(self.diagram)
        if self.kind != "fixed":
            config = drake.SimulatorConfig(
                integration_scheme="cenic",
                accuracy=self.value,
                max_step_size=0.1,
                use_error_control=True,
            )
            drake.ApplySimulatorConfig(config, simulator)
        context = simulator.get_mutable_context()
        self.start(self.plant.GetMyMutableContextFromRoot(context))
        simulator.Initialize()
        start = time.process_time()
        simulator.AdvanceTo(self.span)
        wall = time.process_time() - start
        if self.kind != "fixed":
            return wall, int(simulator.get_integrator().get_num_steps_taken())
        return wall, round(self.span / self.value)


class OurRun:
    """A run of Asperity, with the scene, accuracy or time step of Drake's."""

    def __init__(self, scene: Callable[[], object], kind: str, value: float, span: float) -> None:
        integrators: dict[str, Callable[[], Integrator]] = {
            "cenic": lambda: asp.Cenic(accuracy=value, max_step=0.1),
            "paper": lambda: paper_cenic(accuracy=value, max_step=0.1),
            "fixed": lambda: asp.Icf(time_step=value),
        }
        integrator = integrators[kind]()
        self.simulator = asp.Simulator(scene(), integrator=integrator, contact=contact())  # type: ignore[arg-type]
        self.simulator.reset(0)
        self.simulator.warm_up()
        self.span = span

    def __call__(self) -> tuple[float, int]:
        self.simulator.reset(0)
        start = time.process_time()
        self.simulator.advance_to(self.span)
        return time.process_time() - start, self.simulator.stats.steps


def runs(rounds: int) -> list[Row]:
    """Table of whole runs."""
    rows = []
    for name, ours, theirs, span in RUNS:
        every = []
        for kind, value in SETTINGS:
            pair = [OurRun(ours, kind, value, span)]
            every.append([*pair, *([TheirRun(theirs, kind, value, span)] if drake else [])])
        walls: dict[tuple[int, int], list[float]] = {}
        steps: dict[tuple[int, int], int] = {}
        for _ in range(rounds):
            for i, engines in enumerate(every):
                for j, run in enumerate(engines):
                    wall, count = run()  # type: ignore[operator]
                    walls.setdefault((i, j), []).append(wall / span)
                    steps[i, j] = count
        for i, (kind, value) in enumerate(SETTINGS):
            case = f"{name}: {_SAID[kind]} {value:g}"
            rows.append(
                Row(
                    "run",
                    case,
                    median(walls[i, 0]),
                    median(walls[i, 1]) if drake else math.nan,
                    steps[i, 0],
                    steps.get((i, 1), 0),
                )
            )
    return rows


def page(rows: list[Row]) -> str:
    """The tables as Markdown."""
    lines = [f"# Pressure fields\n\n{machine()}\n"]
    titles = {
        "query": ("µs a query", "points, faces", 1e6),
        "run": ("ms a simulated second", "steps", 1e3),
    }
    for table, (unit, counted, scale) in titles.items():
        lines.append(
            f"\n| {unit} | Asperity | Drake | Drake over Asperity | {counted} |\n"
            "|---|---|---|---|---|"
        )
        for row in rows:
            if row.table == table:
                lines.append(
                    f"| {row.case} | {scale * row.ours:.3g} | {scale * row.theirs:.3g} | "
                    f"{row.ratio:.2f} | {row.count}, {row.their_count} |"
                )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=300, help="of every query")
    parser.add_argument("--no-output", action="store_true")
    options = parser.parse_args()
    rows = queries(options.repeat) + runs(options.rounds)
    text = page(rows)
    print(text)
    if options.no_output:
        return
    (RESULTS / "hydroelastic.md").write_text(text, encoding="utf-8")
    with (RESULTS / "hydroelastic.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=[*asdict(rows[0]), "ratio"])
        writer.writeheader()
        for row in rows:
            writer.writerow({**asdict(row), "ratio": row.ratio})


if __name__ == "__main__":
    main()
