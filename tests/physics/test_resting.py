"""Bodies at rest stay where weight and stiffness put them, at any setting and for long."""

from __future__ import annotations

import numpy as np
import pytest
from physics_models import GRAVITY, compile_mjcf, on_plane

import asperity as asp

MASS = 2.0
STIFFNESS = 1e5
SIZE = 0.1

SETTINGS = [asp.Cenic(accuracy=a) for a in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)]
SETTINGS += [asp.Icf(time_step=h) for h in (1e-3, 1e-2, 5e-2)]


def _name(setting: asp.Cenic | asp.Icf) -> str:
    return f"cenic-{setting.accuracy}" if isinstance(setting, asp.Cenic) else f"{setting.time_step}"


def _resolution(setting: asp.Cenic | asp.Icf) -> float:
    """Relative error of the depth that the convex solver's tolerance ε leaves.

    The momentum of a step is balanced to ε s √m with s = max(1, √m g h), and the weight's share in it
    is m g h: for a half step of the longest step, h = 50 ms, the ratio is 1.44 ε.
    """
    if isinstance(setting, asp.Icf):
        return 1e-6
    return max(1e-6, 1.5 * setting.tolerance_ratio * setting.accuracy)


@pytest.mark.parametrize("setting", SETTINGS, ids=_name)
@pytest.mark.parametrize(("shape", "points"), [("box", 4), ("sphere", 1)])
def test_a_dropped_body_rests_at_its_static_depth(
    shape: str, points: int, setting: asp.Cenic | asp.Icf
) -> None:
    model = on_plane(f"type='{shape}' size='{SIZE} {SIZE} {SIZE}' mass='{MASS}'")
    sim = asp.Simulator(
        model, integrator=setting, contact=asp.ContactParameters(stiffness=STIFFNESS)
    )
    sim.data.qpos[2] = SIZE + 0.01
    depth = MASS * GRAVITY / (points * STIFFNESS)
    tolerance = _resolution(setting)
    for end in (30.0, 60.0):
        report = sim.advance_to(end)
        assert report.success
        assert SIZE - sim.data.qpos[2] == pytest.approx(depth, rel=tolerance)
    # Neither creep nor spin comes out of nothing.
    assert np.abs(sim.data.qpos[:2]).max() < 1e-12
    assert np.abs(sim.data.qpos[4:]).max() < 1e-12
    # The published forces carry the weight, with the same tolerance.
    contacts = sim.contacts
    assert len(contacts.force) == points
    total = contacts.force.sum(axis=0)
    assert total[2] == pytest.approx(MASS * GRAVITY, rel=tolerance)
    assert np.abs(total[:2]).max() < tolerance * MASS * GRAVITY
    np.testing.assert_allclose(contacts.signed_distance, -depth, rtol=tolerance)


@pytest.mark.parametrize("setting", SETTINGS, ids=_name)
def test_a_stack_stays_at_the_depths_of_its_weights(setting: asp.Cenic | asp.Icf) -> None:
    depths = np.array([3.0, 2.0, 1.0]) * MASS * GRAVITY / (4 * STIFFNESS)
    heights = 0.1 + 0.2 * np.arange(3) - np.cumsum(depths)
    # Different widths, so that no edges meet edges.
    boxes = "".join(
        f"<body pos='0 0 {height:.17g}'><freejoint/>"
        f"<geom type='box' size='{width} {width} 0.1' mass='{MASS}'/></body>"
        for height, width in zip(heights, (0.12, 0.1, 0.08), strict=True)
    )
    sim = asp.Simulator(
        compile_mjcf(f"<geom type='plane' size='0 0 1'/>{boxes}"),
        integrator=setting,
        contact=asp.ContactParameters(stiffness=STIFFNESS),
    )
    assert sim.advance_to(60.0).success
    z = sim.data.qpos[2::7]
    # Three bodies share the solver's tolerance.
    np.testing.assert_allclose(
        [0.1 - z[0], *(0.2 - np.diff(z))], depths, rtol=3 * _resolution(setting)
    )
    assert np.abs(sim.data.qpos.reshape(3, 7)[:, :2]).max() < 1e-9


