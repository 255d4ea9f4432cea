"""All cases, by family."""

from __future__ import annotations

from studies.benchmarks.verification import (
    collisions,
    curves,
    dampers,
    drives,
    fabrics,
    flight,
    friction,
    impacts,
    landings,
    loads,
    machines,
    mechanisms,
    motors,
    oscillators,
    rest,
    rigid,
    robots,
    rolling,
    ropes,
    rubbing,
    smooth,
    soft_bodies,
    soft_impacts,
    switched,
    terrain,
    tops,
    torsion,
    vehicles,
)
from studies.benchmarks.verification.case import Case

__all__ = ["CASES", "FAMILIES"]

FAMILIES: dict[str, tuple[Case, ...]] = {
    "Impacts": impacts.CASES + collisions.CASES + landings.CASES,
    "Sliding, sticking, gripping": friction.CASES + terrain.CASES + switched.PUSHED,
    "Rolling": rolling.CASES,
    "Rolling on curves": curves.CASES,
    "Loads, wedges, brakes": loads.CASES + rubbing.CASES,
    "Friction of all kinds": torsion.CASES,
    "Tops": tops.CASES,
    "Rest and toppling": rest.CASES,
    "Smooth motion": smooth.CASES + rigid.CASES,
    "Springs, dampers, dry joints": oscillators.CASES + dampers.CASES,
    "Mechanisms": mechanisms.CASES,
    "Machines and vehicles": machines.CASES + vehicles.CASES,
    "Actuators and couplings": drives.CASES + motors.CASES + switched.LET_GO,
    "Deformable bodies": soft_bodies.CASES + soft_impacts.CASES + fabrics.CASES + ropes.CASES,
    "Robots in flight": flight.CASES,
    "Robots": robots.CASES,
}

CASES: dict[str, Case] = {case.name: case for cases in FAMILIES.values() for case in cases}
