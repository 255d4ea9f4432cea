"""The θ-method: exact results for linear systems, conservation, order."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from physics_models import (
    GRAVITY,
    Array,
    compile_mjcf,
    free_body,
    observed_orders,
    spring_mass,
    states,
)

import asperity as asp

SCHEMES = ("midpoint", "implicit-euler", "symplectic-euler", "explicit-euler")
OMEGA = 10.0
STEP = 0.02

# Nothing touches in these models.
pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")


def spring_energy(trajectory: asp.Trajectory) -> Array:
    return 0.5 * trajectory.qvel[:, 0] ** 2 + 0.5 * OMEGA**2 * trajectory.qpos[:, 0] ** 2


def oscillation(scheme: str, end: float = 4.0) -> asp.Trajectory:
    integrator = asp.Sap(time_step=STEP, theta_scheme=scheme)
    return states(spring_mass(OMEGA**2), end, integrator, qpos=[0.1], qvel=[0.3])


def test_midpoint_conserves_the_energy_of_a_spring() -> None:
    energy = spring_energy(oscillation("midpoint", end=20.0))
    # A unit of round-off or two in every step.
    np.testing.assert_allclose(energy, energy[0], rtol=2 * len(energy) * np.finfo(float).eps)


def test_symplectic_euler_keeps_the_energy_in_a_band() -> None:
    run = oscillation("symplectic-euler", end=20.0)
    q, v = run.qpos[:, 0], run.qvel[:, 0]
    # Its own invariant, of which the energy is all but the last term.
    invariant = 0.5 * v**2 + 0.5 * OMEGA**2 * q**2 - 0.5 * STEP * OMEGA**2 * q * v
    np.testing.assert_allclose(invariant, invariant[0], rtol=1e-12)
    energy = spring_energy(run)
    assert np.ptp(energy) / np.mean(energy) == pytest.approx(OMEGA * STEP, rel=0.05)


@pytest.mark.parametrize(
    ("scheme", "factor"),
    [
        ("implicit-euler", 1.0 / (1.0 + (OMEGA * STEP) ** 2)),
        ("explicit-euler", 1.0 + (OMEGA * STEP) ** 2),
    ],
)
def test_euler_schemes_lose_or_gain_energy_by_a_known_factor(scheme: str, factor: float) -> None:
    energy = spring_energy(oscillation(scheme, end=1.0))
    np.testing.assert_allclose(energy[1:] / energy[:-1], factor, rtol=1e-11)


@pytest.mark.parametrize("damping", [2.0, 1e5])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_damper(scheme: str, damping: float) -> None:
    share = damping * STEP  # over the mass
    factor = {
        "midpoint": (1.0 - 0.5 * share) / (1.0 + 0.5 * share),
        "implicit-euler": 1.0 / (1.0 + share),
        "symplectic-euler": 1.0 / (1.0 + share),
        "explicit-euler": 1.0 - share,
    }[scheme]
    run = states(
        spring_mass(0.0, damping=damping),
        1.0 if damping < 1e3 else 5 * STEP,
        asp.Sap(time_step=STEP, theta_scheme=scheme),
        qvel=[1.0],
    )
    np.testing.assert_allclose(run.qvel[1:, 0] / run.qvel[:-1, 0], factor, rtol=1e-11)


def test_symplectic_euler_is_implicit_in_springs_faster_than_the_step() -> None:
    for rate in (3.0, 100.0):
        omega = rate / STEP
        model = spring_mass(omega**2)
        run = states(model, 5 * STEP, asp.Sap(time_step=STEP), qpos=[0.1], qvel=[0.3])
        energy = run.qvel[:, 0] ** 2 + (omega * run.qpos[:, 0]) ** 2
        np.testing.assert_allclose(energy[1:] / energy[:-1], 1.0 / (1.0 + rate**2), rtol=1e-9)


@pytest.mark.parametrize("step", [0.01, 0.004, 0.00025])
def test_light_links_with_dampers_and_springs_gain_no_energy(step: float) -> None:
    """A chain of bars of 2 g whose joints lose their speed within a microsecond."""
    links = ""
    for number in reversed(range(6)):
        links = (
            f"<body pos='.06 0 0'><joint axis='0 {number % 2} {1 - number % 2}' damping='.1'"
            f" stiffness='{number % 3}'/><geom type='capsule' fromto='0 0 0 .05 0 0' size='.005'"
            f" mass='.002' contype='0' conaffinity='0'/>{links}</body>"
        )
    model = compile_mjcf(links, option="gravity='0 0 0'")
    sim = asp.Simulator(model, integrator=asp.Sap(time_step=step))
    sim.data.qpos[:] = 0.3
    sim.data.qvel[:] = np.random.default_rng(0).normal(size=model.nv)
    energies = []
    for _ in range(50):
        assert sim.step().success
        mujoco.mj_forward(model, sim.data)
        mujoco.mj_energyPos(model, sim.data)
        mujoco.mj_energyVel(model, sim.data)
        energies.append(sim.data.energy.sum())
    assert np.all(np.diff(energies) < 1e-12 * energies[0])


DOUBLE_PENDULUM = """
<body pos='0 0 2'><joint type='hinge' axis='0 1 0' stiffness='3'/>
  <geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.02' mass='1' contype='0' conaffinity='0'/>
  <body pos='0 0 -0.5'><joint type='hinge' axis='0 1 0.3' stiffness='1' damping='0.05'/>
    <geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.02' mass='1' contype='0' conaffinity='0'/>
  </body>
