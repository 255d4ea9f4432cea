"""TAMSI: order, friction, momentum, robustness, and what happens when a solve fails."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.errors import ArgumentError, Status

Array = np.ndarray

# Friction is that of the body: MuJoCo takes the larger of two coefficients.
PLANE = "<geom type='plane' size='0 0 1' friction='0'/>"
SOFT = asp.ContactParameters(stiffness=1e4, dissipation=2.0, stiction_tolerance=1e-3)


def world(body: str, option: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option {option}/><worldbody>{PLANE}{body}</worldbody></mujoco>"
    )


def box(friction: float = 0.5, position: str = "0 0 0.05") -> str:
    return (
        f"<body pos='{position}'><freejoint/>"
        f"<geom type='box' size='0.1 0.1 0.05' mass='1' friction='{friction}'/></body>"
    )


SPHERE = (
    "<body pos='0 0 0.0995'><freejoint/>"
    "<geom type='sphere' size='0.1' mass='1' friction='0.3'/></body>"
)


def run(
    model: mujoco.MjModel,
    integrator: asp.Tamsi | asp.RungeKutta3 | asp.Icf,
    end: float,
    qvel: list[float],
    contact: asp.ContactParameters = SOFT,
) -> asp.Simulator:
    data = mujoco.MjData(model)
    data.qvel[:] = qvel
    sim = asp.Simulator(model, integrator=integrator, data=data, contact=contact)
    report = sim.advance_to(end)
    assert report.success, report.message
    return sim


def state(sim: asp.Simulator) -> Array:
    return np.concatenate([sim.data.qpos, sim.data.qvel])


@pytest.mark.parametrize("friction_law", ["linear", "parabolic"])
@pytest.mark.parametrize("coupling", ["two-way", "one-way"])
def test_converges_to_the_continuous_dynamics_at_order_one(
    friction_law: str, coupling: str
) -> None:
    """A sphere slips on a soft floor and bounces a little."""
    model, qvel = world(SPHERE), [1.0, 0.3, 0, 0, 0, 5.0]
    exact = run(model, asp.RungeKutta3(time_step=2e-5, friction_law=friction_law), 0.1, qvel)
    errors = []
    for step in (4e-4, 2e-4, 1e-4, 5e-5):
        method = asp.Tamsi(time_step=step, friction_law=friction_law, coupling=coupling)
        errors.append(np.abs(state(run(model, method, 0.1, qvel)) - state(exact)).max())
    orders = np.diff(np.log(errors)) / np.log(0.5)
    assert np.all((orders > 0.85) & (orders < 1.15))


@pytest.mark.parametrize("friction_law", ["linear", "parabolic"])
def test_sliding_and_sticking(friction_law: str) -> None:
    model = world(box(friction=0.4))
    method = asp.Tamsi(time_step=1e-3, friction_law=friction_law)
    sim = run(model, method, 0.2, [1.5, 0, 0, 0, 0, 0])
    # It starts without penetration and tips a little, hence the per cent.
    assert sim.data.qvel[0] == pytest.approx(1.5 - 0.4 * 9.81 * 0.2, rel=2e-2)
    assert sim.contacts.slip_speed.max() > 0.5
    sim.data.qvel[:] = 0.0
    sim.data.xfrc_applied[1, 0] = 0.8 * 0.4 * 9.81
    assert sim.advance_to(1.0).success
    # The creep at which a regularised law holds a load of 80 %.
    creep = 0.8 if friction_law == "linear" else 1.0 - np.sqrt(0.2)
    assert sim.data.qvel[0] == pytest.approx(creep * 1e-3, rel=2e-2)
    assert sim.contacts.force[:, 2].sum() == pytest.approx(9.81, rel=1e-4)
    assert sim.data.qpos[2] == pytest.approx(0.05 - 9.81 / 4e4, abs=2e-5)


@pytest.mark.parametrize("slope", [0.98, 1.02])
def test_block_on_an_incline(slope: float) -> None:
    angle = np.arctan(0.5 * slope)
    gravity = f"{9.81 * np.sin(angle)} 0 {-9.81 * np.cos(angle)}"
    model = world(box(), f"gravity='{gravity}'")
    contact = asp.ContactParameters(stiffness=1e5, dissipation=10.0)
    sim = run(model, asp.Tamsi(time_step=2e-3), 2.0, [0.0] * 6, contact)
    speed = sim.data.qvel[0]
    if slope < 1.0:
        assert 0.0 < speed < 1e-4
    else:
        assert speed == pytest.approx(2.0 * 9.81 * np.cos(angle) * 0.5 * 0.02, rel=0.05)


def test_momentum_of_two_bodies_is_conserved() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option gravity='0 0 0'/><worldbody>"
        "<body><freejoint/><geom type='sphere' size='.1' mass='1' friction='.6'/></body>"
        "<body pos='0.25 0.07 0'><freejoint/>"
        "<geom type='box' size='.1 .1 .1' mass='2' friction='.6'/></body>"
        "</worldbody></mujoco>"
    )
    sim = run(model, asp.Tamsi(time_step=1e-3), 0.3, [1, 0.2, 0, 0, 0, 0] + [0] * 6)
    velocity = sim.data.qvel.reshape(2, 6)
    np.testing.assert_allclose(
        velocity[0, :3] + 2 * velocity[1, :3], [1.0, 0.2, 0.0], rtol=1e-10, atol=1e-10
    )
    assert np.linalg.norm(velocity[1]) > 0.1


def pile(integrator: asp.Tamsi | asp.Icf, bodies: int = 12, seed: int = 7) -> asp.Simulator:
    """Boxes and spheres that fall onto one another, stiff for their weight."""
    rng = np.random.default_rng(seed)
    text = ""
    for i in range(bodies):
        x, y = 0.02 * rng.standard_normal(2)
        quaternion = " ".join(map(str, rng.standard_normal(4)))
        shape = "type='box' size='.05 .05 .05'" if i % 2 else "type='sphere' size='.05'"
        text += (
            f"<body pos='{x} {y} {0.1 + 0.14 * i}' quat='{quaternion}'><freejoint/>"
            f"<geom {shape} density='1000' friction='0.5'/></body>"
        )
    contact = asp.ContactParameters(stiffness=1e5, dissipation=10.0)
    return asp.Simulator(world(text), integrator=integrator, contact=contact)


def test_clutter_at_ten_milliseconds_survives() -> None:
    sim = pile(asp.Tamsi(time_step=1e-2))
    report = sim.advance_to(3.0)
    assert report.success, report.message
    assert sim.session.method.base.table is not None
    # Stiction is entered hundreds of times.
    assert sim.session.method.base.table.limited > 50
    assert report.stats.longest_iterations < 10 * report.stats.solves
    # A step with impacts that happen at once is solved at most three times.
    assert report.stats.solves - 2 * report.stats.rebounds < 1.1 * report.stats.steps
    heights = sim.data.qpos.reshape(-1, 7)[:, 2]
    assert np.all(heights > 0.045)


def test_clutter_at_ten_milliseconds_loses_as_much_energy_as_convex_steps_do() -> None:
    """On average: what is left of one pile after its chaos scatters by a tenth and more."""
    left = np.empty((12, 2))
    for seed in range(len(left)):
        for column, method in enumerate((asp.Tamsi, asp.Icf)):
            sim = pile(method(time_step=1e-2), seed=seed)
            assert sim.advance_to(3.0).success
            left[seed, column] = sum(sim.energy())
    assert np.mean(left[:, 0]) == pytest.approx(np.mean(left[:, 1]), rel=0.1)


def test_failure_is_a_status_and_substeps_help() -> None:
    """Six iterations are too few for some steps of the clutter, and enough for their parts."""
    plain = {"time_step": 1e-2, "max_iterations": 6}
    sim = pile(asp.Tamsi(**plain, substeps=False))
    report = sim.advance_to(3.0, on_failure="return")
    assert report.status == Status.NOT_CONVERGED
    assert report.residual > 1e-8
    assert 0.0 < sim.time < 3.0
    assert np.all(np.isfinite(sim.data.qpos))
    again = pile(asp.Tamsi(**plain))
    again.advance_to(sim.time)
    np.testing.assert_allclose(again.data.qpos, sim.data.qpos, rtol=0, atol=1e-15)
    assert again.step().success
    assert again.stats.substeps > 1
    # The parts of a step add up to it.
    exact = pile(asp.Tamsi(time_step=1e-3))
    exact.advance_to(again.time)
    assert np.abs(exact.data.qpos - again.data.qpos).max() < 5e-3


def test_what_is_published_is_of_the_state_even_if_a_solve_fails() -> None:
    # With six iterations solves fail by the thousand, but none of the shortest parts of a step does.
    sim = pile(asp.Tamsi(time_step=1e-2, max_iterations=6))
    published = 0
    for _ in range(60):
        assert sim.step().success
        own = mujoco.MjData(sim.model)
        own.qpos[:] = sim.data.qpos
        mujoco.mj_kinematics(sim.model, own)
        np.testing.assert_array_equal(sim.data.xpos, own.xpos)
        # Gravity and contact make the accelerations, whether or not they are those of a solution.
        force = sim.contacts.force.sum(axis=0)
        published += int(np.any(force))
    assert sim.stats.substeps > 0
    assert published > 20


def test_newton_cycles_without_transition_awareness() -> None:
    sim = pile(asp.Tamsi(time_step=1e-2, transition_aware=False, max_iterations=100))
    assert sim.advance_to(3.0, on_failure="return").status == Status.NOT_CONVERGED
    assert sim.time < 0.5


def test_rows_are_implicit() -> None:
    """A stiff servo, a limit, dry friction and an equality at a long step."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody>"
        "<body><joint name='a' axis='0 1 0'/><geom type='capsule' size='.02'"
        " fromto='0 0 0 0 0 -.3' mass='1'/></body>"
        "<body pos='1 0 0'><joint name='b' axis='0 1 0' limited='true' range='-20 20'"
        " frictionloss='.1'/><geom type='capsule' size='.02' fromto='0 0 0 0 0 -.3'"
        " mass='1'/></body>"
        "</worldbody><equality><joint joint1='b' joint2='a' polycoef='0 1 0 0 0'/></equality>"
        "<actuator><position joint='a' kp='2000' kv='50' forcerange='-20 20'/></actuator>"
        "</mujoco>"
    )
    sim = asp.Simulator(model, integrator=asp.Tamsi(time_step=1e-2))
    sim.data.ctrl[0] = 1.0
    report = sim.advance_to(2.0)
    assert report.success
    assert sim.data.qpos[1] == pytest.approx(np.radians(20), abs=1e-3)
    assert sim.data.qpos[0] == pytest.approx(sim.data.qpos[1], abs=1e-3)
    assert np.abs(sim.data.qvel).max() < 1e-3


