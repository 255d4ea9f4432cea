"""Contacts between listed pairs are those that MuJoCo finds when it searches by itself."""

from __future__ import annotations

import ctypes

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.derivatives import Transition, model_number
from asperity.plant.detection.near_pairs import can_list_pairs

SHAPES = (
    'type="sphere" size=".06"',
    'type="capsule" size=".03 .08"',
    'type="box" size=".05 .04 .06"',
    'type="ellipsoid" size=".05 .03 .08"',
    'type="cylinder" size=".04 .06"',
    'type="mesh" mesh="wedge"',
)
WEDGE = '<mesh name="wedge" vertex="0 0 0  .12 0 0  0 .1 0  0 0 .14  .05 .05 .1"/>'
FIELDS = (
    *("dist", "pos", "frame", "dim", "geom", "exclude", "includemargin", "friction", "solref"),
    *(
        "solreffriction",
        "solimp",
        "adhesion",
        "surfacevel",
        "efc_address",
        "geom1",
        "geom2",
        "flex",
    ),
)


def _chain(number: int, length: int) -> str:
    """A tree whose bodies have one to three geoms of all shapes."""
    text = ""
    for k in range(length):
        geoms = "".join(
            f'<geom {SHAPES[(number + 2 * k + e) % len(SHAPES)]} pos="{0.05 * e} 0 {0.04 * e}"/>'
            for e in range(1 + (number + k) % 3)
        )
        joint = "<freejoint/>" if k == 0 else '<joint axis="0 1 0"/><joint axis="1 0 0"/>'
        text += f'<body name="b{number}_{k}" pos="0 .03 .16">{joint}{geoms}'
    return text + "</body>" * length


def _model(*, option: str = "", default: str = "", end: str = "", trees: int = 8) -> mujoco.MjModel:
    bodies = "".join(
        f'<frame pos="{0.3 * (n % 3)} {0.3 * (n // 3)} .2">{_chain(n, 1 + n % 4)}</frame>'
        for n in range(trees)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><size memory="20M"/>{option}<asset>{WEDGE}</asset>'
        f'<default><geom contype="3" conaffinity="3" {default}/><default class="fixed"><geom '
        'contype="1" conaffinity="1"/></default></default><worldbody>'
        '<geom class="fixed" type="plane" size="1 1 .1" euler="5 0 0"/>'
        '<geom class="fixed" type="box" size=".2 .02 .4" pos=".3 -.1 0"/>'
        '<geom class="fixed" type="sphere" size=".1"/>'
        '<body mocap="true" pos=".4 .4 .3"><geom type="capsule" size=".05 .2" contype="2" '
        f'conaffinity="2"/></body>{bodies}<body pos=".7 .1 .2"><geom class="fixed" '
        'type="cylinder" size=".05 .3"/></body>'
        f"</worldbody>{end}</mujoco>"
    )


def _listed(sim: asp.Simulator) -> mujoco.MjData:
    """Contacts of the simulator's own state, found between listed pairs."""
    plant, state = sim.session.plant.table, sim.session.world.current
    assert plant.list_pairs != 0
    address = ctypes.c_int64
    pairs = ctypes.CFUNCTYPE(address, address, address)(plant.list_pairs)
    model = pairs(plant.address, state.table.address)
    assert model == state.table.near_pairs.struct.ctypes.data
    ctypes.CFUNCTYPE(None, address, address)(plant.mujoco.collision)(model, state.data._address)
    return state.data


def _agree(sim: asp.Simulator, random: np.random.Generator, states: int = 40) -> int:
    """Compare contacts in random states; returns how many there were."""
    model, own = sim.model, sim.session.world.current.data
    data = mujoco.MjData(model)
    found = 0
    for _ in range(states):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, random.normal(size=model.nv), 0.4)
        data.mocap_pos[:] = random.uniform(0.0, 0.6, 3)
        for each in (own, data):
            each.qpos[:], each.mocap_pos[:] = data.qpos, data.mocap_pos
            mujoco.mj_kinematics(model, each)
            mujoco.mj_comPos(model, each)
        listed = _listed(sim).contact
        mujoco.mj_collision(model, data)
        assert len(listed) == data.ncon
        for field in FIELDS:
            one, other = getattr(listed, field), getattr(data.contact, field)
            assert np.array_equal(one, other), field
        found += data.ncon
    return found


@pytest.mark.parametrize(
    ("option", "default", "end"),
    [
        ("", "", ""),
        ('<option><flag midphase="disable" filterparent="disable"/></option>', "", ""),
        ("", 'margin=".01" gap=".02"', ""),
        ('<option o_margin=".03"><flag override="enable"/></option>', "", ""),
        ("", "", '<contact><exclude body1="b1_0" body2="b2_0"/></contact>'),
    ],
    ids=["plain", "without mid-phase and parents' filter", "margins", "override", "excluded"],
)
def test_contacts_are_those_of_mujoco(option: str, default: str, end: str) -> None:
    model = _model(option=option, default=default, end=end)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.01))
    assert _agree(sim, np.random.default_rng(4)) > 500


