"""Loading MJCF and URDF: what is found, repaired, dropped, refused, and how it is said."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from asperity.errors import AsperityWarning, ModelError
from asperity.plant.loading import LoadReport, load_model, load_spec
from asperity.simulator import Simulator

BALL = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='ball'><freejoint/>"
BALL += "<geom size='0.1'/></body></worldbody></mujoco>"
INERTIA = "<mass value='{mass}'/><inertia ixx='{i}' iyy='{i}' izz='{i}' ixy='0' ixz='0' iyz='0'/>"
BOX = "<geometry><box size='0.1 0.1 0.1'/></geometry>"


def write_stl(path: Path, size: float = 0.1) -> Path:
    """A tetrahedron as binary STL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    corners = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    triangles = b"".join(
        struct.pack("<3f", 0, 0, 0) + corners[list(face)].tobytes() + b"\0\0" for face in faces
    )
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + triangles)
    return path


def link(name: str, *, mesh: str | None = None, visual: str = "", inertial: str | None = "") -> str:
    """A link with a collision shape (a box or a mesh) and, unless None, an inertia."""
    shape = BOX if mesh is None else f"<geometry><mesh filename='{mesh}'/></geometry>"
    body = INERTIA.format(mass=1, i=0.01) if inertial == "" else inertial
    inertia = "" if body is None else f"<inertial>{body}</inertial>"
    return f"<link name='{name}'>{inertia}<collision>{shape}</collision>{visual}</link>"


def joint(name: str, parent: str, child: str, kind: str = "continuous", more: str = "") -> str:
    return (
        f"<joint name='{name}' type='{kind}'><origin xyz='0.5 0 0'/><parent link='{parent}'/>"
        f"<child link='{child}'/><axis xyz='0 0 1'/>{more}</joint>"
    )


def urdf(*parts: str) -> str:
    return f"<robot name='test'>{''.join(parts)}</robot>"


def arm(**options: object) -> tuple[mujoco.MjModel, LoadReport]:
    text = urdf(link("base"), link("upper"), joint("shoulder", "base", "upper"))
    return load_model(text, **options)  # type: ignore[arg-type]


def has(report: LoadReport, *words: str) -> bool:
    """Whether one note holds all the words."""
    return any(all(word in note for word in words) for note in report.notes)


