"""Actuators: MuJoCo's where those can be followed, and exact where MuJoCo needs tiny steps."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from arm_models import ARM, TENDON
from arm_models import arm as _arm
from arm_models import by_asperity as _ours
from arm_models import by_mujoco as _mujoco
from physics_models import GRAVITY, compile_mjcf, fixed, observed_orders

import asperity as asp

# actuators, controls, joint attributes, other sections
CASES: dict[str, tuple[str, list[float], dict[str, str]]] = {
    "motor with gear": ("<motor joint='a' gear='3'/><motor joint='b'/>", [1.5, 0.6], {}),
    "position servo": (
        "<position joint='a' kp='60' kv='4'/><position joint='b' kp='30' kv='1'/>",
        [1.0, -0.8],
        {},
    ),
    "velocity servo": ("<velocity joint='a' kv='5'/><velocity joint='b' kv='2'/>", [2.0, -1.0], {}),
    "servo with a force limit": (
        "<position joint='a' kp='60' kv='1' forcerange='-3 3'/>"
        "<position joint='b' kp='30' kv='1' forcerange='-2 1'/>",
        [1.0, -0.8],
        {},
    ),
    "servo with gear and a force limit": (
        "<position joint='a' kp='60' kv='1' gear='2' forcerange='-2 2'/>"
        "<position joint='b' kp='30' kv='1' gear='-1.5'/>",
        [1.0, -0.8],
        {},
    ),
    "control limits": (
        "<position joint='a' kp='60' kv='3' ctrllimited='true' ctrlrange='-0.3 0.4'/>"
        "<motor joint='b' ctrllimited='true' ctrlrange='-0.2 0.2'/>",
        [1.0, 5.0],
        {},
    ),
    "joint force limit on a servo": (
        "<position joint='a' kp='60' kv='1'/><position joint='b' kp='30' kv='1'/>",
        [1.0, -0.8],
        {"a": "actuatorfrclimited='true' actuatorfrcrange='-2 3'"},
    ),
    "joint force limit on two actuators": (
        "<position joint='a' kp='60' kv='1'/><motor joint='a'/>",
        [1.0, 0.5],
        {"a": "actuatorfrclimited='true' actuatorfrcrange='-2 3'"},
    ),
    "joint force limit on a servo and on a tendon's motor": (
        "<position joint='a' kp='60' kv='1'/><motor tendon='t'/>",
        [1.0, -0.8],
        {"a": "actuatorfrclimited='true' actuatorfrcrange='-2 3'", "sections": TENDON},
    ),
    "joint force limit on a tendon's servo": (
        "<position tendon='t' kp='20' kv='1'/>",
        [1.0],
        {"a": "actuatorfrclimited='true' actuatorfrcrange='-2 3'", "sections": TENDON},
    ),
    "affine servo": (
        "<general joint='a' gaintype='affine' gainprm='2 0.5 0.3' biastype='affine' "
        "biasprm='0.4 -20 -2'/>",
        [1.7],
        {},
    ),
    "servo that pushes away": (
        # Positive feedback: not a convex row, and must then act explicitly.
        "<general joint='a' biastype='affine' gainprm='1' biasprm='0 4 -0.5'/>",
        [0.3],
        {},
    ),
    "servo on a tendon": ("<position tendon='t' kp='40' kv='2'/>", [0.5], {"sections": TENDON}),
    "motor on a tendon": ("<motor tendon='t' gear='2'/>", [0.8], {"sections": TENDON}),
    "filtered motor": (
        "<general joint='a' dyntype='filter' dynprm='0.05' gainprm='2'/>",
        [1.0],
        {},
    ),
    "exactly filtered motor": (
        "<general joint='a' dyntype='filterexact' dynprm='0.05' gainprm='2'/>",
        [1.0],
        {},
    ),
    "integrator with a limit": (
        "<general joint='a' dyntype='integrator' gainprm='3' actlimited='true' actrange='-1 0.2'/>",
        [1.0],
        {},
    ),
    "integrated velocity servo": (
        "<intvelocity joint='a' kp='50' kv='2' actrange='-2 2'/>",
        [1.0],
        {},
    ),
    "PID controller": ("<pid joint='a' kp='60' kv='6' ki='30'/>", [0.6, 0.1], {}),
    "PID controller with limits": (
        "<pid joint='a' kp='60' kv='6' ki='30' imax='0.02' slewmax='3' forcerange='-6 6'/>",
        [0.6, 0.1],
        {"a": "actuatorfrclimited='true' actuatorfrcrange='-5 9'"},
    ),
    "PID controller on a tendon": (
        "<pid tendon='t' kp='40' kv='2' ki='10'/>",
        [0.5, 0.0],
        {"sections": TENDON},
    ),
    "two PID controllers that share a joint's limit": (
        "<pid joint='a' kp='60' kv='2' ki='9' input='pos'/><pid joint='a' kp='5' input='pos'/>",
        [0.6, 0.1],
        {"a": "actuatorfrclimited='true' actuatorfrcrange='-3 3'"},
    ),
    "DC motor": ("<dcmotor joint='a' motorconst='2' resistance='1'/>", [3.0], {}),
    "DC motor with a controller": (
        "<dcmotor joint='a' motorconst='2' resistance='1' input='pos' "
        "controller='30 20 2 0 0 10'/>",
        [0.5],
        {},
    ),
    "DC motor that warms up, with a coil and cogging": (
        "<dcmotor joint='a' motorconst='2' resistance='1' inductance='0.02' "
        "thermal='1 1 20 .01 25 25' cogging='0.3 4 0'/>",
        [3.0],
        {},
    ),
    "muscle": ("<muscle joint='a' lengthrange='-2 2' force='5' timeconst='.01 .03'/>", [0.8], {}),
    "muscle with a delayed control": (
        "<muscle joint='a' lengthrange='-2 2' force='5' timeconst='.01 .03' delay='.1' "
        "nsample='2100'/>",
        [0.8],
        {},
    ),
    "filtered position servo": ("<position joint='a' kp='50' kv='3' timeconst='0.1'/>", [1.0], {}),
    "damped and sprung joints": (
        "<motor joint='a'/>",
        [0.7],
        {"a": "damping='0.3' stiffness='4' springref='30' armature='0.05'", "b": "damping='0.1'"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_actuators_are_mujoco_s(case: str) -> None:
    actuators, ctrl, extra = CASES[case]
    model = _arm(actuators, **extra)
    end = 0.4
    expected = _mujoco(model, ctrl, end)
    assert np.linalg.norm(expected.qpos) > 0.02  # something happened
    steps = np.array([5e-4, 2.5e-4, 1.25e-4])
    errors = []
    for step in steps:
        data = _ours(model, fixed("icf", float(step)), ctrl, end)
        errors.append(np.linalg.norm([*(data.qpos - expected.qpos), *(data.qvel - expected.qvel)]))
        np.testing.assert_allclose(data.act, expected.act, atol=15 * step)
    # First order towards MuJoCo's solution, and no other (more where an error changes its sign).
    assert np.all(observed_orders(steps, errors) > 0.75)
    assert errors[-1] < 0.05
    data = _ours(model, asp.Cenic(accuracy=1e-6), ctrl, end)
    np.testing.assert_allclose(data.qpos, expected.qpos, atol=5e-3)


FOLLOWING = (
    "<actuator><muscle joint='x' lengthrange='-1 1' timeconst='.01 .04' {muscle}/>"
    "<general joint='x' dyntype='filter' dynprm='.01'/></actuator>"
)


LONG_STEPS = [
    asp.Cenic(accuracy=1e-2),
    asp.Cenic(accuracy=1e-2, error_estimate="trapezoid"),
    asp.Icf(time_step=0.03),
    asp.Sap(time_step=0.03),
    asp.Tamsi(time_step=0.03),
    asp.Sdirk2(accuracy=1e-2),
]


def _activation_after(
    parameters: np.ndarray, activation: float, control: float, duration: float
) -> float:
    """By MuJoCo's rate, in ten thousand steps."""
    step = 1e-4 * duration
    for _ in range(10_000):
        rate = mujoco.mju_muscleDynamics(control, activation, parameters)
        middle = activation + 0.5 * step * rate
        activation += step * mujoco.mju_muscleDynamics(control, middle, parameters)
    return activation