def test_parameters_are_combined_as_mujoco_does() -> None:
    model = _model()
    random = np.random.default_rng(5)
    count = model.ngeom
    model.geom_priority[:] = random.integers(0, 2, count)
    model.geom_condim[:] = random.choice([1, 3, 4, 6], count)
    model.geom_friction[:] = random.uniform(0.1, 1.0, (count, 3))
    # Halves, which are mixed without rounding.
    model.geom_solmix[:] = random.choice([0.0, 1.0], count)
    model.geom_solref[:] = random.choice([0.25, 0.5, -4.0], (count, 2))
    model.geom_solimp[:, :3] = random.choice([0.25, 0.5, 0.75], (count, 3))
    moving = model.body_treeid[model.geom_bodyid] >= 0
    model.geom_contype[moving] = random.integers(0, 4, np.count_nonzero(moving))
    model.geom_conaffinity[moving] = random.integers(0, 4, np.count_nonzero(moving))
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.01))
    assert _agree(sim, random) > 100


def test_changes_of_the_model_are_heard() -> None:
    model = _model()
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.01))
    random = np.random.default_rng(6)
    before = _agree(sim, random)
    model.geom_conaffinity[3::2] = 0
    model.geom_contype[3::2] = 0
    model.geom_friction[:, 0] = 0.3
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    model.opt.o_margin = 0.02
    sim.advance_to(0.01)
    assert 100 < _agree(sim, random) != before


def test_trajectories_are_the_same_to_the_bit() -> None:
    model = _model(trees=5)
    quick, plain = (asp.Simulator(model, integrator=asp.Icf(time_step=0.004)) for _ in range(2))
    assert plain.session.plant.table.list_pairs != 0
    plain.session.plant.table.list_pairs = 0
    contacts = 0
    for i in range(1, 11):
        for sim in (quick, plain):
            sim.advance_to(0.04 * i)
        contacts += quick.data.ncon
        assert np.array_equal(quick.data.qpos, plain.data.qpos)
    assert contacts > 30


def test_mujoco_searches_where_there_is_no_room() -> None:
    model = _model()
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.01))
    near = sim.session.world.current.table.near_pairs
    near.key = np.empty(2, np.int64)
    sim.advance_to(0.01)
    assert near.count == -1
    data = mujoco.MjData(model)
    data.qpos[:] = sim.data.qpos
    mujoco.mj_fwdPosition(model, data)
    assert sim.data.ncon == data.ncon > 2


def test_what_mujoco_does_otherwise_is_left_to_it() -> None:
    assert can_list_pairs(_model())
    pair = '<contact><pair geom1="floor" geom2="g"/></contact>'
    ball = '<body><freejoint/><geom name="g" size=".1"/></body>'
    floor = '<geom name="floor" type="plane" size="1 1 1"/>'
    world = f"<worldbody>{floor}{ball}</worldbody>"
    with_pair = mujoco.MjModel.from_xml_string(f"<mujoco>{world}{pair}</mujoco>")
    assert not can_list_pairs(with_pair)
    touched = _model()
    touched.geom_contype[0] = touched.geom_conaffinity[0] = 2
    sim = asp.Simulator(touched, integrator=asp.Icf(time_step=0.01))
    assert sim.session.plant.table.list_pairs == 0


def test_long_chains_are_left_to_mujoco() -> None:
    chain = '<body pos="0 0 .05"><joint axis="1 0 0"/><geom size=".02"/>' * 300 + "</body>" * 300
    text = f"<mujoco><worldbody>{chain}</worldbody></mujoco>"
    sim = asp.Simulator(mujoco.MjModel.from_xml_string(text), integrator=asp.Icf(time_step=0.01))
    assert sim.session.plant.table.list_pairs == 0


def test_friction_that_is_a_parameter_is_heard() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='.01'/><body pos='0 0 .1'>"
        "<freejoint/><geom type='box' size='.1 .1 .1' friction='.3'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[0] = 4.0
    friction = [model_number(model, "geom_friction", (1, 0))]
    ways = []
    transition = Transition(model, integrator=asp.Icf(time_step=1e-3), parameters=friction)
    for value in (0.3, 0.6):
        transition.set_parameters([value])
        states = transition.trajectory(transition.state_of(data), np.zeros((500, 0)))
        ways.append(states[-1, 0])
    # After half a second it still slides; steps of a first-order method sum to v t − μ g t (t + δt)/2.
    assert ways[0] - ways[1] == pytest.approx(0.3 * 9.81 * 0.5 * 0.501 / 2, rel=5e-4)
