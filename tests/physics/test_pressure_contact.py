"""Simulations with pressure fields: physics, integrators, parameters and results."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY

import asperity as asp
from studies.scenes.cenic_cases import falling_cylinder, static_gripper

MODULUS = 1e6
SOFT = asp.ContactParameters(surface="compliant", hydroelastic_modulus=MODULUS, dissipation=0.0)
DAMPED = asp.ContactParameters(surface="compliant", hydroelastic_modulus=MODULUS, dissipation=20.0)
FLOOR = '<geom name="floor" type="plane" size="1 1 .1"/>'


def body(geom: str, place: str = "0 0 .05", more: str = "") -> str:
    return f'<body pos="{place}"><freejoint/><geom name="body" {geom} density="1000"/>{more}</body>'


CUBE = body('type="box" size=".05 .05 .05"')


def simulator(
    worldbody: str,
    integrator: asp.Integrator | None = None,
    contact: asp.ContactParameters = DAMPED,
    more: str = "",
) -> asp.Simulator:
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco>{more}<worldbody>{worldbody}</worldbody></mujoco>"
    )
    return asp.Simulator(model, integrator=integrator, contact=contact)


def frequency(time: np.ndarray, value: np.ndarray) -> float:
    """Of an undamped oscillation, from its zero crossings [Hz]."""
    value = value - value.mean()
    up = np.flatnonzero((value[:-1] < 0.0) & (value[1:] >= 0.0))
    crossings = time[up] - value[up] * (time[up + 1] - time[up]) / (value[up + 1] - value[up])
    return float((len(crossings) - 1) / (crossings[-1] - crossings[0]))


def rocking_box(half: np.ndarray) -> mujoco.MjModel:
    """A box that moves up and down and turns about its middle."""
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="0 0 -9.81"/><worldbody>{FLOOR}
        <body pos="0 0 {half[2]}"><joint name="z" type="slide" axis="0 0 1"/>
        <joint name="turn" type="hinge" axis="0 1 0"/>
        <geom type="box" size="{half[0]} {half[1]} {half[2]}" density="1000"/></body>
        </worldbody></mujoco>"""
    )


def frictionless(dissipation: float) -> asp.ContactParameters:
    return asp.ContactParameters(
        surface="compliant", hydroelastic_modulus=MODULUS, dissipation=dissipation, friction=0.0
    )


def test_a_box_rocks_with_the_stiffness_of_its_field() -> None:
    """Springs of E/ℓ per area under a box: ω² = (E/ℓ b³ a/12 − m g l)/I about its edge's axis.

    A slide along the plane is free, so that the box turns about its centre of mass.
    """
    half = np.array([0.05, 0.04, 0.03])
    sides = 2.0 * half
    mass = 1000.0 * np.prod(sides)
    inertia = mass * (sides[0] ** 2 + sides[2] ** 2) / 12.0
    per_area = MODULUS / half.min()
    depth = mass * GRAVITY / (per_area * sides[0] * sides[1])
    sim = asp.Simulator(
        rocking_box(half),
        integrator=asp.Cenic(accuracy=1e-8),
        contact=frictionless(0.0),
    )
    sim.data.qpos[:] = [-depth, 1e-5]
    time, angle = [], []
    for t in np.linspace(0.0, 0.15, 400)[1:]:
        sim.advance_to(float(t))
        time.append(t)
        angle.append(float(sim.data.qpos[1]))
    stiffness = per_area * sides[1] * sides[0] ** 3 / 12.0 - mass * GRAVITY * half[2]
    exact = np.sqrt(stiffness / inertia) / (2.0 * np.pi)
    assert frequency(np.array(time), np.array(angle)) == pytest.approx(exact, rel=0.01)