def _following(muscle: str) -> mujoco.MjModel:
    """A slide so heavy that it stays, with a muscle of these attributes, and a filter."""
    return compile_mjcf(
        "<body><joint name='x' type='slide' axis='1 0 0'/>"
        "<geom size='.1' mass='1e6' contype='0' conaffinity='0'/></body>",
        option="gravity='0 0 0'",
        sections=FOLLOWING.format(muscle=muscle),
    )


@pytest.mark.parametrize(
    "setting",
    [*LONG_STEPS, asp.Midas(time_step=0.03)],
    ids=lambda setting: type(setting).__name__,
)
@pytest.mark.parametrize("muscle", ["", "tausmooth='.3'", "ctrllimited='true' ctrlrange='0 .4'"])
def test_muscles_and_filters_follow_their_controls_in_long_steps(
    setting: asp.Integrator, muscle: str
) -> None:
    """Steps of Euler's of three time constants leave the range from 0 to 1, and grow."""
    model = _following(muscle)
    sim = asp.Simulator(model, integrator=setting)
    expected, filtered = 0.0, 0.0
    parameters = model.actuator_dynprm[0, :3].copy()
    for end, control in ((0.03, 0.9), (0.12, 0.2), (0.24, 1.0)):
        duration, start = end - sim.time, filtered
        sim.data.ctrl[:] = control
        sim.advance_to(end)
        clamped = min(control, 0.4) if "ctrlrange" in muscle else control
        expected = _activation_after(parameters, expected, clamped, duration)
        filtered = control + (start - control) * math.exp(-duration / 0.01)
        np.testing.assert_allclose(sim.data.act, [expected, filtered], atol=2e-5)


