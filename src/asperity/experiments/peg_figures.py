"""A policy learns to insert a peg: what figures 7 to 9 of the Midas paper show, and section V-E."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from asperity.envs import PegTask
from asperity.errors import AsperityError
from asperity.experiments.engines import MIDAS
from asperity.experiments.outcome import Curve, Film, Finding, Outcome, Panel
from asperity.experiments.peg_pictures import contact_sheet
from asperity.experiments.peg_runs import (
    ENGINES,
    FULL_ITERATIONS,
    ITERATIONS,
    MARGIN,
    TIGHT,
    Ending,
    endings,
    missing,
    test_policy,
    trained,
    usable,
)
from asperity.experiments.peg_training import Training, load
from asperity.experiments.registry import Progress
from asperity.experiments.runs import part, tracked

__all__ = ["figure_7", "figure_8", "figure_9", "harder_task", "outside", "spread"]

Floats = NDArray[np.float64]

_MESH, _PIECES, _FINE, *_ = (name for name in ENGINES if name != MIDAS)
_PAPER_7 = {MIDAS: "over 90 %", _MESH: "about 75 % (settings not given)"}
_PAPER_TIGHT = {MIDAS: "high (number lost)", _MESH: "2 % (settings not given)"}
_SHOWN = 6  # pictures of an engine
_TESTS = 100  # of a policy after its training


def _extent(full: bool) -> tuple[int, int]:
    """Seeds and iterations."""
    return (5, FULL_ITERATIONS) if full else (3, ITERATIONS)


def _engines(full: bool) -> list[str]:
    """Midas and Bullet as it comes; all settings of Bullet if wanted."""
    return usable([MIDAS, _MESH, _PIECES, _FINE] if full else [MIDAS, _MESH])


def spread(values: Floats, unit: str = "%") -> str:
    """Median, and the range if there are several."""
    text = f"{np.median(values):.3g} {unit}"
    return text if len(values) == 1 else f"{text} ({values.min():.3g} to {values.max():.3g})"


def outside(positions: Floats, margin: float) -> float:
    """Share of positions whose horizontal distance from the axis is more than the margin."""
    return float(np.mean(np.hypot(positions[:, 0], positions[:, 1]) > margin))


def _trainings(
    full: bool, margin: float, progress: Progress, seeds: int | None = None
) -> dict[str, list[Training]]:
    count, iterations = _extent(full)
    return {
        engine: [
            trained(engine, margin, seed, iterations, mine)
            for seed, mine in tracked(range(seeds or count), own)
        ]
        for engine, own in tracked(_engines(full), progress)
    }


def _learning(found: dict[str, list[Training]]) -> tuple[Panel, Panel]:
    panels = []
    for label, name, scale in (("mean reward", "reward", 1.0), ("success [%]", "success", 100.0)):
        curves = []
        for engine, trainings in found.items():
            rows = scale * np.array([getattr(training, name) for training in trainings])
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
    for engine, trainings in found.items():
        seeds = f"{len(trainings)} seed{'s' if len(trainings) > 1 else ''}"
        share = 100.0 * np.array([training.success[-1] for training in trainings])
        quantity = f"{engine}: success after {len(trainings[0].success)} iterations, {seeds}"
        findings.append(Finding(quantity, spread(share), paper.get(engine, "not tried")))
        first = np.array([training.first_above for training in trainings])
        learned = first[np.isfinite(first)]
        when = spread(learned, "") if len(learned) else "never"
        if 0 < len(learned) < len(first):
            when += f", {len(first) - len(learned)} never"
        expected = "about 20" if engine == MIDAS else ""
        findings.append(Finding(f"{engine}: first iteration above 90 %", when, expected))
    return findings


def figure_7(full: bool, progress: Progress) -> Outcome:
    found = _trainings(full, MARGIN, progress)
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


def figure_8(full: bool, progress: Progress) -> Outcome:
    found = _trainings(full, MARGIN, part(progress, 0.0, 0.8), seeds=1)
    count = 50 if full else 10
    findings, ends = list(missing()), {}
    for engine, own in tracked(found, part(progress, 0.8, 1.0)):
        ends[engine] = endings(load(found[engine][0].policy), engine, MARGIN, count, own)
        inserted = [end for end in ends[engine] if end.success]
        ours = f"{len(inserted)} of {count}"
        findings.append(Finding(f"{engine}: inserted", ours, ""))
        hits = [end.intersects for end in ends[engine]]
        ours = "not checked (extra 'midas')" if None in hits else f"{sum(map(bool, hits))}"
        paper = "none" if engine == MIDAS else "many"
        findings.append(Finding(f"{engine}: final states that intersect, by ipctk", ours, paper))
    attachments = {}
    try:
        sheet = contact_sheet(PegTask().scene, [own[:_SHOWN] for own in ends.values()])
        attachments["final-states.png"] = sheet
    except AsperityError as error:
        findings.append(Finding("pictures", f"none: {error}", ""))
    curves = tuple(
        Curve(engine, np.arange(1.0, count + 1.0), np.array([1e3 * _aside(e) for e in own]), "o")
        for engine, own in ends.items()
    )
    margin = Curve("margin", np.array([1.0, count]), np.full(2, 1e3 * MARGIN), "k:")
    panel = Panel("test", "peg's middle beside the axis, at the end [mm]", (*curves, margin))
    film = _film(MARGIN, ends[MIDAS][:_SHOWN])
    return Outcome(tuple(findings), (panel,), film=film, attachments=attachments)


def _aside(ending: Ending) -> float:
    at, _ = PegTask().addresses(PegTask().scene.model())
    return min(float(np.hypot(*ending.qpos[at : at + 2])), 2e-2)


def figure_9(full: bool, progress: Progress) -> Outcome:
    trainings = _trainings(full, MARGIN, part(progress, 0.0, 0.8))
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = 1e3 * MARGIN * np.stack([np.cos(angle), np.sin(angle)])
    findings, curves = list(missing()), [Curve("margin", circle[0], circle[1], "b-")]
    for engine, own in tracked(trainings, part(progress, 0.8, 1.0)):
        inserted, places = [], []
        for training, mine in tracked(trainings[engine], own):
            found = test_policy(load(training.policy), engine, MARGIN, _TESTS, mine)
            inserted.append(100.0 * float(found.success.mean()))
            places.append(found.position[found.success])
        paper = "over 90 %" if engine == MIDAS else ""
        quantity = f"{engine}: inserted in {_TESTS} tests, {len(places)} seeds"
        findings.append(Finding(quantity, spread(np.array(inserted)), paper))
        all_places = np.concatenate(places)
        curves.append(Curve(engine, 1e3 * all_places[:, 0], 1e3 * all_places[:, 1], "."))
        places = [own for own in places if len(own)]
        if not places:
            continue
        share = np.array([100.0 * outside(own, MARGIN) for own in places])
        far = 1e3 * np.hypot(all_places[:, 0], all_places[:, 1]).max()
        paper = "none" if engine == MIDAS else "many (share lost)"
        ours = f"{spread(share)}; farthest {far:.3f} mm"
        findings.append(Finding(f"{engine}: final positions outside the margin", ours, paper))
        middle = np.array([1e3 * np.hypot(*own[:, :2].mean(axis=0)) for own in places])
        paper = "uniform near the circle" if engine == MIDAS else "a large offset"
        quantity = f"{engine}: their mean beside the axis"
        findings.append(Finding(quantity, spread(middle, "mm"), paper))
    return Outcome(tuple(findings), (Panel("x [mm]", "y [mm]", tuple(curves)),))


def harder_task(full: bool, progress: Progress) -> Outcome:
    found = _trainings(full, TIGHT, part(progress, 0.0, 0.8))
    findings, attachments = list(missing()), {}
    for engine, own in tracked(found, part(progress, 0.8, 1.0)):
        shares, farthest = [], 0.0
        for training, mine in tracked(found[engine], own):
            tests = test_policy(load(training.policy), engine, TIGHT, _TESTS, mine)
            shares.append(100.0 * float(tests.success.mean()))
            places = tests.position[tests.success]
            farthest = max([farthest, *np.hypot(places[:, 0], places[:, 1])])
        quantity = f"{engine}: success in {_TESTS} tests, {len(shares)} seeds"
        paper = _PAPER_TIGHT.get(engine, "not tried")
        findings.append(Finding(quantity, spread(np.array(shares)), paper))
        ours = f"{1e3 * farthest:.3f} mm, margin {1e3 * TIGHT:g} mm" if any(shares) else "none"
        findings.append(Finding(f"{engine}: farthest final position", ours, ""))
        attachments[f"{_file(engine)}.zip"] = found[engine][0].policy
    findings += _learned(found, {})
    return Outcome(tuple(findings), _learning(found), attachments=attachments)
