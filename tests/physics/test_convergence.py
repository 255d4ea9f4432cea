"""Tighter settings come nearer to one trajectory, which does not depend on initial guesses."""

from __future__ import annotations

import numpy as np
import pytest
from physics_models import Array, compile_mjcf, states

import asperity as asp

FLOOR = "<geom type='plane' size='0 0 1'/>"
SOFT = asp.ContactParameters(stiffness=2e4, dissipation=2.0, stiction_tolerance=1e-4)

# World, initial velocity, end, the least slope of log(error) over log(accuracy).
SCENES: dict[str, tuple[str, list[float], float, float]] = {
    "a sphere slips and then rolls": (
        FLOOR + "<body pos='0 0 0.1'><freejoint/>"
        "<geom type='sphere' size='0.1' mass='1' friction='0.3'/></body>",
        [1.0, 0.5, 0, 0, 0, 0],
        1.0,
        0.45,
    ),
    "a box slides to rest": (
        FLOOR + "<body pos='0 0 0.05'><freejoint/>"
        "<geom type='box' size='0.1 0.1 0.05' mass='1' friction='0.5'/></body>",
        [1.5, 0.7, 0, 0, 0, 0],
        1.0,
        0.45,
    ),
    "a spinning sphere drops": (
        FLOOR + "<body pos='0 0 0.3'><freejoint/>"
        "<geom type='sphere' size='0.1' mass='1' friction='0.5'/></body>",
        [0.5, 0, 0, 0, -20, 5],
        1.0,
        0.45,
    ),
    "a hinge swings into its limit": (
        "<body pos='0 0 2'>"
        "<joint type='hinge' axis='0 1 0' limited='true' range='-30 30' damping='0.05'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.02' mass='1' contype='0' "
        "conaffinity='0'/></body>",
        [4.0],
        1.5,
        0.45,
    ),
    # Two impacts' phases: the errors scatter more.
    "a sphere hits a sphere": (
        FLOOR
        + "".join(
            f"<body pos='{x} {y} 0.1'><freejoint/>"
            "<geom type='sphere' size='0.1' mass='1' friction='0.3'/></body>"
            for x, y in ((0, 0), (0.5, 0.05))
        ),
        [2.0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0],
        1.0,
        0.3,
    ),
}


def _position(qpos: Array) -> Array:
    """Positions of bodies, or joint angles."""
    return qpos[: 3 if len(qpos) > 1 else 1]


@pytest.mark.parametrize("scene", SCENES)
def test_errors_shrink_with_the_accuracy(scene: str) -> None:
    world, velocity, end, slope = SCENES[scene]
    model = compile_mjcf(world)

    def final(setting: asp.Cenic | asp.Icf) -> Array:
        return _position(states(model, end, setting, qvel=velocity, contact=SOFT).qpos[-1])

    reference = final(asp.Cenic(accuracy=1e-9))
    if "limit" in scene:
        run = states(model, end, asp.Cenic(accuracy=1e-5), qvel=velocity, contact=SOFT)
        assert run.qpos.max() == pytest.approx(np.radians(30), abs=1e-3)  # it is hit
    accuracies = np.array([1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
    errors = [np.linalg.norm(final(asp.Cenic(accuracy=a)) - reference) for a in accuracies]
    # h ∝ accuracy^½ and the global error ∝ h.
    assert np.polyfit(np.log(accuracies), np.log(errors), 1)[0] > slope
    assert np.linalg.norm(final(asp.Cenic(accuracy=1e-2)) - reference) < 0.1
    # The fixed-step scheme comes to the same place.
    fixed = np.linalg.norm(final(asp.Icf(time_step=1e-5)) - reference)
    assert fixed < errors[-1] + 1e-3


@pytest.mark.parametrize("scene", SCENES)
def test_a_step_s_result_does_not_depend_on_the_guess(scene: str) -> None:
    world, velocity, end, _ = SCENES[scene]
    model = compile_mjcf(world)
    random = np.random.default_rng(1)
    compared = 0
    for share in (0.05, 0.3, 0.6, 0.9):
        start = states(model, share * end, asp.Icf(time_step=1e-3), qvel=velocity, contact=SOFT)
        results = []
        for trial in range(4):
            # Bounds of friction converge linearly: as far as the velocities are compared.
            integrator = asp.Icf(time_step=0.01, friction_tolerance=1e-8, friction_passes=100)
            sim = asp.Simulator(model, integrator=integrator, contact=SOFT)
            sim.data.qpos, sim.data.qvel = start.qpos[-1], start.qvel[-1]
            sim.advance_to(0.0)
            if trial:
                sim.session.world.table.guess[:] = random.normal(size=model.nv) * 10.0 ** (
                    trial - 1
                )
                sim.session.world.table.guess_kind = 1
            assert sim.step().success
            results.append(sim.data.qvel.copy())
        compared += len(results[0])
        # ‖M^{1/2}(v − v*)‖ is within ε s of the minimiser; s is about the impulses' size, some √J,
        # and the smallest inertia here, of a sphere, is 4e-3 kg m²: 1e-8 · 4 / √4e-3.
        np.testing.assert_allclose(results[1:], np.tile(results[0], (3, 1)), atol=1e-6)
    assert compared > 0


def test_a_state_s_future_does_not_depend_on_its_past() -> None:
    world, velocity, _, _ = SCENES["a spinning sphere drops"]
    model = compile_mjcf(world)
    first = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3), contact=SOFT)
    first.data.qvel = velocity
    first.advance_to(0.4)
    # Another simulator with a wild history is put into the same state.
    second = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3), contact=SOFT)
    second.data.qvel = [-3.0, 1, 2, 4, 5, 6]
    second.advance_to(0.7)
    second.data.time = first.data.time
    second.data.qpos, second.data.qvel = first.data.qpos, first.data.qvel
    for sim in (first, second):
        assert sim.advance_to(0.6).success
    np.testing.assert_allclose(second.data.qpos, first.data.qpos, atol=1e-9)
    np.testing.assert_allclose(second.data.qvel, first.data.qvel, atol=1e-8)


def test_factorizations_kept_between_iterations_change_nothing() -> None:
    world, velocity, end, _ = SCENES["a sphere hits a sphere"]
    model = compile_mjcf(world)
    plain, reused = (
        states(
            model,
            0.5 * end,
            asp.Icf(
                time_step=1e-3, friction_tolerance=1e-8, friction_passes=100, hessian_reuse=reuse
            ),
            qvel=velocity,
            contact=SOFT,
        )
        for reuse in (False, True)
    )
    assert reused.stats.factorizations < plain.stats.factorizations
    # 500 steps of the solver's tolerance, 1e-8 m/s.
    np.testing.assert_allclose(reused.qpos[-1], plain.qpos[-1], atol=1e-5)
