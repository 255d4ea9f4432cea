"""Fields of a model's geoms: meshes, height fields, files, sharing, and what nothing needs."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.contact.hydroelastic.import_mesh import write_field_mesh
from asperity.contact.hydroelastic.shapes import box_mesh
from asperity.plant.detection.patch_polygons import PolygonFinder
from asperity.plant.plant import Plant, contact_kernels

GRAVITY = 9.81
SOFT = asp.ContactParameters(surface="compliant", hydroelastic_modulus=1e6, dissipation=20.0)
# A box of 0.2 x 0.16 x 0.12 m as a mesh, turned and away from its file's origin
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * [
    0.1,
    0.08,
    0.06,
]


def plant(xml: str, contact: asp.ContactParameters = SOFT) -> Plant:
    return Plant(mujoco.MjModel.from_xml_string(xml), contact, evaluated=False)


def mesh_asset(scale: float = 1.0) -> str:
    points = CORNERS / scale + 0.3
    text = " ".join(f"{value:.9g}" for value in points.ravel())
    return f'<asset><mesh name="m" vertex="{text}" scale="{scale} {scale} {scale}"/></asset>'


def resting(worldbody: str, contact: asp.ContactParameters, assets: str = "") -> asp.Simulator:
    sim = asp.Simulator(
        mujoco.MjModel.from_xml_string(
            f"<mujoco>{assets}<worldbody>{worldbody}</worldbody></mujoco>"
        ),
        contact=contact,
    )
    sim.advance_to(1.5)
    assert np.abs(sim.data.qvel).max() < 1e-4
    return sim


FALLING_MESH = (
    '<body pos="0 0 .07"><freejoint/><geom name="body" type="mesh" mesh="m" density="1000"/></body>'
)
WEIGHT = 1000.0 * 0.2 * 0.16 * 0.12 * GRAVITY


def test_the_hull_of_a_mesh_carries_its_weight() -> None:
    """The hull's field falls from the centroid to the faces: 60 mm down to the lowest one."""
    sim = resting('<geom type="plane" size="1 1 .1"/>' + FALLING_MESH, SOFT, mesh_asset())
    depth = -sim.contacts.signed_distance.max()
    assert sim.patches.force[0, 2] == pytest.approx(WEIGHT, rel=1e-3)
    assert depth == pytest.approx(WEIGHT / (1e6 / 0.06 * 0.2 * 0.16), rel=0.02)


def test_tetrahedra_of_a_file_are_those_of_the_geom(tmp_path: Path) -> None:
    """The same box as a primitive, and from a file in the frame of the mesh's file."""
    own = box_mesh([0.1, 0.08, 0.06])
    scale = 0.5
    shifted = own._replace(vertices=own.vertices + 0.3 * scale)
    write_field_mesh(tmp_path / "box.npz", shifted)
    contact = asp.ContactParameters(
        surface="compliant",
        hydroelastic_modulus=1e6,
        dissipation=20.0,
        geoms={"body": asp.Material(field_mesh=tmp_path / "box.npz")},
    )
    ends = []
    for assets, moving, parameters in (
        (mesh_asset(scale), FALLING_MESH, contact),
        ("", FALLING_MESH.replace('type="mesh" mesh="m"', 'type="box" size=".1 .08 .06"'), SOFT),
    ):
        sim = resting('<geom type="plane" size="1 1 .1"/>' + moving, parameters, assets)
        patches = sim.patches
        assert patches.force[0, 2] == pytest.approx(WEIGHT, rel=1e-3)
        ends.append([patches.area[0], patches.max_pressure[0], patches.size[0]])
    assert ends[0] == pytest.approx(ends[1], rel=1e-4)


def test_a_missing_file_is_named() -> None:
    contact = asp.ContactParameters(
        surface="compliant", geoms={"body": asp.Material(field_mesh="nowhere.npz")}
    )
    with pytest.raises(asp.ModelError, match=r"nowhere\.npz"):
        plant(f"<mujoco>{mesh_asset()}<worldbody>{FALLING_MESH}</worldbody></mujoco>", contact)


def test_a_depth_needs_tetrahedra() -> None:
    contact = asp.ContactParameters(surface="compliant", geoms={"body": asp.Material(depth=0.01)})
    with pytest.raises(asp.ArgumentError, match="Geom 'body': depth applies to tetrahedra"):
        plant(f"<mujoco>{mesh_asset()}<worldbody>{FALLING_MESH}</worldbody></mujoco>", contact)