def test_a_side_force_tilts_a_box_as_springs_under_it_would() -> None:
    """θ = F h / (E/ℓ b³ a/12 − m g l): the force F acts at a height h above the middle."""
    half = np.array([0.05, 0.04, 0.03])
    sim = asp.Simulator(
        rocking_box(half), integrator=asp.Icf(time_step=1e-3), contact=frictionless(20.0)
    )
    sides = 2.0 * half
    weight = 1000.0 * np.prod(sides) * GRAVITY
    per_area = MODULUS / half.min()
    stiffness = per_area * sides[1] * sides[0] ** 3 / 12.0 - weight * half[2]
    force, height = 0.1 * weight, 0.8 * half[2]
    sim.data.xfrc_applied[1, 4] = force * height
    sim.advance_to(1.0)
    assert np.abs(sim.data.qvel).max() < 1e-7
    assert sim.data.qpos[1] == pytest.approx(force * height / stiffness, rel=0.01)


def test_fingers_press_with_modulus_times_overlap_times_area() -> None:
    """CENIC's static gripper: 1e7 Pa over 5 mm in peg and finger, in series, and 10 µm of overlap.

    Both are 1 cm wide and cross at an angle of 80°.
    """
    sim = asp.Simulator(static_gripper("fields"), integrator=asp.Icf(time_step=1e-3))
    sim.reset("start")
    sim.advance_to(0.05)
    exact = 1e7 / (5e-3 + 5e-3) * 1e-5 * 1e-4 / np.sin(np.deg2rad(80.0))
    peg = sim.model.geom("peg").id
    for finger in ("left", "right"):
        geom = sim.model.geom(finger).id
        mine = np.all(np.sort(sim.patches.geom, axis=1) == sorted((geom, peg)), axis=1)
        assert np.linalg.norm(sim.patches.force[mine].sum(axis=0)) == pytest.approx(exact, rel=2e-3)


def test_steps_have_the_forces_of_the_laws_as_they_get_short() -> None:
    """What convex potentials and TAMSI deliver in a step h is the laws' instant force, to O(h)."""
    accelerations = {}
    for name, integrator in (
        ("law", asp.RungeKutta3(time_step=1e-9)),
        *((f"icf {h}", asp.Icf(time_step=h)) for h in (1e-6, 1e-7)),
        *((f"tamsi {h}", asp.Tamsi(time_step=h)) for h in (1e-6, 1e-7)),
    ):
        sim = simulator(FLOOR + body('type="cylinder" size=".05 .05"', "0 0 .0495", ""), integrator)
        sim.data.qvel[:] = [0.3, -0.2, -0.02, 0.4, -0.3, 2.0]
        start = sim.data.qvel.copy()
        sim.step()
        accelerations[name] = (sim.data.qvel - start) / sim.time
    law = accelerations.pop("law")
    assert np.abs(law).max() > 10.0
    error = {name: np.abs(a - law).max() / np.abs(law).max() for name, a in accelerations.items()}
    for method in ("icf", "tamsi"):
        assert error[f"{method} 1e-06"] < 5e-3
        assert error[f"{method} 1e-07"] < 0.15 * error[f"{method} 1e-06"]


def test_a_ball_bounces_on_its_field_without_losing_energy() -> None:
    ball = body('type="sphere" size=".05"', "0 0 .08")
    sim = simulator(FLOOR + ball, asp.Cenic(accuracy=1e-7), SOFT)
    before = sum(sim.energy())
    speeds = []
    for t in np.arange(0.02, 0.4, 0.02):
        sim.advance_to(float(t))
        speeds.append(float(sim.data.qvel[2]))
    assert max(speeds) > 0.5  # it has bounced
    assert sum(sim.energy()) == pytest.approx(before, rel=2e-3)


