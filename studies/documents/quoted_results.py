"""The tables and numbers of benchmarks that documents quote, by the names that their marks have."""

from __future__ import annotations

from studies.documents.experiments import Findings
from studies.documents.quoted_accuracy import ACCURACIES, ERRORS
from studies.documents.tables import Cell, Line, Made, Span, Table

__all__ = ["QUOTES"]

_CLUTTER = Table(
    "clutter.csv",
    ("scene", "accuracy", "`Cenic`", "Drake 1.51.1 `cenic`", "ratio"),
    tuple(
        Line((kind, label), {"scene": f"clutter-{kind}", "setting": f"accuracy {accuracy}"})
        for kind in ("hard", "soft")
        for label, accuracy in ACCURACIES.items()
        if label in ("1e-1", "1e-3", "1e-5")
    ),
    (
        Cell("{cpu_s_per_s:s2}", {"method": "asperity cenic"}),
        Cell("{cpu_s_per_s:s2}", {"method": "drake cenic"}),
        Cell("{asperity_over_this:.2f}", {"method": "drake cenic"}),
    ),
)

_SPARSE = {"method": "mujoco newton-sparse"}
_PILES = Table(
    "fixed.csv",
    ("bodies", "1 ms", "10 ms"),
    tuple(Line((n,), {"scene": f"pile-{n}"}) for n in ("1", "20", "40", "80")),
    tuple(
        Cell("{asperity_over_this:.2f}", {"setting": step, "duration_s": "2.0", **_SPARSE})
        for step in ("1 ms", "10 ms")
    ),
)

_BIN = Table(
    "bin.csv",
    ("bodies", "`Icf` [s]", "MuJoCo's CG [s]", "ratio", "overlap [mm]", "MuJoCo's overlap [mm]"),
    tuple(Line((n,), {"scene": f"bin-{n}"}) for n in ("100", "300", "500", "1000")),
    (
        Cell("{cpu_s_per_s:s2}", {"method": "asperity icf"}),
        Cell("{cpu_s_per_s:s2}", {"method": "mujoco cg"}),
        Cell("{asperity_over_this:.2f}", {"method": "mujoco cg"}),
        Cell("{penetration_m:1e3*s2}", {"method": "asperity icf"}),
        Cell("{penetration_m:1e3*s2}", {"method": "mujoco cg"}),
    ),
)

_SOFT = Table(
    "soft.md",
    ("scene", "engine", "ms per step", "CPU s per simulated s", "slip [mm]"),
    tuple(
        Line((scene, shown), {"scene": scene, "engine": name})
        for scene, engines in {
            "grasp, 5³": {
                "Icf, 2 ms": "`Icf`, 2 ms",
                "Cenic, 1e-3": "`Cenic`, 1e-3, control every 20 ms",
                "MuJoCo, 2 ms": "MuJoCo, 2 ms",
                "MuJoCo, 2 ms, careful": "MuJoCo, 2 ms, stiff contacts",
            },
            "rest, 10³": {"Icf, 10 ms": "`Icf`, 10 ms", "MuJoCo, 10 ms": "MuJoCo, 10 ms"},
        }.items()
        for name, shown in engines.items()
    ),
    (Cell("{ms per step:s2}"), Cell("{CPU s per simulated s:s2}"), Cell("{slip [mm]:}")),
)

_SOFT_MIDAS = Table(
    "soft_midas.md",
    ("steps of 10 ms", "ms per step", "slip [mm]"),
    tuple(
        Line((shown,), {"scene": scene})
        for scene, shown in {
            "rest, 5³": "a cube of 5³ vertices lies on the floor",
            "rest, 10³": "a cube of 10³ vertices lies on the floor",
            "grasp, 5³": "two fingers lift a cube of 5³ vertices",
            "cloth, 16²": "a cloth of 16² vertices drapes over a ball, 2 s",
        }.items()
    ),
    (Cell("{ms per step:s2}"), Cell("{slip [mm]:}")),
)

_SOFT_PADS = Table(
    "soft_pads.md",
    ("soft pads hold a ball", "ms per step", "slip [mm]"),
    tuple(
        Line((shown,), {"engine": engine})
        for engine, shown in {
            "Icf, 2 ms": "`Icf`, 2 ms",
            "Midas, 10 ms": "`Midas`, 10 ms",
            "MuJoCo, 2 ms, careful": "MuJoCo, 2 ms, stiff contacts",
        }.items()
    ),
    (Cell("{ms per step:s2}"), Cell("{slip [mm]:.3f}")),
)

