"""Meshes as files have them: vertices of no triangle, inside out, open, heavy."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.geometry import primitives
from asperity.geometry.repair import closed_surface, find_defects
from asperity.geometry.simplification import can_simplify
from asperity.geometry.surfaces import Surface, volume_integrals

FREE = """<mujoco><asset><mesh name="m" vertex="{vertices}" face="{faces}" inertia="{inertia}"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body pos="0 0 .06"><freejoint/><geom name="g" type="mesh" mesh="m"/>
<inertial pos="0 0 0" mass="1" diaginertia=".002 .002 .002"/></body></worldbody></mujoco>"""


def model_of(vertices: np.ndarray, faces: np.ndarray, inertia: str = "shell") -> str:
    return FREE.format(
        vertices=" ".join(map(repr, vertices.ravel().tolist())),
        faces=" ".join(map(str, faces.ravel())),
        inertia=inertia,
    )


def cube() -> tuple[np.ndarray, np.ndarray]:
    return primitives.box(np.full(3, 0.05), 1)


def test_vertices_of_no_triangle_hold_nothing_up():
    vertices, faces = cube()
    model = mujoco.MjModel.from_xml_string(
        model_of(np.vstack([vertices, [[0.0, 0.0, -0.055]]]), faces)
    )
    assert model.mesh_vertnum[0] == 9
    sim = asp.Simulator(model, integrator=asp.Midas(verify=True))
    assert sim.advance_to(0.5).success
    lowest = sim.session.method.engine.positions[:, 2].min()
    assert 0.0 < lowest < 1e-3
    assert len(sim.session.method.engine.table.vertices.now) == 8
    assert np.abs(sim.data.qvel).max() < 1e-4


def test_open_meshes_are_named_and_collide():
    vertices, faces = cube()
    sim = asp.Simulator(model_of(vertices, faces[1:]), integrator=asp.Midas(verify=True))
    assert any("Mesh 'm' (3 edges)" in note for note in sim.load_report.notes)
    assert sim.advance_to(0.3).success


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification and manifold3d")
def test_heavy_meshes_are_simplified_and_rest_where_they_did():
    surface = primitives.ellipsoid(np.full(3, 0.05), 96)
    xml = model_of(*surface)
    heights = []
    for tolerance in (None, 0.0):
        sim = asp.Simulator(xml, integrator=asp.Midas(mesh_tolerance=tolerance, verify=True))
        simplified = any("Meshes were simplified" in note for note in sim.load_report.notes)
        assert simplified == (tolerance is None)
        assert (
            len(sim.session.method.engine.table.shapes.face) < 0.7 * len(surface.faces)
        ) == simplified
        assert sim.advance_to(0.2).success
        heights.append(sim.data.qpos[2])
    assert heights[0] == pytest.approx(heights[1], abs=6e-4)


def test_a_negative_tolerance_is_refused():
    with pytest.raises(asp.ArgumentError, match="mesh_tolerance"):
        asp.Midas(mesh_tolerance=-1e-3)


def sphere() -> tuple[np.ndarray, np.ndarray]:
    return primitives.ellipsoid(np.full(3, 0.05), 16)


def two_cubes() -> tuple[np.ndarray, np.ndarray]:
    """Of 0.1 m, moved by 3 cm along the diagonal: 2 - 0.7^3 litres."""
    vertices, faces = cube()
    return np.vstack([vertices, vertices + 0.03]), np.vstack([faces, faces + 8])


def with_a_fin() -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = cube()
    return np.vstack([vertices, [[0.2, 0.0, 0.0]]]), np.vstack([faces, [[*faces[0, :2], 8]]])


def test_holes_are_closed():
    """Of an open sphere, a fan over the hole: what is missing is its cap, but for the fan's cone."""
    for dropped in (1, 16, 60):
        vertices, faces = sphere()
        opened = Surface(vertices, faces[dropped:])
        defects = find_defects(opened)
        assert defects.open
        assert not defects.is_solid
        found = closed_surface(opened)
        assert found is not None
        assert find_defects(found).is_solid
        whole, _, _ = volume_integrals(Surface(vertices, faces))
        volume, _, _ = volume_integrals(found)
        kept = Surface(vertices, faces[dropped:])
        # Any cap between the hole and the sphere adds less than all that is there.
        assert 0.4 * whole < volume <= whole * (1 + 1e-12)
        assert len(found.faces) > len(kept.faces)


def test_parts_that_run_through_each_other_are_united():
    pytest.importorskip("manifold3d")
    surface = Surface(*two_cubes())
    assert find_defects(surface).crossing
    found = closed_surface(surface)
    assert found is not None
    assert find_defects(found).is_solid
    assert volume_integrals(found)[0] == pytest.approx(2e-3 - 0.07**3, rel=1e-6)


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ((cube()[0], cube()[1][1:]), "not closed"),
        (two_cubes(), "run through themselves"),
        (with_a_fin(), "more than two triangles"),
    ],
    ids=["open", "crossing", "fin"],
)
def test_what_is_no_solid_is_named_or_replaced(mesh, words):
    xml = model_of(*mesh)
    sim = asp.Simulator(xml, integrator=asp.Midas())
    assert any(words in note and "Mesh 'm'" in note for note in sim.load_report.notes)
    sim = asp.Simulator(xml, integrator=asp.Midas(mesh_repair="hull"))
    assert any("convex hulls" in note and "Mesh 'm'" in note for note in sim.load_report.notes)
    assert not any(words in note for note in sim.load_report.notes)
    hull = sim.session.method.engine.shapes.surface[0]
    assert find_defects(hull).is_solid
    sim = asp.Simulator(xml, integrator=asp.Midas(mesh_repair="close"))
    mended = sim.session.method.engine.shapes.surface[0]
    assert find_defects(mended).is_solid
    assert volume_integrals(mended)[0] <= volume_integrals(hull)[0] * (1 + 1e-9)


def test_an_unknown_repair_is_refused():
    with pytest.raises(asp.ArgumentError, match="mesh_repair"):
        asp.Midas(mesh_repair="glue")