@pytest.mark.parametrize("setting", LONG_STEPS, ids=lambda setting: type(setting).__name__)
def test_a_delayed_muscle_follows_what_it_was_told(setting: asp.Integrator) -> None:
    # Where nothing is heard within steps, MuJoCo's interpolation is a millionth of the way.
    interpolation = "linear" if setting.time_step else "zoh"
    model = _following(f"delay='.029999999' nsample='40' interp='{interpolation}'")
    sim = asp.Simulator(model, integrator=setting)
    expected, heard = 0.0, 0.0
    parameters = model.actuator_dynprm[0, :3].copy()
    for k, control in enumerate((0.9, 0.2, 0.7, 0.1)):
        sim.data.ctrl[:] = control
        sim.advance_to(0.03 * (k + 1))
        expected = _activation_after(parameters, expected, heard, 0.03)
        assert sim.data.act[0] == pytest.approx(expected, abs=2e-5)
        heard = control


@pytest.mark.parametrize("setting", [asp.Cenic(), asp.Icf(), asp.Midas(time_step=0.01)])
def test_a_muscle_of_a_disabled_group_stays_as_it_is(setting: asp.Integrator) -> None:
    model = compile_mjcf(
        "<body><joint name='x' type='slide' axis='1 0 0'/>"
        "<geom size='.1' contype='0' conaffinity='0'/></body>",
        option="actuatorgroupdisable='1'",
        sections="<actuator><muscle joint='x' group='1' lengthrange='-1 1'/></actuator>",
    )
    sim = asp.Simulator(model, integrator=setting, ctrl=[1.0])
    sim.advance_to(0.1)
    assert sim.data.act[0] == 0.0


SLIDER = (
    "<body><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom type='sphere' size='0.1' mass='2' contype='0' conaffinity='0'/></body>"
)


@pytest.mark.parametrize("gain", [1e2, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("accuracy", [1e-1, 1e-3])
def test_a_stiff_servo_is_stable_and_exact_at_rest(accuracy: float, gain: float) -> None:
    # Gravity along the axis: the servo sags by m g/kp.
    model = compile_mjcf(
        SLIDER,
        option=f"gravity='{-GRAVITY} 0 0'",
        sections=f"<actuator><position joint='x' kp='{gain}' kv='{2 * math.sqrt(2 * gain)}'/></actuator>",
    )
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=accuracy))
    sim.data.ctrl[0] = 0.3
    assert sim.advance_to(10.0).success
    # The solver's tolerance is 1e-3 accuracy in √J: relative to the weight as for resting bodies.
    sag = 2 * GRAVITY / gain
    assert sim.data.qpos[0] == pytest.approx(0.3 - sag, abs=2e-3 * accuracy * sag + 1e-12)
    assert sim.data.actuator_force[0] == pytest.approx(2 * GRAVITY, rel=1e-2 * accuracy)


