"""Bodies that start asleep under Midas stay until something awake touches them."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest

import asperity as asp

HANGING = """
<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 1"/>
  <body name="a" pos="0 0 2" sleep="init"><freejoint/><geom size="0.1"/>
    <body name="-"><joint name="j" axis="0 1 0" range="-10 10" stiffness="1" springref="5"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/></body></body>
  <body name="b" pos="0 0 2.5" sleep="init"><freejoint/><geom size="0.1"/></body>
  <body name="c" pos="3 0 0.1" sleep="init"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body name="d" pos="4 0 2" sleep="init"><freejoint/><geom size="0.1"/></body>
  <body name="e" pos="4.5 0 2" sleep="init"><joint axis="1 0 0" pos="0 0 1"/>
    <geom size="0.1"/></body>
  <body name="f" pos="-0.05 0 4"><freejoint/><geom size="0.1"/></body></worldbody>
<equality><weld body1="a" body2="b"/></equality><actuator><motor joint="j"/></actuator></mujoco>
"""
# Of its bodies after the world, and the body that every number of qpos belongs to.
TREES = [0, 0, 1, 2, 3, 4, 5]
QPOS_OF = np.repeat(["a", "-", "b", "c", "d", "e", "f"], [7, 1, 7, 7, 7, 1, 7])


def asleep(sim: asp.Simulator) -> str:
    names = [sim.model.body(i).name for i in np.flatnonzero(sim.asleep)]
    return "".join(sorted(names))


@pytest.mark.parametrize("scheme", ["bdf2", "implicit-euler"])
def test_bodies_wake_as_in_mujoco(scheme: str) -> None:
    sim = asp.Simulator(HANGING, integrator=asp.Midas(time_step=5e-3, time_scheme=scheme))
    data = mujoco.MjData(sim.model)
    assert not any("start awake" in note for note in sim.load_report.notes)
    # What touches the floor was moved a little; after a reset the first step does that.
    start = sim.data.qpos.copy()
    for _ in range(2):
        sim.data.ctrl[0] = data.ctrl[0] = 1.0
        # The one that falls meets what it wakes, with all that is welded to that, after 0.53 s.
        for end, sleeping in ((0.0, "-abcde"), (0.5, "-abcde"), (0.7, "cde")):
            sim.advance_to(end)
            while data.time < end - 1e-9:
                mujoco.mj_step(sim.model, data)
            np.testing.assert_array_equal(sim.asleep[1:], data.tree_asleep[TREES] >= 0)
            assert asleep(sim) == sleeping
            still = np.isin(QPOS_OF, list(sleeping if end > 0.0 else ""))
            np.testing.assert_array_equal(sim.data.qpos[still], start[still])
            assert not sim.data.qvel[sim.asleep[sim.model.dof_bodyid]].any()
            assert not sim.data.qacc[sim.asleep[sim.model.dof_bodyid]].any()
            assert len(sim.contacts.of("c")) == 0
        assert np.linalg.norm(sim.data.qvel[:3]) > 0.1
        # The weld holds.
        np.testing.assert_allclose(sim.data.xpos[3] - sim.data.xpos[1], [0, 0, 0.5], atol=0.05)
        sim.reset()
        mujoco.mj_resetData(sim.model, data)


def test_what_a_user_does_wakes_what_starts_asleep() -> None:
    sim = asp.Simulator(HANGING, integrator=asp.Midas())
    other = copy.deepcopy(sim)
    sim.data.xfrc_applied[sim.model.body("b").id, 2] = 1e-3
    sim.advance_to(0.02)
    # What is welded wakes with it.
    assert asleep(sim) == "cde"
    sim = copy.deepcopy(sim)
    sim.advance_to(0.04)
    assert asleep(sim) == "cde"
    sim.data.qvel[sim.model.body("e").dofadr[0]] = 0.1
    sim.advance_to(0.06)
    assert asleep(sim) == ""
    other.advance_to(0.02)
    assert asleep(other) == "-abcde"
    # What is placed elsewhere from the beginning is awake, with its island, and no other.
    start = sim.model.qpos0.copy()
    start[np.flatnonzero(QPOS_OF == "d")[0]] += 0.1
    sim = asp.Simulator(sim.model, qpos=start, integrator=asp.Midas())
    assert asleep(sim) == "-abce"


BALLS = """
<mujoco><option gravity="0 0 0"><flag sleep="{flag}"/></option><worldbody>
  <body name="a" pos="0 0 0"><freejoint/><geom size="0.1"/></body>
  <body name="b" pos="0.5 0.03 0" sleep="init"><freejoint/><geom size="0.1"/></body>
  <body name="c" pos="0.8 0.02 0" sleep="init"><freejoint/><geom size="0.1"/></body></worldbody>
