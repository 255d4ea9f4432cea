"""What is on the bodies of a flex's vertices in Midas: geoms, sites, joints that resist or drive."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.linalg import expm
from soft_models import Array

import asperity as asp

AXES = ("1 0 0", "0 1 0", "0 0 1")


def _vertices(
    places: list[tuple[float, float, float]],
    *,
    joint: str = "",
    inside: str = "",
    contact: str = "contype='0' conaffinity='0'",
    around: tuple[str, str] = ("", ""),
    sections: str = "",
    gravity: float = 9.81,
) -> mujoco.MjModel:
    """Vertices of 0.5 kg that nothing holds together, with elements from one to the next.

    What is ``inside`` all vertices' bodies may have their number as {i}.
    """
    joints = "".join(
        f"<joint name='{name}{{i}}' type='slide' axis='{axis}' {joint}/>"
        for name, axis in zip("xyz", AXES, strict=True)
    )
    bodies = "".join(
        f"<body name='v{i}' pos='{x} {y} {z}'>"
        f"<inertial pos='0 0 0' mass='0.5' diaginertia='1e-4 1e-4 1e-4'/>{joints.format(i=i)}"
        f"{inside.format(i=i)}</body>"
        for i, (x, y, z) in enumerate(places)
    )
    count = len(places)
    names = " ".join(f"v{i}" for i in range(count))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option gravity='0 0 {-gravity}'/><worldbody>{around[0]}{bodies}{around[1]}"
        f"</worldbody><deformable><flex name='f' dim='1' radius='0.005' body='{names}'"
        f" vertex='{' '.join(['0 0 0'] * count)}'"
        f" element='{' '.join(f'{i} {i + 1}' for i in range(count - 1))}'>"
        f"<contact selfcollide='none' {contact}/></flex></deformable>{sections}</mujoco>"
    )


BALL = "<geom name='g{i}' size='0.02' mass='0' contype='4' conaffinity='4'/>"
FLOOR = ("<geom type='plane' size='1 1 .1' contype='4' conaffinity='4'/>", "")


def test_geoms_on_vertices_rest_on_the_floor() -> None:
    """They bear the vertices' weight at their radius, and the flex itself touches nothing."""
    model = _vertices([(0, 0, 0.05), (0.3, 0, 0.1)], inside=BALL, around=FLOOR)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=5e-3, verify=True))
    sim.advance_to(0.5)
    assert np.abs(sim.data.qvel).max() < 1e-3
    assert sim.data.geom("g1").xpos[2] == pytest.approx(0.02, abs=1e-3)
    assert sorted(sim.contacts.geom.max(axis=1)) == [1, 2]
    assert np.abs(sim.contacts.force[:, 2]) == pytest.approx([0.5 * 9.81] * 2, rel=1e-4)


def test_geoms_on_vertices_collide_with_each_other() -> None:
    """They never pass through each other, and keep momentum."""
    model = _vertices([(0, 0, 0), (0.1, 0, 0), (0.1, 0.3, 0)], inside=BALL, gravity=0.0)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=5e-3))
    sim.data.qvel[0] = 1.0
    sim.advance_to(0.3)
    x = sim.data.flexvert_xpos[:, 0]
    assert x[1] - x[0] > 0.04
    assert sim.data.qvel[[0, 3]].sum() == pytest.approx(1.0, abs=1e-9)
    assert sim.data.qvel[3] > 0.4
    assert sim.data.qvel[6:] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shape", ["type='sphere'", "type='box' pos='.01 0 0'"])
def test_geoms_on_vertices_push_other_flexes(shape: str) -> None:
    """A vertex meets the middle of another rope, which it drives on, and momentum is kept."""
    slides = "".join(f"<joint type='slide' axis='{axis}'/>" for axis in AXES)
    geom = f"<geom {shape} size='.02 .02 .02' mass='0' contype='4' conaffinity='4' condim='1'/>"
    places = {"a0": "0 0 0", "a1": "-.2 .3 0", "b0": ".1 -.1 0", "b1": ".1 .1 0"}
    bodies = "".join(
        f"<body name='{name}' pos='{place}'>{slides}{geom if name == 'a0' else ''}"
        "<inertial pos='0 0 0' mass='.5' diaginertia='1e-4 1e-4 1e-4'/></body>"
        for name, place in places.items()
    )
    flexes = "".join(
        f"<flex name='{name}' dim='1' radius='.005' body='{name}0 {name}1' element='0 1'"
        " vertex='0 0 0 0 0 0'><contact selfcollide='none' contype='0' condim='1'"
        f" conaffinity='{4 if name == 'b' else 0}'/></flex>"
        for name in "ab"
    )
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><option gravity='0 0 0'/><worldbody>{bodies}</worldbody>"
        f"<deformable>{flexes}</deformable></mujoco>"
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=2e-3, verify=True))
    sim.data.qvel[0] = 1.0
    sim.advance_to(0.2)
    # Nothing rebounds, but steps of twice the activation distance end deep in the barrier.
    assert 0.0 < sim.data.qvel[6] - sim.data.qvel[0] < 0.1
    assert sim.data.qvel[6] == pytest.approx(sim.data.qvel[9], abs=1e-6)
    assert sim.data.qvel.reshape(-1, 3).sum(axis=0) == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
    assert sim.data.qvel[3:6] == pytest.approx(0.0, abs=1e-12)


