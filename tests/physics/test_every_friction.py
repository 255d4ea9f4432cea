"""Torsion, rolling and two coefficients of sliding, against closed forms.

The limit of friction is the ellipsoid Σ (f_k/μ_k)² ≤ n² over the kinds of friction. What slips is
braked where its outward normal is the slip: with velocities v_k, f_k = −n μ_k² v_k/√Σ (μ_j v_j)².
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import asperity as asp

GRAVITY = 9.81
RADIUS = 0.1
TORSION = 0.01
ROLLING = 0.005
CONVEX = (
    asp.Icf(time_step=2e-3),
    asp.Icf(time_step=2e-3, friction_bound="similar"),
    asp.Cenic(accuracy=1e-3),
    asp.Sap(time_step=2e-3),
    asp.Sap(time_step=2e-3, gliding=True),
    asp.Tamsi(time_step=2e-3),
)
INTEGRATORS = (*CONVEX, asp.Midas(time_step=2e-3))


def glides(integrator: asp.Integrator) -> float:
    """Height over slip of what glides [s]: a step, and in SAP's paper its relaxation time, too.

    There a slip presses like an approach of √Σ (μ_k v_k)².
    """
    if isinstance(integrator, asp.Icf) and integrator.friction_bound == "similar":
        return 2e-3
    return 4e-3 if isinstance(integrator, asp.Sap) and integrator.gliding else 0.0


def ball(friction: str, dimension: int, inertia: str = "", sunk: float = 0.0) -> mujoco.MjModel:
    """A ball of 1 kg on a plane, with coefficients of the pair."""
    return mujoco.MjModel.from_xml_string(
        f"""
        <mujoco><option gravity="0 0 -{GRAVITY}"/><worldbody>
          <geom name="floor" type="plane" size="9 9 1"/>
          <body pos="0 0 {RADIUS - sunk}"><freejoint/>{inertia}
            <geom name="ball" size="{RADIUS}" mass="1"/></body></worldbody>
          <contact><pair geom1="floor" geom2="ball" condim="{dimension}" friction="{friction}"/>
        </contact></mujoco>"""
    )


def ended(
    friction: str,
    dimension: int,
    velocity: list[float],
    end: float,
    integrator: asp.Integrator,
    inertia: str = "",
    slowing: float = 0.0,
) -> NDArray[np.float64]:
    """Position and velocity of a ball on a plane, that begins where and as it glides.

    ``slowing`` is the rate of its scaled slip √Σ (μ_k v_k)², at first.
    """
    kinds = np.array([float(one) for one in friction.split()])
    slip = np.array([velocity[1], velocity[0], velocity[5], velocity[4], velocity[3]])
    if velocity[4] != 0.0:
        slip[1] = 0.0  # it rolls
    sim = asp.Simulator(ball(friction, dimension, inertia), integrator=integrator)
    assert sim.load_report.notes == ()
    sim.data.qpos[2] += glides(integrator) * float(np.linalg.norm(kinds * slip))
    sim.data.qvel[:] = velocity
    sim.data.qvel[2] = glides(integrator) * slowing
    assert sim.advance_to(end).success
    return np.concatenate([sim.data.qpos[:3], sim.data.qvel])


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_spinning_ball_slows_by_torsion(integrator: asp.Integrator) -> None:
    """I dω/dt = −μ_t m g with I = 2/5 m R²."""
    spin = ended(f"1 1 {TORSION} 0 0", 4, [0, 0, 0, 0, 0, 50], 1.0, integrator)[8]
    lost = TORSION * GRAVITY / (0.4 * RADIUS**2)
    assert 50.0 - spin == pytest.approx(lost, rel=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_rolling_ball_comes_to_rest(integrator: asp.Integrator) -> None:
    """About the point of contact 7/5 m R² dω/dt = −μ_r m g: rest after 7 v₀² R/(10 g μ_r)."""
    start = [1.0, 0, 0, 0, 1.0 / RADIUS, 0]
    state = ended(f"1 1 {TORSION} {ROLLING} {ROLLING}", 6, start, 4.0, integrator)
    assert state[0] == pytest.approx(7.0 * RADIUS / (10.0 * GRAVITY * ROLLING), rel=0.02)
    assert abs(state[3]) < 0.01


TURNING_FRICTION = np.array([0.5, TORSION])
TURNING_MASS = np.array([1.0, 2e-4])


def braked(
    velocity: NDArray[np.float64],
    end: float,
    friction: NDArray[np.float64] = TURNING_FRICTION,
    mass: NDArray[np.float64] = TURNING_MASS,
) -> tuple[NDArray[np.float64], float]:
    """Velocities after a time: m_k dv_k/dt = −m g μ_k² v_k/a; and da/dt at first.

    a = √Σ (μ_j v_j)² and m = 1 kg; m_k is that or a moment of inertia [kg m²].
    """

    def rate(_time: float, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return -GRAVITY * friction**2 * v / np.linalg.norm(friction * v) / mass

    slip = friction * velocity
    slowing = slip @ (friction * rate(0.0, velocity)) / np.linalg.norm(slip)
    return solve_ivp(rate, (0.0, end), velocity, rtol=1e-11, atol=1e-12).y[:, -1], float(slowing)


def puck(inertia: float) -> str:
    return f'<inertial pos="0 0 0" mass="1" diaginertia="1e3 1e3 {inertia}"/>'


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_what_slips_and_turns_follows_the_ellipsoid(integrator: asp.Integrator) -> None:
    start, end = np.array([0.5, 60.0]), 0.05
    exact, slowing = braked(start, end)
    friction = f"0.5 0.5 {TORSION} 0 0"
    state = ended(
        friction, 4, [0.5, 0, 0, 0, 0, 60], end, integrator, puck(TURNING_MASS[1]), slowing
    )
    assert start - state[[3, 8]] == pytest.approx(start - exact, rel=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_two_coefficients_of_sliding(integrator: asp.Integrator) -> None:
    """MuJoCo's first tangent here is the y axis."""
    start, end = np.ones(2), 0.12
    exact, slowing = braked(start, end, np.array([0.2, 0.6]), np.ones(2))
    state = ended("0.6 0.2 0 0 0", 3, [1, 1, 0, 0, 0, 0], end, integrator, puck(1e3), slowing)
    assert start - state[3:5] == pytest.approx(start - exact, rel=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("torsion", [0.0, 1e-3, 2e-2])
def test_a_pinched_box_turns_as_torsion_lets_it(torsion: float, integrator: asp.Integrator) -> None:
    """(I + m a²) d²θ/dt² = m g a cos θ − 2 μ_t F, if its weight turns it about the fingertips.

    They carry it all the while: its weight is a tenth of what friction bears, and takes half a
    per cent of the torsion.
    """
    mass, away, force, end = 0.2, 0.02, 10.0, 0.3
    friction = f'condim="{4 if torsion else 3}" friction="1 {torsion} 0"'
    finger = f'<geom size=".02" mass=".2" {friction}/></body>'
    slide = 'type="slide" axis="0 1 0" damping="5"'
    model = mujoco.MjModel.from_xml_string(
        f"""
        <mujoco><option gravity="0 0 -{GRAVITY}"/><worldbody>
          <body pos="0 -.06 0"><joint name="left" {slide}/>{finger}
          <body pos="0 .06 0"><joint name="right" {slide}/>{finger}
          <body pos="{away} 0 0"><freejoint/>
            <geom type="box" size=".1 .04 .02" mass="{mass}" {friction}/></body></worldbody>
        <actuator><motor joint="left"/><motor joint="right" gear="-1"/></actuator></mujoco>"""
    )
    weight = mass * GRAVITY * away
    holds = 2.0 * torsion * force
    inertia = float(model.body_inertia[-1, 1]) + mass * away**2

    def rate(_time: float, u: NDArray[np.float64]) -> list[float]:
        return [u[1], (weight * np.cos(u[0]) - holds) / inertia]

    truth = 0.0
    if holds < weight:
        truth = solve_ivp(rate, (0.0, end), [0.0, 0.0], rtol=1e-10).y[0, -1]
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.ctrl[:] = force
    assert sim.advance_to(end).success
    turned = 2.0 * np.arcsin(abs(sim.data.qpos[-2]))
    assert turned == pytest.approx(truth, rel=0.02, abs=1e-3)


def test_mujoco_reads_the_torques() -> None:
    """A rolling and spinning ball feels μ_t N and μ_r N in the share of its scaled slip."""
    model = mujoco.MjModel.from_xml_string(
        f"""
        <mujoco><option gravity="0 0 -{GRAVITY}" cone="elliptic"/><worldbody>
          <geom name="floor" type="plane" size="9 9 1"/>
          <body pos="0 0 {RADIUS}"><freejoint/><geom name="ball" size="{RADIUS}" mass="1"/></body>
        </worldbody><contact><pair geom1="floor" geom2="ball" condim="6"
          friction="1 1 {TORSION} {ROLLING} {ROLLING}"/></contact></mujoco>"""
    )
    for velocity, kind, bound in (
        ([0.0, 0, 0, 0, 0, 50], 3, TORSION),
        ([1.0, 0, 0, 0, 1.0 / RADIUS, 0], 4, ROLLING),
    ):
        sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
        sim.data.qvel[:] = velocity
        assert sim.advance_to(0.5).success
        force = np.zeros(6)
        mujoco.mj_contactForce(model, sim.data, 0, force)
        assert abs(force[kind]) == pytest.approx(bound * GRAVITY, rel=1e-3)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(
    ("friction", "mass", "columns", "start", "coefficients"),
    [
        ("0.6 0.2 0 0 0", [1.0, 1.0], [6, 7], [1.0, 1.0], [0.2, 0.6]),
        (f"0.5 0.5 {TORSION} 0 0", TURNING_MASS, [6, 11], [0.5, 60.0], TURNING_FRICTION),
    ],
    ids=["two coefficients", "turning"],
)
def test_derivatives_follow_the_ellipsoid(
    friction: str,
    mass: list[float],
    columns: list[int],
    start: list[float],
    coefficients: list[float],
    integrator: asp.Integrator,
) -> None:
    """Of a puck that slips, against those of its equation of motion.

    What glides is at a height that the slip decides, which the derivatives follow. Midas first
    finds the height at which its barrier bears the weight.
    """
    of_midas = isinstance(integrator, asp.Midas)
    interval = 0.02
    velocity, mu, masses = np.array(start), np.array(coefficients), np.array(mass)
    exact, height = np.zeros((2, 2)), np.zeros((2, 2))
    for k, size in enumerate(1e-5 * velocity):
        more, less = velocity + size * np.eye(2)[k], velocity - size * np.eye(2)[k]
        ends = [braked(one, interval, mu, masses) for one in (more, less)]
        exact[:, k] = (ends[0][0] - ends[1][0]) / (2.0 * size)
        height[0, k] = (np.linalg.norm(mu * more) - np.linalg.norm(mu * less)) / (2.0 * size)
        height[1, k] = (ends[0][1] - ends[1][1]) / (2.0 * size)
    glide = glides(integrator)
    turning = columns[1] == 11
    model = ball(friction, 4 if turning else 3, puck(mass[1] if turning else 1e3), GRAVITY / 1e5)
    data = mujoco.MjData(model)
    if of_midas:
        sim = asp.Simulator(model, integrator=integrator)
        assert sim.advance_to(0.3).success
        data.qpos[:] = sim.data.qpos
    data.qpos[2] += glide * np.linalg.norm(mu * velocity)
    data.qvel[[one - 6 for one in columns]] = velocity
    data.qvel[2] = glide * braked(velocity, interval, mu, masses)[1]
    a = asp.derivatives.linearize(model, data, integrator=integrator, step=interval).A
    found = a[np.ix_(columns, columns)] + glide * a[np.ix_(columns, [2, 8])] @ height
    ratio = found / exact
    np.testing.assert_allclose(np.diag(ratio), 1.0, atol=1e-3 if of_midas else 5e-4)
    np.testing.assert_allclose([ratio[0, 1], ratio[1, 0]], 1.0, atol=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(
    ("friction", "dimension", "motion", "scaled"),
    [
        (f"1 1 {TORSION} 0 0", 4, [0, 0, 0, 0, 0, 50.0], TORSION * 50.0),
        (
            f"1 1 {TORSION} {ROLLING} {ROLLING}",
            6,
            [1.0, 0, 0, 0, 1.0 / RADIUS, 0],
            ROLLING / RADIUS,
        ),
    ],
    ids=["spinning", "rolling"],
)
def test_derivatives_of_what_friction_slows(
    friction: str,
    dimension: int,
    motion: list[float],
    scaled: float,
    integrator: asp.Integrator,
) -> None:
    """The deceleration does not depend on the speed, so that a faster one stays so much faster.

    ``scaled`` is the speed times its coefficient, on which the height depends that it glides at.
    """
    interval = 0.02
    model = ball(friction, dimension)
    data = mujoco.MjData(model)
    data.qpos[2] += glides(integrator) * scaled
    data.qvel[:] = motion
    slowing = -GRAVITY * (
        TORSION**2 / (0.4 * RADIUS**2) if dimension == 4 else ROLLING**2 / RADIUS**2 / 1.4
    )
    data.qvel[2] = glides(integrator) * slowing
    a = asp.derivatives.linearize(model, data, integrator=integrator, step=interval).A
    direction = np.array([0, 0, glides(integrator) * scaled, 0, 0, 0, *motion])
    change = a @ direction
    np.testing.assert_allclose(change[6:], motion, atol=5e-3 * np.linalg.norm(motion))
    expected = interval * np.array(motion)
    np.testing.assert_allclose(change[[0, 1]], expected[[0, 1]], atol=2e-3 * interval)
    np.testing.assert_allclose(change[3:6], expected[3:], atol=2e-3 * np.linalg.norm(expected))
