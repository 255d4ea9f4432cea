"""Meshes as files have them: vertices of no triangle, inside out, open, heavy."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.geometry import primitives
from asperity.geometry.simplification import can_simplify

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
    lowest = sim.method.engine.positions[:, 2].min()
    assert 0.0 < lowest < 1e-3
    assert len(sim.method.engine.table.vertex_now) == 8
    assert np.abs(sim.data.qvel).max() < 1e-4


def test_open_meshes_are_named_and_collide():
    vertices, faces = cube()
    sim = asp.Simulator(model_of(vertices, faces[1:]), integrator=asp.Midas(verify=True))
    assert any("Mesh 'm' (3 edges)" in note for note in sim.load_report.notes)
    assert sim.advance_to(0.3).success


@pytest.mark.skipif(not can_simplify(), reason="needs fast-simplification")
def test_heavy_meshes_are_simplified_and_rest_where_they_did():
    surface = primitives.ellipsoid(np.full(3, 0.05), 96)
    xml = model_of(*surface)
    heights = []
    for tolerance in (None, 0.0):
        sim = asp.Simulator(xml, integrator=asp.Midas(mesh_tolerance=tolerance, verify=True))
        simplified = any("Meshes were simplified" in note for note in sim.load_report.notes)
        assert simplified == (tolerance is None)
        assert (len(sim.method.engine.table.face) < 0.7 * len(surface.faces)) == simplified
        assert sim.advance_to(0.2).success
        heights.append(sim.data.qpos[2])
    assert heights[0] == pytest.approx(heights[1], abs=6e-4)


def test_a_negative_tolerance_is_refused():
    with pytest.raises(asp.ModelError, match="mesh_tolerance"):
        asp.Midas(mesh_tolerance=-1e-3)
