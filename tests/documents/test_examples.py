"""Examples run, and find what physics says."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import mujoco
import numpy as np
import pytest

import asperity as asp

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    # What needs an extra has a file of its own.
    files = (Path(__file__), Path(__file__).parents[1] / "distributed" / "test_rllib.py")
    tested = "".join(file.read_text(encoding="utf-8") for file in files)
    programs = list(EXAMPLES.glob("*.py"))
    assert len(programs) >= 8
    for program in programs:
        assert f'example("{program.stem}")' in tested or f'"{program.name}"' in tested
        assert program.name in (EXAMPLES / "README.md").read_text(encoding="utf-8")
        assert program.name in (EXAMPLES.parent / "docs" / "examples.md").read_text("utf-8")


def test_pick_and_place_stands_the_cube_on_the_other() -> None:
    found = example("pick_and_place").run(accuracy=1e-3)
    assert found.offset < 1e-3
    # Four points of 10⁵ N/m under each cube; what creeps in a second is at most the stiction
    # tolerance, 0.1 mm/s.
    assert abs(found.height) < 1e-4
    assert 0.0 <= found.slip < 1.2e-4
    assert found.steps < 400


def test_soft_cube_is_held() -> None:
    module = example("soft_grasp")
    found = module.run(accuracy=1e-3)
    assert found.height == pytest.approx(0.125, abs=1e-3)
    assert 0.04 < found.width < 0.048
    assert abs(found.slip) < 1e-5
    assert found.steps < 400


def test_cloth_hangs_over_a_ball() -> None:
    module = example("cloth_over_ball")
    found = module.run(count=10)
    assert 0.15 < found.height < 0.21
    assert found.creep < 5e-3
    assert found.stretch < 1.1


def test_a_rope_holds_or_slides() -> None:
    """Euler and Eytelwein: up to e^(0.3 π) = 2.566 times the lighter weight."""
    module = example("rope_over_pulley")
    assert module.run(friction=0.3, heavy=2.2).speed < 2e-3
    found = module.run(friction=0.3, heavy=3.0)
    assert found.ratio == pytest.approx(2.566, rel=1e-2)


def test_two_arms_route_a_cable() -> None:
    module = example("route_cable")
    found = module.run()
    assert np.all(found.aside < module.SLACK + 5e-4)
    assert np.all(found.under > 5e-3)


def test_a_knot_is_pulled_tight() -> None:
    """A straight line is as long as the rope."""
    module = example("tighten_knot")
    found = module.run()
    assert found.tight - found.open > 0.3
    assert found.tight < 0.93
    assert found.clearance > 0.0
    assert module.run(touches=False).tight > 0.99


@pytest.mark.slow
def test_a_tshirt_hangs_over_a_rail() -> None:
    module = example("tshirt_over_rail")
    found = module.run()
    assert min(found.lengths) > 0.15
    assert sum(found.lengths) < module.ROWS * module.CELL
    assert found.creep < 1e-3
    assert found.clearance > 0.0


@pytest.mark.parametrize("wind", [0.8, 1.2, 1.5])
def test_a_flag_balances_in_the_wind(wind: float) -> None:
    found = example("flag_in_wind").run(wind)
    assert found.angle == pytest.approx(found.expected, abs=np.radians(0.5))


def test_a_ropes_stiffness_is_found() -> None:
    module = example("identify_rope")
    found = module.run()
    assert np.all(np.abs(found.values - module.TRUTH) < 3.0 * found.errors)
    assert np.all(found.errors < 1e-2 * found.values)
    assert found.residual == pytest.approx(module.NOISE, rel=0.1)


def test_a_soft_cantilever_bends_as_a_beam() -> None:
    module = example("soft_cantilever")
    # F L³/3EI and F L/(5/6 G A) [m]
    model, truth = module.beam(1, 0.0), 4e-5 + 2.4e-7
    assert module.in_asperity(model) == pytest.approx(truth, rel=1e-2)
    assert module.in_mujoco(model) < 0.3 * truth


def test_assembly_ends_in_the_notch_and_nothing_ever_touches() -> None:
    module = example("assembly")
    found = module.run(clearance=1e-4)
    assert found.depth == pytest.approx(module.BEAM_DROP, abs=1e-3)
    assert found.clearance > 0.0
    assert found.tilt < 1e-4 / 0.025  # what the notch leaves it


def test_the_grasps_slip_converges_with_the_accuracy() -> None:
    module = example("grasp_over_accuracy")
    errors = [abs(row.slip - module.CONVERGED) for row in module.run((1e-3, 1e-4, 1e-5))]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4


def test_the_drop_in_holds_what_friction_can_hold() -> None:
    module = example("drop_in")
    duration = 1.0
    here = module.sink(asp.step, duration=duration)
    # Regularised friction creeps by less than the stiction tolerance.
    assert 0.0 < here < 1e-4 * duration + 5e-5
    assert module.sink(mujoco.mj_step, module.CAREFUL, duration=duration) < 1e-3
    assert module.sink(mujoco.mj_step, duration=duration) > 10 * here


def test_boxes_are_held_where_coulomb_says_so() -> None:
    slid, margin = example("randomised_grasp").grasp(32, seed=3)
    clear = np.abs(margin - 1.0) > 0.01
    np.testing.assert_array_equal((slid < 1e-3)[clear], (margin > 1.0)[clear])
    assert 5 < (slid < 1e-3).sum() < 27


def test_the_tool_presses_as_asked_and_lags_by_friction() -> None:
    pytest.importorskip("cmeel", reason="needs the [assets] extra")
    module = example("impedance_control")
    found = module.run(duration=3.0)
    assert found.force == pytest.approx(module.FORCE, rel=0.02)
    assert found.ripple < 0.02 * module.FORCE
    assert found.friction == pytest.approx(module.FRICTION, rel=1e-3)
    lag = module.FRICTION * module.FORCE / module.STIFFNESS
    assert found.lag == pytest.approx(lag, rel=0.15)  # and the tool's inertia


@pytest.mark.parametrize("share", [1.2, 0.9])
def test_two_arms_carry_a_box_as_coulomb_says(share: float, monkeypatch) -> None:
    pytest.importorskip("cmeel", reason="needs the [assets] extra")
    monkeypatch.syspath_prepend(EXAMPLES)
    module = example("two_arms")
    # Accelerations are a fiftieth of gravity.
    force = share * module.MASS * 9.81 / (2.0 * module.FRICTION)
    found = module.run(force=force)
    if share < 1.0:
        assert found.offset > 0.1
    else:
        assert np.abs(found.internal - force).max() < 0.03 * force
        assert found.slip < 1e-3
        assert found.offset < 3e-3
        assert found.tilt < 0.01


def test_the_runner_keeps_its_speed_and_gets_over_a_push() -> None:
    """In the median of three runs: what it does after the push depends on every digit."""
    module = example("predictive_control")
    runs = [module.run(seed) for seed in range(3)]
    found = module.Outcome(*np.median(runs, axis=0))
    assert found.before == pytest.approx(module.SPEED, rel=0.15)
    assert 0.7 * module.SPEED < found.after < 1.1 * module.SPEED  # it loses 1 m/s at once
    assert max(run.pitch for run in runs) < 0.6
    assert min(run.height for run in runs) > 0.7


def test_methods_are_compared_and_tighter_ones_are_better() -> None:
    study = example("compare_methods").run(
        methods=("cenic", "icf"),
        accuracies=(1e-2, 1e-4),
        time_steps=(1e-2, 1e-3),
        duration=0.4,
        reference_step=1e-4,
    )
    errors = [trial.errors.position for trial in study.trials]
    assert errors[1] < errors[0]
    assert errors[3] < errors[2]
    assert "choose" in study.recommendation


def test_identification_knows_its_own_error() -> None:
    module = example("system_identification")
    found = module.run()
    assert abs(found.friction - module.TRUE_FRICTION) < 4.0 * found.friction_error
    assert abs(found.dissipation - module.TRUE_DISSIPATION) < 4.0 * found.dissipation_error
    assert found.friction_error < 1e-3


def test_what_real_throws_tell_helps_on_other_throws() -> None:
    module = example("identify_from_throws")
    found = module.run()
    friction, _, gyration = found.values
    assert abs(friction - 0.18) < 0.03  # as its owners measured it
    assert 2 / 3 < gyration < 1.4  # between a solid cube and a little more than a shell
    assert found.after[0] < 0.7 * found.before[0]
    assert found.after[1] < 0.9 * found.before[1]


def test_the_puck_slides_as_coulomb_says_and_learning_helps() -> None:
    pytest.importorskip("gymnasium")
    module = example("train_gymnasium")
    env = module.Shuffleboard()
    for seed in range(3):
        task, _ = env.reset(seed=seed)
        speed = np.exp(module.COULOMB @ np.array([1.0, *np.log(task)]))
        _, reward, terminated, truncated, _ = env.step(np.array([speed]))
        assert reward > -0.01 * task[0]
        assert terminated
        assert not truncated
    found = module.run(generations=8, population=16, episodes=4)
    assert found.error < 0.5 * found.first_error


def test_the_environment_follows_gymnasiums_rules() -> None:
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    checker.check_env(example("train_gymnasium").Shuffleboard(), skip_render_check=True)


def test_the_urdf_robot_follows_and_pushes_the_box() -> None:
    module = example("urdf_robot")
    found = module.run()
    assert found.tracking_error < 0.04
    assert found.torque < 40.0
    # The arm swings counterclockwise: the box goes with it, and the arm does not pass through.
    assert found.box[1] - module.BOX[1] > 0.2
    assert found.apart > -1e-4
    assert not any("gnored" in note for note in found.notes)


@pytest.mark.parametrize("name", ["bouncing_ball", "contact_parameters", "real_throws"])
def test_notebooks_run_and_are_kept_as_they_run(name: str, monkeypatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(EXAMPLES / "notebooks" / f"{name}.ipynb", 4)
    kept = _printed(notebook)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    found = _printed(notebook)
    assert len(found) == len(kept) > 2
    for now, then in zip(found, kept, strict=True):
        # Bits may differ from machine to machine, what is said may not.
        assert now == pytest.approx(then, rel=0.05, abs=0.02)


def _printed(notebook: dict) -> list[float]:
    """All numbers that the cells print."""
    text = "".join(
        output["text"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream" and output["name"] == "stdout"
    )
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?", text)]