def _oscillator(mass: float, damping: float, stiffness: float, push: float, h: float) -> Array:
    """Where a mass on a spring and a damper is after 0.2 s in steps of h [s], from rest at 0."""
    rates = [[0.0, 1.0, 0.0], [-stiffness / mass, -damping / mass, push / mass], [0.0, 0.0, 0.0]]
    times = np.arange(1, round(0.2 / h) + 1) * h
    return np.array([expm(time * np.array(rates))[0, 2] for time in times])


def _is_of_second_order(errors: list[float], largest: float) -> bool:
    """Whether errors of two steps, the second half as long, are small, and fall as squares."""
    return errors[1] < max(0.3 * errors[0], 1e-9) and errors[0] < largest


SITES = "<site name='s{i}'/>"
SPRING = (
    "<tendon><spatial name='t' stiffness='80' springlength='0.2' {more}>"
    "<site site='s0'/><site site='s1'/></spatial></tendon>"
)


def test_a_tendon_between_vertices_pulls_both() -> None:
    """Along its line it is a linear spring."""
    model = _vertices(
        [(0, 0, 0), (0.3, 0, 0)], inside=SITES, sections=SPRING.format(more=""), gravity=0.0
    )
    errors = []
    for h in (1e-2, 5e-3):
        stretch = 0.1 + _oscillator(1.0, 0.0, 320.0, -32.0, h)
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=h))
        errors.append(0.0)
        for step, expected in enumerate(stretch, 1):
            sim.advance_to(step * h)
            x = sim.data.flexvert_xpos
            errors[-1] = max(errors[-1], abs(x[1, 0] - x[0, 0] - 0.2 - expected))
            assert x[:, 0].mean() == pytest.approx(0.15, abs=1e-7)
    assert _is_of_second_order(errors, 5e-3)


def test_an_equality_of_a_tendon_holds_its_length() -> None:
    """Of a pendulum that swings on a vertex, the distance from a site of the world stays."""
    model = _vertices(
        [(0.3, 0, 0), (0.3, 0.2, 0)],
        inside=SITES,
        around=("<site name='top'/>", ""),
        sections="<tendon><spatial name='t'><site site='top'/><site site='s0'/></spatial></tendon>"
        "<equality><tendon tendon1='t'/></equality>",
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=1e-3))
    sim.advance_to(0.2)
    x = sim.data.flexvert_xpos
    assert np.linalg.norm(x[0]) == pytest.approx(0.3, abs=1e-5)
    assert x[0, 2] < -0.15
    assert x[1, 2] == pytest.approx(-0.5 * 9.81 * 0.2**2, abs=1e-9)


