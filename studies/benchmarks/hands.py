"""How fast Midas runs a humanoid with hands, by its own collision meshes.

``python -m studies benchmark hands`` from the root of the repository (needs example-robot-data,
whose package on PyPI is ``example-robot-data``): the Unitree G1 with hands of three fingers, in
steps of 5 ms, limp with its pelvis held, limp when it falls on a floor, and held with random
motors. Shares are simulated over wall time, with one thread and with two, of an otherwise idle
machine. ``--save`` keeps them for the documents.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import mujoco
import numpy as np

import asperity as asp
from studies.benchmarks.public_models.motors import HOLD, random_motors
from studies.benchmarks.public_models.packages import find_models
from studies.benchmarks.saved import Table

MODEL = "g1_29dof_with_hand_rev_1_0.urdf"
STEP = 5e-3
HEIGHT = 0.85
"""Of the pelvis above the floor [m]."""
SPREAD = 0.3
"""Standard deviation of initial velocities, if there are any [m/s, rad/s]."""
SCENES = {"held": (0,), "falls": (0, 1), "motors": (0, 1, 2)}
"""Seeds of every scene. 0 is at rest at first."""
DURATIONS = {"held": 0.6, "falls": 0.8, "motors": 0.6}


def compiled_model(path: Path, scene: str) -> mujoco.MjModel:
    """The robot of a scene."""
    if scene != "falls":
        return asp.load_model(path, floating_base=False)[0]
    spec = asp.load_spec(path, floating_base=True)[0]
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[3.0, 3.0, 0.1])
    for body in spec.worldbody.bodies:
        body.pos = [0.0, 0.0, HEIGHT]
    return spec.compile()


def share(path: Path, scene: str, seed: int, threads: int) -> float:
    """Simulated over wall time, without what is done once."""
    sim = asp.Simulator(
        compiled_model(path, scene), integrator=asp.Midas(time_step=STEP), threads=threads
    )
    random = np.random.default_rng(seed)
    if seed > 0 and scene != "motors":
        sim.data.qvel[:] = SPREAD * random.normal(size=sim.model.nv)
    sim.advance_to(STEP)
    begin, taken = sim.time, 0.0
    parts = round(DURATIONS[scene] / HOLD)
    for part in range(1, parts + 1):
        if scene == "motors":
            random_motors(sim.model, sim.data, random)
        start = time.perf_counter()
        report = sim.advance_to(begin + part * HOLD, on_failure="return")
        taken += time.perf_counter() - start
        if not report.success:
            raise SystemExit(f"{scene}, seed {seed}: {report.message}")
    return parts * HOLD / taken


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=MODEL, help="end of the file's name")
    parser.add_argument("--scenes", default=",".join(SCENES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", asp.AsperityWarning)
    path = next((path for name, path in find_models() if name.endswith(options.model)), None)
    if path is None:
        raise SystemExit(f"No file {options.model}; pip install example-robot-data.")
    threads = [int(count) for count in options.threads.split(",")]
    table = Table("scene", "seed", *(f"threads: {count}" for count in threads))
    for scene in options.scenes.split(","):
        for seed in SCENES[scene]:
            shares = (f"{share(path, scene, seed, count):.2f}" for count in threads)
            table.add(scene, seed, *shares)
    if options.save:
        note = "Simulated over wall time, on a machine that should do nothing else."
        table.save("hands", "A humanoid with hands under Midas", note)


if __name__ == "__main__":
    main()
