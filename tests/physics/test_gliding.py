"""Bodies that slide under the SAP paper's law or the similar one glide, and are held up there.

By default those of `Sap` do not, and have Coulomb's friction on the floor.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from physics_models import compile_mjcf

import asperity as asp

GRAVITY, FRICTION, SLOPE = 9.81, 0.3, np.deg2rad(25.0)
INCLINE = f"""
<mujoco>
  <option gravity="{GRAVITY * np.sin(SLOPE)} 0 {-GRAVITY * np.cos(SLOPE)}"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body pos="0 0 0.05"><freejoint/>
      <geom name="block" type="box" size="0.1 0.1 0.05" mass="2"/>
    </body>
  </worldbody>
</mujoco>
"""
ON_LEVEL = INCLINE.replace(
    f"{GRAVITY * np.sin(SLOPE)} 0 {-GRAVITY * np.cos(SLOPE)}", f"0 0 {-GRAVITY}"
)
CONTACT = asp.ContactParameters(friction=FRICTION)


def _accelerations(integrator: asp.Integrator, xml: str = INCLINE) -> np.ndarray:
    """Mean acceleration in each of six windows of 0.2 s [m/s²]."""
    sim = asp.Simulator(xml, integrator=integrator, contact=CONTACT)
    speeds = [0.0]
    for window in range(6):
        assert sim.advance_to(0.2 * (window + 1)).success
        speeds.append(float(sim.data.qvel[0]))
    return np.diff(speeds) / 0.2


EXACT = GRAVITY * (np.sin(SLOPE) - FRICTION * np.cos(SLOPE))


@pytest.mark.parametrize(
    "integrator",
    [
        asp.Sap(),
        asp.Sap(time_step=2e-3, relaxation_time=0.02),
        asp.Sap(time_step=2e-3, theta_scheme="midpoint", relaxation_time=0.02),
        asp.Sap(time_step=2e-3, theta_scheme="implicit-euler"),
        asp.Sap(accuracy=1e-3),
    ],
    ids=["10 ms", "2 ms", "midpoint", "implicit Euler", "controlled"],
)
@pytest.mark.parametrize("friction", [0.1, 0.5, 1.0])
def test_by_default_sap_slides_on_the_floor(integrator: asp.Sap, friction: float) -> None:
    """Tenths of a millimetre are the overlap at rest, with default stiffness."""
    contact = asp.ContactParameters(friction=friction)
    sim = asp.Simulator(ON_LEVEL, integrator=integrator, contact=contact)
    sim.data.qvel[0] = 1.5
    stop = 1.5 / (friction * GRAVITY)
    for share in np.linspace(0.1, 0.9, 9):
        assert sim.advance_to(share * stop).success
        assert -2e-4 < sim.data.qpos[2] - 0.05 < 1e-6
    # No step knows the normal force of its first contact, at worst.
    assert sim.data.qvel[0] == pytest.approx(0.15, abs=2e-3)
    assert sim.stats.fallbacks == 0


@pytest.mark.parametrize("step", [1e-3, 2e-3, 9.1e-3, 1e-2])
@pytest.mark.parametrize("friction", [0.1, 0.5, 1.5])
def test_by_default_the_first_step_of_a_slide_has_its_friction(
    step: float, friction: float
) -> None:
    """It begins at no distance, so that its first direction of Newton's method knows no contact."""
    contact = asp.ContactParameters(friction=friction)
    sim = asp.Simulator(ON_LEVEL, integrator=asp.Sap(time_step=step), contact=contact)
    sim.data.qvel[0] = 1.5
    assert sim.advance_to(step).success
    normal = sim.contacts.force[:, 2].sum()
    assert normal > 0.2 * 2.0 * GRAVITY
    assert 1.5 - sim.data.qvel[0] == pytest.approx(friction * normal * step / 2.0, rel=0.02)


