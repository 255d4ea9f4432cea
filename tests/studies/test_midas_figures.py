"""Figures of the Midas paper: the gripper's tasks succeed, without any overlap."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from asperity.scenes.gripper_tasks import (
    BEAM_DROP,
    Task,
    beam_assembly,
    cube_grasp,
    cup_placing,
    usb_insertion,
    usb_stroke,
)
from asperity.scenes.usb import Fit
from studies.experiments import engines, gripper_runs
from studies.experiments.engines import Run, peer_model, run_midas
from studies.experiments.gripper_runs import Trial
from studies.experiments.midas_assembly import USB_ACTIVATION, beam_activation, is_in
from studies.experiments.midas_grasping import (
    CUBE_ACTIVATION,
    CUP_ACTIVATION,
    expected_force,
    is_placed,
    least_force,
)
from studies.experiments.overlap import OverlapMeter


def trial(task: Task, activation_distance: float) -> Trial:
    run = run_midas(task, activation_distance)
    assert run.failure == ""
    model = mujoco.MjModel.from_xml_string(task.surfaces)
    meter = OverlapMeter(model)
    marks = [*range(0, len(run.time), 20), len(run.time) - 1]
    depths = [meter.measure(run.position[k], run.rotation[k]).depth for k in marks]
    upright = float(run.rotation[-1, model.body(task.object).id, 2, 2])
    path = run.path(model, task.object)
    return Trial("Midas", run, path, upright, run.time[marks], np.array(depths))


def test_without_bullet_and_ipctk_the_others_run(monkeypatch) -> None:
    assert {name.partition(",")[0] for name in engines.peers()} >= {"MuJoCo"}
    for module in (engines, gripper_runs):
        monkeypatch.setattr(module, "has_bullet", lambda: False)
        monkeypatch.setattr(module, "has_ipctk", lambda: False)
    assert {name.partition(",")[0] for name in engines.peers()} == {"MuJoCo"}
    notes = [gripper_runs.checked("checked"), *gripper_runs.no_bullet()]
    said = {note.quantity: note.ours for note in notes}
    assert "extra 'peers'" in said["Bullet"]
    assert "extra 'midas'" in said["checked"]
    assert run_midas(cube_grasp(0.5, 1e3, 5.0), CUBE_ACTIVATION).failure == ""


@pytest.mark.parametrize("clearance", [5e-3, 1e-4])
def test_beam(clearance: float) -> None:
    found = trial(beam_assembly(clearance), beam_activation(clearance))
    assert is_in(found, BEAM_DROP)
    assert found.deepest == 0.0
    # It rests an activation distance above the bottom.
    above = BEAM_DROP + found.path[-1, 2] - found.path[0, 2]
    assert 0.0 < above < 1.1 * beam_activation(clearance)


@pytest.mark.parametrize("force", [5.0, 500.0])
def test_cup(force: float) -> None:
    found = trial(cup_placing(force), CUP_ACTIVATION)
    assert is_placed(found)
    assert found.deepest == 0.0


@pytest.mark.parametrize("fit", [Fit(), Fit.close(5e-5)])
def test_usb(fit: Fit) -> None:
    found = trial(usb_insertion(fit), USB_ACTIVATION)
    assert is_in(found, usb_stroke(fit))
    assert found.deepest == 0.0


@pytest.mark.parametrize(("friction", "density"), [(0.2, 1000.0), (0.5, 4000.0)])
def test_least_force(friction: float, density: float) -> None:
    def do(make) -> Run:
        return run_midas(make(0.0), CUBE_ACTIVATION)

    least = least_force(do, friction, density)
    assert least == pytest.approx(expected_force(friction, density), rel=0.01)


@pytest.mark.parametrize(
    "task", [beam_assembly(5e-4), cup_placing(5.0), cube_grasp(0.5, 1e3, 5.0), usb_insertion(Fit())]
)
def test_pieces_are_the_same_bodies(task: Task) -> None:
    exact, pieces = mujoco.MjModel.from_xml_string(task.surfaces), peer_model(task)
    np.testing.assert_array_equal(pieces.body_mass, exact.body_mass)
    np.testing.assert_array_equal(pieces.body_inertia, exact.body_inertia)
    np.testing.assert_array_equal(pieces.body_pos, exact.body_pos)
    # Their own masses are those of the meshes, so the shapes are the same, too: to the gaps and
    # overlaps between the straight pieces of the cup's wall.
    own = mujoco.MjModel.from_xml_string(task.pieces)
    np.testing.assert_allclose(own.body_mass, exact.body_mass, rtol=1e-3)
