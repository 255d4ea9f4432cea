"""Torsion, rolling and two coefficients of sliding in Midas: kernels, sharing, and what is read."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from engines import engine_of, hessian
from test_derivatives import BOXES, disturbed, gradient

import asperity as asp
from asperity.midas.energy.friction_terms import turn_friction
from asperity.midas.model.contact_numbers import contact_numbers
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.resolved_materials import resolve_materials

G = 9.81
KINDS = "<default><geom condim='6' friction='.7 .02 .01'/></default><worldbody>"
PILE = BOXES.replace("<worldbody>", KINDS)
# Chains whose ends touch each other, a free ball that they touch, and a hinged branch of one.
CHAINS = f"""
<mujoco>{KINDS}
<body pos="-.2 0 0"><joint axis="0 1 .1"/><geom type="capsule" fromto="0 0 0 .1 0 0" size=".01"/>
 <body pos=".12 0 0"><joint axis="0 .2 1"/><geom type="capsule" fromto="0 0 0 .0495 0 0" size=".03"/>
 </body></body>
<body pos=".2 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 -.1 0 0" size=".01"/>
 <body pos="-.12 0 0"><joint type="ball"/><geom type="box" size=".0499 .02 .02"/></body></body>
<body pos="-.07 0 .0603"><freejoint/><geom size=".03"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("xml", [PILE, CHAINS], ids=["pile", "chains"])
def test_gradient_and_hessian_are_those_of_the_potential(xml: str) -> None:
    """Friction is linear in free bodies, hinges and ball joints, so that its Hessian is exact."""
    engine, z, rng = disturbed(xml, 2, 0.0)
    table = engine.table
    table.options.barrier_stiffness = 0.0
    z = z + 1e-5 * rng.normal(size=z.shape)
    gradient(engine, z)
    table.poses.q_trial[:] = table.poses.q_now
    turn_friction(table, 1.0)
    gradient(engine, z)
    whole = hessian(engine)
    forces = table.friction.force[: table.friction.count].copy()
    pairs = table.friction.link[: table.friction.count]
    assert np.any(np.all(pairs < len(engine.links.links), axis=1))
    for _ in range(10):
        direction = rng.normal(size=z.shape)
        # What friction alone changes: all else is there without it, too.
        both = []
        for scale in (1.0, 0.0):
            table.friction.force[: len(forces)] = scale * forces
            gradient(engine, z)
            product = (whole if scale else hessian(engine)) @ direction
            ends = [gradient(engine, z + s * 1e-8 * direction) for s in (-2, -1, 1, 2)]
            change = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 12e-8
            both.append((product, change))
        own = both[0][0] - both[1][0]
        expected = both[0][1] - both[1][1]
        np.testing.assert_allclose(own, expected, atol=1e-4 * np.linalg.norm(expected))


def spun(geom: str, height: float, condim: int, friction: str, velocity: list[float], **options):
    """A body of 1 kg on a plane, after 0.1 s, with how many contacts it has."""
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1'/>"
        f"<body pos='0 0 {height}'><freejoint/><geom name='a' {geom} mass='1'/></body></worldbody>"
        f"<contact><pair geom1='floor' geom2='a' condim='{condim}' friction='{friction}'/></contact>"
        "</mujoco>"
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=2e-3, **options))
    # It falls for a fifth of a millimetre at most; then it turns.
    assert sim.advance_to(0.1).success
    sim.data.qvel[:] = velocity
    assert sim.advance_to(0.2).success
    return sim


FLAT = (
    ("type='box' size='.1 .1 .03'", 0.0304, {}),
    ("type='box' size='.1 .1 .03'", 0.0304, {"subdivisions": 3}),
    ("type='cylinder' size='.1 .03'", 0.0304, {}),
    ("size='.1'", 0.1004, {}),
)


@pytest.mark.parametrize(("geom", "height", "options"), FLAT, ids=["box", "pieces", "disc", "ball"])
def test_moments_of_all_stencils_add_up_to_that_of_the_weight(geom, height, options) -> None:
    """I dω/dt = −μ_t m g, on one point, on corners and on a face, where sliding has no friction."""
    torsion, spin = 0.01, 40.0
    sim = spun(geom, height, 4, f"1e-5 1e-5 {torsion} 0 0", [0, 0, 0, 0, 0, spin], **options)
    lost = torsion * G / sim.model.body_inertia[1, 2] * 0.1
    assert spin - sim.data.qvel[5] == pytest.approx(lost, rel=0.01)
    torque = sim.contacts.torque.sum(axis=0)
    assert abs(torque[2]) == pytest.approx(torsion * G, rel=0.01)


@pytest.mark.parametrize("kind", ["capsule", "cylinder"])
def test_what_rolls_on_a_line_is_braked_as_on_a_point(kind: str) -> None:
    """About the contact d(I ω + m R v)/dt = −μ_r m g: both ends of the line bear the weight."""
    rolling, radius = 0.005, 0.1
    geom = f"type='{kind}' size='{radius} .2' euler='90 0 0'"
    start = [1, 0, 0, 0, 1 / radius, 0]
    sim = spun(geom, 0.1004, 6, f"1 1 .01 {rolling} {rolling}", start)
    about = sim.model.body_inertia[1].min()
    lost = about * (start[4] - sim.data.qvel[4]) + radius * (start[0] - sim.data.qvel[0])
    assert lost == pytest.approx(rolling * G * 0.1, rel=0.002)


