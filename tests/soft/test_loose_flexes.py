"""Flexes that nothing holds together, whose vertices move one by one, and vertices along rays."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from soft_models import compile_soft

import asperity as asp

ALL = (asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3), asp.Midas(time_step=5e-3))
NAMES = ("icf", "cenic", "midas")
FLOOR = "<geom type='plane' size='1 1 .1'/>"
HELD = "<edge equality='true'/><contact selfcollide='none'/>"


def _loose(dim: int, height: float, more: str = "<contact selfcollide='none'/>") -> str:
    """Vertices at distances of 0.1 m, of 0.5 kg in all."""
    count = {1: "5 1 1", 2: "3 3 1", 3: "3 3 3"}[dim]
    return (
        f"<flexcomp name='f' type='grid' dim='{dim}' count='{count}' spacing='.1 .1 .1' mass='.5'"
        f" radius='.01' pos='0 0 {height}'>{more}</flexcomp>"
    )


def _radial(more: str) -> str:
    """A box of 0.6 m of vertices that slide along rays from the origin of the world."""
    return (
        "<flexcomp name='f' type='box' dim='3' count='4 4 4' spacing='.2 .2 .2' mass='1'"
        f" radius='.01' pos='0 0 1' dof='radial'>{more}</flexcomp>"
    )


@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_vertices_that_nothing_holds_fall_and_rest(integrator: asp.Integrator, dim: int) -> None:
    """They fall at g t, and the floor bears the weight of each of them."""
    model = compile_soft(FLOOR + _loose(dim, 0.25))
    sim = asp.Simulator(model, integrator=integrator)
    assert any("nothing holds its vertices together" in note for note in sim.load_report.notes)
    sim.advance_to(0.1)
    assert sim.data.qvel.reshape(-1, 3) == pytest.approx(
        np.tile([0.0, 0.0, -0.981], (model.nv // 3, 1)), abs=1e-9
    )
    sim.advance_to(1.0)
    assert np.abs(sim.data.qvel).max() < 1e-3
    assert np.abs(sim.contacts.force[:, 2]).sum() == pytest.approx(0.5 * 9.81, rel=1e-4)
    x = sim.data.flexvert_xpos
    level = np.abs(x[:, 2] - 0.01) < 2e-3
    assert level.all()


@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
def test_a_ball_drives_vertices_away(integrator: asp.Integrator) -> None:
    """The ball and what it has struck keep their momentum, and vertices far off stay."""
    ball = "<body pos='0 0 -.07'><freejoint/><geom size='.03' mass='.2' friction='0 0 0'/></body>"
    model = compile_soft(ball + _loose(1, 0.0), gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[2] = 1.0
    sim.advance_to(0.2)
    velocity = sim.data.qvel[6:].reshape(-1, 3)
    momentum = 0.2 * sim.data.qvel[:3] + 0.1 * velocity.sum(axis=0)
    assert momentum == pytest.approx([0.0, 0.0, 0.2], abs=1e-6)
    assert velocity[2, 2] >= sim.data.qvel[2] - 1e-6
    assert velocity[2, 2] > 0.5
    assert np.abs(velocity[[0, 4]]).max() < 1e-9


@pytest.mark.parametrize("integrator", ALL[:2], ids=NAMES[:2])
def test_elements_that_collide_keep_momentum(integrator: asp.Integrator) -> None:
    """Whatever vertices an element's point depends on, forces act on both of a contact's sides."""
    model = compile_soft(_loose(3, 0.0, ""), gravity=0.0)
    sim = asp.Simulator(model, integrator=integrator)
    rng = np.random.default_rng(0)
    sim.data.qvel[:] = (-5.0 * sim.data.flexvert_xpos + rng.normal(size=(27, 3))).ravel()
    start = sim.data.qvel.reshape(-1, 3).copy()
    touched = 0
    for step in range(1, 21):
        sim.advance_to(0.01 * step)
        touched += len(sim.contacts.force)
    assert touched > 0
    velocity = sim.data.qvel.reshape(-1, 3)
    assert np.abs(velocity - start).max() > 0.1
    assert np.abs((velocity - start).sum(axis=0)).max() < 1e-9 * np.abs(start).sum()


@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
def test_vertices_along_rays_in_the_world_slide_down(integrator: asp.Integrator) -> None:
    """Along the axis a the velocity is −g a_z t; the floor then bears m g of each vertex."""
    model = compile_soft(
        "<geom type='plane' size='1 1 .1' pos='0 0 .6' friction='0 0 0'/>"
        + _radial("<contact selfcollide='none' friction='0 0 0'/>")
    )
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(0.1)
    assert sim.data.qvel == pytest.approx(-0.981 * model.jnt_axis[:, 2], abs=1e-9)
    sim.advance_to(1.0)
    assert sim.data.flexvert_xpos[1:, 2] == pytest.approx(0.61, abs=2e-3)
    weight = 9.81 * model.body_mass.sum()
    assert np.abs(sim.contacts.force[:, 2]).sum() == pytest.approx(weight, rel=1e-3)


@pytest.mark.parametrize("integrator", ALL, ids=NAMES)
def test_a_box_of_vertices_along_rays_in_the_world_bears_a_ball(
    integrator: asp.Integrator,
) -> None:
    """Its edges are held, so that it is stiff: the ball stays on it, and presses by its weight."""
    ball = (
        "<body pos='0 0 1.37'><joint type='slide' axis='0 0 1'/><geom size='.05' mass='.3'/></body>"
    )
    model = compile_soft(ball + _radial(HELD))
    sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1.5)
    assert np.abs(sim.data.qvel).max() < 1e-3
    assert np.abs(sim.data.qpos[1:]).max() < 2e-3
    assert np.abs(sim.contacts.force[:, 2]).sum() == pytest.approx(0.3 * 9.81, rel=1e-3)


def _rope_in_a_tendon(tendon: bool) -> mujoco.MjModel:
    slides = "".join(f"<joint type='slide' axis='{axis}'/>" for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(
        f"<body name='v{i}' pos='{0.1 * i} 0 .3'><inertial mass='.1' pos='0 0 0' diaginertia='1 1 1'/>"
        f"{slides}<site name='s{i}'/></body>"
        for i in range(5)
    )
    over = "".join(f"<site site='s{i}'/>" for i in (0, 2, 4))
    sections = f"<tendon><spatial>{over}</spatial></tendon>" if tendon else ""
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{FLOOR}<geom size='.05' pos='.2 0 .1' condim='1'/>{bodies}</worldbody><deformable>"
        f"<flex name='f' dim='1' body='v0 v1 v2 v3 v4' element='0 1 1 2 2 3 3 4' radius='.01'"
        f" vertex='{'0 ' * 15}'><edge stiffness='200' damping='.2'/><contact selfcollide='none' condim='1'/></flex>"
        f"</deformable>{sections}</mujoco>"
    )


@pytest.mark.parametrize(
    ("integrator", "within"),
    # Error control weighs the errors of trees one by one.
    [(asp.Icf(time_step=2e-3), 1e-7), (asp.Cenic(accuracy=1e-3), 1e-4)],
    ids=NAMES[:2],
)
def test_a_rope_whose_vertices_a_tendon_couples(integrator: asp.Integrator, within: float) -> None:
    """A tendon without stiffness changes nothing, though all vertices are one tree then."""
    places = []
    for tendon in (False, True):
        sim = asp.Simulator(_rope_in_a_tendon(tendon), integrator=integrator)
        sim.advance_to(0.3)
        assert len(sim.contacts.force) > 0
        places.append(sim.data.qpos.copy())
    assert np.abs(places[0]).max() > 0.1
    assert places[1] == pytest.approx(places[0], abs=within)
