"""States that are given: free of intersections, within limits, or made so."""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco

from asperity.errors import ModelError
from asperity.midas.engine import Engine
from asperity.midas.model.activation_distances import (
    adapt_activation_distances,
    note_given_distances,
    widen_activation_distances,
)
from asperity.midas.model.joint_ranges import enter_limits
from asperity.midas.model.overlaps import are_tied, of_one_mechanism, overlapping_links
from asperity.midas.model.pairs import FlexPair, LinkPair
from asperity.midas.pose.separation import separate_free_bodies, take_apart
from asperity.midas.pose.touching import find_touching, merely_touch
from asperity.plant.model.names import element

__all__ = ["Outcome", "check_clearance"]


@dataclass
class Outcome:
    """What a check has done to a state."""

    changed: bool = False
    """Whether it has another state now."""
    brought_back: list[str] = field(default_factory=list)
    """Joints that were beyond their limits."""
    excluded: dict[LinkPair, float] = field(default_factory=dict)
    """Links that may not touch from now on, with their distance [m]."""
    passing: dict[FlexPair, float] = field(default_factory=dict)
    """Flexes that may not touch something from now on, with their distance [m]."""
    near: dict[LinkPair, float] = field(default_factory=dict)
    """Links that begin so near to each other that their activation distance is much smaller."""


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
        Whether activation distances may be lowered to clearances.
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
    # Activation distances become what surfaces are apart, or barriers push from the start.
    whole = not adapts
    if adapt_activation and engine.adapted:
        widen_activation_distances(engine)
    outcome.changed, outcome.brought_back = enter_limits(engine, overlaps)
    flagged = find_touching(engine)
    if flagged and lenient:
        # Deep ones first: what merely touches shall not be moved for their sake.
        if first:
            # What is tied could not be moved at all.
            deep = {
                p: d
                for p, d in flagged.items()
                if are_tied(engine, p) or not merely_touch(engine, p, d)
            }
            _exclude(engine, deep, outcome)
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
        outcome.near = adapt_activation_distances(engine)
    elif adapt_activation:
        note_given_distances(engine)
    engine.adapted = True
    engine.moved[:] = False
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
    pairs = [pair for pair, distance in flagged.items() if merely_touch(engine, pair, distance)]
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
        "apart (for the first state in the data given to Simulator), exclude the pair from contact "
        "(<exclude>, contype and conaffinity), or let Midas(overlaps='separate') move free bodies "
        "apart."
    )
