"""What swings and rocks keeps its energy better than extrapolation leaves it."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, states

import asperity as asp
from asperity.integrators.methods.extrapolation import Extrapolation
from studies.benchmarks.verification import smooth, tops
from studies.benchmarks.verification.case import Record, energies

ROCKER = """<mujoco><worldbody><geom type="plane" size="9 9 1"/>
<body pos="0 0 .1"><freejoint/><inertial pos="0 0 -.05" mass="1" diaginertia=".002 .002 .002"/>
<geom size=".1"/></body></worldbody></mujoco>"""


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4])
def test_a_small_swing_keeps_its_energy(accuracy: float) -> None:
    """At 1e-4 extrapolation alone leaves 0.953, and leapfrog positions feed it to 1.08."""
    run = states(smooth.pendulum().model(), 20.0, asp.Cenic(accuracy=accuracy), qpos=[0.035])
    before, after = energies(run)
    left = (after + GRAVITY) / (before + GRAVITY)
    assert left == pytest.approx(1.0, abs=2e-5)


SPRING = """<mujoco><option gravity="0 0 0"/><worldbody><body>
<joint name="spring" type="slide" stiffness="100" damping="{damping}"/><geom size=".05" mass="1"/>
</body></worldbody></mujoco>"""


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("amplitude", [0.02, 0.1])
def test_a_free_spring_keeps_its_amplitude_and_time(amplitude: float) -> None:
    """Ten seconds, 16 periods, at 1e-3; of 2 cm extrapolation alone leaves less than a tenth."""
    model = mujoco.MjModel.from_xml_string(SPRING.format(damping=0))
    run = states(model, 10.0, asp.Cenic(accuracy=1e-3), qpos=[amplitude])
    before, after = energies(run)
    assert math.sqrt(after / before) == pytest.approx(1.0, abs=1e-4)
    assert run.qpos[-1, 0] / amplitude == pytest.approx(math.cos(100.0), abs=1e-2)


CHAIN = """<mujoco><option gravity="0 0 0"/><worldbody>
<body><joint type="slide" stiffness="10"/><geom size=".05" mass="1" contype="0"/>
<body><joint type="slide" stiffness="100"/><geom size=".05" mass="1" contype="0"/>
<body><joint type="slide" stiffness="1000"/><geom size=".05" mass="1" contype="0"/></body></body></body>
</worldbody></mujoco>"""


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4])
def test_a_slow_mode_lasts_beside_springs_that_steps_do_not_resolve(accuracy: float) -> None:
    """Three masses on springs of 10 to 1000 N/m in their slowest mode, ten periods."""
    stiffness = np.array([[110.0, -100.0, 0.0], [-100.0, 1100.0, -1000.0], [0.0, -1000.0, 1000.0]])
    squares, modes = np.linalg.eigh(stiffness)
    places = 0.1 * modes[:, 0] / modes[-1, 0]
    model = mujoco.MjModel.from_xml_string(CHAIN)
    duration = 20.0 * math.pi / math.sqrt(squares[0])
    start = np.diff(places, prepend=0.0)
    run = states(model, duration, asp.Cenic(accuracy=accuracy), qpos=start)
    np.testing.assert_allclose(run.qpos[-1].sum(), 0.1, atol=2e-4)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_a_damped_spring_loses_what_its_damper_takes() -> None:
    """10 cm at a damping ratio of 0.02, of which e⁻² is left after ten seconds, at 1e-3."""
    model = mujoco.MjModel.from_xml_string(SPRING.format(damping=0.4))
    run = states(model, 10.0, asp.Cenic(accuracy=1e-3), qpos=[0.1])
    frequency = math.sqrt(100.0 - 0.04)
    phase = 10.0 * frequency
    position = math.cos(phase) + 0.2 / frequency * math.sin(phase)
    speed = 10.0 / frequency * math.sin(phase)
    left = 0.1 * math.exp(-2.0)
    assert run.qpos[-1, 0] == pytest.approx(left * position, abs=7e-4)
    assert run.qvel[-1, 0] == pytest.approx(-10.0 * left * speed, abs=5e-3)


def _energy(model: mujoco.MjModel, simulator: asp.Simulator) -> float:
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = simulator.data.qpos, simulator.data.qvel
    mujoco.mj_forward(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    return float(data.energy.sum()) - 0.05 * GRAVITY


def _rock(simulator: asp.Simulator, tilt: float) -> None:
    height = 0.1 - GRAVITY / 1e6
    turned = [math.cos(tilt / 2), 0.0, math.sin(tilt / 2), 0.0]
    simulator.data.qpos[:] = [0.0, 0.0, height, *turned]


def _rocker() -> asp.Simulator:
    contact = asp.ContactParameters(stiffness=1e6, dissipation=0.0)
    model = mujoco.MjModel.from_xml_string(ROCKER)
    return asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-4), contact=contact)


def test_a_rocking_ball_keeps_what_friction_leaves_it() -> None:
    """Converged 0.9998; extrapolation alone leaves 0.944, leapfrog positions 1.075."""
    simulator = _rocker()
    _rock(simulator, 0.05)
    before = _energy(simulator.model, simulator)
    assert simulator.advance_to(10.0).success
    assert _energy(simulator.model, simulator) / before == pytest.approx(0.9998, abs=2e-3)


def test_a_rattleback_that_does_not_turn_round_keeps_its_spin() -> None:
    def simulate(world: object, duration: float, **start: object) -> Record:
        assert isinstance(world, tops.World)
        return states(world.model(), duration, asp.Cenic(accuracy=1e-3), **start)  # type: ignore[arg-type]

    case = next(case for case in tops.CASES if case.name == "rattleback+")
    assert case.measure(simulate) == pytest.approx(case.truth, abs=0.03)  # type: ignore[arg-type]


def test_only_what_rolls_swings() -> None:
    """Of a ball that rolls three of six directions are free: a projection, in the mass's metric."""
    simulator = _rocker()
    model, method, world = simulator.model, simulator.session.method, simulator.session.world
    assert isinstance(method, Extrapolation)
    _rock(simulator, 0.3)
    assert simulator.advance_to(0.1).success
    step = 2e-3
    assert simulator.advance_to(simulator.time + step).success
    swings = method.swings(world, step)
    assert swings is not None
    data = mujoco.MjData(model)
    data.qpos[:] = world.table.half.qpos
    mujoco.mj_forward(model, data)
    mass = np.zeros((6, 6))
    mujoco.mj_fullM(model, data, mass)
    projection = swings.matrix
    assert np.trace(projection) == pytest.approx(3.0, rel=1e-3)
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-3)
    moved = mass @ projection
    np.testing.assert_allclose(moved, moved.T, atol=1e-3 * np.abs(mass).max())
    point = np.zeros((3, 6))
    mujoco.mj_jac(model, data, point, None, data.qpos[:3] * [1.0, 1.0, 0.0], 1)
    assert np.abs(point @ projection).max() < 1e-3
