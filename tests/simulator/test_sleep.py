"""Islands at rest keep their solution, and wake by what would move them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp

G = 9.81
STEP = 5e-3

STACK = """
<mujoco><option><flag sleep="{sleep}"/></option>
<worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="a" pos="0 0 0.0999"><freejoint/><geom name="a" type="box" size="0.1 0.1 0.1" mass="3"/>
    <site name="sole" type="box" size="0.11 0.11 0.02" pos="0 0 -0.1"/></body>
  <body name="b" pos="0 0 0.2998"><freejoint/><geom name="b" type="box" size="0.1 0.1 0.1" mass="2"/>
  </body>
  <body name="c" pos="0.5 0 0.0999"><freejoint/>
    <geom name="c" type="box" size="0.1 0.1 0.1" mass="1"/></body>
  <body name="far" pos="0 0 {height}" gravcomp="0"><freejoint/>
    <geom name="far" type="sphere" size="0.05" mass="0.5"/></body>
  <body name="lift" mocap="true" pos="3 0 0.1"><geom type="box" size="0.2 0.2 0.1"/></body>
  </worldbody><sensor><touch site="sole"/></sensor></mujoco>
"""

SLOPE = """
<mujoco><option gravity="{x} 0 {z}"/><worldbody>
  <geom name="floor" type="plane" size="0 0 1" friction="0.5"/>
  <body name="a" pos="0 0 0.0999"><freejoint/>
    <geom name="a" type="box" size="0.1 0.1 0.1" friction="0.5"/></body></worldbody></mujoco>
