"""A MuJoCo model simulated by Drake, from its initial pose at rest (extra ``peers``)."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import mujoco
import numpy as np
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.systems.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig

from studies.experiments.drake_model import Contact, DrakeModel

__all__ = ["DrakeRun", "run_drake"]

_FREE = int(mujoco.mjtJoint.mjJNT_FREE)


class DrakeRun(NamedTuple):
    """What a run took."""

    cpu_time: float
    """[s]."""
    steps: int
    iterations: int | None
    """Of the solver, if Drake counts them."""
    overlap: float
    """The deepest at the samples [m]."""


def run_drake(
    model: mujoco.MjModel,
    contact: Contact,
    duration: float,
    *,
    accuracy: float | None = None,
    time_step: float | None = None,
    sample: float = 0.02,
) -> DrakeRun:
    """Simulate free bodies, hinges and slides with ``cenic``, or in fixed steps of ``sap``.

    Overlaps are looked at in a second run, since samples cut steps.
    """
    cpu_time, steps, iterations, _ = _run(model, contact, duration, accuracy, time_step, duration)
    overlap = _run(model, contact, duration, accuracy, time_step, sample).overlap
    return DrakeRun(cpu_time, steps, iterations, overlap)


def _run(
    model: mujoco.MjModel,
    contact: Contact,
    duration: float,
    accuracy: float | None,
    time_step: float | None,
    sample: float,
) -> DrakeRun:
    made = DrakeModel(
        model,
        contact,
        time_step=time_step or 0.0,
        approximation="" if time_step is None else "sap",
        corners=False,
    )
    simulator = Simulator(made.diagram)
    if time_step is None:
        config = SimulatorConfig(
            integration_scheme="cenic",
            max_step_size=0.1,
            use_error_control=True,
            target_realtime_rate=0.0,
        )
        config.accuracy = accuracy
        ApplySimulatorConfig(config, simulator)
    context = made.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for joint, drakes in enumerate(made.joints):
        address = int(model.jnt_qposadr[joint])
        if int(model.jnt_type[joint]) == _FREE:
            matrix = np.empty(9)
            mujoco.mju_quat2Mat(matrix, model.qpos0[address + 3 : address + 7].copy())
            rotation: Any = matrix.reshape(3, 3)
            place: Any = model.qpos0[address : address + 3].copy()
            drakes.SetPose(
                context,
                RigidTransform(RotationMatrix.ProjectToRotationMatrix(rotation), place),
            )
        else:
            position: Any = made.plant.GetPositions(context)
            position[drakes.position_start()] = model.qpos0[address]
            made.plant.SetPositions(context, position)
    simulator.Initialize()
    overlap = 0.0
    port = made.plant.get_contact_results_output_port()
    cpu = 0.0
    for stop in np.linspace(0.0, duration, max(2, round(duration / sample) + 1))[1:]:
        before = time.process_time()
        simulator.AdvanceTo(float(stop))
        cpu += time.process_time() - before
        results = port.Eval(context)
        depths = [
            results.point_pair_contact_info(i).point_pair().depth
            for i in range(results.num_point_pair_contacts())
        ]
        overlap = max([overlap, *depths])
    if time_step is not None:
        return DrakeRun(cpu, simulator.get_num_discrete_updates(), None, overlap)
    integrator = simulator.get_integrator()
    summary = {name: int(value) for name, value in integrator.GetStatisticsSummary()}
    return DrakeRun(
        cpu,
        int(integrator.get_num_steps_taken()),
        summary.get("cenic_total_solver_iterations"),
        overlap,
    )
