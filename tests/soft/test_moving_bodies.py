"""Flexes in bodies that move: pads of fingers, tails, ropes on pendulums."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from soft_models import Array, compile_soft, cube, positions

import asperity as asp

ALL = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3), asp.Midas(time_step=5e-3))
NAMES = ("icf", "cenic", "midas")
_UNTOUCHED = "<contact contype='0' conaffinity='0' selfcollide='none'/>"


def _pad(
    count: str, pins: str, *, at: str, young: float = 1e5, contact: str = "", name: str = "pad"
) -> str:
    """Cells of 20 mm, 50 g, which are fixed to their body at some."""
    contact = contact or "<contact selfcollide='none'/>"
    return (
        f"<flexcomp name='{name}' type='grid' dim='3' count='{count}' spacing='.02 .02 .02'"
        f" pos='{at}' radius='.0005' mass='.05'><pin gridrange='{pins}'/>"
        f"<elasticity young='{young}' poisson='0.3' damping='0.005'/>"
        f"{contact}</flexcomp>"
    )


def _momenta(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Linear and angular momentum of all about the origin."""
    other = mujoco.MjData(model)
    other.qpos[:], other.qvel[:] = data.qpos, data.qvel
    mujoco.mj_fwdPosition(model, other)
    mujoco.mj_fwdVelocity(model, other)
    mujoco.mj_subtreeVel(model, other)
    linear = model.body_subtreemass[0] * other.subtree_linvel[0]
    return np.concatenate(
        [linear, other.subtree_angmom[0] + np.cross(other.subtree_com[0], linear)]
    )


@pytest.mark.parametrize(
    ("integrator", "linear", "angular"),
    [
        (asp.Icf(time_step=2e-3), 1e-12, 3e-5),
        (asp.Cenic(accuracy=1e-5), 1e-5, 1e-5),
        (asp.Midas(time_step=2e-3), 1e-9, 3e-4),
    ],
    ids=NAMES,
)
def test_a_free_body_and_its_pad_keep_momentum(
    integrator: asp.Integrator, linear: float, angular: float
) -> None:
    """Which spin, and shake: as well as a robot without flexes does."""
    body = "<body name='b' pos='0 0 1'><freejoint/><geom type='box' size='.03 .03 .02' mass='.2'/>"
    pad = _pad("3 3 3", "0 0 0 2 2 0", at="0 0 0.04", contact=_UNTOUCHED)
    model = compile_soft(f"{body}{pad}</body>", gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[:6] = [0.3, -0.2, 0.1, 2.0, 4.0, 3.0]
    sim.data.qvel[6:] = np.random.default_rng(0).normal(scale=0.2, size=model.nv - 6)
    before = _momenta(model, sim.data)
    sim.advance_to(0.5)
    change = _momenta(model, sim.data) - before
    assert np.linalg.norm(change[:3]) < linear * np.linalg.norm(before[:3])
    assert np.linalg.norm(change[3:]) < angular * np.linalg.norm(before[3:])


_BEAM = _pad("9 2 2", "0 0 0 0 1 1", at=".08 0 0", young=1e6, contact=_UNTOUCHED)
_STRIP = (
    "<flexcomp name='strip' type='grid' dim='2' count='9 4 1' spacing='.02 .02 .02' pos='.08 0 0'"
    " radius='.001' mass='.02'><pin gridrange='0 0 1 3'/><elasticity young='2e8' poisson='0.3'"
    f" thickness='.002' elastic2d='both' damping='0.02'/>{_UNTOUCHED}</flexcomp>"
)


@pytest.mark.parametrize("flex", [_BEAM, _STRIP], ids=["volume", "cloth"])
@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
def test_a_body_that_is_pushed_bends_its_beam_as_weight_does(
    integrator: asp.Integrator, flex: str
) -> None:
    """An acceleration of the frame is a weight: forces act on the body through its vertices."""
    flex = f"<body name='b' pos='.1 .2 .3' euler='20 30 40'>{flex}</body>"
    held = asp.Simulator(compile_soft(flex, gravity=-5.0), integrator=integrator)
    held.advance_to(6.0)
    slide = "<body><joint type='slide' axis='0 0 1'/><geom size='.03' mass='.2'/>"
    model = compile_soft(f"{slide}{flex}</body>", gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qfrc_applied[0] = -5.0 * model.body_mass.sum()
    sim.advance_to(6.0)
    assert np.abs(held.data.qpos).max() > 3e-3
    assert np.abs(sim.data.qpos[1:] - held.data.qpos).max() < 1e-6
    assert sim.data.qvel[0] == pytest.approx(-30.0, rel=1e-3)


def test_a_bar_that_turns_is_stretched() -> None:
    """By the centrifugal forces of its vertices, each in its place."""
    model = compile_soft(
        "<body name='b'><joint type='hinge' axis='0 0 1' armature='1000'/><geom size='.03' mass='.2'/>"
        "<flexcomp name='bar' type='grid' dim='3' count='11 2 2' spacing='0.1 0.1 0.1'"
        " pos='0.7 0 0' mass='2' radius='0.001'><pin gridrange='0 0 0 0 1 1'/>"
        f"<elasticity young='1e5' poisson='0' damping='1'/>{_UNTOUCHED}</flexcomp></body>",
        gravity=0.0,
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.02))
    sim.data.qvel[0] = 3.0
    sim.advance_to(15.0)
    assert sim.data.qvel[0] == pytest.approx(3.0, rel=1e-3)
    layer = model.body_mass[model.flex_vertbodyid[-1]] * 4.0
    stiffness = 1e5 * 0.01 / 0.1 * (2.0 * np.eye(10) - np.eye(10, k=1) - np.eye(10, k=-1))
    stiffness[-1, -1] = 1e5 * 0.01 / 0.1
    square = float(sim.data.qvel[0]) ** 2
    radius = 0.2 + 0.1 * np.arange(1, 11)
    stretch = np.linalg.solve(stiffness - layer * square * np.eye(10), layer * square * radius)
    found = sim.data.qpos[1:].reshape(10, 4, 3)[:, :, 0].mean(axis=1)
    assert found == pytest.approx(stretch, rel=1e-5)


def test_a_rope_on_a_pendulum_swings_as_in_mujoco() -> None:
    """Edges are springs and dampers with the same forces."""
    points = " ".join(f"{0.05 * i} 0 0" for i in range(6))
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option integrator='RK4' timestep='2e-5'/><worldbody><body name='b'>"
        "<joint type='hinge' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .2 0 0' size='.02'"
        " mass='.1' contype='0' conaffinity='0'/><flexcomp name='rope' type='direct' dim='1'"
        f" pos='.2 0 0' mass='.06' radius='.005' point='{points}' element='0 1 1 2 2 3 3 4 4 5'>"
        f"<pin id='0'/><edge stiffness='300' damping='0.2'/>{_UNTOUCHED}</flexcomp></body>"
        "</worldbody></mujoco>"
    )
    sim = asp.Simulator(model, integrator=asp.Cenic(accuracy=1e-6))
    data = mujoco.MjData(model)
    sim.advance_to(0.4)
    while data.time < 0.4 - 1e-9:
        mujoco.mj_step(model, data)
    assert np.abs(data.qpos).max() > 0.1
    assert np.abs(sim.data.qpos - data.qpos).max() < 1e-4