"""


def icf(sleep: bool | None = True) -> asp.Icf:
    return asp.Icf(time_step=STEP, sleep=sleep)


def cenic(sleep: bool | None = True) -> asp.Cenic:
    return asp.Cenic(accuracy=1e-4, max_step=0.02, sleep=sleep)


Make = Callable[[bool | None], asp.Integrator]
both = pytest.mark.parametrize("make", [icf, cenic])


def stack(
    make: Make = icf, sleep: bool | None = True, height: float = 100.0, flag: bool = False
) -> asp.Simulator:
    """A stack, a box beside it, and a ball that falls from a height."""
    text = STACK.format(height=height, sleep="enable" if flag else "disable")
    model = mujoco.MjModel.from_xml_string(text)
    return asp.Simulator(model, integrator=make(sleep))


def resting_stack(make: Make = icf, sleep: bool | None = True, flag: bool = False) -> asp.Simulator:
    sim = stack(make, sleep, flag=flag)
    sim.advance_to(2.0)
    assert asleep(sim) == "abc"
    return sim


def asleep(sim: asp.Simulator) -> str:
    names = [sim.model.body(int(i)).name for i in np.flatnonzero(sim.asleep)]
    return "".join(sorted(names))


@both
def test_sleeping_bodies_do_not_move_and_are_where_they_were_awake(make: Make) -> None:
    sim, awake = resting_stack(make), stack(make, sleep=False)
    awake.advance_to(2.0)
    before = sim.data.qpos[:21].copy()
    for now in (2.5, 4.0):
        sim.advance_to(now)
        awake.advance_to(now)
        np.testing.assert_array_equal(sim.data.qpos[:21], before)
        np.testing.assert_allclose(sim.data.qpos, awake.data.qpos, atol=3e-6)
        assert not awake.asleep.any()
    assert not sim.data.qvel[:18].any()
    assert not sim.data.qacc[:18].any()


@both
def test_forces_of_what_sleeps_are_published(make: Make) -> None:
    sim, awake = resting_stack(make), stack(make, sleep=False)
    for end in (2.0, 3.0, 3.0 + 0.3 * STEP):
        sim.advance_to(end)
        awake.advance_to(end)
        assert sim.data.ncon == len(sim.contacts) == len(awake.contacts)
        weight = sim.contacts.of("floor").force.sum(axis=0)
        np.testing.assert_allclose(weight, [0.0, 0.0, 6.0 * G], rtol=3e-6, atol=1e-5)
        force, total = np.zeros(6), 0.0
        for i in range(sim.data.ncon):
            mujoco.mj_contactForce(sim.model, sim.data, i, force)
            total += force[0]
        assert total == pytest.approx(8.0 * G, rel=3e-6)
        assert sim.data.sensordata[0] == pytest.approx(5.0 * G, rel=3e-6)
        np.testing.assert_allclose(sim.data.qfrc_constraint[2], 3.0 * G, rtol=1e-5)
        np.testing.assert_allclose(sim.data.xpos, awake.data.xpos, atol=3e-6)


@both
def test_a_blow_wakes_the_island_that_it_meets_and_no_other(make: Make) -> None:
    sim, awake = stack(make, height=25.0), stack(make, sleep=False, height=25.0)
    sim.advance_to(2.2)
    assert asleep(sim) == "abc"
    while sim.data.xpos[4, 2] > 0.5:
        sim.step()
        awake.advance_to(sim.time)
    sim.advance_to(sim.time + 0.05)
    awake.advance_to(sim.time)
    assert asleep(sim) == "c"
    np.testing.assert_allclose(sim.data.qpos, awake.data.qpos, atol=1e-4)


def _push(sim: asp.Simulator) -> None:
    sim.data.xfrc_applied[3, 0] = 20.0


def _pull(sim: asp.Simulator) -> None:
    sim.data.qfrc_applied[12] = 20.0


def _throw(sim: asp.Simulator) -> None:
    sim.data.qvel[12] = 1.0


def _lift(sim: asp.Simulator) -> None:
    sim.data.qpos[14 + 2] += 0.1


def _lean(sim: asp.Simulator) -> None:
    sim.model.opt.gravity[:] = [12.0, 0.0, -G]


def _grease(sim: asp.Simulator) -> None:
    sim.model.opt.gravity[:] = [2.0, 0.0, -G]
    sim.model.geom_friction[:, 0] = 0.0


def _open(sim: asp.Simulator) -> None:
    sim.model.geom_contype[0] = sim.model.geom_conaffinity[0] = 0


def _ram(sim: asp.Simulator) -> None:
    sim.data.mocap_pos[0] = [0.77, 0.0, 0.1]


@both
@pytest.mark.parametrize("change", [_push, _pull, _throw, _lift, _lean, _grease, _open, _ram])
def test_changes_wake_what_they_move(change: Callable[[asp.Simulator], None], make: Make) -> None:
    sim, awake = resting_stack(make), stack(make, sleep=False)
    awake.advance_to(2.0)
    place = sim.data.qpos[14:17].copy()
    for one in (sim, awake):
        change(one)
        one.advance_to(2.1)
    assert "c" not in asleep(sim)
    assert np.linalg.norm(sim.data.qpos[14:17] - place) > 1e-3
    np.testing.assert_allclose(sim.data.qpos[:21], awake.data.qpos[:21], atol=2e-5)


@both
def test_forces_on_one_island_let_others_sleep(make: Make) -> None:
    sim = resting_stack(make)
    sim.data.xfrc_applied[1, 0] = 1.0
    sim.step()
    assert asleep(sim) == "c"
    # What is applied may stay.
    sim.advance_to(4.0)
    assert asleep(sim) == "abc"
    tangential = sim.contacts.of("floor", "a").force[:, 0].sum()
    # Up to the solver's tolerance, 1e-7 √J a step.
    assert tangential == pytest.approx(-1.0, abs=5e-5)


def test_positions_that_a_user_computes_in_between_do_not_matter() -> None:
    sim, other = resting_stack(), resting_stack()
    data = other.data
    qpos = data.qpos.copy()
    data.qpos[2] += 1.0
    mujoco.mj_kinematics(other.model, data)
    data.qpos[:] = qpos
    for one in (sim, other):
        one.advance_to(2.1)
    np.testing.assert_array_equal(sim.data.xpos, other.data.xpos)
    np.testing.assert_array_equal(sim.data.geom_xpos, other.data.geom_xpos)


@both
@pytest.mark.parametrize("excess", [1e-2, 1e-4])
def test_what_slides_does_not_sleep(excess: float, make: Make) -> None:
    """Beyond the cone of friction by a part of it a box gains speed, slowly at first."""
    tangent = 0.5 * (1.0 + excess)
    cosine = 1.0 / np.hypot(1.0, tangent)
    text = SLOPE.format(x=G * tangent * cosine, z=-G * cosine)
    sims = [asp.Simulator(text, integrator=make(sleep)) for sleep in (True, False)]
    for sim in sims:
        sim.advance_to(10.0)
    way = 0.5 * G * cosine * 0.5 * excess * 10.0**2
    # It begins with what it gains while it settles.
    assert sims[1].data.qpos[0] > 0.9 * way
    assert sims[0].data.qpos[0] == pytest.approx(sims[1].data.qpos[0], rel=0.02, abs=1e-5)


@both
def test_what_friction_holds_sleeps_and_stays(make: Make) -> None:
    tangent = 0.5 * 0.99
    cosine = 1.0 / np.hypot(1.0, tangent)
    text = SLOPE.format(x=G * tangent * cosine, z=-G * cosine)
    sim, awake = (asp.Simulator(text, integrator=make(sleep)) for sleep in (True, False))
    moved = []
    for one in (sim, awake):
        one.advance_to(3.0)
        place = one.data.qpos[0]
        one.advance_to(100.0)
        moved.append(one.data.qpos[0] - place)
    assert sim.asleep[1]
    # Awake it creeps as far as the stiction tolerance allows.
    assert moved[0] < 0.1 * moved[1] < 1e-3
    mass = sim.model.body_mass[1]
    force = sim.contacts.force.sum(axis=0)
    np.testing.assert_allclose(force, -mass * sim.model.opt.gravity, rtol=1e-5, atol=1e-6)


def test_the_model_may_ask_for_sleep_and_forbid_it() -> None:
    assert asleep(resting_stack(sleep=None, flag=True)) == "abc"
    for options in ({"sleep": None}, {"sleep": False, "flag": True}):
        sim = stack(**options)
        sim.advance_to(2.0)
        assert asleep(sim) == ""
    text = STACK.format(height=100, sleep="enable")
    text = text.replace('<body name="c"', '<body name="c" sleep="never"')
    sim = asp.Simulator(text, integrator=asp.Icf(time_step=STEP))
    sim.advance_to(2.0)
    assert asleep(sim) == "ab"
    model = mujoco.MjModel.from_xml_string(STACK.format(height=100, sleep="enable"))
    model.opt.sleep_tolerance = 0.0
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=STEP))
    sim.advance_to(2.0)
    assert asleep(sim) == ""


def test_actuated_bodies_stay_awake_and_their_controls_wake_nobody() -> None:
    text = STACK.format(height=100, sleep="disable").replace(
        "</worldbody>",
        '<body pos="-2 0 1"><joint name="j" axis="0 1 0" damping="1"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/></body></worldbody>'
        '<actuator><motor joint="j"/></actuator>',
    )
    sims = [
        asp.Simulator(text, integrator=asp.Icf(time_step=STEP, sleep=sleep))
        for sleep in (True, False)
    ]
    for sim in sims:
        sim.advance_to(2.0)
    for k in range(20):
        for sim in sims:
            sim.data.ctrl[0] = np.sin(k)
            sim.step()
        assert asleep(sims[0]) == "abc"
    assert abs(sims[0].data.qvel[-1]) > 0.01
    np.testing.assert_allclose(sims[0].data.qpos, sims[1].data.qpos, atol=3e-6)


@both
def test_copies_and_files_go_on_alike(make: Make, tmp_path: Path) -> None:
    sim = resting_stack(make)
    path = sim.save(tmp_path / "sim")
    others = [copy.deepcopy(sim), asp.Simulator.load(path)]
    for one in (sim, *others):
        assert asleep(one) == "abc"
        one.advance_to(4.3)
    for one in others:
        assert asleep(one) == asleep(sim)
        np.testing.assert_array_equal(one.data.qpos, sim.data.qpos)
        np.testing.assert_array_equal(one.contacts.force, sim.contacts.force)


@both
def test_a_state_that_is_given_again_leads_to_the_same_bits(make: Make) -> None:
    fresh = stack(make)
    start = fresh.data.qpos.copy()
    fresh.advance_to(1.0)
    sim = resting_stack(make)
    sim.data.qpos[:], sim.data.qvel[:], sim.data.time = start, 0.0, 0.0
    sim.advance_to(1.0)
    np.testing.assert_array_equal(sim.data.qpos, fresh.data.qpos)


def test_without_sleep_bits_are_those_of_today() -> None:
    """Until something sleeps, nothing is computed in another way."""
    sims = [stack(sleep=sleep) for sleep in (True, False)]
    for sim in sims:
        sim.advance_to(9 * STEP)
    assert sims[0].data.qpos.tobytes() == sims[1].data.qpos.tobytes()


def test_threads_have_the_same_bits() -> None:
    text = STACK.format(height=100, sleep="enable")
    sims = [asp.Simulator(text, integrator=icf(), threads=threads) for threads in (1, 2)]
    for sim in sims:
        sim.advance_to(3.0)
        assert asleep(sim) == "abc"
    assert sims[0].data.qpos.tobytes() == sims[1].data.qpos.tobytes()
    assert sims[0].contacts.force.tobytes() == sims[1].contacts.force.tobytes()


def test_where_mujoco_searches_all_pairs() -> None:
    """Predefined pairs are not listed, so that contacts of what sleeps are found and left out."""
    text = STACK.format(height=25, sleep="disable").replace(
        "<sensor>", '<contact><pair geom1="floor" geom2="a"/></contact><sensor>'
    )
    sims = [asp.Simulator(text, integrator=icf(sleep)) for sleep in (True, False)]
    for sim in sims:
        sim.advance_to(2.2)
    assert asleep(sims[0]) == "abc"
    assert len(sims[0].contacts) == len(sims[1].contacts)
    for sim in sims:
        sim.advance_to(2.3)
    assert asleep(sims[0]) == "c"
    np.testing.assert_allclose(sims[0].data.qpos, sims[1].data.qpos, atol=1e-4)


HANGING = """
<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 1"/>
  <body name="a" pos="0 0 2" sleep="init"><freejoint/><geom size="0.1"/>
    <body name="-"><joint name="j" axis="0 1 0" range="-10 10"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/></body></body>
  <body name="b" pos="0 0 2.5" sleep="init"><freejoint/><geom size="0.1"/></body>
  <body name="c" pos="3 0 0" sleep="init"><freejoint/><geom name="c" size="0.1"/></body>
  <body name="d" pos="4 0 2" sleep="init"><freejoint/><geom size="0.1"/></body>
  <body name="e" pos="4.15 0 2" sleep="init"><freejoint/><geom size="0.1"/></body>
  <body name="f" pos="-0.05 0 4"><freejoint/><geom size="0.1"/></body></worldbody>