def refused(source: object, *words: str, **options: object) -> None:
    """Loading fails with one line that holds all the words and ends like a sentence."""
    with pytest.raises(ModelError) as caught:
        load_model(source, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    for word in words:
        assert word in message


# --- sources ---------------------------------------------------------------------------------


def test_every_kind_of_source(tmp_path: Path) -> None:
    file = tmp_path / "ball.xml"
    file.write_text(BALL)
    spec = mujoco.MjSpec.from_string(BALL)
    compiled = mujoco.MjModel.from_xml_string(BALL)
    for source, name in (
        (file, str(file)),
        (str(file), str(file)),
        ("\ufeff  " + BALL, "XML string"),
        (spec, "MjSpec"),
        (compiled, "MjModel"),
    ):
        model, report = load_model(source)
        assert model.nv == 6
        assert report == LoadReport(name, ())
    assert load_model(compiled)[0] is compiled


def test_mjcf_with_another_ending_finds_its_includes_and_meshes(tmp_path: Path) -> None:
    write_stl(tmp_path / "mesh" / "part.stl")
    (tmp_path / "part.xml").write_text(
        "<mujocoinclude><body><freejoint/><geom type='mesh' mesh='part'/></body></mujocoinclude>"
    )
    file = tmp_path / "scene.mjcf"
    file.write_text(
        "<mujoco><compiler meshdir='mesh'/><asset><mesh file='part.stl'/></asset><worldbody>"
        "<geom type='plane' size='1 1 1'/><include file='part.xml'/></worldbody></mujoco>"
    )
    assert load_model(file)[0].nmesh == 1


def test_urdf_in_a_file_named_xml(tmp_path: Path) -> None:
    file = tmp_path / "robot.xml"
    file.write_text(urdf(link("a"), link("b"), joint("j", "a", "b")))
    assert load_model(file)[0].nv == 1


def test_bad_sources(tmp_path: Path) -> None:
    refused(tmp_path / "none.xml", "none.xml", "does not exist")
    refused("", "empty")
    (tmp_path / "scene.xml").write_text(BALL)
    refused(tmp_path, str(tmp_path), "folder", "scene.xml")
    (tmp_path / "empty.xml").write_text(" \n")
    refused(tmp_path / "empty.xml", "empty.xml", "is empty")
    (tmp_path / "noise.xml").write_bytes(bytes(range(128, 256)))
    refused(tmp_path / "noise.xml", "noise.xml", "not XML")
    refused("<sdf version='1.6'/>", "<sdf>", "URDF or MJCF")
    refused("<mujocoinclude/>", "<mujocoinclude>", "includes it")
    refused("<html/>", "<html>", "<mujoco>", "<robot>")
    refused(3, "int", "MjSpec")


def test_options_that_do_not_apply() -> None:
    refused(BALL, "floating_base", "MJCF", floating_base=True)
    refused(BALL, "package_paths", package_paths=["a"])
    refused(BALL, "exclude_overlaps", exclude_overlaps=True)
    model = mujoco.MjModel.from_xml_string(BALL)
    refused(model, "discard_visual", "MjModel", discard_visual=True)


# --- MuJoCo's complaints ---------------------------------------------------------------------


def test_mujoco_errors_become_sentences(tmp_path: Path) -> None:
    file = tmp_path / "bad.xml"
    file.write_text("<mujoco>\n<worldbody>\n<body><geom sise='1'/></body></worldbody></mujoco>")
    refused(file, "bad.xml", "sise", "'geom'", "line 3", "remove or correct")
    file.write_text("<mujoco>\n<worldbody>\n<body>")
    refused(file, "bad.xml", "not well formed", "line", "correct the XML")
    file.write_text("<mujoco><asset><mesh name='m' file='gone.stl'/></asset></mujoco>")
    refused(file, "bad.xml", "gone.stl", "file name")
    refused("<mujoco><worldbody><body name='b'><joint/></body></worldbody></mujoco>", "'b'", "mass")
    refused(
        "<mujoco><worldbody><body name='b'><joint/><inertial pos='0 0 0' mass='1' "
        "diaginertia='1 1 3'/></body></worldbody></mujoco>",
        "'b'",
        "balanceinertia",
    )


# --- after loading ---------------------------------------------------------------------------


def test_warns_when_nothing_moves_or_collides() -> None:
    with pytest.warns(AsperityWarning, match="Nothing can move"):
        _, report = load_model("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    assert has(report, "Nothing can move")
    assert has(report, "Nothing can collide")
    ghost = BALL.replace("size='0.1'", "size='0.1' contype='0' conaffinity='0'")
    with pytest.warns(AsperityWarning, match="Nothing can collide"):
        _, report = load_model(ghost)
    assert not has(report, "Nothing can move")


def test_does_not_warn_when_something_can_collide() -> None:
    one_way = BALL.replace("size='0.1'", "size='0.1' contype='2' conaffinity='1'")
    ghosts = BALL.replace("size='0.1'", "name='g' size='0.1' contype='0' conaffinity='0'")
    pair = ghosts.replace("size='1 1 1'", "name='p' size='1 1 1' contype='0'").replace(
        "</worldbody>", "</worldbody><contact><pair geom1='g' geom2='p'/></contact>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(BALL)
        load_model(one_way)
        load_model(pair)
        off = BALL.replace("<worldbody>", "<option><flag contact='disable'/></option><worldbody>")
        assert has(load_model(off)[1], "contacts off")


def test_choices_for_mjcf_and_specs() -> None:
    text = (
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body><freejoint/><geom size='0.1'/>"
        "<geom size='0.2' contype='0' conaffinity='0' mass='0'/><body><geom size='0.1'/></body>"
        "</body></worldbody></mujoco>"
    )
    model, report = load_model(text)
    assert (model.ngeom, model.nbody, report.notes) == (4, 3, ())
    model, report = load_model(text, discard_visual=True, fuse_static=True)
    assert (model.ngeom, model.nbody) == (3, 2)
    assert has(report, "1 visual")
    assert has(report, "1 static")
    spec = mujoco.MjSpec.from_string(text)
    assert load_model(spec, fuse_static=True)[0].nbody == 2
    assert len(spec.bodies) == 3  # the user's own is left alone


# --- URDF: meshes ----------------------------------------------------------------------------


def with_mesh(folder: Path, uri: str) -> Path:
    file = folder / "robot.urdf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(urdf(link("a"), link("b", mesh=uri), joint("j", "a", "b")))
    return file


@pytest.mark.parametrize(
    ("mesh", "uri"),
    [
        ("robot/urdf/part.stl", "part.stl"),
        ("robot/meshes/part.stl", "../meshes/part.stl"),
        ("robot/meshes/part.STL", "package://robot/meshes/part.stl"),
        ("meshes/part.stl", "package://manifest/meshes/part.stl"),
        ("other/part.stl", "package://other/part.stl"),
        ("other/part.stl", "package:///other/part.stl"),
        ("robot/my parts/part.stl", "package://robot/my%20parts/part.stl"),
    ],
)
def test_finds_meshes_near_the_file(tmp_path: Path, mesh: str, uri: str) -> None:
    (tmp_path / "package.xml").write_text("<package><name> manifest </name></package>")
    write_stl(tmp_path / mesh)
    model, report = load_model(with_mesh(tmp_path / "robot" / "urdf", uri))
    assert model.nmesh == 1
    assert not has(report, "Meshes")


def test_finds_meshes_by_absolute_uri(tmp_path: Path) -> None:
    mesh = write_stl(tmp_path / "far" / "part.stl")
    assert load_model(with_mesh(tmp_path / "near", f"file://{mesh}"))[0].nmesh == 1


def test_finds_packages_where_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stl(tmp_path / "far" / "parts" / "part.stl")
    file = with_mesh(tmp_path / "near", "package://parts/part.stl")
    refused(file, "package://parts/part.stl", "'b'", "package_paths")
    for folder in (tmp_path / "far", tmp_path / "far" / "parts"):
        assert load_model(file, package_paths=[folder])[0].nmesh == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'nothing'}:{tmp_path / 'far'}")
    assert load_model(file)[0].nmesh == 1


def test_takes_a_renamed_folder_for_the_package_and_says_so(tmp_path: Path) -> None:
    write_stl(tmp_path / "renamed" / "meshes" / "part.stl")
    file = with_mesh(tmp_path / "renamed" / "urdf", "package://original/meshes/part.stl")
    model, report = load_model(file)
    assert model.nmesh == 1
    assert has(report, "original", "renamed")


@pytest.mark.parametrize("place", ["visual/part.stl", "collision/part.stl"])
def test_unreadable_mesh_is_replaced_by_a_readable_one(tmp_path: Path, place: str) -> None:
    (tmp_path / "visual").mkdir()
    (tmp_path / "visual" / "part.dae").write_text("<COLLADA/>")
    write_stl(tmp_path / place)
    model, report = load_model(with_mesh(tmp_path, "visual/part.dae"))
    assert model.nmesh == 1
    assert has(report, "part.dae", "part.stl")


def test_unreadable_collision_mesh_is_dropped_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "part.dae").write_text("<COLLADA/>")
    with pytest.warns(AsperityWarning, match=r"'b' \(part.dae\)"):
        model, report = load_model(with_mesh(tmp_path, "part.dae"))
    assert model.ngeom == 1
    assert has(report, "Dropped collision", "'b'", "part.dae")


def test_missing_visual_mesh_is_only_a_note(tmp_path: Path) -> None:
    visual = "<visual><geometry><mesh filename='gone.stl'/></geometry></visual>"
    text = urdf(link("a"), link("b", visual=visual), joint("j", "a", "b"))
    model, report = load_model(text, discard_visual=False)
    assert model.ngeom == 2
    assert has(report, "Dropped visual", "gone.stl")
    assert has(load_model(text)[1], "Discarded 1 visual")


def test_meshes_with_the_same_file_name_stay_apart(tmp_path: Path) -> None:
    write_stl(tmp_path / "one" / "part.stl", 0.1)
    write_stl(tmp_path / "two" / "part.stl", 0.3)
    text = urdf(
        link("a", mesh="one/part.stl"), link("b", mesh="two/part.stl"), joint("j", "a", "b")
    )
    (tmp_path / "robot.urdf").write_text(text)
    model, _ = load_model(tmp_path / "robot.urdf")
    assert model.geom_rbound[1] == pytest.approx(3 * model.geom_rbound[0], rel=1e-5)


def test_respects_what_the_file_says_to_mujoco(tmp_path: Path) -> None:
    write_stl(tmp_path / "assets" / "part.stl")
    visual = f"<visual>{BOX}</visual>"
    text = urdf(
        "<mujoco><compiler meshdir='assets' strippath='true' discardvisual='false' "
        "fusestatic='false'/></mujoco>",
        link("a"),
        link("b", mesh="package://nowhere/deep/part.stl", visual=visual),
        link("tool"),
        joint("j", "a", "b"),
        joint("f", "b", "tool", "fixed"),
    )
    (tmp_path / "robot.urdf").write_text(text)
    model, _ = load_model(tmp_path / "robot.urdf")
    assert (model.nmesh, model.ngeom, model.nbody) == (1, 4, 4)
    assert load_model(tmp_path / "robot.urdf", fuse_static=True)[0].nbody == 3


# --- URDF: base ------------------------------------------------------------------------------


def test_base_is_fixed_by_default_and_says_how_to_free_it() -> None:
    model, report = arm()
    assert model.nv == 1
    assert has(report, "'base'", "floating_base=True")
    model, report = arm(floating_base=False)
    assert model.nv == 1
    assert not has(report, "floating_base")


def test_floating_base() -> None:
    model, report = arm(floating_base=True)
    assert model.nv == 7
    assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert model.joint("base_free").bodyid[0] == model.body("base").id
    assert not has(report, "floating_base")


def test_world_link() -> None:
    parts = (link("base"), link("upper"), joint("shoulder", "base", "upper"))
    welded = urdf("<link name='world'/>", *parts, joint("w", "world", "base", "fixed"))
    assert load_model(welded)[0].nv == 1
    assert load_model(welded, floating_base=True)[0].nv == 7
    # A parent "world" need not be declared.
    floating = urdf(*parts, joint("w", "world", "base", "floating"))
    assert load_model(floating)[0].nv == 7
    assert load_model(floating, floating_base=False)[0].nv == 1
    sliding = urdf("<link name='world'/>", *parts, joint("w", "world", "base", "prismatic"))
    assert load_model(sliding)[0].nv == 2
    refused(sliding, "'w'", "prismatic", "floating_base", floating_base=True)


def test_single_object_warns_that_it_cannot_move() -> None:
    with pytest.warns(AsperityWarning, match="floating_base=True"):
        load_model(urdf(link("object")))


@pytest.mark.parametrize("fuse", [True, False])
def test_fixed_base_does_not_collide_with_what_it_carries(fuse: bool) -> None:
    # All boxes overlap: only the neighbours may pass through each other.
    near = "<origin xyz='0.01 0 0'/>"
    text = urdf(
        *(link(name) for name in ("base", "foot", "upper", "cuff", "lower")),
        joint("f", "base", "foot", "fixed").replace("<origin xyz='0.5 0 0'/>", near),
        joint("s", "foot", "upper").replace("<origin xyz='0.5 0 0'/>", near),
        joint("c", "upper", "cuff", "fixed").replace("<origin xyz='0.5 0 0'/>", near),
        joint("e", "cuff", "lower").replace("<origin xyz='0.5 0 0'/>", near),
    )
    model, report = load_model(text, fuse_static=fuse)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    names = {"base", "foot"}
    touching = {
        tuple(sorted(model.body(model.geom_bodyid[geom]).name for geom in geoms))
        for geoms in data.contact.geom
    }
    assert touching
    assert all("lower" in pair and names & set(pair) for pair in touching)
    assert has(report, "overlap", "'lower'", "exclude_overlaps=True")
    model, report = load_model(text, fuse_static=fuse, exclude_overlaps=True)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0
    assert has(report, "do not collide")
    # A floor still does.
    assert model.geom_contype.all()


def test_overlaps_are_sought_within_the_joint_limits() -> None:
    limit = "<limit lower='1.5' upper='2' effort='1' velocity='1'/>"
    text = urdf(
        *(link(name) for name in "abc"),
        joint("ab", "a", "b"),
        joint("bc", "b", "c", "revolute", limit).replace("0.5 0 0", "-0.5 0 0"),
    )
    assert has(load_model(text)[1], "overlap", "'a'", "'c'")
    slide = "<limit lower='0.5' upper='2' effort='1' velocity='1'/>"
    text = urdf(
        *(link(name) for name in "abc"),
        joint("ab", "a", "b"),
        joint("bc", "b", "c", "prismatic", slide).replace("0.5 0 0", "-0.5 0 0"),
    )
    assert not has(load_model(text)[1], "overlap")


def test_fusing_is_counted() -> None:
    text = urdf(
        link("a"), link("b"), link("tool"), joint("j", "a", "b"), joint("f", "b", "tool", "fixed")
    )
    model, report = load_model(text)
    assert model.nbody == 3
    assert has(report, "Fused 1")
    model, report = load_model(text, fuse_static=False)
    assert model.nbody == 4
    assert not has(report, "Fused")


def test_several_roots_are_named() -> None:
    _, report = load_model(urdf(link("a"), link("b"), link("c"), joint("j", "a", "b")))
    assert has(report, "'a'", "'c'", "no parent")


# --- URDF: joints ----------------------------------------------------------------------------


def test_mimic_becomes_an_equality() -> None:
    text = urdf(
        *(link(name) for name in "abc"),
        joint("ab", "a", "b"),
        joint("bc", "b", "c", more="<mimic joint='ab' multiplier='-2' offset='0.5'/>"),
    )
    model, report = load_model(text)
    assert model.neq == 1
    assert model.eq_type[0] == mujoco.mjtEq.mjEQ_JOINT
    np.testing.assert_allclose(model.eq_data[0, :2], [0.5, -2])
    assert (model.eq_obj1id[0], model.eq_obj2id[0]) == (model.joint("bc").id, model.joint("ab").id)
    assert has(report, "Mimic", "'bc'")


def test_damping_friction_and_effort_are_kept() -> None:
    more = "<limit lower='-1' upper='1' effort='3' velocity='2'/>"
    more += "<dynamics damping='0.3' friction='0.2'/>"
    model, report = load_model(urdf(link("a"), link("b"), joint("j", "a", "b", "revolute", more)))
    assert model.dof_damping[0] == 0.3
    assert model.dof_frictionloss[0] == 0.2
    np.testing.assert_allclose(model.jnt_actfrcrange[0], [-3, 3])
    assert has(report, "Velocity limits")


def test_equal_limits_are_noted() -> None:
    more = "<limit lower='0' upper='0' effort='3' velocity='2'/>"
    text = urdf(link("a"), link("b"), joint("stuck", "a", "b", "revolute", more))
    model, report = load_model(text)
    assert not model.jnt_limited[0]
    assert has(report, "'stuck'", "without limits")


def test_ignored_elements_are_counted() -> None:
    text = urdf(
        link("a"), link("b"), joint("j", "a", "b"), "<transmission/><gazebo/><transmission/>"
    )
    assert has(load_model(text)[1], "2 <transmission>", "1 <gazebo>")


# --- URDF: inertia ---------------------------------------------------------------------------


def test_links_without_inertia() -> None:
    model, report = load_model(urdf(link("a"), link("b", inertial=None), joint("j", "a", "b")))
    assert model.body("b").mass[0] == pytest.approx(1.0)  # 0.1 m cubed at 1000 kg/m³
    assert has(report, "without inertia", "'b'")


def test_massless_links_on_the_way_get_a_little() -> None:
    text = urdf(
        link("a"),
        "<link name='x'/><link name='y'><inertial><mass value='0'/></inertial></link>",
        link("b"),
        joint("ax", "a", "x"),
        joint("xy", "x", "y"),
        joint("yb", "y", "b"),
    )
    model, report = load_model(text)
    assert model.nv == 3
    assert model.body("x").mass[0] == pytest.approx(1e-6)
    assert has(report, "'x'", "'y'", "1e-06 kg")


def test_massless_moving_leaf_is_refused() -> None:
    refused(
        urdf(link("a"), "<link name='tip'/>", joint("j", "a", "tip")), "'tip'", "'j'", "<inertial>"
    )
    # A frame that does not move is fine.
    load_model(
        urdf(
            link("a"),
            link("b"),
            "<link name='tip'/>",
            joint("j", "a", "b"),
            joint("f", "b", "tip", "fixed"),
        )
    )


def test_impossible_inertia_is_replaced_by_its_mean() -> None:
    bad = INERTIA.format(mass=1, i=0.1).replace("izz='0.1'", "izz='0.4'")
    singular = INERTIA.format(mass=1, i=0.1).replace("='0'", "='0.1'")
    for inertial in (bad, singular):
        text = urdf(link("a"), link("b", inertial=inertial), joint("j", "a", "b"))
        model, report = load_model(text)
        mean = 0.2 if inertial is bad else 0.1
        np.testing.assert_allclose(model.body("b").inertia, mean)
        assert has(report, "no body can have", "'b'")
        stern = text.replace(
            "<link name='a'>",
            "<mujoco><compiler balanceinertia='false'/></mujoco><link name='a'>",
        )
        refused(stern, "'b'", "inertia")


def test_mass_without_moments_is_taken_for_a_ball() -> None:
    point = INERTIA.format(mass=4.18879, i=0)  # 4/3 π (0.1 m)³ of water
    model, report = load_model(urdf(link("a"), link("b", inertial=point), joint("j", "a", "b")))
    np.testing.assert_allclose(model.body("b").inertia, 0.4 * 4.18879 * 0.01, rtol=1e-5)
    assert has(report, "ball", "'b'")


def test_bad_numbers_are_refused() -> None:
    for mass, word in (("-1", "-1"), ("nan", "nan"), ("heavy", "heavy")):
        inertial = INERTIA.format(mass=mass, i=0.1)
        refused(urdf(link("a"), link("b", inertial=inertial), joint("j", "a", "b")), word)
    refused(urdf(link("a", inertial="<mass value='1'/>")), "'a'", "<inertia>")


# --- URDF: structure -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], ["no <link>"]),
        ([link("a"), link("a")], ["'a'", "twice"]),
        ([link("a"), link("b"), joint("j", "a", "c")], ["'j'", "'c'", "does not exist"]),
        ([link("a"), link("b"), joint("j", "a", "b", "elastic")], ["'j'", "elastic", "revolute"]),
        (
            [link("a"), link("b"), link("c"), *[joint(n, p, "c") for n, p in ("ja", "kb")]],
            ["'c'", "'j'", "'k'", "equality"],
        ),
        ([link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")], ["loop"]),
        ([link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "b", "c")], ["'j'"]),
        ([link("a"), link("b"), "<joint name='j' type='fixed'/>"], ["'j'", "<parent"]),
        (
            [link("a"), link("b"), joint("j", "a", "b", more="<mimic joint='ghost'/>")],
            ["'j'", "'ghost'"],
        ),
        ([link("a"), "<xacro:include filename='x'/>"], ["xacro:include", "line 1"]),
    ],
)
def test_broken_structure_is_refused(parts: list[str], words: list[str]) -> None:
    refused(urdf(*parts), "XML string", *words)


