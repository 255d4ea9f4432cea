"""The benchmarks' engines simulate the same scene: models are built, then read back."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp
from studies.benchmarks.engines import Setting, prepare
from studies.benchmarks.measure import Job, Measurement, evaluated
from studies.benchmarks.report import Row, ratio, write
from studies.benchmarks.scene import (
    BALL,
    GRAVITY,
    GROUND,
    Contact,
    FreeBody,
    Scene,
    bin_of_mixed_bodies,
    build_mjcf,
    cenic_clutter,
    contact_texts,
    pile,
    sap_clutter,
    scene_from_name,
)
from studies.experiments.paper import paper_sap
from studies.peers.mujoco import deepest
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
    assert {body.shape.kind for body in hard.bodies} == {"sphere", "box"}
    assert {body.shape.kind for body in cenic_clutter("soft").bodies} == {"sphere"}
    model = mujoco.MjModel.from_xml_string(build_mjcf(hard))
    assert set(np.round(model.body_mass[1:], 3)) == {0.524, 1.0}
    assert hard.contact.object_wall_stiffness == 1e5
    assert hard.contact.object_object_stiffness == 0.5e5
    assert pile(20).contact.object_wall_stiffness == pytest.approx(1e5)
    assert pile(20).contact.object_object_stiffness == pytest.approx(1e5)
    assert sap_clutter(8).contact.object_object_stiffness == pytest.approx(5e7)


def _mass(body: FreeBody) -> float:
    """By the volumes of solids [kg]."""
    size = body.shape.size
    ball = 4.0 / 3.0 * np.pi * size[0] ** 3
    volumes = {
        "sphere": ball,
        "box": 8.0 * np.prod(size),
        "capsule": ball + np.pi * size[0] ** 2 * 2.0 * size[-1],
    }
    return body.density * float(volumes[body.shape.kind])


@scenes
def test_mjcf_matches_description(scene: Scene) -> None:
    model = mujoco.MjModel.from_xml_string(build_mjcf(scene, 3e-3))
    count = len(scene.bodies)
    assert (model.nbody, model.nv) == (count + 1, 6 * count)
    assert model.ngeom == count + len(scene.walls)
    assert model.opt.timestep == 3e-3
    np.testing.assert_allclose(model.opt.gravity, [0, 0, -GRAVITY])
    assert (model.geom_friction[:, 0] == scene.contact.friction).all()
    qpos = model.qpos0.reshape(count, 7)
    for i, body in enumerate(scene.bodies):
        index = model.body(f"object_{i}").id
        assert model.body_mass[index] == pytest.approx(_mass(body), rel=1e-12)
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
    data = evaluated(scene, run)
    assert run.overlap() == deepest(data) == 0.0
    assert data.energy[1] == 0.0


def test_kinetic_energy_is_that_of_the_description() -> None:
    """Of a ball and a cube of known inertia, whatever their orientation."""
    scene = cenic_clutter("hard")
    run = prepare("mujoco", scene, Setting("newton", time_step=1e-3))
    run.data.qvel[:] = np.random.default_rng(1).normal(size=run.model.nv)
    expected = 0.0
    for body, motion in zip(scene.bodies, run.data.qvel.reshape(-1, 6), strict=True):
        inertia = 0.4 * 0.05**2 if body.shape == BALL else 2.0 / 3.0 * 0.05**2
        square = motion[:3] @ motion[:3] + inertia * motion[3:] @ motion[3:]
        expected += 0.5 * _mass(body) * square
    assert evaluated(scene, run).energy[1] == pytest.approx(expected, rel=1e-10)


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
    np.testing.assert_allclose(plant.gravity_field().gravity_vector(), [0.0, 0.0, -GRAVITY])
    model = run.made.model
    qpos = run.state()[0].reshape(-1, 7)
    for i, body in enumerate(scene.bodies):
        inertia = bodies[i].default_spatial_inertia()
        moments = inertia.CalcRotationalInertia().get_moments()
        assert bodies[i].default_mass() == pytest.approx(_mass(body), rel=1e-12)
        np.testing.assert_allclose(np.sort(moments), np.sort(model.body_inertia[i + 1]))
        np.testing.assert_allclose(qpos[i, :3], body.position, atol=1e-12)
        alignment = abs(qpos[i, 3:] @ np.array(body.quaternion))
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
        is_box = description.shape.kind == "box"
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
    ball = FreeBody(BALL, (0.0, 0.0, 0.05))
    scene = Scene("ball", (ball,), (GROUND,), Contact(object_stiffness=1e4))
    run = prepare("drake", scene, Setting("cenic", accuracy=1e-4))
    run.advance(2.0)
    expected = _mass(ball) * GRAVITY / 1e4
    assert run.overlap() == pytest.approx(expected, rel=1e-3)
    assert deepest(evaluated(scene, run)) == pytest.approx(run.overlap(), abs=1e-9)
