"""Tables and numbers of verification that documents quote, by the names that their marks have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from studies.benchmarks.verification import which_engine
from studies.benchmarks.verification.case import Case
from studies.benchmarks.verification.families import CASES
from studies.benchmarks.verification.page import cell, grade, number
from studies.benchmarks.verification.results import Result
from studies.documents.result_files import find
from studies.documents.tables import markdown

__all__ = ["text_of"]

Results = Mapping[tuple[str, str], Result]


@dataclass(frozen=True)
class _Score:
    """How a method fares in the cases that it can take part in."""

    cases: int
    right: int
    near: int
    wrong: int
    stopped: int
    seconds: float


def _score(results: Results, method: str) -> _Score:
    mine = [r for r in results.values() if r.method == method and r.case in CASES]
    mine = [r for r in mine if not r.status.startswith("cannot")]
    if not mine:
        raise ValueError(f"there are no results of {method!r}")
    done = [r for r in mine if r.status in ("ok", "never")]
    grades = [grade(CASES[r.case], r.value, method) for r in done]
    right, near, wrong = (grades.count(level) for level in range(3))
    seconds = sum(r.seconds for r in mine)
    return _Score(len(mine), right, near, wrong, len(mine) - len(done), seconds)


def _case_row(results: Results, title: str, case: Case, methods: Sequence[str]) -> list[str]:
    found = [cell(case, results.get((case.name, method))) for method in methods]
    return [title, number(case, case.truth), *found]


def _clutter_row(methods: Sequence[str]) -> list[str]:
    """CPU seconds per simulated second of hard clutter at 1e-3, where there are any."""
    wanted = {"scene": "clutter-hard", "setting": "accuracy 0.001"}
    times = {
        f"{str(row['method']).removeprefix('asperity ').replace(' ', ':')}@1e-3": (
            f"{row['cpu_s_per_s']:s2}"
        )
        for row in find("clutter.csv", wanted)
    }
    return [times.get(method, "–") for method in methods]


_BESIDE = {
    "Asperity `Cenic`, 1e-3": "cenic@1e-3",
    "MuJoCo, defaults": "mujoco",
    "MuJoCo, careful": "mujoco:careful",
    "Drake `cenic`, 1e-3": "drake:cenic@1e-3",
    "Drake `sap`, 1 ms": "drake:sap@1e-3",
}
_SCENES = {
    "a gripped box, how far it sinks in 10 s [mm]": "held",
    "friction in an impact, μ = 0.2": "impact-friction",
    "a quadruped trots for 3 s [m]": "trot",
    "a wave of dominoes [m/s]": "dominoes",
    "one elastic bounce, E/E₀": "elastic-bounce",
}


def _readme(results: Results) -> str:
    methods = list(_BESIDE.values())
    scores = [_score(results, method) for method in methods]
    rows = [
        ["known outcomes found, of those it can do", ""]
        + [f"{score.right} of {score.cases}" for score in scores],
        ["wrong", ""] + [str(score.wrong) for score in scores],
        *(_case_row(results, title, CASES[name], methods) for title, name in _SCENES.items()),
        ["20 bodies in hard clutter, CPU s per second", "", *_clutter_row(methods)],
    ]
    return markdown(["", "truth", *_BESIDE], rows)


_METHODS = {
    "`Cenic`, 1e-3": "cenic@1e-3",
    "`Cenic`, 1e-4": "cenic@1e-4",
    "`Icf`, 1 ms": "icf@1e-3",
    "`Sap`, 1 ms": "sap@1e-3",
    "`Tamsi`, 1 ms": "tamsi@1e-3",
    "`Midas`, 10 ms": "midas@1e-2",
    "`Sdirk2`, 1e-3": "sdirk2@1e-3",
    "`Rosenbrock2`, 1e-3": "rosenbrock2@1e-3",
    "`RungeKutta3`, 1e-3": "runge-kutta3@1e-3",
}


def _methods(results: Results) -> str:
    rows = []
    for title, method in _METHODS.items():
        s = _score(results, method)
        numbers = (s.cases, s.right, s.near, s.wrong, s.stopped)
        rows.append([title, *map(str, numbers)])
    head = ["", "cases", "right", "near", "wrong", "stopped or too slow"]
    return markdown(head, rows)


_TITLES = {
    "impact-friction": "friction of an impact, Δvₓ/Δv_z",
    "slide-to-rest": "block slides to rest [m]",
    "backspin": "ball with backspin, speed after 1.5 s [m/s]",
    "slip-to-roll": "ball that slips, then rolls, speed [m/s]",
    "groove": "ball rolls in a groove, speed [m/s]",
    "turntable": "ball on a turntable, way back after a circle [m]",
    "drilling": "spin on three feet after 0.5 s [rad/s]",
    "belt": "breaking loose on a belt [m]",
    "belt-oscillator": "block on a spring and a belt, amplitude [m]",
    "held": "gripped box, how far it sinks in 10 s [mm]",
    "slipping": "slips in the grip, speed [m/s]",
    "lift": "box lifted by servos, slip [mm]",
    "shaken-mug": "mug shaken at the limit of friction, slip [mm]",
    "dominoes": "domino wave [m/s]",
    "toppling-slope": "toppling slope, tangent",
    "thin-wall": "thin wall, passed by how many of five balls",
    "box-at-rest": "box at rest for 2 s, steps",
    "elastic-bounce": "one elastic bounce, E/E₀",
    "restitution": "rebound by Hunt–Crossley dissipation [m/s]",
    "newtons-cradle": "Newton's cradle, speed of the last ball [m/s]",
    "pendulum-energy": "pendulum, E/E₀ after 20 s",
    "small-swing": "pendulum that swings by 2°, E/E₀ after 20 s",
    "rocking-ball": "ball that rocks, E/E₀",
    "spring-energy": "free spring, E/E₀ after 10 s",
    "four-bar-energy": "four-bar linkage, energy after 20 s [J]",
    "gyroscope-energy": "gyroscope of 200 rad/s, E/E₀ after 1 s",
    "gyroscope-precession": "gyroscope's precession [°]",
    "rattleback+": "rattleback that goes on spinning [rad/s]",
    "rattleback-": "rattleback that turns round [rad/s]",
    "tippe-top-upright": "tippe top, largest tilt [°]",
    "trot": "quadruped trots [m]",
}

_FIXED = {"10 ms": "{}@1e-2", "1 ms": "{}@1e-3"}
_CONTROLLED = {"1e-2": "{}@1e-2", "1e-3": "{}@1e-3", "1e-4": "{}@1e-4"}


def _of(method: str, columns: Mapping[str, str]) -> dict[str, str]:
    return {title: name.format(method) for title, name in columns.items()}


_PAGES: dict[str, tuple[Mapping[str, str], str]] = {
    "classical methods": (
        {
            "`ImplicitEuler`": "implicit-euler@1e-3",
            "`Sdirk2`": "sdirk2@1e-3",
            "`Rosenbrock2`": "rosenbrock2@1e-3",
            "`RungeKutta3`": "runge-kutta3@1e-3",
        },
        "elastic-bounce restitution newtons-cradle gyroscope-precession rattleback- "
        "pendulum-energy dominoes box-at-rest belt",
    ),
    "cases of cenic": (
        _of("cenic", _CONTROLLED),
        "impact-friction slide-to-rest dominoes elastic-bounce restitution pendulum-energy "
        "spring-energy belt-oscillator rocking-ball four-bar-energy gyroscope-precession "
        "rattleback- shaken-mug trot",
    ),
    "cases of icf": (
        _of("icf", _FIXED),
        "impact-friction slide-to-rest dominoes elastic-bounce thin-wall trot spring-energy "
        "gyroscope-energy tippe-top-upright",
    ),
    "cases of sap": (
        _of("sap", _FIXED),
        "slide-to-rest held slipping dominoes backspin elastic-bounce thin-wall spring-energy trot",
    ),
    "cases of tamsi": (
        {**_of("tamsi", _FIXED), "error control, 1e-3": "tamsi-controlled@1e-3"},
        "impact-friction slide-to-rest dominoes shaken-mug elastic-bounce thin-wall "
        "pendulum-energy trot",
    ),
    "cases of midas": (
        {"`Midas`, 10 ms": "midas@1e-2"},
        "thin-wall impact-friction dominoes toppling-slope lift slip-to-roll rattleback+ "
        "rattleback- gyroscope-precession four-bar-energy spring-energy elastic-bounce "
        "restitution pendulum-energy",
    ),
}


def _page(name: str, results: Results) -> str:
    columns, cases = _PAGES[name]
    methods = list(columns.values())
    rows = [_case_row(results, _TITLES[case], CASES[case], methods) for case in cases.split()]
    if name == "classical methods":
        times = [f"{_score(results, method).seconds:.0f}" for method in methods]
        rows.append(["wall time of all cases [s]", "", *times])
    return markdown(["case", "truth", *columns], rows)


def _value(results: Results, case: str, method: str) -> str:
    """What a method has found in a case, as a plain number."""
    result = results.get((case, method))
    if result is None or result.value is None:
        raise ValueError(f"there is no number of {method!r} in {case!r}")
    return number(CASES[case], result.value)


def _misses(results: Results, method: str) -> str:
    """Names of the cases in which a method is off by more than their tolerance."""
    _score(results, method)
    missed = []
    for case in CASES.values():
        result = results.get((case.name, method))
        if result and result.status in ("ok", "never") and grade(case, result.value, method):
            missed.append(f"`{case.name}`")
    return ", ".join(missed) or "none"


_TABLES: dict[str, Callable[[Results], str]] = {
    "beside MuJoCo and Drake": _readme,
    "methods": _methods,
    "which engine": which_engine.table,
}


def text_of(name: str, results: Results) -> str:
    """What stands between the marks of a name.

    Raises
    ------
    ValueError
        If nothing is called so, or there are no results of its method.
    """
    if name in _TABLES:
        return _TABLES[name](results)
    if name in _PAGES:
        return _page(name, results)
    if name.startswith("misses "):
        return _misses(results, name.removeprefix("misses "))
    if name == "cases":
        return str(len(CASES))
    what, _, method = name.partition(" ")
    if what == "value":
        return _value(results, *method.split())
    score = _score(results, method)
    if what == "right":
        return f"{score.right} of {score.cases}"
    if what == "wrong":
        return str(score.wrong)
    raise ValueError(f"nothing is called {name!r}")
