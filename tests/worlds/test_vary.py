"""Model fields that differ from world to world: each world does what a simulator of its model does."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from every_integrator import INTEGRATORS
from test_batch import PUBLISHED, scene, starts

import asperity as asp

FIELDS = {
    "geom_friction": 0.5,
    "body_mass": 0.3,
    "dof_damping": None,
    "dof_frictionloss": 0.5,
    "geom_size": 0.05,
    "geom_pos": None,
    "actuator_gainprm": 0.3,
    "jnt_range": None,
    "body_pos": None,
}


def vary(batch: asp.Batch, names: list[str]) -> None:
    """Other numbers in every world but the first."""
    random = np.random.default_rng(2)
    for name in names:
        values = batch.vary(name)
        for w in range(1, len(batch)):
            if name == "dof_damping":
                values[w, 18:] *= random.uniform(0.5, 2.0, 2)
            elif name == "geom_pos":
                values[w, 1:4] += random.normal(0.0, 0.01, (3, 3))
            elif name == "jnt_range":
                values[w] *= 0.002 * w
            elif name == "body_pos":
                values[w, 4] += random.normal(0.0, 0.05, 3)
            else:
                values[w] *= random.uniform(1.0 - FIELDS[name], 1.0, values[w].shape)


def assert_as_simulators(batch: asp.Batch, velocities: np.ndarray, steps: int) -> None:
    batch.reset(qvel=velocities)
    batch.ctrl = 0.5
    assert not batch.step(steps).any()
    for w in range(len(batch)):
        model = batch.world_model(w)
        data = mujoco.MjData(model)
        data.qvel[:] = velocities[w]
        data.ctrl[:] = 0.5
        sim = asp.Simulator(model, integrator=batch.integrator, data=data)
        for _ in range(steps):
            assert sim.step().success
        found = batch.data(w)
        for name in PUBLISHED:
            assert np.array_equal(getattr(found, name), getattr(sim.data, name)), (w, name)
        assert np.array_equal(batch.sensordata[w], sim.data.sensordata)


def assert_all_differ(batch: asp.Batch) -> None:
    assert len({end.tobytes() for end in batch.qpos}) == len(batch)


@pytest.mark.parametrize("name", FIELDS)
def test_one_field(name: str) -> None:
    model = scene()
    velocities = np.tile(starts(model, 1)[0], (4, 1))
    batch = asp.Batch(model, 4, integrator=asp.Icf(time_step=2e-3), threads=2)
    vary(batch, [name])
    assert_as_simulators(batch, velocities, 15)
    assert_all_differ(batch)


@pytest.mark.parametrize(
    "name", ["Cenic", "Sap, symplectic-euler", "Icf, similar", "Tamsi", "Sdirk2"]
)
def test_many_fields(name: str) -> None:
    model = scene()
    velocities, _ = starts(model, 3)
    batch = asp.Batch(model, 3, integrator=INTEGRATORS[name], threads=2)
    vary(batch, ["geom_friction", "body_mass", "dof_damping", "geom_size"])
    assert_as_simulators(batch, velocities, 8)
    assert_all_differ(batch)


@pytest.mark.parametrize("name", ["body_mass", "body_inertia"])
def test_masses_of_a_robot_in_flight(name: str) -> None:
    """Its energy and momentum are those of its own masses; and drag depends on inertias."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option density='1.2' viscosity='1e-5'/><worldbody><body pos='0 0 2'>"
        "<freejoint/><geom type='capsule' size='.03' fromto='0 0 0 0 0 -.3' mass='.5'/>"
        "<body pos='0 0 -.3'><joint axis='0 1 0'/>"
        "<geom type='capsule' size='.03' fromto='0 0 0 .1 0 -.3' mass='.3'/></body></body>"
        "</worldbody></mujoco>"
    )
    velocities = np.tile([1.0, 2.0, -3.0, 4.0, -5.0, 6.0, -7.0], (3, 1))
    for integrator in (asp.Icf(time_step=2e-3), asp.Cenic()):
        batch = asp.Batch(model, 3, integrator=integrator, threads=2)
        masses = batch.vary(name)
        masses[1, 2] *= 0.5
        masses[2, 1] *= 2.0
        batch.reset(qvel=velocities)
        assert not batch.advance(0.01).any()
        for w in range(3):
            data = mujoco.MjData(batch.world_model(w))
            data.qvel[:] = velocities[w]
            sim = asp.Simulator(batch.world_model(w), integrator=integrator, data=data)
            assert sim.advance_to(0.01).success
            assert np.array_equal(batch.qvel[w], sim.data.qvel)
        assert_all_differ(batch)


