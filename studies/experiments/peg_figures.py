"""A policy learns to insert a peg: what figures 7 to 9 of the Midas paper show, and section V-E.

Training needs Gymnasium and PyTorch (extra ``train``), which the list of experiments does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asperity.errors import AsperityError
from studies.experiments.engines import BULLET, MIDAS, RANDOMIZED
from studies.experiments.form import (
    Key,
    Measured,
    Paper,
    Runs,
    about,
    at_least,
    at_most,
    finding,
    product,
    twofold,
)
from studies.experiments.gripper_runs import no_bullet
from studies.experiments.outcome import Curve, Film, Finding, Panel
from studies.experiments.registry import Experiment, Progress
from studies.experiments.runs import part

if TYPE_CHECKING:
    from studies.experiments.peg_policies import Plan
    from studies.experiments.peg_runs import Ending
    from studies.experiments.peg_training import Episodes, Training

__all__ = ["EXPERIMENTS", "SETTINGS", "outside", "spread"]

Floats = NDArray[np.float64]

SETTINGS = ("seeds", "iterations", "engine", "policies")
"""Of all trainings."""

MARGIN, TIGHT = 5e-4, 1e-4  # [m]
_SHOWN = 6  # pictures of an engine
_TESTS = 100  # of a policy after its training
_EACH = 10, 50  # of a policy for pictures; the second where all is wanted


def spread(values: Floats, unit: str = "%") -> str:
    """Median, and the range if there are several."""
    text = f"{np.median(values):.3g} {unit}"
    return text if len(values) == 1 else f"{text} ({values.min():.3g} to {values.max():.3g})"


def _seeds(count: int) -> str:
    return f"{count} seed{'s' if count > 1 else ''}"


def outside(positions: Floats, margin: float) -> float:
    """Share of positions whose horizontal distance from the axis is more than the margin."""
    return float(np.mean(_off(positions) > margin))


def _off(positions: Floats) -> Floats:
    """Horizontal distances from the axis."""
    return np.asarray(np.hypot(positions[:, 0], positions[:, 1]))


# -- runs ------------------------------------------------------------------------------------


def _plan(full: bool, **settings: Any) -> list[Key]:
    """A training in every engine with every seed."""
    from studies.experiments.peg_policies import make_plan

    plan = make_plan(full, **settings)
    each = [_EACH[full]]
    return product(engine=plan.engines, seed=range(plan.seeds), plan=[plan], each=each)


def _train(
    margin: float, engine: str, seed: int, plan: Plan, each: int, progress: Progress
) -> Training:
    from studies.experiments.peg_policies import trained

    return trained(engine, margin, seed, plan, progress)


def _test(
    margin: float, engine: str, seed: int, plan: Plan, each: int, progress: Progress
) -> tuple[Training, Episodes]:
    """A training, and tests of its policy."""
    training = _train(margin, engine, seed, plan, each, part(progress, 0.0, 0.8))
    from studies.experiments.peg_runs import test_policy, tried_in
    from studies.experiments.peg_training import load

    agent, own = load(training.policy), part(progress, 0.8, 1.0)
    return training, test_policy(agent, tried_in(engine), margin, _TESTS, own)


def _end(engine: str, seed: int, plan: Plan, each: int, progress: Progress) -> list[Ending]:
    training = _train(MARGIN, engine, seed, plan, each, part(progress, 0.0, 0.8))
    from studies.experiments.peg_runs import endings, tried_in
    from studies.experiments.peg_training import load

    agent, own = load(training.policy), part(progress, 0.8, 1.0)
    return endings(agent, tried_in(engine), MARGIN, each, own)


# -- measures --------------------------------------------------------------------------------


def _learning(runs: Runs) -> Iterator[Panel]:
    """Medians over the iterations, and the range."""
    for label, name, scale in (("mean reward", "reward", 1.0), ("success [%]", "success", 100.0)):
        curves = []
        for engine, own in runs.by("engine").items():
            rows = scale * np.array([getattr(training, name) for training in own.results])
            turns = np.arange(1.0, rows.shape[1] + 1.0)
            curves.append(Curve(engine, turns, np.median(rows, axis=0), "o-"))
            if len(rows) > 1:
                curves.append(Curve(f"{engine}, least", turns, rows.min(axis=0), ":"))
                curves.append(Curve(f"{engine}, most", turns, rows.max(axis=0), ":"))
        yield Panel("iteration", label, curves)


def _learned(engine: str, own: Runs, paper: Mapping[str, Paper]) -> Iterator[Finding]:
    """Success after the last iteration, and when it was first above 90 %."""
    share = 100.0 * own.values(lambda training: training.success[-1])
    iterations, seeds = len(own.results[0].success), _seeds(len(share))
    quantity = f"{engine}: success after {iterations} iterations, {seeds}"
    said, middle = paper.get(engine, "–"), float(np.median(share))
    yield finding(quantity, spread(share), paper=said, judged=middle)
    first = own.values(lambda training: training.first_above)
    learned = first[np.isfinite(first)]
    when = spread(learned, "") if len(learned) else "never"
    if 0 < len(learned) < len(first):
        when += f", {len(first) - len(learned)} never"
    about_20 = twofold("about 20", 20.0) if engine == MIDAS else "–"
    middle = float(np.median(first))
    yield finding(f"{engine}: first iteration above 90 %", when, paper=about_20, judged=middle)


def _policies(runs: Runs) -> dict[str, bytes]:
    """The first policy of every engine."""
    return {
        f"{engine.lower().replace(',', '').replace(' ', '-')}.zip": own.results[0].policy
        for engine, own in runs.by("engine").items()
    }


def _figure_7(runs: Runs) -> Measured:
    """Reward and success over the iterations."""
    paper = {
        MIDAS: at_least("over 90 %", 90.0),
        BULLET: about("about 75 % (settings not given)", 75.0, 10.0),
    }
    yield from no_bullet()
    for engine, own in runs.by("engine").items():
        yield from _learned(engine, own, paper)
    yield from _learning(runs)
    yield _policies(runs)


def _figure_8(runs: Runs) -> Measured:
    """Final states, and those among them that intersect."""
    from asperity.envs import PegTask
    from studies.experiments.peg_pictures import contact_sheet

    yield from no_bullet()
    task = PegTask(margin=MARGIN)
    at, _ = task.addresses(task.scene.model())
    # The first of every policy, the second of every policy, and so on.
    ends = {
        engine: [end for turn in zip(*own.results, strict=True) for end in turn]
        for engine, own in runs.by("engine").items()
    }
    curves = []
    for engine, own in ends.items():
        inserted = [end for end in own if end.success]
        quantity = f"{engine}: inserted, {_seeds(len(runs.where(engine=engine).pairs))}"
        yield finding(quantity, (len(inserted), len(own)), "{} of {}")
        hits, count = "not checked (extra 'midas')", np.nan
        if all(end.intersects is not None for end in own):
            count = sum(bool(end.intersects) for end in own)
            hits = f"{count}"
            hits += f", {sum(bool(end.intersects) for end in inserted)} of them inserted"
        said = at_most("none", 0.0) if _in_midas(engine) else at_least("many", 0.1 * len(own))
        quantity = f"{engine}: final states that intersect, by ipctk"
        yield finding(quantity, hits, paper=said if count >= 0 else said.text, judged=count)
        off = [1e3 * min(float(np.hypot(*end.qpos[at : at + 2])), 2e-2) for end in own]
        curves.append(Curve(engine, np.arange(1.0, len(off) + 1.0), np.array(off), "o"))
    try:
        yield {"final-states.png": contact_sheet(task.scene, [o[:_SHOWN] for o in ends.values()])}
    except AsperityError as error:
        yield finding("pictures", f"none: {error}")
    margin = Curve("margin", np.array([1.0, len(curves[0].x)]), np.full(2, 1e3 * MARGIN), "k:")
    yield Panel("test", "peg's middle beside the axis, at the end [mm]", [*curves, margin])
    # One episode after the other, with a pause in between.
    shown = next(iter(ends.values()))[:_SHOWN]
    path = np.concatenate([np.concatenate([e.path, e.path[-1:].repeat(15, axis=0)]) for e in shown])
    time = task.control_period * np.arange(len(path))
    yield Film(task.scene.model(), time, path, "side")


def _in_midas(engine: str) -> bool:
    return engine in (MIDAS, RANDOMIZED)


def _tested(engine: str, own: Runs, margin: float, paper: str | Paper) -> Iterator[Finding]:
    """How many pegs are in and within the margin."""
    inserted = own.values(lambda one: 100.0 * float(one[1].success.mean()))
    quantity = f"{engine}: inserted in {_TESTS} tests, {_seeds(len(inserted))}"
    yield finding(quantity, spread(inserted), paper=paper, judged=float(np.median(inserted)))
    together = np.concatenate(_places(own))
    if len(together):
        shares = np.array([100.0 * outside(one, margin) for one in _places(own) if len(one)])
        off = _off(together)
        beyond = float(np.mean(off > margin))
        yield finding(
            f"{engine}: final positions outside the margin",
            (np.sum(off > margin), len(together), spread(shares), 1e3 * off.max()),
            "{} of {}; by policy {}; farthest {:.3f} mm",
            at_most("none", 0.0) if _in_midas(engine) else at_least("many (share lost)", 0.1),
            judged=beyond,
        )


def _places(own: Runs) -> list[Floats]:
    """Where inserted pegs end, by policy."""
    return [tests.position[tests.success] for _, tests in own.results]


def _figure_9(runs: Runs) -> Measured:
    """Horizontal positions at the end, and the share outside the margin."""
    paper = {MIDAS: at_least("over 90 %", 90.0)}
    yield from no_bullet()
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = 1e3 * MARGIN * np.stack([np.cos(angle), np.sin(angle)])
    curves = [Curve("margin", circle[0], circle[1], "b-")]
    for engine, own in runs.by("engine").items():
        yield from _tested(engine, own, MARGIN, paper.get(engine, "–"))
        together = np.concatenate(_places(own))
        curves.append(Curve(engine, 1e3 * together[:, 0], 1e3 * together[:, 1], "."))
        middle = [1e3 * np.hypot(*one[:, :2].mean(axis=0)) for one in _places(own) if len(one)]
        if middle:
            said = "uniform near the circle" if engine == MIDAS else "a large offset"
            quantity = f"{engine}: their mean beside the axis"
            yield finding(quantity, spread(np.array(middle), "mm"), paper=said)
    yield Panel("x [mm]", "y [mm]", curves, equal=True)


def _harder_task(runs: Runs) -> Measured:
    """The peg's task with a margin of 0.1 mm."""
    paper = {
        MIDAS: at_least("high (number lost)", 75.0),
        BULLET: about("2 % (settings not given)", 2.0, 2.0),
    }
    yield from no_bullet()
    trained = Runs([(key, training) for key, (training, _) in runs])
    for engine, own in runs.by("engine").items():
        yield from _tested(engine, own, TIGHT, paper.get(engine, "–"))
    for engine, own in trained.by("engine").items():
        yield from _learned(engine, own, {})
    yield from _learning(trained)
    yield _policies(trained)


EXPERIMENTS = (
    Experiment(
        "midas-figure-7",
        "Midas, figure 7",
        "a policy learns to insert a peg",
        partial(_train, MARGIN),
        _plan,
        _figure_7,
        settings=SETTINGS,
    ),
    Experiment(
        "midas-figure-8",
        "Midas, figure 8",
        "final states of the learned policy",
        _end,
        _plan,
        _figure_8,
        settings=SETTINGS,
    ),
    Experiment(
        "midas-figure-9",
        "Midas, figure 9",
        "places of inserted pegs",
        partial(_test, MARGIN),
        _plan,
        _figure_9,
        settings=SETTINGS,
    ),
    Experiment(
        "midas-harder-task",
        "Midas, section V-E",
        "learned insertion with a margin of 0.1 mm",
        partial(_test, TIGHT),
        _plan,
        _harder_task,
        settings=SETTINGS,
    ),
)
