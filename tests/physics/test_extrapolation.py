"""Step doubling is extrapolated to second order where motion is smooth, and nowhere else."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, Array, compile_mjcf, observed_orders, states
from scipy.integrate import solve_ivp

import asperity as asp
from asperity.integrators.methods.extrapolation import Extrapolation
from asperity.simulator.watcher import Watcher
from studies.benchmarks.accuracy_scenes import SCENES
from studies.benchmarks.verification import curves, friction, impacts, mechanisms, smooth, tops
from studies.benchmarks.verification.case import Record, World, energies

MU = 0.2


def _fixed(step: float, scheme: str = "extrapolation") -> asp.Cenic:
    """Steps of one size, solved as far as they are compared."""
    return asp.Cenic(
        accuracy=1e3,
        max_step=step,
        error_estimate=scheme,
        tolerance_ratio=1e-11,
        friction_tolerance=1e-8,
    )


def _errors(
    model: mujoco.MjModel, end: float, steps: list[float], exact: Array | None, **start: object
) -> tuple[Array, Array]:
    """Errors of the position with and without extrapolation."""
    if exact is None:
        exact = states(model, end, _fixed(steps[-1] / 8), **start).qpos[-1]  # type: ignore[arg-type]
    found = [
        [
            np.linalg.norm(states(model, end, _fixed(h, scheme), **start).qpos[-1] - exact)  # type: ignore[arg-type]
            for h in steps
        ]
        for scheme in ("extrapolation", "step-doubling")
    ]
    return np.array(found[0]), np.array(found[1])


def _check_orders(steps: list[float], second: Array, first: Array) -> None:
    assert np.all(observed_orders(steps, second) > 1.8)
    assert np.all(observed_orders(steps, first) < 1.2)
    assert second[-1] < 0.1 * first[-1]


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_free_motion_is_of_second_order() -> None:
    model = smooth.pendulum().model()
    inertia = 1.0 + 0.4 * 0.01**2

    def rate(_: float, y: Array) -> list[float]:
        return [y[1], -GRAVITY / inertia * math.sin(y[0])]

    exact = solve_ivp(rate, (0, 1), [math.pi / 3, 0], method="DOP853", rtol=1e-12, atol=1e-12)
    steps = [0.02, 0.01, 0.005]
    _check_orders(steps, *_errors(model, 1.0, steps, exact.y[:1, -1], qpos=[math.pi / 3]))


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_activations_are_of_second_order() -> None:
    # A motor whose force builds up with a time constant T: x'' = F (1 − exp(−t/T)).
    force, lag, end = 10.0, 0.2, 0.5
    model = compile_mjcf(
        "<body><joint name='slide' type='slide'/><geom size='.1' mass='1'/></body>",
        option="gravity='0 0 0'",
        sections=f"<actuator><general joint='slide' dyntype='filter' dynprm='{lag}' "
        f"gainprm='{force}'/></actuator>",
    )
    grown = 1.0 - math.exp(-end / lag)
    exact = force * (0.5 * end**2 - lag * end + lag**2 * grown)
    errors = []
    steps = [0.05, 0.025, 0.0125]
    for step in steps:
        sim = asp.Simulator(model, integrator=_fixed(step))
        sim.data.ctrl[0] = 1.0
        sim.advance_to(end)
        errors.append(abs(sim.data.qpos[0] - exact))
    assert np.all(observed_orders(steps, np.array(errors)) > 1.8)
    assert sim.data.act[0] == pytest.approx(grown, abs=1e-3)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_tumbling_is_of_second_order() -> None:
    model = smooth.tumbling_box().model()
    steps = [0.01, 0.005, 0.0025]
    _check_orders(steps, *_errors(model, 1.0, steps, None, qvel=[0, 0, 0, 1.0, 5.0, 2.0]))


def test_a_rolling_ball_s_way_is_of_second_order() -> None:
    """A ball on a spring that rolls to and fro without slipping."""
    model = compile_mjcf(
        "<geom type='plane' size='9 9 1'/>"
        f"<body pos='0 0 {0.1 - GRAVITY / 1e5:.17g}'>"
        "<joint type='slide' axis='1 0 0' stiffness='20'/><joint type='slide' axis='0 0 1'/>"
        "<joint axis='0 1 0'/><geom size='.1' mass='1'/></body>"
    )
    steps = [0.01, 0.005, 0.0025]
    start = {"qpos": [0.1, 0.0, 0.0]}
    _check_orders(steps, *_errors(model, 1.0, steps, None, **start))


def test_a_sliding_block_s_way_is_of_second_order() -> None:
    """A block on a spring that slides: x = d + (x₀ − d) cos ωt + v₀/ω sin ωt, d = μ m g/k."""
    stiffness, end, at, speed = 100.0, 0.15, 0.3, -0.5
    model = compile_mjcf(
        "<geom type='plane' size='9 9 1'/>"
        f"<body pos='0 0 {0.05 - GRAVITY / 4e5:.17g}'>"
        f"<joint type='slide' axis='1 0 0' stiffness='{stiffness}'/>"
        "<joint type='slide' axis='0 0 1'/><geom type='box' size='.1 .1 .05' mass='1'/></body>",
        sections=f"<default><geom friction='{MU}'/></default>",
    )
    omega, shift = math.sqrt(stiffness), MU * GRAVITY / stiffness
    way = shift + (at - shift) * math.cos(omega * end) + speed / omega * math.sin(omega * end)
    steps = [0.004, 0.002, 0.001]
    start = {"qpos": [at, 0.0], "qvel": [speed, 0.0]}
    _check_orders(steps, *_errors(model, end, steps, np.array([way, 0.0]), **start))


class _Watched(Watcher, asp.Simulator):
    """Notes of every step whether contacts push, whether limits do, and if it was extrapolated."""

    steps = 0

    def watch(self, end: float) -> list[tuple[bool, bool, bool]]:
        self.seen: list[tuple[bool, bool, bool]] = []
        assert self.advance_to(end).success
        return self.seen

    def before_steps(self, budget: int) -> int:
        self.steps = self.stats.steps
        return 1

    def after_steps(self) -> None:
        if self.stats.steps > self.steps and hasattr(self, "seen"):
            assert isinstance(self.session.method, Extrapolation)
            memory = self.session.method._table
            assert memory is not None
            half = self.session.world.half.table  # in which the last half step begins
            pushes = bool(np.any(half.contacts.impulse[: half.contacts.count, 2] > 0.0))
            stops = bool(np.any(half.rows.impulse[: half.rows.count] != 0.0))
            self.seen.append((pushes, stops, not np.any(memory.rough)))


def test_what_rocks_and_rolls_is_extrapolated() -> None:
    """Contacts that turn do not take velocities for slip or for an impact."""
    simulator = _Watched(tops.rattleback().model(), integrator=asp.Cenic(accuracy=1e-4))
    tilt = tops.RATTLE_TILT
    simulator.data.qpos[3:] = [math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0]
    simulator.data.qvel[5] = -3.0
    assert all(is_smooth for _, _, is_smooth in simulator.watch(tops.RATTLE_TIME))


def test_a_coin_that_rolls_in_a_circle_does_not_hop() -> None:
    """A chord leaves the floor by what the next half step must not take back."""
    model = curves.coin().model()
    qpos, qvel = curves.steady_rolling(curves.COIN_ANGLE, curves.COIN_SPIN).start()
    trajectory = states(model, 2.0, asp.Cenic(accuracy=1e-3), qpos=qpos, qvel=qvel)
    assert trajectory.stats.rejections <= 0.01 * trajectory.stats.steps
    upright = np.array([1.0 - 2.0 * (q[4] ** 2 + q[5] ** 2) for q in trajectory.qpos])
    assert np.all(np.abs(np.degrees(np.arccos(upright)) - 70.0) < 0.5)


def test_an_impact_is_not_extrapolated_and_what_follows_it_is() -> None:
    model = compile_mjcf(
        "<geom type='plane' size='9 9 1'/><body pos='0 0 .2'><freejoint/>"
        "<geom size='.1' mass='1'/></body>"
    )
    seen = _Watched(model, integrator=asp.Cenic(accuracy=1e-3)).watch(1.0)
    first = next(i for i, (pushes, _, _) in enumerate(seen) if pushes)
    assert first > 1
    assert all(smooth for _, _, smooth in seen[:first])
    assert not seen[first][2]
    assert seen[-1] == (True, False, True)


@pytest.mark.parametrize("accuracy", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("drop", [0.6, 0.613, 0.627])
def test_an_elastic_bounce_gains_less_than_a_thousandth(accuracy: float, drop: float) -> None:
    """Contact closes, turns round and opens without dissipation."""
    model = impacts.bouncing_ball().model()
    setting = asp.Cenic(accuracy=accuracy)
    run = states(model, 0.5, setting, qpos=[0, 0, drop, 1, 0, 0, 0])
    overlap = np.minimum(run.qpos[:, 2] - 0.1, 0.0)
    assert np.min(overlap) < 0.0
    total = _energies(model, run) + 0.5e5 * overlap**2
    assert total[-1] < total[0] * (1 + 1e-3)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_a_limit_that_stops_a_joint_is_not_extrapolated() -> None:
    model = compile_mjcf(
        "<body><joint axis='0 1 0' limited='true' range='-30 30'/><geom type='capsule' "
        "fromto='0 0 0 0 0 -.5' size='.02' mass='1' contype='0' conaffinity='0'/></body>",
    )
    sim = _Watched(model, integrator=asp.Cenic(accuracy=1e-3))
    sim.data.qvel[0] = 8.0
    seen = sim.watch(1.0)
    assert any(stops for _, stops, _ in seen)
    assert not any(smooth for _, stops, smooth in seen if stops)
    run = states(model, 1.0, asp.Cenic(accuracy=1e-3), qvel=[8.0])
    assert np.degrees(np.max(np.abs(run.qpos))) < 30.6
    assert np.all(np.diff(_energies(model, run)) < 1e-3)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_a_limit_that_holds_a_joint_is_extrapolated() -> None:
    """A spring presses an elbow on its limit while the arm swings as one body."""
    simulator = _Watched(mechanisms.leaning_arm().model(), integrator=asp.Cenic(accuracy=1e-4))
    seen = simulator.watch(2.0)
    assert np.mean([stops for _, stops, _ in seen]) > 0.95
    assert np.mean([smooth for _, stops, smooth in seen if stops]) > 0.95


class _Counted(Watcher, asp.Simulator):
    """Counts steps within which limits of joints come or go, and those of them that are smooth."""

    steps = changing = smooth = 0

    def before_steps(self, budget: int) -> int:
        self.steps = self.stats.steps
        return 1

    def after_steps(self) -> None:
        if self.stats.steps > self.steps:
            assert isinstance(self.session.method, Extrapolation)
            memory = self.session.method._table
            assert memory is not None
            # Of the chain, in the whole step and in both halves.
            if len(set(np.array(memory.pushing)[1:, 0])) > 1:
                self.changing += 1
                self.smooth += not np.any(memory.rough)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_what_meets_or_leaves_a_limit_is_not_extrapolated() -> None:
    """A chain of eight links swings from limit to limit."""
    link = "<geom type='capsule' fromto='0 0 0 0 0 -.2' size='.02' contype='0' conaffinity='0'/>"
    joint = "<joint axis='0 1 0' range='-8 8' limited='true' damping='.01'/>"
    body = ""
    for number in range(8):
        body = f"<body pos='0 0 {-0.2 if number < 7 else 0.0}'>{joint}{link}{body}</body>"
    sim = _Counted(compile_mjcf(body), integrator=asp.Cenic(accuracy=1e-2))
    sim.data.qvel[0] = 6.0
    assert sim.advance_to(5.0).success
    assert sim.changing > 20
    assert sim.smooth == 0


def _energies(model: mujoco.MjModel, run: asp.Trajectory) -> Array:
    """Kinetic energy and that of gravity of every step [J]."""
    record = Record(model, run.time, run.qpos, run.qvel)
    return energies(record, range(len(run.time)))


@pytest.mark.parametrize("accuracy", [1e-1, 1e-2, 1e-3])
def test_impacts_give_no_energy(accuracy: float) -> None:
    """Cubes and balls, whose free motion keeps its energy exactly, meet at random."""
    random = np.random.default_rng(5)
    shapes = ("type='sphere' size='.1'", "type='box' size='.08 .08 .08'")
    bodies = "".join(
        f"<body pos='{0.3 * (i % 3)} {0.3 * (i // 3)} {0.4 + 0.1 * (i % 2)}'><freejoint/>"
        f"<geom {shapes[i % 2]} mass='1'/></body>"
        for i in range(6)
    )
    model = compile_mjcf("<geom type='plane' size='9 9 1'/>" + bodies)
    for _ in range(6):
        qvel = random.uniform(-2.0, 2.0, model.nv)
        found = _energies(model, states(model, 1.0, asp.Cenic(accuracy=accuracy), qvel=qvel))
        assert np.max(found) < found[0] * (1 + 1e-9)
        assert found[-1] < 0.8 * found[0]


@pytest.mark.parametrize("accuracy", [1e-1, 1e-2, 1e-3])
def test_fingers_that_close_on_a_box_do_not_throw_it(accuracy: float) -> None:
    """Two fingers of 10 N start 5 mm from a box: kinetic energy is at most their work."""
    model = friction.fingers(0.8).model()
    model.opt.gravity[:] = 0.0
    qpos = np.array([-0.005, -0.005, 0, 0, 0, 1, 0, 0, 0])
    run = states(model, 0.5, asp.Cenic(accuracy=accuracy), qpos=qpos, ctrl=[10.0, 10.0])
    work = 10.0 * np.sum(run.qpos[:, :2] - qpos[:2], axis=1)
    assert np.all(_energies(model, run) <= work + 1e-9)
    assert np.max(np.linalg.norm(run.qpos[:, 2:5], axis=1)) < 1e-3
    assert np.max(np.abs(run.qvel[-1])) < 1e-4


def test_the_lifted_box_stays_in_its_fingers() -> None:
    """The scene in which extrapolation of all islands threw the box by 119 mm."""
    scene = SCENES["lift"]
    assert scene.drive is not None
    sim = asp.Simulator(
        mujoco.MjModel.from_xml_string(scene.xml),
        integrator=asp.Cenic(accuracy=1e-1),
        control=lambda _, data: data.ctrl.__setitem__(slice(None), scene.drive(data.time)),
        control_period=0.1,
    )
    box = int(sim.model.joint("box").qposadr[0])
    for time in np.arange(0.1, 3.01, 0.1):
        assert sim.advance_to(time).success
        assert np.linalg.norm(sim.data.qpos[box : box + 2]) < 1e-3


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_islands_keep_their_momentum(accuracy: float) -> None:
    """Two boxes meet, stay together under opposite forces and slide: no force from outside."""
    model = compile_mjcf(
        "".join(
            f"<body name='{name}' pos='{x} 0 0'><freejoint/><geom type='box' size='.1 .1 .1' "
            f"mass='{mass}' friction='.2'/></body>"
            for name, x, mass in (("a", -0.12, 1.0), ("b", 0.12, 2.5))
        ),
        option="gravity='0 0 0'",
    )
    sim = _Watched(model, integrator=asp.Cenic(accuracy=accuracy))
    sim.session.world.problem.options.tolerance = 1e-15
    sim.data.qvel[:] = [1.0, 0.3, 0.1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    sim.data.body("a").xfrc_applied[0] = 50.0
    sim.data.body("b").xfrc_applied[0] = -50.0
    masses = np.array([1.0, 2.5])
    momentum = masses @ sim.data.qvel.reshape(2, 6)[:, :3]
    seen = sim.watch(0.3)
    # In contact and not, extrapolated and not.
    assert {(True, False, False), (True, False, True)} <= set(seen)
    after = masses @ sim.data.qvel.reshape(2, 6)[:, :3]
    np.testing.assert_allclose(after, momentum, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("accuracy", "error"), [(1e-3, 1.0), (1e-4, 0.5)])
def test_a_gyroscope_precesses_in_time(accuracy: float, error: float) -> None:
    """With forces at the velocity before the second half step by 15 and 2.5 degrees too far."""

    def simulate(world: object, duration: float, **start: object) -> Record:
        assert isinstance(world, World)
        return states(world.model(), duration, asp.Cenic(accuracy=accuracy), **start)  # type: ignore[arg-type, return-value]

    case = next(case for case in smooth.CASES if case.name == "gyroscope-precession")
    assert case.measure(simulate) == pytest.approx(case.truth, abs=error)