_CANTILEVER = Table(
    "cantilever.md",
    ("cells through the thickness", "Poisson's ratio", "Asperity", "MuJoCo 4.0.0"),
    tuple(
        Line((cells, f"{float(poisson):g}"), {"cells": cells, "Poisson's ratio": poisson})
        for cells, poisson in (
            ("1", "0.3"),
            ("2", "0.3"),
        )
    ),
    (Cell("{Asperity:.3f}"), Cell("{MuJoCo:.3f}")),
)

_EXAMPLES = Table(
    "examples.md",
    ("program", "what it shows", "what it prints"),
    tuple(
        Line((f"[`{name}.py`](../examples/{name}.py)", shows), {"program": name})
        for name, shows in {
            "pick_and_place": "a gripper stands a cube on another one",
            "soft_grasp": "a gripper lifts a soft cube",
            "soft_cantilever": "soft beams bend under a force, here and in MuJoCo",
            "assembly": "`Midas`: a beam into a notch that is 0.1 mm wider",
            "grasp_over_accuracy": "a mug at the limit of friction, over accuracies",
            "drop_in": "an existing MuJoCo script, one line changed",
            "randomised_grasp": "friction, stiffness and mass differ from world to world",
            "impedance_control": "impedance control: a Panda wipes a board",
            "two_arms": "two Pandas carry a box",
            "predictive_control": "MPPI: a runner plans by `rollout`",
            "system_identification": "friction and dissipation from a camera's noisy positions",
            "identify_from_throws": "friction, dissipation and inertia from a "
            "[motion capture of real throws](real-throws.md)",
            "train_gymnasium": "a Gymnasium environment and a policy that learns to push",
        }.items()
    ),
    (Cell("{prints:}"),),
)

_PUSH_BOX = Table(
    "push_box.md",
    (
        "stiction tolerance, stiffness",
        "error at the goal with it",
        "the same forces without it",
    ),
    tuple(
        Line((label,), {"stiction tolerance": tolerance})
        for label, tolerance in {
            "30 mm/s, 10³ N/m": "0.03",
            "3 mm/s, 3·10³ N/m": "0.003",
            "none (3 µm/s, 10⁴ N/m)": "–",
        }.items()
    ),
    (
        Cell("{distance with:.1f} mm, {heading with:.2f}°"),
        Cell("{distance without:.1f} mm, {heading without:.2f}°"),
    ),
)


_ENVIRONMENTS = Table(
    "environments.md",
    (
        "1024 worlds",
        "`Icf` [1/s]",
        "Gymnasium's Euler",
        "RK4",
        "`mujoco.rollout`'s Euler",
        "RK4",
        "one world: Gymnasium's Euler",
    ),
    tuple(
        Line((name,), {"environment": f"{name}-v5"})
        for name in ("Ant", "HalfCheetah", "Hopper", "Humanoid", "Walker2d")
    ),
    (
        Cell("{Icf:.0f}", {"worlds": "1024"}),
        *(
            Cell(f"{{Icf / {who}, {how}:.2f}}", {"worlds": "1024"})
            for who in ("Gymnasium", "rollout")
            for how in ("Euler", "RK4")
        ),
        Cell("{Icf / Gymnasium, Euler:.2f}", {"worlds": "1"}),
    ),
)

_ROBOTS = {
    "humanoid (dm_control)": "humanoid",
    "dog (dm_control)": "dog",
    "humanoid_CMU (dm_control)": "humanoid_CMU",
    "quadruped (dm_control)": "quadruped",
    "Shadow hand": "shadow hand",
    "Shadow hand with a block": "shadow hand, block",
    "Fetch": "fetch",
    "Unitree G1": "g1",
    "Unitree Go2": "go2",
    "Talos": "talos",
    "22 humanoids": "22 humanoids",
    "100 humanoids": "100 humanoids",
}
_ROBOT_TIMES = Table(
    "robots.md",
    ("model", "degrees of freedom", "200 steps a call", "10 steps", "one step"),
    tuple(Line((label,), {"model": name}) for label, name in _ROBOTS.items()),
    tuple(Cell(show) for show in ("{nv:.0f}", "{ratio:.2f}", "{ratio 2:.2f}", "{ratio 3:.2f}")),
)

_THREADS = Table(
    "threads_world.md",
    ("scene", "one thread [ms]", "two [ms]", "rate"),
    tuple(
        Line((scene,), {"scene": scene})
        for scene in (
            "100 humanoids",
            "1000 boxes in 200 columns",
            "1000 bodies in 50 heaps",
            "1000 bodies in one heap",
        )
    ),
    (
        Cell("{wall time of a step [ms]:s2}", {"threads": "1"}),
        Cell("{wall time of a step [ms]:s2}", {"threads": "2"}),
        Cell("{rate:.2f}", {"threads": "2"}),
    ),
)