def test_broken_xml_is_refused_with_its_line() -> None:
    refused("<robot name='r'>\n<link name='a'>\n</robot>", "line 3", "mismatched")


def test_lenient_where_mujoco_is() -> None:
    text = "<?xml version='1.0'?>\n<!-- one -- two -->\n" + urdf(
        link("a"), link("b"), joint("j", "a", "b", more="<vendor:gain vendor:value='3'/>")
    )
    assert load_model(text)[0].nv == 1


def test_large_models_are_suspected_of_millimetres() -> None:
    text = urdf(link("a"), link("b"), joint("j", "a", "b")).replace("0.1 0.1 0.1", "300 300 300")
    assert has(load_model(text)[1], "millimetres")


FLOATER = """
<robot name="box">
  <link name="base">
    <inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  </link>
</robot>
"""


def test_a_spec_is_the_model_before_compilation(tmp_path: Path) -> None:
    path = tmp_path / "box.urdf"
    path.write_text(FLOATER)
    for source in (path, FLOATER):
        spec, report = load_spec(source, floating_base=True)
        assert report.source == (str(path) if source is path else "XML string")
        model = load_model(spec)[0]
        direct = load_model(source, floating_base=True)[0]
        assert model.nv == direct.nv == 6
        np.testing.assert_array_equal(model.body_inertia, direct.body_inertia)
        np.testing.assert_array_equal(model.geom_size, direct.geom_size)


def test_a_floor_can_be_put_under_a_urdf() -> None:
    spec, _ = load_spec(FLOATER, floating_base=True)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0, 0, -0.2])
    sim = Simulator(spec)
    assert sim.advance_to(2.0).success
    # It stands on four contacts of 1e5 N/m.
    assert sim.data.qpos[2] == pytest.approx(-0.1, abs=1e-4)
    assert sim.contacts.normal_force.sum() == pytest.approx(9.81, rel=1e-3)


def test_specs_of_other_sources() -> None:
    given = mujoco.MjSpec.from_string(BALL)
    assert load_spec(given)[0] is given
    copy, _ = load_spec(given, fuse_static=True)
    assert copy is not given
    assert copy.compiler.fusestatic
    assert load_spec(BALL)[0].compile().ngeom == load_model(BALL)[0].ngeom
    with pytest.raises(ModelError, match="floating_base"):
        load_spec(BALL, floating_base=True)
    with pytest.raises(ModelError, match="MjModel"):
        load_spec(given.compile())  # type: ignore[arg-type]
