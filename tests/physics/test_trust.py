"""What an accuracy is worth for a result: cases with known truths, at the accuracies users take."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, Array, states

import asperity as asp
from studies.benchmarks.verification import friction, impacts, rolling
from studies.benchmarks.verification.families import CASES
from studies.peers.asperity import AsperitySimulate


def _found(name: str, accuracy: float) -> float:
    return CASES[name].measure(AsperitySimulate(asp.Cenic(accuracy=accuracy)))


# -- friction ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    [*(asp.Cenic(accuracy=a) for a in (1e-2, 1e-3, 1e-4)), asp.Icf(time_step=1e-3)],
    ids=["1e-2", "1e-3", "1e-4", "icf-1ms"],
)
def test_friction_of_an_impact_is_mu_times_its_normal_impulse(
    setting: asp.Cenic | asp.Icf,
) -> None:
    model = impacts.landing_ball().model()
    for height in impacts.LANDING_HEIGHTS:
        run = states(
            model, 0.3, setting, qpos=[0, 0, height, 1, 0, 0, 0], qvel=[6, 0, -0.3, 0, 0, 0]
        )
        after = run.qvel[-1]
        assert after[2] > -1e-6  # it has landed
        ratio = (6.0 - after[0]) / (after[2] + 0.3)
        assert ratio == pytest.approx(impacts.IMPACT_FRICTION, rel=0.02)


@pytest.mark.parametrize(
    ("name", "accuracy", "tolerance"),
    [
        ("dominoes", 1e-3, 0.03 * 0.804),
        ("pendulum-energy", 1e-3, 0.02),
        ("tumbling-energy", 1e-3, 0.005),
        ("gyroscope-energy", 1e-3, 0.02),
        ("belt", 1e-2, 0.015),
        ("belt", 1e-3, 0.015),
        ("trot", 1e-3, 0.005),
        ("trot", 1e-4, 0.0005),
        ("euler-lean", 1e-3, 0.15),
        ("euler-rate", 1e-3, 0.05),
        ("euler-rate", 1e-4, 0.01),
        ("break", 1e-3, 0.1),
        ("bounce-series", 1e-3, 0.02),
        ("slide-to-rest", 1e-3, 0.001),
        ("elastic-bounce", 1e-4, 0.07),
        ("rattleback+", 1e-4, 0.1 * 2.844),
        # At 1e-4 it keeps 72 % of its spin: rocking grows exponentially, and errors of it as well.
        ("rattleback-", 1e-3, 0.1 * 1.857),
        ("rattleback-", 1e-6, 0.05),
        ("shaken-mug", 1e-5, 0.1),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_an_accuracy_is_worth_this_much(name: str, accuracy: float, tolerance: float) -> None:
    """The median over five accuracies around it: single runs of chaotic scenes scatter."""
    found = np.median([_found(name, share * accuracy) for share in (0.7, 0.84, 1.0, 1.19, 1.41)])
    assert found == pytest.approx(CASES[name].truth, abs=tolerance)


def _rolling_error(run: Array, time: Array, since: float) -> float:
    """Mean squared error of velocity relative to that at a time, over the bodies [m²/s²]."""
    slab = rolling.slab_acceleration()
    acceleration = np.full((rolling.BALLS + 1, 3), 2 / 7 * slab)
    acceleration[0] = slab
    acceleration *= np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
    times = np.linspace(since, time[-1], 100)
    velocity = np.array([np.interp(times, time, column) for column in run.T]).T
    velocity = velocity.reshape(len(times), rolling.BALLS + 1, 6)[:, :, :3]
    wanted = velocity[0] + acceleration * (times - since)[:, None, None]
    return float(np.mean(np.sum((velocity - wanted) ** 2, axis=2)))


@pytest.mark.parametrize("settled", [True, False], ids=["settled", "touching"])
@pytest.mark.parametrize("accuracy", [1e-1, 1e-2, 1e-3, 1e-4])
def test_balls_on_a_pushed_slab_roll_as_rigid_ones(accuracy: float, settled: bool) -> None:
    """SimBenchmark's rolling test, from the start on, also where nothing carries a force then."""
    world = rolling.slab_and_balls()
    qpos = world.model().qpos0.copy()
    if settled:
        weight = (rolling.SLAB + rolling.BALLS * rolling.BALL) * GRAVITY
        qpos[2] -= weight / (4 * world.contact.stiffness)
        qpos[9::7] -= weight / (4 * world.contact.stiffness)
        qpos[9::7] -= rolling.BALL * GRAVITY / world.contact.stiffness
    push = rolling.PUSH / np.sqrt(2)
    simulate = AsperitySimulate(asp.Cenic(accuracy=accuracy))
    run = simulate(world, 4.0, qpos=qpos, forces={"slab": [push, push, 0, 0, 0, 0]})
    assert _rolling_error(run.qvel, run.time, 0.2) < 1e-8
    assert _rolling_error(run.qvel, run.time, 0.0) < (1e-8 if settled else 1e-6)