def test_spin_that_one_body_loses_another_gains() -> None:
    """A ball that spins on a free disc that slips: both have the moment μ_t m g."""
    torsion, spin = 0.01, 50.0
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><geom type="plane" size="1 1 1" condim="1"/>
        <body pos="0 0 .0304"><freejoint/><geom name="disc" type="cylinder" size=".2 .03" mass="1"
          condim="1"/></body>
        <body pos="0 0 .1611"><freejoint/><geom name="ball" size=".1" mass="1" condim="1"/></body>
        </worldbody><contact><pair geom1="disc" geom2="ball" condim="4"
          friction="1 1 {torsion} 0 0"/></contact></mujoco>"""
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=2e-3))
    assert sim.advance_to(0.1).success
    sim.data.qvel[11] = spin
    assert sim.advance_to(0.2).success
    moments = [sim.model.body_inertia[i, 2] for i in (1, 2)]
    gained, kept = (moments[i] * sim.data.qvel[5 + 6 * i] for i in range(2))
    assert gained == pytest.approx(torsion * G * 0.1, rel=0.01)
    assert gained + kept == pytest.approx(moments[1] * spin, rel=1e-6)


def test_coefficients_and_tangents_are_mujocos() -> None:
    """Of random geoms near each other, against the contacts that MuJoCo finds."""
    rng = np.random.default_rng(3)
    shapes = ("size='.1'", "type='capsule' size='.1 .2'", "type='box' size='.1 .1 .1'")
    seen = set()
    for _ in range(40):
        geoms = "".join(
            f"<body pos='{3 * i} 0 {z}' quat='{' '.join(map(str, rng.normal(size=4)))}'><freejoint/>"
            f"<geom {shapes[rng.integers(3)]} condim='{rng.choice([1, 3, 4, 6])}' "
            f"priority='{rng.integers(2)}' friction='{rng.uniform()} {rng.uniform()} {rng.uniform()}'/>"
            "</body>"
            for i, z in enumerate((0.05, 0.05))
        )
        model = mujoco.MjModel.from_xml_string(
            f"<mujoco><worldbody><geom type='plane' size='9 9 1' condim='{rng.choice([1, 3, 4])}' "
            f"friction='{rng.uniform()} {rng.uniform()} {rng.uniform()}' priority='{rng.integers(2)}'/>"
            f"{geoms}</worldbody></mujoco>"
        )
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        materials = resolve_materials(model, ContactParameters())
        assert data.ncon
        for contact in data.contact:
            a, b = sorted(map(int, contact.geom))
            numbers = contact_numbers(model, a, b, materials)
            seen.add(int(contact.dim))
            wanted = np.zeros(5)
            wanted[:2] = contact.friction[:2] if contact.dim > 1 else 0.0
            wanted[2:3] = contact.friction[2] if contact.dim > 3 else 0.0
            wanted[3:] = contact.friction[3:] if contact.dim > 4 else 0.0
            found = numbers[0] * np.append(1.0, numbers[3:])[[0, 1, 4, 2, 3]]
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert seen == {1, 3, 4, 6}


@pytest.mark.parametrize("turn", ["90 30 0", "80 25 10", "5 0 0", "10 20 0"])
def test_a_capsule_that_lies_has_mujocos_tangents(turn: str) -> None:
    """Two coefficients of a pair are those along and across its axis, or those of the floor."""
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><geom name="floor" type="plane" size="9 9 1" euler="10 20 0"/>
        <body pos="0 0 .35" euler="{turn}"><freejoint/><geom name="a" type="capsule" size=".1 .2"/>
        </body></worldbody><contact><pair geom1="floor" geom2="a" margin="1" condim="3"
        friction=".5 .2 0 0 0"/></contact></mujoco>"""
    )
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=2e-3))
    while len(sim.contacts) == 0:
        sim.step()
    frame = sim.session.results.delivered.contacts.frame[0].reshape(3, 3)
    data = mujoco.MjData(model)
    data.qpos[:] = sim.data.qpos
    mujoco.mj_forward(model, data)
    wanted = data.contact[0].frame.reshape(3, 3)[1]
    assert abs(frame[0] @ wanted) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)


def test_no_other_friction_has_no_room() -> None:
    """Scenes with sliding alone have neither arrows nor skew parts of Hessians."""
    frictionless = BOXES.replace(
        "<worldbody>", "<default><geom friction='0'/></default><worldbody>"
    )
    for xml, rows in ((BOXES, 6), (frictionless, 6), (PILE, 9)):
        table = engine_of(xml).table
        assert table.hessian.link_sums.shape[1] == table.hessian.slot_sums.shape[1] == rows
        assert (len(table.friction.arrow) > 0) == (rows == 9)