@pytest.mark.parametrize(
    ("joint", "stiffness"), [("", 30.0), ("stiffness='30' springref='-0.1'", 0.0)]
)
def test_springs_in_a_moving_body_keep_momentum(joint: str, stiffness: float) -> None:
    """A tendon, or joints, pull a vertex, whose slides are on the body, towards that body.

    Their lines of action are those of the step's beginning.
    """
    slides = "".join(f"<joint type='slide' axis='{axis}' {joint}/>" for axis in AXES)
    vertices = "".join(
        f"<body name='v{i}' pos='0.3 {0.1 * i} 0'>{slides}<site name='s{i}'/>"
        "<inertial pos='0 0 0' mass='0.2' diaginertia='1e-9 1e-9 1e-9'/></body>"
        for i in range(2)
    )
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option gravity='0 0 0'/><worldbody>"
        "<body name='b' quat='.9 .1 .3 .2'><freejoint/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='.01 .02 .015'/><site name='own' pos='0 .1 .1'/>"
        f"{vertices}</body></worldbody><deformable><flex name='f' dim='1' radius='0.005'"
        " body='b v0 v1' vertex='0 0 0 0 0 0 0 0 0' element='0 1 1 2'>"
        "<contact selfcollide='none' contype='0' conaffinity='0'/></flex></deformable>"
        f"<tendon><spatial name='t' stiffness='{stiffness}' springlength='0.1'><site site='own'/>"
        "<site site='s0'/></spatial></tendon></mujoco>"
    )
    own = mujoco.MjData(model)
    errors = []
    for h in (4e-4, 2e-4):
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=h))
        sim.advance_to(0.2)
        own.qpos[:], own.qvel[:] = sim.data.qpos, sim.data.qvel
        mujoco.mj_forward(model, own)
        mujoco.mj_subtreeVel(model, own)
        assert 1.4 * own.subtree_linvel[0] == pytest.approx(0.0, abs=1e-6)
        assert np.abs(own.qvel).max() > 0.1
        errors.append(float(np.abs(own.subtree_angmom[0]).max()))
    assert errors[1] < 0.6 * errors[0] < 3e-4


@pytest.mark.parametrize(
    "joint", ["", "stiffness='40' springref='0.1'", "armature='0.3'", "stiffness='40' armature='1'"]
)
@pytest.mark.parametrize("damping", [0.0, 2.0])
def test_springs_and_dampers_of_joints(joint: str, damping: float) -> None:
    """A vertex on a spring and a damper along an axis."""
    model = _vertices([(0, 0, 0), (0.3, 0, 0)], joint=joint)
    model.dof_damping[:] = damping
    stiffness, target = float(model.jnt_stiffness[2]), float(model.qpos_spring[2])
    mass = 0.5 + float(model.dof_armature[2])
    errors = []
    for h in (1e-2, 5e-3):
        expected = _oscillator(mass, damping, stiffness, stiffness * target - 0.5 * 9.81, h)
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=h))
        errors.append(0.0)
        for step, place in enumerate(expected, 1):
            sim.advance_to(step * h)
            errors[-1] = max(errors[-1], *np.abs(sim.data.qpos[[2, 5]] - place))
    assert _is_of_second_order(errors, 5e-4)


def test_dry_friction_of_joints() -> None:
    """It brakes a vertex by F/m, and holds another whose weight is less than it."""
    model = _vertices([(0, 0, 0), (0.3, 0, 0)], joint="frictionloss='6'")
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=1e-3))
    sim.data.qvel[0] = 2.4
    sim.advance_to(0.1)
    assert sim.data.qvel[0] == pytest.approx(2.4 - 12.0 * 0.1, abs=1e-6)
    sim.advance_to(0.5)
    assert sim.data.qpos[0] == pytest.approx(2.4**2 / 24.0, rel=2e-2)
    assert np.abs(sim.data.qpos[[2, 5]]).max() < 1e-3


def test_actuators_drive_joints_of_vertices() -> None:
    """A motor accelerates a vertex, and a servo moves the other one."""
    model = _vertices(
        [(0, 0, 0), (0.3, 0, 0)],
        gravity=0.0,
        sections="<actuator><motor joint='x0'/><position joint='y1' kp='30' kv='2'/></actuator>",
    )
    errors = []
    for h in (1e-2, 5e-3):
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=h))
        sim.data.ctrl[:] = 0.7, 0.1
        errors.append(0.0)
        for step, place in enumerate(_oscillator(0.5, 2.0, 30.0, 3.0, h), 1):
            sim.advance_to(step * h)
            errors[-1] = max(errors[-1], abs(sim.data.qpos[4] - place))
        assert sim.data.qvel[0] == pytest.approx(0.7 / 0.5 * 0.2, rel=1e-9)
        assert np.abs(sim.data.qvel[[1, 2, 3, 5]]).max() < 1e-9
    assert _is_of_second_order(errors, 1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inside": BALL, "contact": "contype='4'"}, "which it touches from the start"),
        ({"joint": "limited='true' range='-1 1'"}, "have limits"),
    ],
)
def test_what_is_refused_on_vertices(options: dict[str, str], message: str) -> None:
    with pytest.raises(asp.ModelError, match=message):
        asp.Simulator(_vertices([(0, 0, 0), (0.3, 0, 0)], **options), integrator=asp.Midas())
