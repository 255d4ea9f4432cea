"""Collision detection without MuJoCo's mid-phase finds what it finds with it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant import native
from asperity.plant.detection.detection_model import detection_struct

WALLS = "".join(
    f'<geom type="box" size="{x} {y} 0.3" pos="{px} {py} 0.3"/>'
    for x, y, px, py in ((0.02, 0.5, 0.5, 0), (0.02, 0.5, -0.5, 0), (0.5, 0.02, 0, 0.5))
)


def _box_of_things(walls: str = WALLS) -> mujoco.MjModel:
    kinds = ('type="box" size=".06 .05 .04"', 'type="sphere" size=".05"')
    bodies = "".join(
        f'<body pos="{0.13 * (i % 4) - 0.2} {0.14 * (i // 4 % 3) - 0.1} {0.2 + 0.02 * i}" '
        f'euler="{10 * i} {25 * i} 0"><freejoint/><geom {kinds[i % 2]}/></body>'
        for i in range(12)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="1 1 .1"/>{walls}{bodies}</worldbody></mujoco>'
    )


def test_trajectories_are_the_same_to_the_bit() -> None:
    model = _box_of_things()
    flags = int(model.opt.disableflags)
    quick = asp.Simulator(model, integrator=asp.Icf(time_step=5e-3))
    plain = asp.Simulator(model, integrator=asp.Icf(time_step=5e-3))
    table = plain.session.plant.table
    assert table.detection_model != table.model
    table.detection_model = table.model
    contacts = 0
    for i in range(1, 17):
        for sim in (quick, plain):
            sim.advance_to(0.05 * i)
        contacts += quick.data.ncon
        assert np.array_equal(quick.data.qpos, plain.data.qpos)
        assert np.array_equal(quick.contacts.normal_force, plain.contacts.normal_force)
    assert contacts > 100
    assert model.opt.disableflags == flags


@pytest.mark.parametrize("count", [3, 20])
def test_only_bodies_of_few_geoms_do_without(count: int) -> None:
    model = _box_of_things(WALLS * count)
    assert detection_struct(model._address, model) is None
    few = _box_of_things()
    struct = detection_struct(few._address, few)
    assert struct is not None
    assert np.count_nonzero(struct != _words(few)) == 1


def _words(model: mujoco.MjModel) -> np.ndarray:
    """The struct of a model, word by word."""
    return native.memory(model._address, native.struct_size("mjModel") // 8)


def test_flags_of_the_user_are_heard() -> None:
    model = _box_of_things()
    sim = asp.Simulator(model)
    sim.advance_to(0.3)
    assert sim.data.ncon > 0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    sim.advance_to(0.6)
    assert sim.data.ncon == 0
    assert sim.data.qpos.reshape(-1, 7)[:, 2].min() < -0.05


@pytest.mark.parametrize(("memory", "without"), [("10M", False), ("100M", True)])
def test_pairs_of_a_flex_do_not_take_all_memory(memory: str, without: bool) -> None:
    """Without its mid-phase MuJoCo has room for all elements, and ends the process without it."""
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><size memory='{memory}'/><option integrator='discrete'/><worldbody>"
        "<geom type='plane' size='1 1 1'/><flexcomp name='f' type='grid' dim='3' count='10 10 10'"
        " spacing='.01 .01 .01' pos='0 0 .05' radius='.001' mass='1' dof='trilinear'>"
        "<elasticity young='1e5' poisson='.3'/><contact selfcollide='none'/></flexcomp>"
        "</worldbody></mujoco>"
    )
    struct = detection_struct(model._address, model)
    assert struct is not None
    flags = native.offset("mjModel", "opt") + native.offset("mjOption", "disableflags")
    midphase = int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    assert bool(struct.view(np.int32)[flags // 4] & midphase) == without
    sim = asp.Simulator(model, integrator=asp.Icf())
    sim.advance_to(0.1)
    assert np.isfinite(sim.data.qpos).all()
