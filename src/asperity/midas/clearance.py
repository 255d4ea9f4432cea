"""States that are given: free of intersections, within limits, or made so."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.midas.engine import Engine
from asperity.midas.joint_ranges import enter_limits
from asperity.midas.overlaps import TOUCHING, of_one_mechanism, overlapping_links
from asperity.midas.pairs import LinkPair
from asperity.midas.separation import separate_free_bodies, take_apart
from asperity.midas.touching import find_touching
from asperity.plant.names import element

__all__ = ["Outcome", "check_clearance"]

# No activation distance is chosen below this [m], nor above this share of a shape's extent.
_SMALLEST_ACTIVATION = 1e-5
_EXTENT_SHARE = 0.05


@dataclass
class Outcome:
    """What a check has done to a state."""

    changed: bool = False
    """Whether it has another state now."""
    brought_back: list[str] = field(default_factory=list)
    """Joints that were beyond their limits."""
    excluded: dict[LinkPair, float] = field(default_factory=dict)
    """Links that may not touch from now on, with their distance [m]."""


def check_clearance(
    engine: Engine, *, overlaps: str, adapt_activation: bool, first: bool = False
) -> Outcome:
    """Check the engine's state, and correct what may be corrected.

    Parameters
    ----------
    engine : Engine
    overlaps : {"exclude", "refuse", "separate"}
        Of `asperity.midas.preset.Midas`.
    adapt_activation : bool
        Whether the activation distance is lowered to the smallest clearance, on the first state.
    first : bool
        Whether this is the state that the simulator is made in, in which links of one mechanism may
        overlap by design.

    Returns
    -------
    Outcome

    Raises
    ------
    ModelError
        If geoms intersect or touch, or a joint is beyond a limit, and that is not corrected.
    """
    outcome = Outcome()
    lenient = overlaps != "refuse"
    adapts = adapt_activation and not engine.adapted
    # The activation distance becomes what surfaces are apart, or barriers push from the start.
    whole = not adapts
    outcome.changed, outcome.brought_back = enter_limits(engine, overlaps)
    flagged = find_touching(engine)
    if flagged and lenient:
        # Deep ones first: what merely touches shall not be moved for their sake.
        shallow = -TOUCHING * float(engine.table.activation)
        if first:
            _exclude(engine, {p: d for p, d in flagged.items() if d < shallow}, outcome)
        flagged = _part(engine, outcome, whole)
    if flagged and overlaps == "separate":
        separate_free_bodies(engine, flagged, whole=whole)
        outcome.changed = True
        flagged = find_touching(engine)
    if flagged and lenient and first:
        _exclude(engine, flagged, outcome)
        flagged = find_touching(engine)
    if flagged:
        _refuse(engine, flagged)
    if adapts:
        _adapt(engine)
    engine.adapted = True
    return outcome


def _exclude(engine: Engine, flagged: dict[int, float], outcome: Outcome) -> None:
    """Let links of one mechanism pass through each other."""
    found = overlapping_links(engine, flagged)
    if found:
        outcome.excluded |= found
        engine.exclude(found)


def _part(engine: Engine, outcome: Outcome, whole: bool) -> dict[int, float]:
    """Take apart what touches; returns what still does, or overlaps."""
    flagged = find_touching(engine)
    shallow = -TOUCHING * float(engine.table.activation)
    pairs = [pair for pair, distance in flagged.items() if distance >= shallow]
    # All at once, or those between mechanisms, which cannot be excluded, or one by one.
    foreign = [pair for pair in pairs if not of_one_mechanism(engine, pair)]
    for some in (pairs, foreign, *([pair] for pair in pairs)):
        if some and take_apart(engine, some, whole=whole):
            outcome.changed = True
            if some is pairs:
                break
    return find_touching(engine)


def _refuse(engine: Engine, flagged: dict[int, float]) -> None:
    pair = min(flagged, key=lambda key: flagged[key])
    one, other = (
        element(engine.model, mujoco.mjtObj.mjOBJ_GEOM, g) for g in engine.pair_geoms(pair)
    )
    distance = flagged[pair]
    what = (
        f"{one} and {other} intersect by {-1e3 * distance:.3g} mm"
        if distance < 0.0
        else f"{one} and {other} touch"
    )
    more = f" (and {len(flagged) - 1} more pairs)" if len(flagged) > 1 else ""
    raise ModelError(
        f"{what}{more}; the Midas integrator needs a state in which surfaces are apart. Move them "
        "(in the data that Simulator is given, if it is about the first state), exclude the pair "
        "from contact (<exclude>, contype and conaffinity), or let Midas(overlaps='separate') move "
        "free bodies apart."
    )


def _adapt(engine: Engine) -> None:
    """Lower the activation distance to the smallest clearance and the smallest shape."""
    table = engine.table
    count = int(table.candidates)
    wanted = float(table.activation)
    for shape, radius in zip(engine.shapes.surface, engine.shapes.radius, strict=True):
        extent = float(np.ptp(shape.vertices, axis=0).max() + 2.0 * radius)
        wanted = min(wanted, _EXTENT_SHARE * extent)
    if count:
        wanted = min(wanted, math.sqrt(float(table.candidate_square[:count].min())))
    table.activation = max(wanted, _SMALLEST_ACTIVATION)
    table.listed = 0