def test_grasp_holds_through_shaking() -> None:
    """Two pads hold a mug by friction alone while it is shaken (TAMSI VI-A)."""
    amplitude, omega, step = 0.15, 4 * np.pi, 3e-3
    pads = "".join(
        f"<geom class='pad' pos='{{0}} {0.014 * np.sin(a)} {0.014 * np.cos(a)}'/>"
        for a in np.arange(8) * np.pi / 4
    )
    model = mujoco.MjModel.from_xml_string(f"""
<mujoco><option gravity='0 0 0'/>
<default><geom friction='0.1'/><default class='pad'>
  <geom size='0.006' mass='0' contype='1' conaffinity='0'/></default></default>
<worldbody>
  <body><inertial pos='0 0 0' mass='1.04' diaginertia='1e-3 1e-3 1e-3'/>
    <joint name='lift' type='slide' axis='0 0 1'/>{pads.format(-0.0455)}
    <body><inertial pos='0 0 0' mass='0.05' diaginertia='1e-5 1e-5 1e-5'/>
      <joint name='close' type='slide' axis='1 0 0'/>{pads.format(0.0455)}</body></body>
  <body><freejoint name='mug'/>
    <geom type='cylinder' size='0.04 0.05' mass='0.08' contype='0' conaffinity='1'/></body>
</worldbody>
<actuator><motor joint='lift'/><motor joint='close'/></actuator></mujoco>""")
    data = mujoco.MjData(model)
    data.qvel[0] = data.qvel[4] = -amplitude * omega

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        phase = omega * (data.time + 0.5 * step)
        data.ctrl[:] = 1.17 * omega**2 * amplitude * np.sin(phase), -10.0

    sim = asp.Simulator(
        model,
        integrator=asp.Tamsi(time_step=step),
        contact=asp.ContactParameters(stiffness=1e4, dissipation=1.0, stiction_tolerance=1e-4),
        control=control,
        control_period=step,
        data=data,
    )
    before = 0.0
    for _ in range(50):
        assert sim.advance_to(sim.time + 0.1).success
        # The load is up to 1.9 N and friction 2 N: the pads creep, and no more.
        assert sim.contacts.slip_speed.max() < 1e-4
        slip = sim.data.qpos[4] - sim.data.qpos[0]
        assert abs(slip - before) < 0.1 * 1e-4
        before = slip
    assert sim.stats.iterations < 3 * sim.stats.steps