@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
def test_a_body_stands_on_its_pad(integrator: asp.Integrator) -> None:
    """The floor carries both, through vertices that move and the body on them."""
    model = compile_soft(
        "<geom type='plane' size='1 1 .1'/><body name='b' pos='0 0 0.061'>"
        "<freejoint/><geom type='box' size='.03 .03 .02' mass='.2'/>"
        f"{_pad('3 3 3', '0 0 2 2 2 2', at='0 0 -.04')}</body>"
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.0)
    assert sim.contacts.normal_force.sum() == pytest.approx(9.81 * model.body_mass.sum(), rel=1e-3)
    assert np.abs(sim.data.qvel).max() < 1e-3
    assert np.all(sim.contacts.flex.max(axis=1) == 0)


def _bubbles() -> mujoco.MjModel:
    """Two fingers with pads in one hand, and a box between them on the floor."""
    finger = (
        "<body name='{0}' gravcomp='1' pos='{1} 0 0'><joint name='{0}' type='slide' axis='1 0 0'/>"
        "<geom type='box' size='0.01 0.03 0.03' mass='0.2' contype='0' conaffinity='0'/>{2}</body>"
    )
    servo = "<position joint='{}' kp='2000' kv='60'/>"
    left = _pad("3 3 3", "0 0 0 0 2 2", at=".03 0 0", name="left_pad")
    right = _pad("3 3 3", "2 0 0 2 2 2", at="-.03 0 0", name="right_pad")
    return compile_soft(
        "<geom type='plane' size='1 1 0.1'/><body name='lift' gravcomp='1' pos='0 0 0.03'>"
        "<inertial mass='1' pos='0 0 0' diaginertia='0.01 0.01 0.01'/>"
        "<joint name='lift' type='slide' axis='0 0 1'/>"
        f"{finger.format('left', -0.08, left)}{finger.format('right', 0.08, right)}</body>"
        "<body name='box' pos='0 0 0.0251'><freejoint/>"
        "<geom type='box' size='.025 .025 .025' mass='.2' friction='0.8'/></body>",
        sections=f"<actuator>{''.join(servo.format(n) for n in ('left', 'right', 'lift'))}"
        "</actuator>",
    )