_SLEEP = Table(
    "sleep.md",
    (
        "scene",
        *(
            f"{name}{state}"
            for name in ("`Icf`", "`Cenic`", "MuJoCo")
            for state in (" [µs]", ", asleep")
        ),
    ),
    tuple(
        Line((scene,), {"scene": scene})
        for scene in ("300 boxes, 284 at rest", "the 16 that move", "1000 boxes at rest")
    ),
    tuple(
        Cell("{µs a step:.0f}", {"method": f"{name}{state}"})
        for name in ("Icf", "Cenic", "MuJoCo")
        for state in ("", " asleep")
    ),
)

_WORLDS = Table(
    "worlds.md",
    (
        "model, step",
        "MuJoCo's integrator",
        "`mujoco.rollout` / `Batch(Icf)`, a step a call",
        "`mujoco.batch` / `Batch(Icf)`",
        "`mujoco.rollout` / `asp.rollout(Icf)`, 20 steps a call",
        "`mujoco.rollout` / `Batch(Cenic(1e-2))`",
    ),
    tuple(
        Line((label, integrator), {"model": name, "MuJoCo's integrator": integrator})
        for label, name in {
            "quadruped (ant), 10 ms": "quadruped (ant)",
            "humanoid, 3 ms": "humanoid",
            "Panda with nine cubes, 2 ms": "arm with nine cubes",
        }.items()
        for integrator in ("Euler", "RK4")
    ),
    tuple(
        Cell(f"{{{column}:.2f}}")
        for column in ("rollout / Batch", "batch / Batch", "ratio", "rollout / Cenic")
    ),
)

_MIDAS_SCENES = {
    "50 cubes in 10 columns": "50 cubes in 10 columns",
    "200 cubes in 40 columns": "200 cubes in 40 columns",
    "tower of 20 cubes": "tower of 20 cubes",
    "gripper inserts a beam, clearance 0.1 mm": "gripper inserts a beam, 0.1 mm",
    "gripper inserts a USB stick, gap 0.055 mm": "gripper inserts a USB stick",
}
_OTHERS = (
    "MuJoCo, 2 ms",
    "MuJoCo, 0.2 ms, stiff",
    "Bullet, 1/240 s",
    "Bullet, 1 ms, 500 sweeps",
)
_MIDAS = Table(
    "midas.csv",
    ("scene", "`Midas`, 10 ms, no overlap", *_OTHERS),
    tuple(Line((label,), {"case": case}) for label, case in _MIDAS_SCENES.items()),
    (
        Cell("{cpu_per_second:s2}", {"engine": "Midas, 10 ms"}),
        *(
            Cell("{cpu_per_second:s2}, {overlap_um:1e-3*s2} mm", {"engine": engine})
            for engine in _OTHERS
        ),
    ),
)

_DERIVATIVES = Table(
    "derivatives.md",
    (
        "model",
        "nv",
        "contacts",
        "`linearize`",
        "differences of its steps",
        "`mjd_transitionFD`, centred",
        "largest error",
    ),
    tuple(
        Line((name,), {"table": "1", "model": name})
        for name in (
            "box",
            "quadruped",
            "5 boxes",
            "10 boxes",
            "snake of 25 links",
            "snake of 55 links",
        )
    ),
    (
        *(Cell(f"{{{column}:.0f}}") for column in ("nv", "contacts")),
        *(
            Cell(f"{{{column}:.2f}}")
            for column in (
                "linearize",
                "differences of its steps",
                "transitionFD, centred",
            )
        ),
        Cell("{largest error:.0e}"),
    ),
)

# From 18 degrees of freedom on; from 30 without the first.
_LARGER = ("quadruped", "5 boxes", "10 boxes", "snake of 25 links", "snake of 55 links")


def _order(table: str, method: str = "default") -> Span:
    return Span("accuracy.md", "order", ".2f", {"table": table, "method": method})


def _public_models(method: str, column: str, form: str) -> Span:
    return Span("public_models.md", column, form, {"table": "1", "method": method})