def test_the_number_of_steps_does_not_grow_with_the_gain() -> None:
    steps = {}
    for gain in (1e2, 1e4, 1e6, 1e8):
        damping = 2 * math.sqrt(2 * gain)
        model = compile_mjcf(
            SLIDER,
            option="gravity='0 0 0'",
            sections=f"<actuator><position joint='x' kp='{gain}' kv='{damping}'/></actuator>",
        )
        sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-3))
        sim.data.ctrl[0] = 0.1
        steps[gain] = sim.advance_to(5.0).stats.steps
    # A fast decay of 0.1 m needs steps of its own time constant, m/kv·…, only while it lasts: at
    # most a few dozen more, however stiff.
    assert max(steps.values()) < 2.0 * steps[1e2] + 20


def test_a_saturated_servo_accelerates_as_its_limit_says() -> None:
    model = compile_mjcf(
        SLIDER,
        option="gravity='0 0 0'",
        sections="<actuator><position joint='x' kp='1e6' forcerange='-5 4'/></actuator>",
    )
    for setting in (asp.Cenic(accuracy=1e-1), asp.Icf(time_step=0.01)):
        sim = asp.Simulator(model, integrator=setting)
        sim.data.ctrl[0] = 100.0
        sim.advance_to(1.0)
        assert sim.data.qvel[0] == pytest.approx(4 / 2 * 1.0, rel=1e-7)
        sim.data.ctrl[0] = -100.0
        sim.advance_to(2.0)
        assert sim.data.qvel[0] == pytest.approx(2.0 - 5 / 2 * 1.0, rel=1e-6)
        assert sim.data.actuator_force[0] == pytest.approx(-5.0, rel=1e-9)


@pytest.mark.parametrize("method", [asp.Icf, asp.Tamsi])
def test_a_dc_motor_with_bristles_is_mujoco_s_at_its_step(method: type[asp.Icf]) -> None:
    # Friction has a kink where the joint turns around, so that orders mean nothing.
    model = _arm(
        "<dcmotor joint='a' motorconst='2' resistance='1' inductance='0.02' "
        "lugre='100 1 .1 .2 .01'/>"
    )
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    differences = []
    for step in (4e-4, 1e-4):
        model.opt.timestep = step
        data = mujoco.MjData(model)
        data.ctrl[0] = 3.0
        mujoco.mj_step(model, data, nstep=round(0.4 / step))
        ours = _ours(model, method(time_step=step), [3.0], float(data.time))
        change = [*(ours.qpos - data.qpos), *(ours.act - data.act)]
        differences.append(np.max(np.abs(change)))
    assert differences[0] < 4e-4
    assert differences[1] < 0.3 * differences[0]


@pytest.mark.parametrize("method", [asp.Icf, asp.Sap, asp.Tamsi])
def test_bristles_that_relax_within_microseconds(method: type[asp.Icf]) -> None:
    # Their damping alone would hold the motor, and drive it once they have been left behind.
    model = compile_mjcf(
        "<body><joint name='a'/><geom size='.03'/></body>",
        sections="<actuator><dcmotor joint='a' motorconst='.05' resistance='2' damping='.001' "
        "lugre='1e4 100 .005 .008 .1'/></actuator>",
    )
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 1e-6
    expected = mujoco.MjData(model)
    expected.ctrl[0] = 0.5
    mujoco.mj_step(model, expected, nstep=100_000)
    # Friction gives way at once, which delays of bristles delay: orders mean nothing.
    errors = [
        abs(_ours(model, method(time_step=step), [0.5], 0.1).qvel[0] - expected.qvel[0])
        for step in (2e-3, 1e-3, 5e-4)
    ]
    assert errors[2] < errors[1] < errors[0] < 0.01 * expected.qvel[0]


@pytest.mark.parametrize("setting", [asp.Icf(time_step=1e-3), asp.Cenic()])
def test_currents_know_nothing_of_mujoco_s_step(setting: asp.Integrator) -> None:
    model = _arm("<dcmotor joint='a' motorconst='2' resistance='1' inductance='.02'/>")
    ends = []
    for step in (1e-2, 1e-4):
        model.opt.timestep = step
        ends.append(_ours(model, setting, [3.0], 0.1).qvel.copy())
    np.testing.assert_array_equal(ends[0], ends[1])


