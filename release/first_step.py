"""Time and check a first step in a new process: ``python first_step.py MODEL METHOD``.

Prints the seconds from the first import to the end of the step, and those of the processor, which
other processes do not prolong. Fails if anything was compiled.
"""

import sys
import time

begin = time.perf_counter()

import mujoco  # noqa: E402

import asperity as asp  # noqa: E402

GEOMS = ("type='box' size='.05 .04 .03'", "size='.04'", "type='capsule' size='.03 .04'")
PILE = "".join(
    f"<body pos='{0.03 * (i % 3)} {0.02 * (i % 2)} {0.05 + 0.12 * i}'><freejoint/>"
    f"<geom {GEOMS[i % 3]}/></body>"
    for i in range(20)
)
METHODS = {
    "Cenic": asp.Cenic(accuracy=1e-3),
    "Icf": asp.Icf(time_step=0.005),
    "Sap": asp.Sap(time_step=0.005),
    "Tamsi": asp.Tamsi(time_step=0.001),
    "Midas": asp.Midas(time_step=0.005),
    "Batch": asp.Icf(time_step=0.005),
}


def load(name: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Load a pile, or the arm with a gripper and a bin of clutter that comes with the package."""
    if name == "robot":
        from asperity.scenes import pick_from_clutter

        model = mujoco.MjModel.from_xml_path(str(pick_from_clutter.model_path()))
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, model.key(pick_from_clutter.KEYFRAME).id)
        return model, data
    floor = "<geom type='plane' size='1 1 1'/>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{floor}{PILE}</worldbody></mujoco>")
    return model, mujoco.MjData(model)


def take_step(name: str, method: str) -> set[str]:
    """Make a simulation, and take its first step; returns what was compiled."""
    from numba.core import event

    model, data = load(name)
    with event.install_recorder("numba:run_pass") as passes:
        if method == "Batch":
            asp.Batch(model, 2, integrator=METHODS[method], threads=2).step()
        else:
            asp.Simulator(model, data=data, integrator=METHODS[method]).step()
    return {one.data["qualname"] for _, one in passes.buffer}


compiled = take_step(*sys.argv[1:])
print(time.perf_counter() - begin, time.process_time())
if compiled:
    sys.exit(f"compiled again: {', '.join(sorted(compiled))}")