@pytest.mark.parametrize("spin", [8.0, 20.0])
def test_by_default_a_stack_of_spinning_boxes_bears_its_weight(spin: float) -> None:
    """Ten boxes of 0.5 kg, μ = 1, each of which spins the other way than its neighbours."""
    boxes = "".join(
        f"<body pos='0 0 {0.05 + 0.1 * i}'><freejoint/>"
        "<geom type='box' size='.05 .05 .05' mass='.5'/></body>"
        for i in range(10)
    )
    sim = asp.Simulator(
        f"<mujoco><worldbody><geom type='plane' size='5 5 1'/>{boxes}</worldbody></mujoco>",
        integrator=asp.Sap(time_step=5e-3),
        contact=asp.ContactParameters(friction=1.0),
    )
    assert sim.advance_to(2.0).success
    sim.data.qvel[5::6] = spin * np.resize([1.0, -1.0], 10)
    top = sim.data.qpos[-5]
    for k in range(1, 101):
        assert sim.advance_to(2.0 + 0.01 * k).success
        assert abs(sim.data.qpos[-5] - top) < 5e-4
    assert np.abs(sim.data.qvel[5::6]).max() < 1e-3
    assert sim.stats.fallbacks == 0


@pytest.mark.parametrize("step", [1e-2, 1e-3])
@pytest.mark.parametrize("law", ["sap", "midpoint", "similar"])
def test_friction_on_an_incline_is_steady(law: str, step: float) -> None:
    integrator: asp.Integrator = asp.Icf(time_step=step, friction_bound="similar")
    if law != "similar":
        scheme = "midpoint" if law == "midpoint" else "symplectic-euler"
        integrator = asp.Sap(time_step=step, theta_scheme=scheme, gliding=True)
    np.testing.assert_allclose(_accelerations(integrator), EXACT, rtol=0.01)


@pytest.mark.parametrize(("accuracy", "tolerance"), [(1e-3, 0.06), (1e-5, 0.01)])
def test_so_it_is_in_steps_of_any_size(accuracy: float, tolerance: float) -> None:
    # The height at which a body glides is another one for every step size. What a window gets
    # depends on where steps happen to fall: of several accuracies around the one the median counts.
    errors = [
        np.max(
            np.abs(_accelerations(asp.Sap(accuracy=near * accuracy, gliding=True)) / EXACT - 1.0)
        )
        for near in np.geomspace(0.7, 1.4, 7)
    ]
    assert np.median(errors) < tolerance


@pytest.mark.parametrize("kind", ["pair", "override"])
def test_so_it_is_with_other_sources_of_margins(kind: str) -> None:
    extra = {
        "pair": (
            "</worldbody>",
            '</worldbody><contact><pair geom1="floor" geom2="block"/></contact>',
        ),
        "override": ("<worldbody>", '<option><flag override="enable"/></option><worldbody>'),
    }
    xml = INCLINE.replace(*extra[kind], 1)
    np.testing.assert_allclose(_accelerations(asp.Sap(gliding=True), xml), EXACT, rtol=0.01)


def test_a_belt_drags_a_block_steadily() -> None:
    # What moves is the surface. It throws the block up, and from 0.4 s on drags it steadily.
    xml = INCLINE.replace(
        'type="plane" size="0 0 1"', 'type="plane" size="0 0 1" surfacevel="3 0 0"'
    ).replace(f"{GRAVITY * np.sin(SLOPE)} 0", "0 0")
    sim = asp.Simulator(xml, integrator=asp.Sap(gliding=True), contact=CONTACT)
    speeds = [0.0]
    for window in range(5):
        assert sim.advance_to(0.2 * (window + 1)).success
        speeds.append(abs(float(sim.data.qvel[0])))
    expected = FRICTION * GRAVITY * np.cos(SLOPE)
    np.testing.assert_allclose(np.diff(speeds)[2:] / 0.2, expected, rtol=0.01)


