"""Motion without contact, against analytic solutions and a high-order integrator."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, Array, compile_mjcf, fixed, free_body, observed_orders, states
from scipy.integrate import solve_ivp

import asperity as asp

SCHEMES = [("icf", 1.0), ("step-doubling", 1.0), ("trapezoid", 2.0)]
INERTIA = np.array([0.1, 0.2, 0.25])
TUMBLER = (
    "type='sphere' size='0.1'",
    f"<inertial pos='0 0 0' mass='2' diaginertia='{INERTIA[0]} {INERTIA[1]} {INERTIA[2]}'/>",
)


def _rotate(quaternion: Array, vector: Array) -> Array:
    out = np.empty(3)
    mujoco.mju_rotVecQuat(out, np.ascontiguousarray(vector), np.ascontiguousarray(quaternion))
    return out


@pytest.mark.parametrize(("scheme", "order"), SCHEMES)
def test_free_fall_of_an_off_centre_body(scheme: str, order: float) -> None:
    # The frame's origin is not the centre of mass, which alone falls on a parabola.
    model = compile_mjcf(
        "<body><freejoint/><inertial pos='0.1 -0.2 0.3' mass='2' diaginertia='.1 .1 .1'/></body>"
    )
    velocity = np.array([1.0, 2.0, 3.0])
    spin = np.array([0.7, -0.4, 1.1])
    offset = np.array([0.1, -0.2, 0.3])
    end = 0.5
    errors = []
    steps = [4e-3, 2e-3, 1e-3]
    for step in steps:
        run = states(
            model, end, fixed(scheme, step), qvel=[*(velocity - np.cross(spin, offset)), *spin]
        )
        centre = run.qpos[-1, :3] + _rotate(run.qpos[-1, 3:], offset)
        exact = offset + velocity * end + 0.5 * end**2 * np.array([0, 0, -GRAVITY])
        errors.append(np.linalg.norm(centre - exact))
        # An isotropic body spins uniformly; exactly, because the update is the exponential map.
        angle = np.linalg.norm(spin) * end
        axis = spin / np.linalg.norm(spin)
        turned = np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis)])
        # (A trapezoid's mean velocity belongs to two body frames, which is second order.)
        turning = 1e-7 if order == 1.0 else step**2
        np.testing.assert_allclose(run.qpos[-1, 3:], turned, atol=turning)
    if order == 1.0:
        np.testing.assert_allclose(observed_orders(steps, errors), order, atol=0.02)
        # Semi-implicit Euler falls g h t/2 further (half that with half steps).
        assert errors[0] <= 1.05 * 0.5 * GRAVITY * steps[0] * end
    else:
        np.testing.assert_array_less(errors, 20 * np.array(steps) ** 2)


def _tumble_reference(spin: Array, end: float) -> Array:
    """Quaternion and body-frame spin of a free rigid body."""

    def rate(_: float, state: Array) -> Array:
        w, x, y, z = state[:4]
        a, b, c = state[4:]
        turn = 0.5 * np.array(
            [
                -x * a - y * b - z * c,
                w * a + y * c - z * b,
                w * b + z * a - x * c,
                w * c + x * b - y * a,
            ]
        )
        omega = state[4:]
        return np.concatenate([turn, -np.cross(omega, INERTIA * omega) / INERTIA])

    start = np.array([1.0, 0, 0, 0, *spin])
    return np.asarray(
        solve_ivp(rate, (0, end), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    )


@pytest.mark.parametrize(("scheme", "order"), SCHEMES)
def test_a_tumbling_body_follows_euler_s_equations(scheme: str, order: float) -> None:
    spin = np.array([0.5, 3.0, -0.4])  # near the unstable axis
    end = 2.0
    model = free_body(*TUMBLER[:1], inertial=TUMBLER[1])
    exact = _tumble_reference(spin, end)
    momentum = INERTIA * spin
    energy = 0.5 * float(spin @ momentum)
    # The errors of the second-order scheme must stay above the convex solver's tolerance, 1e-8.
    steps = np.array([2e-3, 1e-3, 5e-4]) * (1 if order == 1.0 else 8)
    errors, momentum_errors, energy_errors = [], [], []
    for step in steps:
        run = states(model, end, fixed(scheme, float(step)), qvel=[0, 0, 0, *spin])
        quaternion, omega = run.qpos[-1, 3:], run.qvel[-1, 3:]
        sign = math.copysign(1.0, float(quaternion @ exact[:4]))
        errors.append(np.linalg.norm(sign * quaternion - exact[:4]))
        momentum_errors.append(np.linalg.norm(_rotate(quaternion, INERTIA * omega) - momentum))
        energy_errors.append(abs(0.5 * float(omega @ (INERTIA * omega)) - energy))
    # Smooth motion, small steps: the next order's share is a few per cent.
    np.testing.assert_allclose(observed_orders(steps, errors), order, atol=0.1)
    # What is conserved may be kept better than that (the trapezoid does, to third order).
    assert np.all(observed_orders(steps, momentum_errors) > order - 0.1)
    assert np.all(observed_orders(steps, energy_errors) > order - 0.1)
    assert errors[-1] < 0.05


def test_a_symmetric_body_keeps_its_nutation_at_a_coarse_accuracy() -> None:
    """The angle from its axis to its angular momentum is constant: atan(A ω₁/C ω₃)."""
    inertia = np.array([0.01, 0.01, 0.0175])
    model = free_body(
        "type='sphere' size='0.1'",
        inertial=f"<inertial pos='0 0 0' mass='1' diaginertia='{inertia[0]} {inertia[1]} {inertia[2]}'/>",
    )
    spin = np.array([2.0, 0.0, 10.0])
    run = states(model, 5.0, asp.Cenic(accuracy=1e-2), qvel=[0, 0, 0, *spin])
    ends = [math.atan2(math.hypot(*(inertia * w)[:2]), (inertia * w)[2]) for w in run.qvel[:, 3:]]
    np.testing.assert_allclose(np.degrees(ends), np.degrees(ends[0]), atol=0.01)


PENDULUM = (
    "<body pos='0 0 2'><joint type='hinge' axis='0 1 0'/>"
    "<inertial pos='0 0 -0.5' mass='1.5' diaginertia='0.02 0.03 0.01'/></body>"
)


@pytest.mark.parametrize(("scheme", "order"), SCHEMES)
def test_a_hinge_pendulum(scheme: str, order: float) -> None:
    model = compile_mjcf(PENDULUM)
    start, end = 1.0, 2.0
    inertia = 0.03 + 1.5 * 0.25

    def rate(_: float, state: Array) -> Array:
        return np.array([state[1], -1.5 * GRAVITY * 0.5 / inertia * math.sin(state[0])])

    exact = solve_ivp(rate, (0, end), [start, 0.0], method="DOP853", rtol=1e-12, atol=1e-12).y
    steps = np.array([1e-3, 5e-4, 2.5e-4]) * (1 if order == 1.0 else 8)
    errors = []
    for step in steps:
        run = states(model, end, fixed(scheme, float(step)), qpos=[start])
        # Angle and speed together, because either alone may pass through zero error.
        errors.append(math.hypot(*(run.qpos[-1] - exact[0, -1]), *(run.qvel[-1] - exact[1, -1])))
    np.testing.assert_allclose(observed_orders(steps, errors), order, atol=0.1)
    assert errors[-1] < 0.02


@pytest.mark.parametrize(("scheme", "order"), SCHEMES)
def test_a_spherical_pendulum_on_a_ball_joint(scheme: str, order: float) -> None:
    # A point mass (almost: 1e-9 of its moment about the joint) at the end of a metre, started off
    # the vertical and sideways, so that the motion is in space.
    model = compile_mjcf(
        "<body><joint type='ball'/>"
        "<inertial pos='0 0 -1' mass='1' diaginertia='1e-9 1e-9 1e-9'/></body>"
    )
    spin = np.array([1.5, 0.8, 0.0])
    tilt = np.array([math.cos(0.4), math.sin(0.4), 0.0, 0.0])
    end = 1.7

    def rate(_: float, state: Array) -> Array:
        r, v = state[:3], state[3:]
        gravity = np.array([0, 0, -GRAVITY])
        return np.concatenate([v, gravity - r * (r @ gravity + v @ v) / (r @ r)])

    down = np.array([0, 0, -1.0])
    begin = np.concatenate([_rotate(tilt, down), _rotate(tilt, np.cross(spin, down))])
    exact = solve_ivp(rate, (0, end), begin, method="DOP853", rtol=1e-12, atol=1e-12).y[:3, -1]
    steps = np.array([2e-3, 1e-3, 5e-4]) * (1 if order == 1.0 else 8)
    errors = []
    for step in steps:
        run = states(model, end, fixed(scheme, float(step)), qpos=tilt, qvel=spin)
        errors.append(np.linalg.norm(_rotate(run.qpos[-1], down) - exact))
    np.testing.assert_allclose(observed_orders(steps, errors), order, atol=0.15)
    assert errors[-1] < 0.02


@pytest.mark.parametrize(("scheme", "order"), SCHEMES)
def test_a_double_pendulum_keeps_its_energy_to_the_scheme_s_order(
    scheme: str, order: float
) -> None:
    model = compile_mjcf(
        "<body pos='0 0 2'><joint type='hinge' axis='0 1 0' armature='0.01'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.02' mass='1'/>"
        "<body pos='0 0 -0.5'><joint type='hinge' axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.02' mass='1'/></body></body>",
        option="",
    )
    steps = [1e-3, 5e-4, 2.5e-4]
    changes = []
    for step in steps:
        sim = asp.Simulator(model, integrator=fixed(scheme, step))
        sim.data.qpos[:] = 1.0, 0.5
        sim.advance_to(0.0)
        before = sum(sim.energy())
        sim.advance_to(1.0)
        changes.append(abs(sum(sim.energy()) - before))
    np.testing.assert_allclose(observed_orders(steps, changes), order, atol=0.15)


@pytest.mark.parametrize("integrator", [asp.Icf, asp.Tamsi, asp.Sap])
def test_a_gyroscope_keeps_its_energy_in_fixed_steps(integrator: Any) -> None:
    # On a ball joint, leaning by 60°. At 200 rad/s it turns by two radians in a step of 10 ms, at
    # 600 rad/s by six, where no forces of the middle are found.
    model = compile_mjcf(
        "<body pos='0 0 1' euler='0 60 0'><joint type='ball'/>"
        "<geom type='cylinder' size='.05 .005' pos='0 0 .1' mass='1'/></body>"
    )
    for step, spin, settled in ((1e-3, 200, True), (1e-2, 200, True), (1e-2, 600, False)):
        sim = asp.Simulator(model, integrator=integrator(time_step=step))
        sim.data.qvel[:] = [0, 0, spin]
        before = sum(sim.energy())
        assert sim.advance_to(0.5).success
        assert (sim.stats.fallbacks == 0) == settled
        # The explicit force gains 4.7e10 times the energy in a second at 1 ms.
        assert sum(sim.energy()) == pytest.approx(before, rel=1e-3)


def _chain_of_light_links(hold: str | None = None) -> mujoco.MjModel:
    """Links of 2 g, the first of which floats, and 300 g at their end; no gravity, no contacts.

    Unless the first one is held by an equality of this kind.
    """
    apart = "contype='0' conaffinity='0'"
    link = f"<geom type='sphere' size='.03' mass='.3' {apart}/>"
    for kind in ("axis='0 1 0'", "type='ball'") * 2:
        link = (
            f"<geom type='capsule' fromto='0 0 0 .07 0 0' size='.01' mass='.002' {apart}/>"
            f"<body pos='.1 0 0'><joint {kind}/>{link}</body>"
        )
    anchor = "anchor='0 0 0'" if hold == "connect" else ""
    equality = f"<equality><{hold} body1='first' {anchor}/></equality>" if hold else ""
    return compile_mjcf(
        f"<body name='first'><freejoint/>{link}</body>",
        option="gravity='0 0 0'",
        sections=equality,
    )


@pytest.mark.parametrize("hold", ["connect", "weld"])
@pytest.mark.parametrize(
    ("integrator", "speed"),
    [
        (asp.Icf(time_step=2e-3), 100.0),
        (asp.Icf(time_step=1e-2), 40.0),
        (asp.Cenic(accuracy=0.1), 40.0),
    ],
)
def test_a_chain_of_light_links_that_is_held_gains_no_energy(
    integrator: asp.Integrator, speed: float, hold: str
) -> None:
    # Without a bound for what is held, a hundred times its energy and more.
    model = _chain_of_light_links(hold)
    for seed in range(3):
        sim = asp.Simulator(model, integrator=integrator)
        sim.data.qvel[6:] = speed * np.random.default_rng(seed).normal(size=model.nv - 6)
        before = sum(sim.energy())
        for time in np.linspace(0.0, 0.5, 26)[1:]:
            assert sim.advance_to(time).success
            assert sum(sim.energy()) < 1.5 * before


def _momenta(sim: asp.Simulator) -> tuple[np.ndarray, np.ndarray]:
    """Velocity of the centre of mass, and angular momentum about it."""
    data = mujoco.MjData(sim.model)
    data.qpos[:], data.qvel[:] = sim.data.qpos, sim.data.qvel
    mujoco.mj_fwdPosition(sim.model, data)
    mujoco.mj_comVel(sim.model, data)
    mujoco.mj_subtreeVel(sim.model, data)
    return data.subtree_linvel[0].copy(), data.subtree_angmom[0].copy()


_DOUBLED = (asp.Tamsi(accuracy=1e-2), asp.Cenic(accuracy=1e-2, error_estimate="step-doubling"))
_FLAILING = (
    [
        (integrator(time_step=step), speed)
        for integrator in (asp.Icf, asp.Tamsi, asp.Sap)
        for step, speed in ((1e-2, 5.0), (1e-2, 40.0), (2e-3, 40.0), (2e-3, 100.0))
    ]
    + [(asp.Cenic(accuracy=a), speed) for a in (1e-1, 1e-2) for speed in (5.0, 40.0)]
    + [(integrator, speed) for integrator in _DOUBLED for speed in (5.0, 40.0)]
)


@pytest.mark.parametrize(("integrator", "speed"), _FLAILING)
def test_a_chain_of_light_links_that_flails_gains_no_energy(
    integrator: asp.Integrator, speed: float
) -> None:
    # They whirl the end about by up to a radian and more in a step. Forces of the step's beginning,
    # or of a fixed point that does not contract, end in infinity.
    model = _chain_of_light_links()
    for seed in range(4):
        sim = asp.Simulator(model, integrator=integrator)
        sim.data.qvel[3:] = speed * np.random.default_rng(seed).normal(size=model.nv - 3)
        before = sum(sim.energy())
        for time in np.linspace(0.0, 0.5, 51)[1:]:
            assert sim.advance_to(time).success
            # Steps in which nothing turns far may gain a little.
            assert sum(sim.energy()) < 1.01 * before


@pytest.mark.parametrize(
    ("integrator", "speed"),
    [
        (asp.Icf(time_step=1e-2), 5.0),
        (asp.Sap(time_step=1e-2), 5.0),
        (asp.Tamsi(time_step=1e-2), 5.0),
        (asp.Icf(time_step=2e-3), 15.0),
        (asp.Icf(time_step=1e-3), 5.0),
        (asp.Tamsi(accuracy=1e-2), 5.0),
        (asp.Cenic(accuracy=1e-1), 5.0),
        (asp.Cenic(accuracy=1e-2), 5.0),
        (asp.Cenic(accuracy=1e-2), 40.0),
    ],
)
def test_what_goes_on_within_a_robot_does_not_push_or_turn_it(
    integrator: asp.Integrator, speed: float
) -> None:
    # The centre of mass of a chain that floats stays at rest; momenta that a step's first-order
    # terms leave are up to its mean speed.
    model = _chain_of_light_links()
    for seed in range(3):
        sim = asp.Simulator(model, integrator=integrator)
        sim.data.qvel[3:] = speed * np.random.default_rng(seed).normal(size=model.nv - 3)
        velocity, spin = _momenta(sim)
        mean_speed = np.sqrt(2.0 * sum(sim.energy()) / model.body_mass.sum())
        assert sim.advance_to(0.5).success
        after, turned = _momenta(sim)
        assert np.linalg.norm(after - velocity) < 1e-3 * mean_speed
        assert np.linalg.norm(turned - spin) < 1e-2 * np.linalg.norm(spin)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=5e-3), asp.Cenic(accuracy=1e-2)])
def test_a_robot_does_the_same_on_a_train(integrator: asp.Integrator) -> None:
    # At 100 m/s, whose energy is ten thousand times that of what it does.
    model = _chain_of_light_links()
    ends = []
    for boost in (0.0, 100.0):
        sim = asp.Simulator(model, integrator=integrator)
        sim.data.qvel[3:] = 5.0 * np.random.default_rng(0).normal(size=model.nv - 3)
        sim.data.qvel[1] += boost
        assert sim.advance_to(0.2).success
        ends.append((sim.data.qpos - 0.2 * boost * (np.arange(model.nq) == 1), _momenta(sim)[0]))
    np.testing.assert_allclose(ends[1][0], ends[0][0], atol=1e-7)
    np.testing.assert_allclose(ends[1][1] - [0.0, 100.0, 0.0], ends[0][1], atol=1e-9)


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=5e-3), asp.Cenic(accuracy=1e-2)])
def test_a_robot_that_jumps_falls_as_a_stone(integrator: asp.Integrator) -> None:
    # Motors between its links do what they like: its centre of mass is on a parabola, and it turns
    # as a whole only by the turning that it had.
    arm = (
        "<body pos='{0} 0 0'><joint name='{1}' axis='0 1 .3'/>"
        "<geom type='capsule' fromto='0 0 0 {0} 0 .1' size='.03' mass='.7'/></body>"
    )
    body = (
        "<geom type='box' size='.1 .1 .2' mass='3'/>" + arm.format(0.2, "l") + arm.format(-0.3, "r")
    )
    model = compile_mjcf(
        f"<body pos='0 0 1'><freejoint/>{body}</body>",
        sections="<actuator><motor joint='l'/><motor joint='r'/></actuator>",
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[:6] = [1.0, 0.5, 3.0, 2.0, 4.0, 1.0]
    velocity, spin = _momenta(sim)
    for k, time in enumerate(np.linspace(0.0, 0.5, 26)[1:]):
        sim.data.ctrl[:] = [3.0 * np.sin(k), -2.0]
        assert sim.advance_to(time).success
        after, turned = _momenta(sim)
        np.testing.assert_allclose(after, velocity - [0.0, 0.0, 9.81 * time], atol=2e-3)
        np.testing.assert_allclose(turned, spin, atol=2e-3 * np.linalg.norm(spin))