@pytest.mark.parametrize("step", [1e-2, 9.5e-3, 8e-3, 5e-3, 3e-3])
def test_friction_of_a_landing_does_not_depend_on_when_it_happens(step: float) -> None:
    """m Δv = μ m Δw of the impact, however a fixed step meets it; the slide errs by h v/2."""
    way = CASES["landing-slide"].measure(AsperitySimulate(asp.Icf(time_step=step)))
    assert way == pytest.approx(friction.landing_slide() - 0.5 * step * 2.0, abs=0.2 * step)


@pytest.mark.parametrize("share", [1.02, 1.3])
@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_breaking_loose_is_not_late_by_a_step(share: float, step: float) -> None:
    """m v = h (F − μ(v) m g), with the coefficient at the speed that results, from step one."""
    model = friction.belt().model()
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=step, friction_tolerance=1e-6))
    sim.data.ctrl[:] = share * 1.0 * GRAVITY
    tolerance = 1e-4
    speed = 0.0
    for _ in range(10):
        sim.step()
        before, speed = speed, float(sim.data.qvel[0])
        s = speed / tolerance

        def f(x: float) -> float:
            return x / np.sqrt(x * x + 1.0)

        fall = 0.5 * (1.0 - f(s - 10.0) / f(10.0))
        coefficient = (0.5 + 0.5 * fall) * f(s)
        assert speed - before == pytest.approx(
            step * GRAVITY * (share - coefficient), rel=1e-3, abs=1e-9
        )
    assert speed > 30 * tolerance


@pytest.mark.parametrize(
    "setting",
    [
        asp.Icf(time_step=2e-3, friction_tolerance=1e-6),
        asp.Cenic(accuracy=1e-3, friction_tolerance=1e-6, max_step=5e-3),
    ],
    ids=["icf", "cenic"],
)
def test_friction_is_bounded_by_the_delivered_normal_force(setting: asp.Cenic | asp.Icf) -> None:
    """‖f_t‖ = μ f_n s/√(1 + s²) of every contact of a tumbling, sliding box, s = slip over v_s."""
    mu, tolerance = 0.4, 3e-6
    box = (
        f"<mujoco><worldbody><geom type='plane' size='0 0 1' friction='{mu}'/>"
        "<body pos='0 0 .15' euler='20 35 10'><freejoint/><geom type='box' size='.1 .07 .05' "
        f"mass='1.7' friction='{mu}'/></body></worldbody></mujoco>"
    )
    sim = asp.Simulator(mujoco.MjModel.from_xml_string(box), integrator=setting)
    sim.data.qvel[:] = [1.5, -0.4, -1.0, 3.0, -4.0, 2.0]
    sim.advance_to(0.0)
    slides, impacts_seen, before = 0, 0, 0.0
    while sim.time < 0.8:
        assert sim.step().success
        contacts = sim.contacts
        normal = contacts.normal_force
        along = contacts.force - normal[:, None] * contacts.normal
        s = contacts.slip_speed / tolerance
        bound = mu * normal * s / np.sqrt(1.0 + s * s)
        scale = max(float(np.sum(bound)), 1e-3)
        np.testing.assert_allclose(np.linalg.norm(along, axis=1), bound, atol=1e-4 * scale)
        slides += int(np.sum((s > 100.0) & (normal > 1.0)))
        impacts_seen += bool(before == 0.0 < np.sum(normal))
        before = float(np.sum(normal))
    assert slides > 20
    assert impacts_seen >= 2


@pytest.mark.parametrize(
    ("name", "coarse"), [("elastic-bounce", 0.05), ("newtons-cradle", 0.12), ("tapered-row", 0.15)]
)
def test_impacts_that_are_shorter_than_a_step_are_not_swallowed(name: str, coarse: float) -> None:
    """They last 10 ms and less, and give way by a few millimetres."""
    truth = CASES[name].truth
    assert _found(name, 1e-2) == pytest.approx(truth, abs=coarse)
    assert _found(name, 1e-3) == pytest.approx(truth, abs=CASES[name].tolerance)
    assert _found(name, 1e-4) == pytest.approx(truth, abs=0.2 * CASES[name].tolerance)
