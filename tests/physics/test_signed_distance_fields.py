"""Geoms whose shape is a signed distance field, with the contacts that MuJoCo's search finds."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant.detection.sweep import inner_radii
from asperity.plant.model.support import check_supported

# `mujoco` and `mujoco-core` bring the library of these shapes, and load it when they are imported.
RADIUS, TUBE = 0.35, 0.15


def shapes(instances: dict[str, str], body: str, options: str = "") -> mujoco.MjModel:
    """A model with meshes of plugin instances, all by the names of these: name to plugin."""
    plugins = "".join(
        f"<plugin plugin='mujoco.sdf.{text.split()[0]}'><instance name='{name}'>"
        + "".join(
            "<config key='{}' value='{}'/>".format(*pair.split("=")) for pair in text.split()[1:]
        )
        + "</instance></plugin>"
        for name, text in instances.items()
    )
    meshes = "".join(f"<mesh name='{n}'><plugin instance='{n}'/></mesh>" for n in instances)
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option {options}/><extension>{plugins}</extension><asset>{meshes}</asset>"
        f"<worldbody>{body}</worldbody></mujoco>"
    )


def geom(name: str) -> str:
    return f"<geom name='{name}' type='sdf' mesh='{name}'><plugin instance='{name}'/></geom>"


def ring(height: float) -> mujoco.MjModel:
    body = f"<body name='ring' pos='0 0 {height}'><freejoint/>{geom('ring')}</body>"
    return shapes(
        {"ring": f"torus radius1={RADIUS} radius2={TUBE}"},
        f"<geom name='floor' type='plane' size='5 5 1'/>{body}",
        "timestep='0.002'",
    )


def test_a_ring_comes_to_rest_on_the_floor() -> None:
    model = ring(0.3)
    # The mesh that MuJoCo makes of the field: a torus weighs 2π²Rr² times its density.
    mass = 1000.0 * 2.0 * np.pi**2 * RADIUS * TUBE**2
    assert model.body_mass[1] == pytest.approx(mass, rel=0.4)
    for integrator in (asp.Cenic(), asp.Icf(time_step=2e-3)):
        sim = asp.Simulator(model, integrator=integrator)
        assert sim.advance_to(1.5).success
        weight = float(model.body_mass[1]) * 9.81
        contacts = sim.contacts
        # The search takes other points of the ring whenever it tilts by a hair, which keeps it
        # rocking by a tenth of a millimetre.
        total = np.sum(contacts.force, axis=0)
        np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=0.05 * weight)
        # Every contact yields by its own force over 1e5 N/m.
        depth = TUBE - sim.data.qpos[2]
        assert depth == pytest.approx(weight / len(contacts.force) / 1e5, rel=0.1)
        np.testing.assert_allclose(sim.data.qpos[:2], 0.0, atol=1e-3)
        np.testing.assert_allclose(sim.data.qpos[3:], [1, 0, 0, 0], atol=2e-3)


def test_gears_mesh() -> None:
    """Two wheels with as many teeth turn by the same angle, the other way, but for their play."""
    body = (
        f"<body name='driven'><joint name='driven' damping='1000' axis='0 0 1'/>{geom('one')}"
        f"</body><body name='driving' pos='2.85 0 0'><joint name='driving' damping='0.1' "
        f"axis='0 0 1'/>{geom('two')}</body>"
    )
    model = shapes({"one": "gear alpha=0", "two": "gear alpha=15"}, body)
    sim = asp.Simulator(model)
    sim.data.qfrc_applied[1] = 1500.0
    assert sim.advance_to(1.0).success
    driven, driving = sim.data.qpos
    assert driving > 0.3
    assert abs(driven + driving) < 0.05


def test_inner_radius_of_a_ring_is_half_its_thickness() -> None:
    # Volume over surface of a tube: half its radius; the mesh is a coarse one.
    assert inner_radii(ring(1.0))[1] == pytest.approx(TUBE / 2, rel=0.15)


def test_users_are_told() -> None:
    notes = check_supported(ring(1.0))
    assert len(notes) == 1
    assert "sdf_initpoints" in notes[0]
    assert "'ring'" in notes[0]