@pytest.mark.parametrize(
    "integrator",
    [
        asp.Cenic(accuracy=1e-3),
        asp.Cenic(accuracy=1e-3, error_estimate="trapezoid"),
        asp.Icf(time_step=2e-3),
        asp.Sap(time_step=2e-3),
        asp.Tamsi(time_step=1e-3),
        asp.Rosenbrock2(accuracy=1e-4),
        asp.Sdirk2(accuracy=1e-4),
        asp.ImplicitEuler(accuracy=1e-3),
        asp.RungeKutta3(accuracy=1e-7, max_step=1e-3),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_box_rests_at_the_depth_of_its_weight(integrator: asp.Integrator) -> None:
    sim = simulator(FLOOR + CUBE, integrator)
    sim.advance_to(0.6)
    weight = 1000.0 * 0.1**3 * GRAVITY
    depth = weight / (MODULUS / 0.05 * 0.1**2)
    assert 0.05 - sim.data.qpos[2] == pytest.approx(depth, rel=0.02)
    assert sim.contacts.normal_force.sum() == pytest.approx(weight, rel=0.02)
    assert np.all(sim.contacts.patch == 0)


def test_all_integrators_fall_onto_the_same_cylinder() -> None:
    """CENIC's falling cylinder, of all that have Hunt–Crossley dissipation, before it rolls."""
    contact = asp.ContactParameters(
        surface="compliant", hydroelastic_modulus=1e7, dissipation=50.0, resolution=0.02
    )
    ends = []
    for integrator in (
        asp.Cenic(accuracy=1e-5),
        asp.Icf(time_step=2e-4),
        asp.Tamsi(time_step=2e-4),
        asp.ImplicitEuler(accuracy=1e-5),
    ):
        sim = asp.Simulator(falling_cylinder(), integrator=integrator, contact=contact)
        sim.reset(0)
        sim.advance_to(0.5)
        ends.append(sim.data.qpos[:3].copy())
    assert np.ptp(ends, axis=0) == pytest.approx(np.zeros(3), abs=0.01)


def test_pressures_are_told_as_shares_of_the_softer_modulus() -> None:
    soft = asp.ContactParameters(
        surface="compliant",
        hydroelastic_modulus=MODULUS,
        geoms={
            "floor": asp.Material(
                surface="compliant", hydroelastic_modulus=10.0 * MODULUS, depth=0.05
            )
        },
    )
    sim = simulator(FLOOR + CUBE, contact=soft)
    sim.advance_to(0.6)
    weight = 1000.0 * 0.1**3 * GRAVITY
    assert sim.patches.share_of_modulus == pytest.approx([weight / 0.1**2 / MODULUS], rel=0.05)
    sim = simulator(FLOOR + CUBE, contact=asp.ContactParameters())
    sim.advance_to(0.1)
    assert len(sim.patches.share_of_modulus) == 0


def test_patches_add_up_and_have_the_pressure_of_the_field() -> None:
    sim = simulator(FLOOR + CUBE)
    sim.advance_to(1.0)
    patches, contacts = sim.patches, sim.contacts
    weight = 1000.0 * 0.1**3 * GRAVITY
    assert patches.geom.tolist() == [[0, 1]]
    assert patches.size.sum() == len(contacts.point)
    assert patches.force == pytest.approx(np.array([[0.0, 0.0, weight]]), abs=1e-3)
    assert patches.point == pytest.approx(np.array([[0.0, 0.0, 0.0]]), abs=1e-6)
    assert patches.moment == pytest.approx(np.zeros((1, 3)), abs=1e-4)
    assert patches.normal == pytest.approx(np.array([[0.0, 0.0, 1.0]]), abs=1e-9)
    assert patches.area == pytest.approx([0.01], rel=1e-6)
    assert patches.mean_pressure == pytest.approx([weight / 0.01], rel=1e-3)
    polygons = sim.polygons()
    assert polygons.first[-1] == len(polygons.corner) == len(polygons.pressure)
    assert polygons.corner[:, 2] == pytest.approx(0.0, abs=1e-9)
    assert polygons.pressure.max() == pytest.approx(weight / 0.01, rel=0.01)


def test_touch_sensors_and_constraint_forces_see_patches() -> None:
    site = '<site name="all" type="box" size=".2 .2 .2"/>'
    sensors = '<sensor><touch site="all"/></sensor>'
    cube = body('type="box" size=".05 .05 .05"', more=site)
    sim = simulator(FLOOR + cube, more=sensors)
    sim.advance_to(1.0)
    weight = 1000.0 * 0.1**3 * GRAVITY
    assert sim.data.sensordata[0] == pytest.approx(weight, rel=1e-3)
    assert sim.data.qfrc_constraint[2] == pytest.approx(weight, rel=1e-3)


def test_moving_surfaces_carry_what_lies_on_them() -> None:
    belt = (
        '<geom type="box" size="2 .3 .05" pos="0 0 -.05" surfacevel="0.3 0 0 0 0 0"/>'
        '<geom type="cylinder" size=".3 .05" pos="0 2 -.05" surfacevel="0 0 0 0 0 2"/>'
    )
    boxes = body('type="box" size=".05 .05 .05"') + (
        '<body pos=".2 2 .02"><freejoint/><geom type="box" size=".05 .05 .02"/></body>'
    )
    sim = simulator(belt + boxes, asp.Cenic(accuracy=1e-4))
    sim.advance_to(1.0)
    assert sim.data.qvel[0] == pytest.approx(0.3, abs=1e-3)
    # On the turntable: speed of its place, and its turn.
    x, y = sim.data.qpos[7:9] - [0.0, 2.0]
    assert sim.data.qvel[6:8] == pytest.approx([-2.0 * y, 2.0 * x], abs=0.03)
    assert sim.data.qvel[11] == pytest.approx(2.0, abs=0.05)


def test_what_fell_through_its_field_touches_in_points() -> None:
    """At a step too large for its speed a ball is below the plane at once, and still comes back."""
    ball = body('type="sphere" size=".02"', "0 0 1")
    sim = simulator(FLOOR + ball, asp.Icf(time_step=0.01))
    sim.data.qvel[2] = -12.0
    sim.advance_to(3.0)
    assert 0.0 < sim.data.qpos[2] < 0.03


@pytest.mark.parametrize("speed", [2.0, 10.0, 30.0])
def test_error_control_lets_nothing_through_a_thin_plate(speed: float) -> None:
    plate = '<geom type="box" size=".3 .3 .002"/>'
    cube = body('type="box" size=".01 .01 .01"', "0.003 0.002 .05")
    for turn in ([1.0, 0.0, 0.0, 0.0], [0.9, 0.3, 0.2, 0.1]):
        sim = simulator(plate + cube, asp.Cenic(accuracy=1e-3))
        sim.data.qpos[3:7] = np.array(turn) / np.linalg.norm(turn)
        sim.data.qvel[2] = -speed
        sim.advance_to(0.1)
        assert sim.data.qpos[2] > 0.009


def test_the_same_bits_again_and_in_copies() -> None:
    sim = simulator(FLOOR + CUBE)
    sim.data.qvel[:] = [0.5, 0.1, 0.0, 1.0, 2.0, 3.0]
    start = copy.deepcopy(sim)
    sim.advance_to(0.3)
    pickled = pickle.loads(pickle.dumps(start))
    for other in (start, pickled):
        other.advance_to(0.3)
        assert np.array_equal(other.data.qpos, sim.data.qpos)


def test_a_changed_size_changes_the_field() -> None:
    sim = simulator(FLOOR + CUBE)
    sim.advance_to(0.5)
    sim.model.geom_size[1] = [0.05, 0.05, 0.02]
    sim.model.geom_aabb[1, 3:] = [0.05, 0.05, 0.02]
    sim.advance_to(1.5)
    assert sim.data.qpos[2] == pytest.approx(0.02, abs=1e-3)


def test_parameters_in_the_model_are_those_in_python() -> None:
    custom = (
        '<custom><text name="asperity" data="surface=compliant hydroelastic_modulus=1e6 '
        'dissipation=20 quadrature=moments"/></custom>'
    )
    told = simulator(FLOOR + CUBE, more=custom, contact=asp.ContactParameters())
    given = simulator(
        FLOOR + CUBE,
        contact=asp.ContactParameters(
            surface="compliant",
            hydroelastic_modulus=1e6,
            dissipation=20.0,
            quadrature="moments",
        ),
    )
    for sim in (told, given):
        sim.advance_to(0.2)
    assert np.array_equal(told.data.qpos, given.data.qpos)


def test_dissipation_of_the_softer_side_counts() -> None:
    """A rigid geom's own dissipation plays no part beside a compliant one's."""
    contact = asp.ContactParameters(
        geoms={
            "body": asp.Material(surface="compliant", hydroelastic_modulus=1e6, dissipation=3.0),
            "floor": asp.Material(surface="rigid", dissipation=100.0),
        }
    )
    sim = simulator(FLOOR + CUBE, asp.Icf(time_step=1e-3), contact)
    sim.advance_to(0.1)
    contacts = sim.session.world.current.contacts
    assert contacts.dissipation[: contacts.count] == pytest.approx(3.0)


def test_pairs_turn_back_to_points() -> None:
    contact = asp.ContactParameters(
        surface="compliant", pairs={("floor", "body"): asp.Material(surface="point")}
    )
    sim = simulator(FLOOR + CUBE, contact=contact)
    sim.advance_to(0.1)
    assert np.all(sim.contacts.patch == -1)
    assert len(sim.contacts.patch) == 4


PLATES = '<geom name="a" type="box" size=".1 .1 .1"/>' + body(
    'type="box" size=".1 .1 .1"', "0 0 .2"
)
RIGID = asp.Material(surface="rigid")


@pytest.mark.parametrize(
    ("worldbody", "contact", "message"),
    [
        (FLOOR + CUBE, {"surface": "soft"}, "surface must be 'point', 'compliant' or 'rigid'"),
        (FLOOR + CUBE, {"surface": "compliant", "resolution": 0.0}, "resolution must be positive"),
        (
            FLOOR + body('type="sphere" size=".05"'),
            {"surface": "compliant", "resolution": 1e-5},
            "Geom 'body'.*resolution",
        ),
        (FLOOR + CUBE, {"surface": "compliant", "depth": 0.1}, "depth cannot be the same"),
        (FLOOR + CUBE, {"quadrature": "gauss"}, "quadrature must be"),
        (
            FLOOR + CUBE,
            {"geoms": {"floor": asp.Material(surface="compliant")}},
            "Geom 'floor': a compliant plane needs the depth",
        ),
        (
            FLOOR + CUBE,
            {"geoms": {"body": asp.Material(surface="compliant", field_mesh="cup.npz")}},
            "Geom 'body': field_mesh applies to mesh geoms, not to a box",
        ),
        (
            FLOOR + CUBE,
            {"geoms": {"bodi": asp.Material(surface="compliant")}},
            "no geom is named 'bodi'",
        ),
        (
            FLOOR + CUBE,
            {"pairs": {("floor", "body"): asp.Material(surface="compliant")}},
            "a pair takes surface='point' alone",
        ),
        (
            FLOOR + CUBE,
            {"geoms": {"floor": asp.Material(depth=0.1)}, "surface": "compliant"},
            "Geom 'floor': a plane is rigid and has no depth",
        ),
        (
            FLOOR + CUBE,
            {"geoms": {"floor": asp.Material(field_mesh="x.npz")}, "surface": "compliant"},
            "Geom 'floor': field_mesh applies to mesh geoms, not to a plane",
        ),
    ],
)
def test_bad_parameters_are_named(worldbody: str, contact: dict[str, object], message: str) -> None:
    with pytest.raises(asp.ArgumentError, match=message):
        simulator(worldbody, contact=asp.ContactParameters(**contact))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("contact", "note"),
    [
        ({"hydroelastic_modulus": 1e6}, "No geom that can collide is compliant"),
        ({"surface": "rigid"}, "No geom that can collide is compliant"),
        ({"geoms": {"body": asp.Material(resolution=0.1)}}, "No geom that can collide"),
        ({"quadrature": "moments"}, "quadrature plays no part"),
        (
            {
                "geoms": {
                    "body": asp.Material(surface="compliant"),
                    "step": asp.Material(hydroelastic_modulus=1e5),
                }
            },
            "Geom 'step': parameters of pressure fields play no part",
        ),
    ],
)
def test_parameters_without_effect_are_said(contact: dict[str, object], note: str) -> None:
    step = '<geom name="step" type="box" size=".1 .1 .1" pos="1 0 0"/>'
    sim = simulator(FLOOR + step + CUBE, contact=asp.ContactParameters(**contact))  # type: ignore[arg-type]
    assert any(note in said for said in sim.load_report.notes), sim.load_report.notes
    told = asp.ContactParameters(surface="compliant", quadrature="moments")
    assert not simulator(FLOOR + CUBE, contact=told).load_report.notes


def test_what_begins_to_collide_has_a_field() -> None:
    sim = simulator(FLOOR + CUBE)
    sim.model.geom_contype[1] = sim.model.geom_conaffinity[1] = 0
    sim.advance_to(0.01)
    assert sim.session.plant.fields.any == 0
    sim.model.geom_contype[1] = sim.model.geom_conaffinity[1] = 1
    sim.advance_to(0.5)
    assert np.all(sim.contacts.patch == 0)
    assert 0.05 - sim.data.qpos[2] == pytest.approx(9.81 / (MODULUS / 0.05 * 0.1**2), rel=0.02)


def test_a_plate_on_its_edge_is_held_by_its_field_alone() -> None:
    """Deeper at its edge than its field: the section still pushes, and no point of MuJoCo does."""
    plate = body('type="box" size=".05 .002 .05"', "0 0 .047")
    sim = simulator(FLOOR + plate, asp.Icf(time_step=1e-3))
    assert len(sim.contacts.patch) > 0
    assert np.all(sim.contacts.patch == 0)


def test_rigid_pairs_fall_back_with_a_note_or_are_refused() -> None:
    ball = '<body pos=".5 0 .3"><freejoint/><geom name="ball" type="sphere" size=".05"/></body>'
    materials = {"a": RIGID, "body": RIGID}
    contact = asp.ContactParameters(surface="compliant", geoms=materials)
    sim = simulator(PLATES + ball, contact=contact)
    assert any("Geom 'a' and Geom 'body' are both rigid" in n for n in sim.load_report.notes)
    with pytest.raises(asp.ArgumentError, match="Geom 'a' and Geom 'body' are both rigid"):
        simulator(
            PLATES + ball,
            contact=asp.ContactParameters(surface="compliant", fallback="error", geoms=materials),
        )


def test_an_open_mesh_cannot_be_compliant(tmp_path: Path) -> None:
    vertices = "0 0 0  .1 0 0  0 .1 0  0 0 .1"
    mesh = (
        f'<asset><mesh name="m" vertex="{vertices}" face="0 2 1  0 1 3  1 2 3" '
        'inertia="shell"/></asset>'
    )
    contact = asp.ContactParameters(
        geoms={"body": asp.Material(surface="compliant", field_mesh="tetrahedralize")}
    )
    with pytest.raises(asp.ModelError, match=r"Geom 'body'.*(open|closed)"):
        simulator(FLOOR + body('type="mesh" mesh="m"'), contact=contact, more=mesh)


def test_midas_says_that_fields_play_no_part() -> None:
    sim = simulator(
        FLOOR + body('type="box" size=".05 .05 .05"', "0 0 .06"), asp.Midas(time_step=0.01)
    )
    assert any("pressure fields play no part" in note for note in sim.load_report.notes)