def _controlled_by_plugin(count: int = 1, dynamics: str = "") -> mujoco.MjModel:
    return compile_mjcf(
        ARM.format(a="", b=""),
        sections="<extension><plugin plugin='mujoco.pid'/></extension><actuator>"
        f"<plugin joint='a' plugin='mujoco.pid' actdim='{count}' {dynamics}>"
        "<config key='kp' value='40'/><config key='ki' value='30'/>"
        "<config key='kd' value='3'/></plugin></actuator>",
    )


@pytest.mark.parametrize(
    "setting",
    [asp.Icf(time_step=1e-2), asp.Cenic(accuracy=1e-5), asp.RungeKutta3(accuracy=1e-5)],
    ids=lambda setting: type(setting).__name__,
)
@pytest.mark.parametrize("gain", [1.0, 2e4])
def test_early_activations_know_nothing_of_mujoco_s_step(
    setting: asp.Integrator, gain: float
) -> None:
    """They neither shift what a filter feeds a motor, nor make a stiff servo unstable."""
    bias = "" if gain == 1.0 else f"biastype='affine' biasprm='0 {-gain} {-0.01 * gain}'"

    def after(early: str, end: float) -> tuple[float, float]:
        model = compile_mjcf(
            "<body><joint name='j' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>",
            sections="<actuator><general joint='j' dyntype='filterexact' dynprm='0.05' "
            f"gainprm='{gain}' {bias} actearly='{early}'/></actuator>",
        )
        model.opt.timestep = 0.02
        sim = asp.Simulator(model, integrator=setting)
        assert ("actearly" in "".join(sim.load_report.notes)) == (early == "true")
        sim.data.ctrl[0] = 0.5
        sim.advance_to(end)
        return float(sim.data.qpos[0]), float(sim.data.qvel[0])

    assert after("true", 0.2) == after("false", 0.2)
    if gain == 1.0:
        if not isinstance(setting, asp.Icf):
            speed = 0.5 * (0.2 - 0.05 * (1.0 - math.exp(-4.0)))
            assert after("true", 0.2)[1] == pytest.approx(speed, rel=1e-3)
    else:
        assert after("true", 2.0) == pytest.approx((0.5, 0.0), abs=1e-4)


def test_plugins_exert_mujoco_s_forces() -> None:
    model = _controlled_by_plugin()
    ctrl = [0.5]
    model.opt.timestep = 2e-3
    data = mujoco.MjData(model)
    data.ctrl[:] = ctrl
    mujoco.mj_step(model, data, nstep=200)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    assert any("plugins" in note for note in sim.load_report.notes)
    sim.data.ctrl[:] = ctrl
    assert sim.advance_to(data.time).success
    np.testing.assert_allclose(sim.data.qpos, data.qpos, atol=1e-10)
    np.testing.assert_allclose(sim.data.act, data.act, atol=1e-10)
    batch = asp.Batch(model, 2, integrator=asp.Icf(time_step=2e-3))
    batch.ctrl = ctrl
    batch.advance(float(data.time))
    np.testing.assert_array_equal(batch.qpos, [sim.data.qpos] * 2)


def test_a_stiff_pid_controller_is_stable_and_ends_without_sag() -> None:
    model = compile_mjcf(
        SLIDER,
        option=f"gravity='{-GRAVITY} 0 0'",
        sections="<actuator><pid joint='x' kp='1e5' kv='1e3' ki='1e5' input='pos'/></actuator>",
    )
    fixed = asp.Icf(time_step=0.02), asp.Sap(time_step=0.02), asp.Tamsi(time_step=0.02)
    for setting in (*fixed, asp.Cenic(accuracy=1e-2)):
        data = _ours(model, setting, [0.3], 20.0)
        assert data.qpos[0] == pytest.approx(0.3, abs=1e-8)
        # The integral alone holds the weight.
        assert data.act[0] == pytest.approx(2 * GRAVITY / 1e5, rel=1e-3)


def test_a_motor_s_activation_follows_its_filter_exactly() -> None:
    model = _arm("<general joint='a' dyntype='filterexact' dynprm='0.1' gainprm='1'/>")
    for setting in (asp.Cenic(accuracy=1e-2), asp.Icf(time_step=0.01)):
        data = _ours(model, setting, [1.0], 0.37)
        assert data.act[0] == pytest.approx(1 - math.exp(-3.7), rel=1e-9)


