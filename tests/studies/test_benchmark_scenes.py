"""The benchmarks' engines simulate the same scene: models are built, then read back."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp
from studies.benchmarks.engines import Setting, prepare
from studies.benchmarks.measure import Job, Measurement, kinetic_energy, penetration
from studies.benchmarks.report import Row, ratio, write
from studies.benchmarks.scene import (
    Box,
    HalfSpace,
    Scene,
    Sphere,
    bin_of_mixed_bodies,
    cenic_clutter,
    pile,
    sap_clutter,
    scene_from_name,
)
from studies.benchmarks.scene_model import body_states, build_mjcf, contact_texts
from studies.experiments.paper import paper_sap
from studies.scenes.sap_clutter import sap_clutter as packaged_clutter

SCENES = [
    cenic_clutter("soft"),
    cenic_clutter("hard"),
    sap_clutter(8),
    sap_clutter(9, walls=False),
    sap_clutter(80),
    pile(1),
    pile(20),
    bin_of_mixed_bodies(100),
]
scenes = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)


@scenes
def test_scene_is_found_by_its_name(scene: Scene) -> None:
    assert scene_from_name(scene.name) == scene
    other = scene_from_name(scene.name, seed=1)
    assert len(other.bodies) == len(scene.bodies)
    assert (other == scene) == (scene.name == "pile-1")


def test_unknown_scene_is_named() -> None:
    with pytest.raises(ValueError, match="bowl-3"):
        scene_from_name("bowl-3")


def test_papers_numbers() -> None:
    hard = cenic_clutter("hard")
    assert len(hard.bodies) == 20
    assert {type(body.shape) for body in hard.bodies} == {Sphere, Box}
    assert {type(body.shape) for body in cenic_clutter("soft").bodies} == {Sphere}
    masses = {round(body.mass, 3) for body in hard.bodies}
    assert masses == {0.524, 1.0}
    assert hard.contact.object_wall_stiffness == 1e5
    assert hard.contact.object_object_stiffness == 0.5e5
    assert pile(20).contact.object_wall_stiffness == pytest.approx(1e5)
    assert pile(20).contact.object_object_stiffness == pytest.approx(1e5)
    assert sap_clutter(8).contact.object_object_stiffness == pytest.approx(5e7)


@scenes
def test_mjcf_matches_description(scene: Scene) -> None:
    model = mujoco.MjModel.from_xml_string(build_mjcf(scene, 3e-3))
    count = len(scene.bodies)
    assert (model.nbody, model.nv) == (count + 1, 6 * count)
    assert model.ngeom == count + len(scene.walls)
    assert model.opt.timestep == 3e-3
    np.testing.assert_allclose(model.opt.gravity, [0, 0, -scene.gravity])
    assert (model.geom_friction[:, 0] == scene.contact.friction).all()
    qpos = model.qpos0.reshape(count, 7)
    for i, body in enumerate(scene.bodies):
        index = model.body(f"object_{i}").id
        moments = body.shape.principal_inertia(body.mass)
        assert model.body_mass[index] == pytest.approx(body.mass, rel=1e-12)
        np.testing.assert_allclose(np.sort(model.body_inertia[index]), np.sort(moments))
        np.testing.assert_allclose(model.body_ipos[index], 0.0, atol=1e-15)
        np.testing.assert_allclose(qpos[i, :3], body.position)
        np.testing.assert_allclose(qpos[i, 3:], body.quaternion, atol=1e-12)


@pytest.mark.parametrize("walls", [True, False])
def test_the_packages_clutter_is_the_same_scene(walls: bool) -> None:
    model, _ = asp.load_model(packaged_clutter(3, walls))
    other, _ = asp.load_model(build_mjcf(sap_clutter(12, walls)))
    for name in ("body_mass", "body_inertia", "qpos0", "geom_type", "geom_size", "geom_pos"):
        np.testing.assert_allclose(
            getattr(model, name), getattr(other, name), rtol=1e-12, atol=1e-15, err_msg=name
        )
    run, reference = (
        asp.simulate(m, (0.0, 0.4), integrator=paper_sap(0.01)) for m in (model, other)
    )
    # They have landed, with friction and stiffness, in the same places.
    assert run.success
    assert np.abs(run.qvel[-1]).max() > 0.1
    np.testing.assert_allclose(run.qpos[-1], reference.qpos[-1], atol=1e-9)


@scenes
def test_contact_texts_give_the_pairs_stiffness(scene: Scene) -> None:
    """Combining the texts by the rules they document gives the description's pairs."""

    def value(text: str, key: str) -> float:
        return float(dict(item.split("=") for item in text.split())[key])

    model = mujoco.MjModel.from_xml_string(build_mjcf(scene))
    texts = {
        mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_TEXT, i): model.text_data[start : start + size]
        .decode()
        .rstrip("\0")
        for i, (start, size) in enumerate(zip(model.text_adr, model.text_size, strict=True))
    }
    assert texts == contact_texts(scene)
    contact = scene.contact
    own = value(texts["asperity:geom:object_*"], "stiffness")
    assert own / 2 == contact.object_object_stiffness
    wall = texts.get("asperity:geom:wall_*")
    against_wall = own if wall is None else 1 / (1 / own + 1 / value(wall, "stiffness"))
    assert against_wall == pytest.approx(contact.object_wall_stiffness)
    assert value(texts["asperity"], "stiffness") == contact.object_object_stiffness
    assert value(texts["asperity"], "dissipation") == contact.dissipation


