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
INTEGRATORS = (
    asp.Icf(time_step=2e-3),
    asp.Cenic(accuracy=1e-3),
    asp.Sap(time_step=2e-3),
    asp.Tamsi(time_step=2e-3),
)
# Whose normal force does not follow the slip.
NOT_SAP = [one for one in INTEGRATORS if not isinstance(one, asp.Sap)]


def ended(
    friction: str,
    dimension: int,
    velocity: list[float],
    end: float,
    integrator: asp.Integrator,
    inertia: str = "",
) -> NDArray[np.float64]:
    """Position and velocity of a ball on a plane.

    Under SAP's law a slip presses like an approach of √Σ (μ_k v_k)², so that what slips glides at
    the height where it has come to rest in the step and the relaxation time, which is the step's.
    It begins there, and does not jump.
    """
    kinds = np.array([float(one) for one in friction.split()])
    slip = np.array([velocity[1], velocity[0], velocity[5], velocity[4], velocity[3]])
    if velocity[4] != 0.0:
        slip[1] = 0.0  # it rolls
    approach = float(np.linalg.norm(kinds * slip))
    glides = 4e-3 * approach if isinstance(integrator, asp.Sap) else 0.0
    model = mujoco.MjModel.from_xml_string(
        f"""
        <mujoco><option gravity="0 0 -{GRAVITY}"/><worldbody>
          <geom name="floor" type="plane" size="9 9 1"/>
          <body pos="0 0 {RADIUS}"><freejoint/>{inertia}
            <geom name="ball" size="{RADIUS}" mass="1"/></body></worldbody>
          <contact><pair geom1="floor" geom2="ball" condim="{dimension}" friction="{friction}"/>
        </contact></mujoco>"""
    )
    sim = asp.Simulator(model, integrator=integrator)
    assert sim.load_report.notes == ()
    sim.data.qpos[2] += glides
    sim.data.qvel[:] = velocity
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


@pytest.mark.parametrize("integrator", NOT_SAP)
def test_what_slips_and_turns_follows_the_ellipsoid(integrator: asp.Integrator) -> None:
    """m dv/dt = −m g μ² v/a and I dω/dt = −m g μ_t² ω/a with a = √(μ² v² + μ_t² ω²)."""
    inertia = 2e-4
    end = 0.05

    def rate(_time: float, u: NDArray[np.float64]) -> list[float]:
        size = np.hypot(0.5 * u[0], TORSION * u[1])
        return [-GRAVITY * 0.25 * u[0] / size, -GRAVITY * TORSION**2 * u[1] / size / inertia]

    exact = solve_ivp(rate, (0.0, end), [0.5, 60.0], rtol=1e-10).y[:, -1]
    state = ended(
        f"0.5 0.5 {TORSION} 0 0",
        4,
        [0.5, 0, 0, 0, 0, 60],
        end,
        integrator,
        f'<inertial pos="0 0 0" mass="1" diaginertia="1e3 1e3 {inertia}"/>',
    )
    assert 0.5 - state[3] == pytest.approx(0.5 - exact[0], rel=0.02)
    assert 60.0 - state[8] == pytest.approx(60.0 - exact[1], rel=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_two_coefficients_of_sliding(integrator: asp.Integrator) -> None:
    """m dv_k/dt = −m g μ_k² v_k/√Σ (μ_j v_j)²; MuJoCo's first tangent here is the y axis."""
    friction = np.array([0.2, 0.6])
    end = 0.12

    def rate(_time: float, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return -GRAVITY * friction**2 * v / np.linalg.norm(friction * v)

    exact = solve_ivp(rate, (0.0, end), [1.0, 1.0], rtol=1e-10).y[:, -1]
    state = ended(
        "0.6 0.2 0 0 0",
        3,
        [1, 1, 0, 0, 0, 0],
        end,
        integrator,
        '<inertial pos="0 0 0" mass="1" diaginertia="1e3 1e3 1e3"/>',
    )
    assert 1.0 - state[3:5] == pytest.approx(1.0 - exact, rel=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("dimension", [3, 4])
def test_a_pinched_box_sags_unless_torsion_holds_it(
    dimension: int, integrator: asp.Integrator
) -> None:
    """Its weight turns it by m g a = 0.039 N m about the fingertips, which hold 2 μ_t F = 0.4 N m.

    Without torsion it swings like a pendulum that begins level.
    """
    friction = f'condim="{dimension}" friction="1 {2 * TORSION} 0"'
    finger = f'<geom size=".02" mass=".2" {friction}/></body>'
    slide = 'type="slide" axis="0 1 0" damping="5"'
    model = mujoco.MjModel.from_xml_string(
        f"""
        <mujoco><option gravity="0 0 -{GRAVITY}"/><worldbody>
          <body pos="0 -.06 0"><joint name="left" {slide}/>{finger}
          <body pos="0 .06 0"><joint name="right" {slide}/>{finger}
          <body pos=".02 0 0"><freejoint/>
            <geom type="box" size=".1 .04 .02" mass=".2" {friction}/></body></worldbody>
        <actuator><motor joint="left"/><motor joint="right" gear="-1"/></actuator></mujoco>"""
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.ctrl[:] = 10.0
    assert sim.advance_to(0.2).success
    turned = 2.0 * np.arcsin(abs(sim.data.qpos[-2]))
    if dimension == 3:
        assert turned > 0.5
    else:
        assert turned < 1e-3


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


@pytest.mark.parametrize("integrator", NOT_SAP)
def test_derivatives_follow_the_ellipse(integrator: asp.Integrator) -> None:
    """Of a puck that slips over two coefficients, against those of its equation of motion."""
    friction = np.array([0.2, 0.6])
    interval = 0.02

    def end(start: NDArray[np.float64]) -> NDArray[np.float64]:
        def rate(_time: float, v: NDArray[np.float64]) -> NDArray[np.float64]:
            return -GRAVITY * friction**2 * v / np.linalg.norm(friction * v)

        return solve_ivp(rate, (0.0, interval), start, rtol=1e-11, atol=1e-12).y[:, -1]

    size = 1e-5
    exact = np.column_stack(
        [(end(np.ones(2) + one) - end(np.ones(2) - one)) / (2 * size) for one in size * np.eye(2)]
    )
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="0 0 -{GRAVITY}"/><worldbody>
        <geom name="floor" type="plane" size="9 9 1"/>
        <body pos="0 0 {RADIUS - GRAVITY / 1e5}"><freejoint/>
          <inertial pos="0 0 0" mass="1" diaginertia="1e3 1e3 1e3"/>
          <geom name="ball" size="{RADIUS}"/></body></worldbody>
        <contact><pair geom1="floor" geom2="ball" condim="3" friction="0.6 0.2 0 0 0"/></contact>
        </mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qvel[:2] = 1.0
    found = asp.derivatives.linearize(model, data, integrator=integrator, step=interval).A[6:8, 6:8]
    np.testing.assert_allclose(found, exact, atol=5e-4)