def test_a_box_does_not_sink_where_stiffness_is_huge() -> None:
    # A depth of 5 nm: stiff against anything a step of 50 ms could resolve.
    model = on_plane("type='box' size='0.1 0.1 0.1' mass='2'", position="0 0 0.1")
    contact = asp.ContactParameters(stiffness=1e9)
    for setting in (asp.Icf(time_step=0.05), asp.Cenic(accuracy=0.1)):
        sim = asp.Simulator(model, integrator=setting, contact=contact)
        assert sim.advance_to(60.0).success
        assert abs(sim.data.qpos[2] - 0.1) < 1e-8


TABLES = {
    "box": "<geom type='box' size='1 1 .1' pos='0 0 -.1' euler='0 0 20'/>",
    "mesh": "<geom type='mesh' mesh='top'/>",
}
TOP = (
    "<asset><mesh name='top' vertex='-1 -1 -.1 1 -1 -.1 1 1 -.1 -1 1 -.1 "
    "-1 -1 0 1 -1 0 1 1 0 -1 1 0'/></asset>"
)


@pytest.mark.parametrize("setting", [asp.Cenic(), asp.Icf(time_step=1e-3)], ids=["cenic", "icf"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("table", TABLES)
def test_a_drum_with_a_load_beside_its_axis_rests_on_a_table(
    table: str, share: float, setting: asp.Cenic | asp.Icf
) -> None:
    """A load within the rim keeps it standing: the floor's force acts below the centre of mass."""
    radius, drum, load = 0.1, 1.0, 5.0
    arm = share * radius * (drum + load) / load
    model = compile_mjcf(
        f"{TABLES[table]}<body pos='0 0 .05'><freejoint/>"
        f"<geom type='cylinder' size='{radius} .05' mass='{drum}'/>"
        f"<geom type='box' size='.02 .02 .02' pos='{0.8 * arm} {0.6 * arm} .07' mass='{load}'"
        " contype='0' conaffinity='0'/></body>",
        sections=TOP,
    )
    sim = asp.Simulator(model, integrator=setting)
    sim.advance_to(2.0)
    for _ in range(20):
        sim.advance_to(sim.time + 0.02)
        assert np.abs(sim.data.qvel).max() < 1e-4
    contacts, weight = sim.contacts, (drum + load) * GRAVITY
    force = contacts.normal_force
    assert force.sum() == pytest.approx(weight, rel=1e-4)
    middle = force @ contacts.point[:, :2] / force.sum()
    np.testing.assert_allclose(middle, sim.data.xipos[1, :2], atol=1e-4 * radius)


@pytest.mark.parametrize("spin", [4.0, 5.0])
@pytest.mark.parametrize("table", TABLES)
def test_a_coin_that_wobbles_in_long_steps_lies_down_on_its_table(table: str, spin: float) -> None:
    """It never lies below the table, and in the end its centre is half its thickness above that."""
    half = 0.003
    model = compile_mjcf(
        f"{TABLES[table]}<body pos='0 0 .03' euler='60 0 0'><freejoint/>"
        f"<geom type='cylinder' size='.04 {half}' mass='.1' friction='.4'/></body>",
        sections=TOP,
    )
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-2))
    sim.data.qvel[5] = spin
    for _ in range(50):
        sim.advance_to(sim.time + 0.02)
        assert sim.data.qpos[2] > -half
    assert sim.data.qpos[2] == pytest.approx(half, abs=1e-4)


@pytest.mark.parametrize("spin", [12.0, 20.0])
def test_a_coin_wobbles_on_as_long_as_under_error_control(spin: float) -> None:
    """It rolls on its rim, which loses next to nothing: fixed steps are not to damp it."""
    model = compile_mjcf(
        f"{TABLES['box']}<body pos='0 0 .03' euler='60 0 0'><freejoint/>"
        "<geom type='cylinder' size='.04 .003' mass='.1' friction='.4'/></body>",
        sections=TOP,
    )
    energies = []
    for integrator in (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-4)):
        sim = asp.Simulator(model, integrator=integrator)
        sim.data.qvel[5] = spin
        for time in (1.0, 2.0):
            sim.advance_to(time)
            energies.append(sum(sim.energy()))
    np.testing.assert_allclose(energies[:2], energies[2:], rtol=0.1)