@pytest.mark.parametrize("seed", [41, 42, 43, 44, 45])
@pytest.mark.parametrize("name", [scene.name for scene in SCENES])
def test_nothing_overlaps_at_the_start(name: str, seed: int) -> None:
    scene = scene_from_name(name, seed)
    run = prepare("mujoco", scene, Setting("newton", time_step=1e-3))
    states = body_states(*run.state())
    assert run.overlap() == 0.0
    assert penetration(scene, states) == 0.0
    assert kinetic_energy(scene, states) == 0.0


def test_corner_points_touch_the_faces_from_inside() -> None:
    box = Box((0.1, 0.2, 0.3))
    points = box.corner_points(inset=0.01)
    assert points.shape == (8, 3)
    np.testing.assert_allclose(points.max(axis=0) + 0.01, box.half_extents)
    assert len(np.unique(points, axis=0)) == 8


def test_kinetic_energy_agrees_with_mujoco() -> None:
    scene = cenic_clutter("hard")
    run = prepare("mujoco", scene, Setting("newton", time_step=1e-3))
    run.data.qvel[:] = np.random.default_rng(1).normal(size=run.model.nv)
    mujoco.mj_forward(run.model, run.data)
    mujoco.mj_energyVel(run.model, run.data)
    assert kinetic_energy(scene, body_states(*run.state())) == pytest.approx(
        run.data.energy[1], rel=1e-10
    )


def test_table_shows_failures_and_ratios(tmp_path: Path) -> None:
    setting = Setting("cenic", accuracy=0.1)
    ours, theirs, broken = (
        Row(Job(engine, setting, "pile-1", 2.0), tuple(repeats))
        for engine, repeats in [
            ("asperity", [Measurement("ok", 1.0, t) for t in (1.0, 2.0, 9.0)]),
            ("drake", [Measurement("ok", 1.0, 4.0)] * 3),
            ("drake", [Measurement("ok", 1.0, 4.0), Measurement("over 3 s")]),
        ]
    )
    rows = [ours, theirs, broken]
    assert ratio(theirs, rows) == pytest.approx(0.5)
    assert ratio(ours, rows) is None
    assert ratio(broken, rows) is None
    text = write("trial", "Trial", "", rows, tmp_path).read_text()
    assert "over 3 s (1 of 2)" in text
    assert (tmp_path / "trial.csv").read_text().count("\n") == 4


@scenes
def test_drake_matches_description(scene: Scene) -> None:
    pytest.importorskip("pydrake")
    from studies.peers.drake_model import CORNER_RADIUS

    run = prepare("drake", scene, Setting("sap", time_step=0.01))
    plant, bodies = run.made.plant, run.made.bodies[1:]
    np.testing.assert_allclose(plant.gravity_field().gravity_vector(), [0.0, 0.0, -scene.gravity])
    states = body_states(*run.state())
    for i, body in enumerate(scene.bodies):
        inertia = bodies[i].default_spatial_inertia()
        moments = inertia.CalcRotationalInertia().get_moments()
        assert bodies[i].default_mass() == pytest.approx(body.mass, rel=1e-12)
        np.testing.assert_allclose(moments, body.shape.principal_inertia(body.mass))
        np.testing.assert_allclose(states.position[i], body.position, atol=1e-12)
        alignment = abs(states.quaternion[i] @ np.array(body.quaternion))
        assert alignment == pytest.approx(1.0, abs=1e-12)

    inspector = run.made.scene_graph.model_inspector()

    def material(geometry: object, name: str) -> float:
        return inspector.GetProximityProperties(geometry).GetProperty("material", name)

    def series(one: object, two: object) -> float:
        return 1.0 / sum(1.0 / material(g, "point_contact_stiffness") for g in (one, two))

    contact = scene.contact
    walls = plant.GetCollisionGeometriesForBody(plant.world_body())
    assert len(walls) == len(scene.walls)
    objects = []
    for description, body in zip(scene.bodies, bodies, strict=True):
        geometries = plant.GetCollisionGeometriesForBody(body)
        is_box = isinstance(description.shape, Box)
        assert len(geometries) == (9 if is_box else 1)
        for corner in geometries[1:]:
            assert inspector.GetShape(corner).radius() == CORNER_RADIUS
        objects += geometries
    for geometry in objects:
        assert series(geometry, objects[0]) == pytest.approx(contact.object_object_stiffness)
        for wall in walls:
            assert series(geometry, wall) == pytest.approx(contact.object_wall_stiffness)
    pair_relaxation = contact.relaxation_time or 0.01
    for geometry in [*objects, *walls]:
        friction = material(geometry, "coulomb_friction")
        assert friction.static_friction() == friction.dynamic_friction() == contact.friction
        assert material(geometry, "hunt_crossley_dissipation") == contact.dissipation
        assert 2 * material(geometry, "relaxation_time") == pytest.approx(pair_relaxation)


def test_drake_and_mujoco_overlap_agree_on_a_resting_ball() -> None:
    """mg/k below the surface in Drake, found alike by both collision detections."""
    pytest.importorskip("pydrake")
    from studies.benchmarks.scene import Contact, FreeBody, Wall

    ball = FreeBody(Sphere(0.05), 1000.0, (0.0, 0.0, 0.05))
    scene = Scene("ball", (ball,), (Wall(HalfSpace()),), Contact(object_stiffness=1e4))
    run = prepare("drake", scene, Setting("cenic", accuracy=1e-4))
    run.advance(2.0)
    expected = ball.mass * scene.gravity / 1e4
    assert run.overlap() == pytest.approx(expected, rel=1e-3)
    states = body_states(*run.state())
    assert penetration(scene, states) == pytest.approx(run.overlap(), abs=1e-9)
