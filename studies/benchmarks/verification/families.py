"""All cases, by family."""

from __future__ import annotations

from studies.benchmarks.verification import (
    flight,
    friction,
    impacts,
    mechanisms,
    rest,
    robots,
    rolling,
    smooth,
    tops,
    torsion,
)
from studies.benchmarks.verification.case import Case

__all__ = ["CASES", "FAMILIES"]

FAMILIES: dict[str, tuple[Case, ...]] = {
    "Impacts": impacts.CASES,
    "Sliding, sticking, gripping": friction.CASES,
    "Rolling": rolling.CASES,
    "Friction of all kinds": torsion.CASES,
    "Tops": tops.CASES,
    "Rest and toppling": rest.CASES,
    "Smooth motion": smooth.CASES,
    "Mechanisms": mechanisms.CASES,
    "Robots in flight": flight.CASES,
    "Robots": robots.CASES,
}

CASES: dict[str, Case] = {case.name: case for cases in FAMILIES.values() for case in cases}
