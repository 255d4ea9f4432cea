"""Does the answer depend on the accuracy? ``python examples/grasp_over_accuracy.py``.

A gripper on a spring shakes a mug that it holds at the very limit of friction, so that the mug
slips a little in every swing: by 5.7 mm in 2.5 s. Nothing commands the gripper, no step has to end
anywhere, and only the accuracy decides what is resolved. The table shows from where on the answer
is one; run it with a scene of your own before you trust a number.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import asperity as asp
from asperity.scenes.shaken_mug import shaken_mug

DURATION = 2.5
CONVERGED = -5.72e-3
"""Slip by methods with different friction in steps of 10 µs and less [m] (docs/verification.md)."""


class Row(NamedTuple):
    """One run."""

    accuracy: float
    slip: float
    """Of the mug down the fingers [m]."""
    steps: int
    wall_time: float
    """[s]."""


def run(accuracies: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)) -> list[Row]:
    """Simulate with each accuracy [m, rad]."""
    rows = []
    for accuracy in accuracies:
        sim = asp.Simulator(shaken_mug(sprung=True), integrator=asp.Cenic(accuracy=accuracy))
        sim.reset("start")
        sim.advance_to(DURATION)
        slip = sim.data.joint("mug").qpos[2] - sim.data.joint("lift").qpos[0]
        rows.append(Row(accuracy, float(slip), sim.stats.steps, sim.stats.wall_time))
    return rows


def main() -> None:
    """Run from the command line."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    print(
        f"{'accuracy':>9} {'slip [mm]':>10} {'error [mm]':>11} {'steps':>6} {'wall time [s]':>14}"
    )
    for row in run():
        error = row.slip - CONVERGED
        print(
            f"{row.accuracy:9.0e} {1e3 * row.slip:10.3f} {1e3 * error:11.3f} {row.steps:6d} "
            f"{row.wall_time:14.3f}"
        )


if __name__ == "__main__":
    main()