def test_forces_of_a_gliding_body_are_published() -> None:
    sim = asp.Simulator(INCLINE, integrator=asp.Sap(gliding=True), contact=CONTACT)
    assert sim.advance_to(1.0).success
    normal = 2.0 * GRAVITY * np.cos(SLOPE)
    assert np.all(sim.data.contact.dist > 0.0)
    expected = [-FRICTION * normal, 0.0, normal]
    np.testing.assert_allclose(sim.contacts.force.sum(axis=0), expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(sim.data.qfrc_constraint[:3], expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("height", [0.002, 0.01])
def test_who_flies_past_is_not_touched(height: float) -> None:
    # Far below the height at which it would glide, 0.06 m: the law would throw it up.
    sim = asp.Simulator(
        INCLINE.replace(f"{GRAVITY * np.sin(SLOPE)} 0 {-GRAVITY * np.cos(SLOPE)}", "0 0 0"),
        integrator=asp.Sap(gliding=True),
        contact=CONTACT,
    )
    sim.data.qpos[2] += height
    sim.data.qvel[0] = 10.0
    assert sim.advance_to(0.5).success
    np.testing.assert_allclose(sim.data.qvel, [10.0, 0, 0, 0, 0, 0], atol=1e-12)


def test_a_rolling_ball_finds_nothing_at_a_distance() -> None:
    xml = """<mujoco><worldbody><geom type="plane" size="0 0 1"/>
      <geom type="box" size="5 0.1 0.1" pos="0 0.21 0.1"/>
      <body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body>
    </worldbody></mujoco>"""
    sim = asp.Simulator(xml, integrator=asp.Sap(gliding=True), contact=CONTACT)
    sim.data.qvel[[0, 4]] = 1.0, 10.0
    assert sim.advance_to(1.0).success
    assert sim.data.qpos[0] == pytest.approx(1.0, rel=2e-3)
    assert abs(sim.data.qpos[1]) < 1e-6
    assert len(sim.contacts.force) == 1


def test_the_model_keeps_its_margins_and_what_a_user_changes_counts() -> None:
    model = mujoco.MjModel.from_xml_string(
        INCLINE.replace('name="block"', 'name="block" friction="0.3"').replace(
            'name="floor"', 'name="floor" friction="0.3"'
        )
    )
    sim = asp.Simulator(model, integrator=asp.Sap(gliding=True))
    assert sim.advance_to(0.4).success
    assert np.all(model.geom_margin == 0.0)
    assert np.all(model.body_margin == 0.0)
    before = sim.data.qvel[0]
    model.geom_friction[:, 0] = 0.2
    assert sim.advance_to(0.8).success
    acceleration = (sim.data.qvel[0] - before) / 0.4
    expected = GRAVITY * (np.sin(SLOPE) - 0.2 * np.cos(SLOPE))
    assert acceleration == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("gliding", [False, True])
@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_cans_that_spin_upright_stay_on_the_floor(slope: float, gliding: bool) -> None:
    """MuJoCo takes round-off for the tilt of a cylinder that stands to within 10⁻¹⁵ rad."""
    model = compile_mjcf(
        f"<geom type='plane' size='9 9 1' euler='0 {math.degrees(slope)} 0' friction='2'/>"
        f"<body pos='{0.0599 * math.sin(slope)} 0 {0.0599 * math.cos(slope)}' euler='0 {math.degrees(slope)} 0'>"
        "<freejoint/><geom type='cylinder' size='.033 .06' mass='.35' friction='2'/></body>",
    )
    random = np.random.default_rng(0)
    for _ in range(8):
        sim = asp.Simulator(model, integrator=asp.Sap(time_step=1e-3, gliding=gliding))
        turn = np.array([math.cos(angle := random.uniform(0.0, math.pi)), 0, 0, math.sin(angle)])
        mujoco.mju_mulQuat(sim.data.qpos[3:7], sim.data.qpos[3:7].copy(), turn)
        sim.data.qvel[5] = random.uniform(4.0, 6.0)
        sim.take_over()
        normal = np.array([math.sin(slope), 0.0, math.cos(slope)])
        for k in range(1, 41):
            assert sim.advance_to(0.05 * k).success
            assert abs(sim.data.qpos[:3] @ normal - 0.06) < 1e-3
