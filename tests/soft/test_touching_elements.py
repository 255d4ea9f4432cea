"""Contacts of flexes where MuJoCo does not look at all elements."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from soft_models import compile_soft, cube, gripper

import asperity as asp

# Of a cube of 50 mm on end at z = 0: shapes that press it, one or two at once. MuJoCo finds where
# elements touch ellipsoids.
_SHAPES = {
    "ellipsoid": "<geom type='ellipsoid' size='0.03 0.04 0.03' pos='0.004 0.003 {sphere}'/>",
    "box": "<geom type='box' size='0.05 0.05 0.02' pos='0 0 {top}' euler='4 3 20'/>",
    "sphere": "<geom type='sphere' size='0.03' pos='0.004 0.003 {sphere}'/>",
    "capsule": "<geom type='capsule' size='0.02 0.03' pos='0 0 {capsule}' euler='85 10 0'/>",
    "cylinder": "<geom type='cylinder' size='0.03 0.02' pos='0.01 0 {top}' euler='5 2 0'/>",
    "corner": "<geom type='box' size='0.02 0.02 0.02' pos='0.002 0.001 {corner}' euler='45 35 0'/>",
    "edge": "<geom type='box' size='0.05 0.02 0.02' pos='0 0.006 {edge}' euler='45 0 0'/>",
    "beside": "<geom type='box' size='0.02 0.05 0.05' pos='{side} 0 0.05' euler='0 3 0'/>",
    "plate": "<geom type='box' size='0.05 0.05 0.004' pos='0 0 {plate}' contype='0' conaffinity='0'/>",
}


def _model(names: str, depth: float) -> mujoco.MjModel:
    """A cube that shapes press by about a depth [m]."""
    top = 0.05 - depth
    places = {
        "top": top + 0.02,
        "sphere": top + 0.03,
        "capsule": top + 0.02,
        "corner": top + 0.034,
        "edge": top + 0.02 * np.sqrt(2.0),
        "side": 0.025 - depth + 0.02,
        "plate": top + 0.004,
    }
    geoms = "".join(_SHAPES[name].format(**places) for name in names.split("+"))
    return compile_soft(geoms + cube(height=0.025))


def _contacts(model: mujoco.MjModel, *, leaves_out: bool) -> dict[tuple[int, ...], np.ndarray]:
    """Distances and positions of contacts, by geoms, elements, vertices and place [0.1 µm]."""
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3))
    plant = sim.session.plant.table
    assert plant.list_pairs != 0
    if not leaves_out:
        plant.list_pairs = 0
        sim.session.world.current.table.valid = 0
    sim.advance_to(1e-9)
    found = sim.contacts
    place = np.round(found.point * 1e7).astype(int)
    keys = np.column_stack([found.geom, found.elem, found.vert, place])
    values = np.column_stack([found.signed_distance, found.point, found.normal_force])
    assert len(np.unique(keys, axis=0)) == len(keys)
    return {tuple(map(int, key)): value for key, value in zip(keys, values, strict=True)}


@pytest.mark.parametrize("depth", [1e-5, 1e-4, 1e-3, 4e-3])
@pytest.mark.parametrize(
    "names",
    [
        "box",
        "sphere",
        "capsule",
        "cylinder",
        "corner",
        "edge",
        "box+beside",
        "sphere+beside",
        "plate+box",
        "ellipsoid",
        "ellipsoid+beside",
    ],
)
def test_contacts_are_those_of_all_elements(names: str, depth: float) -> None:
    model = _model(names, depth)
    expected = _contacts(model, leaves_out=False)
    found = _contacts(model, leaves_out=True)
    assert set(found) == set(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-9, atol=1e-12)


def test_mujoco_looks_at_a_few_elements_of_a_grasp() -> None:
    model = gripper(1e5)
    sim = asp.Simulator(model, integrator=asp.Cenic())
    sim.data.ctrl[:2] = 0.012, -0.012
    sim.advance_to(0.3)
    data = mujoco.MjData(model)
    data.qpos[:] = sim.data.qpos
    mujoco.mj_fwdPosition(model, data)
    state = sim.session.world.current.table
    touching = len(np.unique(data.contact.elem[data.contact.elem >= 0]))
    layer = np.array(state.soft.element_layer)
    still = int(np.sum(layer < model.flex_activelayers[0]))
    assert touching > 20
    assert still < touching / 2