def test_error_control_by_step_doubling() -> None:
    """Slipping on a soft floor: the answer follows the accuracy, with the order of the method."""
    model = world(SPHERE)
    qvel = np.array([1.0, 0.3, 0, 0, 0, 5.0])

    def end(integrator: asp.Tamsi) -> tuple[Array, int]:
        sim = asp.Simulator(model, integrator=integrator, contact=SOFT)
        sim.data.qvel[:] = qvel
        assert sim.advance_to(0.3).success
        return np.concatenate([sim.data.qpos, sim.data.qvel]), sim.stats.steps

    exact, _ = end(asp.Tamsi(time_step=1e-5))
    found = [end(asp.Tamsi(accuracy=accuracy)) for accuracy in (1e-4, 1e-6, 1e-8)]
    errors = [np.abs(state - exact).max() for state, _ in found]
    assert errors[0] < 0.1
    # Steps go with the square root of the accuracy, and so do errors.
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.3 * errors[1]
    assert found[1][1] < found[2][1] < 15 * found[1][1]
    _, strict = end(asp.Tamsi(accuracy=1e-4, error_norm="state"))
    assert strict > 2 * found[0][1]
    assert asp.Tamsi().time_step == 1e-3


def test_error_control_masters_a_pile() -> None:
    sim = pile(asp.Tamsi(accuracy=1e-2))
    energy = sum(sim.energy())
    assert sim.advance_to(2.0).success
    assert sum(sim.energy()) < energy
    # Everything is on the ground, and nothing deeper in it than the accuracy allows.
    assert sim.data.qpos.reshape(-1, 7)[:, 2].min() > 0.04
    assert sim.contacts.signed_distance.min() > -1e-2


@pytest.mark.parametrize(
    "options",
    [
        {"time_step": -1.0},
        {"coupling": "none"},
        {"friction_law": "smooth"},
        {"tolerance": 0.0},
        {"max_iterations": 0},
        {"accuracy": 0.0},
        {"accuracy": 1e-3, "time_step": 1e-3},
        {"max_step": 1e-10, "min_step": 1e-9},
        {"error_norm": "energy"},
    ],
)
def test_refused_options(options: dict[str, float | str]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(options))):
        asp.Tamsi(**options)