def test_height_fields_are_rigid_ground() -> None:
    """A box on a flat height field and on a plane."""
    rows = " ".join("0 0 0 0" for _ in range(4))
    assets = (
        f'<asset><hfield name="h" nrow="4" ncol="4" elevation="{rows}" size=".5 .5 .1 .1"/></asset>'
    )
    box = (
        '<body pos=".02 .03 .06"><freejoint/>'
        '<geom name="body" type="box" size=".1 .08 .06" density="1000"/></body>'
    )
    heights = []
    for ground, more in (
        ('<geom type="hfield" hfield="h"/>', assets),
        ('<geom type="plane" size="1 1 .1"/>', ""),
    ):
        sim = resting(ground + box, SOFT, more)
        assert sim.patches.force[:, 2].sum() == pytest.approx(WEIGHT, rel=1e-3)
        heights.append(sim.data.qpos[2])
    assert heights[0] == pytest.approx(heights[1], abs=1e-7)


def test_a_rigid_mesh_may_be_open_and_hollow() -> None:
    """A bowl of two rings, as triangles that face upwards: a ball touches these, not the hull."""
    angle = np.linspace(0.0, 2.0 * np.pi, 33)[:-1]
    rings = [
        np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(32, z)])
        for r, z in ((0.05, 0.0), (0.2, 0.1))
    ]
    low, high, following = np.arange(32), 32 + np.arange(32), np.roll(np.arange(32), -1)
    faces = np.concatenate(
        [
            np.column_stack([low, 32 + following, following]),
            np.column_stack([low, high, 32 + following]),
            np.column_stack([np.full(30, 0), np.arange(1, 31), np.arange(2, 32)]),
        ]
    )
    vertex = " ".join(f"{value:.7g}" for value in np.concatenate(rings).ravel())
    face = " ".join(str(index) for index in faces.ravel())
    assets = f'<asset><mesh name="m" vertex="{vertex}" face="{face}" inertia="shell"/></asset>'
    bowl = '<geom name="bowl" type="mesh" mesh="m"/>'
    ball = '<body pos=".09 0 .1"><freejoint/><geom name="ball" type="sphere" size=".03"/></body>'
    contact = asp.ContactParameters(
        surface="compliant",
        hydroelastic_modulus=1e6,
        dissipation=20.0,
        geoms={"bowl": asp.Material(surface="rigid", field_mesh="surface")},
    )
    sim = asp.Simulator(
        mujoco.MjModel.from_xml_string(
            f"<mujoco>{assets}<worldbody>{bowl}{ball}</worldbody></mujoco>"
        ),
        contact=contact,
    )
    sim.advance_to(2.0)
    assert 0.02 < sim.data.qpos[2] < 0.06
    assert np.hypot(*sim.data.qpos[:2]) < 0.08


def test_equal_geoms_share_a_field() -> None:
    balls = "".join(
        f'<body pos="{i} 0 1"><freejoint/><geom type="sphere" size=".05"/></body>'
        for i in range(20)
    )
    fields = plant(f"<mujoco><worldbody>{balls}</worldbody></mujoco>").fields
    assert len(set(fields.geom_field.tolist())) == 1
    assert len(fields.tetrahedron_count) == 1


def test_models_without_fields_keep_their_kernels() -> None:
    xml = "<mujoco><worldbody><geom type='box' size='1 1 1'/></worldbody></mujoco>"
    points = plant(xml, asp.ContactParameters())
    assert points.fields.any == 0
    assert contact_kernels(points.model, asp.ContactParameters()) == ()
    # What is not to be touched needs no field, whatever is said.
    seen = xml.replace("size=", "contype='0' conaffinity='0' size=")
    assert plant(seen).fields.any == 0


def test_polygons_of_a_configuration() -> None:
    xml = (
        '<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .049"><freejoint/>'
        '<geom type="box" size=".05 .05 .05"/></body></worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    polygons = PolygonFinder.with_parameters(model, SOFT).at(data)
    assert polygons.corner[:, 2] == pytest.approx(0.0, abs=1e-12)
    assert polygons.pressure.max() == pytest.approx(1e6 * 0.001 / 0.05, rel=1e-9)
    assert polygons.pressure.min() >= -1e-6
    area = 0.0
    for i, start in enumerate(polygons.first[:-1]):
        corners = polygons.corner[start : polygons.first[i + 1]]
        edges = corners[1:] - corners[0]
        area += 0.5 * np.linalg.norm(np.cross(edges[:-1], edges[1:]).sum(axis=0))
    assert area == pytest.approx(0.01, rel=1e-9)
