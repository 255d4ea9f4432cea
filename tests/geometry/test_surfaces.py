"""Closed meshes of geoms: closedness, orientation, volumes, and which edges count."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from asperity.errors import ModelError
from asperity.geometry.surfaces import sharp_edges, vertex_areas, volume_integrals
from asperity.plant.model.geom_surfaces import geom_surface

GEOMS = {
    "box": '<geom type="box" size=".1 .2 .3"/>',
    "sphere": '<geom type="sphere" size=".2"/>',
    "ellipsoid": '<geom type="ellipsoid" size=".1 .2 .3"/>',
    "capsule": '<geom type="capsule" size=".1 .2"/>',
    "cylinder": '<geom type="cylinder" size=".1 .2"/>',
    "mesh": '<geom type="mesh" mesh="wedge"/>',
    "hfield": '<geom type="hfield" hfield="ground"/>',
}
EXACT = {
    "box": 8 * 0.1 * 0.2 * 0.3,
    "sphere": 4 / 3 * np.pi * 0.2**3,
    "ellipsoid": 4 / 3 * np.pi * 0.1 * 0.2 * 0.3,
    "capsule": np.pi * 0.1**2 * 0.4 + 4 / 3 * np.pi * 0.1**3,
    "cylinder": np.pi * 0.1**2 * 0.4,
}


def model_with(geom: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(f"""
<mujoco><asset>
  <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
  <hfield name="ground" nrow="3" ncol="4" size="1 2 .5 .25"
          elevation="0 0 0 0  0 1 .5 0  0 0 0 0"/>
</asset><worldbody>{GEOMS[geom]}</worldbody></mujoco>""")


def surface_of(geom: str, **options):
    return geom_surface(model_with(geom), 0, **{"hulls": False, **options})


@pytest.mark.parametrize("geom", GEOMS)
@pytest.mark.parametrize("options", [{}, {"segments": 32, "subdivisions": 3}])
def test_every_edge_belongs_to_two_triangles_that_agree_on_the_outside(geom, options):
    vertices, faces = surface_of(geom, **options)
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    assert len(np.unique(sides, axis=0)) == len(sides)
    assert {tuple(s) for s in sides} == {tuple(s[::-1]) for s in sides}
    assert volume_integrals(surface := surface_of(geom, **options))[0] > 0
    assert len(vertices) - len(sides) // 2 + len(faces) == 2  # Euler: a sphere's topology
    assert np.all(vertex_areas(surface) > 0)


@pytest.mark.parametrize("geom", ["sphere", "ellipsoid", "capsule", "cylinder"])
def test_volumes_of_round_shapes_converge_from_inside_with_the_square_of_the_resolution(geom):
    errors = [
        1 - volume_integrals(surface_of(geom, segments=n))[0] / EXACT[geom] for n in (16, 32, 64)
    ]
    assert errors[0] > 0
    assert 3.8 < errors[0] / errors[1] < 4.2
    assert 3.8 < errors[1] / errors[2] < 4.2


@pytest.mark.parametrize("n", [1, 4])
def test_integrals_of_a_box_are_exact(n):
    volume, first, second = volume_integrals(surface_of("box", subdivisions=n))
    assert volume == pytest.approx(EXACT["box"], rel=1e-14)
    np.testing.assert_allclose(first, 0.0, atol=1e-17)
    expected = np.diag(volume * np.array([0.1, 0.2, 0.3]) ** 2 / 3)
    np.testing.assert_allclose(second, expected, atol=1e-17)


def test_integrals_move_with_the_surface():
    box = surface_of("box")
    offset = np.array([0.3, -0.2, 0.5])
    volume, first, second = volume_integrals(box._replace(vertices=box.vertices + offset))
    centred = volume_integrals(box)
    assert volume == pytest.approx(centred[0], rel=1e-13)
    np.testing.assert_allclose(first, volume * offset, rtol=1e-13)
    expected = centred[2] + volume * np.outer(offset, offset)
    np.testing.assert_allclose(second, expected, rtol=1e-12, atol=1e-17)


@pytest.mark.parametrize(("n", "count"), [(1, 12), (5, 60)])
def test_only_the_edges_of_a_box_are_sharp(n, count):
    box = surface_of("box", subdivisions=n)
    edges, areas = sharp_edges(box)
    assert len(edges) == count
    extreme = np.isclose(np.abs(box.vertices), [0.1, 0.2, 0.3])
    assert np.all((extreme[edges[:, 0]] & extreme[edges[:, 1]]).sum(axis=1) >= 2)
    assert np.all(areas > 0)


def test_height_field_has_its_heights_and_its_base():
    surface = surface_of("hfield")
    assert surface.vertices[:, 2].max() == pytest.approx(0.5)
    assert surface.vertices[:, 2].min() == -0.25
    # The base plate, and under each sample the volume of the piecewise linear surface.
    top = surface.vertices[:12]
    cells = 2.0 / 3 * 2.0
    inner = top[[5, 6], 2].sum() * cells
    assert volume_integrals(surface)[0] == pytest.approx(2 * 4 * 0.25 + inner, rel=1e-12)


def test_mesh_and_its_hull():
    wedge = surface_of("mesh")
    assert volume_integrals(wedge)[0] == pytest.approx(1 / 6, rel=1e-6)
    assert volume_integrals(surface_of("mesh", hulls=True))[0] == pytest.approx(1 / 6, rel=1e-6)


def test_a_plane_has_no_surface():
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/></worldbody></mujoco>'
    )
    with pytest.raises(ModelError, match="floor"):
        geom_surface(model, 0, hulls=False)
