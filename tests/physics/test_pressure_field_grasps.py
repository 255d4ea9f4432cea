"""Thin-walled things with pressure fields: a gripper holds them, and thin parts stop them."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from physics_models import GRAVITY, Array

import asperity as asp
from asperity.geometry.surfaces import Surface
from studies.experiments.artefacts import ThinParts
from studies.scenes.tableware import FIELD_MESHES, MUG_HEIGHT, MUG_RADIUS, PLATE_RADIUS, mug, plate

ACCURACY = 1e-3
MODULUS = 1e8
SURFACES = {"mug": mug, "plate": plate}
# Depth of a wire's or wall's middle under the surface of a plate or mug [m].
THICKEST = 5e-3


def scene(
    name: str,
    *,
    position: tuple[float, float, float],
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0),
    gravity: bool = True,
) -> mujoco.MjSpec:
    """A free body with one of the tableware's meshes, as a geom of the same name."""
    spec = mujoco.MjSpec()
    spec.option.gravity = [0.0, 0.0, -GRAVITY if gravity else 0.0]
    surface: Surface = SURFACES[name]()
    mesh = spec.add_mesh(name=name)
    mesh.uservert = surface.vertices.ravel()
    mesh.userface = surface.faces.ravel()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_EXACT
    body = spec.worldbody.add_body(name=name, pos=position, quat=quaternion)
    body.add_freejoint()
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        density=2400.0,
        friction=[0.8, 0, 0],
    )
    return spec


def add_gripper(spec: mujoco.MjSpec, half_width: float, force: float) -> None:
    """Two pads along x about the origin: the left one is where it is, the right one presses."""
    for side, place in (("left", -half_width - 0.01), ("right", half_width + 0.01)):
        pad = spec.worldbody.add_body(name=side, pos=(place, 0.0, 0.0))
        pad.add_geom(
            name=side,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=(0.01, 0.01, 0.01),
            mass=0.1,
            friction=[0.8, 0, 0],
        )
        if side == "right":
            pad.gravcomp = 1.0
            pad.add_joint(
                name="slide", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(1.0, 0.0, 0.0), damping=20.0
            )
            motor = spec.add_actuator(
                name="press", target="slide", trntype=mujoco.mjtTrn.mjTRN_JOINT
            )
            motor.gear[0] = -force


def contact(name: str, *rigid_geoms: str) -> asp.ContactParameters:
    material = {name: asp.Material(field_mesh=FIELD_MESHES[name])}
    rigid = {geom: asp.Material(surface="rigid") for geom in rigid_geoms}
    return asp.ContactParameters(
        surface="compliant", hydroelastic_modulus=MODULUS, resolution=2e-3, geoms=rigid | material
    )


def pose(sim: asp.Simulator, name: str) -> tuple[Array, Array]:
    body = sim.data.body(name)
    return body.xpos.copy(), body.xmat.reshape(3, 3).copy()


# The mug is held around its wall, 40 N, between its bottom and its handle; the plate by its rim,
# 12 mm of it, hanging from the pads.
GRASPS = {
    "mug": ((0.0, 0.0, -0.6 * MUG_HEIGHT), (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), MUG_RADIUS),
    "plate": ((-0.014, 0.0, -PLATE_RADIUS + 0.006), (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0), 0.002),
}


@pytest.mark.parametrize("name", GRASPS)
def test_a_grasp_slips_less_than_a_tenth_of_a_millimetre_in_ten_seconds(name: str) -> None:
    position, quaternion, half_width = GRASPS[name]
    spec = scene(name, position=position, quaternion=quaternion)
    add_gripper(spec, half_width, 40.0)
    sim = asp.Simulator(
        spec.compile(), integrator=asp.Cenic(accuracy=ACCURACY), contact=contact(name)
    )
    sim.data.ctrl[:] = 1.0
    assert sim.advance_to(1.0).success
    place, turn = pose(sim, name)
    # It is held: in patches of several points, whose friction carries the weight.
    # (The plate turns until its rim, which slants by 6°, is flush with the pads.)
    assert np.linalg.norm(place - position) < 0.012
    patches = sim.patches
    assert len(patches.size) == 2
    assert min(patches.size) > 3
    weight = sim.model.body(name).mass[0] * GRAVITY
    mine = sim.model.geom(name).id
    upwards = np.where(patches.geom[:, 1] == mine, 1.0, -1.0) @ patches.force[:, 2]
    assert upwards == pytest.approx(weight, rel=0.02)
    held = sim.contacts.point
    assert sim.advance_to(11.0).success
    after, turned = pose(sim, name)
    # Material points that the pads held.
    local = (held - place) @ turn
    slip = local @ turned.T + after - held
    assert np.linalg.norm(slip, axis=1).max() < 1e-4


def thrown(
    model: mujoco.MjModel, name: str, rigid: str, velocity: Array, duration: float
) -> asp.Trajectory:
    """Every accepted step, after which the middle of a wire or wall was never inside."""
    trajectory = asp.simulate(
        model,
        (0.0, duration),
        integrator=asp.Cenic(accuracy=ACCURACY),
        contact=contact(name, rigid),
        qvel=velocity,
    )
    assert trajectory.success
    thin = ThinParts(model, (name,), thickest=THICKEST, spacing=1e-3)
    data = mujoco.MjData(model)
    found = []
    for qpos in trajectory.qpos:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        found.append(thin.measure(data, name))
    assert not any(one.crossed for one in found)
    assert max(one.depth for one in found) > 0.0
    return trajectory


def test_a_plate_dropped_on_wires_at_5_m_per_s_does_not_pass_through() -> None:
    radius = 2.5e-3
    spec = scene("plate", position=(0.0, 0.0, 0.02))
    for k, x in enumerate((-0.09, -0.03, 0.03, 0.09)):
        spec.worldbody.add_geom(
            name=f"wire_{k}",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=[x, -0.2, 0.0, x, 0.2, 0.0],
            size=[radius, 0.0, 0.0],
        )
    velocity = np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0])
    found = thrown(spec.compile(), "plate", "wire_*", velocity, 0.1)
    # It is above the wires, and what is left of its speed is that of a fall.
    assert found.qpos[:, 2].min() > 0.0
    assert abs(found.qvel[-1, 2]) < 1.0


@pytest.mark.parametrize("turn", [0.0, 0.3])
def test_a_mug_thrown_at_a_wall_of_2_mm_at_5_m_per_s_stays_on_its_side(turn: float) -> None:
    half = 1e-3
    # Its wall first, the handle behind; or its rim, slanted.
    quaternion = (np.cos(turn), 0.0, np.sin(turn), 0.0)
    spec = scene(
        "mug", position=(0.12, 0.0, -0.5 * MUG_HEIGHT), quaternion=quaternion, gravity=False
    )
    spec.worldbody.add_geom(name="wall", type=mujoco.mjtGeom.mjGEOM_BOX, size=(half, 0.15, 0.15))
    velocity = np.array([-5.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    model = spec.compile()
    found = thrown(model, "mug", "wall", velocity, 0.06)
    # It has come back as a whole.
    data = mujoco.MjData(model)
    data.qpos[:] = found.qpos[-1]
    mujoco.mj_kinematics(model, data)
    body = data.body("mug")
    vertices = SURFACES["mug"]().vertices @ body.xmat.reshape(3, 3).T + body.xpos
    assert vertices[:, 0].min() > 0.0
    # No faster than it came.
    assert np.linalg.norm(found.qvel[-1, :3]) < 5.0
