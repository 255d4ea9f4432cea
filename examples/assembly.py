"""A beam goes into a notch that is 0.1 mm wider: ``python examples/assembly.py``.

`Midas` keeps surfaces apart at every instant, at steps of 10 ms. The program reports whether the
beam is in, and the smallest distance that any two surfaces ever had. ``--html FILE`` writes a
playback for web browsers (extra ``viz``).
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp
from asperity.scenes.gripper_tasks import BEAM_DROP, beam_assembly


class Outcome(NamedTuple):
    """What became of the beam."""

    depth: float
    """How far it went down [m]."""
    tilt: float
    """From the vertical [rad]."""
    clearance: float
    """Smallest distance of two surfaces in the whole run [m]."""
    wall_time: float
    """[s]."""
    time: np.ndarray
    qpos: np.ndarray
    model: mujoco.MjModel


def run(clearance: float = 1e-4, time_step: float = 0.01) -> Outcome:
    """Assemble with a notch that is wider than the beam by a clearance [m]."""
    task = beam_assembly(clearance)
    model, _ = asp.load_model(task.surfaces)

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = task.control(data.time)

    sim = asp.Simulator(
        model,
        # Contacts act over a tenth of the clearance.
        integrator=asp.Midas(time_step=time_step, activation_distance=0.1 * clearance),
        control=control,
        control_period=time_step,
    )
    beam = sim.data.body(task.object)
    start = beam.xpos[2]
    time, qpos = [0.0], [sim.data.qpos.copy()]
    while sim.time < task.duration - 0.5 * time_step:
        sim.step()
        time.append(sim.time)
        qpos.append(sim.data.qpos.copy())
    tilt = float(np.arccos(np.clip(beam.xmat[8], -1.0, 1.0)))
    assert sim.clearance is not None
    return Outcome(
        float(start - beam.xpos[2]),
        tilt,
        sim.clearance,
        sim.stats.wall_time,
        np.array(time),
        np.array(qpos),
        model,
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clearance", type=float, default=1e-4, help="[m]")
    parser.add_argument("--html", help="write a playback to this file")
    arguments = parser.parse_args()
    found = run(arguments.clearance)
    is_in = abs(found.depth - BEAM_DROP) < 1e-3
    print(f"The beam is {'in' if is_in else 'not in'}: {1e3 * found.depth:.2f} mm down,")
    print(f"  tilted by {1e3 * found.tilt:.2f} mrad; no two surfaces were ever nearer than")
    print(f"  {1e6 * found.clearance:.2f} µm. {found.time[-1]:.2f} s took {found.wall_time:.2f} s.")
    if arguments.html:
        from asperity.media import write_web_playback

        write_web_playback(arguments.html, found.model, found.time, found.qpos)


if __name__ == "__main__":
    main()
