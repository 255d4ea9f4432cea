"""A policy learns to insert a peg: what figures 7 to 9 of the Midas paper show, and section V-E."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asperity.envs import PegTask
from asperity.errors import AsperityError
from studies.experiments.engines import MIDAS
from studies.experiments.outcome import Curve, Film, Finding, Outcome, Panel
from studies.experiments.peg_pictures import contact_sheet
from studies.experiments.peg_policies import Plan, make_plan, trainings
from studies.experiments.peg_runs import (
    BULLET,
    MARGIN,
    TIGHT,
    Ending,
    endings,
    missing,
    test_policy,
    tried_in,
)
from studies.experiments.peg_training import Training, load
from studies.experiments.registry import Progress
from studies.experiments.runs import part, tracked

__all__ = ["figure_7", "figure_8", "figure_9", "harder_task", "outside", "spread"]

Floats = NDArray[np.float64]

_PAPER_7 = {MIDAS: "over 90 %", BULLET: "about 75 % (settings not given)"}
_PAPER_TIGHT = {MIDAS: "high (number lost)", BULLET: "2 % (settings not given)"}
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


def _learning(found: dict[str, list[Training]]) -> tuple[Panel, Panel]:
    panels = []
    for label, name, scale in (("mean reward", "reward", 1.0), ("success [%]", "success", 100.0)):
        curves = []
        for engine, own in found.items():
            rows = scale * np.array([getattr(training, name) for training in own])
            turns = np.arange(1.0, rows.shape[1] + 1.0)
            curves.append(Curve(engine, turns, np.median(rows, axis=0), "o-"))
            if len(rows) > 1:
                curves.append(Curve(f"{engine}, least", turns, rows.min(axis=0), ":"))
                curves.append(Curve(f"{engine}, most", turns, rows.max(axis=0), ":"))
        panels.append(Panel("iteration", label, tuple(curves)))
    return panels[0], panels[1]


def _learned(found: dict[str, list[Training]], paper: dict[str, str]) -> list[Finding]:
    """Success after the last iteration, and when it was first above 90 %."""
    findings = []
    for engine, own in found.items():
        share = 100.0 * np.array([training.success[-1] for training in own])
        quantity = f"{engine}: success after {len(own[0].success)} iterations, {_seeds(len(own))}"
        expected = paper.get(engine, "–")
        findings.append(Finding(quantity, spread(share), expected))
        first = np.array([training.first_above for training in own])
        learned = first[np.isfinite(first)]
        when = spread(learned, "") if len(learned) else "never"
        if 0 < len(learned) < len(first):
            when += f", {len(first) - len(learned)} never"
        expected = "about 20" if engine == MIDAS else ""
        findings.append(Finding(f"{engine}: first iteration above 90 %", when, expected))
    return findings


def figure_7(full: bool, progress: Progress, **settings: Any) -> Outcome:
    """Reward and success over the iterations."""
    found = trainings(make_plan(full, **settings), MARGIN, progress)
    policies = {f"{_file(engine)}.zip": own[0].policy for engine, own in found.items()}
    findings = (*missing(), *_learned(found, _PAPER_7))
    return Outcome(findings, _learning(found), attachments=policies)


def _file(engine: str) -> str:
    """The name of an engine in names of files."""
    return engine.lower().replace(",", "").replace(" ", "-")


def _film(margin: float, ends: list[Ending]) -> Film:
    """One episode after the other, with a pause in between."""
    task = PegTask(margin=margin)
    path = np.concatenate([np.concatenate([e.path, e.path[-1:].repeat(15, axis=0)]) for e in ends])
    time = task.control_period * np.arange(len(path))
    return Film(task.scene.model(), time, path, "side")


def figure_8(full: bool, progress: Progress, **settings: Any) -> Outcome:
    """Final states, and those among them that intersect."""
    plan = make_plan(full, **settings)
    found = trainings(plan, MARGIN, part(progress, 0.0, 0.8))
    each = _EACH[full]
    findings, ends = list(missing()), {}
    for engine, own in tracked(found, part(progress, 0.8, 1.0)):
        policies = [load(training.policy) for training in found[engine]]
        tests = [
            endings(agent, tried_in(engine), MARGIN, each, mine)
            for agent, mine in tracked(policies, own)
        ]
        # The first of every policy, the second of every policy, and so on.
        ends[engine] = [end for round_ in zip(*tests, strict=True) for end in round_]
        findings += _ended(engine, ends[engine], plan)
    attachments = {}
    try:
        sheet = contact_sheet(PegTask().scene, [own[:_SHOWN] for own in ends.values()])
        attachments["final-states.png"] = sheet
    except AsperityError as error:
        findings.append(Finding("pictures", f"none: {error}", "–"))
    count = each * plan.seeds
    curves = tuple(
        Curve(engine, np.arange(1.0, count + 1.0), np.array([1e3 * _aside(e) for e in own]), "o")
        for engine, own in ends.items()
    )
    margin = Curve("margin", np.array([1.0, count]), np.full(2, 1e3 * MARGIN), "k:")
    panel = Panel("test", "peg's middle beside the axis, at the end [mm]", (*curves, margin))
    film = _film(MARGIN, next(iter(ends.values()))[:_SHOWN])
    return Outcome(tuple(findings), (panel,), film=film, attachments=attachments)


def _ended(engine: str, ends: list[Ending], plan: Plan) -> list[Finding]:
    """How many are in, and how many intersect."""
    inserted = [end for end in ends if end.success]
    ours = f"{len(inserted)} of {len(ends)}"
    findings = [Finding(f"{engine}: inserted, {_seeds(plan.seeds)}", ours, "–")]
    ours = "not checked (extra 'midas')"
    if all(end.intersects is not None for end in ends):
        ours = f"{sum(bool(end.intersects) for end in ends)}"
        ours += f", {sum(bool(end.intersects) for end in inserted)} of them inserted"
    paper = "none" if tried_in(engine) == MIDAS else "many"
    findings.append(Finding(f"{engine}: final states that intersect, by ipctk", ours, paper))
    return findings


def _aside(ending: Ending) -> float:
    at, _ = PegTask().addresses(PegTask().scene.model())
    return min(float(np.hypot(*ending.qpos[at : at + 2])), 2e-2)


def _tested(
    engine: str, own: list[Training], margin: float, paper: str, progress: Progress
) -> tuple[list[Finding], list[Floats]]:
    """How many pegs are in and within the margin, and where, by policy."""
    inserted, places = [], []
    for training, mine in tracked(own, progress):
        tests = test_policy(load(training.policy), tried_in(engine), margin, _TESTS, mine)
        inserted.append(100.0 * float(tests.success.mean()))
        places.append(tests.position[tests.success])
    quantity = f"{engine}: inserted in {_TESTS} tests, {_seeds(len(own))}"
    findings = [Finding(quantity, spread(np.array(inserted)), paper)]
    together = np.concatenate(places)
    if len(together):
        ours = f"{np.sum(_off(together) > margin)} of {len(together)}"
        shares = np.array([100.0 * outside(one, margin) for one in places if len(one)])
        ours += f"; by policy {spread(shares)}; farthest {1e3 * _off(together).max():.3f} mm"
        paper = "none" if tried_in(engine) == MIDAS else "many (share lost)"
        findings.append(Finding(f"{engine}: final positions outside the margin", ours, paper))
    return findings, places


def figure_9(full: bool, progress: Progress, **settings: Any) -> Outcome:
    """Horizontal positions at the end, and the share outside the margin."""
    found = trainings(make_plan(full, **settings), MARGIN, part(progress, 0.0, 0.8))
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = 1e3 * MARGIN * np.stack([np.cos(angle), np.sin(angle)])
    findings, curves = list(missing()), [Curve("margin", circle[0], circle[1], "b-")]
    for engine, own in tracked(found, part(progress, 0.8, 1.0)):
        paper = "over 90 %" if engine == MIDAS else ""
        lines, places = _tested(engine, found[engine], MARGIN, paper, own)
        findings += lines
        together = np.concatenate(places)
        curves.append(Curve(engine, 1e3 * together[:, 0], 1e3 * together[:, 1], "."))
        middle = [1e3 * np.hypot(*one[:, :2].mean(axis=0)) for one in places if len(one)]
        if middle:
            paper = "uniform near the circle" if engine == MIDAS else "a large offset"
            quantity = f"{engine}: their mean beside the axis"
            findings.append(Finding(quantity, spread(np.array(middle), "mm"), paper))
    return Outcome(tuple(findings), (Panel("x [mm]", "y [mm]", tuple(curves), equal=True),))


def harder_task(full: bool, progress: Progress, **settings: Any) -> Outcome:
    """The peg's task with a margin of 0.1 mm."""
    found = trainings(make_plan(full, **settings), TIGHT, part(progress, 0.0, 0.8))
    findings, attachments = list(missing()), {}
    for engine, own in tracked(found, part(progress, 0.8, 1.0)):
        paper = _PAPER_TIGHT.get(engine, "–")
        findings += _tested(engine, found[engine], TIGHT, paper, own)[0]
        attachments[f"{_file(engine)}.zip"] = found[engine][0].policy
    findings += _learned(found, {})
    return Outcome(tuple(findings), _learning(found), attachments=attachments)