QUOTES: dict[str, Table | Span | Made | Findings] = {
    "clutter": _CLUTTER,
    "clutter hard": Span("clutter.csv", "asperity_over_this", ".2f", {"scene": "clutter-hard"}),
    "clutter soft": Span("clutter.csv", "asperity_over_this", ".2f", {"scene": "clutter-soft"}),
    "piles": _PILES,
    "piles ratio": Span("fixed.csv", "asperity_over_this", ".1f", _SPARSE),
    "piles overlap": Span(
        "fixed.csv", "penetration_m", "1e3*s1", {"method": "asperity icf", "setting": "1 ms"}
    ),
    "piles overlap, MuJoCo": Span(
        "fixed.csv", "penetration_m", "1e3*s2", {**_SPARSE, "setting": "1 ms"}
    ),
    "bin": _BIN,
    "bin ratio": Span("bin.csv", "asperity_over_this", ".1f", {"method": "mujoco cg"}),
    "soft": _SOFT,
    "soft bodies in Midas": _SOFT_MIDAS,
    "soft pads": _SOFT_PADS,
    "cantilever": _CANTILEVER,
    "examples": _EXAMPLES,
    "pushed box": _PUSH_BOX,
    "hands, one thread": Span("hands.md", "threads: 1", ".2f"),
    "hands, two threads": Span("hands.md", "threads: 2", ".2f"),
    "hands date": Made("hands.md"),
    "environments": _ENVIRONMENTS,
    "environments date": Made("environments.md"),
    "robots at rest, slip": Span("robots_rest.md", "slip", ".3f"),
    "robots at rest, MuJoCo's slip": Span("robots_rest.md", "slip [mm/s]", ".1f"),
    "robots": _ROBOT_TIMES,
    "robots ratio": Span("robots.md", "ratio", ".1f"),
    "robots ratio, one step": Span("robots.md", "ratio 3", ".1f"),
    "robots ratio, one step at most": Span("robots.md", "ratio 3", ".1f", only="largest"),
    "robots ratio, Drake": Span("robots_drake.md", "ratio", ".2f"),
    "threads": _THREADS,
    "threads date": Made("threads_world.md"),
    "sleep": _SLEEP,
    "worlds": _WORLDS,
    "worlds memory": Span("worlds.md", "memory [MB]", ".0f"),
    "midas": _MIDAS,
    "fields, queries of balls": Span(
        "hydroelastic.csv",
        "ratio",
        ".1f",
        {
            "table": "query",
            "case": tuple(
                f"two balls r 50 mm, 2 mm deep, edges {edge} mm; Drake's rules"
                for edge in ("10", "5", "2.5")
            ),
        },
    ),
    "fields, query of a box": Span(
        "hydroelastic.csv", "ratio", ".1f", {"case": "box on rigid ground, 0.1 mm; Drake's rules"}
    ),
    "fields, error control": Span(
        "hydroelastic.csv",
        "ratio",
        ".1f",
        {
            "case": tuple(
                f"{scene}: {scheme}accuracy {accuracy}"
                for scene in ("falling cylinder, 3 s", "static gripper, 2 s")
                for scheme in ("", "the paper's scheme, ")
                for accuracy in ("0.1", "0.001", "1e-05")
            )
        },
    ),
    "fields, fixed steps": Span(
        "hydroelastic.csv",
        "ratio",
        ".0f",
        {
            "case": tuple(
                f"{scene}: step {step}"
                for scene in ("falling cylinder, 3 s", "static gripper, 2 s")
                for step in ("0.01", "0.001")
            )
        },
    ),
    "derivatives": _DERIVATIVES,
    "derivatives, own differences": Span(
        "derivatives.md", "ratio to own differences", ".2f", {"model": _LARGER}
    ),
    "derivatives, MuJoCo's": Span("derivatives.md", "to centred", ".2f", {"model": _LARGER[1:]}),
    "derivatives, two parameters": Span(
        "derivatives.md", "ratio", ".2f", {"table": "2", "parameters": "2"}
    ),
    "derivatives, six parameters": Span(
        "derivatives.md", "ratio", ".2f", {"table": "2", "parameters": "6"}
    ),
    "errors over accuracies": ERRORS,
    "order of rolling": _order("8"),
    "order of the walk": _order("9"),
    "order of rolling, paper": _order("8", "paper"),
    "order of the walk, paper": _order("9", "paper"),
    "public models": _public_models("Cenic", "files", ".0f"),
    "public models that Cenic runs": _public_models(
        "Cenic", "run, of those without flex [%]", ".1f"
    ),
    "public models of Midas": _public_models("Midas", "files", ".0f"),
    "public models that Midas runs": _public_models(
        "Midas", "run, of those without flex [%]", ".1f"
    ),
    **{f"experiments of {paper}": Findings(paper) for paper in ("cenic", "sap", "tamsi", "midas")},
}
"""What stands between ``<!-- results: NAME -->`` and ``<!-- end -->``."""