</body>
"""
TUMBLING = free_body("type='box' size='0.1 0.2 0.3' pos='0.1 0.05 0' mass='2'", gravity="0 0 -9.81")


def orders(
    model: mujoco.MjModel, scheme: str, reference: Array, steps: list[float], **start: list
) -> Array:
    errors = [
        np.linalg.norm(
            states(model, 1.0, asp.Sap(time_step=h, theta_scheme=scheme), **start).qpos[-1]
            - reference
        )
        for h in steps
    ]
    return observed_orders(steps, errors)


@pytest.mark.parametrize("system", ["double pendulum", "tumbling body"])
def test_orders_of_accuracy(system: str) -> None:
    if system == "double pendulum":
        model, start = compile_mjcf(DOUBLE_PENDULUM), {"qpos": [1.0, 0.5], "qvel": [2.0, -1.0]}
    else:
        # The joint is not at the centre of mass: its lever arm turns with the body.
        model, start = TUMBLING, {"qvel": [1.0, 0.0, 0.0, 3.0, 5.0, -2.0]}
    fine = asp.Cenic(accuracy=1e-12, error_estimate="trapezoid", max_step=1e-3)
    reference = states(model, 1.0, fine, **start).qpos[-1]
    steps = [2.5e-3, 1.25e-3, 6.25e-4]
    for scheme in SCHEMES:
        found = orders(model, scheme, reference, steps, **start)
        expected = 2.0 if scheme == "midpoint" else 1.0
        np.testing.assert_allclose(found, expected, atol=0.12, err_msg=scheme)


@pytest.mark.parametrize("spin", [1.0, 30.0, 200.0])
def test_midpoint_conserves_the_rotation_of_a_free_body(spin: float) -> None:
    # A quadratic invariant of Euler's equations, which the midpoint rule keeps at any step; at
    # 200 rad/s a step turns the body by two radians.
    model = free_body("type='box' size='0.1 0.2 0.3' mass='2'")
    velocity = [0.1, 0.2, 0.3, *(spin * np.array([0.3, 0.9, -0.31]))]
    run = states(model, 1.0, asp.Sap(theta_scheme="midpoint"), qvel=velocity)
    inertia = model.body_inertia[1]
    frame = np.zeros(9)
    mujoco.mju_quat2Mat(frame, model.body_iquat[1])
    omega = run.qvel[:, 3:] @ frame.reshape(3, 3)
    energy = 0.5 * np.sum(inertia * omega**2, axis=1)
    momentum = np.linalg.norm(inertia * omega, axis=1)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-8)
    np.testing.assert_allclose(run.qvel[:, :3], np.tile([0.1, 0.2, 0.3], (101, 1)), rtol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_free_fall(scheme: str) -> None:
    model = free_body("type='sphere' size='0.1' mass='2'", gravity="0 0 -9.81")
    run = states(model, 0.5, asp.Sap(theta_scheme=scheme), qvel=[1.0, 0, 2.0, 0, 0, 0])
    t = run.time
    np.testing.assert_allclose(run.qvel[:, 2], 2.0 - GRAVITY * t, atol=1e-12)
    shift = {"midpoint": 0.0, "explicit-euler": 0.5}.get(scheme, -0.5)
    parabola = 2.0 * t - 0.5 * GRAVITY * t**2 + shift * GRAVITY * 0.01 * t
    np.testing.assert_allclose(run.qpos[:, 2], parabola, atol=1e-12)


RADIUS = 0.1


def rolling(step: float, scheme: str, end: float, friction: float) -> tuple[Array, Array]:
    """A sphere on a spring that rolls; its displacement, and the error of that."""
    stiffness, contact_stiffness = 200.0, 1e4
    model = compile_mjcf(
        "<geom type='plane' size='0 0 1'/>"
        f"<body pos='0 0 {RADIUS}'><joint type='slide' axis='1 0 0' stiffness='{stiffness}'/>"
        "<joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 1 0'/>"
        f"<geom type='sphere' size='{RADIUS}' mass='1'/></body>"
    )
    depth = GRAVITY / contact_stiffness
    run = states(
        model,
        end,
        asp.Sap(time_step=step, theta_scheme=scheme, relaxation_time=0.02),
        qpos=[0.1, -depth, 0.0],
        contact=asp.ContactParameters(stiffness=contact_stiffness, friction=friction),
    )
    # Contact acts midway through the overlap.
    mass = 1.0 + 0.4 * RADIUS**2 / (RADIUS - 0.5 * depth) ** 2 if friction > 0 else 1.0
    exact = 0.1 * np.cos(np.sqrt(stiffness / mass) * run.time)
    inertia = 0.4 * RADIUS**2
    energy = 0.5 * run.qvel[:, 0] ** 2 + 0.5 * inertia * run.qvel[:, 2] ** 2
    energy += 0.5 * stiffness * run.qpos[:, 0] ** 2
    return run.qpos[:, 0] - exact, energy


def test_midpoint_conserves_energy_on_a_floor_without_friction() -> None:
    _, energy = rolling(STEP, "midpoint", 10.0, 0.0)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


def test_rolling_is_of_second_order_and_loses_little() -> None:
    steps = [0.02, 0.01, 0.005]
    for scheme, order in (("midpoint", 2.0), ("symplectic-euler", 1.0)):
        errors = [np.sqrt(np.mean(rolling(h, scheme, 1.0, 1.0)[0] ** 2)) for h in steps]
        np.testing.assert_allclose(observed_orders(steps, errors), order, atol=0.1)
    _, energy = rolling(0.01, "midpoint", 10.0, 1.0)
    assert 1e-6 < np.ptp(energy) / energy[0] < 3e-4
    # Regularised friction only loses energy, slowly.
    assert 0.9997 < energy[-1] / energy[0] < 1.0
