"""Which method does a model need? ``python examples/compare_methods.py [MODEL]``.

Tries several methods with several settings, measures what each costs and how far it is off within
windows of 25 ms (against tiny steps from the same states), and recommends one.
"""

from __future__ import annotations

import argparse

import asperity as asp
from asperity.study import Study, work_precision

SCENE = """
<mujoco model="a box tumbles down a stair">
  <worldbody>
    <geom type="box" size="0.2 0.3 0.05" pos="-0.1 0 0.25"/>
    <geom type="box" size="0.2 0.3 0.05" pos="0.3 0 0.1"/>
    <geom type="plane" size="2 2 0.1"/>
    <body pos="-0.1 0 0.36" euler="0 10 20"><freejoint/>
      <geom type="box" size="0.05 0.04 0.03" mass="0.5" friction="0.4"/></body>
  </worldbody>
  <keyframe>
    <key name="start" qpos="-0.1 0 0.36 0.98 0.03 0.08 0.17" qvel="1.2 0.1 0 0 3 0"/>
  </keyframe>
</mujoco>
"""


def run(
    source: str = SCENE,
    *,
    keyframe: str | None = "start",
    methods: tuple[str, ...] = ("cenic", "icf", "sap", "tamsi"),
    accuracies: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4),
    time_steps: tuple[float, ...] = (1e-2, 3e-3, 1e-3),
    duration: float = 1.5,
    reference_step: float = 1e-5,
) -> Study:
    """Study a model, a path or XML."""
    model, _ = asp.load_model(source)
    return work_precision(
        model,
        methods=methods,
        accuracies=accuracies,
        time_steps=time_steps,
        duration=duration,
        keyframe=keyframe,
        reference_step=reference_step,
        windows=20,
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="MJCF or URDF; a box on a stair by default")
    arguments = parser.parse_args()
    study = run(arguments.model, keyframe=None) if arguments.model else run()
    print(f"{'integrator':43} {'error per 25 ms':>16} {'ms per second':>14}")
    for trial in study.trials:
        error = "failed" if trial.errors is None else f"{trial.errors.position:.1e}"
        print(f"{trial.expression:43} {error:>16} {1e3 * trial.cost:14.2f}")
    print(study.recommendation)


if __name__ == "__main__":
    main()
