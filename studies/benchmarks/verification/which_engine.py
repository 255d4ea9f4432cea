"""The table of docs/which-engine.md: eleven cases, why they matter, and what every engine finds."""

from __future__ import annotations

from collections.abc import Mapping

from studies.benchmarks.verification.families import CASES
from studies.benchmarks.verification.page import cell, number
from studies.benchmarks.verification.results import Result

__all__ = ["ENGINES", "WHY", "table"]

WHY = {
    "slide-to-rest": "Friction decides where things stop: distance of a block [m]",
    "isotropy": "Friction is the same in all directions: longest slide over shortest",
    "held": "A grasp holds: how far a gripped box sinks in 10 s [mm]",
    "impact-friction": "Friction acts in impacts too: Δvₓ/Δv_z of a ball, μ = 0.2",
    "elastic-bounce": "An elastic bounce keeps its energy: E/E₀",
    "thin-wall": "Nothing passes through walls: how many of five balls do",
    "dominoes": "Many contacts in a row: speed of a wave of dominoes [m/s]",
    "chain-mode": "Vibration lasts: displacement after ten periods, over the first",
    "spinning-patch": "Friction of a patch that spins: speed of a body on six feet [rad/s]",
    "gyroscope-precession": "Fast spin turns forces around: angle of a gyroscope [°]",
    "coin-lean": "Rolling on an edge: lean of a coin after 6 s [°]",
}
"""What each case is for, by its name."""

ENGINES = {
    "Asperity `Cenic`, 1e-3": "cenic@1e-3",
    "Asperity `Icf`, 1 ms": "icf@1e-3",
    "MuJoCo, defaults": "mujoco",
    "MuJoCo, careful": "mujoco:careful",
    "MuJoCo, speculative": "mujoco:speculative",
    "MuJoCo, discrete": "mujoco:discrete",
    "Drake `cenic`, 1e-3": "drake:cenic@1e-3",
    "Drake `sap`, 1 ms": "drake:sap@1e-3",
    "MotrixSim, 1 ms": "motrixsim@1e-3",
    "Rapier, 1 ms": "rapier@1e-3",
}
"""Methods by what the table calls them."""


def table(results: Mapping[tuple[str, str], Result]) -> str:
    """The ten cases, one engine a column; engines without results lack."""
    present = {
        title: method
        for title, method in ENGINES.items()
        if any(name == method for _, name in results)
    }
    lines = [
        "| | truth | " + " | ".join(present) + " |",
        "|---" * (len(present) + 2) + "|",
    ]
    for name, why in WHY.items():
        found = [cell(CASES[name], results.get((name, method))) for method in present.values()]
        lines.append(f"| {why} | {number(CASES[name], CASES[name].truth)} | {' | '.join(found)} |")
    return "\n\n" + "\n".join(lines) + "\n\n"