def test_gravity_compensation_holds_a_body_in_the_air() -> None:
    model = compile_mjcf(
        "<body pos='0 0 1' gravcomp='1'><freejoint/><geom size='0.1' mass='3'/></body>"
        "<body pos='1 0 1' gravcomp='0.5'><freejoint/><geom size='0.1' mass='3'/></body>"
    )
    for setting in (asp.Cenic(accuracy=1e-2), asp.Icf(time_step=0.01)):
        data = _ours(model, setting, [], 1.0)
        assert data.qpos[2] == pytest.approx(1.0, abs=1e-12)
        assert data.qvel[8] == pytest.approx(-0.5 * GRAVITY, rel=1e-9)


def test_disabled_actuators_do_nothing() -> None:
    model = _arm(
        "<position joint='a' kp='50' kv='1' group='1'/><motor joint='b' group='2'/>",
    )
    model.opt.disableactuator = 1 << 1
    model.opt.gravity[:] = 0
    data = _ours(model, asp.Icf(time_step=0.01), [1.0, 0.0], 0.3)
    assert np.all(data.qpos == 0)


def test_applied_forces_act_as_in_mujoco() -> None:
    model = compile_mjcf(
        ARM.format(a="", b="") + "<body pos='2 0 2'><freejoint/>"
        "<inertial pos='0.1 0.2 0.3' mass='1' diaginertia='0.1 0.2 0.25'/></body>"
    )
    random = np.random.default_rng(0)
    data = mujoco.MjData(model)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-6))
    data.qpos[:2] = sim.data.qpos[:2] = 0.3, -0.5
    data.qvel[:] = sim.data.qvel[:] = random.normal(size=model.nv)
    data.qfrc_applied[:] = sim.data.qfrc_applied[:] = random.normal(size=model.nv)
    data.xfrc_applied[1:] = sim.data.xfrc_applied[1:] = random.normal(size=(model.nbody - 1, 6))
    mujoco.mj_forward(model, data)
    sim.advance_to(0.0)
    # Implicit only in what it has to be: over a microsecond the acceleration is that of the instant.
    np.testing.assert_allclose(sim.data.qacc, data.qacc, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize(("count", "dynamics"), [(1, ""), (2, "dyntype='filter' dynprm='.05'")])
def test_plugins_under_midas_get_to_mujoco_s_motion(count: int, dynamics: str) -> None:
    model = _controlled_by_plugin(count, dynamics)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    differences = []
    for step in (4e-3, 1e-3):
        model.opt.timestep = step
        data = mujoco.MjData(model)
        data.ctrl[:] = 0.5
        mujoco.mj_step(model, data, nstep=round(0.4 / step))
        ours = _ours(model, asp.Midas(time_step=step), [0.5], float(data.time))
        differences.append(np.hstack([ours.qpos - data.qpos, ours.act - data.act]))
    assert np.all(np.abs(differences[1]) < 0.33 * np.abs(differences[0]))
    assert np.abs(differences[0]).max() < 0.03


@pytest.mark.parametrize(
    "setting",
    [
        asp.Icf(time_step=1e-3),
        asp.Sap(time_step=1e-3),
        asp.Cenic(accuracy=1e-5),
        asp.RungeKutta3(accuracy=1e-5),
    ],
    ids=lambda setting: type(setting).__name__,
)
@pytest.mark.parametrize("target", [0.5, 2.5, -4.0])
@pytest.mark.parametrize(
    "actuator",
    [
        "<position joint='ball' gear='0 .5 0' kp='4' kv='.2'/>",
        "<position site='tip' refsite='base' gear='0 0 0 0 .5 0' kp='4' kv='.2'/>",
    ],
    ids=["ball joint", "sites"],
)
def test_servos_of_angles_turn_the_nearer_way(
    actuator: str, target: float, setting: asp.Integrator
) -> None:
    """A set-point that is more than half a turn away is nearer the other way round."""
    model = compile_mjcf(
        "<site name='base'/><body><joint name='ball' type='ball' damping='.05'/>"
        "<geom type='box' size='.1 .15 .05' mass='1'/><site name='tip'/></body>",
        option="gravity='0 0 0'",
        sections=f"<actuator>{actuator}</actuator>",
    )
    expected = _mujoco(model, [target], 0.1)
    ours = _ours(model, setting, [target], 0.1)
    np.testing.assert_allclose(ours.qvel, expected.qvel, rtol=0.01, atol=0.02)
    np.testing.assert_allclose(ours.qpos, expected.qpos, atol=0.02)