</mujoco>
"""


@pytest.mark.parametrize("scheme", ["bdf2", "implicit-euler"])
def test_a_blow_finds_them_awake(scheme: str) -> None:
    """Without weight, balls at rest that sleep move as those that do not."""
    sims = []
    for flag in ("enable", "disable"):
        integrator = asp.Midas(time_step=5e-3, time_scheme=scheme)
        text, start = BALLS.format(flag=flag), np.eye(18)[0]
        sims.append(asp.Simulator(text, qvel=start, integrator=integrator))
    sleeping = set()
    while sims[0].time < 1.0:
        for sim in sims:
            sim.step()
        sleeping.add(asleep(sims[0]))
        np.testing.assert_allclose(sims[0].data.qvel, sims[1].data.qvel, atol=2e-4)
    assert sleeping == {"bc", "c", ""}
    np.testing.assert_allclose(sims[0].data.qvel[[0, 6, 12]].sum(), 1.0, rtol=1e-6)


def test_what_lies_asleep_on_a_floor_is_not_thrown_off_when_it_wakes() -> None:
    sim = asp.Simulator(HANGING, integrator=asp.Midas())
    sim.advance_to(0.1)
    sim.data.xfrc_applied[sim.model.body("c").id, 0] = 1e-3
    place = int(np.flatnonzero(QPOS_OF == "c")[0])
    speed = sim.model.body("c").dofadr[0]
    for _ in range(30):
        sim.step()
        assert np.abs(sim.data.qvel[speed : speed + 6]).max() < 0.02
    weight = sim.contacts.of("c").force.sum(axis=0)[2]
    assert abs(weight) == pytest.approx(8.0 * 9.81, rel=1e-3)
    assert sim.data.qpos[place + 2] == pytest.approx(0.1, abs=2e-3)


def test_what_all_sleeps_costs_no_solves() -> None:
    text = BALLS.format(flag="enable").replace('name="a" pos="0 0 0"', 'name="a" sleep="init"')
    sim = asp.Simulator(text, integrator=asp.Midas())
    sim.advance_to(10.0)
    assert asleep(sim) == "abc"
    assert sim.session.base.statistics(sim.session.world)["solves"] == 0


def test_bodies_start_awake_in_a_batch() -> None:
    batch = asp.Batch(HANGING, 2, integrator=asp.Midas(), threads=1)
    assert any("start awake: Body 'a'" in note for note in batch.load_report.notes)
    height = int(np.flatnonzero(QPOS_OF == "d")[0]) + 2
    for time in (0.1, 0.2):
        batch.advance(0.1)
        np.testing.assert_allclose(batch.qpos[:, height], 2.0 - 4.905 * time**2, atol=5e-3)
        batch.vary("body_mass")[1] *= 2.0


def test_where_nothing_sleeps_that_is_said() -> None:
    sim = asp.Simulator(BALLS.format(flag="enable"), integrator=asp.Midas())
    assert sim.load_report.notes == (
        "Nothing falls asleep here; every body is simulated at every step.",
    )