<equality><weld body1="a" body2="b"/></equality><actuator><motor joint="j"/></actuator></mujoco>
"""
# Of its bodies after the world, and the body that every number of qpos belongs to.
TREES = [0, 0, 1, 2, 3, 4, 5]
QPOS_OF = np.repeat(["a", "-", "b", "c", "d", "e", "f"], [7, 1, 7, 7, 7, 7, 7])
METHODS = [
    asp.Icf(time_step=2e-3),
    asp.Cenic(),
    asp.Sap(time_step=2e-3),
    asp.Sap(accuracy=1e-3),
    asp.Tamsi(time_step=2e-3),
]
every_method = pytest.mark.parametrize("method", METHODS)


@every_method
def test_bodies_start_asleep_and_wake_as_in_mujoco(method: asp.Integrator) -> None:
    sim = asp.Simulator(HANGING, integrator=method)
    data = mujoco.MjData(sim.model)
    assert not any("start awake" in note for note in sim.load_report.notes)
    assert len(sim.contacts) == 0
    for _ in range(2):
        sim.data.ctrl[0] = data.ctrl[0] = 1.0
        # The one that falls meets what it wakes, with all that is welded to that, after 0.53 s.
        for end, sleeping in ((0.0, "-abcde"), (0.5, "-abcde"), (0.7, "cde")):
            sim.advance_to(end)
            while data.time < end - 1e-9:
                mujoco.mj_step(sim.model, data)
            np.testing.assert_array_equal(sim.asleep[1:], data.tree_asleep[TREES] >= 0)
            assert asleep(sim) == sleeping
            still = np.isin(QPOS_OF, list(sleeping))
            np.testing.assert_array_equal(sim.data.qpos[still], sim.model.qpos0[still])
        sim.reset()
        mujoco.mj_resetData(sim.model, data)


@every_method
def test_what_a_user_does_wakes_what_starts_asleep(method: asp.Integrator) -> None:
    sim = asp.Simulator(HANGING, integrator=method)
    sim.data.xfrc_applied[sim.model.body("b").id, 2] = 1e-3
    sim.advance_to(0.02)
    # What is welded wakes with it.
    assert asleep(sim) == "cde"
    sim.data.qvel[sim.model.body("e").dofadr[0]] = 0.1
    sim.advance_to(0.04)
    assert asleep(sim) == ""
    # What is placed elsewhere from the beginning is awake, with its island, and no other.
    start = sim.model.qpos0.copy()
    start[np.flatnonzero(QPOS_OF == "e")[0]] += 0.1
    sim = asp.Simulator(sim.model, qpos=start, integrator=method)
    assert asleep(sim) == "-abc"


def test_who_wants_no_sleep_has_none_at_first_either() -> None:
    sim = asp.Simulator(HANGING, integrator=icf(False))
    assert asleep(sim) == ""
    assert len(sim.contacts.of("c")) == 1
    assert any("start awake: Body 'a'" in note for note in sim.load_report.notes)


def test_what_nothing_holds_floats_on() -> None:
    text = STACK.format(height=1, sleep="disable").replace("<option>", '<option gravity="0 0 0">')
    sim = asp.Simulator(text, integrator=icf())
    sim.data.qvel[18:21] = [5e-5, 0.0, 0.0]
    sim.advance_to(10.0)
    assert "far" not in asleep(sim)
    assert sim.data.qpos[21] == pytest.approx(5e-4, rel=1e-6)


def test_sleep_is_turned_on_and_off() -> None:
    sim = stack(sleep=None)
    sim.advance_to(2.0)
    assert asleep(sim) == ""
    sim.model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    sim.advance_to(3.0)
    assert asleep(sim) == "abc"
    sim.model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    sim.advance_to(4.0)
    assert asleep(sim) == ""
    assert sim.contacts.of("floor").force[:, 2].sum() == pytest.approx(6.0 * G, rel=1e-6)


def test_doors_sleep_that_a_spring_holds_and_limits_do_not() -> None:
    text = """<mujoco><option><flag sleep="enable"/></option><worldbody>
      <body name="spring"><joint axis="0 0 1" stiffness="1" damping="1"/>
        <geom type="box" size="0.2 0.02 0.2" pos="0.2 0 0"/></body>
      <body name="limit" pos="0 0 2"><joint axis="0 1 0" range="-10 10"/>
        <geom type="box" size="0.2 0.02 0.2" pos="0.2 0 0"/></body></worldbody></mujoco>"""
    sim = asp.Simulator(text, integrator=icf(None))
    sim.data.qpos[0] = 0.1
    sim.advance_to(30.0)
    assert asleep(sim) == "spring"
    assert abs(sim.data.qpos[0]) < 1e-5


def test_what_keeps_everything_awake_is_said() -> None:
    text = STACK.format(height=100, sleep="enable")
    sim = asp.Simulator(
        text, integrator=asp.Icf(time_step=STEP), contact=asp.ContactParameters(surface="compliant")
    )
    assert "Nothing sleeps, because there are pressure fields." in sim.load_report.notes
    sim = asp.Simulator(text, integrator=asp.Tamsi(time_step=STEP))
    assert "Nothing sleeps here; every body is simulated at every step." in sim.load_report.notes
    with pytest.raises(asp.ArgumentError, match="sleep=True is for one simulator"):
        asp.Batch(text, 2, integrator=asp.Icf(time_step=STEP, sleep=True))
    with pytest.raises(asp.ArgumentError, match="sleep must be True, False or None"):
        asp.Icf(sleep="yes")  # type: ignore[arg-type]