def test_friction_makes_the_difference() -> None:
    """A box on an incline of 20° slides where μ < tan 20°, with the acceleration that remains."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><geom name="slope" type="plane" size="9 9 1" euler="0 20 0"/>'
        '<body euler="0 20 0" pos="0.0342 0 0.09395"><freejoint/>'
        '<geom name="box" type="box" size="0.1 0.1 0.1"/></body></worldbody></mujoco>'
    )
    batch = asp.Batch(model, 3, integrator=asp.Icf(time_step=1e-3))
    # MuJoCo takes the larger of two geoms' coefficients.
    batch.vary("geom_friction")[:, :, 0] = [[0.1, 0.1], [0.2, 0.2], [0.9, 0.9]]
    batch.advance(0.5)
    speed = np.linalg.norm(batch.qvel[:, :3], axis=1)
    slope = np.deg2rad(20.0)
    expected = 9.81 * (np.sin(slope) - np.array([0.1, 0.2]) * np.cos(slope)) * 0.5
    assert speed[:2] == pytest.approx(expected, rel=0.02)
    assert speed[2] < 1e-3


def test_fields_can_change_at_any_time() -> None:
    model = scene()
    batch, sim = asp.Batch(model, 2, threads=1), asp.Simulator(scene())
    gains = batch.vary("dof_damping")
    for k in range(3):
        gains[1, -1] = 0.1 * (k + 1)
        sim.model.dof_damping[-1] = 0.1 * (k + 1)
        batch.step()
        sim.step()
        assert np.array_equal(batch.qpos[1], sim.data.qpos)
    # What all share still does, and what varies stays, also where it was the same for all.
    model.opt.gravity[2] = -2.0
    sim.model.opt.gravity[2] = -2.0
    damping = gains[0].copy()
    model.dof_damping[-1] = 7.0
    batch.step()
    sim.step()
    assert np.array_equal(batch.qpos[1], sim.data.qpos)
    assert np.array_equal(gains[0], damping)
    unchanged = asp.Batch(scene(), 1, threads=1)
    for k in range(4):
        unchanged.model.opt.gravity[2] = -2.0 if k == 3 else -9.81
        unchanged.step()
    assert np.array_equal(batch.qpos[0], unchanged.qpos[0])


def test_worlds_of_midas_vary() -> None:
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body pos="0 0 0.11">'
        '<freejoint/><geom name="box" type="box" size="0.1 0.1 0.1"/></body></worldbody></mujoco>'
    )
    batch = asp.Batch(model, 3, integrator=asp.Midas(time_step=5e-3), threads=2)
    batch.vary("geom_friction")[:, :, 0] = [[1.0, 1.0], [0.1, 0.1], [0.3, 0.3]]
    velocities = np.zeros((3, 6))
    velocities[:, 0] = 0.5
    batch.reset(qvel=velocities)
    batch.step(12)
    for w in range(3):
        one = batch.world_model(w)
        data = mujoco.MjData(one)
        data.qvel[:] = velocities[w]
        sim = asp.Simulator(one, integrator=asp.Midas(time_step=5e-3), data=data)
        for _ in range(12):
            sim.step()
        assert batch.qpos[w] == pytest.approx(sim.data.qpos, abs=1e-12)
    assert len(set(batch.qpos[:, 0])) == 3


def test_worlds_of_midas_follow_the_model_that_they_share() -> None:
    """Also once they have models of their own, but for the fields that vary."""
    xml = (
        '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body pos="0 0 0.5">'
        '<freejoint/><geom name="box" type="box" size="0.1 0.1 0.1"/></body></worldbody></mujoco>'
    )
    integrator = asp.Midas(time_step=5e-3)
    batch = asp.Batch(mujoco.MjModel.from_xml_string(xml), 2, integrator=integrator)
    batch.vary("body_mass")[1, 1] *= 2.0
    batch.xfrc_applied[:, 1, 0] = 3.0
    batch.step(2)
    batch.model.opt.gravity[2] = -2.0
    batch.model.body_mass[1] *= 10.0  # of no account: masses vary
    batch.model.body_inertia[1] *= 3.0
    batch.step(2)
    for w in range(2):
        one = mujoco.MjModel.from_xml_string(xml)
        one.body_mass[1] *= 1.0 + w
        sim = asp.Simulator(one, integrator=integrator)
        sim.data.xfrc_applied[1, 0] = 3.0
        for _ in range(2):
            sim.step()
        one.opt.gravity[2] = -2.0
        one.body_inertia[1] *= 3.0
        for _ in range(2):
            sim.step()
        assert batch.qvel[w] == pytest.approx(sim.data.qvel, abs=1e-12)
        assert batch.world_model(w).opt.gravity[2] == -2.0
    assert batch.qvel[0, 0] == pytest.approx(2.0 * batch.qvel[1, 0])
    batch.model.body_mass[1] = np.nan
    before = batch.qpos.copy()
    with pytest.raises(asp.ModelError, match=r"not finite|mass"):
        batch.step()
    assert np.array_equal(batch.qpos, before)


def test_vertices_vary_where_nothing_else_is_made_of_them() -> None:
    """Falling tetrahedra, of which one is twice as high, come to the floor at another height."""
    corners = "0 0 0  .1 0 0  0 .1 0  0 0 .1"
    xml = (
        f'<mujoco><asset><mesh name="m" vertex="{corners}"/></asset><worldbody>'
        '<geom type="plane" size="1 1 1"/><body pos="0 0 0.06"><freejoint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(xml)
    batch = asp.Batch(model, 2, integrator=asp.Midas(time_step=5e-3))
    batch.vary("mesh_vert")[1] *= 1.5
    batch.step(100)
    assert not batch.status.any()
    for w in range(2):
        sim = asp.Simulator(batch.world_model(w), integrator=asp.Midas(time_step=5e-3))
        for _ in range(100):
            sim.step()
        assert batch.qpos[w] == pytest.approx(sim.data.qpos, abs=1e-9)
    assert batch.qpos[1, 2] > 1.3 * batch.qpos[0, 2]
    with pytest.raises(asp.ArgumentError, match=r"mesh_vert can vary .* with Midas alone"):
        asp.Batch(model, 2).vary("mesh_vert")


def test_what_cannot_vary_is_refused() -> None:
    batch = asp.Batch(scene(), 2)
    for name, message in (
        ("geom_frictoin", "did you mean 'geom_friction'"),
        ("geom_rgba", "cannot vary"),
        ("body_parentid", "cannot vary"),
        ("nq", "cannot vary"),
        ("jnt_type", "cannot vary"),
    ):
        with pytest.raises(asp.ArgumentError, match=message):
            batch.vary(name)
    before = batch.qpos.copy()
    batch.vary("body_mass")[1, 2] = np.nan
    with pytest.raises(
        asp.ArgumentError, match="body_mass of world 1 has a value that is not finite"
    ):
        batch.step()
    batch.vary("body_mass")[1] = batch.model.body_mass
    batch.vary("dof_damping")[1, 0] = 0.1
    with pytest.raises(asp.ModelError, match=r"world 1: .*free joint"):
        batch.step()
    assert np.array_equal(batch.qpos, before)
