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
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import mujoco

import asperity as asp
from asperity.compiled import Table
from asperity.contact.hydroelastic.field_layout import FIELD_WORK
from asperity.integrators import Integrator
from asperity.plant.detection.patch_polygons import find_patch
from asperity.plant.plant import Plant
from studies.benchmarks.saved import RESULTS, machine, save_rows
from studies.benchmarks.verification.case import Contact
from studies.experiments.paper import paper_cenic
from studies.peers.asperity import AsperityEngine
from studies.peers.engine import Engine
from studies.scenes.cenic_cases import falling_cylinder, static_gripper

HAS_DRAKE = importlib.util.find_spec("pydrake") is not None

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

    @property
    def model(self) -> mujoco.MjModel:
        """The first geom in the world, the second on a free body."""
        return mujoco.MjModel.from_xml_string(
            f"<mujoco><worldbody><geom {self.first}/><body pos='0 0 {self.height}'><freejoint/>"
            f"<geom {self.second}/></body></worldbody></mujoco>"
        )


QUERIES = (
    *(
        Query(
            f"two balls r 50 mm, 2 mm deep, edges {1e3 * h:g} mm",
            'type="sphere" size=".05"',
            'type="sphere" size=".05"',
            0.098,
            h,
        )
        for h in (0.01, 0.005, 0.0025)
    ),
    Query(
        "box on rigid ground, 0.1 mm",
        'type="plane" size="1 1 .1"',
        'type="box" size=".05 .05 .05"',
        0.0499,
        EDGE,
    ),
    Query(
        "cylinder r 100 mm, standing on a table, 0.1 mm",
        'type="box" size=".55 1.1 .05" pos="0 0 -.05"',
        'type="cylinder" size=".1 .1"',
        0.0999,
        EDGE,
    ),
)


DRAKES = {"quadrature": "centroid", "angle_rule": "cut"}


def our_query(query: Query, repeat: int, **rules: object) -> tuple[float, int]:
    """Median time of a query [s], and its points."""
    model = query.model
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
    from pydrake.geometry import HydroelasticContactRepresentation

    engine = drake_engine(query.model, fields=(MODULUS, query.resolution))
    root = engine.simulator.get_mutable_context()
    graph, plant = engine.made.scene_graph, engine.made.plant
    times, faces = [], 0
    for _ in range(repeat):
        plant.SetPositions(engine.context, plant.GetPositions(engine.context))
        view = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(root))
        start = time.perf_counter()
        found = view.ComputeContactSurfaces(HydroelasticContactRepresentation.kPolygon)
        times.append(time.perf_counter() - start)
        faces = sum(surface.num_faces() for surface in found)
    return median(times), faces


def drake_engine(model: mujoco.MjModel, **options: Any) -> Any:
    """A model in Drake, with the paper's numbers."""
    from studies.peers.drake import DrakeEngine

    said = Contact(1e6, DISSIPATION, FRICTION)
    return DrakeEngine(model, said, corners=False, **{"fields": (MODULUS, EDGE), **options})


def queries(repeat: int) -> list[Row]:
    """Table of single queries."""
    rows = []
    for query in QUERIES:
        theirs, faces = their_query(query, repeat) if HAS_DRAKE else (math.nan, 0)
        for name, rules in (("Drake's rules", DRAKES), ("ours", {})):
            ours, count = our_query(query, repeat, **rules)
            rows.append(Row("query", f"{query.name}; {name}", ours, theirs, count, faces))
    return rows


# -- whole runs ----------------------------------------------------------------------------------


RUNS = (
    ("falling cylinder, 3 s", falling_cylinder, 3.0),
    ("static gripper, 2 s", static_gripper, 2.0),
)
SETTINGS = (
    *((kind, accuracy) for accuracy in (1e-1, 1e-3, 1e-5) for kind in ("cenic", "paper")),
    ("fixed", 1e-2),
    ("fixed", 1e-3),
)
_SAID = {"cenic": "accuracy", "paper": "the paper's scheme, accuracy", "fixed": "step"}


def _ours(scene: Callable[[], str], kind: str, value: float) -> AsperityEngine:
    """A scene in Asperity, at its start."""
    integrators: dict[str, Callable[[], Integrator]] = {
        "cenic": lambda: asp.Cenic(accuracy=value, max_step=0.1),
        "paper": lambda: paper_cenic(accuracy=value, max_step=0.1),
        "fixed": lambda: asp.Icf(time_step=value),
    }
    engine = AsperityEngine(scene(), integrators[kind](), contact=contact())
    engine.simulator.reset(0)
    engine.simulator.warm_up()
    return engine


def _theirs(scene: Callable[[], str], kind: str, value: float) -> Engine:
    """The same in Drake."""
    model = mujoco.MjModel.from_xml_string(scene())
    start = {"qpos": model.key_qpos[0], "qvel": model.key_qvel[0]}
    if kind == "fixed":
        return drake_engine(model, time_step=value, approximation="lagged", **start)
    return drake_engine(model, accuracy=value, **start)


def runs(rounds: int) -> list[Row]:
    """Table of whole runs."""
    rows = []
    makes = (_ours, _theirs) if HAS_DRAKE else (_ours,)
    for name, scene, span in RUNS:
        times: dict[tuple[int, int], list[float]] = {}
        steps: dict[tuple[int, int], int] = {}
        for _ in range(rounds):
            for i, (kind, value) in enumerate(SETTINGS):
                for j, make in enumerate(makes):
                    engine = make(scene, kind, value)
                    start = time.process_time()
                    engine.advance(span)
                    times.setdefault((i, j), []).append((time.process_time() - start) / span)
                    steps[i, j] = engine.counters().steps or 0
        for i, (kind, value) in enumerate(SETTINGS):
            case = f"{name}: {_SAID[kind]} {value:g}"
            rows.append(
                Row(
                    "run",
                    case,
                    median(times[i, 0]),
                    median(times[i, 1]) if HAS_DRAKE else math.nan,
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
    save_rows(RESULTS / "hydroelastic.csv", ({**asdict(r), "ratio": r.ratio} for r in rows))


if __name__ == "__main__":
    main()