def _hold(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    close = 0.021 * min(data.time / 0.3, 1.0)
    data.ctrl[:] = [close, -close, 0.1 * np.clip((data.time - 0.4) / 0.5, 0.0, 1.0)]


@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
def test_pads_hold_a_box(integrator: asp.Integrator) -> None:
    model = _bubbles()
    sim = asp.Simulator(model, integrator=integrator, control=_hold, control_period=0.01)
    lift, box = (
        int(model.joint(model.body(name).jntadr[0]).qposadr[0]) for name in ("lift", "box")
    )
    sim.advance_to(1.5)
    held = sim.data.qpos[box + 2] - sim.data.qpos[lift]
    sim.advance_to(4.0)
    assert sim.data.qpos[box + 2] > 0.11
    assert abs(sim.data.qpos[box + 2] - sim.data.qpos[lift] - held) < 1e-4


@pytest.mark.parametrize(
    "integrator", [asp.Icf(time_step=2e-3), asp.Midas(time_step=5e-3)], ids=["icf", "midas"]
)
def test_pads_of_one_hand_press_each_other(integrator: asp.Integrator) -> None:
    """Nothing but the servos between them acts, so that the hand stays where it is."""
    model = _bubbles()
    model.geom_contype[0] = model.geom_conaffinity[0] = 0
    model.opt.gravity[:] = 0.0
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qpos[-7] = 2.0
    sim.data.ctrl[:] = [0.06, -0.06, 0.0]
    sim.advance_to(1.0)
    x = positions(model, sim.data)[:, 0].reshape(2, -1)
    on_right = np.where(sim.contacts.flex[:, 1] == 1, 1.0, -1.0)
    force = on_right @ sim.contacts.force[:, 0]
    assert x[0].max() < x[1].min() + 2e-3
    assert force > 30.0
    assert sim.data.actuator_force[:2] == pytest.approx([force, -force], rel=1e-3)


@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
def test_checkpoints_and_threads_change_nothing(integrator: asp.Integrator, tmp_path: Path) -> None:
    model = _bubbles()
    whole = asp.Simulator(model, integrator=integrator)
    shared = asp.Simulator(model, integrator=integrator, threads=2)
    for sim in (whole, shared):
        sim.data.ctrl[:] = [0.021, -0.021, 0.0]
        sim.advance_to(0.2)
    again = asp.Simulator.load(whole.save(tmp_path / "half"))
    for sim in (whole, shared, again):
        sim.data.ctrl[:] = [0.021, -0.021, 0.05]
        sim.advance_to(0.3)
    assert np.array_equal(whole.data.qpos, shared.data.qpos)
    assert np.array_equal(whole.data.qpos, again.data.qpos)


def test_nothing_intersects_in_midas() -> None:
    """Pads press a box, each other's hand is near: `ipctk` looks at every step."""
    sim = asp.Simulator(_bubbles(), integrator=asp.Midas(time_step=0.01, verify=True))
    sim.data.ctrl[:] = [0.025, -0.025, 0.05]
    sim.advance_to(0.5)
    assert sim.clearance is not None
    assert sim.clearance > 0.0


@pytest.mark.parametrize(
    "integrator", [asp.Icf(time_step=1e-3), asp.Midas(time_step=2e-3)], ids=["icf", "midas"]
)
def test_a_pad_hits_a_cube_and_both_keep_momentum(integrator: asp.Integrator) -> None:
    body = "<body name='b' pos='0 0 .2'><freejoint/><geom type='box' size='.03 .03 .02' mass='.2'/>"
    pad = _pad("3 3 3", "0 0 0 2 2 0", at="0 0 0.04")
    model = compile_soft(f"{body}{pad}</body>" + cube(height=0.29, side=0.04), gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[2] = 0.5
    before = _momenta(model, sim.data)
    sim.advance_to(0.15)
    assert sim.data.qvel[-27 * 3 + 2 :: 3].mean() > 0.1
    change = np.abs(_momenta(model, sim.data) - before)
    assert change.max() < 1e-7


_CORE = "<geom size='.02' mass='.1' contype='0' conaffinity='0'/>"
_HELD = "<edge equality='true'/><contact selfcollide='none' friction='.5'/>"


def _radial(height: float) -> str:
    """A free body in a box of 90 mm, whose vertices slide along rays and are held by edges."""
    return (
        f"<body name='b' pos='0 0 {height}'><freejoint/>{_CORE}<flexcomp name='f' type='box' dim='3'"
        " count='4 4 4' spacing='.03 .03 .03' radius='.002' mass='.2' dof='radial'>"
        f"{_HELD}</flexcomp></body>"
    )


@pytest.mark.parametrize(
    ("integrator", "linear", "angular"),
    [
        (asp.Icf(time_step=1e-3), 1e-12, 1e-3),
        (asp.Cenic(accuracy=1e-5), 1e-5, 1e-4),
        (asp.Midas(time_step=1e-3), 1e-9, 1e-3),
    ],
    ids=NAMES,
)
def test_vertices_along_rays_and_their_body_keep_momentum(
    integrator: asp.Integrator, linear: float, angular: float
) -> None:
    model = compile_soft(_radial(1.0), gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[:6] = [0.2, -0.1, 0.3, 2.0, 3.0, -1.0]
    before = _momenta(model, sim.data)
    sim.advance_to(0.3)
    change = np.abs(_momenta(model, sim.data) - before)
    assert change[:3].max() < linear * np.abs(before[:3]).max()
    assert change[3:].max() < angular * np.abs(before[3:]).max()


@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
def test_vertices_along_rays_bear_their_body(integrator: asp.Integrator) -> None:
    model = compile_soft("<geom type='plane' size='1 1 .1' friction='.5'/>" + _radial(0.06))
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.0)
    assert np.abs(sim.data.qvel).max() < 1e-3
    on_floor = np.where(sim.contacts.flex[:, 0] == 0, -1.0, 1.0)
    assert on_floor @ sim.contacts.force[:, 2] == pytest.approx(
        9.81 * model.body_mass.sum(), rel=1e-4
    )


@pytest.mark.parametrize(
    "integrator",
    # Implicit Euler stops by v δt/2 earlier.
    [asp.Icf(time_step=1e-3), asp.Cenic(accuracy=1e-4), asp.Midas(time_step=1e-3)],
    ids=NAMES,
)
@pytest.mark.parametrize("dim", [2, 3])
def test_a_rigid_flex_slides_and_stops_as_its_body(integrator: asp.Integrator, dim: int) -> None:
    """After v²/2μg, and the floor bears its weight."""
    model = compile_soft(
        "<geom type='plane' size='1 1 .1' friction='.5'/><body name='b' pos='0 0 .036'><freejoint/>"
        "<inertial pos='0 0 0' mass='.3' diaginertia='2e-4 2e-4 2e-4'/>"
        f"<flexcomp name='f' type='box' dim='{dim}' count='3 3 3' spacing='.03 .03 .03'"
        " radius='.005' rigid='true'><contact selfcollide='none' friction='.5'/></flexcomp></body>"
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.2)
    start = sim.data.qpos[0]
    sim.data.qvel[0] = 0.6
    sim.advance_to(0.5)
    assert sim.data.qpos[0] - start == pytest.approx(0.6**2 / (2.0 * 0.5 * 9.81), rel=2e-2)
    assert np.abs(sim.data.qvel).max() < 1e-3
    on_floor = np.where(sim.contacts.flex[:, 0] == 0, -1.0, 1.0)
    assert on_floor @ sim.contacts.force[:, 2] == pytest.approx(0.3 * 9.81, rel=1e-3)


@pytest.mark.parametrize(
    ("integrator", "within"),
    [
        (asp.Icf(time_step=2e-3), 1e-3),
        (asp.Cenic(accuracy=1e-5), 2e-2),
        (asp.Midas(time_step=5e-3), 1e-3),
    ],
    ids=NAMES,
)
def test_a_fin_in_a_plane_presses_with_the_force_of_its_motor(
    integrator: asp.Integrator, within: float
) -> None:
    """Its vertices have two axes, in the plane of the fin, and its edges are held."""
    model = compile_soft(
        "<geom type='box' size='.02 .1 .1' pos='.09 0 0'/>"
        "<body name='b'><joint name='slide' type='slide' axis='1 0 0' damping='5'/>"
        "<geom type='box' size='.01 .05 .05' pos='-.04 0 0' mass='.3' contype='0' conaffinity='0'/>"
        "<flexcomp name='fin' type='grid' dim='2' count='5 3 1' spacing='.02 .02 .02' mass='.05'"
        f" radius='.004' dof='2d'><pin gridrange='0 0 0 2'/>{_HELD}</flexcomp></body>",
        gravity=0.0,
        sections="<actuator><motor joint='slide'/></actuator>",
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.ctrl[:] = 2.0
    sim.advance_to(1.0)
    force = np.abs(sim.contacts.force[:, 0].sum())
    assert force == pytest.approx(2.0, rel=within)
